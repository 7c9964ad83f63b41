//! What a reader says: events of the scheduler, as the kernel's tracepoints tell them.

use schedlab_model::machine::MAX_CPUS;
use schedlab_record::{Comm, Departure};
use serde::{Deserialize, Serialize};

/// When, where, and on top of which task something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// In nanoseconds of the tool's clock.
    pub time_ns: u64,
    pub cpu: u32,
    /// The task that was on the CPU; 0 is idle, negative is not known.
    pub tid: i32,
    /// Whether an interrupt was on top of the task, where the tool says.
    pub in_interrupt: Option<bool>,
}

/// A task as an event names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub tid: i32,
    pub comm: Comm,
    pub priority: i16,
}

/// An event of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    Switch {
        previous: Task,
        how: Departure,
        next: Task,
    },
    /// A switch without the task that left: it is the last one that came to this CPU.
    SwitchTo {
        how: Departure,
        next: Task,
    },
    Waking {
        task: Task,
        target: u32,
    },
    Wakeup {
        task: Task,
        target: u32,
        new: bool,
    },
    Migrate {
        task: Task,
        from: u32,
        to: u32,
    },
    Fork {
        parent: i32,
        child: i32,
        comm: Comm,
    },
    Exec {
        tid: i32,
        former: i32,
        program: Comm,
    },
    Exit {
        task: Task,
    },
    Rename {
        tid: i32,
        comm: Comm,
    },
    /// A task has had the CPU for so long since the kernel last said so of it.
    Ran {
        tid: i32,
        comm: Comm,
        runtime_ns: u64,
    },
}

impl Event {
    /// Whether it can have happened: of a CPU that there is, and nothing that no scheduler does.
    pub fn check(&self) -> Result<(), String> {
        let cpus = match *self {
            Event::Waking { target, .. } | Event::Wakeup { target, .. } => [target, 0],
            Event::Migrate { from, to, .. } => [from, to],
            _ => [0, 0],
        };
        cpus.into_iter().try_for_each(check_cpu)?;
        match *self {
            // The idle task stands for all tasks that a tool does not name.
            Event::Switch { previous, next, .. } if previous.tid == next.tid && next.tid != 0 => {
                Err(format!("task {} switches to itself", next.tid))
            }
            Event::Fork { parent, child, .. } if parent == child => Err(format!("task {child} is its own parent")),
            _ => Ok(()),
        }
    }

    /// Whether the trace will show it.
    pub fn is_of_switches(&self) -> bool {
        !matches!(self, Event::Ran { .. } | Event::Rename { .. })
    }
}

/// No machine has this many CPUs.
pub fn check_cpu(cpu: u32) -> Result<(), String> {
    if cpu < MAX_CPUS { Ok(()) } else { Err(format!("there is no CPU {cpu}; schedlab knows {MAX_CPUS}")) }
}

/// Which numbers a kernel gives to the states that a task leaves its CPU in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum States {
    /// Those since Linux 4.14: 0x40 is parked, 0x100 preempted.
    Since414,
    /// Those before, in which 0x40 is dead too.
    Before,
}

impl States {
    /// How a task left that had these bits. Whatever is above the states says that it was preempted.
    pub fn departure(self, bits: u64) -> Departure {
        let (states, dead) = match self {
            States::Since414 => (0xff, 0x30),
            // 512 is parked.
            States::Before => (0x2ff, 0x70),
        };
        match bits & states {
            0 => Departure::Preempted,
            bits if bits & dead != 0 => Departure::Exited,
            _ => Departure::Blocked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_by_the_kernel_that_wrote_it() {
        let of = |bits| [States::Since414, States::Before].map(|states| states.departure(bits));
        assert_eq!(of(0), [Departure::Preempted; 2]);
        assert_eq!((of(0x100), of(0x1000)), ([Departure::Preempted; 2], [Departure::Preempted; 2]));
        assert_eq!(
            (of(1), of(2), of(0x82)),
            ([Departure::Blocked; 2], [Departure::Blocked; 2], [Departure::Blocked; 2])
        );
        assert_eq!((of(0x10), of(0x20)), ([Departure::Exited; 2], [Departure::Exited; 2]));
        assert_eq!(of(0x40), [Departure::Blocked, Departure::Exited]);
    }
}
