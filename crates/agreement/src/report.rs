//! What came out: verdicts about figures, cells and all of them, as they are printed.

use crate::cell::{Cell, Options};
use crate::figure::{Figure, Sample, judged};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name and version of this form, the first field of what is printed.
pub const SCHEMA: &str = "schedlab.agreement/2";

/// How far the simulator is from a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agreement {
    /// Always `schedlab.agreement/2`.
    pub schema: String,
    /// How many copies of the simulation there were under each seed.
    pub copies: u32,
    /// How many cells came to which verdict.
    pub counts: Counts,
    /// The cells, scenario by scenario.
    pub cells: Vec<CellReport>,
}

/// How many cells came to which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// All of them.
    pub cells: usize,
    /// Those that agree.
    pub agrees: usize,
    /// Those that are biased.
    pub biased: usize,
    /// Those that are undecided.
    pub undecided: usize,
    /// Those in which a run failed.
    pub failed: usize,
    /// Those that were not run, or not to the end.
    pub not_run: usize,
}

/// A scenario under a policy in a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellReport {
    /// The scenario's name.
    pub scenario: String,
    /// The family of scenarios to which it belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// The policy in the simulator; with `@` and a kernel where it is compared with that kernel's own scheduler.
    pub policy: String,
    /// Where the real runs were: `vm` or `host`.
    pub venue: String,
    /// The kernel of the real runs, as it was asked for.
    pub kernel: String,
    /// The number of CPUs.
    pub cpus: u32,
    /// Whether both execute the same object, or the policy is next to a kernel's own scheduler.
    pub same_object: bool,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// How many times as long as the scenario says its runs were, their warmup apart.
    pub length: u32,
    /// What is concluded.
    pub verdict: CellVerdict,
    /// Why it failed, or why there is no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Each figure of each role.
    pub figures: Vec<FigureReport>,
    /// How many tasks were on each CPU for the longest time, in ascending order, in the first real run. It does not decide.
    pub tasks_on_cpus_real: Vec<u32>,
    /// The same in the first copy of the simulation.
    pub tasks_on_cpus_simulated: Vec<u32>,
}

/// What is concluded about a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellVerdict {
    /// Every figure that was judged agrees.
    Agrees,
    /// A figure is undecided, and none is biased.
    Undecided,
    /// A figure is biased.
    Biased,
    /// A run failed.
    Failed,
    /// It was stopped before.
    NotRun,
}

/// What is concluded about a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// There were too few requests in both. It does not decide about the cell.
    NotJudged,
    /// The interval lies within the bound.
    Agrees,
    /// The interval lies on the bound.
    Undecided,
    /// The interval lies outside of the bound.
    Biased,
}

/// A figure of a role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureReport {
    /// The role's name.
    pub role: String,
    /// Which figure.
    pub figure: Figure,
    /// What is concluded.
    pub verdict: Verdict,
    /// What the verdict is due to, where it is not the interval alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The mean of the real runs: nanoseconds, or a part of the CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real: Option<f64>,
    /// The mean of all copies of the simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<f64>,
    /// Requests of a real run that ended, on average.
    pub requests_real: f64,
    /// The same of the copies.
    pub requests_simulated: f64,
    /// How far the simulator may be off: a ratio less one, of shares a difference.
    pub bound: f64,
    /// How far it is off, in the same measure: of a ratio that of the geometric means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bias: Option<f64>,
    /// The lower end of the bias' interval of 90 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The standard deviation of one simulation under one seed, in the same measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<f64>,
    /// That of one real run under one seed, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_noise: Option<f64>,
    /// Whether seeds differ by more than the noise explains, so that the interval is made of how they differ.
    pub is_between_seeds: bool,
    /// Of an undecided figure: how many seeds it would take in all, as far as can be seen; absent where that is more than 10,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds_to_decide: Option<u32>,
}

impl FigureReport {
    /// How far it is off, in parts of its bound. Without an interval a figure that is biased is off without measure.
    pub fn off(&self) -> f64 {
        match self.bias {
            Some(bias) => (bias / self.bound).abs(),
            None if self.verdict == Verdict::Biased => f64::INFINITY,
            None => 0.0,
        }
    }
}

