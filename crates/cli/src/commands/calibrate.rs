//! `schedlab calibrate`: what things cost on this machine.

use crate::args::CalibrateArgs;
use crate::failure::{self, Failure};
use crate::{files, output};
use schedlab_model::machine::Costs as MachineCosts;
use schedlab_model::scenario::{Costs as CostKeys, MachineFile};
use schedlab_report::{Column, Table};
use schedlab_venue::{
    Algorithm, Calibration, CalibrationError, Cost, Costs, Effort, Verification, calibrate, fingerprint, measure_costs,
    verified,
};
use serde::Serialize;
use std::path::Path;

/// What is printed.
#[derive(Serialize)]
struct Page {
    schema: &'static str,
    machine: String,
    loads: Vec<Calibration>,
    /// For each load how far work is off.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verified: Vec<Verification>,
    costs: Costs,
}

/// Measures and prints.
pub fn run(args: CalibrateArgs) -> Result<(), Failure> {
    args.machine.as_deref().map_or(Ok(()), check)?;
    let algorithms = if args.load.is_empty() { Algorithm::ALL.to_vec() } else { args.load };
    let failed = |error: CalibrationError| Failure::Failed(error.to_string());
    let made = |load: &Algorithm| calibrate(*load, true).map_err(failed);
    let loads: Vec<Calibration> = algorithms.iter().map(made).collect::<Result<_, _>>()?;
    let asked = algorithms.iter().filter(|_| args.verify);
    let verified = asked.map(|load| verified(*load).map_err(failed)).collect::<Result<_, _>>()?;
    let costs = costs()?;
    let page = Page { schema: "schedlab.calibration/1", machine: fingerprint(), loads, verified, costs };
    let printed = if args.json { output::print_json(&page) } else { output::print(&show(&page)) };
    failure::all([printed, args.machine.map_or(Ok(()), |path| save(&path, &page))])
}

fn costs() -> Result<Costs, Failure> {
    measure_costs(&Effort::REAL).map_err(|error| Failure::Failed(format!("cannot measure costs: {error}")))
}

/// What this machine takes for itself now, as a scenario has it.
pub fn measured_costs() -> Result<CostKeys, Failure> {
    Ok(keys(&costs()?))
}

/// Costs as the simulator takes them, in its words.
fn keys(costs: &Costs) -> CostKeys {
    CostKeys::from(&MachineCosts::from(&costs.told(0.0)))
}

/// Whether the machine file can be written: it replaces an earlier one, and nothing else.
fn check(path: &Path) -> Result<(), Failure> {
    let parsed = |bytes: &[u8]| MachineFile::parse(std::str::from_utf8(bytes).ok()?, "").ok();
    files::check_kept(path, "schedlab calibrate", parsed).map(drop)
}

/// Writes the machine file.
fn save(path: &Path, page: &Page) -> Result<(), Failure> {
    let file = MachineFile { about: page.machine.clone(), costs: keys(&page.costs) };
    files::write(path, file.to_toml().as_bytes())
}

fn show(page: &Page) -> String {
    let all = |show: fn(&Calibration) -> String| page.loads.iter().map(show).collect::<Vec<_>>();
    let percent = |x: f64| format!("{:.2}", 100.0 * x);
    let mut columns = vec![
        Column::words("load", all(|load| load.algorithm.clone())),
        Column::numbers("ns per piece", all(|load| format!("{:.2}", load.ns_per_piece))),
        Column::numbers("spread %", page.loads.iter().map(|load| percent(load.spread))),
        Column::numbers("off the line %", page.loads.iter().map(|load| percent(load.misfit))),
    ];
    if !page.verified.is_empty() {
        let off = |index: usize| page.verified.iter().map(move |found| format!("{:+.2}", 100.0 * found.off[index]));
        let asked = ["1 ms", "10 ms", "250 ms"].into_iter().enumerate();
        columns.extend(asked.map(|(index, head)| Column::numbers(head, off(index)).under("off by %")));
        columns.push(Column::numbers("refused", page.verified.iter().map(|found| found.refused.to_string())));
    }
    let loads = Table::new(columns);
    let costs = named(&page.costs);
    let known = |show: fn(Cost) -> f64| {
        costs.iter().map(|(_, cost)| cost.map_or("-".into(), |cost| format!("{:.0}", show(cost)))).collect::<Vec<_>>()
    };
    let costs = Table::new([
        Column::words("cost", costs.iter().map(|(name, _)| name.to_string())),
        Column::numbers("median ns", known(|cost| cost.median_ns)),
        Column::numbers("lower", known(|cost| cost.quartiles_ns.0)).under("quartiles"),
        Column::numbers("upper", known(|cost| cost.quartiles_ns.1)).under("quartiles"),
    ]);
    let style = output::style();
    format!("{}\n\n{}\n{}", page.machine, loads.show(style), costs.show(style))
}

fn named(costs: &Costs) -> Vec<(&'static str, Option<Cost>)> {
    vec![
        ("switch between threads", costs.switch_thread),
        ("switch between processes", costs.switch_process),
        ("wake-up and switch", costs.hand_over),
        ("switch from a thread that goes to sleep", costs.switch_wait),
        ("exit from idleness without a tick, in addition", costs.idle_exit),
        ("preemption by a woken task, in addition", costs.preempt),
        ("wake-up, as the waker pays", costs.wakeup),
        ("wake-up, on another CPU that is idle", costs.wakeup_remote),
        ("wake-up, the choice of a CPU", costs.wakeup_select),
        ("tick", costs.tick),
        ("interrupt of a timer", costs.timer),
        ("migration, warm cache", costs.migration_warm),
        ("migration, cold cache", costs.migration_cold),
        ("fork of a thread, as the parent pays", costs.fork),
        ("start of a thread", costs.start),
        ("exit of a thread", costs.exit),
        ("fork of a process, as the parent pays", costs.process_fork),
        ("the same, more for each other thread", costs.process_fork_thread),
        ("the same, once the process is awake", costs.process_return),
        ("forks of processes, as the parent pays once", costs.process_copy),
        ("start of a process", costs.process_start),
        ("the same, more before others are created", costs.process_start_shared),
        ("the same, more before its creator continues", costs.process_start_first),
        ("the same, more for each thread of its creator", costs.process_start_thread),
        ("exit of a process", costs.process_exit),
        ("the same, more for each thread of its creator", costs.process_exit_thread),
        ("arrival of a thread, as its creator pays", costs.arrival),
        ("arrival of a process, as its creator pays", costs.process_arrival),
        ("grace period of RCU, each run of its thread", costs.grace_period),
        ("what the kernel frees of a task", costs.reclaim),
        ("statistics of a CPU, each run of a worker", costs.statistics),
        ("sleep", costs.sleep),
        ("sleep, how late it ends", costs.lateness),
        ("input or output", costs.io),
        ("futex, wait", costs.futex_wait),
        ("futex, wake", costs.futex_wake),
        ("semaphore", costs.semaphore),
        ("request, written down", costs.request),
        ("request, sent on", costs.request_send),
        ("request, taken over", costs.request_recv),
        ("pipe, send", costs.pipe_send),
        ("pipe, receive", costs.pipe_recv),
        ("pipe, a new page", costs.pipe_alloc),
        ("pipe, a page freed", costs.pipe_free),
        ("pipe, wait", costs.pipe_wait),
        ("pipe, what of a wait comes after the wake-up", costs.pipe_resume),
        ("socket, send", costs.socket_send),
        ("socket, receive", costs.socket_recv),
        ("socket, wait", costs.socket_wait),
        ("socket, what of a wait comes after the wake-up", costs.socket_resume),
    ]
}
