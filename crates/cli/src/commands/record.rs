//! `schedlab record`: what this kernel's scheduler does.

use crate::args::RecordArgs;
use crate::failure::{self, Failure, code};
use crate::output::Channel;
use crate::{files, interrupt, output};
use schedlab_job::recording::page;
use schedlab_venue::{Monitor, Order, RecordError, Recording, VenueError};
use std::io::ErrorKind;
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
    let recording = schedlab_venue::record(&order, &monitor).map_err(not_recorded)?;
    let ended = recording.ended;
    // What the command prints is its own, also where a pipe takes it.
    let channel = if args.command.is_empty() { Channel::Output } else { Channel::Error };
    let printed = print(recording, &args.output, args.json, channel);
    let interrupted = if monitor.is_stopped() { Err(Failure::Interrupted) } else { Ok(()) };
    let ended = if args.command.is_empty() { Ok(()) } else { pass_on(ended) };
    failure::all([printed, interrupted, ended])
}

/// The page of a recording, and where its trace is, or why there is none; as JSON the result alone, on standard output.
pub fn print(recording: Recording, trace: &Path, as_json: bool, channel: Channel) -> Result<(), Failure> {
    if as_json {
        let written = recording.unwritten.map_or(Ok(()), |error| Err(error.into()));
        return failure::all([output::print_json(&recording.result), written]);
    }
    let page = page(&recording, channel.style());
    match recording.unwritten {
        None => channel.print(&format!("{page}\nThe trace is in {}.\n", trace.display())),
        Some(error) => failure::all([channel.print(&page), Err(error.into())]),
    }
}

/// A command that could not be started has the exit code that a shell gives it.
fn not_recorded(error: VenueError) -> Failure {
    match &error {
        VenueError::Record(RecordError::Command { error: why, .. }) => match why.kind() {
            ErrorKind::NotFound => Failure::NotStarted(error.to_string(), code::NOT_FOUND),
            _ => Failure::NotStarted(error.to_string(), code::NOT_STARTED),
        },
        _ => error.into(),
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
