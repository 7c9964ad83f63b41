//! The simulator in the place of the kernel: what runs for real is then known.

use super::*;
use crate::cell::CostSource;
use crate::pair::Pair;
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_venue::{Monitor, Policy};
use std::sync::Mutex;

const MIXED: &str = "name = \"mixed\"\n[machine]\ncpus = 1\n\
    [[task]]\nname = \"hog\"\ncount = 2\nloop = [{ compute = \"uniform(20ms, 60ms)\" }]\n\
    [[task]]\nname = \"moment\"\nloop = [{ compute = \"uniform(1ms, 3ms)\" }, { sleep = \"exp(20ms)\" }]\n\
    [run]\nduration = \"40s\"\n";

/// A cell whose real runs are made by the simulator under another policy, on a machine whose ticks begin with the policy.
fn cell(text: &str, simulated: &str, real: &str) -> Cell {
    let scenario = Scenario::parse(text, "test").unwrap();
    let mut workload = scenario.compile().unwrap();
    workload.machine.tick = Time::from_ms(4);
    let policy = |name: &str| Policy::find(&schedlab_policy::PolicySpec::parse(name).unwrap()).unwrap();
    Cell {
        name: scenario.name.clone(),
        family: None,
        pair: Pair::parse(simulated).unwrap(),
        simulated: policy(simulated),
        real: policy(real),
        place: Place::new(VenueName::Sim, None, None),
        workload: Arc::new(workload),
        scenario_hash: scenario.hash(),
        length: 1,
        source: CostSource::Workload(Time::from_ms(4)),
    }
}

fn options(seeds: u32, max_seeds: u32) -> Options {
    Options {
        venue: VenueName::Vm,
        kernel: None,
        engine: None,
        cpus: Vec::new(),
        length: 1,
        max_length: 1,
        costs: Default::default(),
        seeds,
        max_seeds,
        without: Vec::new(),
        copies: 4,
        keep: None,
    }
}

fn judged(cells: &[Cell], options: &Options, threads: usize) -> Agreement {
    let monitor = Monitor::default();
    carry_out(cells, options, &Runner::new(None, threads, &monitor), &|_| {}).unwrap()
}

#[test]
fn a_policy_agrees_with_itself_and_not_with_another() {
    let cells = [cell(MIXED, "rr:quantum=8ms", "rr:quantum=8ms"), cell(MIXED, "rr:quantum=8ms", "rr:quantum=40ms")];
    let agreement = judged(&cells, &options(3, 3), 1);
    let verdicts: Vec<CellVerdict> = agreement.cells.iter().map(|cell| cell.verdict).collect();
    assert_eq!(verdicts, [CellVerdict::Agrees, CellVerdict::Biased], "{:#?}", agreement.cells[0].figures);
    assert_eq!(agreement.cells[0].seeds, [1, 2, 3]);
    assert_eq!((agreement.counts.cells, agreement.counts.agrees, agreement.counts.biased), (2, 1, 1));
    // Moments wait for a long slice in one of the two.
    assert_eq!(agreement.cells[1].deciding().unwrap().role, "moment");
    assert_eq!(agreement, judged(&cells, &options(3, 3), 4), "threads change nothing");
    let shown = agreement.show(schedlab_report::Style::PLAIN);
    assert!(shown.contains("\nBiased\n- mixed under rr:quantum=8ms: "), "{shown}");
    let page = agreement.markdown("schedlab agreement x");
    let head = "    schedlab agreement x\n\n2 cells: kernel sim, CPUs 1, seeds 3, length 1, copies for each seed ";
    assert!(page.starts_with(head) && page.contains("\n| scenario | policy | figure |"), "{page}");
}

/// Short runs have few requests, and so noise.
#[test]
fn what_is_undecided_gets_further_seeds_once() {
    let short = MIXED.replace("40s", "3s");
    let cells = [cell(&short, "eevdf", "eevdf")];
    let few = judged(&cells, &options(2, 2), 1);
    assert_eq!(few.cells[0].verdict, CellVerdict::Undecided, "{:#?}", few.cells[0].figures);
    let needed = few.cells[0].seeds_to_decide();
    let more = judged(&cells, &options(2, 5), 1);
    let wanted = needed.map_or(5, |needed| needed.min(5)) as usize;
    assert_eq!(more.cells[0].seeds.len(), wanted);
    assert!(wanted > 2);
}

