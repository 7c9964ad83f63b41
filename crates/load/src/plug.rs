//! CPUs of a guest go offline and come back, as its kernel does at root's request.

use schedlab_model::workload::{Hotplug, Workload};
use std::fs;
use std::io;

/// What is to happen to CPUs, in the order of time.
pub struct Plugs<'a> {
    events: &'a [Hotplug],
    start_ns: u64,
}

impl<'a> Plugs<'a> {
    /// Those of a run that begins at `start_ns`.
    pub fn new(workload: &'a Workload, start_ns: u64) -> Plugs<'a> {
        Plugs { events: &workload.hotplug, start_ns }
    }

    fn at_ns(&self, event: &Hotplug) -> u64 {
        self.start_ns.saturating_add(event.at.ns())
    }

    /// When the next event is due; `u64::MAX` after the last.
    pub fn next_ns(&self) -> u64 {
        self.events.first().map_or(u64::MAX, |event| self.at_ns(event))
    }

    /// Takes what is due now.
    pub fn due(&mut self, now_ns: u64) -> &'a [Hotplug] {
        let count = self.events.iter().take_while(|event| self.at_ns(event) <= now_ns).count();
        let (due, later) = self.events.split_at(count);
        self.events = later;
        due
    }
}

/// Has the kernel take a CPU offline or online, and waits until that is done.
pub fn plug(event: &Hotplug) -> io::Result<()> {
    fs::write(format!("/sys/devices/system/cpu/cpu{}/online", event.cpu), if event.online { "1" } else { "0" })
}

/// Brings all CPUs back that a workload has taken offline.
pub fn bring_back(workload: &Workload) {
    for event in workload.hotplug.iter().filter(|event| !event.online) {
        // One that is online is left as it is.
        _ = plug(&Hotplug { online: true, ..*event });
    }
}
