//! What was seen of runs, kept under their names.
//!
//! A name is a hash of everything that decides a run, so an entry is never wrong, only unused. The cache keeps a run's
//! result and what its listeners heard, for any command that needs no more than that. Next to it lie what guests sent and guests
//! that are set up ([`KeptGuests`]), under names that do not depend on the program: a new build repeats no guest run.

use crate::case::Case;
use crate::digest::{Digests, write_whole};
use crate::ear::Heard;
use schedlab_boundary::file;
use schedlab_model::hash::sha256;
use schedlab_venue::{KeptGuests, Run, VenueName, cache_folder, fingerprint, guest_program, kernels, own_file};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{fs, io};

/// The form of what is kept.
const FORM: &str = "schedlab.kept/1";

/// Another build asks for other names. What it kept is thrown away when it has kept nothing for so long.
const PATIENCE: Duration = Duration::from_secs(30 * 24 * 3600);

/// The folder in which runs are kept.
const RUNS: &str = "runs";

/// A folder of what was seen.
pub struct Cache {
    /// That of this program's runs.
    folder: PathBuf,
    /// What guests sent, whichever program ran them.
    guests: KeptGuests,
    /// The hash of the program.
    program: String,
    digests: Digests,
    /// What places are made of, by what was asked for.
    places: Mutex<BTreeMap<String, Option<String>>>,
    /// Whether it only keeps and never says.
    forgetful: bool,
}

/// What is kept of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    form: String,
    /// The run.
    pub run: Run,
    /// What was heard of it.
    pub heard: Heard,
}

impl Cache {
    /// The one in the user's folder for such things; none where there is no such folder.
    ///
    /// # Errors
    ///
    /// The running program cannot be read.
    pub fn of_user() -> io::Result<Option<Cache>> {
        cache_folder().map(|folder| Cache::open(&folder)).transpose()
    }

    /// The one in this folder.
    ///
    /// # Errors
    ///
    /// The running program cannot be read.
    pub fn open(folder: &Path) -> io::Result<Cache> {
        let (runs, guests) = (folder.join(RUNS), KeptGuests::new(folder));
        let digests = Digests::new(&runs);
        let program = digests.of(&own_file()?)?;
        let own = runs.join(&program[..16]);
        remove_old(&runs, &own);
        Ok(Cache { folder: own, guests, program, digests, places: Mutex::default(), forgetful: false })
    }

    /// The same that keeps what is new and does not know what was.
    pub fn forgetful(self) -> Cache {
        Cache { forgetful: true, guests: self.guests.forgetful(), ..self }
    }

    /// What guests sent, whichever program ran them.
    pub(crate) fn guests(&self) -> KeptGuests {
        self.guests.clone()
    }

    /// The name of a run; none where nothing distinguishes it from all others.
    pub(crate) fn name(&self, case: &Case, seed: u64) -> Option<String> {
        if !case.can_be_kept() {
            return None;
        }
        let (place, identity) = (self.place(case)?, case.identity(seed));
        Some(sha256([&self.program, &place, &identity].map(String::as_str).join("\n").as_bytes()))
    }

    /// What is kept under a name, if all of these ears have heard it, and since when.
    pub(crate) fn find<'a>(&self, name: &str, mut ears: impl Iterator<Item = &'a str>) -> Option<(Kept, SystemTime)> {
        let kept = self.read(name).filter(|_| !self.forgetful)?;
        let since = fs::metadata(self.path(name)).and_then(|metadata| metadata.modified()).ok()?;
        ears.all(|ear| kept.heard.contains_key(ear)).then_some((kept, since))
    }

    /// Keeps a run. What others heard of the same run stays.
    ///
    /// # Errors
    ///
    /// The folder cannot be written to.
    pub(crate) fn keep(&self, name: &str, run: &Run, heard: &Heard) -> io::Result<()> {
        let known = self.read(name).filter(|known| known.run.result == run.result);
        let mut all = known.map_or_else(Heard::new, |known| known.heard);
        all.extend(heard.clone());
        let kept = Kept { form: FORM.into(), run: run.clone(), heard: all };
        write_whole(&self.path(name), &serde_json::to_vec(&kept)?)
    }

    /// Keeps it no longer.
    pub(crate) fn forget(&self, name: &str) {
        // One that is not there is forgotten already.
        let _ = fs::remove_file(self.path(name));
    }

    fn read(&self, name: &str) -> Option<Kept> {
        let kept: Kept = serde_json::from_slice(&file::bytes(&self.path(name), file::RESULT_BYTES).ok()?).ok()?;
        (kept.form == FORM).then_some(kept)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(&name[..2]).join(format!("{name}.json"))
    }

    /// What a case's place is made of; none where that cannot be found out, so that no run can happen there either.
    fn place(&self, case: &Case) -> Option<String> {
        let cpus = case.workload.machine.cpus();
        let asked = format!("{} {cpus} {:?}", case.place.words(), case.keeps);
        let known = |places: &BTreeMap<String, Option<String>>| places.get(&asked).cloned();
        if let Some(known) = known(&self.places.lock().unwrap_or_else(PoisonError::into_inner)) {
            return known;
        }
        let found = self.made_of(case, cpus);
        self.places.lock().unwrap_or_else(PoisonError::into_inner).insert(asked, found.clone());
        found
    }

    fn made_of(&self, case: &Case, cpus: u32) -> Option<String> {
        let place = &case.place;
        let mut all = vec![place.words()];
        if place.name == VenueName::Vm {
            let engine = place.engine(cpus);
            all.push(format!("{engine:?}"));
            all.push(self.digests.of(&kernels::find(place.kernel()).ok()?).ok()?);
            all.push(self.digests.of(&guest_program().ok()?).ok()?);
            if engine.engine().repeats() {
                all.push(engine.engine().probe().ok()?);
            }
        }
        if !case.repeats() {
            // Measurements from before a reboot are not compared with those made after it.
            all.push(fingerprint());
            all.push(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?);
            all.push(format!("{:?}", case.keeps));
        }
        Some(all.join("\n"))
    }
}

/// Removes what other builds kept, when they have kept nothing for a long time.
fn remove_old(folder: &Path, own: &Path) {
    let is_old = |path: &Path| {
        let newest = fs::metadata(path).and_then(|metadata| metadata.modified());
        newest.ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age > PATIENCE)
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && path != own && is_old(&path) {
            // Another process may be removing it too.
            let _ = fs::remove_dir_all(path);
        }
    }
}
