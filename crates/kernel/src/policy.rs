//! What is said about a policy that a kernel is to take.

use serde::{Deserialize, Serialize};

/// Why a policy is not in charge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchedulerError {
    /// Nothing in this program could load it.
    #[error("loading a policy takes libbpf, without which this schedlab was built")]
    Build,
    /// No sched_ext.
    #[error("this kernel has no sched_ext: it takes 6.12 or newer with CONFIG_SCHED_CLASS_EXT")]
    NoSchedExt,
    /// This process may not.
    #[error("loading a policy needs {0}, which this process lacks; run it as root")]
    Rights(String),
    /// Another one is in charge.
    #[error("the scheduler `{0}` is in charge of this kernel; stop it first")]
    Taken(String),
    /// The kernel refused it.
    #[error("the kernel does not take the policy: {0}")]
    Refused(String),
    /// A program did not put its policy in charge.
    #[error("{0}")]
    Program(String),
    /// It was in charge, and the kernel threw it out.
    #[error("the kernel ejected the policy: {0}")]
    Ejected(String),
}

impl SchedulerError {
    /// Whether the policy was in charge before that.
    pub fn was_in_charge(&self) -> bool {
        matches!(self, SchedulerError::Ejected(_))
    }
}

/// A value to be put into the object's data before it is loaded: section, offset, bytes.
pub type Setting = (String, u64, Vec<u8>);

/// How many entries a map is to have: its name, and the number.
pub type Entries = (String, u32);

/// A program as it was handed to the kernel: with its addresses, and with the subprograms that it calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedProgram {
    /// Its name.
    pub name: String,
    /// Its instructions, each as its eight bytes.
    pub instructions: Vec<[u8; 8]>,
}

/// A constant of an object that stands for an enumerator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enumerator {
    /// Its name in the kernel.
    pub name: String,
    /// The data section of the object.
    pub section: String,
    /// Where in the section its eight bytes are.
    pub offset: u64,
}
