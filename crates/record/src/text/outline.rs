//! A first look at a text, for what must be known before its first line: from where on all CPUs tell, and whether there are
//! wakeups.

use super::line::{Line, Note};
use super::source::Source;
use super::{Error, Grammar, ftrace, trace_cmd};
use std::collections::BTreeSet;

/// What the first look found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The number of the last line that says that a CPU's buffer begins there, from 1; 0 when no line says so. A CPU that has
    /// lost events before its first one begins there, too.
    pub last_start: u64,
    /// Whether the text has wakeups, for which wakings would only stand in.
    pub has_wakeups: bool,
}

impl Outline {
    /// Reads a text to its end. Errors come when it is read again.
    pub fn of(mut source: Source) -> Result<Outline, Error> {
        let mut outline = Outline::default();
        let mut seen = BTreeSet::new();
        let mut announced = None;
        while let Some((number, text)) = source.next()? {
            let starts = match ftrace::note(text).or_else(|| trace_cmd::note(text)) {
                Some(Note::Started(_)) => true,
                Some(Note::Lost(cpu, _)) => seen.insert(cpu),
                Some(_) => false,
                None => {
                    if let Some(cpu) = cpu(text) {
                        seen.insert(cpu);
                        // One that nothing follows begins nowhere.
                        outline.last_start = announced.take().unwrap_or(outline.last_start);
                    }
                    outline.has_wakeups |= text.contains("sched_wakeup:");
                    false
                }
            };
            if starts {
                announced = Some(number);
            }
        }
        Ok(outline)
    }
}

/// The CPU of an event's line, however it is written.
fn cpu(text: &str) -> Option<u32> {
    Grammar::ALL.into_iter().find_map(|grammar| grammar.line(text)).map(|line: Line| line.cpu)
}
