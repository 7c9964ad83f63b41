//! Which commit made a gate fail: git's own bisection, in a clone that shares the repository's objects. The user's work tree
//! and references stay as they are, also when the program is killed.

use crate::git::{Commit, GitError, Repository};
use crate::{Baseline, Gate, GateError, Outcomes, Plan, Report, Sources};
use schedlab_boundary::own::Folder;
use schedlab_campaign::Runner;
use schemars::JsonSchema;
use serde::Serialize;

/// The form of the JSON.
const FORM: &str = "schedlab.bisect/1";

/// What a gate says of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// It passes.
    Good,
    /// A bound does not hold.
    Bad,
    /// Nothing can be said: it cannot be built or loaded, or the gate is inconclusive.
    Skip,
}

/// A commit that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// Its hash.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    /// What the gate says.
    pub mark: Mark,
    /// Why.
    pub why: String,
}

/// What a bisection came to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bisected {
    /// The form.
    pub schema: &'static str,
    /// The first bad commit, or those among which it is where some could not be looked at.
    pub first_bad: Vec<String>,
    /// All commits that were looked at, in order.
    pub steps: Vec<Step>,
}

/// What `schedlab bisect --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer<'a> {
    /// What the bisection came to.
    #[serde(flatten)]
    pub found: &'a Bisected,
    /// The gate at the first bad commit, held against its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<&'a Report>,
}

/// Why there is no bisection.
#[derive(Debug, thiserror::Error)]
pub enum BisectError {
    /// Something of the gate or of git.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// An end is not what it was said to be.
    #[error("{0}")]
    End(String),
    /// It was stopped.
    #[error("it was stopped")]
    Stopped,
}

impl From<GitError> for BisectError {
    fn from(error: GitError) -> BisectError {
        BisectError::Gate(error.into())
    }
}

/// Looks at commits.
pub struct Bisection<'a> {
    gate: &'a Gate,
    sources: &'a Sources,
    runner: &'a Runner<'a>,
    repository: Repository,
    /// A clone, in which git bisects.
    clone: Repository,
    _folder: Folder,
    /// What relative bounds are held against: the gate's baseline, or what was measured at the good end.
    baseline: Option<Baseline>,
    steps: Vec<Step>,
}

/// What was seen at a commit.
pub struct Sight {
    /// What there was to run.
    pub plan: Plan,
    /// What came of it.
    pub outcomes: Outcomes,
    /// What the gate says.
    pub report: Report,
}

