//! A BPF object with its parameters settled.

use crate::machine::MachineParameters;
use schedlab_bpf::{ConstantInfo, ConstantValue, Coverage, Executor, Object, Value};
use schedlab_model::control_group::PeriodPhase;
use schedlab_model::layout::Layout;
use schedlab_model::result::{Parameter as ResultParameter, PolicyInfo};
use schedlab_model::time::Time;
use schedlab_model::trace::Sink;
use schedlab_model::workload::Workload;
use schedlab_policy::{Assignment, Declaration, Kind, Parameter, ParameterError, parameters, settle};
use schedlab_sim::{Control, Options, Outcome, RunError, scx};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An object, and values for its parameters.
#[derive(Clone, Debug)]
pub struct ObjectPolicy {
    /// The object.
    pub object: Arc<Object>,
    /// The parameters that the user has set.
    pub settings: Vec<(String, Value)>,
    /// The parameters that describe the machine.
    pub machine: MachineParameters,
}

impl ObjectPolicy {
    /// An object with these settings and no others, and what results say about it under a name.
    ///
    /// # Errors
    ///
    /// A parameter that is not there, or that cannot have this value.
    pub fn settled(
        object: Arc<Object>,
        name: &str,
        settings: &[(String, String)],
    ) -> Result<(ObjectPolicy, PolicyInfo), ParameterError> {
        let known = parameters_of(&object)?;
        let assignments = settle(&known, settings)?;
        let set: Vec<_> = assignments.iter().map(|a| (a.name.as_str(), a.value)).collect();
        let machine = MachineParameters::among(&known, &set);
        let settings = assignments.iter().map(|a| (a.name.clone(), Value::Integer(a.value))).collect();
        let info = PolicyInfo { name: name.into(), parameters: values(&known, &assignments) };
        Ok((ObjectPolicy { object, settings, machine }, info))
    }

    /// The values of its parameters on a machine: what the user has set, and what the machine has.
    pub fn settings_on(&self, layout: &Layout) -> Vec<(String, Value)> {
        self.settings.iter().cloned().chain(self.machine.settings(layout)).collect()
    }

    /// Simulates a workload under it.
    ///
    /// # Errors
    ///
    /// As [`scx::run`].
    pub fn simulate(
        &self,
        workload: &Workload,
        executor: Executor,
        seed: u64,
        sink: &mut dyn Sink,
        control: &mut dyn Control,
    ) -> Result<Outcome, RunError> {
        scx::run(workload, &self.object, &self.options(workload, executor, seed), sink, control)
    }

    /// Which of its source lines a run executes, however that ends.
    ///
    /// # Errors
    ///
    /// The run does not begin.
    pub fn coverage(&self, workload: &Workload, seed: u64, control: &mut dyn Control) -> Result<Coverage, RunError> {
        scx::coverage(workload, &self.object, &self.options(workload, Executor::Interpreter, seed), control)
    }

    fn options(&self, workload: &Workload, executor: Executor, seed: u64) -> Options {
        let mut settings = self.settings_on(&(&workload.machine).into());
        settings.extend(phase(workload, seed, &self.object, &settings));
        settings.extend(rooms(workload, &self.object, &settings));
        Options { executor, settings, seed }
    }
}

/// When the scenario says that periods of limits begin, for a policy that has a parameter for it which is not set.
fn phase(workload: &Workload, seed: u64, object: &Object, set: &[(String, Value)]) -> Option<(String, Value)> {
    let (name, bytes) = match workload.run.period_phase {
        PeriodPhase::At(Time::ZERO) => return None,
        PeriodPhase::At(time) => ("period_phase", time.ns().to_le_bytes().to_vec()),
        PeriodPhase::Random => ("phase_seed", seed.saturating_add(1).to_le_bytes().to_vec()),
    };
    let is_free = object.place_of(name).is_some() && set.iter().all(|(other, _)| other != name);
    is_free.then(|| (name.into(), Value::Bytes(bytes)))
}

/// Room for each control group on each CPU, where an object has too little and the user has not set it.
fn rooms(workload: &Workload, object: &Object, set: &[(String, Value)]) -> Vec<(String, Value)> {
    let needed = workload.control_groups.len() as u64 * u64::from(workload.machine.cpus());
    let is_free = |name: &str| set.iter().all(|(other, _)| other != name);
    let rooms = object.rooms_for_groups().into_iter();
    let short = rooms.filter(|room| needed > u64::from(room.least) && is_free(&room.name));
    short.map(|room| (room.name, Value::Integer(needed.into()))).collect()
}

/// The parameters of an object.
///
/// # Errors
///
/// A declaration tag that says nothing sensible.
pub fn parameters_of(object: &Object) -> Result<Vec<Parameter>, ParameterError> {
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
