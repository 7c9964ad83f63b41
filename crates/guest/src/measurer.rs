//! The process that measures costs after a run. It is forked right before the run, so that its memory is like the tasks' own:
//! most of the cost of `fork` and exit depends on that.

use schedlab_load::costs::{self, Costs, Effort};
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

/// A process that waits to measure.
pub struct Measurer {
    go: PipeWriter,
    told: PipeReader,
}

impl Measurer {
    /// Starts it, from a program of one thread.
    pub fn start() -> io::Result<Measurer> {
        let (may_go, go) = io::pipe()?;
        let (told, tell) = io::pipe()?;
        // SAFETY: the child measures and leaves by `_exit`.
        match unsafe { libc::fork() } {
            0 => {
                drop((go, told));
                // Else what its parent has would last: the recorder, beside what is measured.
                keep_only(&[may_go.as_raw_fd(), tell.as_raw_fd()]);
                let work = || wait_and_measure(may_go, tell);
                let is_done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_ok();
                // SAFETY: nothing of the parent is to be run.
                unsafe { libc::_exit(i32::from(!is_done)) }
            }
            pid if pid > 0 => Ok(Measurer { go, told }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Lets it measure.
    pub fn measure(mut self) -> Result<Costs, String> {
        let mut bytes = Vec::new();
        self.go.write_all(&[1]).and_then(|()| self.told.read_to_end(&mut bytes)).map_err(|error| error.to_string())?;
        postcard::from_bytes(&bytes).map_err(|_| "the process that measures costs has failed".to_string())?
    }
}

/// Closes all but these and the standard ones.
fn keep_only(kept: &[RawFd]) {
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers: Vec<RawFd> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for fd in numbers.into_iter().filter(|fd| *fd > 2 && !kept.contains(fd)) {
        // SAFETY: a process that only measures uses none of them.
        unsafe { libc::close(fd) };
    }
}

fn wait_and_measure(mut may_go: PipeReader, mut tell: PipeWriter) {
    let mut word = [0];
    // No byte: the run has failed.
    if may_go.read_exact(&mut word).is_ok() {
        let measured: Result<Costs, String> = costs::measure(&Effort::EMULATED).map_err(|error| error.to_string());
        if let Ok(bytes) = postcard::to_allocvec(&measured) {
            _ = tell.write_all(&bytes);
        }
    }
}
