//! `[[hotplug]]`: CPUs go offline and come back online at instants of a run.

use super::{At, ControlGroup, Fault, Text};
use crate::{
    cpuset::CpuSet,
    ids::CpuId,
    time::Time,
    workload::{self, Role},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The CPU that is always there: kernels since 6.5 do not take it offline on x86.
const FIRST: CpuId = CpuId(0);

/// One `[[hotplug]]`: CPUs that go offline, or such that come back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hotplug {
    /// When.
    pub at: Text<Time>,
    /// The CPUs that go offline, one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offline: Option<Text<CpuSet>>,
    /// The CPUs that come back online, one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online: Option<Text<CpuSet>>,
}

/// What happens to single CPUs, in order.
pub(crate) fn events(tables: &[Hotplug], cpus: u32, duration: Time, at: &At) -> Result<Vec<workload::Hotplug>, Fault> {
    let mut events: Vec<workload::Hotplug> = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let here = at.index(index);
        let (key, set, online) = match (&table.offline, &table.online) {
            (Some(set), None) => ("offline", &set.0, false),
            (None, Some(set)) => ("online", &set.0, true),
            _ => {
                return Err(here
                    .fault("write which CPUs go offline, as offline = \"1\", or which come back, as online = \"1\""));
            }
        };
        if table.at.0 >= duration {
            let message =
                format!("it is at {}, when the run of {duration} is over: write an earlier instant", table.at.0);
            return Err(here.key("at").fault(message));
        }
        if events.last().is_some_and(|last| last.at > table.at.0) {
            return Err(here.key("at").fault("the tables [[hotplug]] are in the order of time: sort them"));
        }
        for cpu in set.iter() {
            if let Some(why) = refusal(&events, cpu, online, cpus) {
                return Err(here.key(key).fault(why));
            }
            events.push(workload::Hotplug { at: table.at.0, cpu, online });
        }
    }
    Ok(events)
}

/// Why a CPU cannot go or come after what was before.
fn refusal(before: &[workload::Hotplug], cpu: CpuId, online: bool, cpus: u32) -> Option<String> {
    if cpu.0 >= cpus {
        return Some(format!("there is no CPU {cpu}: the machine has {cpus}"));
    }
    if cpu == FIRST {
        return Some("CPU 0 is always online, as on a real machine: name others".into());
    }
    let is_online = workload::Hotplug::is_online(before, cpu);
    (is_online == online).then(|| format!("CPU {cpu} is {} already", if online { "online" } else { "offline" }))
}

/// Whether control groups have CPUs of their own of which some go: what a kernel makes of their cpusets then is not modelled.
pub(crate) fn groups(events: &[workload::Hotplug], groups: &[ControlGroup], at: &At) -> Result<(), Fault> {
    for (index, group) in groups.iter().enumerate() {
        let own = group.cpus.as_ref();
        if let Some(gone) = own.and_then(|own| events.iter().find(|event| own.0.contains(event.cpu))) {
            let message = format!(
                "CPU {} is one of this control group's own and goes offline, which no venue knows: name other CPUs, or give \
                 them to the tasks",
                gone.cpu
            );
            return Err(at.index(index).key("cpus").fault(message));
        }
    }
    Ok(())
}

/// Whether all roles can be on a machine whose CPUs go.
pub(crate) fn roles(events: &[workload::Hotplug], roles: &[Role], at: &At) -> Result<(), Fault> {
    let is_hit =
        |role: &Role| role.start_on.filter(|cpu| events.iter().any(|event| event.cpu == *cpu && !event.online));
    match roles.iter().enumerate().find_map(|(index, role)| Some((index, is_hit(role)?))) {
        Some((index, cpu)) => {
            let message =
                format!("CPU {cpu} goes offline in this run, so no task can be sure to start on it: name another");
            Err(at.index(index).key("start_on").fault(message))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    fn refusal(tables: &str) -> String {
        let text = format!(
            "name = \"t\"\n[machine]\ncpus = 3\n[run]\nduration = \"9s\"\n{tables}\n[[task]]\nname = \"a\"\nstart_on = 2\n\
             loop = [{{ compute = \"1ms\" }}]\n"
        );
        let compiled = Scenario::parse(&text, "t").and_then(|scenario| scenario.compile());
        compiled.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let event = |keys: &str| format!("[[hotplug]]\n{keys}\n");
        let one = event("at = \"1s\"\noffline = \"1\"");
        assert_eq!(refusal(&one), "");
        assert_eq!(refusal(&(one.clone() + &event("at = \"1s\"\nonline = \"1\""))), "");
        for (tables, part) in [
            (event("at = \"1s\""), "which CPUs go offline"),
            (event("at = \"1s\"\noffline = \"1\"\nonline = \"1\""), "which CPUs go offline"),
            (event("at = \"1s\"\noffline = \"3\""), "there is no CPU 3"),
            (event("at = \"1s\"\noffline = \"0-1\""), "CPU 0 is always online"),
            (event("at = \"1s\"\noffline = \"2\""), "CPU 2 goes offline in this run"),
            (event("at = \"1s\"\nonline = \"1\""), "CPU 1 is online already"),
            (one.clone() + &one, "CPU 1 is offline already"),
            (one.clone() + "[[control_group]]\npath = \"g\"\ncpus = \"0-1\"\n", "one of this control group's own"),
            (event("at = \"9s\"\noffline = \"1\""), "when the run of 9s is over"),
            (event("at = \"2s\"\noffline = \"1\"") + &event("at = \"1s\"\nonline = \"1\""), "in the order of time"),
        ] {
            let error = refusal(&tables);
            assert!(error.contains(part), "{tables}: {error}");
        }
    }

    /// A task that may only run on a CPU that goes is then anywhere.
    #[test]
    fn where_tasks_may_be_follows_from_it() {
        let text = "name = \"t\"\n[machine]\ncpus = 3\n[run]\nduration = \"9s\"\n[[hotplug]]\nat = \"1s\"\noffline = \"1\"\n\
                    [[task]]\nname = \"a\"\ncpus = \"1\"\nloop = [{ compute = \"1ms\" }]\n[[task]]\nname = \"b\"\ncpus = \"1-2\"\n\
                    loop = [{ compute = \"1ms\" }]\n";
        let workload = Scenario::parse(text, "t").unwrap().compile().unwrap();
        let cpus = |role: usize| workload.possible_cpus(&workload.roles[role]).to_string();
        assert_eq!([cpus(0), cpus(1)], ["0-2", "1-2"]);
    }
}
