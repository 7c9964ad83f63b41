//! A policy that was found: its object or its discipline, with its parameters settled.

use crate::machine::{blanks, rooms};
use crate::program::Program;
use crate::{NativeScheduler, VenueError};
use schedlab_bpf::{EnumeratorInfo, Object};
use schedlab_guest::{ObjectJob, PolicyJob};
use schedlab_kernel::Enumerator;
use schedlab_model::hash::sha256;
use schedlab_model::layout::Layout;
use schedlab_model::result::{self, PolicyInfo};
use schedlab_policy::{Parameter, PolicySpec, Reference, find};
use schedlab_sim::RunError;
use schedlab_sim::scx::consts::SCX_OPS_SWITCH_PARTIAL;
use schedlab_simulation::{
    Discipline, MachineParameters, ObjectPolicy, RunFailure, discipline, ideal_name, parameters_of,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The helper `bpf_get_prandom_u32`, by its number in the kernel's interface.
const GET_PRANDOM_U32: u32 = 7;

/// A policy, ready to be run by any venue that can.
#[derive(Clone, Debug)]
pub struct Policy {
    /// As the user wrote it: `rr:quantum=5ms`.
    pub label: String,
    /// What results say about it.
    pub info: PolicyInfo,
    /// SHA-256 of its object; absent where there is none.
    pub hash: Option<String>,
    /// Whether the object comes with the program.
    pub shipped: bool,
    /// What the compiler said, when it said something.
    pub warnings: String,
    /// What decides.
    pub scheduler: Scheduler,
}

/// What schedules the tasks.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// A BPF object with values for its parameters.
    Object {
        /// The object, with values for its parameters.
        policy: ObjectPolicy,
        /// Its bytes, as a kernel loads them.
        bytes: Arc<[u8]>,
    },
    /// A program that loads an object of its own.
    Program(Program),
    /// A discipline that only the simulator has.
    Ideal(Discipline),
    /// The scheduler inside the kernel that runs, measured in place.
    Kernel,
    /// A scheduler of the calling program, in the simulator alone.
    Native(NativeScheduler),
}

impl Scheduler {
    /// Whether a kernel needs sched_ext for it.
    pub fn needs_sched_ext(&self) -> bool {
        matches!(self, Scheduler::Object { .. } | Scheduler::Program(_))
    }
}

/// The name of the scheduler inside the kernel.
pub const KERNEL: &str = "kernel";

impl Policy {
    /// Whether it stays in charge when CPUs go offline and come back.
    pub fn takes_hotplug(&self) -> bool {
        let Scheduler::Object { policy, .. } = &self.scheduler else { return false };
        let has = |name| policy.object.ops().is_ok_and(|ops| ops.operation(name).is_some());
        has("cpu_offline") && has("cpu_online")
    }

    /// Finds a policy by what the user wrote, compiles it if it is a source, and settles its parameters.
    pub fn find(spec: &PolicySpec) -> Result<Policy, VenueError> {
        if let Reference::Name(name) = &spec.reference {
            if let Some(discipline) = discipline(name) {
                return Policy::without_object(spec, ideal_name(discipline), Scheduler::Ideal(discipline));
            }
            if name == KERNEL {
                return Policy::without_object(spec, KERNEL.into(), Scheduler::Kernel);
            }
        }
        if let Reference::Program(words) | Reference::ProgramOnce(words) = &spec.reference {
            let cannot = |why| VenueError::Program { policy: spec.to_string(), why };
            let once = matches!(spec.reference, Reference::ProgramOnce(_));
            let program = Program::find(words, once).map_err(cannot)?;
            return Ok(Policy {
                label: spec.to_string(),
                info: PolicyInfo { name: spec.name(), parameters: program.parameters() },
                hash: Some(program.hash().to_string()),
                shipped: false,
                warnings: String::new(),
                scheduler: Scheduler::Program(program),
            });
        }
        let others: Vec<String> = Discipline::ALL.map(ideal_name).into_iter().chain([KERNEL.into()]).collect();
        let found = find(spec, &others.iter().map(String::as_str).collect::<Vec<_>>())?;
        let in_object = |error| VenueError::Object { policy: spec.to_string(), error };
        let object = Object::parse(&found.object).map_err(in_object)?;
        object.ops().map_err(in_object)?;
        let (policy, info) = settled(spec, Arc::new(object), &found.name)?;
        Ok(Policy {
            label: spec.to_string(),
            info,
            hash: Some(sha256(&found.object)),
            shipped: found.shipped.is_some(),
            warnings: found.warnings,
            scheduler: Scheduler::Object { policy, bytes: found.object.into() },
        })
    }

