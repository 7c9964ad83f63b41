//! Why a simulated run, or any measured one, has no result.

use schedlab_metrics::{collector::Violation, validator::TraceViolation};
use schedlab_model::time::Time;
use schedlab_sim::RunError;

/// Why there is no result. `policy` is always the policy as the user wrote it.
#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    /// The run did not start or did not end.
    #[error("policy {policy}: {error}")]
    Run {
        /// The policy.
        policy: String,
        /// What happened.
        error: Box<RunError>,
    },
    /// Nothing was measured.
    #[error(
        "policy {policy}, seed {seed}: the last task ended at {end}, before the warm-up of {warmup} was over, and nothing \
         was measured; make the warm-up shorter"
    )]
    OnlyWarmup {
        /// The policy.
        policy: String,
        /// The run's seed.
        seed: u64,
        /// When the run was over.
        end: Time,
        /// What was not to be measured.
        warmup: Time,
    },
    /// CPU time got lost.
    #[error(
        "policy {policy}, seed {seed}: {violation}; this is a defect of the venue, please report it with the scenario"
    )]
    NotConserved {
        /// The policy.
        policy: String,
        /// The run's seed.
        seed: u64,
        /// What was found.
        violation: Violation,
    },
    /// The venue made a trace that cannot be.
    #[error("policy {policy}, seed {seed}: {violation}; this is a defect of the venue, please report it")]
    Unlawful {
        /// The policy.
        policy: String,
        /// The run's seed.
        seed: u64,
        /// The first law that was broken.
        violation: TraceViolation,
    },
}
