//! Where runs happen, with all that says one place from another of its kind, and what is taken where nothing is said.

use schedlab_venue::{
    Algorithm, EngineSpec, HostVenue, KeptGuests, Policy, SimVenue, Venue, VenueError, VenueName, VmVenue,
    cache_folder, fingerprint, kernels,
};
use std::str::FromStr;

/// The kernel of virtual machines where none is named and runs need nothing of it but its own scheduler.
const ANY_KERNEL: &str = "debian:12";
/// The one where runs need sched_ext.
const KERNEL_WITH_SCHED_EXT: &str = "debian:13-backports";

/// Where runs happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which venue.
    pub name: VenueName,
    /// The kernel of a virtual machine, where one is named or was chosen.
    kernel: Option<String>,
    /// The emulator, where one is named.
    engine: Option<EngineSpec>,
    /// What tasks compute where they really do.
    algorithm: Algorithm,
}

impl Place {
    /// A venue, and of a virtual machine the kernel and the emulator, where the user names them.
    pub fn new(name: VenueName, kernel: Option<&str>, engine: Option<EngineSpec>) -> Place {
        Place { name, kernel: kernel.map(String::from), engine, algorithm: Algorithm::Spin }
    }

    /// The same as files write it.
    ///
    /// # Errors
    ///
    /// There is no such emulator.
    pub fn read(
        name: VenueName,
        kernel: Option<&str>,
        engine: Option<&str>,
    ) -> Result<Place, <EngineSpec as FromStr>::Err> {
        Ok(Place::new(name, kernel, engine.map(EngineSpec::from_str).transpose()?))
    }

    /// Which key of a file says something of guests where none of its venues has one, and why that is wrong.
    ///
    /// # Errors
    ///
    /// The key, and the message.
    pub fn check_words(
        venues: &[VenueName],
        kernel: Option<&str>,
        engine: Option<&str>,
    ) -> Result<(), (&'static str, String)> {
        let given = [("kernel", kernel), ("engine", engine)].into_iter().find(|(_, word)| word.is_some());
        let (Some((key, _)), false) = (given, venues.contains(&VenueName::Vm)) else { return Ok(()) };
        let here = venues.iter().map(|venue| venue.name()).collect::<Vec<_>>().join(", ");
        Err((key, format!("`{key}` is for `venue = \"vm\"` and has no effect in {here}: leave it out")))
    }

    /// The same where tasks compute something else.
    pub fn computing(self, algorithm: Algorithm) -> Place {
        Place { algorithm, ..self }
    }

