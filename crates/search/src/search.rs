//! Goes through seeds, on all cores, and keeps what was found, so that a search that was stopped can continue.

use crate::draw;
use crate::finding::{Finding, Kind};
use crate::judge::{Bounds, Judge};
use crate::kept::{STATE, before};
use crate::kernel::{InKernel, ask};
use crate::reached::{self, File};
use crate::shrink::{Shrunk, shrink};
use crate::text::{lines, to_toml};
use schedlab_boundary::FileName;
use schedlab_boundary::own::Partial;
use schedlab_boundary::shell::quoted;
use schedlab_campaign::{Place, Runner, spread};
use schedlab_model::scenario::Scenario;
use schedlab_venue::{Policy, Scheduler, VenueError, VenueName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The form of the state.
const FORM: &str = "schedlab.search/1";
/// How many scenarios are run between two looks at the clock, for each thread.
const ROUND: usize = 32;
/// How many smaller scenarios are tried for a finding.
const SMALLER: usize = 1_500;

/// How a search goes.
#[derive(Clone, Debug)]
pub struct Options {
    /// The first seed.
    pub seed: u64,
    /// The most scenarios, those of a continued search included.
    pub scenarios: Option<u64>,
    /// The most wall time.
    pub time: Option<Duration>,
    /// Where what is found is run once more.
    pub kernel: Option<Place>,
    /// Whether the lines that the policy executes are wanted.
    pub coverage: bool,
}

/// Something that was found, made small.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// What is wrong.
    pub finding: Finding,
    /// The seed whose scenario showed it first.
    pub seed: u64,
    /// How many scenarios showed it.
    pub times: u64,
    /// The scenario, as a file.
    pub text: String,
    /// How many of its lines say something.
    pub lines: usize,
    /// What a kernel showed, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<InKernel>,
}

/// How far a search is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct State {
    schema: String,
    /// What is searched, and with which bounds.
    subject: String,
    /// The first seed.
    pub seed: u64,
    /// How many scenarios were run.
    pub scenarios: u64,
    /// What was found, in the order of the seeds.
    pub found: Vec<Found>,
    /// The source lines of the policy, if they are wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<File>,
}

impl State {
    /// One that begins.
    pub(crate) fn new(subject: String, seed: u64) -> State {
        State { schema: FORM.into(), subject, seed, scenarios: 0, found: Vec::new(), coverage: Vec::new() }
    }

    /// What another search has that does not continue this one; nothing if it does.
    pub(crate) fn difference(&self, other: &State) -> Option<String> {
        let parts = |state: &State| state.subject.split(", ").map(String::from).collect::<Vec<_>>();
        let (own, others) = (parts(self), parts(other));
        let mut differing: Vec<String> = others.iter().filter(|part| !own.contains(part)).cloned().collect();
        if differing.is_empty() {
            differing.extend(own.iter().filter(|part| !others.contains(part)).map(|part| format!("no {part}")));
        }
        if self.schema != other.schema {
            differing.push(format!("the form {}", other.schema));
        }
        if self.seed != other.seed {
            differing.push(format!("seed {}", other.seed));
        }
        (!differing.is_empty()).then(|| differing.join(", "))
    }
}

/// What a search tells as it goes.
#[derive(Debug)]
pub enum Told<'a> {
    /// Something new was found, and is being made small.
    New(&'a Finding, u64),
    /// It is small.
    Small(&'a Found),
}

/// Why a search cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The policy cannot be run.
    #[error(transparent)]
    Venue(#[from] VenueError),
    /// An ideal discipline.
    #[error(
        "policy {0}: an ideal discipline knows no control groups and no CPUs that go offline, which drawn scenarios have; \
         name a sched_ext policy"
    )]
    Ideal(String),
    /// A part of another search, or not the next one.
    #[error("a part from seed {0} does not go on from where the search is")]
    Foreign(u64),
    /// The folder has something else in it, which would be replaced.
    #[error("{}: {what}; name another folder", path.display())]
    Occupied {
        /// What is there.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// The folder cannot be used.
    #[error("{}: {error}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// A search.
pub struct Search<'a> {
    judge: Judge<'a>,
    options: Options,
    /// Whether CPUs may go under the policy. A kernel ends one that does not say so, and its loader starts it again.
    takes_hotplug: bool,
    /// Where it is kept, if it is.
    folder: Option<&'a Path>,
    /// How far it is.
    pub state: State,
}

