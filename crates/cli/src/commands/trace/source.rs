//! The trace file that a view looks at.

use crate::args::WhichArgs;
use crate::args::paths::shown;
use crate::failure::Failure;
use schedlab_model::count::{counted, numbered};
use schedlab_model::ids::RoleId;
use schedlab_model::time::Time;
use schedlab_model::trace::Event;
use schedlab_trace::{Format, Header, Reader};
use schedlab_views::{Roster, Selection, Who};
use std::path::Path;

/// A trace file that was opened once, so that its header is known.
pub struct Source<'a> {
    path: &'a Path,
    format: Format,
    header: Header,
}

impl<'a> Source<'a> {
    /// Reads the header.
    pub fn open(path: &'a Path) -> Result<Source<'a>, Failure> {
        let reader = Reader::open(path).map_err(crate::commands::not_a_trace(path))?;
        Ok(Source { path, format: reader.format(), header: reader.header().clone() })
    }

    /// What ran, and where.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The names of the roles.
    pub fn roles(&self) -> impl Iterator<Item = String> + '_ {
        self.header.roles.iter().map(|role| role.name.clone())
    }

    /// What the trace is of, for the head of a page. Lost events concern everything below it.
    pub fn title(&self) -> String {
        let Header { scenario, policy, venue, lost, .. } = &self.header;
        let lost = match lost {
            0 => String::new(),
            lost => format!(" ({} lost)", counted(*lost, "event")),
        };
        format!("{scenario} under {policy} in {venue}{lost}")
    }

    /// The file's name, to distinguish two traces.
    pub fn label(&self) -> String {
        let shown = shown(self.path);
        let name = Path::new(&shown).file_name().unwrap_or(self.path.as_os_str());
        schedlab_boundary::Shown::name(&name.to_string_lossy()).into_string()
    }

    /// What the loss of events means for numbers that are made of the trace, if there was any.
    pub fn loss(&self) -> Option<String> {
        let lost = self.header.lost;
        let what = "what was waited where they were is not counted";
        (lost > 0)
            .then(|| format!("{}: {} lost, and {what}.", self.label(), numbered(lost, "event was", "events were")))
    }

    /// The other facts of the header.
    pub fn facts(&self) -> String {
        let Header { end, cpus, seed, .. } = &self.header;
        let cpus = counted(*cpus, "CPU");
        format!("{end} on {cpus}, seed {seed}, {} file", self.format)
    }

    /// The part of the trace that the flags ask for.
    pub fn selection(&self, which: &WhichArgs) -> Result<Selection, Failure> {
        let from = which.from.unwrap_or(Time::ZERO);
        let until = which.to.unwrap_or(Time::NEVER);
        let end = self.header.end;
        if from >= until {
            return Err(self.wrong(&format!("there is no time from {from} to {until}; --from comes before --to")));
        }
        if from > Time::ZERO && from >= end {
            return Err(self.wrong(&format!("there is nothing from {from} on; the run ends at {end}")));
        }
        let who = match (&which.task, &which.role) {
            (Some(task), _) => Who::Task(task.clone()),
            (None, Some(name)) => Who::Role(self.role(name)?),
            (None, None) => Who::Everybody,
        };
        Ok(Selection { who, from, until })
    }

    /// Of what time a page with this selection says, in words.
    pub fn span(&self, selection: &Selection) -> String {
        format!("{} to {}", selection.from, selection.until.min(self.header.end))
    }

    fn role(&self, name: &str) -> Result<RoleId, Failure> {
        let place = self.header.roles.iter().position(|role| role.name == name);
        place.map(|place| RoleId(place as u32)).ok_or_else(|| {
            let nearest = self.roles().map(|role| (strsim::damerau_levenshtein(name, &role), role)).min();
            let hint = match nearest {
                Some((distance, near)) if distance <= 1 + near.len() / 4 => format!("did you mean `{near}`?"),
                Some(_) => format!("there are {}", self.roles().collect::<Vec<_>>().join(", ")),
                None => "it has none".into(),
            };
            self.wrong(&format!("there is no role `{name}`; {hint}"))
        })
    }

    /// The tasks in the trace, for a view with this selection.
    pub fn roster(&self, selection: Selection) -> Roster {
        Roster::new(self.roles(), selection)
    }

    /// Shows `each` all events, in order.
    pub fn feed(&self, mut each: impl FnMut(&Event) -> Result<(), Failure>) -> Result<(), Failure> {
        for event in Reader::open(self.path)? {
            each(&event?)?;
        }
        Ok(())
    }

    /// After the last event: whether the task that was asked for exists.
    pub fn check_task(&self, roster: &Roster) -> Result<(), Failure> {
        roster.missing().map_or(Ok(()), |missing| Err(self.wrong(&missing)))
    }

    /// As [`Source::check_task`], and whether the trace has switches.
    pub fn check_switches(&self, roster: &Roster) -> Result<(), Failure> {
        if roster.is_without_switches() {
            let policy = &self.header.policy;
            return Err(self.wrong(&format!(
                "nothing is known of who waited and ran where: under {policy} in {} no switches were recorded",
                self.header.venue
            )));
        }
        self.check_task(roster)
    }

    /// Something that the user can put right, with the file's name.
    pub fn wrong(&self, what: &str) -> Failure {
        Failure::Input(format!("{}: {what}", self.path.display()))
    }
}
