//! Whether a kernel admits the tasks of the class deadline (`sched_dl_overflow`, `__sched_setscheduler`).

use super::{At, Fault};
use crate::cpuset::CpuSet;
use crate::ids::ObjectId;
use crate::reservation::Bandwidth;
use crate::time::Time;
use crate::workload::{Birth, Hotplug, Objects, Protocol, Role, Step};

/// What all of them together may have of each CPU (`sched_rt_runtime_us` of `sched_rt_period_us`).
const OF_EACH_CPU: Bandwidth = Bandwidth::of(Time::from_ms(950), Time::from_s(1));

/// Whether they all can be on the machine, from their start on.
pub(crate) fn check(
    (roles, objects, hotplug): (&[Role], &Objects, &[Hotplug]),
    cpus: u32,
    at: &At,
) -> Result<(), Fault> {
    let mut sum = 0;
    for (index, role) in roles.iter().enumerate() {
        let bandwidth = Bandwidth::of_role(role);
        if bandwidth.0 == 0 {
            continue;
        }
        if let Some(why) = refusal(role, objects, hotplug, cpus) {
            return Err(at.index(index).key("class").fault(why));
        }
        sum += bandwidth.0;
        let there = OF_EACH_CPU.0 * u64::from(cpus);
        if sum > there {
            let message = format!(
                "the tasks up to `{}` reserve {:.2} CPUs, and a kernel grants {:.2} of {cpus}: shorten a runtime, or take \
                 fewer tasks",
                role.name,
                Bandwidth(sum).cpus(),
                Bandwidth(there).cpus()
            );
            return Err(at.index(index).key("class").fault(message));
        }
    }
    Ok(())
}

/// Why a role cannot be of the class deadline.
fn refusal(role: &Role, objects: &Objects, hotplug: &[Hotplug], cpus: u32) -> Option<String> {
    let inherits = |id: &ObjectId| objects.locks[id.index()].protocol == Protocol::Inherit;
    let mut locks = role.program.steps.iter().filter_map(|step| match step {
        Step::Lock(id) => Some(id),
        _ => None,
    });
    let all = CpuSet::first(cpus);
    if !matches!(role.birth, Birth::At(_)) {
        return Some(
            "a kernel admits tasks of the class deadline by their number: they have to be there from the start".into(),
        );
    }
    if role.all_cpus().any(|set| *set != all) || role.start_on.is_some() {
        return Some(
            "a kernel refuses the class deadline to a task that may not run on all CPUs: remove `cpus` and `start_on`"
                .into(),
        );
    }
    if !hotplug.is_empty() {
        return Some("CPUs go offline in this scenario, and what becomes of reservations then is not modelled: remove one of the two".into());
    }
    locks.find(|id| inherits(id)).map(|id| {
        format!(
            "the mutex `{}` hands on priorities, and what the class deadline hands on is not modelled: remove its `protocol`",
            objects.locks[id.index()].name
        )
    })
}
