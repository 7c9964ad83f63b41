//! Numbers out of what was seen.

use crate::language::{Metric, Share, StatusSpec};
use crate::runner::Observed;
use schedlab_campaign::{Ear, Hearing};
use schedlab_metrics::statistics::mean;
use schedlab_model::ids::{RequestId, RoleId, TaskId};
use schedlab_model::scenario::Notation;
use schedlab_model::selector::Selector;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Sink};
use schedlab_model::workload::Workload;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is heard of response times is kept under this name.
pub const NAME: &str = "responses";

/// How often each length of time occurred, in nanoseconds.
type Counts = BTreeMap<u64, u64>;

/// Response times of each role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Responses(BTreeMap<String, RoleResponses>);

/// Those of a role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct RoleResponses {
    from_begin: Counts,
    from_first_run: Counts,
}

impl Responses {
    /// How often a role's responses were of each length, in nanoseconds.
    pub fn counts(&self, role: &str, from_first_run: bool) -> impl Iterator<Item = (&u64, &u64)> {
        let role = self.0.get(role);
        let counts = role.map(|role| if from_first_run { &role.from_first_run } else { &role.from_begin });
        counts.into_iter().flatten()
    }

    /// The part of a role's responses from `from` to before `to`; none where there are no responses.
    fn share(&self, of: &Share, from: Time, to: Time) -> Option<f64> {
        let role = self.0.get(&of.role)?;
        let counts = if of.from_first_run { &role.from_first_run } else { &role.from_begin };
        let all: u64 = counts.values().sum();
        let within: u64 =
            counts.iter().filter(|(length, _)| (from.ns()..to.ns()).contains(length)).map(|(_, n)| n).sum();
        (all > 0).then(|| within as f64 / all as f64)
    }
}

/// Hears response times.
pub struct ResponseEar;

impl Ear for ResponseEar {
    fn name(&self) -> String {
        NAME.into()
    }

    fn listen<'a>(&self, workload: &'a Workload) -> Box<dyn Hearing + 'a> {
        Box::new(Listener {
            workload,
            tasks: BTreeMap::new(),
            roles: vec![RoleResponses::default(); workload.roles.len()],
        })
    }
}

/// Writes response times down while a run continues.
struct Listener<'a> {
    workload: &'a Workload,
    tasks: BTreeMap<TaskId, Heard>,
    roles: Vec<RoleResponses>,
}

/// What is known of a task.
struct Heard {
    role: RoleId,
    runs: bool,
    open: Vec<Open>,
}

/// A request that a task has begun.
struct Open {
    request: Option<RequestId>,
    begun: Time,
    first_run: Option<Time>,
}

impl Listener<'_> {
    fn end_request(&mut self, task: TaskId, request: Option<RequestId>, now: Time) {
        let Some(heard) = self.tasks.get_mut(&task) else { return };
        let Some(place) = heard.open.iter().position(|open| open.request == request) else { return };
        let Open { begun, first_run, .. } = heard.open.remove(place);
        if now < self.workload.run.warmup {
            return;
        }
        let role = &mut self.roles[heard.role.index()];
        let mut count = |counts: fn(&mut RoleResponses) -> &mut Counts, since: Option<Time>| {
            if let Some(since) = since {
                *counts(role).entry(now.ns() - since.ns()).or_default() += 1;
            }
        };
        count(|role| &mut role.from_begin, Some(begun));
        count(|role| &mut role.from_first_run, first_run);
    }
}

impl Hearing for Listener<'_> {
    fn end(self: Box<Self>) -> Value {
        let names = self.workload.roles.iter().map(|role| role.name.clone());
        json!(Responses(names.zip(self.roles).collect()))
    }
}

