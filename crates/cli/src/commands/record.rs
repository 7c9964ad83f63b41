//! `schedlab record`: what this kernel's scheduler does.

use crate::args::RecordArgs;
use crate::failure::{self, Failure};
use crate::{files, interrupt, output};
use schedlab_job::recording::page;
use schedlab_venue::{Monitor, Order, Recording};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;

/// Records, writes the trace and prints what it says.
pub fn run(args: &RecordArgs) -> Result<(), Failure> {
    files::check_traces(&[&args.output])?;
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let order = Order { command: &args.command, length: args.seconds, ring: args.ring, trace: &args.output };
    let recording = schedlab_venue::record(&order, &monitor)?;
    let ended = recording.ended;
    let printed = print(recording, &args.output);
    let interrupted = if monitor.is_stopped() { Err(Failure::Interrupted) } else { Ok(()) };
    let ended = if args.command.is_empty() { Ok(()) } else { pass_on(ended) };
    failure::all([printed, interrupted, ended])
}

/// The page of a recording, and where its trace is, or why there is none.
pub fn print(recording: Recording, trace: &Path) -> Result<(), Failure> {
    let page = page(&recording, output::style());
    match recording.unwritten {
        None => output::print(&format!("{page}\nThe trace is in {}.\n", trace.display())),
        Some(error) => failure::all([output::print(&page), Err(error.into())]),
    }
}

/// The exit code of the command is ours, as a shell gives it: 128 and the signal that ended it. A command that was killed because
/// its time was over is no failure.
fn pass_on(ended: Option<ExitStatus>) -> Result<(), Failure> {
    let Some(status) = ended else {
        output::remark("the command had not ended and was killed");
        return Ok(());
    };
    let code = match status.signal() {
        Some(signal) => {
            output::remark(&format!("the command was killed by signal {signal}"));
            128 + signal
        }
        None => status.code().unwrap_or(1),
    };
    if code == 0 { Ok(()) } else { Err(Failure::Command(u8::try_from(code).unwrap_or(1))) }
}
