//! Finds a run in which every task that is left waits for others, so that nothing will happen any more.
//!
//! Tasks say in shared memory that they wait, and the kernel says that they sleep. Neither is enough alone: one that has
//! been woken and has no CPU yet still says that it waits, and one that sleeps may do so for a time. Between two looks at
//! what they say, which must not differ, each is seen asleep: a task that woke one of them would have run in between.

use crate::shared::{Shared, TaskRecord};
use crate::site::Site;
use crate::stat::Stat;
use std::path::Path;
use std::sync::atomic::Ordering::*;

/// The tasks that wait for ever, in a line; nothing while something may still happen.
pub fn find(site: &Site) -> Option<String> {
    let before = waits(&site.shared)?;
    let asleep = before.iter().all(|&(task, _)| is_asleep(site.shared.task(task)));
    if !asleep || waits(&site.shared)? != before {
        return None;
    }
    let waiting = before.iter().map(|&(task, _)| {
        let record = site.shared.task(task);
        let role = record.role.load(Relaxed);
        let step = record.waits_at.load(Relaxed) as usize;
        (schedlab_model::ids::RoleId(role), &site.workload.roles[role as usize].program.steps[step])
    });
    Some(site.workload.standstill(waiting))
}

/// The living tasks, each with the number of its wait; nothing when one does not wait, none is left, or one is to come.
fn waits(shared: &Shared) -> Option<Vec<(u32, u32)>> {
    let control = shared.control();
    if control.ordered.load(Acquire) > 0 || control.all_arrived.load(Acquire) == 0 {
        return None;
    }
    let is_alive = |&task: &u32| shared.task(task).ended_ns.load(Acquire) == 0;
    let wait = |task| {
        let number = shared.task(task).waits.load(Acquire);
        (number % 2 == 1).then_some((task, number))
    };
    let waits: Vec<(u32, u32)> = (0..shared.tasks()).filter(is_alive).map(wait).collect::<Option<_>>()?;
    (!waits.is_empty()).then_some(waits)
}

/// Whether the kernel says that its thread sleeps until it is woken.
fn is_asleep(record: &TaskRecord) -> bool {
    let (pid, tid) = (record.pid.load(Acquire), record.tid.load(Acquire));
    Stat::of(Path::new(&format!("/proc/{pid}/task/{tid}"))).is_some_and(|stat| stat.state == 'S')
}
