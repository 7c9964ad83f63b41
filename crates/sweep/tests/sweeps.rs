//! Sweeps from their text to their table.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use schedlab_campaign::Runner;
use schedlab_model::scenario::Scenario;
use schedlab_sweep::{Dataset, DatasetError, Plan, Summary, Sweep, carry_out};
use schedlab_venue::{Monitor, VenueError};
use std::fs;
use std::path::{Path, PathBuf};

/// A small sweep; `axes` are lines of TOML.
fn text(axes: &str) -> String {
    format!(
        "policy = [\"rr\", \"mlfq\"]\nruns = 2\nmeasures = [\"response_ns.mean\", \"jain\"]\n\
         [scenario]\nmachine = {{ cpus = 1 }}\nrun = {{ duration = \"100ms\" }}\n\
         [[scenario.task]]\nname = \"a\"\ncount = 2\nloop = [{{ compute = \"exp(2ms)\" }}]\n\
         [[scenario.task]]\nname = \"b\"\nloop = [{{ compute = \"1ms\" }}, {{ sleep = \"2ms\" }}]\n{axes}"
    )
}

fn try_plan(text: &str) -> Result<Plan, VenueError> {
    let none = |name: &str| -> Result<Scenario, String> { Err(format!("there is no scenario `{name}`")) };
    Plan::new(&Sweep::parse(text, "s.toml")?, &none, Path::new(""), 2)
}

fn plan(axes: &str) -> Plan {
    try_plan(&text(axes)).unwrap()
}

fn run(plan: &Plan, folder: &Path, threads: usize) -> Summary {
    let mut dataset = Dataset::open(folder, plan).unwrap();
    carry_out(plan, &mut dataset, &Runner::new(None, threads, &Monitor::default())).unwrap()
}

/// The parts of a folder, in their order.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let mut parts: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    parts.retain(|path| path.extension().is_some_and(|extension| extension == "parquet"));
    parts.sort();
    parts
}

fn batch(part: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(part).unwrap()).unwrap();
    reader.build().unwrap().next().unwrap().unwrap()
}

/// All rows as text, sorted, with the columns' names and types.
fn table(folder: &Path) -> Vec<String> {
    let mut rows = Vec::new();
    for part in parts(folder) {
        let batch = batch(&part);
        let row = |row: usize| format!("{:?} {:?}", batch.schema().fields(), batch.slice(row, 1).columns());
        rows.extend((0..batch.num_rows()).map(row));
    }
    rows.sort();
    rows
}

const AXES: &str = "[axis]\n\"policy.quantum\" = [\"1ms\", \"5ms\"]\ntask.a.count = { from = 1, to = 3, step = 1 }\n";

/// A plan of `rr` alone, whose parameter `policy.quantum` is.
fn grid(axes: &str) -> Plan {
    try_plan(&text(axes).replace("[\"rr\", \"mlfq\"]", "\"rr\"")).unwrap()
}

const ALL_NEW: Summary = Summary { known: 0, made: 12, failed: 0, missing: 0 };
const ALL_KNOWN: Summary = Summary { known: 12, made: 0, failed: 0, missing: 0 };

#[test]
fn the_table_is_the_same_at_any_number_of_threads() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let plan = grid(AXES);
    assert_eq!(plan.runs.len(), 2 * 3 * 2);
    assert_eq!(run(&plan, one.path(), 1), ALL_NEW);
    run(&plan, two.path(), 4);
    assert_eq!(table(one.path()).len(), 24);
    let bytes = |folder: &Path| parts(folder).iter().map(|part| fs::read(part).unwrap()).collect::<Vec<_>>();
    assert_eq!(bytes(one.path()), bytes(two.path()), "rows of a part stand in the order of the plan");
    let batch = batch(&parts(one.path())[0]);
    let names: Vec<String> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    let expected = "run policy.quantum_ns task.a.count policy venue seed role response_ns.mean jain error";
    assert_eq!(names.join(" "), expected);
    let quanta = batch.column_by_name("policy.quantum_ns").unwrap().as_primitive::<Int64Type>();
    assert_eq!((quanta.value(0), quanta.value(23)), (1_000_000, 5_000_000));
    let means = batch.column_by_name("response_ns.mean").unwrap().as_primitive::<Float64Type>();
    assert!(means.iter().all(|mean| mean.is_some_and(|mean| mean > 1e6)), "{means:?}");
}

