//! A scheduler's own program, unmodified, loads its policy into the simulated machine.

use schedlab_model::result::{Parameter, RunResult};
use schedlab_model::scenario::Scenario;
use schedlab_policy::PolicySpec;
use schedlab_venue::{Executor, Policy, Request, SimVenue, Venue, VenueError};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

const SCENARIO: &str = r#"
name = "three"
about = "Three tasks that compute on two CPUs."
[machine]
cpus = 2
[[task]]
name = "worker"
count = 3
loop = [{ compute = "10ms" }]
[run]
duration = "600ms"
seed = 1
"#;

/// The program, compiled once by the compiler that links Rust programs too.
fn loader() -> &'static PathBuf {
    static LOADER: OnceLock<PathBuf> = OnceLock::new();
    LOADER.get_or_init(|| {
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs/loader.c");
        let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("loader-{}", std::process::id()));
        let done = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&program).arg(source).status().unwrap();
        assert!(done.success());
        program
    })
}

fn run(arguments: &str, executor: Executor) -> Result<RunResult, VenueError> {
    run_as("exec-once", arguments, executor)
}

fn run_as(form: &str, arguments: &str, executor: Executor) -> Result<RunResult, VenueError> {
    let workload = Scenario::parse(SCENARIO, "three").unwrap().compile().unwrap();
    let spec = PolicySpec::parse(&format!("{form}:{} {arguments}", loader().display())).unwrap();
    let policy = Policy::find(&spec).unwrap();
    let executor = Some(executor);
    let request = Request {
        workload: &workload,
        scenario_hash: "",
        policy: &policy,
        seed: 1,
        executor,
        check: true,
        costs: false,
    };
    SimVenue.run(&request, None, &mut ()).map(|run| run.result)
}

fn forced_switches(result: &RunResult) -> u64 {
    result.roles[0].measures.switches.involuntary
}

#[test]
fn a_program_that_knows_bpf_alone_schedules_and_shares_memory_with_its_policy() {
    let result = run("5000000", Executor::Interpreter).unwrap();
    let cpu: Vec<u64> = result.tasks.iter().map(|task| task.measures.cpu_ns).collect();
    // Two begin on idle CPUs with the kernel's own slice of 20 ms; then all take turns of 5 ms.
    assert_eq!(cpu, [405_000_000, 405_000_000, 390_000_000]);
    let longer = run("20000000", Executor::Interpreter).unwrap();
    assert!(
        forced_switches(&result) > 3 * forced_switches(&longer),
        "{} {}",
        forced_switches(&result),
        forced_switches(&longer)
    );
    assert!(result.policy.name.starts_with("loader-"));
    assert_eq!(result.policy.parameters["arguments"], Parameter::Text("5000000".into()));
    let said = result.cautions.iter().any(|caution| caution.contains("as set up by its loader"));
    assert!(said, "{:?}", result.cautions);
}

#[test]
fn both_executors_and_every_run_give_the_same() {
    let text = |executor| format!("{:?}", run("5000000 threads", executor).unwrap());
    let first = text(Executor::Interpreter);
    assert_eq!(first, text(Executor::Interpreter));
    assert_eq!(first, text(Executor::Machine));
}

#[test]
fn what_a_loader_should_not_do_is_refused_and_named() {
    for (what, told, named) in [
        ("fork", "no fork: Resource temporarily unavailable", "a process of its own"),
        ("become", "no other program: Permission denied", "to become another program"),
        ("call", "no socket: Address family not supported", "a socket of family 2"),
        ("kill", "no signal: No such process", "a signal to another process"),
        ("read", "no file: No such file or directory", ""),
        ("write", "no new file: Permission denied", ""),
        ("objects", "42, and of a number -14", ""),
        ("poison", "poison: the object needs what is not simulated: helper", ""),
        ("end", "it ended with status 5 and loaded no scheduler", ""),
        ("hang", "all its threads wait for something that never comes", ""),
        ("threads", "5 5 5 at 1.005", ""),
        ("threads", "in thread 1000", ""),
    ] {
        let error = run(&format!("5000000 {what} stop"), Executor::Interpreter).unwrap_err().to_string();
        assert!(error.contains(told) && error.contains(named), "{what}: {error}");
    }
    assert!(!PathBuf::from("/etc/loader-was-here").exists());
}

#[test]
fn a_program_goes_on_working_in_simulated_time() {
    let switches = |form, arguments, executor| forced_switches(&run_as(form, arguments, executor).unwrap());
    let once = switches("exec-once", "5000000 longer", Executor::Interpreter);
    let live = switches("exec", "5000000 longer", Executor::Interpreter);
    // After a sixth of the run slices are ten times as long.
    assert!(once > 2 * live && live > once / 6, "{once} {live}");
    assert_eq!(live, switches("exec", "5000000 longer", Executor::Machine));
    assert_eq!(once, switches("exec", "5000000", Executor::Interpreter));
    let cautions = run_as("exec", "5000000", Executor::Interpreter).unwrap().cautions;
    assert!(cautions.iter().any(|caution| caution.contains("takes no CPU")), "{cautions:?}");
}

#[test]
fn a_run_ends_with_the_program_of_its_policy() {
    let error = run_as("exec", "5000000 leave", Executor::Interpreter).unwrap_err().to_string();
    assert!(error.contains("failed at 100.") && error.contains("the policy's program: it ended"), "{error}");
}
