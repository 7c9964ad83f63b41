//! What steps take in addition to what they say: measured on the very steps of a task, one at a time.

use super::{Cost, Effort, cpu_time};
use crate::algorithm::{Algorithm, Engine};
use crate::attributes::{cpus, set_punctual};
use crate::calibration::{Calibration, quantile};
use crate::clock::now_ns;
use crate::control_groups::ControlGroups;
use crate::master::Nobody;
use crate::site::Site;
use crate::worker::Worker;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::scenario::Scenario;
use schedlab_model::workload::{Step, Workload};
use std::io;

/// A sleep in which a CPU that has nothing else to do stops its tick: longer than a tick at the lowest rate of a kernel, 100 Hz.
/// Each further tick adds a little, which is not counted here (`update_wall_time`).
const WITHOUT_TICK: &str = "12ms";

/// How a scenario begins.
const HEAD: &str = "name = \"costs\"\n[machine]\ncpus = 1\n[run]\nduration = \"60s\"\n";

/// CPU time of a task for its steps, and how late it comes back from a sleep.
#[derive(Debug, Default)]
pub struct Steps {
    /// A sleep, from the call to the next step.
    pub sleep: Option<Cost>,
    /// From the instant at which a sleep was to end to the next step, on a CPU that is idle.
    pub lateness: Option<Cost>,
    /// What that is more after a sleep in which the CPU has stopped its tick.
    pub idle_exit: Option<Cost>,
    /// A request to a device, as `sleep`.
    pub io: Option<Cost>,
    /// Giving to or taking from a semaphore without a waiter.
    pub semaphore: Option<Cost>,
    /// Writing down a request of a task's own.
    pub request: Option<Cost>,
    /// Sending a request on, and taking one over.
    pub passing: [Option<Cost>; 2],
    /// Putting a message into a pipe, and taking one out, without a waiter.
    pub pipe: [Option<Cost>; 2],
    /// What these take more where the pipe has no page left, and where it keeps none.
    pub pages: [Option<Cost>; 2],
    /// The same of a socket.
    pub socket: [Option<Cost>; 2],
    /// What measuring a step takes itself.
    pub nothing_ns: f64,
}

/// Measures them.
pub fn steps(effort: &Effort) -> io::Result<Steps> {
    let (sleep, lateness) = sleeps("{ sleep = \"300us\" }", effort.wakes)?;
    let (_, late) = sleeps(&format!("{{ sleep = \"{WITHOUT_TICK}\" }}"), effort.rounds as u32)?;
    let (io, _) = sleeps("{ io = { device = \"d\", service = \"300us\" } }", effort.wakes)?;
    let [post, wait] = both_ways("{ post = \"s\" }", "{ wait = \"s\" }", FEW, "", effort)?;
    let carried = requests_passed(effort.wakes)?;
    let more = |with: &[f64], without: &[f64]| Cost::positive(quantile(with, 0.5) - quantile(without, 0.5));
    let passing = [more(&carried[0], &post), more(&carried[1], &wait)];
    let channel = |kind, at_once| {
        let declared = format!("[channel.c]\nkind = \"{kind}\"\n");
        both_ways("{ send = \"c\" }", "{ recv = \"c\" }", at_once, &declared, effort)
    };
    let semaphore: Vec<f64> = post.into_iter().chain(wait).collect();
    // A pipe keeps the page of one message, and not those of many.
    let (kept, many) = (channel("pipe", 1)?, channel("pipe", MANY)?);
    let pages = std::array::from_fn(|way| more(&last_of_many(&many[way]), &kept[way]));
    let [pipe, socket] = [kept, channel("socket", FEW)?].map(|ways| ways.map(|way| Cost::of(&way)));
    Ok(Steps {
        sleep: Cost::of(&sleep),
        idle_exit: Cost::positive(quantile(&late, 0.5) - quantile(&lateness, 0.5)),
        lateness: Cost::of(&lateness),
        io: Cost::of(&io),
        semaphore: Cost::of(&semaphore),
        request: Cost::of(&requests(effort.wakes)?),
        passing,
        pipe,
        pages,
        socket,
        nothing_ns: nothing(),
    })
}

/// CPU time of each of many like sleeps, and how late each came back.
fn sleeps(step: &str, times: u32) -> io::Result<(Vec<f64>, Vec<f64>)> {
    let (mut taken, mut late, nothing) = (Vec::new(), Vec::new(), nothing());
    each_step(&program(step, times, ""), |_, worker| {
        let ns = cpu_time(|| worker.step());
        late.push(now_ns().saturating_sub(worker.due_ns()) as f64);
        taken.push(ns - nothing);
    })?;
    // The first one begins with cold tables.
    Ok((taken.split_off(1.min(taken.len())), late.split_off(1.min(late.len()))))
}

/// How many steps of a kind follow one another before as many undo them.
const FEW: usize = 4;
/// More than twice as many as a pipe keeps pages.
const MANY: usize = 8;

