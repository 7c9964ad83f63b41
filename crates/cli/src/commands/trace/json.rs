//! The views of `schedlab trace` for programs. Times are whole nanoseconds; what is not known is absent.

use super::source::Source;
use schedlab_model::ids::RoleId;
use schedlab_model::names::Names;
use schedlab_model::trace::{Reason, Untraced};
use schedlab_trace::Header;
use schedlab_views::latency::{Latencies, Latency};
use schedlab_views::queue::{Came, Queue, What};
use schedlab_views::status::{History, Shares, Status};
use schedlab_views::summary::Summary;
use schedlab_views::timeline::{Cell, Timeline};
use schedlab_views::{Wait, WaitEnd};
use serde_json::{Map, Value, json};

fn object(source: &Source, view: &str, content: Value) -> Value {
    headed(&format!("schedlab.trace-{view}/1"), source.header(), content)
}

/// What all objects about a trace begin with, and the content of one; what is null in it is left out.
pub fn headed(schema: &str, header: &Header, content: Value) -> Value {
    let mut object = json!({
        "schema": schema,
        "scenario": header.scenario,
        "policy": header.policy,
        "venue": header.venue,
        "seed": header.seed,
        "cpus": header.cpus,
        "end_ns": header.end.ns(),
        "lost": header.lost,
    });
    if let (Value::Object(all), Value::Object(content)) = (&mut object, content) {
        all.extend(content.into_iter().filter(|(_, value)| !value.is_null()));
    }
    object
}

/// What is in a trace.
pub fn summary(source: &Source, summary: &Summary) -> Value {
    let role = |(at, name): (usize, String)| json!({ "role": name, "tasks": summary.tasks.get(&RoleId(at as u32)).copied().unwrap_or(0) });
    let roles: Vec<Value> = source.roles().enumerate().map(role).collect();
    let content = json!({
        "events": summary.events,
        "wakeups": summary.wakeups,
        "switches": summary.switches,
        "migrations": summary.migrations,
        "ticks": summary.ticks,
        "requests": summary.requests,
        "statuses": summary.statuses,
        "first_event_ns": summary.span.map(|(first, _)| first.ns()),
        "last_event_ns": summary.span.map(|(_, last)| last.ns()),
        "roles": roles,
    });
    object(source, "summary", content)
}

/// Latencies of roles and tasks, and each wait if they are wanted.
pub fn latency(source: &Source, view: &Latency, waits: Option<&[Wait]>) -> Value {
    let names = view.roster().names();
    let roles = view.roles().map(|(role, row)| with(("role", role_name(names, role)), latencies(row)));
    let tasks = view.tasks().map(|tasks| tasks.map(|(label, row)| with(("task", names.show(*label)), latencies(row))));
    let content = json!({
        "roles": roles.collect::<Vec<_>>(),
        "tasks": tasks.map(Iterator::collect::<Vec<_>>),
        "waits": waits.map(|waits| waits.iter().map(|wait| self::wait(wait, names)).collect::<Vec<_>>()),
    });
    object(source, "latency", content)
}

fn latencies(row: &Latencies) -> Value {
    let quantile = |q: f64| row.ran.quantile(q);
    known(json!({
        "count": row.ran.count(),
        "mean_ns": row.ran.mean(),
        "p50_ns": quantile(0.5),
        "p90_ns": quantile(0.9),
        "p99_ns": quantile(0.99),
        "max_ns": row.ran.max(),
        "open": row.open,
        "exited": row.exited,
        "untold": row.untold,
    }))
}

fn wait(wait: &Wait, names: &Names) -> Value {
    let (end, at, cpu) = match wait.end {
        WaitEnd::Ran { at, cpu } => ("ran", at, Some(cpu.0)),
        WaitEnd::Exited { at } => ("exited", at, None),
        WaitEnd::Open { at } => ("open", at, None),
        WaitEnd::Untold { at } => ("untold", at, None),
    };
    known(json!({
        "task": names.show(wait.task),
        "woken_ns": wait.woken.ns(),
        "placed_on": wait.target.0,
        "woken_by": wait.waker.map(|waker| names.show(waker)),
        "end": end,
        "end_ns": at.ns(),
        "ran_on": cpu,
        "length_ns": wait.length().ns(),
    }))
}