    /// Finds policies that are to be run: a kernel must accept their licences.
    ///
    /// # Errors
    ///
    /// All that is wrong with any of them.
    pub fn find_each<'a>(specs: impl IntoIterator<Item = &'a PolicySpec>) -> Result<Vec<Policy>, VenueError> {
        let (mut policies, mut wrong) = (Vec::new(), Vec::new());
        for spec in specs {
            match Policy::find(spec).and_then(Policy::licensed) {
                Ok(policy) => policies.push(policy),
                Err(error) => wrong.push(error),
            }
        }
        VenueError::all(wrong).map(|()| policies)
    }

    /// The same policy, if a kernel accepts its licence.
    ///
    /// # Errors
    ///
    /// It does not.
    pub fn licensed(self) -> Result<Policy, VenueError> {
        let checked = self.object().map_or(Ok(()), |policy| policy.object.check_licence());
        match checked {
            Ok(()) => Ok(self),
            Err(error) => {
                let error = Box::new(RunError::from(error));
                Err(RunFailure::Run { policy: self.label, error }.into())
            }
        }
    }

    /// Refuses a policy that schedules none of a scenario's tasks.
    pub(crate) fn must_schedule_all(&self, venue: &'static str) -> Result<(), VenueError> {
        let flags = self.object().and_then(|policy| Some(policy.object.ops().ok()?.scalar("flags")));
        if flags.is_none_or(|flags| flags & SCX_OPS_SWITCH_PARTIAL == 0) {
            return Ok(());
        }
        let why = "it has SCX_OPS_SWITCH_PARTIAL, with which a policy schedules tasks of SCHED_EXT only, and a scenario has none";
        Err(VenueError::NotHere { policy: self.label.clone(), venue, why: why.into(), elsewhere: None })
    }

    /// The same policy, already found, with the settings of `spec` and no others.
    pub fn settled(&self, spec: &PolicySpec) -> Result<Policy, VenueError> {
        if let Scheduler::Program(_) = self.scheduler {
            return Ok(self.clone());
        }
        let Scheduler::Object { policy, bytes } = &self.scheduler else {
            return Policy::without_object(spec, self.info.name.clone(), self.scheduler.clone());
        };
        let (policy, info) = settled(spec, policy.object.clone(), &self.info.name)?;
        let scheduler = Scheduler::Object { policy, bytes: bytes.clone() };
        Ok(Policy { label: spec.to_string(), info, scheduler, ..self.clone() })
    }

    /// The parameters of its object, in the object's order; none where it has no object.
    pub fn parameters(&self) -> Vec<Parameter> {
        let Some(policy) = self.object() else { return Vec::new() };
        parameters_of(&policy.object).expect("they were read when it was settled")
    }

    /// Whether it has an operation of sched_ext; unknown of a kernel's own scheduler and of programs.
    pub fn has_operation(&self, name: &str) -> Option<bool> {
        match &self.scheduler {
            Scheduler::Object { policy, .. } => {
                Some(policy.object.ops().is_ok_and(|ops| ops.operation(name).is_some()))
            }
            Scheduler::Ideal(_) => Some(false),
            Scheduler::Program(_) | Scheduler::Kernel | Scheduler::Native(_) => None,
        }
    }

    /// What a result depends on of it: name, parameters, object.
    pub fn identity(&self) -> String {
        let object = self.hash.as_deref().unwrap_or_default();
        format!("{} {:?} {object}", self.info.name, self.info.parameters)
    }

    /// The same in words, for files that people read: `policy rr:quantum=5ms, object 0123456789abcdef`.
    pub fn described(&self) -> String {
        let declared = self.parameters();
        let shown = |(name, value): (&String, &result::Parameter)| {
            let own = declared.iter().find(|parameter| parameter.name == *name);
            format!("{name}={}", Parameter::shown(own, value))
        };
        let settings: Vec<String> = self.info.parameters.iter().map(shown).collect();
        let colon = if settings.is_empty() { "" } else { ":" };
        let object = self.hash.as_ref().map_or(String::new(), |hash| format!(", object {hash:.16}"));
        format!("policy {}{colon}{}{object}", self.info.name, settings.join(","))
    }

    /// What results say about it when it ran on a machine.
    pub(crate) fn info_on(&self, layout: &Layout) -> PolicyInfo {
        let mut info = self.info.clone();
        info.parameters.extend(self.machine().map(|machine| machine.shown(layout)).unwrap_or_default());
        info
    }

    /// What a reader has to know of its parameters on a machine, in a sentence each.
    pub(crate) fn cautions_on(&self, layout: &Layout) -> Vec<String> {
        self.machine().map(|machine| machine.cautions(layout)).unwrap_or_default()
    }

    /// The values of its parameters on a machine: what the user has set, and what the machine has.
    #[cfg(test)]
    pub(crate) fn settings(&self, layout: &Layout) -> Vec<(String, schedlab_bpf::Value)> {
        self.object().map(|policy| policy.settings_on(layout)).unwrap_or_default()
    }

    /// Its object with its parameters, where it has one.
    pub(crate) fn object(&self) -> Option<&ObjectPolicy> {
        if let Scheduler::Object { policy, .. } = &self.scheduler { Some(policy) } else { None }
    }

    fn machine(&self) -> Option<&MachineParameters> {
        self.object().map(|policy| &policy.machine)
    }

    /// What a kernel has to load, which reports its machine itself; none where the policy has no object.
    pub fn job(&self) -> Result<Option<PolicyJob>, VenueError> {
        let (policy, bytes) = match &self.scheduler {
            Scheduler::Object { policy, bytes } => (policy, bytes),
            Scheduler::Program(program) => return Ok(Some(PolicyJob::Program(program.job().clone()))),
            Scheduler::Ideal(_) | Scheduler::Kernel | Scheduler::Native(_) => return Ok(None),
        };
        let ObjectPolicy { object, settings, machine } = policy;
        let rooms = rooms(object, settings);
        let settings = object
            .encode_settings(settings)
            .map_err(|error| RunFailure::Run { policy: self.label.clone(), error: Box::new(error.into()) })?;
        let enumerators = object.enumerators().into_iter().map(|EnumeratorInfo { name, place }| Enumerator {
            name,
            section: place.section,
            offset: place.offset,
        });
        Ok(Some(PolicyJob::Object(ObjectJob {
            object: bytes.to_vec(),
            settings,
            enumerators: enumerators.collect(),
            machine: blanks(machine, object),
            set_by_hand: machine.set_by_hand(),
            rooms,
        })))
    }

    /// Whether it may use random numbers.
    pub fn draws(&self) -> bool {
        match &self.scheduler {
            Scheduler::Object { policy, .. } => {
                policy.object.helpers().iter().any(|(number, _)| *number == GET_PRANDOM_U32)
            }
            // What a program does is not known; its libraries draw.
            Scheduler::Native(_) | Scheduler::Program(_) => true,
            Scheduler::Ideal(_) | Scheduler::Kernel => false,
        }
    }

    fn without_object(spec: &PolicySpec, name: String, scheduler: Scheduler) -> Result<Policy, VenueError> {
        if !spec.settings.is_empty() {
            return Err(VenueError::NoParameters { policy: spec.to_string(), name });
        }
        Ok(Policy {
            label: name.clone(),
            info: PolicyInfo { name, parameters: BTreeMap::new() },
            hash: None,
            shipped: true,
            warnings: String::new(),
            scheduler,
        })
    }
}