impl<'a> Bisection<'a> {
    /// For a gate whose policies change with the commits of a repository.
    ///
    /// # Errors
    ///
    /// There is no repository, or it cannot be cloned.
    pub fn new(gate: &'a Gate, sources: &'a Sources, runner: &'a Runner<'a>) -> Result<Bisection<'a>, BisectError> {
        let repository = Repository::find(sources.folder())?;
        let folder = Folder::new().map_err(GitError::Place)?;
        let top = folder.path().join("clone");
        let [from, to] = [&repository.top, &top].map(|path| path.display().to_string());
        repository.git(&["clone", "--quiet", "--shared", "--no-checkout", &from, &to])?;
        let clone = Repository { top };
        Ok(Bisection { gate, sources, runner, repository, clone, _folder: folder, baseline: None, steps: Vec::new() })
    }

    /// Finds the first bad commit between two revisions. `tell` hears of each commit that is looked at.
    ///
    /// # Errors
    ///
    /// An end is not what it is said to be, or git refuses.
    pub fn find(&mut self, good: &str, bad: &str, tell: &dyn Fn(&Step)) -> Result<Bisected, BisectError> {
        let [good, bad] = [self.repository.commit(good)?, self.repository.commit(bad)?];
        self.expect(&good, Mark::Good, tell)?;
        self.expect(&bad, Mark::Bad, tell)?;
        // The command that builds may have changed files.
        self.clone.git(&["reset", "--quiet", "--hard"])?;
        let mut told = self.clone.git(&["bisect", "start", &bad.hash, &good.hash])?;
        loop {
            if told.contains("is the first bad commit") {
                return self.ended();
            }
            let commit = self.clone.commit("HEAD")?;
            let step = self.look(&commit)?;
            tell(&step);
            let mark = match step.mark {
                Mark::Good => "good",
                Mark::Bad => "bad",
                Mark::Skip => "skip",
            };
            self.steps.push(step);
            // What a build changed is not in the way of the next commit.
            self.clone.git(&["reset", "--quiet", "--hard"])?;
            told = match self.clone.git(&["bisect", mark]) {
                Err(GitError::Refused { why, .. }) if why.contains("'skip'ped commits left") => return self.ended(),
                told => told?,
            };
        }
    }

    /// The bad commit, or all that may be it.
    fn ended(&mut self) -> Result<Bisected, BisectError> {
        let listed = self.clone.git(&["for-each-ref", "--format=%(refname)", "refs/bisect/good-*"])?;
        let mut words = vec!["rev-list", "refs/bisect/bad", "--not"];
        words.extend(listed.lines());
        let first_bad = self.clone.git(&words)?.lines().map(String::from).collect();
        Ok(Bisected { schema: FORM, first_bad, steps: std::mem::take(&mut self.steps) })
    }

    /// Looks at an end. Where the gate has no baseline, the good end is what all others are held against.
    fn expect(&mut self, commit: &Commit, mark: Mark, tell: &dyn Fn(&Step)) -> Result<(), BisectError> {
        let step = self.look(commit)?;
        tell(&step);
        let is_so = step.mark == mark;
        let told = match (mark, step.mark) {
            (_, Mark::Skip) => "the gate says nothing about it",
            (Mark::Good, _) => "it is bad: name an older good revision, or change the bounds",
            _ => "the gate passes there: name a bad revision, or make the bounds tighter",
        };
        let why = if step.why.is_empty() { String::new() } else { format!(" ({})", step.why) };
        self.steps.push(step);
        match is_so {
            true => Ok(()),
            false => Err(BisectError::End(format!("{} \"{}\": {told}{why}", commit.short(), commit.subject))),
        }
    }

    fn look(&mut self, commit: &Commit) -> Result<Step, BisectError> {
        let step =
            |mark: Mark, why: String| Step { commit: commit.hash.clone(), subject: commit.subject.clone(), mark, why };
        let sight = match self.sight(commit)? {
            Ok(sight) => sight,
            Err(why) => return Ok(step(Mark::Skip, why)),
        };
        let counts = sight.report.counts;
        let mark = match (counts.failed, counts.absent + counts.inconclusive) {
            (1.., _) => Mark::Bad,
            (0, 1..) => Mark::Skip,
            (0, 0) => Mark::Good,
        };
        let first = sight.report.checks.first().filter(|_| mark != Mark::Good);
        let why = first.map_or(String::new(), |row| format!("{}: {}", row.name(), row.why.join(", ")));
        Ok(step(mark, why))
    }

    /// What the gate sees at a commit; or why it sees nothing there.
    ///
    /// # Errors
    ///
    /// What has nothing to do with the commit.
    pub fn sight(&mut self, commit: &Commit) -> Result<Result<Sight, String>, BisectError> {
        self.clone.git(&["checkout", "--quiet", "--force", "--detach", &commit.hash])?;
        let mut sources = self.sources.in_tree(&self.clone.top)?;
        for policy in &self.gate.policies {
            if let Err(error) = sources.now(policy) {
                return Ok(Err(error.to_string()));
            }
        }
        let mut plan = Plan::new(self.gate.clone(), &mut sources)?;
        if let Some(baseline) = &self.baseline {
            plan.baseline = Some(baseline.clone());
        }
        let is_without = plan.needs_baseline() && plan.baseline.is_none();
        if !is_without {
            plan.check_baseline()?;
        }
        let outcomes = match plan.run(self.runner) {
            Ok(outcomes) if outcomes.stopped => return Err(BisectError::Stopped),
            Ok(outcomes) => outcomes,
            // It cannot be loaded.
            Err(error) => return Ok(Err(error.to_string())),
        };
        if let Some(why) = outcomes.not_loaded() {
            return Ok(Err(why));
        }
        if is_without {
            match plan.measured(&outcomes) {
                Ok(measured) => self.baseline = Some(measured.clone()),
                Err(error) => return Ok(Err(error.to_string())),
            }
            plan.baseline.clone_from(&self.baseline);
        }
        let report = plan.judge(&outcomes);
        Ok(Ok(Sight { plan, outcomes, report }))
    }

    /// What the gate sees at a commit where its first parent is the baseline, and since which switch it is so.
    ///
    /// # Errors
    ///
    /// What has nothing to do with the commits.
    pub fn pair(&mut self, bad: &str) -> Result<Result<[Sight; 2], String>, BisectError> {
        let (before, after) = (self.repository.commit(&format!("{bad}^"))?, self.repository.commit(bad)?);
        self.baseline = None;
        let mut both = Vec::new();
        for commit in [&before, &after] {
            match self.sight_of_own(commit, both.first())? {
                Ok(sight) => both.push(sight),
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(both.try_into().map_err(|_| "there are two commits".to_string()))
    }

    /// The same where only what was seen at another commit is held against it.
    fn sight_of_own(&mut self, commit: &Commit, before: Option<&Sight>) -> Result<Result<Sight, String>, BisectError> {
        if let Some(before) = before {
            self.baseline = before.plan.measured(&before.outcomes).ok();
        }
        let sight = self.sight(commit)?;
        let Ok(mut sight) = sight else { return Ok(sight) };
        if let Some(before) = before {
            sight.plan.explain_against(&mut sight.report, &before.plan, self.runner);
        }
        Ok(Ok(sight))
    }
}