    /// The same for these policies: where no kernel is named, one that has what they need. All of them run in that one, so
    /// that they and no kernels are compared.
    pub fn for_policies<'a>(self, policies: impl IntoIterator<Item = &'a Policy>) -> Place {
        let default = || match policies.into_iter().any(|policy| policy.scheduler.needs_sched_ext()) {
            true => KERNEL_WITH_SCHED_EXT,
            false => ANY_KERNEL,
        };
        Place { kernel: Some(self.kernel.unwrap_or_else(|| default().into())), ..self }
    }

    /// The kernel of a virtual machine.
    pub fn kernel(&self) -> &str {
        self.kernel.as_deref().unwrap_or(ANY_KERNEL)
    }

    /// Whether the kernel of a virtual machine is one that can be had, before it is fetched.
    ///
    /// # Errors
    ///
    /// There is no such kernel.
    pub fn check_kernel(&self) -> Result<(), VenueError> {
        if self.name == VenueName::Vm { Ok(kernels::check(self.kernel())?) } else { Ok(()) }
    }

    /// The emulator of a virtual machine with `cpus` CPUs: unless one is named, the fastest that keeps true time.
    pub fn engine(&self, cpus: u32) -> EngineSpec {
        self.engine.unwrap_or_else(|| EngineSpec::for_cpus(cpus))
    }

    /// The venue, for a machine with `cpus` CPUs, in which every run is made. A virtual machine boots once for all of them.
    pub fn venue(&self, cpus: u32) -> Box<dyn Venue> {
        self.venue_with(cpus, cache_folder().map(|folder| KeptGuests::new(&folder).of_states()))
    }

    /// The same where a guest that is kept does not run again.
    pub(crate) fn venue_with(&self, cpus: u32, kept: Option<KeptGuests>) -> Box<dyn Venue> {
        let algorithm = self.algorithm;
        match self.name {
            VenueName::Sim => Box::new(SimVenue),
            VenueName::Host => Box::new(HostVenue::new(algorithm)),
            VenueName::Vm => {
                Box::new(VmVenue { kernel: self.kernel().into(), engine: self.engine(cpus), algorithm, kept })
            }
        }
    }

    /// Whether the same run gives the same bytes there: everywhere but in real time.
    pub fn repeats(&self, cpus: u32) -> bool {
        match self.name {
            VenueName::Sim => true,
            VenueName::Host => false,
            VenueName::Vm => self.engine(cpus).engine().repeats(),
        }
    }

    /// What was asked for, in words: of a virtual machine the kernel's name and the emulator; a real machine is itself.
    pub fn words(&self) -> String {
        let algorithm = self.algorithm;
        match self.name {
            VenueName::Sim => "sim".into(),
            VenueName::Host => format!("host {}, {algorithm}", fingerprint()),
            VenueName::Vm => format!("vm {} {:?}, {algorithm}", self.kernel(), self.engine),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_policy::PolicySpec;

    #[test]
    fn places_that_give_other_results_have_other_words() {
        let vm = |kernel, engine| Place::read(VenueName::Vm, kernel, engine).unwrap().words();
        assert_eq!(vm(None, None), vm(Some(ANY_KERNEL), None));
        assert_ne!(vm(None, None), vm(Some("debian:13"), None));
        assert_ne!(vm(None, None), vm(None, Some("bochs")));
        let of = |name| Place::new(name, None, None);
        assert!(of(VenueName::Host).words().contains(&fingerprint()) && of(VenueName::Sim).words() == "sim");
        assert_ne!(of(VenueName::Host).words(), of(VenueName::Host).computing(Algorithm::Fft).words());
        assert!(Place::read(VenueName::Vm, None, Some("abacus")).is_err());
    }

    /// A policy is a sched_ext program, so it needs a kernel that has sched_ext; a kernel's own scheduler needs none.
    #[test]
    fn the_kernel_follows_from_what_the_policies_need() {
        let find = |name: &&str| Policy::find(&PolicySpec::parse(name).unwrap()).unwrap();
        let kernel = |named, policies: &[&str]| {
            let policies: Vec<Policy> = policies.iter().map(find).collect();
            Place::new(VenueName::Vm, named, None).for_policies(&policies).kernel().to_string()
        };
        assert_eq!(kernel(None, &["rr"]), "debian:13-backports");
        assert_eq!(kernel(None, &["kernel", "rr"]), "debian:13-backports");
        assert_eq!(kernel(None, &["kernel"]), "debian:12");
        assert_eq!(kernel(Some("debian:11"), &["rr"]), "debian:11");
    }

    #[test]
    fn words_about_guests_need_a_guest() {
        use VenueName::{Host, Sim, Vm};
        let check = |venues: &[VenueName], kernel, engine| Place::check_words(venues, kernel, engine);
        assert_eq!(check(&[Sim, Host], None, None), Ok(()));
        assert_eq!(check(&[Sim, Vm], Some("debian:13"), Some("bochs")), Ok(()));
        let (key, why) = check(&[Sim, Host], None, Some("bochs")).unwrap_err();
        assert_eq!(key, "engine");
        assert!(why.contains("no effect in sim, host"), "{why}");
        assert_eq!(check(&[Sim], Some("debian:13"), None).unwrap_err().0, "kernel");
    }

    #[test]
    fn real_time_does_not_repeat() {
        let vm = |engine| Place::read(VenueName::Vm, None, Some(engine)).unwrap().repeats(1);
        assert_eq!([vm("qemu"), vm("bochs"), vm("kvm")], [true, true, false]);
        assert!(!Place::new(VenueName::Host, None, None).repeats(1));
    }
}