/// What is searched, with all that decides what is found but the seed.
fn subject(policy: &Policy, bounds: &Bounds, coverage: bool) -> String {
    let Bounds { longest_wait, idle, jain, ignored, reference } = bounds;
    let bound = |name: &str, value: Option<String>| Some(format!("{name} {}", value?));
    let parts = [
        Some(policy.described()),
        bound("against", reference.as_ref().map(Policy::described)),
        bound("longest wait", longest_wait.map(|wait| wait.to_string())),
        bound("idle", idle.map(|idle| idle.to_string())),
        bound("jain", jain.map(|jain| jain.to_string())),
        bound("without", (!ignored.is_empty()).then(|| ignored.join(" "))),
        coverage.then(|| "with coverage".into()),
        bound("schedlab", Some(env!("CARGO_PKG_VERSION").into())),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

impl<'a> Search<'a> {
    /// One that begins, or continues where a folder holds one of the same policy, bounds and seed.
    ///
    /// # Errors
    ///
    /// The folder holds something else.
    pub fn new(
        policy: &'a Policy,
        bounds: &'a Bounds,
        runner: &'a Runner<'a>,
        options: Options,
        folder: Option<&'a Path>,
    ) -> Result<Search<'a>, SearchError> {
        let fresh = State::new(subject(policy, bounds, options.coverage), options.seed);
        let known = folder.map(|folder| before(folder, &fresh)).transpose()?.flatten();
        let state = known.unwrap_or(fresh);
        let takes_hotplug = policy.takes_hotplug();
        Ok(Search { judge: Judge { policy, bounds, runner }, options, takes_hotplug, folder, state })
    }

    /// Whether the drawn scenarios can be run under the policy, and under the one that it is held against, and what is found
    /// in the kernel that is to be asked.
    ///
    /// # Errors
    ///
    /// They cannot.
    pub fn check(&self) -> Result<(), SearchError> {
        let Judge { policy, bounds, .. } = &self.judge;
        let sim = Place::new(VenueName::Sim, None, None).venue(1);
        std::iter::once(*policy).chain(&bounds.reference).try_for_each(|policy| match policy.scheduler {
            Scheduler::Ideal(_) => Err(SearchError::Ideal(policy.label.clone())),
            _ => Ok(sim.accepts(policy)?),
        })?;
        if let Some(kernel) = &self.options.kernel {
            kernel.check_kernel()?;
            kernel.venue(1).accepts(policy)?;
        }
        Ok(())
    }

    /// Searches until all is used up that it may use, or it is stopped.
    ///
    /// # Errors
    ///
    /// The policy cannot be run, or what was found cannot be written.
    pub fn run(&mut self, tell: &dyn Fn(Told)) -> Result<(), SearchError> {
        self.check()?;
        let begin = Instant::now();
        let threads = self.judge.runner.threads;
        while !self.is_over(begin) {
            let left = self.options.scenarios.map_or(u64::MAX, |most| most - self.state.scenarios);
            let count = left.min((threads * ROUND) as u64);
            let first = self.state.seed + self.state.scenarios;
            let look = |index: usize| {
                let seed = first + index as u64;
                (seed, self.judge.finding(&self.drawn(seed)))
            };
            let seen = spread(threads, count as usize, look);
            let reached = self.reached(first, count)?;
            if self.judge.runner.monitor.is_stopped() {
                break;
            }
            self.state.coverage = reached;
            let mut new: BTreeMap<Kind, (u64, Finding, u64)> = BTreeMap::new();
            for (seed, found) in seen {
                let Some(finding) = found? else { continue };
                match self.state.found.iter_mut().find(|known| known.finding.kind == finding.kind) {
                    Some(known) => known.times += 1,
                    None => new.entry(finding.kind.clone()).or_insert((seed, finding, 0)).2 += 1,
                }
            }
            let mut small = self.small(new.into_values().collect(), tell);
            // One that was stopped half way is found again.
            if self.judge.runner.monitor.is_stopped() {
                break;
            }
            small.sort_by_key(|found| found.seed);
            self.state.found.extend(small);
            self.state.scenarios += count;
            self.keep()?;
        }
        Ok(())
    }

    /// Takes in what a search of the same policy found in the scenarios that come next.
    ///
    /// # Errors
    ///
    /// It is a part of another search or not the next one, or what was found cannot be written.
    pub fn take(&mut self, part: State) -> Result<(), SearchError> {
        let state = &mut self.state;
        if (&part.schema, &part.subject, part.seed) != (&state.schema, &state.subject, state.seed + state.scenarios) {
            return Err(SearchError::Foreign(part.seed));
        }
        for found in part.found {
            match state.found.iter_mut().find(|known| known.finding.kind == found.finding.kind) {
                Some(known) => known.times += found.times,
                None => state.found.push(found),
            }
        }
        let mut all = reached::of_files(&state.coverage);
        reached::add(&mut all, reached::of_files(&part.coverage));
        state.coverage = reached::files(&all);
        state.scenarios += part.scenarios;
        self.keep()
    }

    /// The scenario of a seed, without what a kernel does not ask of such a policy.
    fn drawn(&self, seed: u64) -> Scenario {
        let mut scenario = draw(seed);
        if !self.takes_hotplug {
            scenario.hotplug.clear();
        }
        scenario
    }

    /// The lines that the policy executes in these scenarios and in those before.
    fn reached(&self, first: u64, count: u64) -> Result<Vec<File>, SearchError> {
        if !self.options.coverage {
            return Ok(Vec::new());
        }
        let mut all = reached::of_files(&self.state.coverage);
        let look = |index: usize| reached::lines(&self.drawn(first + index as u64), self.judge.policy);
        for lines in spread(self.judge.runner.threads, count as usize, look) {
            reached::add(&mut all, lines?);
        }
        Ok(reached::files(&all))
    }

    fn is_over(&self, begin: Instant) -> bool {
        self.judge.runner.monitor.is_stopped()
            || self.options.scenarios.is_some_and(|most| self.state.scenarios >= most)
            || self.options.time.is_some_and(|most| begin.elapsed() >= most)
    }

    /// What is new, made small, each on a thread of its own.
    fn small(&self, new: Vec<(u64, Finding, u64)>, tell: &dyn Fn(Told)) -> Vec<Found> {
        new.iter().for_each(|(seed, finding, _)| tell(Told::New(finding, *seed)));
        let judge = |scenario: &Scenario| self.judge.finding(scenario).ok().flatten();
        let small = |index: usize| {
            let (seed, finding, times) = &new[index];
            let Shrunk { scenario, finding, .. } = shrink(&self.drawn(*seed), finding.clone(), SMALLER, &judge);
            let Judge { policy, bounds, runner } = self.judge;
            let kernel = self.options.kernel.as_ref();
            let kernel = kernel.and_then(|place| ask(place, runner, policy, bounds, &scenario, &finding.kind));
            let text = self.file(&scenario, &finding, *seed);
            Found { finding, seed: *seed, times: *times, lines: lines(&text), text, kernel }
        };
        let found = spread(self.judge.runner.threads, new.len(), small);
        found.iter().for_each(|found| tell(Told::Small(found)));
        found
    }

    /// A finding as a scenario file, ready to run.
    fn file(&self, scenario: &Scenario, finding: &Finding, seed: u64) -> String {
        let name = finding.kind.name();
        let mut scenario = scenario.clone();
        scenario.name.clone_from(&name);
        let policy = &self.judge.policy.label;
        let shown = schedlab_boundary::Shown::name(&finding.what).into_string();
        let head = schedlab_report::wrap("# ", 2, &format!("{policy}: {shown}")).replace("\n  ", "\n# ");
        let (file, policy) = (quoted(&format!("{name}.toml")), quoted(policy));
        format!("{head}# Seed {seed}. schedlab run {file} --policy {policy}\n\n{}", to_toml(&scenario))
    }

    /// Writes what was found, and how far it is.
    fn keep(&self) -> Result<(), SearchError> {
        let Some(folder) = self.folder else { return Ok(()) };
        let failed = |path: &Path, error| SearchError::Folder { path: path.into(), error };
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        for found in &self.state.found {
            let path = folder.join(FileName::made_of(&found.finding.kind.name()).with(".toml"));
            Partial::write(&path, found.text.as_bytes()).map_err(|error| failed(&path, error))?;
        }
        let path = folder.join(STATE);
        let state = serde_json::to_vec_pretty(&self.state).expect("a state has a form in JSON");
        Partial::write(&path, &state).map_err(|error| failed(&path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::time::Time;
    use schedlab_policy::PolicySpec;

    #[test]
    fn what_is_kept_says_in_words_what_was_searched() {
        let rr = Policy::find(&PolicySpec::parse("rr:quantum=5ms").unwrap()).unwrap();
        let bounds =
            Bounds { longest_wait: Some(Time::from_ms(2)), ignored: vec!["stall".into()], ..Bounds::default() };
        let words = subject(&rr, &bounds, false);
        assert!(words.starts_with("policy rr:") && words.contains("quantum=5ms"), "{words}");
        assert!(words.contains(", longest wait 2ms, without stall, schedlab "), "{words}");
        assert_ne!(words, subject(&rr, &bounds, true));
        assert_ne!(words, subject(&rr, &Bounds { jain: Some(0.9), ..bounds }, false));
    }
}
