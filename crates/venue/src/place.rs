//! A venue with all that tells it from another of its kind.

use crate::{Algorithm, EngineSpec, Venue, VenueName, fingerprint};
use std::str::FromStr;

/// The kernel of virtual machines where none is named: the one in which our policies run.
const KERNEL: &str = "debian:13-backports";

/// Where runs happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which venue.
    pub name: VenueName,
    /// The kernel of a virtual machine.
    kernel: String,
    /// The emulator, where one is named.
    engine: Option<EngineSpec>,
}

impl Place {
    /// As files name it: a venue, and of a virtual machine the kernel and the emulator.
    ///
    /// # Errors
    ///
    /// There is no such emulator.
    pub fn new(
        name: VenueName,
        kernel: Option<&str>,
        engine: Option<&str>,
    ) -> Result<Place, <EngineSpec as FromStr>::Err> {
        let engine = engine.map(EngineSpec::from_str).transpose()?;
        Ok(Place { name, kernel: kernel.unwrap_or(KERNEL).into(), engine })
    }

    /// The venue.
    pub fn venue(&self) -> Box<dyn Venue> {
        self.name.venue(&self.kernel, self.engine, Algorithm::Spin)
    }

    /// What a result from there depends on: a real machine is itself, a virtual one its kernel and emulator.
    pub fn identity(&self) -> String {
        match self.name {
            VenueName::Sim => "sim".into(),
            VenueName::Host => format!("host {}", fingerprint()),
            VenueName::Vm => format!("vm {} {:?}", self.kernel, self.engine),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_give_other_results_have_other_identities() {
        let vm = |kernel, engine| Place::new(VenueName::Vm, kernel, engine).unwrap().identity();
        assert_eq!(vm(None, None), vm(Some(KERNEL), None));
        assert_ne!(vm(None, None), vm(Some("debian:12"), None));
        assert_ne!(vm(None, None), vm(None, Some("bochs")));
        let of = |name| Place::new(name, None, None).unwrap().identity();
        assert!(of(VenueName::Host).contains(&fingerprint()) && of(VenueName::Sim) == "sim");
        assert!(Place::new(VenueName::Vm, None, Some("abacus")).is_err());
    }
}
