//! CPUs that leave the machine during a run, and come back.

use crate::{cpuset::CpuSet, ids::CpuId, time::Time};
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
    /// The CPUs that are there after these of a machine with `cpus` CPUs.
    pub fn online(events: &[Hotplug], cpus: u32) -> CpuSet {
        let is_there = |cpu: &CpuId| events.iter().rfind(|event| event.cpu == *cpu).is_none_or(|event| event.online);
        CpuSet::first(cpus).iter().filter(is_there).collect()
    }
}
