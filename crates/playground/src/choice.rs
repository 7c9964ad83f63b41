//! The policy that a reader chose.

use schedlab_bpf::{Executor, Object};
use schedlab_model::hash::sha256;
use schedlab_model::result::PolicyInfo;
use schedlab_model::trace::Sink;
use schedlab_model::workload::Workload;
use schedlab_policy::{ParameterError, PolicySpec, Reference, SpecError, UnknownPolicy, shipped};
use schedlab_sim::{Control, Outcome, RunError, ideal};
use schedlab_simulation::{Discipline, ObjectPolicy, Subject, discipline, ideal_name};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A policy with its parameters.
#[derive(Clone, Debug)]
pub struct Choice {
    /// As the reader wrote it.
    pub label: String,
    info: PolicyInfo,
    scheduler: Scheduler,
}

#[derive(Clone, Debug)]
enum Scheduler {
    Object { policy: ObjectPolicy, hash: String },
    Ideal(Discipline),
}

/// The policy cannot be used. The words are those of the command line.
#[derive(Debug, thiserror::Error)]
pub enum NoChoice {
    /// The text names no policy.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// No policy has that name.
    #[error(transparent)]
    Unknown(#[from] UnknownPolicy),
    /// A parameter that is not there or cannot have this value.
    #[error("policy {policy}: {error}")]
    Parameter {
        /// The policy as the reader wrote it.
        policy: String,
        /// What is wrong.
        error: ParameterError,
    },
    /// A discipline was given a parameter.
    #[error("policy {policy}: `{name}` has no parameters; write {name} alone")]
    NoParameters {
        /// The policy as the reader wrote it.
        policy: String,
        /// Its name.
        name: String,
    },
    /// There are no files and no programs.
    #[error("policy {0}: a page has the shipped policies alone; `schedlab run` takes files and programs")]
    NotShipped(String),
}

impl Choice {
    /// Finds what a text such as `rr:quantum=5ms` names.
    ///
    /// # Errors
    ///
    /// It names nothing, or a parameter is wrong.
    pub fn find(text: &str) -> Result<Choice, NoChoice> {
        let spec = PolicySpec::parse(text)?;
        let label = spec.to_string();
        let Reference::Name(name) = &spec.reference else { return Err(NoChoice::NotShipped(label)) };
        if let Some(discipline) = discipline(name) {
            return ideal(&spec, discipline);
        }
        let names = Discipline::ALL.map(ideal_name);
        let shipped = shipped(name, &names.each_ref().map(String::as_str))?;
        let object = Arc::new(Object::parse(shipped.object).expect("shipped objects are whole"));
        let (policy, info) = ObjectPolicy::settled(object, shipped.name, &spec.settings)
            .map_err(|error| NoChoice::Parameter { policy: label.clone(), error })?;
        Ok(Choice { label, info, scheduler: Scheduler::Object { policy, hash: sha256(shipped.object) } })
    }

    /// The facts about a run that its result contains.
    pub fn subject<'a>(&'a self, workload: &'a Workload, scenario_hash: &'a str, seed: u64) -> Subject<'a> {
        let subject = Subject {
            workload,
            scenario_hash,
            label: &self.label,
            policy: self.info.clone(),
            policy_hash: None,
            object: None,
            is_fluid: false,
            simulates_kernel: false,
            cautions: Vec::new(),
            manner: None,
            seed,
            check: false,
        };
        match &self.scheduler {
            Scheduler::Ideal(discipline) => Subject { is_fluid: discipline.is_fluid(), ..subject },
            Scheduler::Object { policy, hash } => {
                let layout = (&workload.machine).into();
                let mut info = self.info.clone();
                info.parameters.extend(policy.machine.shown(&layout));
                Subject {
                    policy: info,
                    policy_hash: Some(hash),
                    object: Some(&policy.object),
                    simulates_kernel: true,
                    cautions: policy.machine.cautions(&layout),
                    ..subject
                }
            }
        }
    }

    /// Simulates a workload under it, in the interpreter.
    ///
    /// # Errors
    ///
    /// The run did not start or did not end.
    pub fn run(
        &self,
        workload: &Workload,
        seed: u64,
        sink: &mut dyn Sink,
        control: &mut dyn Control,
    ) -> Result<Outcome, RunError> {
        match &self.scheduler {
            Scheduler::Object { policy, .. } => policy.simulate(workload, Executor::Interpreter, seed, sink, control),
            Scheduler::Ideal(discipline) => ideal::run(workload, *discipline, seed, sink, control),
        }
    }
}

fn ideal(spec: &PolicySpec, discipline: Discipline) -> Result<Choice, NoChoice> {
    let name = ideal_name(discipline);
    if !spec.settings.is_empty() {
        return Err(NoChoice::NoParameters { policy: spec.to_string(), name });
    }
    let info = PolicyInfo { name: name.clone(), parameters: BTreeMap::new() };
    Ok(Choice { label: name, info, scheduler: Scheduler::Ideal(discipline) })
}
