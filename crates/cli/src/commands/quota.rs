//! `schedlab quota`: the smallest limit of a control group that keeps a target.

use crate::args::{QuotaArgs, SharedArgs};
use crate::failure::Failure;
use crate::job::{self, More};
use crate::{interrupt, output};
use schedlab_job::Done;
use schedlab_job::quota::{self, Tried};
use schedlab_model::ids::ControlGroupId;
use schedlab_model::outcome::Outcome;
use schedlab_model::scenario::{Notation, Scenario};
use schedlab_model::time::Time;
use schedlab_model::workload::Workload;
use schedlab_report::{Column, Percent, Table};
use schedlab_venue::{Monitor, VenueError};
use serde::Serialize;
use std::sync::Arc;

/// What `--json` prints.
#[derive(Serialize)]
struct Answer {
    schema: &'static str,
    scenario: String,
    control_group: String,
    role: String,
    statistic: String,
    target_ns: u64,
    policies: Vec<Curve>,
}

/// What was tried under a policy, by quota, and what came of it.
#[derive(Serialize)]
struct Curve {
    policy: String,
    /// Without a limit.
    unlimited: Point,
    points: Vec<Point>,
    /// The smallest quota from which on all meet the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    least_quota_ns: Option<u64>,
}

/// One limit.
#[derive(Clone, Serialize)]
struct Point {
    #[serde(skip_serializing_if = "Option::is_none")]
    quota_ns: Option<u64>,
    period_ns: u64,
    burst_ns: u64,
    /// The statistic, over the runs.
    value_ns: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    low_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_ns: Option<f64>,
    /// The part of periods that were throttled.
    #[serde(skip_serializing_if = "Option::is_none")]
    throttled_frac: Option<f64>,
    /// CPUs used.
    used_cpus: f64,
    meets: bool,
}

/// What is asked, found in a scenario.
struct Question<'a> {
    args: &'a QuotaArgs,
    scenario: Scenario,
    path: String,
    role: String,
    monitor: Arc<Monitor>,
}

/// Searches and prints.
pub fn run(args: QuotaArgs) -> Result<(), Failure> {
    if !(0.0..=1.0).contains(&args.burst) {
        return Err(Failure::Input(format!("a burst of {} quotas cannot be: write a part from 0 to 1", args.burst)));
    }
    let scenario = job::scenario(&args.shared)?;
    let workload = scenario.compile().map_err(VenueError::from)?;
    let (path, role) = whose(&workload, &args)?;
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let question = Question { args: &args, scenario, path, role, monitor };
    let specs: Vec<_> = args.policy.iter().flat_map(|list| list.iter().cloned()).collect();
    let mut policies = Vec::new();
    for spec in &specs {
        let Some(curve) = question.search(spec)? else { return Err(Failure::Interrupted) };
        policies.push(curve);
    }
    let answer = Answer {
        schema: "schedlab.quota/2",
        scenario: workload.name.clone(),
        control_group: question.path,
        role: question.role,
        statistic: args.target.statistic.clone(),
        target_ns: args.target.bound.ns(),
        policies,
    };
    if args.shared.json { output::print_json(&answer) } else { output::print(&answer.show()) }
}

/// The control group that is limited, and the role whose responses count.
fn whose(workload: &Workload, args: &QuotaArgs) -> Result<(String, String), Failure> {
    let tree = &workload.control_groups;
    let paths: Vec<&str> = tree.iter().skip(1).map(|(_, group)| group.path.as_str()).collect();
    let path = match (&args.control_group, paths.as_slice()) {
        (Some(path), _) => path.clone(),
        (None, [only]) => only.to_string(),
        (None, []) => {
            return Err(Failure::Input("the scenario has no control group that could be limited: add one".into()));
        }
        (None, several) => {
            return Err(Failure::Input(format!("name one with --control-group: {}", several.join(", "))));
        }
    };
    let id = tree.find(&path).filter(|id| *id != ControlGroupId::ROOT);
    let id = id.ok_or_else(|| Failure::Input(format!("there is no control group `{path}`: {}", paths.join(", "))))?;
    let inside = workload.roles.iter().filter(|role| tree.upward(role.control.begin).any(|above| above == id));
    let names: Vec<&str> = inside.map(|role| role.name.as_str()).collect();
    let role = match (&args.role, names.as_slice()) {
        (Some(role), _) => role.clone(),
        (None, [only]) => only.to_string(),
        (None, []) => return Err(Failure::Input(format!("no task begins in `{path}`: name one with --role"))),
        (None, several) => return Err(Failure::Input(format!("name one with --role: {}", several.join(", ")))),
    };
    match workload.roles.iter().any(|known| known.name == role) {
        true => Ok((path, role)),
        false => Err(Failure::Input(format!("there is no task `{role}`"))),
    }
}