/// Of many steps at a time, the second half.
fn last_of_many(steps: &[f64]) -> Vec<f64> {
    steps.chunks_exact(MANY).flat_map(|steps| &steps[MANY / 2..]).copied().collect()
}

/// CPU time of each of many steps, and of as many that undo them, `at_once` at a time so that no task waits.
fn both_ways(there: &str, back: &str, at_once: usize, declared: &str, effort: &Effort) -> io::Result<[Vec<f64>; 2]> {
    let rounds = format!("{{ repeat = {at_once}, steps = [{there}] }}, {{ repeat = {at_once}, steps = [{back}] }}");
    let (mut ways, nothing) = ([Vec::new(), Vec::new()], nothing());
    each_step(&program(&rounds, effort.wakes / 2, declared), |step, worker| {
        let ns = cpu_time(|| worker.step()) - nothing;
        match step {
            Step::Send(..) | Step::Post(..) => ways[0].push(ns),
            _ => ways[1].push(ns),
        }
    })?;
    Ok(ways)
}

/// CPU time of each of many requests of a task that asks for next to no work.
fn requests(times: u32) -> io::Result<Vec<f64>> {
    let text = format!("{HEAD}[[task]]\nname = \"t\"\nloop = [{{ compute = \"uniform(1ns, 2ns)\" }}]\n");
    with_workers(&text, |[mut worker]| passes(&mut worker, times))
}

/// CPU time of each of many units that a task gives to a semaphore, where each is a request; and of each that another one takes.
fn requests_passed(times: u32) -> io::Result<[Vec<f64>; 2]> {
    let text = format!(
        "{HEAD}[[task]]\nname = \"gives\"\nonce = [{{ repeat = {times}, steps = [{{ post = \"s\" }}] }}]\n\
         [[task]]\nname = \"takes\"\nloop = [{{ wait = \"s\" }}]\n"
    );
    let nothing = nothing();
    with_workers(&text, |[gives, mut takes]| {
        let mut given = Vec::new();
        each_step_of(gives, |_, worker| given.push(cpu_time(|| worker.step()) - nothing));
        [given, passes(&mut takes, times)]
    })
}

/// CPU time of each of some passes of a task's loop.
fn passes(worker: &mut Worker, times: u32) -> Vec<f64> {
    let nothing = nothing();
    (0..times).map(|_| cpu_time(|| pass(worker)) - nothing).collect()
}

fn pass(worker: &mut Worker) {
    while worker.next_step().is_some() {
        worker.step();
    }
    // From the end to the beginning.
    worker.step();
}

/// A scenario in which one task does the same again and again.
fn program(steps: &str, times: u32, declared: &str) -> String {
    format!("{HEAD}[[task]]\nname = \"t\"\nonce = [{{ repeat = {times}, steps = [{steps}] }}]\n{declared}")
}

/// Does the steps of a scenario's only task, here: those that can take time are done by `measure`.
fn each_step(text: &str, measure: impl FnMut(&Step, &mut Worker)) -> io::Result<()> {
    with_workers(text, |[worker]| each_step_of(worker, measure))
}

/// Makes the task of each of a scenario's first roles, here.
fn with_workers<T, const ROLES: usize>(text: &str, act: impl FnOnce([Worker; ROLES]) -> T) -> io::Result<T> {
    let workload = workload(text);
    // No work is so long that any of it would be done.
    let calibration = Calibration { ns_per_piece: f64::from(u32::MAX), ..Calibration::unknown(Algorithm::Spin) };
    let site = Site::open(&workload, &calibration, Algorithm::Spin, 1, ControlGroups::none())?;
    let worker = |role: usize| {
        let number = site.shared.add_task(role as u32, None, 0).expect("there is room for each");
        Worker::new(&site, &Nobody, number, Engine::new(Algorithm::Spin))
    };
    Ok(act(std::array::from_fn(worker)))
}

/// Does a task's steps in this thread: those that can take time are done by `measure`.
pub fn each_step_of(mut worker: Worker, mut measure: impl FnMut(&Step, &mut Worker)) {
    // As tasks are.
    set_punctual();
    while let Some(step) = worker.next_step() {
        match step {
            Step::Sleep(_) | Step::Io(..) | Step::Post(..) | Step::Wait(_) | Step::Send(..) | Step::Recv(..) => {
                measure(step, &mut worker);
            }
            _ => worker.step(),
        }
    }
}

/// A workload of ours. Its tasks run on the first CPU that this thread may use, whichever that is.
pub fn workload(text: &str) -> Workload {
    let scenario = Scenario::parse(text, "costs").expect("a scenario of ours can be read");
    let mut workload = scenario.compile().expect("a scenario of ours means something");
    let here: CpuSet = cpus().ok().and_then(|cpus| cpus.iter().next()).into_iter().collect();
    if !here.is_empty() {
        workload.roles.iter_mut().for_each(|role| role.cpus = here.clone());
    }
    workload
}

/// What measuring a step takes itself.
pub fn nothing() -> f64 {
    let values: Vec<f64> = (0..101).map(|_| cpu_time(|| ())).collect();
    quantile(&values, 0.5)
}
