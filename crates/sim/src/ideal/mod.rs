//! The disciplines that theory speaks about, as policies of the simulator alone.
//!
//! They drive the same [`World`] as a sched_ext policy does, but know what a kernel cannot know (how long a task will
//! compute) and do what a machine cannot do (divide a CPU among tasks). Nothing costs time here, and a task may wait as
//! long as it takes: the machine's costs, tick and watchdog are for real policies. The difference to the ideal is what a
//! policy pays.
//!
//! Sources: Kleinrock, *Queueing Systems* II; Harchol-Balter, *Performance Modeling and Design of Computer Systems*.
//!
//! - One queue serves all CPUs. A discipline that gives whole CPUs (`machine.rs`) respects allowed CPU sets and keeps a
//!   task on the CPU where it was, if that is among those it may take.
//! - Steps that take no time are done when the task has a CPU; a fluid discipline (`fluid.rs`) does them at once.
//! - A discipline that goes by size looks up to the task's next `compute`. A task whose next step is something else
//!   (`post`, `lock`, ...) demands nothing, so it comes first.
//! - A task that runs out of work at the instant at which a better one comes is not preempted: it may be about to end.

mod drive;
mod fb;
mod fixed;
mod fluid;
mod machine;
mod order;
mod ps;
mod vacancy;
mod waiting;

#[cfg(test)]
mod laws;
#[cfg(test)]
pub(crate) mod test_helpers;
#[cfg(test)]
mod tests;

use crate::error::RunError;
use crate::world::World;
use crate::{Control, Outcome};
use order::{Key, Order};
use schedlab_model::control_group::Knobs;
use schedlab_model::machine::Costs;
use schedlab_model::trace::Sink;
use schedlab_model::workload::Workload;
use std::fmt;
use std::rc::Rc;

/// An ideal discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Discipline {
    /// First come, first served.
    Fcfs,
    /// Processor sharing.
    Ps,
    /// Foreground-background: least attained service.
    Fb,
    /// Shortest remaining processing time.
    Srpt,
    /// Preemptive shortest job first.
    Psjf,
    /// Shortest job first, non-preemptive.
    Sjf,
    /// Preemptive priorities.
    Prio,
    /// Non-preemptive priorities.
    PrioNp,
}

