//! Files of ours, in folders that others can write to.

pub use crate::folder::Folder;
pub use crate::partial::Partial;

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Opens an unnamed file in this folder: it cannot be opened by name or replaced by a link, and it disappears with the
/// process, however that ends. Only on a file system without such files does it have a name for a moment: an
/// unguessable one, made only if it does not exist.
///
/// # Errors
///
/// The folder cannot be written to.
pub fn unnamed(folder: &Path) -> io::Result<File> {
    // Dropping the rest takes the name away, if there is one.
    Fresh::create(folder, 0o600)?.file.try_clone()
}

/// The path under which standard input can be read, from its start and as often as need be, as long as this process lives. What it
/// has is copied into an unnamed file, once.
///
/// # Errors
///
/// It cannot be read, or temporary files cannot be written.
pub fn standard_input() -> io::Result<PathBuf> {
    static COPY: Mutex<Option<File>> = Mutex::new(None);
    let mut copy = COPY.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if copy.is_none() {
        let mut file = unnamed(&Folder::place())?;
        io::copy(&mut io::stdin().lock(), &mut file)?;
        *copy = Some(file);
    }
    let number = copy.as_ref().map_or(-1, |file| file.as_raw_fd());
    Ok(PathBuf::from(format!("/proc/self/fd/{number}")))
}

/// A new file without a name so far, or with an unguessable one on a file system without such files.
pub(crate) struct Fresh {
    pub file: File,
    name: Option<PathBuf>,
}

impl Fresh {
    /// Makes one in a folder.
    pub fn create(folder: &Path, mode: u32) -> io::Result<Fresh> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(mode);
        match options.clone().custom_flags(libc::O_TMPFILE | libc::O_CLOEXEC).open(folder) {
            Ok(file) => return Ok(Fresh { file, name: None }),
            // No such files here, or on a kernel before 3.11.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR)) => {}
            Err(error) => return Err(error),
        }
        let name = folder.join(fresh_name()?);
        let file = options.create_new(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(&name)?;
        Ok(Fresh { file, name: Some(name) })
    }

    /// Gives the file this name, which must not exist, unless it has one already. Returns its name.
    pub fn named(mut self, name: &Path) -> io::Result<PathBuf> {
        if let Some(name) = self.name.take() {
            return Ok(name);
        }
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidFilename));
        let from = text(format!("/proc/self/fd/{}", self.file.as_raw_fd()).as_bytes())?;
        let to = text(name.as_os_str().as_bytes())?;
        let flag = libc::AT_SYMLINK_FOLLOW;
        // SAFETY: two strings with their ends.
        match unsafe { libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), flag) } {
            0 => Ok(name.into()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Nothing can be done about an error here, and the file does no harm under this name.
            let _ = fs::remove_file(name);
        }
    }
}

/// An unguessable file name.
pub(crate) fn fresh_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    // SAFETY: the buffer has this size. The kernel gives up to 256 bytes at once or an error.
    match unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) } {
        16 => Ok(format!(".schedlab-{:032x}", u128::from_ne_bytes(bytes))),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn it_has_no_name_and_touches_nobodys_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = unnamed(folder.path()).unwrap();
        file.write_all(b"ours").unwrap();
        file.rewind().unwrap();
        let mut back = String::new();
        file.read_to_string(&mut back).unwrap();
        assert_eq!((back.as_str(), std::fs::read_dir(folder.path()).unwrap().count()), ("ours", 0));
        assert!(unnamed(&folder.path().join("none")).is_err());
    }
}
