//! Calibrations are kept from run to run: one file for each user, valid for the machine on which it was written and
//! looked at again before each use.

use crate::algorithm::{Algorithm, Engine};
use crate::calibration::{Calibration, CalibrationError, Verification, calibrate, cpu_time, still_holds, verify};
use crate::run::pinned;
use schedlab_boundary::file;
use schedlab_boundary::own::Partial;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How often a calibration is tried on a noisy machine: some five seconds, in which a neighbour may become quiet.
const ATTEMPTS: usize = 40;

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Store {
    /// The machine: see [`fingerprint`].
    machine: String,
    calibrations: Vec<Calibration>,
}

/// The calibration of an algorithm: the one that is kept, if it still holds, else a new one, which is kept. `again` asks
/// for a new one in any case.
pub fn calibration(algorithm: Algorithm, anew: bool) -> Result<Calibration, CalibrationError> {
    let path = cache_folder().map(|folder| folder.join("calibration.json"));
    let mut store = path.as_deref().map(read).unwrap_or_default();
    let name = algorithm.to_string();
    let kept = store.calibrations.iter().find(|calibration| calibration.algorithm == name).cloned();
    let made = pinned(|| match kept {
        Some(kept) if !anew && still_holds(&kept, algorithm) => Ok((kept, false)),
        _ => try_hard(algorithm).map(|calibration| (calibration, true)),
    });
    // A thread that may not be bound is measured where it is.
    let (calibration, is_new) = made.unwrap_or_else(|_| try_hard(algorithm).map(|calibration| (calibration, true)))?;
    if let (true, Some(path)) = (is_new, path) {
        store.calibrations.retain(|calibration| calibration.algorithm != name);
        store.calibrations.push(calibration.clone());
        // What cannot be kept is measured again next time.
        let _ = write(&path, &store);
    }
    Ok(calibration)
}

/// The first attempt that is good enough, or the last error. One that does not even hold right afterwards was made while
/// the speed of the machine changed.
fn try_hard(algorithm: Algorithm) -> Result<Calibration, CalibrationError> {
    let mut result = calibrate(algorithm);
    for _ in 1..ATTEMPTS {
        if result.as_ref().is_ok_and(|made| still_holds(made, algorithm)) {
            break;
        }
        result = calibrate(algorithm);
    }
    result
}

/// How far work is off when asked for right after a calibration.
pub fn verified(algorithm: Algorithm) -> Result<Verification, CalibrationError> {
    let begin = || {
        let mut engine = Engine::new(algorithm);
        move |pieces| cpu_time(&mut engine, pieces)
    };
    let check = || verify(|| try_hard(algorithm), begin);
    pinned(check).unwrap_or_else(|_| check())
}

/// What says machines apart as far as the speed of computing goes: processor, number of CPUs, kernel, and the program
/// whose code is measured.
pub fn fingerprint() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split(':').nth(1)).unwrap_or("?").trim().to_string()
    };
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let (model, stepping, microcode) = (field("model name"), field("stepping"), field("microcode"));
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "{model}, stepping {stepping}, microcode {microcode}, {cpus} CPUs, Linux {}, schedlab {version}",
        release.trim()
    )
}

/// The user's folder for what schedlab can make or fetch again; none where the environment names no home.
pub fn cache_folder() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))?;
    Some(cache.join("schedlab"))
}

/// What is kept for this machine; nothing if the file is another machine's, or not ours.
fn read(path: &Path) -> Store {
    let machine = fingerprint();
    let text = file::text(path).unwrap_or_default();
    let store: Option<Store> = serde_json::from_str(&text).ok();
    store.filter(|store| store.machine == machine).unwrap_or(Store { machine, calibrations: Vec::new() })
}

/// Writes the file, of which a reader never sees half.
fn write(path: &Path, store: &Store) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Partial::keep(path, &serde_json::to_vec_pretty(store)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_machine_wrote_is_not_used() {
        let folder = std::env::temp_dir().join(format!("schedlab-store-{}", std::process::id()));
        let path = folder.join("calibration.json");
        let spin = Calibration {
            algorithm: "spin".into(),
            ns_per_piece: 50.0,
            ns_per_call: 1.0,
            spread: 0.0,
            misfit: 0.0,
            measurements: 3,
        };
        let ours = Store { machine: fingerprint(), calibrations: vec![spin.clone()] };
        write(&path, &ours).unwrap();
        assert_eq!(read(&path).calibrations, ours.calibrations);
        write(&path, &Store { machine: "another".into(), calibrations: vec![spin] }).unwrap();
        assert!(read(&path).calibrations.is_empty());
        std::fs::write(&path, "not JSON").unwrap();
        assert!(read(&path).calibrations.is_empty());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
