//! A policy that was found: its object or its discipline, with its parameters settled.

use crate::machine::MachineParameters;
use crate::program::Program;
use crate::{NativeScheduler, VenueError};
use schedlab_bpf::{ConstantInfo, ConstantValue, EnumeratorInfo, Object, Value};
use schedlab_guest::{ObjectJob, PolicyJob};
use schedlab_kernel::Enumerator;
use schedlab_model::hash::sha256;
use schedlab_model::layout::Layout;
use schedlab_model::result::{Parameter as ResultParameter, PolicyInfo};
use schedlab_policy::{
    Assignment, Declaration, Kind, Parameter, PolicySpec, Reference, catalog, find, parameters, settle,
};
pub use schedlab_sim::ideal::Discipline;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The helper `bpf_get_prandom_u32`, by its number in the kernel's interface.
const GET_PRANDOM_U32: u32 = 7;

/// Stands before the name of a discipline, which is needed where a shipped policy has the same name.
const IDEAL: &str = "ideal-";

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

/// What decides who runs.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// A BPF object with values for its parameters.
    Object {
        /// The object.
        object: Arc<Object>,
        /// Its bytes, as a kernel loads them.
        bytes: Arc<[u8]>,
        /// The parameters that the user has set.
        settings: Vec<(String, Value)>,
        /// The parameters that describe the machine.
        machine: MachineParameters,
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

/// The name by which a discipline is asked for: its own, with `ideal-` before it where a shipped policy has that name.
pub fn ideal_name(discipline: Discipline) -> String {
    let taken = catalog().iter().any(|shipped| shipped.name == discipline.name());
    if taken { format!("{IDEAL}{discipline}") } else { discipline.to_string() }
}

/// The discipline that a name asks for.
pub(crate) fn discipline(name: &str) -> Option<Discipline> {
    match name.strip_prefix(IDEAL) {
        Some(plain) => Discipline::from_name(plain),
        None => Discipline::from_name(name).filter(|found| ideal_name(*found) == *name),
    }
}

impl Policy {
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
        let policy = Policy {
            label: String::new(),
            info: PolicyInfo { name: found.name, parameters: BTreeMap::new() },
            hash: Some(sha256(&found.object)),
            shipped: found.shipped.is_some(),
            warnings: found.warnings,
            scheduler: Scheduler::Object {
                object: Arc::new(object),
                bytes: found.object.into(),
                settings: Vec::new(),
                machine: MachineParameters::default(),
            },
        };
        policy.settled(spec)
    }

    /// The same policy, already found, with the settings of `spec` and no others.
    pub fn settled(&self, spec: &PolicySpec) -> Result<Policy, VenueError> {
        if let Scheduler::Program(_) = self.scheduler {
            return Ok(self.clone());
        }
        let Scheduler::Object { object, bytes, .. } = &self.scheduler else {
            return Policy::without_object(spec, self.info.name.clone(), self.scheduler.clone());
        };
        let wrong = |error| VenueError::Parameter { policy: spec.to_string(), error };
        let known = parameters_of(object).map_err(wrong)?;
        let assignments = settle(&known, &spec.settings).map_err(wrong)?;
        let settings: Vec<_> = assignments.iter().map(|a| (a.name.clone(), Value::Integer(a.value))).collect();
        let set: Vec<_> = assignments.iter().map(|a| (a.name.as_str(), a.value)).collect();
        let machine = MachineParameters::among(&known, &set);
        Ok(Policy {
            label: spec.to_string(),
            info: PolicyInfo { name: self.info.name.clone(), parameters: values(&known, &assignments) },
            scheduler: Scheduler::Object { object: object.clone(), bytes: bytes.clone(), settings, machine },
            ..self.clone()
        })
    }

    /// The parameters of its object, in the object's order; none where it has no object.
    pub fn parameters(&self) -> Vec<Parameter> {
        let Scheduler::Object { object, .. } = &self.scheduler else { return Vec::new() };
        parameters_of(object).expect("they were read when it was settled")
    }

    /// What a result depends on of it: name, parameters, object.
    pub fn identity(&self) -> String {
        let object = self.hash.as_deref().unwrap_or_default();
        format!("{} {:?} {object}", self.info.name, self.info.parameters)
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
    pub(crate) fn settings(&self, layout: &Layout) -> Vec<(String, Value)> {
        let Scheduler::Object { settings, machine, .. } = &self.scheduler else { return Vec::new() };
        settings.iter().cloned().chain(machine.settings(layout)).collect()
    }

    fn machine(&self) -> Option<&MachineParameters> {
        if let Scheduler::Object { machine, .. } = &self.scheduler { Some(machine) } else { None }
    }

    /// What a kernel has to load, which reports its machine itself; none where the policy has no object.
    pub fn job(&self) -> Result<Option<PolicyJob>, VenueError> {
        let (object, bytes, settings, machine) = match &self.scheduler {
            Scheduler::Object { object, bytes, settings, machine } => (object, bytes, settings, machine),
            Scheduler::Program(program) => return Ok(Some(PolicyJob::Program(program.job().clone()))),
            Scheduler::Ideal(_) | Scheduler::Kernel | Scheduler::Native(_) => return Ok(None),
        };
        let settings = object
            .encode_settings(settings)
            .map_err(|error| VenueError::Run { policy: self.label.clone(), error: Box::new(error.into()) })?;
        let enumerators = object.enumerators().into_iter().map(|EnumeratorInfo { name, place }| Enumerator {
            name,
            section: place.section,
            offset: place.offset,
        });
        Ok(Some(PolicyJob::Object(ObjectJob {
            object: bytes.to_vec(),
            settings,
            enumerators: enumerators.collect(),
            machine: machine.blanks(object),
            set_by_hand: machine.set_by_hand(),
        })))
    }

    /// Whether it may use random numbers.
    pub fn draws(&self) -> bool {
        match &self.scheduler {
            Scheduler::Object { object, .. } => object.helpers().iter().any(|(number, _)| *number == GET_PRANDOM_U32),
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

/// The parameters of an object.
pub(crate) fn parameters_of(object: &Object) -> Result<Vec<Parameter>, schedlab_policy::ParameterError> {
    let constants = object.constants();
    let defaults: Vec<Vec<u8>> = constants.iter().map(default_bytes).collect();
    let declarations: Vec<Declaration> = constants.iter().zip(&defaults).map(|(c, d)| declaration(c, d)).collect();
    parameters(&declarations)
}

fn declaration<'a>(constant: &'a ConstantInfo, default: &'a [u8]) -> Declaration<'a> {
    Declaration { name: &constant.name, c_type: &constant.type_name, default, tags: &constant.tags }
}

/// The value in the object as the variable's bytes.
fn default_bytes(constant: &ConstantInfo) -> Vec<u8> {
    let mut bytes = match &constant.default {
        ConstantValue::Integer(value) => value.to_le_bytes().to_vec(),
        ConstantValue::Bool(value) => vec![u8::from(*value)],
        ConstantValue::Text(text) => text.clone().into_bytes(),
        ConstantValue::Bytes(bytes) => bytes.clone(),
    };
    bytes.resize(constant.size as usize, 0);
    bytes
}

/// What results say: every parameter that is a number or a word, set or not.
fn values(known: &[Parameter], assignments: &[Assignment]) -> BTreeMap<String, ResultParameter> {
    let set = |name: &str| assignments.iter().find(|a| a.name == name).map(|a| a.value);
    let numbers = known.iter().filter(|parameter| parameter.kind != Kind::Other);
    numbers.map(|p| (p.name.clone(), shown(p, set(&p.name).unwrap_or(p.default)))).collect()
}

/// A value of a parameter, as results have it.
pub(crate) fn shown(parameter: &Parameter, value: i128) -> ResultParameter {
    if !parameter.choices.is_empty() {
        return ResultParameter::Text(parameter.show(value));
    }
    match parameter.kind {
        Kind::Boolean => ResultParameter::Flag(value != 0),
        _ => u64::try_from(value).map_or(ResultParameter::Signed(value as i64), ResultParameter::Unsigned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorClass;

    fn find_text(text: &str) -> Result<Policy, VenueError> {
        Policy::find(&PolicySpec::parse(text).unwrap())
    }

    #[test]
    fn all_parameters_are_told_and_the_set_ones_are_passed_on() {
        let rr = find_text("rr:quantum=5ms").unwrap();
        assert_eq!((rr.label.as_str(), rr.info.name.as_str(), rr.shipped), ("rr:quantum=5ms", "rr", true));
        assert_eq!(rr.info.parameters["quantum"], ResultParameter::Unsigned(5_000_000));
        let mlfq = find_text("mlfq:starve=age(50ms)").unwrap();
        assert_eq!(mlfq.info.parameters["starve"], ResultParameter::Text("age".into()));
        assert_eq!(mlfq.info.parameters["slices"], ResultParameter::Text("linear".into()));
        let Scheduler::Object { settings, .. } = mlfq.scheduler else { panic!("mlfq is an object") };
        assert_eq!(settings[1], ("age_after".to_string(), Value::Integer(50_000_000)));
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
    fn wrong_parameters_name_the_policy() {
        let error = find_text("rr:quantum=5").unwrap_err();
        assert_eq!(error.class(), ErrorClass::WrongInput);
        assert!(error.to_string().starts_with("policy rr:quantum=5: parameter `quantum`: "), "{error}");
    }

    #[test]
    fn objects_that_are_none_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text.bpf.o");
        std::fs::write(&path, "this is no object").unwrap();
        let error = find_text(path.to_str().unwrap()).unwrap_err();
        assert_eq!(error.class(), ErrorClass::WrongInput);
        assert!(error.to_string().contains("text.bpf.o: this is no ELF file"), "{error}");
    }
}
