//! How long a policy is in charge of this kernel, and why it is no longer.

use crate::lack;
use crate::log::Log;
use crate::policy::SchedulerError;
use std::fs;
use std::time::{Duration, Instant};

/// Where a kernel with sched_ext says about it.
const FOLDER: &str = "/sys/kernel/sched_ext";
/// The longest that a kernel needs to put its own scheduler back.
const PUT_BACK: Duration = Duration::from_secs(5);

/// A kernel without a policy, which this process may change.
pub struct Vacancy(Log);

/// A policy that is in charge.
pub struct Tenure {
    log: Log,
    /// The kernel counts policies that it puts in charge: which one this is.
    number: Option<String>,
}

impl Vacancy {
    /// Whether this kernel could be given a policy now.
    ///
    /// # Errors
    ///
    /// It has no sched_ext, a policy is in charge already, or this process may not.
    pub fn find() -> Result<Vacancy, SchedulerError> {
        match state() {
            None => return Err(SchedulerError::NoSchedExt),
            Some(state) if state != "disabled" => return Err(SchedulerError::Taken(operations())),
            Some(_) => {}
        }
        match lack::missing_here() {
            Some(missing) => Err(SchedulerError::Rights(missing)),
            None => Ok(Vacancy(Log::from_now())),
        }
    }

    /// Whether a policy has been put in charge since.
    pub fn is_filled(&self) -> bool {
        state().as_deref() == Some("enabled") && read("root/ops").is_some()
    }

    /// The policy that has just been put in charge.
    ///
    /// # Errors
    ///
    /// The kernel has thrown it out already.
    pub fn filled(self) -> Result<Tenure, SchedulerError> {
        let tenure = Tenure { log: self.0, number: number() };
        tenure.check().map(|()| tenure)
    }
}

impl Tenure {
    /// Whether it continues.
    ///
    /// # Errors
    ///
    /// It is over, for the reason that the kernel's log gives.
    pub fn check(&self) -> Result<(), SchedulerError> {
        if state().as_deref() == Some("enabled") && number() == self.number {
            return Ok(());
        }
        // The kernel says why before it is done with it.
        until_disabled();
        Err(SchedulerError::Ejected(self.log.of_sched_ext()))
    }
}

/// Waits until the kernel's own scheduler is in charge of all, or another policy.
pub fn until_disabled() {
    let begun = Instant::now();
    while state().is_some_and(|state| state == "disabling") && begun.elapsed() < PUT_BACK {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether this kernel can be given a policy.
pub fn has_sched_ext() -> bool {
    state().is_some()
}

/// The policy in charge, by the name that its operations give.
pub fn operations() -> String {
    read("root/ops").unwrap_or_else(|| "another".into())
}

fn read(file: &str) -> Option<String> {
    Some(fs::read_to_string(format!("{FOLDER}/{file}")).ok()?.trim().to_string())
}

/// Whether the kernel's own scheduler has all CPUs again.
pub fn is_vacant() -> bool {
    state().is_none_or(|state| state == "disabled")
}

/// Whether a policy is in charge: `disabled`, `enabling`, `enabled`, `disabling`; none without sched_ext.
pub fn state() -> Option<String> {
    read("state")
}

fn number() -> Option<String> {
    read("enable_seq")
}
