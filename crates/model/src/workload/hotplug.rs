//! CPUs that leave the machine during a run, and come back.

use crate::{ids::CpuId, time::Time};
use serde::{Deserialize, Serialize};

/// A CPU leaves the machine or comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hotplug {
    /// When.
    pub at: Time,
    /// Which.
    pub cpu: CpuId,
    /// Whether it is there from then on.
    pub online: bool,
}

impl Hotplug {
    /// Whether a CPU is there after these.
    pub fn is_online(events: &[Hotplug], cpu: CpuId) -> bool {
        events.iter().rfind(|event| event.cpu == cpu).is_none_or(|event| event.online)
    }
}
