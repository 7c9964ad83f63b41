//! A file that appears whole or not at all, so that no half file is taken for a whole one, also when its writer is killed.

use crate::own::{Fresh, fresh_name};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The unfinished file. It has no name before [`Partial::commit`], so that nothing is left of it when it is dropped or its
/// process is killed.
pub struct Partial {
    fresh: Fresh,
    target: PathBuf,
}

impl Partial {
    /// Whether a file can be made under this name, as far as can be known before there is anything to write.
    ///
    /// # Errors
    ///
    /// What keeps it from being made.
    pub fn check(target: &Path) -> io::Result<()> {
        Partial::create(target).map(drop)
    }

    /// Makes a file of these bytes, whole or not at all.
    ///
    /// # Errors
    ///
    /// What the system says; what was there before is still there.
    pub fn write(target: &Path, bytes: &[u8]) -> io::Result<()> {
        let (partial, mut file) = Partial::create(target)?;
        file.write_all(bytes)?;
        partial.commit()
    }

    /// [`Partial::write`] for what can be made again: it need not be on the disk before this returns.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn keep(target: &Path, bytes: &[u8]) -> io::Result<()> {
        let (partial, mut file) = Partial::create(target)?;
        file.write_all(bytes)?;
        partial.name()
    }

    /// Makes the file and hands out its handle for writing. A target that is a folder, a device or a pipe is refused: it
    /// would be replaced.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn create(target: &Path) -> io::Result<(Partial, File)> {
        target.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        match target.metadata() {
            Ok(data) if data.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(data) if !data.is_file() => return Err(io::Error::other("it is a device or a pipe, not a file")),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let fresh = Fresh::create(folder_of(target), 0o666)?;
        let file = fresh.file.try_clone()?;
        Ok((Partial { fresh, target: target.to_owned() }, file))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    ///
    /// What the system says. The file is gone then.
    pub fn commit(self) -> io::Result<()> {
        // A full disk may show itself only now.
        self.fresh.file.sync_all()?;
        self.name()
    }

    /// Links the file under a fresh name, then renames it: linking alone cannot replace a file.
    fn name(self) -> io::Result<()> {
        let named = self.fresh.named(&folder_of(&self.target).join(fresh_name()?))?;
        fs::rename(&named, &self.target).inspect_err(|_| drop(fs::remove_file(&named)))
    }
}

fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_appears_with_the_whole_file_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("trace.txt");
        let (partial, mut file) = Partial::create(&target).unwrap();
        file.write_all(b"whole").unwrap();
        assert!(!target.exists());
        partial.commit().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"whole");

        let (partial, mut file) = Partial::create(&target).unwrap();
        file.write_all(b"half").unwrap();
        drop((partial, file));
        assert_eq!(fs::read(&target).unwrap(), b"whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_known_before_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("file"), "old").unwrap();
        assert!(Partial::check(&at("new")).is_ok() && Partial::check(&at("file")).is_ok());
        for wrong in ["folder", "none/new", "file/new", ".."] {
            assert!(Partial::check(&at(wrong)).is_err(), "{wrong}");
        }
        assert!(Partial::check(Path::new("/dev/null")).is_err(), "a device would be replaced");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert_eq!(fs::read(at("file")).unwrap(), b"old");
        Partial::write(&at("file"), b"new").unwrap();
        assert_eq!(fs::read(at("file")).unwrap(), b"new");
    }
}
