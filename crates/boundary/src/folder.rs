//! A folder of ours that does not outlive this process, however that ends.

use crate::own::fresh_name;
use std::fs::{self, DirBuilder};
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// A private folder in the system's folder for temporary files. A process waits next to it for the end of this one, to remove
/// it where this one could not.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    janitor: libc::pid_t,
    /// Closed at the end of this process.
    line: UnixStream,
}

impl Folder {
    /// Makes one that only its owner can enter, under an unguessable name.
    ///
    /// # Errors
    ///
    /// The system's folder cannot be written to, or there is no process for it.
    pub fn new() -> io::Result<Folder> {
        let path = Folder::place().join(fresh_name()?.trim_start_matches('.'));
        let (line, theirs) = UnixStream::pair()?;
        // SAFETY: the child waits, removes the folder and leaves by `_exit`.
        let janitor = match unsafe { libc::fork() } {
            0 => {
                drop(line);
                wait_and_remove(theirs, &path)
            }
            -1 => return Err(io::Error::last_os_error()),
            janitor => janitor,
        };
        let folder = Folder { path, janitor, line };
        // After the fork: the janitor is there whenever the folder is.
        DirBuilder::new().mode(0o700).create(&folder.path)?;
        Ok(folder)
    }

    /// Where such folders are made.
    pub fn place() -> PathBuf {
        std::env::temp_dir()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Fails only when the janitor is gone already; the folder goes in any case.
        let _ = self.line.shutdown(Shutdown::Both);
        let mut status = 0;
        // SAFETY: our own child.
        unsafe { libc::waitpid(self.janitor, &mut status, 0) };
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The janitor's life. Whatever a terminal or a system sends to all of a program's processes does not end it.
fn wait_and_remove(mut line: UnixStream, path: &Path) -> ! {
    // SAFETY: plain numbers, and a set that the C library fills.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
        libc::setsid();
        // A reader of the program's output must not wait for this process.
        (0..3).for_each(|standard| _ = libc::close(standard));
    }
    let _ = line.read(&mut [0]);
    let _ = fs::remove_dir_all(path);
    // SAFETY: nothing of the parent is to be run.
    unsafe { libc::_exit(0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_goes_with_its_value() {
        let folder = Folder::new().unwrap();
        let path = folder.path().to_owned();
        fs::write(path.join("file"), "x").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_goes_with_a_process_that_is_killed() {
        let (mut reader, writer) = io::pipe().unwrap();
        // SAFETY: the child makes a folder and waits to be killed.
        let program = unsafe { libc::fork() };
        if program == 0 {
            let folder = Folder::new().unwrap();
            let name = folder.path().to_str().unwrap();
            io::Write::write_all(&mut &writer, name.as_bytes()).unwrap();
            drop(writer);
            loop {
                std::thread::park();
            }
        }
        drop(writer);
        let mut path = String::new();
        let mut bytes = [0; 256];
        // The janitor has a copy of the pipe's end: what is there is read, and not the end.
        let length = reader.read(&mut bytes).unwrap();
        path.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
        assert!(Path::new(&path).is_dir());
        // SAFETY: our own child.
        unsafe {
            libc::kill(program, libc::SIGKILL);
            libc::waitpid(program, std::ptr::null_mut(), 0);
        }
        // The pipe ends with the janitor, after its work.
        assert_eq!(reader.read(&mut bytes).unwrap(), 0);
        assert!(!Path::new(&path).exists());
    }
}
