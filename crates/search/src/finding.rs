//! What can be wrong with a policy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of fault a scenario shows. Two findings of a kind are most likely one fault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A task that wants a CPU waits until the watchdog ends the policy.
    Stall,
    /// The policy fails; what it does wrong, without names and numbers.
    Fault(String),
    /// The events of a run cannot be: one task on two CPUs, time that is lost.
    Unlawful,
    /// The interpreter and machine code do not do the same.
    ExecutorsDiffer,
    /// The simulator panics.
    Panic,
    /// A task waits longer than it may.
    LongWait,
    /// CPUs idle while tasks wait that may run there.
    IdleBesideWork,
    /// Equal tasks get unequal parts.
    Unfair,
}

/// What is wrong, in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The kind.
    pub kind: Kind,
    /// What was seen, in a sentence.
    pub what: String,
}

impl Finding {
    /// A finding.
    pub fn new(kind: Kind, what: String) -> Finding {
        Finding { kind, what }
    }
}

impl Kind {
    /// The kind of a policy's failure with this message: names and numbers in it are left out, so that two failures of one
    /// fault are alike.
    pub(crate) fn of_fault(operation: Option<&str>, message: &str) -> Kind {
        let is_word = |word: &&str| word.chars().all(|letter| letter.is_ascii_alphabetic() || "'-_".contains(letter));
        let plain = message.split([' ', ',', ';', ':', '(', ')']).filter(|word| !word.is_empty()).filter(is_word);
        let words: Vec<&str> = operation.into_iter().chain(plain.take(8)).collect();
        Kind::Fault(words.join(" "))
    }

    /// The names of all kinds but faults, whose names begin with `fault-`.
    pub const NAMES: [&str; 7] =
        ["stall", "unlawful", "executors-differ", "panic", "long-wait", "idle-beside-work", "unfair"];

    /// Whether a kind may have this name.
    pub fn is_name(name: &str) -> bool {
        Kind::NAMES.contains(&name) || name.starts_with("fault-")
    }

    /// The name of a scenario that shows it.
    pub fn name(&self) -> String {
        match self {
            Kind::Stall => "stall".into(),
            Kind::Fault(what) => {
                let letters = what.to_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
                let words: Vec<&str> = letters.split('-').filter(|word| !word.is_empty()).take(6).collect();
                format!("fault-{}", words.join("-"))
            }
            Kind::Unlawful => "unlawful".into(),
            Kind::ExecutorsDiffer => "executors-differ".into(),
            Kind::Panic => "panic".into(),
            Kind::LongWait => "long-wait".into(),
            Kind::IdleBesideWork => "idle-beside-work".into(),
            Kind::Unfair => "unfair".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_one_fault_are_alike() {
        let kind =
            |task: &str, cpu: u32| Kind::of_fault(Some("dispatch"), &format!("task {task} may not run on CPU {cpu}"));
        assert_eq!(kind("a/0", 1), kind("b/17", 3));
        assert_ne!(kind("a/0", 1), Kind::of_fault(Some("enqueue"), "task a/0 may not run on CPU 1"));
        assert_eq!(kind("a/0", 1).name(), "fault-dispatch-task-may-not-run-on");
    }
}
