//! `[[source]]`: messages that come from outside of the machine, as requests to a server come by a network.

use super::{
    At, Fault, Scenario, Text, did_you_mean,
    objects::{Names, ObjectKind},
    program::{MAX_REQUESTS_AT_ONCE, RoleInfo},
    quantity::can_take_time,
    waits::received,
};
use crate::{
    distribution::Distribution,
    time::Time,
    workload::{self, Schedule},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One `[[source]]`: an open workload without a task of its own. Each message is a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The name; the channel's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The channel into which the messages go.
    pub channel: String,
    /// The time from one arrival to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Text<Distribution>>,
    /// The instants of the arrivals, ascending, instead of `arrivals`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Vec<Text<Time>>>,
    /// How many messages come at each arrival; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub messages: Option<u32>,
    /// When the arrivals begin; the start of the run when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Text<Time>>,
    /// The most arrivals; no bound when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
}

/// All sources, each known to be right.
pub(crate) fn sources(
    scenario: &Scenario,
    roles: &[RoleInfo],
    names: &Names,
    duration: Time,
    at: &At,
) -> Result<Vec<workload::Source>, Fault> {
    let taken: BTreeSet<&str> = roles.iter().flat_map(|g| &g.steps).filter_map(|flat| received(flat.step)).collect();
    let mut known = BTreeSet::new();
    let each = scenario.sources.iter().enumerate().map(|(index, source)| {
        let here = at.index(index);
        let name = source.name.as_deref().unwrap_or(&source.channel);
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            return Err(here.key("name").fault("a source's name is one line and not empty: change it"));
        }
        if !known.insert(name) {
            return Err(here.fault(format!("there are two sources `{name}`: give each a `name` of its own")));
        }
        if !taken.contains(source.channel.as_str()) {
            let hint = did_you_mean(&source.channel, taken.iter().copied());
            let hint = if hint.is_empty() { ": add a `recv`".into() } else { hint };
            return Err(here.key("channel").fault(format!("no task receives from `{}`{hint}", source.channel)));
        }
        Ok(workload::Source {
            name: name.into(),
            channel: names.id(ObjectKind::Channel, &source.channel),
            messages: messages(source.messages.unwrap_or(1), &here.key("messages"))?,
            schedule: schedule(source, duration, &here)?,
        })
    });
    each.collect()
}

fn messages(number: u32, at: &At) -> Result<u32, Fault> {
    if number > MAX_REQUESTS_AT_ONCE {
        return Err(at.fault(format!("{number} messages at once are too many: at most {MAX_REQUESTS_AT_ONCE} fit")));
    }
    at_least_one(number, at)
}

fn schedule(source: &Source, duration: Time, at: &At) -> Result<Schedule, Fault> {
    let first = source.start.as_ref().map_or(Time::ZERO, |start| start.0);
    if first >= duration {
        let message = format!("the source begins at {first}, when the run of {duration} is over: start it earlier");
        return Err(at.key("start").fault(message));
    }
    match (&source.arrivals, &source.at) {
        (Some(_), Some(_)) => Err(at.key("at").fault("`arrivals` and `at` both say when messages come: keep one")),
        (None, None) => {
            Err(at.fault("when do messages come? write arrivals = \"exp(2ms)\", or at = [\"1ms\", \"5ms\"]"))
        }
        (Some(gap), None) if !can_take_time(gap) => {
            Err(at.key("arrivals").fault("arrivals without time between them never end: write a longer time"))
        }
        (Some(gap), None) => {
            let limit = source.limit.map(|limit| at_least_one(limit, &at.key("limit"))).transpose()?;
            Ok(Schedule::Drawn { first, gap: gap.0.clone(), limit })
        }
        (None, Some(_)) if source.start.is_some() || source.limit.is_some() => {
            let key = if source.start.is_some() { "start" } else { "limit" };
            Err(at.key(key).fault(format!("`at` names every arrival: remove `{key}`")))
        }
        (None, Some(times)) if times.is_empty() => Err(at.key("at").fault("no arrival at all: write an instant")),
        (None, Some(times)) => match times.windows(2).position(|pair| pair[0].0 > pair[1].0) {
            Some(place) => Err(at.key("at").index(place + 1).fault("the instants ascend: sort them")),
            None => Ok(Schedule::Listed(times.iter().map(|time| time.0).collect())),
        },
    }
}

fn at_least_one(number: u32, at: &At) -> Result<u32, Fault> {
    match number {
        0 => Err(at.fault("no message at all: write 1 or more, or remove the source")),
        n => Ok(n),
    }
}
