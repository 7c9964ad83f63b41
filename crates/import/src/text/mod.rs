//! Scheduler events in the texts of other tools: `perf script`, ftrace's file `trace`, `trace-cmd report`, and pages and JSON
//! in which such a text stands.
//!
//! Which tool it was shows in the first line of an event. A line that reports no scheduler event is passed over and counted:
//! events of others, call chains, stacks, the further lines of a print. One that names a scheduler event and cannot be read
//! is an error, so that nothing is left out unseen.

mod event;
mod fields;
mod ftrace;
mod lack;
mod latency;
mod line;
mod lines;
mod loss;
mod perf;
mod prefix;
mod trace_cmd;

use crate::error::Trouble;
use crate::gather::Gather;
use crate::input::Input;
use crate::read::seconds;
use crate::told::{Head, check_cpu};
use line::{Line, Note, Stamp};
use lines::Lines;
use loss::Loss;
use prefix::Prefixes;
use schedlab_model::count::numbered;

/// How many lines may come before the first event, where there is no page around them.
const PREFACE: u64 = 1000;
/// One line in this many may stand out of the order of time.
const DISORDER: u64 = 10;
/// What a clock cannot say that counts something else than time.
const NO_CLOCK: &str = "real times, since the clock of the recording counts something else (counter, uptime, x86-tsc): each \
                        count is taken for a nanosecond; record with the clock mono";

/// What a text cannot say whose lines name no thread.
const NO_THREAD: &str =
    "which task woke which, since the lines do not say on top of which thread an event was; print it (tid)";

/// Reads a text. `wrapped`: it is in a page or in JSON.
pub fn read(input: &Input, wrapped: bool, gather: &mut Gather) -> Result<(), Trouble> {
    let mut lines = Lines::of(input, wrapped);
    let mut reading = Reading {
        gather,
        wrapped,
        grammar: None,
        now_ns: 0,
        announced: Vec::new(),
        instances: Prefixes::default(),
        files: Prefixes::default(),
        unread: None,
        events: 0,
        disorder: 0,
        first_disorder: None,
    };
    while let Some((number, text)) = lines.next()? {
        reading.line(number, text).map_err(|trouble| match trouble {
            Trouble::Damaged(what) => Trouble::Line(number, what),
            other => other,
        })?;
    }
    reading.end()
}

/// How events' lines are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grammar {
    Perf,
    /// That of trace-cmd too.
    Ftrace,
    Latency,
    PerfLatency,
    /// That of perf which does not say on top of which thread an event was.
    PerfWithoutThread,
}

impl Grammar {
    const ALL: [Grammar; 5] =
        [Grammar::Perf, Grammar::Ftrace, Grammar::Latency, Grammar::PerfLatency, Grammar::PerfWithoutThread];

    fn line(self, text: &str) -> Option<Line<'_>> {
        match self {
            Grammar::Perf => perf::line(text),
            Grammar::Ftrace => ftrace::line(text),
            Grammar::Latency => latency::line(text),
            Grammar::PerfLatency => perf::latency_line(text),
            Grammar::PerfWithoutThread => perf::line_without_thread(text),
        }
    }
}

struct Reading<'a> {
    gather: &'a mut Gather,
    wrapped: bool,
    /// That of the first event's line.
    grammar: Option<Grammar>,
    now_ns: u64,
    /// What is known of these CPUs begins with the next event.
    announced: Vec<u32>,
    /// The names of instances in front of events, and those of files in front of what comes before them.
    instances: Prefixes,
    files: Prefixes,
    /// The first line before any event that says nothing.
    unread: Option<(u64, String)>,
    /// How many lines told of events, and how many of them of an earlier time than the one before.
    events: u64,
    disorder: u64,
    first_disorder: Option<(u64, String)>,
}

