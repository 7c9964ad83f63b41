//! The process that measures costs after a run. It is forked right before the run, so that its memory is like the tasks' own:
//! most of the cost of `fork` and exit depends on that.

use schedlab_load::Apart;
use schedlab_load::costs::{self, Costs, Effort};
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

/// A process that waits to measure.
pub struct Measurer {
    go: PipeWriter,
    process: Apart,
}

impl Measurer {
    /// Starts it, from a program of one thread.
    pub fn start() -> io::Result<Measurer> {
        let (may_go, go) = io::pipe()?;
        let process = Apart::start(|tell| {
            // Else what its parent has would stay open: the recorder, next to what is measured.
            keep_only(&[may_go.as_raw_fd(), tell.as_raw_fd()]);
            wait_and_measure(&may_go, tell)
        })?;
        Ok(Measurer { go, process })
    }

    /// Lets it measure.
    pub fn measure(mut self) -> Result<Costs, String> {
        let told = self.go.write_all(&[1]).and_then(|()| self.process.told()).map_err(|error| error.to_string())?;
        postcard::from_bytes(&told).map_err(|_| "the process that measures costs has failed".to_string())?
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

fn wait_and_measure(mut may_go: &PipeReader, tell: &mut PipeWriter) -> io::Result<()> {
    // No byte: the run has failed.
    may_go.read_exact(&mut [0])?;
    let measured: Result<Costs, String> = costs::measure(&Effort::EMULATED).map_err(|error| error.to_string());
    tell.write_all(&postcard::to_allocvec(&measured).map_err(io::Error::other)?)
}
