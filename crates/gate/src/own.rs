//! Files of ours in folders that others can write to.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file in this folder that has no name: nobody can open it by one or put a link in its place, and it is gone with
/// the process, however that ends. Only where a file system has no such files does it have a name for a moment, which nobody
/// could guess, and which is made only if nothing has it.
///
/// # Errors
///
/// The folder cannot be written to.
pub fn unnamed(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options.clone().custom_flags(libc::O_TMPFILE | libc::O_CLOEXEC).open(folder) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT)) => {}
        opened => return opened,
    }
    let path = folder.join(format!(".schedlab-{:032x}", random()?));
    let file = options.create_new(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// A number that nobody knows.
fn random() -> io::Result<u128> {
    let mut bytes = [0; 16];
    // SAFETY: the buffer has this size. The kernel gives up to 256 bytes at once or an error.
    match unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) } {
        16 => Ok(u128::from_ne_bytes(bytes)),
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
