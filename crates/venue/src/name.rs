//! The venues by name.

use serde::{Deserialize, Serialize};

/// Where runs happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VenueName {
    /// The simulated machine.
    #[default]
    Sim,
    /// This machine, under the kernel that runs.
    Host,
    /// A kernel in a virtual machine, in virtual time.
    Vm,
}

impl VenueName {
    /// All of them.
    pub const ALL: [VenueName; 3] = [VenueName::Sim, VenueName::Host, VenueName::Vm];

    /// The name, as people write it.
    pub fn name(self) -> &'static str {
        match self {
            VenueName::Sim => "sim",
            VenueName::Host => "host",
            VenueName::Vm => "vm",
        }
    }

    /// What it is, in one line.
    pub fn about(self) -> &'static str {
        match self {
            VenueName::Sim => "The simulated machine",
            VenueName::Host => "This machine, under the kernel that runs",
            VenueName::Vm => "A kernel in a virtual machine, in virtual time",
        }
    }
}