impl Question<'_> {
    /// Tries limits under a policy; none where it was stopped.
    fn search(&self, spec: &schedlab_policy::PolicySpec) -> Result<Option<Curve>, Failure> {
        let Some(unlimited) = self.point(spec, None)? else { return Ok(None) };
        let cpus = f64::from(self.scenario.compile().map_err(VenueError::from)?.machine.cpus());
        let mut quotas =
            if unlimited.meets { quota::grid(unlimited.used_cpus, cpus, self.args.period) } else { Vec::new() };
        let (mut points, mut tried) = (Vec::new(), Vec::<Tried>::new());
        while !quotas.is_empty() {
            for quota in &quotas {
                let Some(point) = self.point(spec, Some(*quota))? else { return Ok(None) };
                tried.push((*quota, point.meets));
                points.push(point);
            }
            quotas = quota::next(&tried);
        }
        points.sort_by_key(|point: &Point| point.quota_ns);
        let least_quota_ns = quota::least(&tried).map(Time::ns);
        Ok(Some(Curve { policy: spec.to_string(), unlimited, points, least_quota_ns }))
    }

    /// Runs with a limit, or without one.
    fn point(&self, spec: &schedlab_policy::PolicySpec, quota: Option<Time>) -> Result<Option<Point>, Failure> {
        let period = self.args.period;
        let burst = quota.map_or(Time::ZERO, |quota| Time::from_us((quota.ns() as f64 * self.args.burst / 1e3) as u64));
        let max = quota.map_or_else(|| "max".into(), |quota| format!("{}/{}", quota.write(), period.write()));
        let place = |key: &str| format!("control_group.{}.{key}", self.path);
        let set = |scenario: Scenario, key: &str, value: String| {
            scenario.with_text(&place(key), &value).map_err(|error| Failure::Venue(VenueError::from(error)))
        };
        // Without a limit a burst that is there would have nothing to save up.
        let scenario = set(self.scenario.clone(), "burst", "0ns".into())?;
        let scenario = set(scenario, "max", max)?;
        let scenario = set(scenario, "burst", burst.write())?;
        let quiet = SharedArgs { quiet: true, ..self.args.shared.clone() };
        let job = job::of(&quiet, scenario, std::slice::from_ref(spec), More::default())?;
        let done = job::run_under(&job, &quiet, None, &self.monitor)?;
        self.read(done, quota, burst)
    }

    fn read(&self, done: Done, quota: Option<Time>, burst: Time) -> Result<Option<Point>, Failure> {
        if done.interrupted {
            return Ok(None);
        }
        if !done.failures.is_empty() {
            return Err(Failure::Policies(done.failures));
        }
        let Some((_, set)) = done.sets.first() else { return Ok(None) };
        let outcome: &Outcome = &set.result;
        let role = outcome.role(&self.role).expect("looked for before");
        let path = format!("response_ns.{}", self.args.target.statistic);
        let Some(value) = role.metrics.value(&path) else {
            return Err(Failure::Failed(format!("`{}` has no responses under this limit: a longer run", self.role)));
        };
        let limited = outcome.control_groups().into_iter().find(|group| group.path == self.path);
        let of = |path: &str| limited.and_then(|group| group.metrics.get(path));
        let high = value.interval.map_or(value.number, |interval| interval.high);
        Ok(Some(Point {
            quota_ns: quota.map(Time::ns),
            period_ns: self.args.period.ns(),
            burst_ns: burst.ns(),
            value_ns: value.number,
            low_ns: value.interval.map(|interval| interval.low),
            high_ns: value.interval.map(|interval| interval.high),
            throttled_frac: of("nr_throttled").zip(of("nr_periods")).map(|(some, all)| some / all.max(1.0)),
            used_cpus: of("usage_share").unwrap_or(0.0) * f64::from(outcome.scenario().cpus),
            meets: high <= self.args.target.bound.ns() as f64,
        }))
    }
}

impl Answer {
    fn show(&self) -> String {
        let mut text = String::new();
        for curve in &self.policies {
            text += &format!(
                "{} under {}: {} of the responses of `{}` by the limit of `{}`\n\n",
                self.scenario, curve.policy, self.statistic, self.role, self.control_group
            );
            text += &curve.table(&self.statistic).show(output::style());
            text += "\n";
            text += &self.conclusion(curve);
        }
        text
    }

    fn conclusion(&self, curve: &Curve) -> String {
        let target = format!("{} ≤ {}", self.statistic, Time(self.target_ns));
        let least =
            curve.points.iter().find(|point| point.quota_ns.is_some() && point.quota_ns == curve.least_quota_ns);
        match least {
            Some(point) => {
                let quota = Time(point.quota_ns.unwrap_or_default());
                let cpus = quota.ns() as f64 / point.period_ns as f64;
                let used = point.used_cpus;
                format!(
                    "{target} takes {quota}/{}, which is {cpus:.2} CPUs for {used:.2} that are used.\n",
                    Time(point.period_ns)
                )
            }
            None if curve.unlimited.meets => format!("{target}: no limit that was tried keeps it.\n"),
            None => format!("{target} is not met without a limit either: {}.\n", Time(curve.unlimited.value_ns as u64)),
        }
    }
}

impl Curve {
    fn table(&self, statistic: &str) -> Table {
        let rows = || self.points.iter().chain([&self.unlimited]);
        let limit = |point: &Point| {
            point.quota_ns.map_or("none".into(), |quota| format!("{}/{}", Time(quota), Time(point.period_ns)))
        };
        let cpus = |point: &Point| {
            point.quota_ns.map_or("-".into(), |quota| format!("{:.2}", quota as f64 / point.period_ns as f64))
        };
        let yes = |point: &Point| if point.meets { "yes".to_string() } else { "no".into() };
        let mut columns = vec![
            Column::words("limit", rows().map(limit)),
            Column::numbers("CPUs", rows().map(cpus)),
            Column::times(statistic, rows().map(|point| Some(point.value_ns)).collect::<Vec<_>>()),
        ];
        if rows().any(|point| point.high_ns.is_some()) {
            columns.push(
                Column::times("from", rows().map(|point| point.low_ns).collect::<Vec<_>>()).under("95 % interval"),
            );
            columns.push(
                Column::times("to", rows().map(|point| point.high_ns).collect::<Vec<_>>()).under("95 % interval"),
            );
        }
        columns.push(Column::numbers("throttled %", rows().map(|point| Percent::show(point.throttled_frac))));
        columns.push(Column::words("met", rows().map(yes)));
        Table::new(columns)
    }
}
