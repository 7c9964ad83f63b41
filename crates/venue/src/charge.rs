//! A policy in charge of this machine, for as long as its user wants.

use crate::{Policy, VenueError, host, identity};
use schedlab_guest::InCharge;

/// A policy that has the CPUs of this machine. The kernel's own scheduler has them when this is dropped, or when the
/// process ends in whatever way.
pub struct Charge {
    policy: String,
    held: InCharge,
}

impl Charge {
    /// Puts a policy in charge; nothing to do for the kernel's own scheduler.
    pub(crate) fn of(policy: &Policy) -> Result<Option<Charge>, VenueError> {
        host::accepts(policy)?;
        let Some(job) = policy.job()? else { return Ok(None) };
        let held = InCharge::take(&job).map_err(|error| VenueError::on_host(&policy.label, error))?;
        identity::check(policy, Some(held.loaded()))?;
        Ok(Some(Charge { policy: policy.label.clone(), held }))
    }

    /// Whether a policy could have them now: the kernel checks it and hands nothing over. Says why not.
    pub(crate) fn probe(policy: &Policy) -> Result<(), String> {
        let Some(job) = policy.job().map_err(|error| error.to_string())? else { return Ok(()) };
        InCharge::probe(&job).map_err(|error| error.to_string())
    }

    /// Hands the CPUs to a policy.
    pub fn take(policy: &Policy) -> Result<Charge, VenueError> {
        Charge::of(policy)?.ok_or_else(|| VenueError::InCharge { policy: policy.label.clone() })
    }

    /// What its user has to know of its parameters on this machine, in a sentence each.
    pub fn cautions(&self, policy: &Policy) -> Vec<String> {
        policy.cautions_on(&self.held.loaded().layout)
    }

    /// Whether it still has them.
    pub fn check(&self) -> Result<(), VenueError> {
        self.held.check().map_err(|error| VenueError::on_host(&self.policy, error))
    }

    /// Gives them back, and says whether it had them up to now.
    pub fn end(self) -> Result<(), VenueError> {
        self.held.end().map_err(|error| VenueError::on_host(&self.policy, error)).map(drop)
    }

    /// For a run.
    pub(crate) fn into_inner(self) -> InCharge {
        self.held
    }
}
