//! The process that measures costs after a run. It is forked before the run, so that its memory is like the tasks' own: most of the
//! cost of `fork` and exit depends on that.

use schedlab_load::costs::{self, Costs, Effort};
use std::io::{self, PipeReader, PipeWriter, Read, Write};

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
