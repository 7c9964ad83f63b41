//! The events of one CPU, each as a message or, switches and wakings, in columns.

use super::About;
use super::messages::{CompactSched, FtraceEvent, FtraceEventBundle, SchedWakeup};
use crate::error::Trouble;
use crate::gather::Gather;
use crate::told::{Event, Head, Task};
use prost::Message;
use schedlab_record::Comm;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Interrupts, soft interrupts and interrupts that cannot be masked, among the flags of an event.
const INTERRUPTS: u32 = 0x08 | 0x10 | 0x40;
/// The priority of a task that has asked for none, where that was not recorded.
const NICE_0: i32 = 120;

/// Where what is known of a CPU begins.
#[derive(Clone, Copy, Debug)]
pub struct Begin {
    /// Its first event.
    pub first_ns: u64,
    /// From when on it was recorded without a gap; zero where that was not recorded.
    pub known_from_ns: u64,
}

/// Hands on what is in a bundle.
pub fn tell(
    bundle: &FtraceEventBundle,
    about: &About,
    begins: &mut BTreeMap<u32, Begin>,
    gather: &mut Gather,
) -> Result<(), Trouble> {
    let cpu = bundle.cpu.unwrap_or(0);
    let compact = bundle.compact_sched.as_ref();
    let columns = compact.map(|compact| [compact.switch_timestamp.first(), compact.waking_timestamp.first()]);
    let first_ns = columns.into_iter().flatten().flatten().copied();
    let first = bundle.event.first().map(|event| decoded(event)).transpose()?;
    let first_ns = first_ns.chain(first.and_then(|event| event.timestamp)).min();
    if let Some(first_ns) = first_ns {
        let known_from_ns = bundle.previous_bundle_end_timestamp.unwrap_or(0);
        let is_lost = bundle.lost_events == Some(true);
        match begins.entry(cpu) {
            // What was lost before a CPU's first event is no loss: it begins there.
            Entry::Vacant(begin) if is_lost => drop(begin.insert(Begin { first_ns, known_from_ns: first_ns })),
            Entry::Vacant(begin) => drop(begin.insert(Begin { first_ns, known_from_ns })),
            Entry::Occupied(_) if is_lost => gather.lost(first_ns, cpu, 1)?,
            Entry::Occupied(_) => {}
        }
    }
    if let Some(compact) = compact {
        switches(compact, about, cpu, gather)?;
        wakings(compact, about, cpu, gather)?;
    }
    bundle.event.iter().try_for_each(|event| single(&decoded(event)?, about, cpu, gather))
}

fn decoded(event: &[u8]) -> Result<FtraceEvent, Trouble> {
    FtraceEvent::decode(event).map_err(|error| Trouble::Damaged(format!("an event: {error}")))
}

/// Times that are written as differences.
fn times(differences: &[u64]) -> impl Iterator<Item = Result<u64, Trouble>> {
    differences.iter().scan(Some(0_u64), |now, difference| {
        *now = now.and_then(|now| now.checked_add(*difference));
        Some(now.ok_or_else(|| Trouble::damaged("a time that no clock shows")))
    })
}

fn switches(compact: &CompactSched, about: &About, cpu: u32, gather: &mut Gather) -> Result<(), Trouble> {
    let columns = compact.switch_prev_state.iter().zip(&compact.switch_next_pid).zip(&compact.switch_next_prio);
    let columns = columns.zip(&compact.switch_next_comm_index);
    for (time_ns, (((state, tid), priority), comm)) in times(&compact.switch_timestamp).zip(columns) {
        let next = about.task(Some(*tid), interned(compact, *comm), Some(*priority))?;
        let how = about.states.departure(*state as u64);
        let head = Head { time_ns: time_ns?, cpu, tid: -1, in_interrupt: None };
        gather.event(head, Event::SwitchTo { how, next })?;
    }
    Ok(())
}

fn wakings(compact: &CompactSched, about: &About, cpu: u32, gather: &mut Gather) -> Result<(), Trouble> {
    let columns = compact.waking_pid.iter().zip(&compact.waking_target_cpu).zip(&compact.waking_prio);
    let columns = columns.zip(&compact.waking_comm_index);
    for (place, (time_ns, (((tid, target), priority), comm))) in
        times(&compact.waking_timestamp).zip(columns).enumerate()
    {
        let task = about.task(Some(*tid), interned(compact, *comm), Some(*priority))?;
        let in_interrupt = compact.waking_common_flags.get(place).map(|flags| flags & INTERRUPTS != 0);
        let head = Head { time_ns: time_ns?, cpu, tid: -1, in_interrupt };
        gather.event(head, Event::Waking { task, target: of_cpu(Some(*target))? })?;
    }
    Ok(())
}

