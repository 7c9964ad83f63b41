//! What waiting for a message takes: two tasks send one back and forth.

use super::settings;
use super::steps::workload;
use crate::run::{LoadError, TaskReport, Unwatched, run};

/// How often it goes there and back.
const ROUNDS: u32 = 64;

/// What else is in the time of the two, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Putting a message in.
    pub send: f64,
    /// Taking one out.
    pub recv: f64,
    /// Waking the receiver.
    pub wakeup: f64,
    /// From one task to the other.
    pub switch: f64,
    /// Coming back from a wait.
    pub resume: f64,
}

/// CPU time of a wait. How often one waits for the other depends on the scheduler, so that is counted: a task that leaves its
/// CPU by itself waits.
pub fn of_messages(kind: &str, known: Known) -> Result<f64, LoadError> {
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
    let (waits, all) = (sum(|task| task.switches.0), sum(|task| task.switches.0 + task.switches.1));
    let messages_ns = f64::from(2 * ROUNDS) * (known.send + known.recv);
    Ok((cpu_ns - messages_ns - all * known.switch) / waits - known.wakeup - known.resume)
}
