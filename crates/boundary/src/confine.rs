//! Drops the rights that a process does not need, before it works on untrusted input.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, path_beneath_rules,
};
use std::io;
use std::path::PathBuf;

/// The newest Landlock whose rights are asked for. Older kernels give fewer.
const NEWEST: ABI = ABI::V5;

/// What a process keeps.
#[derive(Clone, Debug, Default)]
pub struct Confinement {
    /// Files and folders, with all below them, that it may read and execute. What does not exist is left out.
    pub read: Vec<PathBuf>,
    /// Those that it may also write.
    pub write: Vec<PathBuf>,
    /// Seconds of CPU time, after which it is ended.
    pub cpu_seconds: u64,
}

/// How far a process is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confined {
    /// It reaches the files that it was given, and no network.
    Files,
    /// It has limits, but this kernel has no Landlock: it reaches what its user reaches.
    LimitsOnly,
}

impl Confinement {
    /// Confines this process and all that it starts, for good. It is the only thread so far: others would stay free. The
    /// process ends with its parent.
    ///
    /// # Errors
    ///
    /// The kernel refuses.
    pub fn enter(&self) -> io::Result<Confined> {
        limit(libc::RLIMIT_CPU, self.cpu_seconds)?;
        limit(libc::RLIMIT_CORE, 0)?;
        // SAFETY: plain numbers.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
            return Err(io::Error::last_os_error());
        }
        match self.restrict().map_err(io::Error::other)? {
            RulesetStatus::NotEnforced => Ok(Confined::LimitsOnly),
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(Confined::Files),
        }
    }

    fn restrict(&self) -> Result<RulesetStatus, RulesetError> {
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(NEWEST))?
            .handle_access(AccessNet::from_all(NEWEST))?
            .create()?
            .add_rules(path_beneath_rules(&self.read, AccessFs::from_read(NEWEST)))?
            .add_rules(path_beneath_rules(&self.write, AccessFs::from_all(NEWEST)))?;
        Ok(ruleset.restrict_self()?.ruleset)
    }
}

fn limit(what: libc::__rlimit_resource_t, most: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the structure lives. A lower limit that is there already may not be raised, and is as good.
    match unsafe { libc::setrlimit(what, &limit) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()).or_else(|error: io::Error| match error.raw_os_error() {
            Some(libc::EPERM) => Ok(()),
            _ => Err(error),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::net::TcpListener;

    /// In a process of its own, since nothing undoes it.
    #[test]
    fn a_confined_process_reaches_what_it_was_given() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (folder.path().join("own"), folder.path().join("other"));
        fs::write(&other, "secret").unwrap();
        fs::create_dir(&own).unwrap();
        let confinement = Confinement { read: Vec::new(), write: vec![own.clone()], cpu_seconds: 10 };
        // SAFETY: the child makes system calls and leaves by `_exit`; it allocates only in this one test's thread.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_confined = confinement.enter().map(|how| how == Confined::Files);
            let is_right = match is_confined {
                Ok(true) => {
                    fs::write(own.join("file"), "mine").is_ok()
                        && fs::read(&other).is_err()
                        && fs::write(&other, "changed").is_err()
                        && TcpListener::bind("127.0.0.1:0").is_err()
                }
                Ok(false) => fs::read(&other).is_ok(),
                Err(_) => false,
            };
            // SAFETY: it leaves.
            unsafe { libc::_exit(if is_right { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: our own child.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
    }
}
