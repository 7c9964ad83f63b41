//! What a trace file says about its run.

use schedlab_boundary::Shown;
use schedlab_model::{
    cpuset::CpuSet,
    ids::CpuId,
    machine::{MAX_CPUS, Machine},
    scenario::{ControlGroup, Lock, MAX_CONTROL_GROUPS},
    time::Time,
    workload::{self, Class, Kind, MAX_ROLES, Workload},
};
use serde::{Deserialize, Serialize};

/// The schema of the files that this version writes and reads.
pub const SCHEMA: &str = "schedlab.trace/2";

/// What ran, where, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The scenario's name.
    pub scenario: String,
    /// The policy's name.
    pub policy: String,
    /// Where it ran: `sim`, `vm`, `host`, or `import` for what another tool recorded.
    pub venue: String,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The CPUs of the machine, numbered from 0.
    pub cpus: u32,
    /// The roles, by [`schedlab_model::ids::RoleId`].
    pub roles: Vec<Role>,
    /// The paths of the control groups, by [`schedlab_model::ids::ControlGroupId`]; empty where there is only the root.
    pub control_groups: Vec<String>,
    /// The end of the run. In the header of a file that was read: the true end.
    pub end: Time,
    /// Events that happened but could not be recorded.
    pub lost: u64,
    /// In what setting it ran: of each run in the simulator, and of those that were recorded for a model.
    pub setting: Option<Setting>,
}

/// What a model of a run needs in addition to its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The policy as it was named, with its parameters.
    pub policy: String,
    /// The machine, with what things cost there.
    pub machine: Machine,
    /// Whether the events tell what tasks do with shared objects.
    pub calls: bool,
    /// Nothing before this instant is measured.
    pub warmup: Time,
    /// How tasks of each role are scheduled, by [`schedlab_model::ids::RoleId`].
    pub roles: Vec<Scheduling>,
    /// The control groups but the root, parents first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub control_groups: Vec<ControlGroup>,
    /// Mutexes, by [`schedlab_model::ids::ObjectId`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<Lock>,
}

/// How tasks of a role are scheduled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduling {
    /// Nice value.
    pub nice: i8,
    /// Scheduling class.
    pub class: Class,
    /// Threads or processes.
    pub kind: Kind,
    /// The CPU on which they are first placed.
    pub start_on: Option<CpuId>,
    /// The slice that they ask for.
    pub slice: Option<Time>,
    /// The control group in which they begin, by its place in [`Header::control_groups`]; none for the root, and where they begin
    /// in that of their parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_group: Option<u32>,
}

impl Setting {
    fn of(workload: &Workload, policy: &str, calls: bool) -> Setting {
        let scheduling = |role: &workload::Role| Scheduling {
            nice: role.nice,
            class: role.class,
            kind: role.kind,
            start_on: role.start_on,
            slice: role.slice,
            control_group: Some(role.control.begin.0).filter(|group| *group > 0 && !role.control.inherits),
        };
        Setting {
            policy: policy.to_owned(),
            machine: workload.machine.clone(),
            calls,
            warmup: workload.run.warmup,
            roles: workload.roles.iter().map(scheduling).collect(),
            control_groups: workload.control_groups.iter().skip(1).map(|(_, group)| group.into()).collect(),
            locks: workload.objects.locks.iter().map(Lock::from).collect(),
        }
    }
}

/// A role: like tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// The CPUs on which its tasks may run.
    pub cpus: CpuSet,
}

/// Why a text is no header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    /// Another schema.
    Other(String),
    /// Anything else.
    Invalid(String),
}

impl Header {
    /// The header of a run of `workload` under the named policy in the named venue.
    pub fn of(workload: &Workload, policy: &str, venue: &str) -> Header {
        Header {
            scenario: workload.name.clone(),
            policy: policy.to_owned(),
            venue: venue.to_owned(),
            seed: workload.run.seed,
            cpus: workload.machine.cpus(),
            roles: workload
                .roles
                .iter()
                .map(|g| Role { name: g.name.clone(), cpus: workload.possible_cpus(g) })
                .collect(),
            control_groups: match workload.control_groups.is_empty() {
                true => Vec::new(),
                false => workload.control_groups.iter().map(|(_, group)| group.path.clone()).collect(),
            },
            end: workload.run.duration,
            lost: 0,
            setting: None,
        }
    }

    /// The same with its setting, if it ran in the simulator or is to be modelled; `policy` is what the user wrote.
    pub fn in_setting(self, workload: &Workload, policy: &str) -> Header {
        let (calls, simulated) = (workload.run.calls, self.venue == "sim");
        // Of a kernel only the scheduler is recorded.
        let setting = (calls || simulated).then(|| Setting::of(workload, policy, calls && simulated));
        Header { setting, ..self }
    }