impl Reading<'_> {
    /// Takes a line; the error says what is wrong with it.
    fn line(&mut self, number: u64, text: &str) -> Result<(), Trouble> {
        if let Some(note) = self.note_of(text)? {
            return self.note(note);
        }
        let Some(line) = self.parse(text) else { return self.no_event(number, text) };
        check_cpu(line.cpu).map_err(Trouble::Damaged)?;
        self.see(number, &line);
        if matches!(self.grammar, Some(Grammar::Ftrace | Grammar::Latency)) {
            let behind = prefix::split(text).filter(|(_, rest)| self.grammar.is_some_and(|g| g.line(rest).is_some()));
            self.instances.event(behind, &line)?;
        }
        let time_ns = line.time.ns();
        for cpu in std::mem::take(&mut self.announced) {
            self.gather.started(time_ns, cpu)?;
        }
        if let Some(events) = perf::lost(&line) {
            return self.gather.lost(time_ns, line.cpu, events);
        }
        if let Some(tgid) = line.tgid {
            self.gather.process(line.tid, tgid);
        }
        let Line { tid, cpu, in_interrupt, .. } = line;
        match event::of(line.event, line.fields).map_err(Trouble::Damaged)? {
            Some(event) => self.gather.event(Head { time_ns, cpu, tid, in_interrupt }, event),
            None => self.gather.passed(time_ns, cpu, line.event, || format!("line {number}")),
        }
    }

    /// What a line says that reports no event, perhaps behind the name of a file or an instance.
    fn note_of(&mut self, text: &str) -> Result<Option<Note>, Trouble> {
        if let Some(note) = line::note(text).or_else(|| ftrace::note(text)).or_else(|| trace_cmd::note(text)) {
            return Ok(Some(note));
        }
        if let Some(Loss::Of(cpu, count)) = loss::of(text) {
            return Ok(Some(Note::Lost(cpu, count)));
        }
        let Some((name, rest)) = prefix::split(text) else { return Ok(None) };
        if let Some(Loss::Of(cpu, count)) = loss::of(rest) {
            self.instances.note(name)?;
            return Ok(Some(Note::Lost(cpu, count)));
        }
        let note = trace_cmd::note(rest);
        if note.is_some() {
            self.files.note(name)?;
        }
        Ok(note)
    }

    /// Notes when and where the line is.
    fn see(&mut self, number: u64, line: &Line) {
        self.events += 1;
        if let Stamp::Counts(_) = line.time {
            self.gather.lacks(NO_CLOCK);
            self.gather.facts.is_counting = true;
        }
        let time_ns = line.time.ns();
        if time_ns < self.now_ns {
            self.disorder += 1;
            let (now, then) = (seconds(time_ns), seconds(self.now_ns));
            self.first_disorder.get_or_insert_with(|| (number, format!("time goes back from {then} to {now}")));
        }
        self.now_ns = time_ns;
    }

    fn parse<'t>(&mut self, text: &'t str) -> Option<Line<'t>> {
        if let Some(grammar) = self.grammar {
            return grammar.line(text);
        }
        let (grammar, line) = Grammar::ALL.into_iter().find_map(|grammar| Some((grammar, grammar.line(text)?)))?;
        self.grammar = Some(grammar);
        if grammar == Grammar::PerfWithoutThread {
            self.gather.lacks(NO_THREAD);
        }
        Some(line)
    }

    /// A line that reports no event.
    fn no_event(&mut self, number: u64, text: &str) -> Result<(), Trouble> {
        let is_amid = self.grammar.is_some();
        if lack::names_event(text) && (is_amid || !self.wrapped) {
            return Err(Trouble::Damaged(lack::of(text, is_amid)));
        }
        if loss::of(text) == Some(Loss::Unread) && (is_amid || !self.wrapped) {
            return Err(Trouble::Damaged(lack::of_loss(text)));
        }
        if is_amid || self.wrapped {
            self.gather.facts.passed.count(kind(text), || format!("line {number}"));
            return Ok(());
        }
        self.unread.get_or_insert_with(|| (number, lack::no_text(text)));
        if number > PREFACE { self.end() } else { Ok(()) }
    }

    fn note(&mut self, note: Note) -> Result<(), Trouble> {
        match note {
            Note::Nothing => {}
            Note::Started(cpu) => self.announced.push(cpu),
            Note::Cpus(cpus) => self.gather.facts.cpus = cpus,
            Note::Lost(cpu, events) => {
                check_cpu(cpu).map_err(Trouble::Damaged)?;
                if self.gather.has_heard(cpu) {
                    self.gather.lost(self.now_ns, cpu, events)?;
                } else {
                    // What is missing before a CPU's first event is no loss: it begins there.
                    self.gather.before(events);
                    self.announced.push(cpu);
                }
            }
            Note::Buffer(overwritten, cpus) => {
                (self.gather.facts.overwritten, self.gather.facts.cpus) = (overwritten, cpus);
            }
        }
        check_cpu(self.gather.facts.cpus.saturating_sub(1)).map_err(Trouble::Damaged)
    }

    /// Nothing more comes.
    fn end(&mut self) -> Result<(), Trouble> {
        if self.grammar.is_none() {
            if self.wrapped {
                return Err(Trouble::Foreign(lack::NO_TEXT_WITHIN.into()));
            }
            return self.unread.take().map_or(Ok(()), |(number, what)| Err(Trouble::Line(number, what)));
        }
        if let Some((number, what)) = self.first_disorder.take() {
            if self.disorder > self.events / DISORDER {
                let what = format!("{what}; sort the lines by time, or record them again");
                return Err(Trouble::Line(number, what));
            }
            let lines = numbered(self.disorder, "line, which was", "lines, which were");
            self.gather.lacks(&format!("the order of {lines} put in the order of their times"));
        }
        Ok(())
    }
}

/// What a line is that is below an event.
fn kind(text: &str) -> &'static str {
    let trimmed = text.trim_start();
    let address = trimmed.split(char::is_whitespace).next().unwrap_or_default();
    let is_address = address.len() >= 4 && address.bytes().all(|byte| byte.is_ascii_hexdigit());
    match () {
        () if trimmed.starts_with("=>") => "lines of stacks",
        () if trimmed.len() < text.len() && is_address => "places of call chains",
        () => "lines that tell of no event",
    }
}

#[cfg(test)]
mod doubts;
#[cfg(test)]
mod tests;
