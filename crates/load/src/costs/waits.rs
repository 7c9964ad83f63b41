//! What waiting for a message takes: two tasks send one back and forth, and one wakes another that waits.

use super::steps::{each_step_of, nothing, workload};
use super::{Cost, Costs, Effort, settings};
use crate::algorithm::{Algorithm, Engine};
use crate::calibration::{Calibration, quantile};
use crate::clock::{CpuClock, now_ns, sleep_until, thread_cpu_ns};
use crate::control_groups::ControlGroups;
use crate::master::Nobody;
use crate::run::{LoadError, TaskReport, Unwatched, run};
use crate::site::Site;
use crate::worker::Worker;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

/// How often it goes there and back.
const ROUNDS: u32 = 64;

/// What waiting for a message takes, where putting one in and taking one out is known; and what of it comes after the wakeup.
pub fn waiting(kind: &str, costs: &Costs, moved: [Option<Cost>; 2], effort: &Effort) -> (Option<Cost>, Option<Cost>) {
    let Some(known) = known(costs, moved) else { return (None, None) };
    let Some(wait) = of_messages(kind, known).ok().and_then(Cost::positive) else { return (None, None) };
    let resume = after_wakeup(kind, effort).ok().map(|all| all - known.switch - known.resume);
    (Some(wait), resume.and_then(Cost::positive))
}

fn known(costs: &Costs, [send, recv]: [Option<Cost>; 2]) -> Option<Known> {
    let told = costs.told(0.0);
    Some(Known {
        send: send?.median_ns,
        recv: recv?.median_ns,
        wakeup: told.wakeup_ns?,
        switch: told.switch_ns()?,
        preempt: told.preempt_ns.unwrap_or(0.0),
        resume: told.resume_ns?,
    })
}

/// What else is in the time of the two, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Putting a message in.
    send: f64,
    /// Taking one out.
    recv: f64,
    /// Waking the receiver.
    wakeup: f64,
    /// From one task to the other.
    switch: f64,
    /// What that takes more where the first one loses the CPU.
    preempt: f64,
    /// Coming back from a wait.
    resume: f64,
}

/// CPU time of a wait. How often one waits for the other depends on the scheduler, so that is counted: a task that leaves its
/// CPU by itself waits.
fn of_messages(kind: &str, known: Known) -> Result<f64, LoadError> {
    let channels = format!("[channel.there]\nkind = \"{kind}\"\n[channel.back]\nkind = \"{kind}\"\n");
    let task = |name: &str, first: &str, second: &str| {
        format!("[[task]]\nname = \"{name}\"\nonce = [{{ repeat = {ROUNDS}, steps = [{first}, {second}] }}]\n")
    };
    let [send, recv] = ["send", "recv"].map(|step| move |channel: &str| format!("{{ {step} = \"{channel}\" }}"));
    let text = format!(
        "name = \"costs\"\n[machine]\ncpus = 1\n{channels}{}{}",
        task("asks", &send("there"), &recv("back")),
        task("answers", &recv("there"), &send("back"))
    );
    let report = run(&workload(&text), &settings(), &mut Unwatched)?;
    let sum = |of: fn(&TaskReport) -> u64| report.tasks.iter().map(of).sum::<u64>() as f64;
    let cpu_ns = sum(|task| task.done_cpu_ns - task.start_cpu_ns);
    let (waits, preemptions) = (sum(|task| task.switches.0), sum(|task| task.switches.1));
    let switches_ns = (waits + preemptions) * known.switch + preemptions * known.preempt;
    let messages_ns = f64::from(2 * ROUNDS) * (known.send + known.recv);
    Ok((cpu_ns - messages_ns - switches_ns) / waits - known.wakeup - known.resume)
}

/// How long a task may take to fall asleep in a wait.
const ASLEEP_NS: u64 = 300_000;

/// CPU time of a task that waits for a message, from its wakeup to its next step: while it sleeps its clock stands, and the
/// sender reads it. The median of many.
fn after_wakeup(kind: &str, effort: &Effort) -> io::Result<f64> {
    let text = format!(
        "name = \"costs\"\n[machine]\ncpus = 1\n[channel.c]\nkind = \"{kind}\"\n\
         [[task]]\nname = \"sends\"\nonce = [{{ repeat = {0}, steps = [{{ send = \"c\" }}] }}]\n\
         [[task]]\nname = \"waits\"\nonce = [{{ repeat = {0}, steps = [{{ recv = \"c\" }}] }}]\n",
        effort.wakes
    );
    let workload = workload(&text);
    let calibration = Calibration::unknown(Algorithm::Spin);
    let site = Site::open(&workload, &calibration, Algorithm::Spin, 2, ControlGroups::none())?;
    let [sender, receiver] = [0, 1].map(|role| site.shared.add_task(role, None, 0).expect("there is room for two"));
    let (tell, told) = channel();
    let taken = std::thread::scope(|scope| {
        let waits = scope.spawn(|| wait(Worker::new(&site, &Nobody, receiver, Engine::new(Algorithm::Spin)), tell));
        let before = send(Worker::new(&site, &Nobody, sender, Engine::new(Algorithm::Spin)), &told);
        let after = waits.join().expect("it only waits");
        before.into_iter().zip(after).map(|(before, after)| after.saturating_sub(before) as f64).collect::<Vec<_>>()
    });
    Ok(quantile(&taken, 0.5) - nothing())
}

/// Receives all messages; its CPU time after each.
fn wait(worker: Worker, tell: Sender<CpuClock>) -> Vec<u64> {
    let _ = tell.send(CpuClock::of_this_thread());
    let mut times = Vec::new();
    each_step_of(worker, |_, worker| {
        worker.step();
        times.push(thread_cpu_ns());
    });
    times
}

/// Sends all messages to a task that sleeps; its CPU time before each.
fn send(worker: Worker, told: &Receiver<CpuClock>) -> Vec<u64> {
    let clock = told.recv().expect("it tells that first");
    let mut times = Vec::new();
    each_step_of(worker, |_, worker| {
        sleep_until(now_ns() + ASLEEP_NS);
        times.push(clock.now_ns());
        worker.step();
    });
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_is_woken_takes_cpu_time_to_its_next_step() {
        let effort = Effort { wakes: 20, ..Effort::REAL };
        for kind in ["pipe", "socket"] {
            let ns = after_wakeup(kind, &effort).unwrap();
            assert!(ns > 0.0 && ns < ASLEEP_NS as f64, "{kind}: {ns}");
        }
    }
}
