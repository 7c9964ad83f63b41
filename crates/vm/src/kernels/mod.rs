//! Kernels by name. They come from the machine's own package manager, which knows where the packages are and checks
//! their signatures; they are unpacked into the user's cache and never installed.

mod apt;
mod configuration;

pub use configuration::configuration;

use crate::error::VmError;
use apt::Apt;
use schedlab_boundary::own::Folder;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A kernel that can be had by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// As users write it.
    pub name: &'static str,
    /// The suites of Debian in which it is looked for.
    pub suites: &'static str,
    /// The beginning of its package's name; the newest of those that begin so is taken. From 7.0 on the image is in a
    /// package of its own, linux-binary; before, linux-image has it.
    package: &'static str,
    /// What it schedules with, for people.
    pub about: &'static str,
}

/// All of them, oldest first.
pub const KNOWN: [Known; 5] = [
    Known { name: "debian:11", suites: "bullseye", package: "linux-image-5.10.", about: "5.10: CFS" },
    Known { name: "debian:12", suites: "bookworm", package: "linux-image-6.1.", about: "6.1: CFS" },
    Known { name: "debian:13", suites: "trixie", package: "linux-image-6.12.", about: "6.12: EEVDF, no sched_ext" },
    Known {
        name: "debian:13-backports",
        suites: "trixie-backports",
        package: "linux-binary-7.",
        about: "7.x: EEVDF and sched_ext",
    },
    Known {
        name: "debian:testing",
        suites: "testing",
        package: "linux-binary-",
        about: "the newest: EEVDF and sched_ext",
    },
];

fn lack(text: String) -> VmError {
    VmError::Lack(text)
}

/// The image of a kernel: a path, `host` for the running one's, or a name in [`KNOWN`], which is fetched if it is not in
/// the cache.
pub fn find(text: &str) -> Result<PathBuf, VmError> {
    match Named::read(text)? {
        Named::Host => host(),
        Named::Known(known) => made_once(&cache()?.join(folder_name(&known)), |folder| fetch(&known, folder)),
        Named::File(path) => Ok(path),
    }
}

/// Whether [`find`] knows what is meant, before anything is fetched.
pub fn check(text: &str) -> Result<(), VmError> {
    match Named::read(text)? {
        Named::Host => host().map(drop),
        Named::Known(_) => Ok(()),
        Named::File(path) if path.is_file() => Ok(()),
        Named::File(path) => Err(lack(format!("{}: there is no such file", path.display()))),
    }
}

/// What a user names.
enum Named {
    Host,
    Known(Known),
    File(PathBuf),
}

impl Named {
    fn read(text: &str) -> Result<Named, VmError> {
        if text == "host" {
            return Ok(Named::Host);
        }
        if let Some(known) = KNOWN.into_iter().find(|known| known.name == text) {
            return Ok(Named::Known(known));
        }
        if text.contains('/') {
            return Ok(Named::File(text.into()));
        }
        let names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
        Err(lack(format!("there is no kernel `{text}`; take {}, host, or a path with a /", names.join(", "))))
    }
}

fn host() -> Result<PathBuf, VmError> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let places = [format!("/boot/vmlinuz-{}", release.trim()), format!("/usr/lib/modules/{}/vmlinuz", release.trim())];
    let found = places.iter().map(PathBuf::from).find(|path| path.exists());
    found.ok_or_else(|| lack(format!("the image of the running kernel is neither {} nor {}", places[0], places[1])))
}

/// Where kernels are kept.
pub fn cache() -> Result<PathBuf, VmError> {
    let cache = schedlab_load::cache_folder();
    let cache = cache.ok_or_else(|| lack("there is no folder for kernels: set HOME or XDG_CACHE_HOME".into()))?;
    Ok(cache.join("kernels"))
}

/// The image of a known kernel, if it was fetched before.
pub fn cached(known: &Known) -> Result<Option<PathBuf>, VmError> {
    Ok(file_in(&cache()?.join(folder_name(known))))
}

fn file_in(folder: &Path) -> Option<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).find(|path| path.is_file())
}

fn folder_name(known: &Known) -> String {
    known.name.replace(':', "-")
}

/// The file in a folder, which is made where there is none. Runs of one process and of others may ask at the same time;
/// one of them makes it and the others wait.
fn made_once(folder: &Path, make: impl FnOnce(&Path) -> Result<PathBuf, VmError>) -> Result<PathBuf, VmError> {
    if let Some(file) = file_in(folder) {
        return Ok(file);
    }
    let lock = || {
        fs::create_dir_all(folder)?;
        let lock = File::create(folder.with_extension("lock"))?;
        lock.lock()?;
        Ok(lock)
    };
    let failed = |error: io::Error| lack(format!("cannot write into the cache at {}: {error}", folder.display()));
    let _held_until_the_end = lock().map_err(failed)?;
    file_in(folder).map_or_else(|| make(folder), Ok)
}

/// Fetches and unpacks the newest package of a known kernel. The image appears in the folder when it is whole.
fn fetch(known: &Known, folder: &Path) -> Result<PathBuf, VmError> {
    let failed = |what: &str, why: String| lack(format!("cannot fetch {}: {what}: {why}", known.name));
    let io = |what: &'static str| move |error: io::Error| failed(what, error.to_string());
    let work = Folder::new().map_err(io("make a temporary folder"))?;
    let apt = Apt::new(work.path(), known).map_err(|why| failed("ask apt where packages are", why))?;
    apt.update().map_err(|why| failed("apt-get update", why))?;
    let package = apt.newest(known).map_err(|why| failed("find its package", why))?;
    let tree = apt.unpacked(&package).map_err(|why| failed("fetch its package", why))?;
    let image =
        first_below(&tree, "vmlinuz").ok_or_else(|| failed("unpack its package", "it has no vmlinuz".into()))?;
    let (place, unfinished) = (folder.join(&package), folder.with_extension("tmp"));
    fs::copy(image, &unfinished).map_err(io("write it into the cache"))?;
    fs::rename(&unfinished, &place).map_err(io("write it into the cache"))?;
    Ok(place)
}

/// The first file below a folder with this prefix, in the order of paths.
fn first_below(folder: &Path, begin: &str) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.into_iter().find_map(|path| match path.is_dir() {
        true => first_below(&path, begin),
        false => path.file_name()?.to_str()?.starts_with(begin).then_some(path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn who_asks_at_the_same_time_gets_what_one_has_made() {
        let cache = tempfile::tempdir().unwrap();
        let made = AtomicUsize::new(0);
        let make = |folder: &Path| {
            made.fetch_add(1, Ordering::Relaxed);
            let (place, unfinished) = (folder.join("image"), folder.with_extension("tmp"));
            fs::write(&unfinished, "whole").unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
            fs::rename(unfinished, &place).unwrap();
            Ok(place)
        };
        let ask = || fs::read_to_string(made_once(&cache.path().join("debian-13"), make).unwrap()).unwrap();
        std::thread::scope(|scope| {
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), "whole"));
        });
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn who_fails_leaves_it_to_the_next() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("debian-13");
        assert!(made_once(&folder, |_| Err(lack("no network".into()))).unwrap_err().to_string().contains("no network"));
        let make = |folder: &Path| {
            fs::write(folder.join("image"), "whole").unwrap();
            Ok(folder.join("image"))
        };
        assert!(made_once(&folder, make).unwrap().is_file());
    }

    #[test]
    fn a_name_that_stands_for_none_is_refused_with_those_that_do() {
        assert!(find("debian:99").unwrap_err().to_string().contains("there is no kernel `debian:99`; take debian:11"));
    }
}