impl Sink for Listener<'_> {
    fn event(&mut self, event: &Event) {
        let now = event.time;
        match event.kind {
            EventKind::Fork { task, role, .. } => {
                self.tasks.insert(task, Heard { role, runs: false, open: Vec::new() });
            }
            EventKind::RequestBegin { task, intended, request } => {
                if let Some(heard) = self.tasks.get_mut(&task) {
                    let open = Open { request, begun: intended.min(now), first_run: heard.runs.then_some(now) };
                    heard.open.retain(|open| open.request != request);
                    heard.open.push(open);
                }
            }
            EventKind::RequestQueue { request, task: Some(task), .. } => {
                if let Some(heard) = self.tasks.get_mut(&task) {
                    heard.open.retain(|open| open.request != Some(request));
                }
            }
            EventKind::RequestEnd { task, request, .. } => self.end_request(task, request, now),
            EventKind::Switch { previous, next, .. } => {
                if let Some(heard) = previous.and_then(|task| self.tasks.get_mut(&task)) {
                    heard.runs = false;
                }
                if let Some(heard) = next.and_then(|task| self.tasks.get_mut(&task)) {
                    heard.runs = true;
                    heard.open.iter_mut().for_each(|open| _ = open.first_run.get_or_insert(now));
                }
            }
            _ => {}
        }
    }
}

/// What a metric is in a unit, of several runs their mean; what is wrong, when it is not there.
pub fn look_up(observed: &Observed, metric: Metric, unit: &str) -> Result<f64, String> {
    let value = match metric {
        Metric::Path(path) => selector(path)?.of(&observed.result)?.number,
        Metric::Share(share) => {
            mean(&shares(observed, share)?).ok_or_else(|| format!("no request of `{}` ended", share.role))?
        }
        Metric::Status(status) => mean(&words(observed, status)?)
            .ok_or_else(|| format!("nothing was said about `{}` by {}", status.role, status.at))?,
        Metric::Overhead(_) => return Err("overhead is estimated from several cases".into()),
    };
    Ok(in_unit(value, unit))
}

/// What a metric is in each run alone, in a unit; of runs that do not have it nothing.
pub fn look_up_each(observed: &Observed, metric: Metric, unit: &str) -> Vec<f64> {
    let values = match metric {
        Metric::Path(path) => {
            selector(path).map(|selector| selector.each(&observed.result).into_iter().flatten().collect())
        }
        Metric::Share(share) => shares(observed, share),
        Metric::Status(status) => words(observed, status),
        Metric::Overhead(_) => Ok(Vec::new()),
    };
    values.unwrap_or_default().into_iter().map(|value| in_unit(value, unit)).collect()
}

fn selector(path: &str) -> Result<Selector, String> {
    Selector::parse(path).map_err(|unknown| unknown.to_string())
}

fn shares(observed: &Observed, share: &Share) -> Result<Vec<f64>, String> {
    let (from, to) = (Time::read(&share.from)?, Time::read(&share.to)?);
    Ok(observed.responses.iter().filter_map(|run| run.share(share, from, to)).collect())
}

fn words(observed: &Observed, status: &StatusSpec) -> Result<Vec<f64>, String> {
    let at = Time::read(&status.at)?;
    Ok(observed.statuses.iter().filter_map(|run| run.at(status, at)).map(|word| word as f64).collect())
}

/// A number of nanoseconds, or a fraction, in a unit.
pub fn in_unit(value: f64, unit: &str) -> f64 {
    match unit {
        "s" => value / 1e9,
        "ms" => value / 1e6,
        "us" => value / 1e3,
        "%" => value * 100.0,
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_responses() {
        let counts = BTreeMap::from([(10, 1), (20, 3)]);
        let role = RoleResponses { from_begin: counts, ..RoleResponses::default() };
        let all = Responses(BTreeMap::from([("a".to_string(), role)]));
        let share = |role: &str, from_first_run: bool| Share {
            role: role.into(),
            from: String::new(),
            to: String::new(),
            from_first_run,
        };
        assert_eq!(all.share(&share("a", false), Time(20), Time(21)), Some(0.75));
        assert_eq!(all.share(&share("a", false), Time(10), Time(20)), Some(0.25));
        assert_eq!(all.share(&share("b", false), Time(0), Time(1)), None);
        assert_eq!(all.share(&share("a", true), Time(0), Time(1)), None);
    }
}
