//! Scheduler events in the texts of other tools: `perf script`, ftrace's file `trace`, `trace-cmd report`.
//!
//! Which tool it was shows in the lines. What they tell becomes [`Record`]s, so that a text goes the same way as what
//! was recorded here. The texts say less: not which process a thread belongs to, and perf's not whether an interrupt
//! woke a task.

mod error;
mod event;
mod ftrace;
mod line;
mod perf;
mod source;
mod story;
mod trace_cmd;

pub use error::Error;

use crate::record::Record;
use event::Event;
use line::{Line, Note};
use source::Source;
use std::path::Path;
use story::Story;

/// What a text told beside its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The time of the first scheduler event, in nanoseconds of the tool's clock.
    pub start_ns: u64,
    /// The time of the last event.
    pub end_ns: u64,
    /// Who was on each CPU at the start, as records of the time before it.
    pub before: Vec<Record>,
    /// The CPUs of the machine; zero when it does not say.
    pub cpus: u32,
    /// Events that the tool had to drop.
    pub lost: u64,
    /// Events that had been overwritten before the text begins.
    pub overwritten: u64,
    /// Whether the text tells when tasks became runnable.
    pub has_wakeups: bool,
}

/// Reads the file and hands on its records, in the order of time.
pub fn read(path: &Path, each: impl FnMut(&Record)) -> Result<Told, Error> {
    let mut reading = Reading {
        told: Told::default(),
        grammar: None,
        story: Story::new(!source::mentions(path, "sched_wakeup:")?, each),
        now_ns: 0,
        begun: false,
    };
    let mut source = Source::open(path)?;
    while let Some((number, text)) = source.next()? {
        reading.line(text).map_err(|what| Error::Line { path: path.into(), number, what })?;
    }
    if !reading.begun {
        return Err(Error::NoEvents { path: path.into() });
    }
    let (before, has_wakeups) = reading.story.end(reading.told.start_ns);
    Ok(Told { before, has_wakeups, end_ns: reading.now_ns, ..reading.told })
}

/// How events' lines are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grammar {
    Perf,
    /// That of trace-cmd too.
    Ftrace,
}

impl Grammar {
    const ALL: [Grammar; 2] = [Grammar::Perf, Grammar::Ftrace];

    fn line(self, text: &str) -> Option<Line<'_>> {
        match self {
            Grammar::Perf => perf::line(text),
            Grammar::Ftrace => ftrace::line(text),
        }
    }
}

struct Reading<F> {
    told: Told,
    /// That of the first event's line.
    grammar: Option<Grammar>,
    story: Story<F>,
    now_ns: u64,
    begun: bool,
}

impl<F: FnMut(&Record)> Reading<F> {
    /// Takes a line; the error says what is wrong with it.
    fn line(&mut self, text: &str) -> Result<(), String> {
        if let Some(note) = line::note(text).or_else(|| ftrace::note(text)).or_else(|| trace_cmd::note(text)) {
            return self.note(note);
        }
        let Some(line) = self.parse(text) else {
            // perf prints under an event where it happened.
            let is_place = self.grammar == Some(Grammar::Perf) && perf::is_place(text);
            let no_line = || format!("no line of perf script, ftrace or trace-cmd report: {}", line::quote(text));
            return if is_place { Ok(()) } else { Err(no_line()) };
        };
        line::check_cpu(line.cpu)?;
        if line.time_ns < self.now_ns {
            let (now, then) = (line::seconds(line.time_ns), line::seconds(self.now_ns));
            return Err(format!("time goes back from {then} to {now}; sort the lines by time, or record them again"));
        }
        self.now_ns = line.time_ns;
        self.told.lost += perf::lost(&line).unwrap_or(0);
        if let Some(event) = Event::of(line.event, line.fields)? {
            if !std::mem::replace(&mut self.begun, true) {
                self.told.start_ns = line.time_ns;
            }
            self.story.tell(&line, &event);
        }
        Ok(())
    }

    fn parse<'a>(&mut self, text: &'a str) -> Option<Line<'a>> {
        if let Some(grammar) = self.grammar {
            return grammar.line(text);
        }
        let (grammar, line) = Grammar::ALL.into_iter().find_map(|grammar| Some((grammar, grammar.line(text)?)))?;
        self.grammar = Some(grammar);
        Some(line)
    }

    fn note(&mut self, note: Note) -> Result<(), String> {
        match note {
            Note::Nothing => {}
            Note::Cpus(cpus) => self.told.cpus = cpus,
            Note::Lost(events) => self.told.lost += events,
            Note::Buffer(overwritten, cpus) => (self.told.overwritten, self.told.cpus) = (overwritten, cpus),
        }
        line::check_cpu(self.told.cpus.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests;