fn interned(compact: &CompactSched, number: u32) -> Option<&[u8]> {
    compact.intern_table.get(number as usize).map(Vec::as_slice)
}

fn single(event: &FtraceEvent, about: &About, cpu: u32, gather: &mut Gather) -> Result<(), Trouble> {
    let time_ns = event.timestamp.unwrap_or(0);
    // A number beyond those of threads stands for one that is not known.
    let tid = event.pid.map_or(-1, |pid| i32::try_from(pid).unwrap_or(-1));
    let in_interrupt = event.common_flags.map(|flags| flags & INTERRUPTS != 0);
    match of(event, about, tid)? {
        Some(told) => gather.event(Head { time_ns, cpu, tid, in_interrupt }, told),
        None => gather.passed(time_ns, cpu, "other events of ftrace", || format!("CPU {cpu}")),
    }
}

fn of(event: &FtraceEvent, about: &About, on: i32) -> Result<Option<Event>, Trouble> {
    let comm = |comm: &Option<Vec<u8>>| Comm::new(comm.as_deref().unwrap_or_default());
    if let Some(switch) = &event.sched_switch {
        return Ok(Some(Event::Switch {
            previous: about.task(switch.prev_pid, switch.prev_comm.as_deref(), switch.prev_prio)?,
            how: about.states.departure(switch.prev_state.unwrap_or(0) as u64),
            next: about.task(switch.next_pid, switch.next_comm.as_deref(), switch.next_prio)?,
        }));
    }
    let woken = |wakeup: &SchedWakeup| -> Result<(Task, u32), Trouble> {
        Ok((about.task(wakeup.pid, wakeup.comm.as_deref(), wakeup.prio)?, of_cpu(wakeup.target_cpu)?))
    };
    if let Some(waking) = &event.sched_waking {
        return woken(waking).map(|(task, target)| Some(Event::Waking { task, target }));
    }
    for (wakeup, new) in [(&event.sched_wakeup, false), (&event.sched_wakeup_new, true)] {
        if let Some(wakeup) = wakeup {
            return woken(wakeup).map(|(task, target)| Some(Event::Wakeup { task, target, new }));
        }
    }
    if let Some(moved) = &event.sched_migrate_task {
        let task = about.task(moved.pid, moved.comm.as_deref(), moved.prio)?;
        return Ok(Some(Event::Migrate { task, from: of_cpu(moved.orig_cpu)?, to: of_cpu(moved.dest_cpu)? }));
    }
    if let Some(fork) = &event.sched_process_fork {
        let (parent, child) = (fork.parent_pid.unwrap_or(0), fork.child_pid.unwrap_or(0));
        return Ok(Some(Event::Fork { parent, child, comm: comm(&fork.child_comm) }));
    }
    if let Some(new) = event.task_newtask.as_ref().filter(|_| !about.has_forks) {
        return Ok(Some(Event::Fork { parent: on, child: new.pid.unwrap_or(0), comm: comm(&new.comm) }));
    }
    if let Some(exec) = &event.sched_process_exec {
        let file = exec.filename.as_deref().unwrap_or_default();
        let program = Comm::new(file.rsplit(|&byte| byte == b'/').next().unwrap_or_default());
        return Ok(Some(Event::Exec { tid: exec.pid.unwrap_or(0), former: exec.old_pid.unwrap_or(0), program }));
    }
    if let Some(exit) = &event.sched_process_exit {
        return about.task(exit.pid, exit.comm.as_deref(), exit.prio).map(|task| Some(Event::Exit { task }));
    }
    if let Some(rename) = &event.task_rename {
        return Ok(Some(Event::Rename { tid: rename.pid.unwrap_or(0), comm: comm(&rename.newcomm) }));
    }
    Ok(None)
}

fn of_cpu(cpu: Option<i32>) -> Result<u32, Trouble> {
    u32::try_from(cpu.unwrap_or(0)).map_err(|_| Trouble::damaged("a CPU with a negative number"))
}

impl About {
    /// A task of an event; its name is that which the trace says elsewhere where the event does not tell it.
    fn task(&self, tid: Option<i32>, comm: Option<&[u8]>, priority: Option<i32>) -> Result<Task, Trouble> {
        let tid = tid.unwrap_or(0);
        let comm = match comm.filter(|comm| !comm.is_empty()) {
            Some(comm) => Comm::new(comm),
            None => self.names.get(&tid).copied().unwrap_or_default(),
        };
        let priority = i16::try_from(priority.unwrap_or(NICE_0));
        let priority = priority.map_err(|_| Trouble::damaged("a priority that no kernel knows"))?;
        Ok(Task { tid, comm, priority })
    }
}
