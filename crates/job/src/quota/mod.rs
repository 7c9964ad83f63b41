//! The least limit, weight or burst of a control group that keeps a target of response times.

mod judge;
mod ladder;

use self::judge::Requests;
use crate::{Done, Job, Options};
use schedlab_campaign::Runner;
use schedlab_model::control_group::{Bandwidth, DEFAULT_PERIOD, MIN_QUOTA};
use schedlab_model::ids::ControlGroupId;
use schedlab_model::outcome::Outcome;
use schedlab_model::scenario::{Notation, Scenario, ScenarioError, did_you_mean};
use schedlab_model::time::Time;
use schedlab_model::workload::{Role, Step, Workload};
use schedlab_report::quota::{Answer, Curve, Knob, Point, SCHEMA};
use schedlab_venue::{Policy, VenueError};
use std::str::FromStr;

/// What is wanted, as a user says it.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// What is searched for.
    pub search: Knob,
    /// The target.
    pub target: Target,
    /// The path of the control group; the scenario's only one where it is absent.
    pub control_group: Option<String>,
    /// The role whose responses count; the only one in the control group where it is absent.
    pub role: Option<String>,
    /// The period of limits that are searched for; 100 ms where it is absent.
    pub period: Option<Time>,
    /// Their burst, as a part of the quota; none where it is absent.
    pub burst: Option<f64>,
    /// The limit under which a weight or a burst is searched for, as `max` in a scenario; the scenario's where it is absent.
    pub limit: Option<String>,
}

/// A bound of a statistic of response times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The statistic.
    pub statistic: String,
    /// Its maximum.
    pub bound: Time,
}

