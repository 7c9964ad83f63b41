//! Searches for faults: one that is carried out here, and one whose parts are made elsewhere.

use crate::background::with_policies;
use crate::convert;
use crate::error::{IntoPython, failed, input};
use crate::job::{policy, text};
use crate::raised::Raised;
use pyo3::prelude::*;
use schedlab_campaign::{Place, Runner};
use schedlab_model::scenario::Notation;
use schedlab_model::time::Time;
use schedlab_search::{Bounds, Kind, Options, Search, SearchError, State};
use schedlab_venue::{Monitor, Policy, VenueName};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A search, and how far it is.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct Hunt {
    policy: Policy,
    bounds: Bounds,
    options: Options,
    folder: Option<PathBuf>,
    state: Mutex<State>,
    raised: Raised,
}

#[pymethods]
impl Hunt {
    /// One that begins, or goes on from what a folder holds.
    #[new]
    #[pyo3(signature = (policy, *, longest_wait, idle, jain, ignore, against, coverage, kernel, seed, folder))]
    #[allow(clippy::too_many_arguments, reason = "the flags of the command line; Python's side names each")]
    fn new(
        policy: &Bound<'_, PyAny>,
        longest_wait: Option<&str>,
        idle: Option<f64>,
        jain: Option<f64>,
        ignore: Vec<String>,
        against: Option<&Bound<'_, PyAny>>,
        coverage: bool,
        kernel: Option<String>,
        seed: &Bound<'_, PyAny>,
        folder: Option<PathBuf>,
    ) -> PyResult<Hunt> {
        if let Some(name) = ignore.iter().find(|name| !Kind::is_name(name)) {
            return Err(input(format!(
                "ignore: nothing is called `{name}`; there are {}, and fault-…",
                Kind::NAMES.join(", ")
            )));
        }
        let is_part = |value: &f64| (0.0..=1.0).contains(value);
        if let Some((name, value)) = [("idle", idle), ("jain", jain)]
            .into_iter()
            .find_map(|(name, value)| value.filter(|value| !is_part(value)).map(|value| (name, value)))
        {
            return Err(input(format!("{name}: {value} is not a part: write a number from 0 to 1")));
        }
        let raised = Raised::default();
        let policy = self::policy(policy, &raised)?;
        let longest_wait =
            longest_wait.map(Time::read).transpose().map_err(|wrong| input(format!("longest_wait: {wrong}")))?;
        let reference = against.map(|against| self::policy(against, &raised)).transpose()?;
        let bounds = Bounds { longest_wait, idle, jain, ignored: ignore, reference };
        let kernel = kernel.map(|kernel| Place::new(VenueName::Vm, Some(&kernel), None));
        let options = Options { seed: convert::seed(seed)?, scenarios: None, time: None, kernel, coverage };
        let monitor = Monitor::default();
        let runner = Runner::new(None, 1, &monitor);
        let begun = Search::new(&policy, &bounds, &runner, options.clone(), folder.as_deref());
        let state = begun.map_err(IntoPython::into_python)?.state;
        Ok(Hunt { policy, bounds, options, folder, state: Mutex::new(state), raised })
    }

    /// How many scenarios were run.
    fn scenarios(&self) -> u64 {
        self.locked().scenarios
    }

    /// Goes on until this many scenarios were run in all, or for this long.
    fn go_on(
        &self,
        py: Python<'_>,
        scenarios: Option<&Bound<'_, PyAny>>,
        budget: Option<&str>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let scenarios = scenarios.map(|number| convert::whole(number, "scenarios", 1, u64::MAX)).transpose()?;
        let budget = budget.map(Time::read).transpose().map_err(|wrong| input(format!("budget: {wrong}")))?;
        if budget.is_some_and(|budget| budget.ns() == 0) {
            return Err(input("budget: a time above 0 is needed"));
        }
        let time = budget.map(|budget| Duration::from_nanos(budget.ns()));
        let threads = convert::threads(threads)?;
        let went = with_policies(py, &self.raised, |monitor| {
            let runner = Runner::new(None, threads, monitor);
            self.with(&runner, Options { scenarios, time, ..self.options.clone() }, |search| search.run(&|_| ()))
        })?;
        went.map_err(|error: SearchError| self.raised.explain(py, error.into_python()))
    }

    /// Takes in the next part.
    fn take(&self, part: &str) -> PyResult<()> {
        let part: State = serde_json::from_str(part).map_err(|error| failed(format!("a part of a search: {error}")))?;
        let monitor = Monitor::default();
        let runner = Runner::new(None, 1, &monitor);
        let taken = self.with(&runner, self.options.clone(), |search| search.take(part));
        taken.map_err(|error: SearchError| error.into_python())
    }

    /// The names of what was found.
    fn names(&self) -> Vec<String> {
        self.locked().found.iter().map(|found| found.finding.kind.name()).collect()
    }

    /// All of it as JSON.
    fn data(&self) -> PyResult<String> {
        text(&*self.locked())
    }
}

impl Hunt {
    fn locked(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the search as far as it is, and keeps how far it is then.
    fn with(
        &self,
        runner: &Runner<'_>,
        options: Options,
        act: impl FnOnce(&mut Search<'_>) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        let mut state = self.locked();
        let mut search = Search::new(&self.policy, &self.bounds, runner, options, self.folder.as_deref())?;
        search.state.clone_from(&state);
        let done = act(&mut search);
        *state = search.state;
        done
    }
}

impl IntoPython for SearchError {
    fn into_python(self) -> PyErr {
        match self {
            SearchError::Venue(error) => error.into_python(),
            SearchError::Folder { .. } | SearchError::Ideal(_) | SearchError::Occupied { .. } => input(self),
            SearchError::Foreign(_) => failed(self),
        }
    }
}
