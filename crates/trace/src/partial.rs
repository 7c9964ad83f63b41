//! A file that gets its name only when it is complete.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// The unfinished file: hidden beside its target, removed when dropped before [`Partial::commit`].
pub(crate) struct Partial {
    temporary: PathBuf,
    target: PathBuf,
    file: File,
    committed: bool,
}

impl Partial {
    /// Makes the file and hands out its handle for writing.
    pub(crate) fn create(target: &Path) -> io::Result<(Partial, File)> {
        // Two writers of one target, in this process or another, must not share the temporary file.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = target.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        if target.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
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
    pub(crate) fn commit(mut self) -> io::Result<()> {
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
    use std::io::Write;

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
}
