//! What a kernel did, as a trace file and a result: recorded here, or by another tool.
//!
//! A trace file begins with its roles, and those are the programs that ran, which are known at the end. So records are
//! kept on disk: as the kernel wrote them while it is recorded, which takes the smallest time from what is recorded; then in
//! the order of time ([`schedlab_record::Spool`]), while [`Programs`] learns their names; then they are read again and
//! become events. Memory follows the number of tasks, never the length of the recording.

mod error;
mod import;
mod own;
mod programs;
mod ring;
mod tape;
mod trace_of;

pub use error::RecordError;
pub use import::import;
pub use programs::RoleBy;
pub use ring::Ring;
pub use trace_of::TraceOf;

use crate::host::kernel_release;
use crate::{Monitor, VenueError};
use schedlab_boundary::shell::quoted;
use schedlab_import::PassedOver;
use schedlab_kernel::{Filter, Recorder, Stats};
use schedlab_load::{Ended, Guarded};
use schedlab_model::result::RunResult;
use schedlab_record::{Spooled, Summary};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};
use tape::{FirstLook, Label, Tape};

/// What to record.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// A command and its arguments, with all that descends from it; nothing stands for the whole machine.
    pub command: &'a [OsString],
    /// The longest that it may last; without it a command is recorded until it ends.
    pub length: Option<Duration>,
    /// Memory between the kernel and us.
    pub ring: Ring,
    /// The file for the trace.
    pub trace: &'a Path,
}

/// What came of a recording.
#[derive(Debug)]
pub struct Recording {
    /// The measures; a role is a program.
    pub result: RunResult,
    /// How whole it is.
    pub wholeness: Wholeness,
    /// How the command ended, if there was one and it did.
    pub ended: Option<ExitStatus>,
    /// Why there is no trace file, if it could not be written.
    pub unwritten: Option<VenueError>,
}

/// How much of what happened was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wholeness {
    /// What the kernel told.
    pub records: u64,
    /// What it could not tell, by kind.
    pub lost: Vec<(String, u64)>,
    /// Steps that must have been and were not told; see [`Summary::repaired`].
    pub repaired: u64,
    /// Tasks that were there and had not been announced; see [`Summary::adopted`].
    pub adopted: u64,
    /// Time of CPUs that the kernel's accounts gave to tasks where switches were missing; see [`Summary::mended_ns`].
    pub mended_ns: u64,
    /// What a recording of another tool says in addition to what the trace shows.
    pub passed: PassedOver,
}

/// Between two looks at the command.
const LOOK: Duration = Duration::from_millis(10);

/// Records until the command ends, the time is over, or `monitor` stops it, and writes the trace.
pub fn record(order: &Order, monitor: &Monitor) -> Result<Recording, VenueError> {
    let Taken { ended, stats, look, spooled } = take(order, monitor)?;
    let status = match ended {
        Some(Ended::NotStarted(error)) => {
            let error = io::Error::from_raw_os_error(error);
            return Err(RecordError::Command { command: words(order.command), error }.into());
        }
        Some(Ended::Status(status)) => Some(status),
        None => None,
    };
    // Nothing happens to a command after its end.
    let end_ns = if status.is_some() { look.programs.last_ns().max(stats.started_ns) } else { stats.ended_ns };
    let lost = losses(&stats);
    let tape = Tape {
        spooled,
        cpus: look.programs.cpus().max(1),
        look,
        before: Vec::new(),
        start_ns: stats.started_ns,
        end_ns,
        lost: lost.iter().map(|(_, count)| count).sum(),
    };
    let label = Label {
        name: if order.command.is_empty() { "the whole machine".into() } else { words(order.command) },
        source: None,
        venue: "host",
        kernel: Some(kernel_release()),
        partial: monitor.is_stopped(),
        missing: Vec::new(),
    };
    let (result, summary, unwritten) = tape.convert(&label, order.trace)?;
    Ok(Recording { result, wholeness: Wholeness::of(stats.delivered, lost, &summary), ended: status, unwritten })
}

/// What is there when nothing more comes.
struct Taken {
    ended: Option<Ended>,
    stats: Stats,
    look: FirstLook,
    spooled: Spooled,
}

/// Records, and brings the records into the order of time.
fn take(order: &Order, monitor: &Monitor) -> Result<Taken, VenueError> {
    let (mut spool, folder) = tape::spool_for(order.trace)?;
    let unkept = |error| RecordError::Spool { folder: folder.clone(), error };
    // Before the recorder, whose descriptors are not for others.
    let mut guarded = guard(order.command)?;
    let filter = match &guarded {
        Some(guarded) => Filter { tgids: vec![guarded.pid()], others_below: u32::MAX, ..Filter::default() },
        None => Filter { everything: true, ..Filter::default() },
    };
    let mut recorder = Recorder::start(&filter, order.ring.bytes()).map_err(RecordError::Lack)?;
    recorder.keep_in(tempfile::tempfile_in(&folder).map_err(unkept)?);
    let ended = listen(&mut recorder, guarded.as_mut(), order.length, monitor).map_err(|error| match error {
        Deaf::Guard(error) => RecordError::Guard(error),
        Deaf::Disk(error) => unkept(error),
    })?;
    let mut look = FirstLook::default();
    let keep = &mut |record| {
        look.note(&record);
        spool.push(&record);
    };
    let stats = recorder.stop(keep).map_err(unkept)?;
    let spooled = spool.finish().map_err(unkept)?;
    Ok(Taken { ended, stats, look, spooled })
}

impl Wholeness {
    fn of(records: u64, lost: Vec<(String, u64)>, summary: &Summary) -> Wholeness {
        Wholeness {
            records,
            lost,
            repaired: summary.repaired,
            adopted: summary.adopted,
            mended_ns: summary.mended_ns,
            passed: PassedOver::default(),
        }
    }
}

fn guard(command: &[OsString]) -> Result<Option<Guarded>, RecordError> {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    Guarded::start(Command::new(program).args(arguments)).map(Some).map_err(RecordError::Guard)
}

/// The command as a shell takes it.
fn words(command: &[OsString]) -> String {
    command.iter().map(|word| quoted(&programs::clean(&word.to_string_lossy()))).collect::<Vec<_>>().join(" ")
}

/// What is missing, by kind.
fn losses(stats: &Stats) -> Vec<(String, u64)> {
    let by_kind = stats.lost.by_kind().map(|(kind, count)| (kind.to_string(), count));
    let late = (stats.late > 0).then(|| ("out of order".to_string(), stats.late));
    by_kind.chain(late).collect()
}

/// Why nothing more is recorded.
enum Deaf {
    Guard(io::Error),
    Disk(io::Error),
}

/// Lets the command begin, and keeps place in the rings until it ends. Gives how it ended.
fn listen(
    recorder: &mut Recorder,
    mut guarded: Option<&mut Guarded>,
    length: Option<Duration>,
    monitor: &Monitor,
) -> Result<Option<Ended>, Deaf> {
    if let Some(guarded) = &mut guarded {
        guarded.go().map_err(Deaf::Guard)?;
    }
    let begun = Instant::now();
    loop {
        let left = length.map_or(LOOK, |length| length.saturating_sub(begun.elapsed()));
        recorder.relieve(left.min(LOOK), u64::MAX).map_err(Deaf::Disk)?;
        if let Some(guarded) = &mut guarded
            && let Some(ended) = guarded.ended().map_err(Deaf::Guard)?
        {
            return Ok(Some(ended));
        }
        if left.is_zero() || monitor.is_stopped() {
            return Ok(None);
        }
    }
}
