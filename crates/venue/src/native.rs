//! Policies that are part of the calling program, for the simulator alone.

use crate::{Policy, Scheduler, VenueError};
use schedlab_bpf::Object;
use schedlab_model::result::PolicyInfo;
use schedlab_policy::NATIVE_OBJECT;
use schedlab_sim::scx::native::Native;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Makes a scheduler for each run.
pub trait NativeMaker: Send + Sync {
    /// A scheduler for a run with this seed.
    ///
    /// # Errors
    ///
    /// Why it cannot be made.
    fn make(&self, seed: u64) -> Result<Box<dyn Native>, String>;
}

/// The maker of a policy's schedulers, and the object that calls them.
#[derive(Clone)]
pub struct NativeScheduler {
    pub(crate) object: Arc<Object>,
    pub(crate) maker: Arc<dyn NativeMaker>,
}

impl fmt::Debug for NativeScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NativeScheduler")
    }
}

impl Policy {
    /// A policy of the calling program under a name.
    ///
    /// # Errors
    ///
    /// None that a user could cause.
    pub fn native(name: &str, maker: Arc<dyn NativeMaker>) -> Result<Policy, VenueError> {
        let in_object = |error| VenueError::Object { policy: name.into(), error };
        let object = Arc::new(Object::parse(NATIVE_OBJECT).map_err(in_object)?);
        object.ops().map_err(in_object)?;
        Ok(Policy {
            label: name.into(),
            info: PolicyInfo { name: name.into(), parameters: BTreeMap::new() },
            hash: None,
            shipped: true,
            warnings: String::new(),
            scheduler: Scheduler::Native(NativeScheduler { object, maker }),
        })
    }
}