impl CellReport {
    pub(crate) fn new(cell: &Cell) -> CellReport {
        CellReport {
            scenario: cell.name.clone(),
            family: cell.family.clone(),
            policy: cell.pair.to_string(),
            venue: cell.place.name.name().into(),
            kernel: cell.kernel(),
            cpus: cell.cpus(),
            same_object: cell.is_same_object(),
            seeds: Vec::new(),
            length: cell.length,
            verdict: CellVerdict::NotRun,
            why: None,
            figures: Vec::new(),
            tasks_on_cpus_real: Vec::new(),
            tasks_on_cpus_simulated: Vec::new(),
        }
    }

    /// Judges what was seen, at least under one seed.
    pub(crate) fn judge(&mut self, samples: &[Sample]) {
        self.figures = judged(samples, self.same_object);
        let first = samples.first();
        let tasks =
            |runs: Option<&crate::observed::Observed>| runs.map(|run| run.tasks_on_cpus.clone()).unwrap_or_default();
        self.tasks_on_cpus_real = tasks(first.and_then(|sample| sample.real.first()));
        self.tasks_on_cpus_simulated = tasks(first.and_then(|sample| sample.copies.first()));
        let worst = self.figures.iter().map(|figure| figure.verdict).max();
        let is_judged = |figure: &FigureReport| figure.figure != Figure::Share && figure.verdict != Verdict::NotJudged;
        (self.verdict, self.why) = match worst {
            Some(Verdict::Biased) => (CellVerdict::Biased, None),
            Some(Verdict::Undecided) => (CellVerdict::Undecided, None),
            _ if !self.figures.iter().any(is_judged) => {
                (CellVerdict::Undecided, Some("no response time has enough requests: take longer runs".into()))
            }
            _ => (CellVerdict::Agrees, None),
        };
    }

    /// The figure that decides: of those with the cell's verdict the one that is furthest off.
    pub fn deciding(&self) -> Option<&FigureReport> {
        let rank = |figure: &&FigureReport| (figure.verdict, figure.off());
        self.figures.iter().max_by(|a, b| {
            let (a, b) = (rank(a), rank(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
    }

    /// How many seeds would decide it, if any number does.
    pub fn seeds_to_decide(&self) -> Option<u32> {
        let undecided = self.figures.iter().filter(|figure| figure.verdict == Verdict::Undecided);
        undecided.map(|figure| figure.seeds_to_decide).collect::<Option<Vec<u32>>>()?.into_iter().max()
    }
}

impl Counts {
    /// Those of some cells.
    pub fn of<'a>(cells: impl IntoIterator<Item = &'a CellReport>) -> Counts {
        let mut counts = Counts::default();
        for cell in cells {
            counts.cells += 1;
            *match cell.verdict {
                CellVerdict::Agrees => &mut counts.agrees,
                CellVerdict::Biased => &mut counts.biased,
                CellVerdict::Undecided => &mut counts.undecided,
                CellVerdict::Failed => &mut counts.failed,
                CellVerdict::NotRun => &mut counts.not_run,
            } += 1;
        }
        counts
    }
}

impl Agreement {
    /// That of some cells.
    pub fn new(cells: Vec<CellReport>, options: &Options) -> Agreement {
        Agreement { schema: SCHEMA.into(), copies: options.copies, counts: Counts::of(&cells), cells }
    }
}

/// The JSON schema of an [`Agreement`].
pub fn schema() -> serde_json::Value {
    schedlab_model::schema::printed::<Agreement>()
}

/// A report of nothing.
#[cfg(test)]
pub(crate) fn blank() -> CellReport {
    CellReport {
        scenario: "s".into(),
        family: None,
        policy: "rr".into(),
        venue: "vm".into(),
        kernel: "k".into(),
        cpus: 1,
        same_object: true,
        seeds: vec![1, 2, 3],
        length: 1,
        verdict: CellVerdict::NotRun,
        why: None,
        figures: Vec::new(),
        tasks_on_cpus_real: Vec::new(),
        tasks_on_cpus_simulated: Vec::new(),
    }
}
