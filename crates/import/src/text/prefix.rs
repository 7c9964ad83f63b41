//! `name: ` at the front of a line, by which trace-cmd says of which file or instance it is.

use super::line::Line;
use crate::error::Trouble;
use std::collections::{BTreeMap, BTreeSet};

/// No name of an instance is longer than that of a file can be.
const LONGEST: usize = 256;
/// A task may have a name that looks like a prefix; this many tasks do not have the same.
const TASKS: usize = 3;
/// The most names that are looked at: tasks, not instances, have more.
const NAMES: usize = 1000;

/// The name and what comes behind it.
pub fn split(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once(": ")?;
    let name = name.trim();
    let is_name = !name.is_empty() && name.len() <= LONGEST && !name.contains(['[', '#']);
    is_name.then_some((name, rest))
}

/// The prefixes of a text, of events or of what comes before them.
#[derive(Default)]
pub struct Prefixes {
    /// The one of all lines so far that is no task's name.
    known: Option<String>,
    /// The tasks behind what may be one.
    maybe: BTreeMap<String, BTreeSet<i32>>,
    has_bare: bool,
    /// A note with a prefix came right before: trace-cmd writes none in front of the event behind it.
    is_behind_note: bool,
}

impl Prefixes {
    /// An event's line. `behind` is the name in front of it and the rest, if that alone is an event's line, too.
    pub fn event(&mut self, behind: Option<(&str, &str)>, line: &Line) -> Result<(), Trouble> {
        let is_behind_note = std::mem::take(&mut self.is_behind_note);
        let Some((name, rest)) = behind else {
            self.has_bare |= !is_behind_note;
            return self.check(None);
        };
        // No task has the name of the idle task.
        if self.known.as_deref() == Some(name) || rest.trim_start().starts_with("<idle>-0") {
            return self.confirm(name);
        }
        if self.maybe.len() < NAMES || self.maybe.contains_key(name) {
            let tasks = self.maybe.entry(name.into()).or_default();
            tasks.insert(line.tid);
            if tasks.len() >= TASKS {
                return self.confirm(name);
            }
        }
        Ok(())
    }

    /// A note of an instance.
    pub fn note(&mut self, name: &str) -> Result<(), Trouble> {
        self.is_behind_note = true;
        self.confirm(name)
    }

    /// This is a prefix.
    fn confirm(&mut self, name: &str) -> Result<(), Trouble> {
        match &self.known {
            Some(known) if known == name => self.check(None),
            Some(_) => self.check(Some(name)),
            None => {
                self.known = Some(name.into());
                self.maybe.remove(name);
                self.check(None)
            }
        }
    }

    fn check(&self, other: Option<&str>) -> Result<(), Trouble> {
        let what = match (&self.known, other) {
            (Some(one), Some(other)) => format!("`{}` and `{}`", shown(one), shown(other)),
            (Some(one), None) if self.has_bare => format!("`{}` and one without a name", shown(one)),
            _ => return Ok(()),
        };
        Err(Trouble::Damaged(format!("two recordings in one text, {what}; print one at a time, and import that")))
    }
}

fn shown(name: &str) -> String {
    schedlab_boundary::Shown::name(name).into_string()
}