#[test]
fn what_is_undecided_runs_longer_once() {
    let cells = [cell(&MIXED.replace("40s", "4s\"\nwarmup = \"1s"), "eevdf", "eevdf")];
    let short = judged(&cells, &options(2, 2), 1);
    let wanted = short.cells[0].seeds_to_decide().map_or(u32::MAX, |seeds| seeds.div_ceil(2));
    assert_eq!((short.cells[0].verdict, wanted > 1), (CellVerdict::Undecided, true), "{:#?}", short.cells[0].figures);
    assert_eq!(short.cells[0].length, 1);
    let longer = judged(&cells, &Options { max_length: 30, ..options(2, 2) }, 1);
    let report = &longer.cells[0];
    assert_eq!((report.length, &report.seeds), (wanted.min(30), &vec![1, 2]));
    let requests = |agreement: &Agreement| agreement.cells[0].figures[0].requests_real;
    let ratio = requests(&longer) / requests(&short) / f64::from(report.length);
    assert!((0.9..1.1).contains(&ratio), "only the longer runs count, and they have the same warmup: {ratio}");
}

/// Tasks that never block starve the others under fcfs, which a kernel does not suffer for more than 30 s.
#[test]
fn a_cell_that_fails_does_not_touch_the_others() {
    let cells = [cell(MIXED, "fcfs", "rr"), cell(MIXED, "rr", "rr"), cell(MIXED, "rr", "fcfs")];
    let agreement = judged(&cells, &options(2, 2), 2);
    let [in_simulator, good, in_kernel] = agreement.cells.as_slice() else { panic!() };
    assert_eq!([in_simulator.verdict, in_kernel.verdict], [CellVerdict::Failed; 2]);
    assert!(in_simulator.why.as_ref().unwrap().starts_with("in the simulator: policy fcfs"), "{in_simulator:?}");
    assert!(in_kernel.why.as_ref().unwrap().starts_with("policy fcfs"), "{in_kernel:?}");
    assert!(!good.figures.is_empty() && agreement.counts.failed == 2);
}

#[test]
fn a_cell_fails_whose_costs_cannot_be_measured() {
    let cells = [Cell { source: CostSource::Run, ..cell(MIXED, "rr", "rr") }, cell(MIXED, "rr", "rr")];
    let agreement = judged(&cells, &options(2, 2), 2);
    let [without, with] = agreement.cells.as_slice() else { panic!() };
    assert_eq!(without.verdict, CellVerdict::Failed);
    assert_eq!(without.why.as_deref(), Some("the costs of the kernel were not measured"));
    assert_eq!(with.verdict, CellVerdict::Agrees);
}

#[test]
fn what_is_stopped_is_told_as_not_run() {
    let cells = [cell(MIXED, "rr", "rr"), cell(MIXED, "mlfq", "mlfq")];
    let monitor = Monitor::default();
    monitor.stop();
    let heard = Mutex::new(Vec::new());
    let tell = |cell: &CellReport| heard.lock().unwrap().push(cell.verdict);
    let agreement = carry_out(&cells, &options(2, 2), &Runner::new(None, 1, &monitor), &tell).unwrap();
    assert_eq!((agreement.counts.not_run, heard.into_inner().unwrap()), (2, vec![CellVerdict::NotRun; 2]));
}

/// The simulator says that its kernel is 7.2; the traces of both runs have the name that the user wrote.
#[test]
fn a_policy_follows_the_kernel_that_ran_and_is_reported_as_it_was_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let mut cell = cell(MIXED, "eevdf", "eevdf:version=7.3");
    cell.pair = Pair::parse("eevdf@kernel").unwrap();
    let agreement = judged(&[cell], &Options { keep: Some(folder.path().into()), ..options(1, 1) }, 1);
    assert_eq!(agreement.cells[0].policy, "eevdf:version=7.1@kernel");
    let mut traces: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    traces.sort();
    assert_eq!(traces, ["mixed-eevdf@kernel-1cpus-kernel.parquet", "mixed-eevdf@kernel-1cpus-sim.parquet"]);
}
