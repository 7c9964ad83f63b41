//! A policy in the simulator and what it is compared with.

use schedlab_model::release::Release;
use schedlab_policy::{PolicySpec, SpecError};
use schedlab_sim::scx::Releases;
use schedlab_venue::{KERNEL, Policy, Scheduler, VenueError};
use std::fmt;

/// Separates a policy from the kernel that it is compared with.
const AT: char = '@';

/// A policy in the simulator and what it is compared with, as the user writes it: `mlfq`, `cfs@debian:12` or `eevdf@kernel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The policy in the simulator.
    pub policy: PolicySpec,
    /// What it is compared with.
    pub against: Against,
}

/// What a policy in the simulator is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Against {
    /// The same object, loaded into a kernel.
    Itself,
    /// The own scheduler of the kernel in which everything runs.
    Kernel,
    /// The own scheduler of a kernel by name.
    KernelOf(String),
}

/// A text that is no pair.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// What is before the `@` is no policy.
    #[error(transparent)]
    Policy(#[from] SpecError),
    /// Nothing is behind the `@`.
    #[error("`{0}`: the kernel is missing; write POLICY@KERNEL, as in cfs@debian:12, or POLICY@kernel")]
    NoKernel(String),
}

impl Pair {
    /// Reads one, such as `eevdf:version=7.1,hrtick=true@debian:13-backports`. What a policy's file is called may have an `@`
    /// in its folder.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn parse(text: &str) -> Result<Pair, PairError> {
        let at = text.rfind(AT).filter(|at| !is_folder(&text[*at..]));
        let (policy, against) = match at.map(|at| (&text[..at], &text[at + 1..])) {
            None => (text, Against::Itself),
            Some((_, "")) => return Err(PairError::NoKernel(text.into())),
            Some((policy, KERNEL)) => (policy, Against::Kernel),
            Some((policy, kernel)) => (policy, Against::KernelOf(kernel.into())),
        };
        Ok(Pair { policy: PolicySpec::parse(policy)?, against })
    }

    /// Reads a list such as `rr,cfs@debian:12,eevdf:version=7.1,hrtick=true@debian:13`: a part that is a setting by its form
    /// belongs to the policy before it, as in [`PolicySpec::parse_list`].
    ///
    /// # Errors
    ///
    /// One of them is none.
    pub fn parse_list(text: &str) -> Result<Vec<Pair>, PairError> {
        let mut words: Vec<String> = Vec::new();
        for part in PolicySpec::parts(text) {
            match words.last_mut() {
                Some(word) if PolicySpec::is_setting(part) && !word.contains(AT) && word.contains(':') => {
                    word.push(',');
                    word.push_str(part);
                }
                _ => words.push(part.into()),
            }
        }
        words.iter().map(|word| Pair::parse(word)).collect()
    }

    /// The policy as it is simulated.
    ///
    /// # Errors
    ///
    /// There is none of that name, or its settings are wrong.
    pub fn simulated(&self) -> Result<Policy, VenueError> {
        Policy::find(&self.policy)
    }

    /// The pair with the policy's rules set to the release nearest to `kernel`. None if `simulated` follows no
    /// release, is compared with itself, or the user has chosen a release.
    pub(crate) fn following(&self, kernel: &str, simulated: &Policy) -> Option<Pair> {
        let Scheduler::Object { policy, .. } = &simulated.scheduler else { return None };
        let releases = Releases::of(&policy.object).filter(|_| self.against != Against::Itself)?;
        let nearest = releases.nearest(Release::parse(kernel)?)?;
        let mut pair = self.clone();
        let settings = &mut pair.policy.settings;
        if settings.iter().any(|(name, _)| *name == releases.parameter) {
            return None;
        }
        settings.insert(0, (releases.parameter, nearest.to_string()));
        Some(pair)
    }

    /// What decides in the kernel.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn real(&self) -> Result<Policy, VenueError> {
        match self.against {
            Against::Itself => self.simulated(),
            Against::Kernel | Against::KernelOf(_) => Policy::find(&PolicySpec::parse(KERNEL)?),
        }
    }
}

/// Whether an `@` and what follows it are in a folder's name: a policy's file follows.
fn is_folder(rest: &str) -> bool {
    rest.split('/').skip(1).any(|name| name.contains(".bpf.c") || name.contains(".bpf.o"))
}

/// As the user would write it.
impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.policy)?;
        match &self.against {
            Against::Itself => Ok(()),
            Against::Kernel => write!(f, "{AT}{KERNEL}"),
            Against::KernelOf(kernel) => write!(f, "{AT}{kernel}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_gives_kernels_and_settings_to_the_policies_before_them() {
        let text = "rr,cfs@debian:12,eevdf:version=7.1,hrtick=true@debian:13-backports,mlfq:levels=3,step=5ms,./a@b/x.bpf.c,eevdf@kernel";
        let list = Pair::parse_list(text).unwrap();
        let shown: Vec<String> = list.iter().map(Pair::to_string).collect();
        let wanted = [
            "rr",
            "cfs@debian:12",
            "eevdf:version=7.1,hrtick=true@debian:13-backports",
            "mlfq:levels=3,step=5ms",
            "./a@b/x.bpf.c",
            "eevdf@kernel",
        ];
        assert_eq!(shown, wanted);
        assert_eq!((&list[0].against, &list[5].against), (&Against::Itself, &Against::Kernel));
        assert_eq!(list[2].against, Against::KernelOf("debian:13-backports".into()));
        assert_eq!(list[5].real().unwrap().label, "kernel");
        assert_eq!(list[0].real().unwrap().hash, list[0].simulated().unwrap().hash);
    }

    #[test]
    fn beside_a_kernels_own_scheduler_a_policy_follows_its_release_unless_one_is_chosen() {
        let following = |text: &str, kernel: &str| {
            let pair = Pair::parse(text).unwrap();
            let following = pair.following(kernel, &pair.simulated().unwrap())?;
            assert!(following.simulated().is_ok());
            Some(following.to_string())
        };
        let newest = "Linux 7.3.4+deb13-cloud-amd64";
        for (text, kernel, follows) in [
            ("eevdf@debian:13-backports", newest, "eevdf:version=7.3@debian:13-backports"),
            ("eevdf:hz=1000@kernel", "Linux 6.18.20", "eevdf:version=6.18,hz=1000@kernel"),
            ("cfs@debian:12", "Linux 6.1.0-43-amd64", "cfs:version=6.1@debian:12"),
        ] {
            assert_eq!(following(text, kernel).as_deref(), Some(follows));
        }
        for stays in ["eevdf:version=7.1@debian:13-backports", "eevdf", "mlfq@kernel", "srpt@kernel"] {
            assert_eq!(following(stays, newest), None, "{stays}");
        }
        assert_eq!(following("eevdf@debian:12", "Linux 6.1.0-43-amd64"), None, "which has no such scheduler");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| Pair::parse_list(text).unwrap_err().to_string();
        assert!(error("cfs@").contains("the kernel is missing"));
        assert!(error("@debian:12").contains("the name is missing"));
        assert!(error("rr,quantum=5ms").contains("letters, digits"));
    }
}
