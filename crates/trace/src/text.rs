//! Traces as text: one line an event, to be read as prose. Golden traces have this form.
//!
//! ```text
//! # schedlab.trace/2: scenario three, policy rr, venue sim, seed 1, 2 CPUs
//!       10ms  cpu0  worker/0 → worker/1  slice end
//! ```

use crate::{
    header::{Header, SCHEMA},
    words::Words,
    writer,
};
use schedlab_model::count::counted;
use schedlab_model::{
    ids::{ControlGroupId, RequestId, TaskId},
    names::Names,
    time::Time,
    trace::{Event, EventKind, Reason, WakeSource},
};
use std::io::{self, BufWriter, Write};
use unicode_width::UnicodeWidthStr;

/// A trace of these events as text.
pub fn render(header: &Header, events: &[Event]) -> String {
    let mut text = Vec::new();
    let write = |out: &mut Vec<u8>| -> io::Result<()> {
        let mut encoder = Encoder::new(out, header)?;
        events.iter().try_for_each(|event| writer::Encoder::event(&mut encoder, event))?;
        writer::Encoder::end(&mut encoder, header.end, header.lost)
    };
    write(&mut text).expect("memory takes all that is written");
    String::from_utf8(text).expect("only text was written")
}

/// Writes events as lines.
pub(crate) struct Encoder<W: Write> {
    out: BufWriter<W>,
    names: Names,
    control_groups: Vec<String>,
    /// Characters of the column for the tasks: wide enough for a switch between two.
    width: usize,
}

impl<W: Write> Encoder<W> {
    /// Writes the first line.
    pub(crate) fn new(out: W, header: &Header) -> io::Result<Encoder<W>> {
        let mut out = BufWriter::new(out);
        let Header { scenario, policy, venue, seed, cpus, .. } = header;
        let cpus = counted(*cpus, "CPU");
        writeln!(out, "# {SCHEMA}: scenario {scenario}, policy {policy}, venue {venue}, seed {seed}, {cpus}")?;
        let role = header.roles.iter().map(|role| role.name.width()).max().unwrap_or(0);
        // A slash and one digit; the odd name that is longer only shifts its own line.
        let name = role.max(2) + 2;
        Ok(Encoder {
            out,
            names: Names::new(header.role_names()),
            control_groups: header.control_groups.clone(),
            width: 2 * name + 3,
        })
    }

    fn who(&self, task: Option<TaskId>) -> String {
        task.map_or_else(|| "idle".into(), |task| self.names.task(task))
    }

    /// A control group by its path.
    fn path(&self, id: ControlGroupId) -> String {
        self.control_groups.get(id.index()).map_or_else(|| format!("control group {id}"), |path| format!("/{path}"))
    }

    /// What the event is about, and what happened.
    fn describe(&self, event: &Event) -> (String, String) {
        let name = |task| self.names.task(task);
        let by = |task: Option<TaskId>| task.map(|task| format!(", by {}", name(task))).unwrap_or_default();
        match event.kind {
            EventKind::Fork { task, parent, .. } => (name(task), format!("new{}", by(parent))),
            EventKind::Exit { task } => (name(task), "ends".into()),
            EventKind::Wakeup { task, target, waker, source } => {
                let source = match source {
                    WakeSource::Unknown => String::new(),
                    known => format!(", {}", known.prose()),
                };
                (name(task), format!("wakes on cpu{target}{source}{}", by(waker)))
            }
            EventKind::Switch { previous, reason, next } => {
                let why = if reason == Reason::Idle { String::new() } else { reason.prose() };
                (format!("{} → {}", self.who(previous), self.who(next)), why)
            }
            EventKind::Migrate { task, from, to } => (name(task), format!("moves from cpu{from} to cpu{to}")),
            EventKind::Tick => ("tick".into(), String::new()),
            EventKind::RequestQueue { request, task, .. } => {
                (format!("request {request}"), format!("waits for a worker{}", by(task)))
            }
            EventKind::RequestBegin { task, intended, request } => {
                let which = which(request, "a request");
                let due = if intended == event.time { String::new() } else { format!(" due at {intended}") };
                (name(task), format!("begins {which}{due}"))
            }
            EventKind::RequestEnd { task, demand, request } => {
                (name(task), format!("ends {} of {demand}", which(request, "a request")))
            }
            EventKind::Status { task, word } => (name(task), format!("status {word}")),
            EventKind::Share { task, cpu_time } => (name(task), format!("got {cpu_time} of CPU time")),
            EventKind::Join { task, control_group } => (name(task), format!("joins {}", self.path(control_group))),
            EventKind::Release { task, release, deadline, skipped } => {
                let skipped = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
                (name(task), format!("next release at {release}, due at {deadline}{skipped}"))
            }
            EventKind::Throttle { task, on: true } => (name(task), "is throttled".into()),
            EventKind::Throttle { task, on: false } => (name(task), "is throttled no more".into()),
            EventKind::Untraced { what } => ("untraced".into(), what.prose()),
            EventKind::Call { task, call, object, amount } => {
                let object = object.map(|object| format!(" {object}")).unwrap_or_default();
                (task.map_or_else(|| "outside".into(), name), format!("calls {}{object}, {amount}", call.prose()))
            }
            EventKind::Overhead { what, length } => ("overhead".into(), format!("{} {length}", what.prose())),
        }
    }
}

/// A request by its number, where it has one.
fn which(request: Option<RequestId>, other: &str) -> String {
    request.map_or_else(|| other.into(), |request| format!("request {request}"))
}

impl<W: Write + Send> writer::Encoder for Encoder<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.names.observe(event);
        let (who, what) = self.describe(event);
        let width = if what.is_empty() { 0 } else { self.width };
        let cpu = format!("cpu{}", event.cpu);
        let gap = " ".repeat(width.saturating_sub(who.width()));
        let line = format!("{:>10}  {cpu:<4}  {who}{gap}  {what}", event.time);
        writeln!(self.out, "{}", line.trim_end())
    }

    fn end(&mut self, end: Time, lost: u64) -> io::Result<()> {
        match lost {
            0 => writeln!(self.out, "{end:>10}  end")?,
            _ => writeln!(self.out, "{end:>10}  end, {} lost", counted(lost, "event"))?,
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::{header, story};

    #[test]
    fn a_small_run_reads_as_prose() {
        let expected = "\
# schedlab.trace/2: scenario three, policy rr, venue sim, seed 7, 2 CPUs
        0s  cpu0  worker/0             new
        0s  cpu0  worker/0             wakes on cpu0, fork
        0s  cpu0  idle → worker/0
        0s  cpu0  worker/0             begins a request
        0s  cpu1  worker/1             new, by worker/0
        0s  cpu1  worker/1             wakes on cpu0, fork, by worker/0
       4ms  cpu0  tick
      10ms  cpu0  overhead             switch 2us
      10ms  cpu0  worker/0 → worker/1  slice end
      10ms  cpu0  worker/1             status 3
      11ms  cpu1  worker/0             moves from cpu0 to cpu1
      11ms  cpu1  idle → worker/0
    12.5ms  cpu1  worker/0             ends a request of 11.5ms
    12.5ms  cpu1  worker/0             ends
    12.5ms  cpu1  worker/0 → idle      exited
      13ms  cpu0  worker/1             begins a request due at 12ms
      14ms  cpu0  worker/1 → idle      blocked
      15ms  cpu0  worker/1             joins /web
      15ms  cpu0  worker/1             is throttled
      15ms  cpu0  worker/1             next release at 16ms, due at 24ms, 1 skipped
      20ms  end, 2 events lost
";
        assert_eq!(render(&header(), &story()), expected);
    }
}
