//! What came of cases, kept under a hash of all that went into them: scenario, policy, venue, seed, and the program that
//! ran them.

use crate::case::Case;
use crate::language::Asked;
use crate::runner::Observed;
use schedlab_model::hash::sha256;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A folder of outcomes.
pub struct Cache {
    folder: PathBuf,
    /// The hash of the program.
    program: String,
    /// Whether it only keeps and never tells.
    forgetful: bool,
}

impl Cache {
    /// The one in this folder.
    ///
    /// # Errors
    ///
    /// The running program cannot be read.
    pub fn open(folder: &Path) -> io::Result<Cache> {
        let program = sha256(&fs::read(schedlab_venue::own_file()?)?);
        Ok(Cache { folder: folder.into(), program, forgetful: false })
    }

    /// The same that keeps what is new and does not know what was.
    pub fn forgetful(self) -> Cache {
        Cache { forgetful: true, ..self }
    }

    /// What came of a case under a seed, if it is known.
    pub fn find(&self, case: &Case, seed: u64) -> Option<Observed> {
        if self.forgetful {
            return None;
        }
        let bytes = fs::read(self.path(case, seed)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps what came of it. Whoever reads sees nothing or the whole.
    ///
    /// # Errors
    ///
    /// The folder cannot be written to.
    pub fn keep(&self, case: &Case, seed: u64, observed: &Observed) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let target = self.path(case, seed);
        let fresh = target.with_extension(format!("{}.new", std::process::id()));
        fs::write(&fresh, serde_json::to_vec(observed)?)?;
        fs::rename(fresh, target)
    }

    fn path(&self, case: &Case, seed: u64) -> PathBuf {
        self.folder.join(format!("{}.json", self.key(case, seed)))
    }

    fn key(&self, case: &Case, seed: u64) -> String {
        let Asked { responses, statuses, overhead } = &case.asked;
        let section = overhead.as_ref().map(|overhead| &overhead.group);
        let asked = format!("responses {responses}, statuses {statuses}, section {section:?}");
        let all = [
            &self.program,
            &asked,
            &case.scenario_hash,
            &case.policy.identity(),
            &case.place.identity(),
            &seed.to_string(),
        ];
        sha256(all.map(String::as_str).join("\n").as_bytes())
    }
}
