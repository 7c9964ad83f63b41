//! Files that another person wrote.
//!
//! A user may name anything: a pipe without a writer, an endless device, a growing file. Only a regular file of at most
//! a stated size is read, and nothing may block before that is known.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The largest text that a person wrote: a scenario, a study, a sweep, a page.
pub const TEXT_BYTES: u64 = 16 << 20;
/// The largest object file, program or kernel.
pub const OBJECT_BYTES: u64 = 1 << 30;
/// The largest result or comparison.
pub const RESULT_BYTES: u64 = 1 << 30;
/// For files that are read piece by piece.
pub const ANY_BYTES: u64 = u64::MAX;

/// Opens a file for reading, if it has at most `most_bytes` bytes.
///
/// # Errors
///
/// It cannot be opened, is no regular file, or is too large.
#[cfg(unix)]
pub fn open(path: &Path, most_bytes: u64) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // Without O_NONBLOCK a pipe makes its opener wait, and devices may do anything when they are opened. It means nothing
    // for a regular file.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    // A look first: opening some devices has effects. The second look catches a file that was swapped in between.
    is_file(path, &path.metadata()?)?;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let data = file.metadata()?;
    is_file(path, &data)?;
    if data.len() > most_bytes {
        return Err(too_large(most_bytes));
    }
    Ok(file)
}

/// There are no files here.
///
/// # Errors
///
/// Always.
#[cfg(not(unix))]
pub fn open(_path: &Path, _most_bytes: u64) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// All bytes of a file, if it has at most `most_bytes` of them.
///
/// # Errors
///
/// As [`open`], or it grows beyond that while it is read.
pub fn bytes(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Files of /proc say that they are empty, so what comes is counted, and not what is promised.
    open(path, most_bytes)?.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes { Err(too_large(most_bytes)) } else { Ok(bytes) }
}

/// A text that a person wrote.
///
/// # Errors
///
/// As [`bytes`], or it is not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    in_utf8(bytes(path, TEXT_BYTES)?)
}

/// All bytes of a file, or what standard input has if the path is `-`, if there are at most `most_bytes` of them.
///
/// # Errors
///
/// As [`bytes`].
pub fn bytes_or_input(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    if path != Path::new("-") {
        return bytes(path, most_bytes);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes { Err(too_large(most_bytes)) } else { Ok(bytes) }
}

/// The text that these bytes are.
///
/// # Errors
///
/// They are not UTF-8.
pub fn in_utf8(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not a text in UTF-8"))
}

#[cfg(unix)]
fn is_file(path: &Path, data: &std::fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let kind = data.file_type();
    let what = match kind {
        _ if kind.is_file() => return Ok(()),
        _ if kind.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    };
    let remedy =
        if path.starts_with("/dev/fd") || path.starts_with("/proc") { "; save it to a file first" } else { "" };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a file{remedy}")))
}

fn too_large(most_bytes: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {} MiB", most_bytes >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[test]
    fn what_is_no_file_is_refused_and_nobody_waits() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let fifo = CString::new(at("fifo").to_str().unwrap()).unwrap();
        // SAFETY: a string with its end.
        assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
        let _socket = UnixListener::bind(at("socket")).unwrap();
        symlink("/dev/zero", at("link")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let why = |path: &Path| bytes(path, 100).unwrap_err().to_string();
        assert_eq!(why(&at("fifo")), "it is a pipe, not a file");
        assert_eq!(why(&at("socket")), "it is a socket, not a file");
        for device in ["/dev/zero", "/dev/full", "/dev/null", "/dev/tty"].map(Path::new) {
            assert!(why(device).starts_with("it is a device") || !device.exists(), "{}", device.display());
        }
        assert_eq!(why(&at("link")), "it is a device, not a file");
        assert!(why(folder.path()).contains("is a directory") && why(&at("none")).contains("No such file"));
        assert!(why(&at("circle")).contains("symbolic links"));
    }

    #[test]
    fn a_file_is_as_large_as_it_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [b'x'; 100]).unwrap();
        assert_eq!(bytes(&path, 100).unwrap().len(), 100);
        assert!(bytes(&path, 99).unwrap_err().to_string().contains("larger than"));
        // A hole takes no disk and would take all memory.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(text(&path).unwrap_err().to_string(), "it is larger than 16 MiB");
        // Files of /proc have no size and are read all the same.
        assert!(!bytes(Path::new("/proc/self/status"), 1 << 20).unwrap().is_empty());
        assert!(bytes(Path::new("/proc/self/status"), 10).is_err());
        std::fs::write(&path, b"\xff").unwrap();
        assert!(text(&path).unwrap_err().to_string().contains("UTF-8"));
    }
}