/// Why a task waited.
pub fn queue(source: &Source, view: &Queue) -> Value {
    let names = view.roster().names();
    let rivals = view.rivals().iter().map(|rival| {
        known(json!({
            "task": names.show(rival.task),
            "was": match rival.came { Came::Running => "running", Came::Waiting => "waiting", Came::Later => "later" },
            "since_ns": rival.since.ns(),
            "status": rival.status,
            "runs": rival.runs,
            "ran_ns": rival.ran.ns(),
        }))
    });
    let steps = view.steps().iter().map(|step| {
        let what = what(&step.what, names);
        with(("time_ns", step.time.ns()), with(("cpu", step.cpu.0), what))
    });
    let elsewhere = view.elsewhere();
    let content = json!({
        "wait": wait(view.wait(), names),
        "status": view.status(),
        "rivals": rivals.collect::<Vec<_>>(),
        "more_rivals": view.more_rivals(),
        "elsewhere": {
            "running": elsewhere.running, "waiting": elsewhere.waiting,
            "idle": elsewhere.idle, "untraced": elsewhere.untraced,
        },
        "steps": steps.collect::<Vec<_>>(),
        "more_steps": view.more_steps(),
    });
    object(source, "queue", content)
}

fn what(what: &What, names: &Names) -> Value {
    match *what {
        What::Ran { task, length, reason } => known(json!({
            "what": "ran", "task": names.show(task), "length_ns": length.ns(), "left": reason.map(left),
        })),
        What::Untraced { what, length } => json!({ "what": untraced(what), "length_ns": length.ns() }),
        What::Woke { task } => json!({ "what": "woke", "task": names.show(task) }),
        What::Came { task, from } => json!({ "what": "came", "task": names.show(task), "from": from.0 }),
        What::Left { task, to } => json!({ "what": "left", "task": names.show(task), "to": to.0 }),
        What::Moved { to } => json!({ "what": "moved", "to": to.0 }),
    }
}

fn left(reason: Reason) -> &'static str {
    match reason {
        Reason::Idle => "idle",
        Reason::SliceEnd => "slice end",
        Reason::Preempted => "preempted",
        Reason::Blocked => "blocked",
        Reason::Yielded => "yielded",
        Reason::Exited => "exited",
    }
}

fn untraced(what: Untraced) -> &'static str {
    match what {
        Untraced::Idle => "idle",
        Untraced::Others => "others",
        Untraced::Unknown => "unknown",
    }
}

/// What the policy published about roles and tasks.
pub fn status(source: &Source, view: &Status) -> Value {
    let names = view.roster().names();
    let roles = view.roles().map(|(role, row)| with(("role", role_name(names, role)), shares(row)));
    let task = |history: &History| {
        let changes = history.changes.iter().map(|change| {
            known(json!({ "time_ns": change.time.ns(), "before": change.before, "status": change.word }))
        });
        let shares = with(("at_first", history.at_first), shares(&history.shares));
        with(("task", names.show(history.task)), with(("first_changes", changes.collect::<Vec<_>>()), known(shares)))
    };
    let content = json!({
        "roles": roles.collect::<Vec<_>>(),
        "tasks": view.tasks().map(|tasks| tasks.map(task).collect::<Vec<_>>()),
    });
    object(source, "status", content)
}

fn shares(shares: &Shares) -> Value {
    let words = shares.words().map(|(word, frac)| json!({ "status": word, "frac": frac }));
    json!({ "changes": shares.changes, "shares": words.collect::<Vec<_>>() })
}

/// The task that had the most of each column's time, on each CPU.
pub fn timeline(source: &Source, view: &Timeline) -> Value {
    let names = view.roster().names();
    let cell = |cell: &Cell| match cell {
        Cell::Untraced(what) => json!({ "untraced": untraced(*what) }),
        Cell::Task(label) => json!({ "task": names.show(*label) }),
        Cell::Other => json!({ "untraced": "not selected" }),
    };
    let rows =
        view.rows().map(|(cpu, cells)| json!({ "cpu": cpu.0, "cells": cells.iter().map(cell).collect::<Vec<_>>() }));
    let content = json!({
        "from_ns": view.from().ns(),
        "to_ns": view.until().ns(),
        "step_ns": view.step().ns(),
        "rows": rows.collect::<Vec<_>>(),
    });
    object(source, "timeline", content)
}

fn role_name(names: &Names, role: Option<RoleId>) -> Option<String> {
    role.map(|role| names.role(role))
}

/// An object with one more key before the others.
fn with((key, value): (&str, impl serde::Serialize), others: Value) -> Value {
    let mut object = Map::new();
    object.insert(key.into(), json!(value));
    if let Value::Object(others) = others {
        object.extend(others);
    }
    Value::Object(object)
}

/// Without the keys whose values are not known.
fn known(mut object: Value) -> Value {
    if let Value::Object(keys) = &mut object {
        keys.retain(|_, value| !value.is_null());
    }
    object
}