fn settled(spec: &PolicySpec, object: Arc<Object>, name: &str) -> Result<(ObjectPolicy, PolicyInfo), VenueError> {
    ObjectPolicy::settled(object, name, &spec.settings)
        .map_err(|error| VenueError::Parameter { policy: spec.to_string(), error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorClass;
    use schedlab_bpf::Value;
    use schedlab_model::result::Parameter as ResultParameter;

    fn find_text(text: &str) -> Result<Policy, VenueError> {
        Policy::find(&PolicySpec::parse(text).unwrap())
    }

    #[test]
    fn all_parameters_are_told_and_the_set_ones_are_passed_on() {
        let rr = find_text("rr:quantum=5ms").unwrap();
        assert_eq!((rr.label.as_str(), rr.info.name.as_str(), rr.shipped), ("rr:quantum=5ms", "rr", true));
        assert_eq!(rr.info.parameters["quantum"], ResultParameter::Unsigned(5_000_000));
        let (hash, words) = (rr.hash.clone().unwrap(), rr.described());
        assert!(words.starts_with("policy rr:") && words.contains("quantum=5ms"), "{words}");
        assert!(words.ends_with(&format!(", object {}", &hash[..16])), "{words}");
        assert_ne!(words, find_text("rr:quantum=6ms").unwrap().described());
        assert_eq!(find_text("ps").unwrap().described(), "policy ps");
        let mlfq = find_text("mlfq:starve=age(50ms)").unwrap();
        assert_eq!(mlfq.info.parameters["starve"], ResultParameter::Text("age".into()));
        assert_eq!(mlfq.info.parameters["slices"], ResultParameter::Text("linear".into()));
        let Scheduler::Object { policy, .. } = mlfq.scheduler else { panic!("mlfq is an object") };
        assert_eq!(policy.settings[1], ("age_after".to_string(), Value::Integer(50_000_000)));
    }

    #[test]
    fn disciplines_have_names_beside_the_shipped_policies() {
        let is_ideal = |text, wanted| matches!(find_text(text).unwrap().scheduler, Scheduler::Ideal(d) if d == wanted);
        assert!(is_ideal("ps", Discipline::Ps) && is_ideal("ideal-ps", Discipline::Ps));
        assert!(is_ideal("ideal-fcfs", Discipline::Fcfs));
        assert!(matches!(find_text("fcfs").unwrap().scheduler, Scheduler::Object { .. }));
        let error = find_text("ps:quantum=5ms").unwrap_err().to_string();
        assert_eq!(error, "policy ps:quantum=5ms: `ps` has no parameters; write ps alone");
        assert!(find_text("srtp").unwrap_err().to_string().contains("did you mean `srpt`?"));
    }

    #[test]
    fn all_that_is_wrong_with_several_policies_is_told() {
        let specs = ["nope", "rr", "ps:quantum=5ms"].map(|text| PolicySpec::parse(text).unwrap());
        let error = Policy::find_each(&specs).unwrap_err();
        let lines: Vec<String> = error.to_string().lines().map(String::from).collect();
        assert!(lines[0].contains("`nope`") && lines[1].contains("`ps` has no parameters"), "{lines:?}");
        assert_eq!((lines.len(), error.class()), (2, ErrorClass::WrongInput));
        assert_eq!(Policy::find_each(&specs[1..2]).unwrap().len(), 1);
    }

    #[test]
    fn wrong_parameters_name_the_policy() {
        let error = find_text("rr:quantum=5").unwrap_err();
        assert_eq!(error.class(), ErrorClass::WrongInput);
        assert!(error.to_string().starts_with("policy rr:quantum=5: parameter `quantum`: "), "{error}");
    }

    #[test]
    fn a_policy_that_schedules_none_of_the_tasks_is_refused_everywhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.bpf.c");
        let text = "#include <schedlab/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n\
                    SCX_OPS_DEFINE(part_ops, .flags = SCX_OPS_SWITCH_PARTIAL, .name = \"part\");\n";
        std::fs::write(&path, text).unwrap();
        let part = find_text(path.to_str().unwrap()).unwrap();
        let error = part.must_schedule_all("vm").unwrap_err();
        assert_eq!(error.class(), ErrorClass::WrongInput);
        assert!(error.to_string().contains("schedules tasks of SCHED_EXT only"), "{error}");
        find_text("rr").unwrap().must_schedule_all("vm").unwrap();
    }

    #[test]
    fn objects_that_are_none_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text.bpf.o");
        std::fs::write(&path, "this is not an object").unwrap();
        let error = find_text(path.to_str().unwrap()).unwrap_err();
        assert_eq!(error.class(), ErrorClass::WrongInput);
        assert!(error.to_string().contains("text.bpf.o: this is no ELF file"), "{error}");
    }
}
