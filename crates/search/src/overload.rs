//! Whether a scenario asks for more CPU time than there is.
//!
//! Tasks that arrive or are spawned come whether or not those before them have ended. Where they bring more work than their CPUs
//! do, their number grows without end, and so does what some of them wait under any policy: that is no fault of one.
//!
//! A role that arrives every g and computes w loads the machine by w / g. One that is spawned comes as often as its parents
//! begin their loop at most, which is once in what they compute and sleep.
//!
//! Example: two tasks that spawn two children of 8 ms every 10 ms load a CPU by 3.2.

use crate::shrink::steps;
use schedlab_model::control_group::Bandwidth;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::{ControlGroupId, CpuId};
use schedlab_model::scenario::{Scenario, Step, Task};

/// A queue that is nearly full is long, too.
const MOST: f64 = 0.9;

/// Whether open work exceeds what the CPUs can do: all of them, those of some role, or what a control group may use of them.
pub fn is_overloaded(scenario: &Scenario) -> bool {
    let Ok(workload) = scenario.compile() else { return false };
    let goes = |cpu: CpuId| {
        scenario.hotplug.iter().any(|event| event.offline.as_ref().is_some_and(|offline| offline.0.contains(cpu)))
    };
    let tree = &workload.control_groups;
    let lasting = |cpus: &CpuSet| cpus.iter().filter(|cpu| !goes(*cpu)).count() as f64;
    let group = |task: &Task| tree.find(task.control_group.as_deref().unwrap_or("")).unwrap_or(ControlGroupId::ROOT);
    let cpus = |task: &Task| tree[group(task)].cpus_of(task.cpus.as_ref().map(|own| &own.0));
    let loads: Vec<(&Task, CpuSet, f64)> =
        scenario.tasks.iter().map(|task| (task, cpus(task), load(scenario, task))).collect();
    let fills = |set: &CpuSet| {
        let within = loads.iter().filter(|(_, cpus, _)| cpus.iter().all(|cpu| set.contains(cpu)));
        within.map(|(_, _, load)| load).sum::<f64>() > MOST * lasting(set)
    };
    let exhausts = |id: ControlGroupId| {
        let Bandwidth { quota, period, .. } = tree[id].knobs.bandwidth;
        let within = loads.iter().filter(|(task, _, _)| tree.upward(group(task)).any(|above| above == id));
        let used: f64 = within.map(|(_, _, load)| load).sum();
        quota.is_some_and(|quota| used > MOST * quota.ns() as f64 / period.ns() as f64)
    };
    let all: CpuSet = (0..workload.machine.cpus()).map(CpuId).collect();
    fills(&all) || loads.iter().any(|(_, cpus, _)| fills(cpus)) || tree.iter().any(|(id, _)| exhausts(id))
}

/// How many CPUs the open work of a role keeps busy.
fn load(scenario: &Scenario, task: &Task) -> f64 {
    let work_ns: f64 = steps(task).iter().map(Step::work_ns).sum();
    match &task.arrivals {
        Some(gap) => work_ns / gap.0.mean_ns().max(1.0),
        None if task.spawned => births(scenario, &task.name) * work_ns,
        None => 0.0,
    }
}

/// How often a role is spawned, in each nanosecond. No role spawns itself, by way of others either: that is no scenario.
fn births(scenario: &Scenario, name: &str) -> f64 {
    let by = |parent: &Task| {
        let children: f64 = steps(parent).iter().map(|step| step.spawns(name)).sum();
        if children == 0.0 {
            return 0.0;
        }
        let turn_ns = || steps(parent).iter().map(Step::length_ns).sum::<f64>().max(1.0);
        let rate = match &parent.arrivals {
            Some(gap) => 1.0 / gap.0.mean_ns().max(1.0),
            None if parent.spawned => births(scenario, &parent.name),
            None if parent.repeated.is_some() => f64::from(parent.count.unwrap_or(1)) / turn_ns(),
            // Once is no rate.
            None => 0.0,
        };
        rate * children
    };
    scenario.tasks.iter().map(by).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_overloaded(tables: &str) -> bool {
        let text = format!("name = \"t\"\n[machine]\ncpus = 2\n[run]\nduration = \"4s\"\n{tables}");
        super::is_overloaded(&Scenario::parse(&text, "t").unwrap())
    }

    fn role(name: &str, keys: &str) -> String {
        format!("[[task]]\nname = \"{name}\"\n{keys}\n")
    }

    #[test]
    fn work_that_comes_whatever_is_done_has_to_fit() {
        let arrivals = |gap: &str, more: &str| {
            role("a", &format!("arrivals = \"{gap}\"\nonce = [{{ compute = \"4ms\" }}]\n{more}"))
        };
        assert!(is_overloaded(&arrivals("exp(2ms)", "")) && !is_overloaded(&arrivals("3ms", "")));
        assert!(is_overloaded(&arrivals("4ms", "cpus = \"1\"")) && !is_overloaded(&arrivals("5ms", "cpus = \"1\"")));
        let off = "[[hotplug]]\nat = \"1s\"\noffline = \"1\"\n";
        assert!(is_overloaded(&(arrivals("4ms", "") + off)));
        let limited = |max: &str| {
            format!("[[control_group]]\npath = \"g\"\nmax = \"{max}\"\n") + &arrivals("8ms", "control_group = \"g\"")
        };
        assert!(is_overloaded(&limited("30ms/100ms")) && !is_overloaded(&limited("60ms/100ms")));
        // Closed loops wait for themselves.
        assert!(!is_overloaded(&role("h", "count = 40\nloop = [{ compute = \"10ms\" }]")));
    }

    #[test]
    fn those_that_are_spawned_come_as_often_as_their_parents_turn() {
        let family = |sleep: &str| {
            role("b", "spawned = true\nonce = [{ repeat = 2, steps = [{ compute = \"4ms\" }] }]")
                + &role("a", &format!("count = 2\nloop = [{{ spawn = \"b\", count = 2 }}, {{ sleep = \"{sleep}\" }}]"))
        };
        assert!(is_overloaded(&family("10ms")) && !is_overloaded(&family("20ms")));
    }
}
