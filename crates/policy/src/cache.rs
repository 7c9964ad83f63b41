//! The user's cache folder: unpacked headers and compiled objects, both named by what they hold.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// `$XDG_CACHE_HOME/schedlab`, else `~/.cache/schedlab`; none when the environment names neither.
pub fn folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("schedlab"))
}

/// Makes `target` by filling a new place next to it and renaming: another process sees nothing or the whole.
pub fn make(target: &Path, fill: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    if target.exists() {
        return Ok(());
    }
    let parent = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(parent)?;
    let fresh = scratch(parent, &target.file_name().unwrap_or_default().to_string_lossy());
    let result = fill(&fresh).and_then(|()| fs::rename(&fresh, target));
    if result.is_err() {
        let _ = fs::remove_dir_all(&fresh).or_else(|_| fs::remove_file(&fresh));
    }
    // Another process was quicker: its copy holds the same.
    result.or_else(|error| if target.exists() { Ok(()) } else { Err(error) })
}

/// A path in `folder` that no other process and no other thread of this one uses.
pub fn scratch(folder: &Path, name: &str) -> PathBuf {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    folder.join(format!(".{name}.{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_made_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a/b");
        make(&target, |fresh| fs::write(fresh, "one")).unwrap();
        make(&target, |_| unreachable!("it is there")).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "one");
    }

    #[test]
    fn a_failure_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let error = make(&folder.path().join("c"), |fresh| {
            fs::create_dir(fresh)?;
            Err(io::Error::other("no"))
        });
        assert_eq!(error.unwrap_err().to_string(), "no");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
