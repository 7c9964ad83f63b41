//! Work in a process of its own, whose memory and descriptors are gone with it.

use crate::process::{bury, die_with};
use std::io::{self, PipeReader, PipeWriter, Read};

/// A process that works and says what came of it.
pub struct Apart {
    process: i32,
    told: PipeReader,
}

impl Apart {
    /// Starts a copy of this process, from which the work gets what it says through a pipe.
    pub fn start(work: impl FnOnce(&mut PipeWriter) -> io::Result<()>) -> io::Result<Apart> {
        let (told, mut tell) = io::pipe()?;
        let parent = std::process::id() as i32;
        // SAFETY: the child works and leaves by `_exit`.
        match unsafe { libc::fork() } {
            0 => {
                drop(told);
                die_with(parent);
                let work = || work(&mut tell);
                let is_done =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_ok_and(|done| done.is_ok());
                // SAFETY: nothing of the parent is to be run.
                unsafe { libc::_exit(i32::from(!is_done)) }
            }
            process if process > 0 => Ok(Apart { process, told }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// All that it says, when it has ended.
    pub fn told(mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.told.read_to_end(&mut bytes);
        bury(self.process);
        read.map(|_| bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_said_arrives_and_what_fails_says_nothing_more() {
        let told = |work: fn(&mut PipeWriter) -> io::Result<()>| Apart::start(work).unwrap().told().unwrap();
        assert_eq!(told(|tell| tell.write_all(b"done")), b"done");
        assert_eq!(told(|_| Err(io::ErrorKind::Other.into())), b"");
    }
}