#[test]
fn a_changed_axis_runs_only_what_is_new() {
    let (folder, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let whole = grid(AXES);
    run(&whole, folder.path(), 2);
    let first = table(folder.path());
    assert_eq!(run(&whole, folder.path(), 2), ALL_KNOWN);
    assert_eq!(table(folder.path()), first);
    let other = grid(&AXES.replace("to = 3", "to = 4").replace("from = 1", "from = 2"));
    assert_eq!(run(&other, folder.path(), 2), Summary { known: 8, made: 4, failed: 0, missing: 0 });
    run(&other, fresh.path(), 2);
    assert_eq!(table(folder.path()), table(fresh.path()), "as if it had been run so from the beginning");
    // What was put aside comes back.
    assert_eq!(run(&whole, folder.path(), 2), ALL_KNOWN);
    assert_eq!(table(folder.path()), first);
}

#[test]
fn a_column_that_changes_its_kind_is_written_again() {
    let (folder, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sleeps = |list: &str| plan(&format!("[axis]\n\"task.b.loop.1.sleep\" = {list}\n"));
    run(&sleeps("[\"1ms\", \"2ms\"]"), folder.path(), 2);
    let words = sleeps("[\"1ms\", \"2ms\", \"exp(3ms)\"]");
    assert_eq!(run(&words, folder.path(), 2), Summary { known: 8, made: 4, failed: 0, missing: 0 });
    run(&words, fresh.path(), 2);
    assert_eq!(table(folder.path()), table(fresh.path()));
}

#[test]
fn a_run_that_fails_is_a_row_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    // Under fcfs a task that computes on starves the others, which a kernel does not tolerate for more than 30 s.
    let text = text("").replace("\"mlfq\"", "\"fcfs\"").replace("100ms", "31s").replace("exp(2ms)", "60s");
    let plan = try_plan(&text).unwrap();
    assert_eq!(run(&plan, folder.path(), 2), Summary { known: 0, made: 4, failed: 2, missing: 0 });
    let batch = batch(&parts(folder.path())[0]);
    let errors = batch.column_by_name("error").unwrap().as_string::<i32>();
    let told: Vec<&str> = errors.iter().flatten().collect();
    assert!(told.len() == 2 && told[0].contains("policy fcfs"), "{told:?}");
    assert_eq!(batch.num_rows(), 2 * 2 + 2);
    // A failure is an answer: it is not tried again.
    assert_eq!(run(&plan, folder.path(), 2), Summary { known: 4, made: 0, failed: 2, missing: 0 });
}

#[test]
fn a_sweep_that_is_stopped_goes_on_where_it_was() {
    let (folder, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let plan = grid(AXES);
    let monitor = Monitor::default();
    let mut dataset = Dataset::open(folder.path(), &plan).unwrap();
    let summary = std::thread::scope(|scope| {
        scope.spawn(|| {
            while monitor.done_ns() < 300_000_000 {
                std::hint::spin_loop();
            }
            monitor.stop();
        });
        carry_out(&plan, &mut dataset, &Runner::new(None, 1, &monitor)).unwrap()
    });
    assert!(summary.made >= 2 && summary.missing == 12 - summary.made, "{summary:?}");
    assert_eq!(run(&plan, folder.path(), 2).known, summary.made);
    run(&plan, fresh.path(), 2);
    assert_eq!(table(folder.path()), table(fresh.path()));
}

#[test]
fn samples_fill_the_space_and_repeat() {
    let axes = |method: &str, seed: u32| {
        format!(
            "[sample]\npoints = 20\nmethod = \"{method}\"\nseed = {seed}\n[sample.axis]\n\
             task.a.count = {{ from = 1, to = 20 }}\n\
             run.duration = {{ from = \"10ms\", to = \"50ms\", scale = \"log\" }}\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    run(&plan(&axes("latin-hypercube", 1)), folder.path(), 2);
    let batch = batch(&parts(folder.path())[0]);
    let mut counts = batch.column_by_name("task.a.count").unwrap().as_primitive::<Int64Type>().values().to_vec();
    counts.dedup();
    assert!(!counts.is_sorted(), "{counts:?}");
    counts.sort_unstable();
    assert_eq!(counts, (1..=20).collect::<Vec<_>>(), "one point in each part of an axis");
    assert_eq!(plan(&axes("random", 1)).runs, plan(&axes("random", 1)).runs);
    assert_ne!(plan(&axes("random", 1)).runs, plan(&axes("random", 2)).runs);
}

#[test]
fn policies_and_seeds_can_be_axes() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(&plan(""), a.path(), 2);
    let seeds: Vec<u64> = plan("").runs.iter().take(2).map(|run| run.seed).collect();
    let axes = format!("[axis]\npolicy = [\"rr\", \"mlfq\"]\nseed = {seeds:?}\n");
    let by_axes = try_plan(&text(&axes).replace("runs = 2\n", "")).unwrap();
    assert_eq!(by_axes.runs.len(), 4);
    run(&by_axes, b.path(), 2);
    let means = |folder: &Path| {
        let batch = batch(&parts(folder)[0]);
        let seeds = batch.column_by_name("seed").unwrap().clone();
        let policies = batch.column_by_name("policy").unwrap().clone();
        let means = batch.column_by_name("response_ns.mean").unwrap().clone();
        format!("{seeds:?} {policies:?} {means:?}")
    };
    assert_eq!(means(a.path()), means(b.path()));
}

#[test]
fn an_axis_of_policies_takes_them_as_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan("[axis]\npolicy = [\"rr:\", \"rr:quantum=3ms\"]\n");
    run(&plan, folder.path(), 1);
    let batch = batch(&parts(folder.path())[0]);
    let policies = batch.column_by_name("policy").unwrap().as_string::<i32>();
    let mut policies: Vec<&str> = policies.iter().flatten().collect();
    policies.dedup();
    assert_eq!(policies, ["rr:", "rr:quantum=3ms"]);
}

#[test]
fn a_key_that_names_its_unit_is_an_axis_like_any_other() {
    let source = tempfile::tempdir().unwrap();
    let path = source.path().join("p.bpf.c");
    let source_text = include_str!("../../../policies/rr/rr.bpf.c").replace("quantum", "slice_ns");
    fs::write(&path, source_text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let axes = "[axis]\n\"policy.slice_ns\" = [\"1ms\", \"5ms\"]\n";
    let sweep = text(axes).replace("[\"rr\", \"mlfq\"]", &format!("{path:?}"));
    run(&try_plan(&sweep).unwrap(), folder.path(), 1);
    let batch = batch(&parts(folder.path())[0]);
    let slices = batch.column_by_name("policy.slice_ns").unwrap().as_primitive::<Int64Type>();
    assert_eq!((slices.value(0), slices.value(batch.num_rows() - 1)), (1_000_000, 5_000_000));
    let means = batch.column_by_name("response_ns.mean").unwrap().as_primitive::<Float64Type>();
    assert_ne!(means.value(0), means.value(batch.num_rows() - 2), "the parameter is heard");
}

#[test]
fn wrong_sweeps_are_told_with_their_place() {
    let wrong = |text: &str| try_plan(text).err().expect("it is wrong").to_string();
    let has = |text: &str, part: &str| {
        let error = wrong(text);
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    };
    has(&text("[axis]\n\"task.c.count\" = [1]\n"), "there is no `c`");
    has(&text("[axis]\ntask.a.count = []\n"), "s.toml:15:16: `task.a.count`: an axis needs at least one value");
    has(&text("[axis]\ntask.a.count = [-1]\n"), "task.a.count = -1");
    has(&text("[axis]\npolicy.quantum = [\"1ms\"]\n"), "mlfq");
    has(&text("[axes]\n"), "s.toml:14:2: unknown key `axes`: did you mean `axis`?");
    has(&text("[axis]\nseed = [1]\n"), "no `runs` or `seed` together with an axis `seed`");
    has(&text("").replace("jain", "jane"), "there is no metric `jane`");
    has(&text("").replace("mlfq", "mlfk"), "did you mean");
    has("policy = \"rr\"\nscenario = \"nothing\"\n", "s.toml:2:12: there is no scenario `nothing`");
    has(&text("[sample]\npoints = 0\n[sample.axis]\nrun.seed = [1]\n"), "above 0");
    has(&text("").replace("runs = 2", "runs = 0"), "there is at least one run");
}

#[test]
fn a_folder_of_something_else_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part-00000.parquet");
    fs::write(&path, "no table").unwrap();
    let error = Dataset::open(folder.path(), &plan("")).err().expect("it is not a table");
    assert!(matches!(error, DatasetError::Part { .. }) && error.to_string().contains("part-00000.parquet"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"no table");
}
