//! A guest from its start to its result.

use crate::engine::{Engine, Guest, MEMORY_BYTES, Part};
use crate::error::{VmError, system};
use crate::files::{self, Packed};
use crate::image::Image;
use crate::kept::{self, KeptGuests};
use crate::setup;
use crate::told::Told;
use crate::watch::Watch;
use schedlab_boundary::own::Folder;
use schedlab_guest::{Job, Outcome, PolicyJob};
use schedlab_kernel::Record;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The seed of what is random in a machine until it is set up.
const SETUP_SEED: u64 = 1;

/// How to run a guest.
pub struct Settings<'a> {
    /// The emulator.
    pub engine: &'a dyn Engine,
    /// The kernel.
    pub kernel: &'a Image,
    /// The program that is the guest's first.
    pub program: &'a Path,
    /// How the kernel was configured, for programs that look for that in `/boot`.
    pub configuration: Option<Vec<u8>>,
    /// The most wall time that it may take.
    pub limit: Limit,
    /// What is known of guests from before: the same one need not run again. Those in real time are never kept.
    pub kept: Option<&'a KeptGuests>,
}

/// The most wall time that something may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The whole of it.
    Whole(Duration),
    /// From one sign of life to the next: of a guest whose run has no known end.
    Silence(Duration),
}

/// What a guest gave.
#[derive(Debug)]
pub struct Finished {
    /// Which emulator, with its version.
    pub engine: String,
    /// The kernel's release.
    pub kernel: String,
    /// What the run left.
    pub outcome: Outcome,
    /// Its records.
    pub records: Vec<Record>,
    /// Virtual time from the kernel's first to the scenario's first instruction.
    pub boot_virtual_ns: u64,
    /// Wall time to the same place, and from there to the end; not known of a guest that was kept.
    pub wall: Option<(Duration, Duration)>,
}

/// Runs a job in a guest, or takes what the same guest sent before. `go_on` gets the time that the run has taken, in virtual
/// nanoseconds, and can end it.
pub fn run(job: &Job, settings: &Settings, go_on: &mut dyn FnMut(u64) -> bool) -> Result<Finished, VmError> {
    let version = settings.engine.probe().map_err(VmError::Lack)?;
    let Packed { files, work } = files::pack(job, settings)?;
    let mut guest = Guest {
        kernel: settings.kernel,
        files: &files,
        cpus: job.work.workload.machine.cpus(),
        memory_bytes: memory_bytes(job),
        seed: job.work.seed,
        part: Part::Whole,
        folder: Path::new(""),
    };
    if settings.engine.has_parts() {
        // What is random after the setup depends on the work.
        (guest.part, guest.seed) = (Part::Work(&work), SETUP_SEED);
    }
    let folder = Folder::new().map_err(system("make a temporary folder"))?;
    guest.folder = folder.path();
    let command = command(&guest, settings.engine)?;
    let kept = settings.kept.filter(|_| settings.engine.repeats());
    let named = |kept| Ok((kept, kept::name(settings.engine, &version, &guest, &command)?));
    let kept: Option<(&KeptGuests, String)> =
        kept.map(named).transpose().map_err(system("read what the emulator is handed"))?;
    let known = kept.as_ref().and_then(|(kept, name)| recalled(&kept.find(name)?, settings.engine));
    if let Some(told) = known {
        return Ok(told.finished(version, None).expect("it was whole"));
    }
    let begun = Instant::now();
    if settings.engine.has_parts() {
        setup::put_into(&guest, &version, settings, go_on)?;
    }
    let setup = begun.elapsed();
    let mut watch = Watch::start(&guest, settings, command)?;
    watch.until_it_ends(go_on)?;
    let finished = watch.finished(version, setup)?;
    if let Some((kept, name)) = kept {
        // Without it the guest runs again the next time: nothing worse.
        let _ = fs::read(guest.frames()).and_then(|frames| kept.keep(&name, &frames));
    }
    Ok(finished)
}

/// A scheduler's own program takes up to 200 MB, and its maps as much.
fn memory_bytes(job: &Job) -> u64 {
    match job.setup.policy {
        Some(PolicyJob::Program(_)) => 2 * MEMORY_BYTES,
        _ => MEMORY_BYTES,
    }
}

/// What a guest said that was kept, if it is whole.
fn recalled(frames: &[u8], engine: &dyn Engine) -> Option<Told> {
    let mut told = Told::by(engine);
    told.take(frames).ok()?;
    told.is_whole().then_some(told)
}

/// The emulator's command, with all that it reads in the guest's folder.
pub(crate) fn command(guest: &Guest, engine: &dyn Engine) -> Result<Command, VmError> {
    engine.command(guest).map_err(|error| match error.kind() {
        io::ErrorKind::Unsupported => VmError::Lack(error.to_string()),
        _ => system(&format!("start {}", engine.name()))(error),
    })
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
