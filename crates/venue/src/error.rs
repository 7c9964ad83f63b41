//! What can go wrong, and whose fault it is.

use schedlab_bpf::{MemoryError, ObjectError};
use schedlab_kernel::SchedulerError;
use schedlab_load::LoadError;
use schedlab_model::scenario::ScenarioError;
use schedlab_model::time::Time;
use schedlab_policy::{CompileError, FindError, ParameterError, SpecError};
use schedlab_sim::{PolicyFailure, RunError};
use schedlab_simulation::RunFailure;
use schedlab_vm::VmError;

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The user's input cannot be used: nothing has run.
    WrongInput,
    /// The input was good, and something failed: the policy, the disk, memory.
    Failed,
}

/// Why there is no result. Each is one line (a compiler's message below it): what, where, what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum VenueError {
    /// The scenario cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The text names no policy.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// No such policy.
    #[error(transparent)]
    Find(#[from] FindError),
    /// A parameter that is not there or cannot have this value.
    #[error("policy {policy}: {error}")]
    Parameter {
        /// The policy as the user wrote it.
        policy: String,
        /// What is wrong.
        error: ParameterError,
    },
    /// The object cannot be used.
    #[error("policy {policy}: {error}")]
    Object {
        /// The policy as the user wrote it.
        policy: String,
        /// What is wrong.
        error: ObjectError,
    },
    /// A program that cannot be used.
    #[error("policy {policy}: {why}")]
    Program {
        /// The policy as the user wrote it.
        policy: String,
        /// What is wrong.
        why: String,
    },
    /// A venue's own policy was given a parameter.
    #[error("policy {policy}: `{name}` has no parameters; write {name} alone")]
    NoParameters {
        /// The policy as the user wrote it.
        policy: String,
        /// Its name.
        name: String,
    },
    /// The policy cannot be run in this venue.
    #[error("policy {policy} cannot be run in the venue `{venue}`: {why}{}", behind(.elsewhere.as_deref()))]
    NotHere {
        /// The policy as the user wrote it.
        policy: String,
        /// The venue's name.
        venue: &'static str,
        /// What is missing.
        why: String,
        /// Which venue to use instead, for a caller that has others.
        elsewhere: Option<String>,
    },
    /// A venue is in a list of venues twice.
    #[error("the venue `{0}` is named twice: name it once")]
    Twice(&'static str),
    /// There is nothing to load for the kernel's own scheduler.
    #[error("policy {policy} is in charge of this machine while nothing is loaded: load another one, as rr")]
    InCharge {
        /// The policy as the user wrote it.
        policy: String,
    },
    /// What is wrong with several policies, a line each.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<VenueError>),
    /// The tasks could not be run on this machine.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A virtual machine gave no result.
    #[error(transparent)]
    Vm(#[from] VmError),
    /// A real kernel did not take a policy, or threw it out.
    #[error("policy {policy}: {why}")]
    Kernel {
        /// The policy as the user wrote it.
        policy: String,
        /// What the kernel said.
        why: String,
        /// Whether it was in charge before that.
        was_in_charge: bool,
    },
    /// A real kernel ran something else than the policy of which the result would speak.
    #[error(
        "policy {policy}: the kernel did not run this object: {what}; this is a defect of the venue, please report it"
    )]
    OtherPolicy {
        /// The policy as the user wrote it.
        policy: String,
        /// What differs.
        what: String,
    },
    /// The run did not start or did not end, or what it did cannot be.
    #[error(transparent)]
    Failed(#[from] RunFailure),
    /// A recording, or the text of another tool.
    #[error(transparent)]
    Record(#[from] crate::RecordError),
    /// A trace file.
    #[error(transparent)]
    Trace(#[from] schedlab_trace::Error),
}

/// An advice at the end of a message.
fn behind(advice: Option<&str>) -> String {
    advice.map_or(String::new(), |advice| format!("; {advice}"))
}

impl VenueError {
    /// All that is wrong with several policies; nothing where that is nothing.
    ///
    /// # Errors
    ///
    /// Something is.
    pub fn all(mut errors: Vec<VenueError>) -> Result<(), VenueError> {
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(VenueError::Several(errors)),
        }
    }

    /// The same error for a caller that runs policies in one place only: `advice` is what to do instead of using another venue.
    #[must_use]
    pub fn without_venues(self, advice: &str) -> VenueError {
        match self {
            VenueError::NotHere { policy, venue, why, elsewhere: Some(_) } => {
                VenueError::NotHere { policy, venue, why, elsewhere: Some(advice.into()) }
            }
            VenueError::Several(errors) => {
                VenueError::Several(errors.into_iter().map(|error| error.without_venues(advice)).collect())
            }
            other => other,
        }
    }

    /// Whether a policy failed in a run: a finding about that policy, and not about anything else.
    pub fn is_failure_of_policy(&self) -> bool {
        match self {
            VenueError::Failed(RunFailure::Run { error, .. }) => matches!(**error, RunError::Policy(_)),
            VenueError::Kernel { .. } => true,
            _ => false,
        }
    }

    /// How a simulated policy failed: when, and what it had printed.
    pub fn simulated_failure(&self) -> Option<&PolicyFailure> {
        match self {
            VenueError::Failed(RunFailure::Run { error, .. }) => match &**error {
                RunError::Policy(failure) => Some(failure),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the policy failed before it scheduled anything: it was not loaded.
    pub fn is_failure_to_load(&self) -> bool {
        const AT_START: [&str; 3] = ["init", "init_task", "cgroup_init"];
        match self {
            VenueError::Kernel { was_in_charge, .. } => !was_in_charge,
            VenueError::Failed(RunFailure::Run { error, .. }) => match &**error {
                RunError::Policy(failure) => {
                    failure.time == Time::ZERO
                        && failure.operation.is_some_and(|operation| AT_START.contains(&operation))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether it was stopped as it was asked to.
    pub fn is_stop(&self) -> bool {
        match self {
            VenueError::Vm(VmError::Stopped) => true,
            VenueError::Failed(RunFailure::Run { error, .. }) => matches!(**error, RunError::Stopped),
            _ => false,
        }
    }

    /// Why a policy is not in charge of the running kernel, or not any more.
    pub(crate) fn on_host(policy: &str, error: SchedulerError) -> VenueError {
        let (policy, why, was_in_charge) = (policy.to_string(), error.to_string(), error.was_in_charge());
        match error {
            SchedulerError::Build
            | SchedulerError::NoSchedExt
            | SchedulerError::Rights(_)
            | SchedulerError::Taken(_) => {
                VenueError::NotHere { policy, venue: crate::host::NAME, why, elsewhere: None }
            }
            SchedulerError::Refused(_) | SchedulerError::Program(_) | SchedulerError::Ejected(_) => {
                VenueError::Kernel { policy, why, was_in_charge }
            }
        }
    }

    /// What a virtual machine says, where the policy is the cause with its name.
    pub(crate) fn in_vm(policy: &crate::Policy, error: VmError) -> VenueError {
        match error {
            VmError::Policy { why, was_in_charge } => {
                VenueError::Kernel { policy: policy.label.clone(), why, was_in_charge }
            }
            other => other.into(),
        }
    }

    /// Whose fault it is.
    pub fn class(&self) -> ErrorClass {
        let failed = match self {
            VenueError::Several(errors) => {
                return errors.first().map_or(ErrorClass::WrongInput, VenueError::class);
            }
            VenueError::Scenario(_)
            | VenueError::Spec(_)
            | VenueError::Parameter { .. }
            | VenueError::NoParameters { .. }
            | VenueError::Program { .. }
            | VenueError::NotHere { .. }
            | VenueError::Twice(_)
            | VenueError::InCharge { .. }
            | VenueError::Failed(RunFailure::OnlyWarmup { .. })
            | VenueError::Load(LoadError::Refused(_) | LoadError::Standstill(_))
            | VenueError::Object { .. } => false,
            VenueError::Load(_) => true,
            VenueError::Kernel { .. } | VenueError::OtherPolicy { .. } => true,
            VenueError::Vm(error) => !matches!(error, VmError::Lack(_) | VmError::Refused(_)),
            VenueError::Record(error) => return error.class(),
            VenueError::Find(FindError::Compile(error)) => {
                !matches!(error, CompileError::Source { .. } | CompileError::Refused { .. })
            }
            VenueError::Find(_) => false,
            VenueError::Failed(RunFailure::Run { error, .. }) => match &**error {
                RunError::Object(_)
                | RunError::Full { .. }
                | RunError::Stuck { .. }
                | RunError::TooManyTasks { .. }
                | RunError::Standstill(_)
                | RunError::Stopped
                | RunError::Refused { .. }
                | RunError::Unsupported(_) => false,
                RunError::Load(error) => {
                    use schedlab_bpf::LoadError::*;
                    // A policy that asks for more than any may have is wrong input.
                    matches!(error, Memory(lack) if !matches!(lack, MemoryError::Limit { .. }))
                        || matches!(error, Machine(_))
                }
                RunError::Policy(_) | RunError::Memory(_) | RunError::Program(_) => true,
            },
            VenueError::Trace(error) => {
                matches!(error, schedlab_trace::Error::Write { .. } | schedlab_trace::Error::Unfinished { .. })
            }
            VenueError::Failed(RunFailure::NotConserved { .. } | RunFailure::Unlawful { .. }) => true,
        };
        if failed { ErrorClass::Failed } else { ErrorClass::WrongInput }
    }
}