impl Discipline {
    /// All, in the order in which they are listed to people.
    pub const ALL: [Discipline; 8] = {
        use Discipline::*;
        [Fcfs, Ps, Fb, Srpt, Psjf, Sjf, Prio, PrioNp]
    };

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Discipline::Fcfs => "fcfs",
            Discipline::Ps => "ps",
            Discipline::Fb => "fb",
            Discipline::Srpt => "srpt",
            Discipline::Psjf => "psjf",
            Discipline::Sjf => "sjf",
            Discipline::Prio => "prio",
            Discipline::PrioNp => "prio-np",
        }
    }

    /// What it does, in one line.
    pub const fn about(self) -> &'static str {
        match self {
            Discipline::Fcfs => "first come, first served: a task keeps its CPU until it blocks or ends",
            Discipline::Ps => "processor sharing: n tasks on c CPUs all run at once, each at rate min(1, c/n)",
            Discipline::Fb => "foreground-background: those with the least attained service run; ties share the CPU",
            Discipline::Srpt => "shortest remaining processing time: the c tasks with the least work left run",
            Discipline::Psjf => "preemptive shortest job first: the c tasks with the least original work run",
            Discipline::Sjf => "shortest job first: a free CPU takes the task with the least work, and keeps it",
            Discipline::Prio => "priorities by nice value, preemptive; first come, first served among equals",
            Discipline::PrioNp => "priorities by nice value, non-preemptive; first come, first served among equals",
        }
    }

    /// The discipline of this name.
    pub fn from_name(name: &str) -> Option<Discipline> {
        Discipline::ALL.into_iter().find(|d| d.name() == name)
    }

    /// Whether it divides CPUs among tasks. Nothing is ever switched then: CPU time comes as
    /// [`Share`](schedlab_model::trace::EventKind::Share) events, and all events are those of CPU 0.
    pub const fn is_fluid(self) -> bool {
        matches!(self, Discipline::Ps | Discipline::Fb)
    }

    /// The order of a discipline that gives whole CPUs.
    const fn order(self) -> Option<Order> {
        let (key, preemptive) = match self {
            Discipline::Fcfs => (Key::Arrival, false),
            Discipline::Srpt => (Key::Remaining, true),
            Discipline::Psjf => (Key::Size, true),
            Discipline::Sjf => (Key::Size, false),
            Discipline::Prio => (Key::Priority, true),
            Discipline::PrioNp => (Key::Priority, false),
            Discipline::Ps | Discipline::Fb => return None,
        };
        Some(Order { key, preemptive })
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Simulates a workload under a discipline. `seed` replaces the workload's.
///
/// # Errors
///
/// [`RunError::Unsupported`] when the workload asks for what the discipline does not know, [`RunError::Stuck`] when a
/// program never lets time go by.
///
/// # Panics
///
/// When CPU time does not add up: task time and idle time are CPUs × time in every run.
pub fn run(
    workload: &Workload,
    discipline: Discipline,
    seed: u64,
    sink: &mut dyn Sink,
    control: &mut dyn Control,
) -> Result<Outcome, RunError> {
    check(workload, discipline)?;
    let world = World::new(&Rc::new(workload.clone()), &Costs::default(), seed);
    match discipline.order() {
        Some(order) => drive::drive(&mut machine::Machine::new(world, order), sink, control),
        None if discipline == Discipline::Ps => {
            drive::drive(&mut fluid::Fluid::<ps::ProcessorSharing>::new(world), sink, control)
        }
        None => drive::drive(&mut fluid::Fluid::<fb::LeastAttained>::new(world), sink, control),
    }
}

/// Whether the discipline knows all that the workload asks for.
fn check(workload: &Workload, discipline: Discipline) -> Result<(), RunError> {
    let cpus = workload.machine.cpus();
    if !workload.hotplug.is_empty() {
        return Err(RunError::Unsupported(format!(
            "CPUs go offline in this scenario, which the ideal discipline {discipline} does not know; remove [[hotplug]], or run \
             a sched_ext policy"
        )));
    }
    if let Some((_, group)) = workload.control_groups.iter().find(|(_, group)| group.knobs != Knobs::default()) {
        return Err(RunError::Unsupported(format!(
            "the control group '{}' has a weight or a limit, which the ideal discipline {discipline} does not know; \
             remove it, or run a sched_ext policy",
            group.path
        )));
    }
    for role in &workload.roles {
        if role.class.is_realtime() {
            return Err(RunError::Unsupported(format!(
                "task '{}' is of a real-time class, which the ideal discipline {discipline} does not know; remove \
                 `class`, or run a sched_ext policy",
                role.name
            )));
        }
        if role.touches_control_groups() {
            return Err(RunError::Unsupported(format!(
                "task '{}' joins a control group or writes its knobs, which the ideal discipline {discipline} does not \
                 know; remove `join` and `adjust`, or run a sched_ext policy",
                role.name
            )));
        }
        if role.changes().next().is_some() {
            return Err(RunError::Unsupported(format!(
                "task '{}' changes how it is scheduled, which the ideal discipline {discipline} does not know; \
                 remove `set`, or run a sched_ext policy",
                role.name
            )));
        }
        if discipline.is_fluid() && role.cpus.len() < cpus {
            return Err(RunError::Unsupported(format!(
                "task '{}' may run on CPUs {} only, but {discipline} divides all {cpus} CPUs among all tasks; remove \
                 `cpus`, or take a discipline that gives whole CPUs",
                role.name, role.cpus
            )));
        }
    }
    Ok(())
}
