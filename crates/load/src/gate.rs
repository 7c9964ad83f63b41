//! Where tasks wait until the run begins. It is a lock on an empty file, which the master holds and all tasks ask
//! for: the kernel wakes them in the order in which they came, in one call, and a policy that asks what a task has waited
//! for learns nothing, where a futex would look like a semaphore of the scenario and might be rewarded.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

/// Open it once; it does not close again.
pub struct Gate {
    keeper: File,
    visitor: File,
}

impl Gate {
    /// A closed one.
    pub fn new() -> io::Result<Gate> {
        // SAFETY: the name is a string with an end; the file is ours alone.
        let keeper = match unsafe { libc::memfd_create(c"gate".as_ptr(), libc::MFD_CLOEXEC) } {
            -1 => return Err(io::Error::last_os_error()),
            fd => unsafe { File::from_raw_fd(fd) },
        };
        // Opened again: locks are between openings of a file.
        let visitor = OpenOptions::new().read(true).open(format!("/proc/self/fd/{}", keeper.as_raw_fd()))?;
        lock(&keeper, libc::F_OFD_SETLK, libc::F_WRLCK)?;
        Ok(Gate { keeper, visitor })
    }

    /// Lets all tasks in, now and later.
    pub fn open(&self) {
        lock(&self.keeper, libc::F_OFD_SETLK, libc::F_UNLCK).expect("a lock that is held can be given back");
    }

    /// Waits until it is open. False: a signal came.
    pub fn pass(&self) -> bool {
        let result = lock(&self.visitor, libc::F_OFD_SETLKW, libc::F_RDLCK);
        assert!(!result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted), "{result:?}");
        result.is_ok()
    }
}

fn lock(file: &File, command: i32, kind: i32) -> io::Result<()> {
    // SAFETY: plain data, for which zeros stand for the whole file.
    let mut whole: libc::flock = unsafe { std::mem::zeroed() };
    whole.l_type = kind as libc::c_short;
    // SAFETY: the file is open, and the kernel only reads the description.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, &whole) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::time::Duration;

    #[test]
    fn nobody_passes_before_it_opens_and_everybody_after() {
        let (gate, passed) = (Gate::new().expect("a gate"), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for visitor in 0..4 {
                let (gate, passed) = (&gate, &passed);
                scope.spawn(move || {
                    assert!(gate.pass());
                    passed.lock().unwrap().push(visitor);
                });
            }
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(passed.lock().unwrap().len(), 0);
            gate.open();
        });
        assert_eq!(passed.lock().unwrap().len(), 4);
        assert!(gate.pass());
    }
}
