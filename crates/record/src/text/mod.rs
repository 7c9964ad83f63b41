//! Scheduler events in the texts of other tools: `perf script`, ftrace's file `trace`, `trace-cmd report`.
//!
//! Which tool it was shows in the lines. What they tell becomes [`Record`]s, so that a text goes the same way as what
//! was recorded here. The texts say less: not which process a thread belongs to, and perf's not whether an interrupt
//! woke a task.

mod error;
mod event;
mod ftrace;
mod line;
mod outline;
mod perf;
mod source;
mod story;
mod trace_cmd;

pub use error::Error;

use crate::record::Record;
use event::Event;
use line::{Line, Note};
use outline::Outline;
use schedlab_model::time::Time;
use source::Source;
use std::path::Path;
use story::Story;

/// What a text told beside its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// When the recording begins, in nanoseconds of the tool's clock: with the first scheduler event, or, where older events
    /// were overwritten, when the last CPU's buffer begins. Records of the time before it show only who was where then.
    pub start_ns: u64,
    /// The time of the first scheduler event.
    pub first_ns: u64,
    /// The time of the last event.
    pub end_ns: u64,
    /// Who was on each CPU at the start, as records of the time before it. They come after all other such records.
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
    let outline = Outline::of(Source::open(path)?)?;
    let mut reading = Reading {
        told: Told::default(),
        grammar: None,
        story: Story::new(!outline.has_wakeups, each),
        now_ns: 0,
        begun: false,
        whole: outline.last_start == 0,
        started: false,
    };
    let mut source = Source::open(path)?;
    while let Some((number, text)) = source.next()? {
        reading.line(text).map_err(|what| Error::Line { path: path.into(), number, what })?;
        if number == outline.last_start {
            reading.whole = true;
        }
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
    /// There was a scheduler event.
    begun: bool,
    /// All CPUs' buffers have begun.
    whole: bool,
    /// The recording has started.
    started: bool,
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
        if line.time_ns > Time::LATEST.ns() {
            return Err(format!("no clock shows {} s; record it again", line::seconds(line.time_ns)));
        }
        if line.time_ns < self.now_ns {
            let (now, then) = (line::seconds(line.time_ns), line::seconds(self.now_ns));
            return Err(format!("time goes back from {then} to {now}; sort the lines by time, or record them again"));
        }
        self.now_ns = line.time_ns;
        if let Some(events) = perf::lost(&line) {
            self.lose(line.cpu, events);
        }
        if let Some(event) = Event::of(line.event, line.fields)? {
            self.begin(line.time_ns);
            self.story.tell(&line, &event);
        }
        Ok(())
    }

    /// A scheduler event at this time: the first one, or the first after all buffers have begun, is the start.
    fn begin(&mut self, time_ns: u64) {
        if !std::mem::replace(&mut self.begun, true) {
            (self.told.first_ns, self.told.start_ns) = (time_ns, time_ns);
        }
        if self.whole && !std::mem::replace(&mut self.started, true) {
            self.told.start_ns = time_ns;
            self.story.start();
        }
    }

    fn lose(&mut self, cpu: u32, events: u64) {
        self.told.lost = self.told.lost.saturating_add(events);
        self.story.lose(self.now_ns, cpu);
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
            Note::Nothing | Note::Started(_) => {}
            Note::Cpus(cpus) => self.told.cpus = cpus,
            Note::Lost(cpu, events) => {
                line::check_cpu(cpu)?;
                self.lose(cpu, events);
            }
            Note::Buffer(overwritten, cpus) => (self.told.overwritten, self.told.cpus) = (overwritten, cpus),
        }
        line::check_cpu(self.told.cpus.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests;
