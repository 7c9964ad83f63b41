//! A file that gets its name only when it is complete: how everything that the program writes comes to be.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// The unfinished file: hidden beside its target, removed when dropped before [`Partial::commit`].
pub struct Partial {
    temporary: PathBuf,
    target: PathBuf,
    file: File,
    committed: bool,
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

    /// Makes the file and hands out its handle for writing. A target that is a folder, a device or a pipe is refused: it
    /// would be replaced.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn create(target: &Path) -> io::Result<(Partial, File)> {
        // Two writers of one target, in this process or another, must not share the temporary file.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = target.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        match target.metadata() {
            Ok(data) if data.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(data) if !data.is_file() => return Err(io::Error::other("it is a device or a pipe, and no file")),
            _ => {}
        }
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.{count}.partial", process::id()));
        let temporary = target.with_file_name(hidden);
        let file = File::create_new(&temporary)?;
        let partial = Partial { temporary, target: target.to_owned(), file: file.try_clone()?, committed: false };
        Ok((partial, file))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    ///
    /// What the system says. The file is gone then.
    pub fn commit(mut self) -> io::Result<()> {
        // A full disk may show itself only now.
        self.file.sync_all()?;
        fs::rename(&self.temporary, &self.target)?;
        self.committed = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.committed {
            // Nothing can be done about an error here, and the file does no harm under this name.
            let _ = fs::remove_file(&self.temporary);
        }
    }
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