    /// The names of the roles.
    pub(crate) fn role_names(&self) -> impl Iterator<Item = String> + '_ {
        self.roles.iter().map(|role| role.name.clone())
    }

    /// The header as one line of JSON.
    pub fn to_json(&self) -> String {
        let roles = self.roles.iter().map(|g| RoleJson { name: g.name.clone(), cpus: g.cpus.to_string() });
        let json = HeaderJson {
            schema: SCHEMA.to_owned(),
            scenario: self.scenario.clone(),
            policy: self.policy.clone(),
            venue: self.venue.clone(),
            seed: self.seed,
            cpus: self.cpus,
            roles: roles.collect(),
            control_groups: self.control_groups.clone(),
            // A run to the end of its last task does not know its end before: no clock runs longer.
            end_ns: self.end.min(Time::LATEST).ns(),
            lost: self.lost,
            setting: self.setting.clone(),
        };
        serde_json::to_string(&json).expect("strings and numbers are JSON")
    }

    /// Reads what [`Header::to_json`] wrote.
    pub(crate) fn from_json(text: &str) -> Result<Header, HeaderError> {
        let invalid = |error: serde_json::Error| HeaderError::Invalid(format!("its header: {error}"));
        // The schema comes first: another one may have other keys.
        let SchemaJson { schema } = serde_json::from_str(text).map_err(invalid)?;
        if schema != SCHEMA {
            return Err(HeaderError::Other(visible(&schema)));
        }
        let json: HeaderJson = serde_json::from_str(text).map_err(invalid)?;
        let roles = json.roles.iter().map(|role| match parse_cpus(&role.cpus) {
            Some(cpus) => Ok(Role { name: visible(&role.name), cpus }),
            None => {
                let list = Shown::name(&role.cpus);
                Err(HeaderError::Invalid(format!("its header: `{list}` is not a list of CPUs")))
            }
        });
        let too_many = |what: &str, found: u64, most: u64| {
            HeaderError::Invalid(format!("its header tells of {found} {what}, and {most} is the most there are"))
        };
        if !(1..=MAX_CPUS).contains(&json.cpus) {
            return Err(too_many("CPUs", json.cpus.into(), MAX_CPUS.into()));
        }
        if roles.len() > MAX_ROLES {
            return Err(too_many("roles", roles.len() as u64, MAX_ROLES as u64));
        }
        if json.control_groups.len() > MAX_CONTROL_GROUPS + 1 {
            return Err(too_many("control groups", json.control_groups.len() as u64, MAX_CONTROL_GROUPS as u64));
        }
        if json.end_ns > Time::LATEST.ns() {
            return Err(too_many("nanoseconds", json.end_ns, Time::LATEST.ns()));
        }
        Ok(Header {
            roles: roles.collect::<Result<_, _>>()?,
            control_groups: json.control_groups.iter().map(|path| visible(path)).collect(),
            scenario: visible(&json.scenario),
            policy: visible(&json.policy),
            venue: visible(&json.venue),
            seed: json.seed,
            cpus: json.cpus,
            end: Time(json.end_ns),
            lost: json.lost,
            setting: json
                .setting
                .filter(|setting| setting.roles.len() == json.roles.len())
                .map(|setting| Setting { policy: visible(&setting.policy), ..setting }),
        })
    }
}

#[derive(Deserialize)]
struct SchemaJson {
    schema: String,
}

#[derive(Serialize, Deserialize)]
struct HeaderJson {
    schema: String,
    scenario: String,
    policy: String,
    venue: String,
    seed: u64,
    cpus: u32,
    roles: Vec<RoleJson>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    control_groups: Vec<String>,
    end_ns: u64,
    lost: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    setting: Option<Setting>,
}

#[derive(Serialize, Deserialize)]
struct RoleJson {
    name: String,
    cpus: String,
}

/// A name in a trace. Its writer may have named things in any way.
fn visible(name: &str) -> String {
    Shown::name(name).into_string()
}

/// The set that [`CpuSet`] shows as `0-3,8`.
fn parse_cpus(text: &str) -> Option<CpuSet> {
    let mut set = CpuSet::default();
    for range in text.split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MAX_CPUS {
            return None;
        }
        (first..=last).for_each(|cpu| set.insert(CpuId(cpu)));
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::header;

    #[test]
    fn comes_back_from_json() {
        let header = header();
        assert_eq!(Header::from_json(&header.to_json()), Ok(header));
    }

    #[test]
    fn names_become_visible_lines() {
        let mut strange = header();
        (strange.scenario, strange.policy, strange.roles[0].name) =
            ("\u{1b}[2J".into(), "a\nb".into(), "n".repeat(1 << 20));
        let read = Header::from_json(&strange.to_json()).unwrap();
        assert_eq!((read.scenario.as_str(), read.policy.as_str()), ("\\u{1b}[2J", "a\\nb"));
        assert!(read.roles[0].name.len() < 200);
    }

    #[test]
    fn an_end_that_no_clock_shows_is_written_as_the_latest_and_refused_when_read() {
        let mut endless = header();
        endless.end = Time(u64::MAX);
        let text = endless.to_json();
        assert_eq!(Header::from_json(&text).map(|header| header.end), Ok(Time::LATEST));
        let latest = format!("\"end_ns\":{}", Time::LATEST.ns());
        assert!(text.contains(&latest), "{text}");
        let after = text.replace(&latest, &format!("\"end_ns\":{}", Time::LATEST.ns() + 1));
        let Err(HeaderError::Invalid(why)) = Header::from_json(&after) else { panic!("{after}") };
        assert!(why.contains("nanoseconds, and 4611686018427387902 is the most"), "{why}");
    }

    #[test]
    fn another_schema_is_seen_before_other_keys() {
        let other = Header::from_json(r#"{"schema":"schedlab.trace/3","machines":[]}"#);
        assert_eq!(other, Err(HeaderError::Other("schedlab.trace/3".into())));
        assert!(matches!(Header::from_json("{}"), Err(HeaderError::Invalid(_))));
        assert!(matches!(Header::from_json("\u{0}"), Err(HeaderError::Invalid(_))));
    }

    #[test]
    fn sets_of_cpus_are_bounded() {
        let set: CpuSet = [0, 1, 2, 8].map(CpuId).into_iter().collect();
        assert_eq!(parse_cpus("0-2,8"), Some(set));
        assert_eq!(parse_cpus(""), Some(CpuSet::default()));
        for wrong in ["1-0", "x", "0-", "4096", "0-4294967295", "-1"] {
            assert_eq!(parse_cpus(wrong), None, "{wrong}");
        }
    }
}