/// The statistics that can be bounded.
const STATISTICS: [&str; 6] = ["mean", "p50", "p90", "p99", "p999", "max"];

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let (statistic, bound) = text.split_once('=').ok_or("write a statistic and a time, as in p99=20ms")?;
        if !STATISTICS.contains(&statistic) {
            return Err(format!("`{statistic}` is none of {}", STATISTICS.join(", ")));
        }
        Ok(Target { statistic: statistic.into(), bound: Time::read(bound)? })
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum QuotaError {
    /// What was asked cannot be.
    #[error("{0}")]
    Input(String),
    /// A setting under which nothing can be said.
    #[error("{0}")]
    Failed(String),
    /// Policies that cannot obey what is searched for: what each lacks.
    #[error("{}", .0.join("; "))]
    Unfit(Vec<String>),
    /// A policy failed.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Policies(Vec<VenueError>),
    /// Anything else.
    #[error(transparent)]
    Venue(#[from] VenueError),
    /// It was stopped.
    #[error("interrupted")]
    Stopped,
}

/// What is asked, found in a scenario.
pub struct Question {
    wanted: Wanted,
    scenario: Scenario,
    path: String,
    role: String,
    /// The limit that the scenario has.
    limit: Bandwidth,
    machine_cpus: u32,
    /// Whether all work of the control group comes from outside, whether or not it keeps up with it.
    is_open: bool,
}

/// What is searched for in one search, in whole numbers of a unit.
struct Ladder {
    unit: u64,
    /// What is tried at first.
    least: u64,
    most: u64,
    /// The least that can be.
    floor: u64,
}

impl Question {
    /// Finds in a scenario what is wanted.
    ///
    /// # Errors
    ///
    /// There is no such control group or role, it is not clear which, or the parts do not fit.
    pub fn new(mut scenario: Scenario, wanted: Wanted) -> Result<Question, QuotaError> {
        let input = |message: String| Err(QuotaError::Input(message));
        let mut workload = scenario.compile().map_err(VenueError::from)?;
        let (id, path) = group(&workload, wanted.control_group.as_deref())?;
        let role = role(&workload, id, &path, wanted.role.as_deref())?;
        if let Some(limit) = &wanted.limit {
            if wanted.search == Knob::Limit {
                return input("a limit is what a search for a weight or a burst keeps: leave it out".into());
            }
            let changed = scenario.with_text(&format!("control_group.{path}.max"), limit);
            let wrong = |error: ScenarioError| QuotaError::Input(format!("the limit `{limit}`: {}", error.message));
            scenario = changed.map_err(wrong)?;
            workload = scenario.compile().map_err(wrong)?;
        }
        let limit = workload.control_groups[id].knobs.bandwidth;
        if let Some(burst) = wanted.burst.filter(|burst| !(0.0..=1.0).contains(burst)) {
            return input(format!("the burst is a part of the quota: write a number from 0 to 1, not {burst}"));
        }
        if wanted.search != Knob::Limit && (wanted.period.is_some() || wanted.burst.is_some()) {
            return input(
                "a period and a burst are the form of the limits that a search for a limit tries: leave them out"
                    .into(),
            );
        }
        if let Some(period) = wanted.period
            && let Some(refusal) = (Bandwidth { period, ..Bandwidth::default() }).refusal()
        {
            return input(refusal);
        }
        if wanted.search == Knob::Burst && limit.quota.is_none() {
            return input(format!(
                "`{path}` has no limit whose burst could be searched for: give it one, as 200ms/100ms"
            ));
        }
        let machine_cpus = workload.machine.cpus();
        let is_open = inside(&workload, id).all(|role| comes_from_outside(role, &workload));
        Ok(Question { wanted, scenario, path, role, limit, machine_cpus, is_open })
    }

    /// Searches under each policy.
    ///
    /// # Errors
    ///
    /// See [`QuotaError`].
    pub fn answer(&self, policies: &[Policy], options: &Options, runner: &Runner) -> Result<Answer, QuotaError> {
        let [place] = options.places.as_slice() else {
            return Err(QuotaError::Input("a search runs in one venue: name one".into()));
        };
        let lacks: Vec<String> = policies.iter().filter_map(|policy| self.lacking_operation(policy)).collect();
        if !lacks.is_empty() {
            return Err(QuotaError::Unfit(lacks));
        }
        let policies = policies.iter().map(|policy| self.search(policy, options, runner)).collect::<Result<_, _>>()?;
        Ok(Answer {
            schema: SCHEMA.into(),
            scenario: self.scenario.name.clone(),
            venue: place.name.name().into(),
            control_group: self.path.clone(),
            role: self.role.clone(),
            search: self.wanted.search,
            statistic: self.wanted.target.statistic.clone(),
            target_ns: self.wanted.target.bound.ns(),
            runs: options.runs,
            policies,
        })
    }

    /// Tries settings under a policy.
    fn search(&self, policy: &Policy, options: &Options, runner: &Runner) -> Result<Curve, QuotaError> {
        let point = |setting, demand_cpus| {
            let (done, weight, limit) = self.carry_out(setting, policy, options, runner)?;
            self.read(done, weight, limit, demand_cpus)
        };
        let loosest = point(None, None)?;
        // Tasks that always have work use any quota; what comes from outside has to be done.
        let demand_cpus = Some(loosest.used_cpus).filter(|_| self.is_open && self.wanted.search == Knob::Limit);
        let ladder = self.ladder(loosest.used_cpus);
        let mut settings = if loosest.meets { ladder::grid(ladder.least, ladder.most) } else { Vec::new() };
        let (mut points, mut tried) = (Vec::new(), Vec::<ladder::Tried>::new());
        while !settings.is_empty() {
            for setting in &settings {
                match point(Some(setting * ladder.unit), demand_cpus) {
                    Ok(point) => {
                        tried.push((*setting, point.meets));
                        points.push(point);
                    }
                    // No request ended: that meets no target.
                    Err(QuotaError::Failed(_)) => tried.push((*setting, false)),
                    Err(error) => return Err(error),
                }
            }
            settings = ladder::next(&tried, ladder.floor);
        }
        self.refuse_without_effect(policy, &loosest, &points)?;
        points.sort_by_key(|point: &Point| point.setting(self.wanted.search));
        let least = ladder::least(&tried).map(|setting| setting * ladder.unit);
        let of = |knob: Knob| least.filter(|_| self.wanted.search == knob);
        Ok(Curve {
            policy: policy.label.clone(),
            loosest,
            points,
            least_quota_ns: of(Knob::Limit),
            least_weight: of(Knob::Weight).map(|weight| weight as u32),
            least_burst_ns: of(Knob::Burst),
        })
    }

    /// What a policy lacks that does not hear of a setting, and so cannot obey it.
    fn lacking_operation(&self, policy: &Policy) -> Option<String> {
        let (operation, what) = match self.wanted.search {
            Knob::Weight => ("cgroup_set_weight", "weights"),
            Knob::Limit | Knob::Burst => ("cgroup_set_bandwidth", "limits"),
        };
        (policy.has_operation(operation) == Some(false)).then(|| {
            format!(
                "{} has no {operation}: it ignores the {what} of control groups; search under a policy that obeys them, as \
                 eevdf:version=7.3",
                policy.label
            )
        })
    }

    /// The same figures under the least setting and the loosest are those of a policy that ignores the setting. A burst may be
    /// of no use.
    fn refuse_without_effect(&self, policy: &Policy, loosest: &Point, points: &[Point]) -> Result<(), QuotaError> {
        let figures = |point: &Point| (point.value_ns.to_bits(), point.used_cpus.to_bits());
        let what = match self.wanted.search {
            Knob::Burst => return Ok(()),
            Knob::Limit => "limits of control groups",
            Knob::Weight => "weights of control groups, or nothing competes with it",
        };
        // A quota above what the tasks use has no effect on them.
        let binds = |point: &Point| {
            let quota_cpus = point.quota_ns.map(|quota| quota as f64 / point.period_ns as f64);
            self.wanted.search == Knob::Weight || quota_cpus.is_some_and(|cpus| cpus < 0.9 * loosest.used_cpus)
        };
        let is_same = points.iter().all(|point| figures(point) == figures(loosest));
        if !is_same || !points.iter().any(binds) {
            return Ok(());
        }
        Err(QuotaError::Input(format!(
            "under {} no {} of `{}` changes anything: it ignores the {what}",
            policy.label,
            self.wanted.search.name(),
            self.path
        )))
    }

    /// What is tried, for tasks that use this many CPUs with the loosest setting.
    fn ladder(&self, used_cpus: f64) -> Ladder {
        const MS: u64 = 1_000_000;
        match self.wanted.search {
            Knob::Limit => {
                let period_ms = self.period().ns() as f64 / MS as f64;
                let least = (0.8 * used_cpus * period_ms).round().max((MIN_QUOTA.ns() / MS) as f64);
                Ladder {
                    unit: MS,
                    least: least as u64,
                    most: (f64::from(self.machine_cpus) * period_ms).round() as u64,
                    floor: MIN_QUOTA.ns() / MS,
                }
            }
            Knob::Weight => Ladder { unit: 1, least: 1, most: MOST_WEIGHT, floor: 1 },
            Knob::Burst => {
                // A kernel counts whole microseconds.
                let unit = (self.quota().ns() / 100).next_multiple_of(1_000);
                Ladder { unit, least: 0, most: self.quota().ns() / unit, floor: 0 }
            }
        }
    }

    fn period(&self) -> Time {
        self.wanted.period.unwrap_or(DEFAULT_PERIOD)
    }

    /// The quota of the scenario, where its burst is searched for.
    fn quota(&self) -> Time {
        self.limit.quota.unwrap_or_default()
    }

    /// Runs with a setting, or with as much as can be given.
    fn carry_out(
        &self,
        setting: Option<u64>,
        policy: &Policy,
        options: &Options,
        runner: &Runner,
    ) -> Result<(Done, Option<u32>, Bandwidth), QuotaError> {
        let (scenario, weight, limit) = self.with(setting)?;
        let job = Job::new(scenario, &[], vec![policy.clone()], options.clone())?;
        Ok((job.run(&job.shares()?, runner)?, weight, limit))
    }

    /// The scenario with a setting, its weight where that is searched for, and its limit.
    fn with(&self, setting: Option<u64>) -> Result<(Scenario, Option<u32>, Bandwidth), QuotaError> {
        let place = |key: &str| format!("control_group.{}.{key}", self.path);
        let write = |scenario: Scenario, key: &str, value: String| {
            scenario.with_text(&place(key), &value).map_err(|error| QuotaError::Venue(VenueError::from(error)))
        };
        let scenario = self.scenario.clone();
        match self.wanted.search {
            Knob::Limit => {
                let period = self.period();
                let quota = setting.map(Time);
                let part = self.wanted.burst.unwrap_or(0.0);
                let burst = quota.map_or(Time::ZERO, |quota| Time::from_us((quota.ns() as f64 * part / 1e3) as u64));
                let max = quota.map_or_else(|| "max".into(), |quota| format!("{}/{}", quota.write(), period.write()));
                // Without a limit a burst that is there would have nothing to save up.
                let scenario = write(scenario, "burst", Time::ZERO.write())?;
                let scenario = write(write(scenario, "max", max)?, "burst", burst.write())?;
                Ok((scenario, None, Bandwidth { quota, period, burst }))
            }
            Knob::Weight => {
                let weight = setting.unwrap_or(MOST_WEIGHT) as u32;
                let scenario = scenario.with_number(&place("weight"), weight).map_err(VenueError::from)?;
                Ok((scenario, Some(weight), self.limit))
            }
            Knob::Burst => {
                let burst = setting.map_or(self.quota(), Time);
                Ok((write(scenario, "burst", burst.write())?, None, Bandwidth { burst, ..self.limit }))
            }
        }
    }

    /// What came of a setting. `demand_cpus` is what the tasks need on average, where they need the same under any setting.
    fn read(
        &self,
        done: Done,
        weight: Option<u32>,
        limit: Bandwidth,
        demand_cpus: Option<f64>,
    ) -> Result<Point, QuotaError> {
        if done.interrupted {
            return Err(QuotaError::Stopped);
        }
        if !done.failures.is_empty() {
            return Err(QuotaError::Policies(done.failures));
        }
        let Some((_, set)) = done.sets.first() else { return Err(QuotaError::Stopped) };
        let outcome: &Outcome = &set.result;
        let role = outcome.role(&self.role).expect("looked for before");
        let path = format!("response_ns.{}", self.wanted.target.statistic);
        let Some(value) = role.metrics.value(&path) else {
            let (role, knob) = (&self.role, self.wanted.search.name());
            return Err(QuotaError::Failed(format!("`{role}` has no responses under this {knob}: a longer run")));
        };
        let limited = outcome.control_groups().into_iter().find(|group| group.path == self.path);
        let of = |path: &str| limited.and_then(|group| group.metrics.get(path));
        let requests = Requests::of(role.metrics);
        let least = requests.least(&self.wanted.target.statistic);
        let high = value.interval.map_or(value.number, |interval| interval.high).max(least);
        let limit_cpus = limit.quota.map(|quota| quota.ns() as f64 / limit.period.ns() as f64);
        let overloaded = requests.pile_up() || demand_cpus.zip(limit_cpus).is_some_and(|(need, limit)| need > limit);
        Ok(Point {
            weight,
            quota_ns: limit.quota.map(Time::ns),
            period_ns: limit.period.ns(),
            burst_ns: limit.burst.ns(),
            value_ns: value.number.max(least),
            low_ns: value.interval.map(|interval| interval.low.max(least)),
            high_ns: value.interval.map(|_| high),
            throttled_frac: of("nr_throttled").zip(of("nr_periods")).map(|(some, all)| some / all.max(1.0)),
            used_cpus: of("usage_share").unwrap_or(0.0) * f64::from(outcome.scenario().cpus),
            overloaded,
            meets: !overloaded && high <= self.wanted.target.bound.ns() as f64,
        })
    }
}

/// The greatest `cpu.weight`.
const MOST_WEIGHT: u64 = 10_000;

/// The control group that is meant, and its path.
fn group(workload: &Workload, wanted: Option<&str>) -> Result<(ControlGroupId, String), QuotaError> {
    let tree = &workload.control_groups;
    let paths: Vec<&str> = tree.iter().skip(1).map(|(_, group)| group.path.as_str()).collect();
    let path = match (wanted, paths.as_slice()) {
        (Some(path), _) => path,
        (None, [only]) => only,
        (None, []) => {
            let message = "the scenario has no control group that could be limited: add one";
            return Err(QuotaError::Input(message.into()));
        }
        (None, several) => {
            let several = several.join(", ");
            let message = format!("the scenario has several control groups; name one of them: {several}");
            return Err(QuotaError::Input(message));
        }
    };
    let id = tree.find(path).filter(|id| *id != ControlGroupId::ROOT);
    let none = || QuotaError::Input(format!("there is no control group `{path}`{}", nearest(path, &paths)));
    Ok((id.ok_or_else(none)?, path.to_string()))
}

/// The roles that begin in a control group or below it.
fn inside(workload: &Workload, group: ControlGroupId) -> impl Iterator<Item = &Role> {
    let tree = &workload.control_groups;
    workload.roles.iter().filter(move |role| tree.upward(role.control.begin).any(|above| above == group))
}

/// Whether a role's work comes from outside of the machine: its tasks arrive, or take the messages of a source.
fn comes_from_outside(role: &Role, workload: &Workload) -> bool {
    let is_fed = |step: &Step| match step {
        Step::Recv(channel, _) => workload.sources.iter().any(|source| source.channel == *channel),
        _ => false,
    };
    role.birth.arrives() || role.program.steps.iter().any(is_fed)
}

/// The role whose responses count.
fn role(workload: &Workload, group: ControlGroupId, path: &str, wanted: Option<&str>) -> Result<String, QuotaError> {
    let names: Vec<&str> = inside(workload, group).map(|role| role.name.as_str()).collect();
    let all: Vec<&str> = workload.roles.iter().map(|role| role.name.as_str()).collect();
    let input = |message: String| Err(QuotaError::Input(message));
    let role = match (wanted, names.as_slice()) {
        (Some(role), _) => role,
        (None, [only]) => only,
        (None, []) => {
            return input(format!(
                "no task begins in `{path}`; name the role whose responses count: {}",
                all.join(", ")
            ));
        }
        (None, several) => {
            let several = several.join(", ");
            return input(format!("several roles begin in `{path}`; name the one whose responses count: {several}"));
        }
    };
    match all.contains(&role) {
        true => Ok(role.into()),
        false => input(format!("there is no task `{role}`{}", nearest(role, &all))),
    }
}

/// The known name that is meant, where one is close; otherwise all of them.
fn nearest(wrong: &str, known: &[&str]) -> String {
    match did_you_mean(wrong, known.iter().copied()) {
        hint if hint.is_empty() => format!(": {}", known.join(", ")),
        hint => hint,
    }
}
