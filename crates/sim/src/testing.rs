//! Runs generated scripts of kernel functions in both executors next to each other.
//!
//! A script is any bytes: the policy `tests/policies/script.bpf.c` makes calls of them, with arguments from everything a
//! policy has at hand. A fuzz target gives the bytes that it likes, a test those of a fixed seed.

use crate::{Options, RunError, scx};
use schedlab_bpf::{Executor, Object, Value};
use schedlab_model::{rng::Rng, scenario::Scenario, trace::Event, workload::Workload};

/// Bytes of a script; those that are missing are zero.
pub const SCRIPT_BYTES: usize = 96 * 8;

/// Tasks that wake, wait, yield and lose their CPU. Instructions of the policy cost time in the second one, so that the
/// executors have to count the same.
const SCENARIOS: [&str; 2] = [
    "name = \"script\"\n[machine]\ncpus = 2\n[[task]]\nname = \"a\"\ncount = 3\n\
     once = [{ compute = \"3ms\" }, { sleep = \"1ms\" }, { yield = true }, { compute = \"3ms\" }]\n\
     [run]\nduration = \"12ms\"\n",
    "name = \"script\"\n[machine]\ncpus = 3\n[machine.costs]\npolicy_instruction = \"1ns\"\n[[task]]\nname = \"a\"\ncount = 5\n\
     once = [{ compute = \"2ms\" }, { sleep = \"1ms\" }, { compute = \"2ms\" }]\n[run]\nduration = \"10ms\"\n",
];

/// What a run of a script left.
#[derive(Debug, PartialEq)]
enum Left {
    /// It came to its end, having printed this.
    Done(Vec<String>),
    /// The policy failed.
    Failed(String),
}

/// How two runs of a script went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Went {
    /// To the end, the same in both; the number of lines that it printed.
    Same(usize),
    /// To the same error.
    SameError(String),
    /// To an access that the interpreter alone refuses.
    Refused(String),
}

/// The kinds of steps that use what they make as it is meant, and all kinds.
const TAME_KINDS: u8 = 13;
const KINDS: u8 = 16;

/// The bytes of a script. Most of its steps are of the kinds that use what they make as it is meant; `wild` of 8 have
/// any arguments.
pub fn script(seed: u64, wild: u64) -> Vec<u8> {
    let mut rng = Rng::split(seed, "script");
    let mut bytes: Vec<u8> = (0..SCRIPT_BYTES).map(|_| rng.next_u64() as u8).collect();
    for step in bytes.chunks_exact_mut(8) {
        step[0] %= if rng.next_u64() % 8 < wild { KINDS } else { TAME_KINDS };
    }
    bytes
}

/// Runs a script in both executors.
///
/// # Errors
///
/// What differs, or which defect was met.
pub fn side_by_side(object: &Object, script: &[u8]) -> Result<Went, String> {
    let text = SCENARIOS[usize::from(script.last().is_some_and(|byte| byte & 1 == 1))];
    let workload = Scenario::parse(text, "script").map_err(|error| error.to_string())?;
    let workload = workload.compile().map_err(|error| error.to_string())?;
    let [(checked, interpreted), (machine, compiled)] =
        [Executor::Interpreter, Executor::Machine].map(|executor| run(object, &workload, script, executor));
    for left in [&checked, &machine] {
        if let Left::Failed(message) = left
            && message.contains("a defect of schedlab")
        {
            return Err(message.clone());
        }
    }
    match &checked {
        Left::Failed(message) if is_refusal(message) => Ok(Went::Refused(message.clone())),
        _ if checked != machine => Err(format!("{checked:?} in the interpreter, {machine:?} in machine code")),
        // A policy continues after an error of the core, up to an access that the interpreter alone refuses.
        Left::Failed(message) => Ok(Went::SameError(message.clone())),
        Left::Done(_) if interpreted != compiled => Err(format!("the events differ: {checked:?}")),
        Left::Done(printed) => Ok(Went::Same(printed.len())),
    }
}

/// Whether machine code, which checks no ranges, continues where this stopped the interpreter.
fn is_refusal(message: &str) -> bool {
    ["outside of everything", "over the end of", "which is read-only", "through NULL"]
        .iter()
        .any(|text| message.contains(text))
}

fn run(object: &Object, workload: &Workload, script: &[u8], executor: Executor) -> (Left, Vec<Event>) {
    let mut bytes = script.to_vec();
    bytes.resize(SCRIPT_BYTES, 0);
    let options = Options { executor, settings: vec![("script".to_string(), Value::Bytes(bytes))], seed: 1 };
    let mut events = Vec::new();
    let left = match scx::run(workload, object, &options, &mut events, &mut ()) {
        Ok(outcome) => Left::Done(outcome.printed.into_iter().map(|(_, line)| line).collect()),
        Err(RunError::Policy(failure)) => Left::Failed(failure.message),
        Err(other) => Left::Failed(other.to_string()),
    };
    (left, events)
}
