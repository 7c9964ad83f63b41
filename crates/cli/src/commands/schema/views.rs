//! The schemas of the views of a trace.

use super::printed::of_trace;
use super::words::{Key, document, key, list, maybe, number, object, one_of, text, whole};
use serde_json::{Value, json};

/// One for each view.
pub fn all() -> [Value; 5] {
    [summary(), latency(), queue(), status(), timeline()]
}

fn view(name: &str, keys: Vec<Key>) -> Value {
    let title = format!("The view `{name}` of a trace");
    document(&format!("schedlab.trace-{name}/1"), &title, of_trace().into_iter().chain(keys))
}

fn summary() -> Value {
    let role = object([key("role", "Its name.", text()), key("tasks", "How many tasks it has.", whole())]);
    view(
        "summary",
        vec![
            key("events", "How many events there are.", whole()),
            key("wakeups", "How many wake-ups.", whole()),
            key("switches", "How many switches.", whole()),
            key("migrations", "How many migrations.", whole()),
            key("ticks", "How many ticks.", whole()),
            key("requests", "How many requests.", whole()),
            key("statuses", "How many statuses the policy published.", whole()),
            maybe("first_event_ns", "When the first event was.", whole()),
            maybe("last_event_ns", "When the last event was.", whole()),
            key("roles", "The roles.", list(role)),
        ],
    )
}

fn latency() -> Value {
    let row = |name: &'static str| {
        object([
            maybe(name, "What the row is about; absent for all.", json!({ "type": ["string", "null"] })),
            key("count", "How many waits ended with a run.", whole()),
            maybe("mean_ns", "Their mean.", number()),
            maybe("p50_ns", "Their median.", number()),
            maybe("p90_ns", "90 of 100 are not above it.", number()),
            maybe("p99_ns", "99 of 100 are not above it.", number()),
            maybe("max_ns", "The longest.", number()),
            key("open", "Waits that had not ended with the trace.", whole()),
            key("exited", "Waits that ended with the task.", whole()),
            key("untold", "Waits whose end the trace does not tell.", whole()),
        ])
    };
    view(
        "latency",
        vec![
            key("roles", "From wake-up to run, for each role.", list(row("role"))),
            maybe("tasks", "The same for each task.", list(row("task"))),
            maybe("waits", "Each wait.", list(wait())),
        ],
    )
}

fn wait() -> Value {
    object([
        key("task", "The task.", text()),
        key("woken_ns", "When it was woken.", whole()),
        key("placed_on", "The CPU whose run queue it was put into.", whole()),
        maybe("woken_by", "The task that woke it.", text()),
        key("end", "How the wait ended.", one_of(&["ran", "exited", "open", "untold"])),
        key("end_ns", "When.", whole()),
        maybe("ran_on", "The CPU on which the task ran.", whole()),
        key("length_ns", "How long it waited.", whole()),
    ])
}

fn queue() -> Value {
    let rival = object([
        key("task", "The task.", text()),
        key("was", "What it was when the wait began.", one_of(&["running", "waiting", "later"])),
        key("since_ns", "Since when.", whole()),
        maybe("status", "The status that the policy published.", whole()),
        key("runs", "How often it ran during the wait.", whole()),
        key("ran_ns", "For how long.", whole()),
    ]);
    let elsewhere = object(["running", "waiting", "idle", "untraced"].map(|name| key(name, "", whole())));
    let what = one_of(&["ran", "idle", "others", "unknown", "woke", "came", "left", "moved"]);
    let reason = one_of(&["idle", "slice end", "preempted", "blocked", "yielded", "exited"]);
    let step = object([
        key("time_ns", "When.", whole()),
        key("cpu", "Where.", whole()),
        key("what", "What happened.", what),
        maybe("task", "To which task.", text()),
        maybe("length_ns", "For how long.", whole()),
        maybe("left", "Why the task left the CPU.", reason),
        maybe("from", "From which CPU it came.", whole()),
        maybe("to", "To which CPU it went.", whole()),
    ]);
    view(
        "queue",
        vec![
            key("wait", "The wait.", wait()),
            maybe("status", "The status of its task.", whole()),
            key("rivals", "The tasks that had the CPU or waited for it.", list(rival)),
            key("more_rivals", "How many more there are.", whole()),
            key("elsewhere", "What the other CPUs did when it began.", elsewhere),
            key("steps", "What happened during the wait.", list(step)),
            key("more_steps", "How many more steps there are.", whole()),
        ],
    )
}

fn status() -> Value {
    let share = object([key("status", "The status.", whole()), key("frac", "Its part of the time.", number())]);
    let shares = || {
        [
            key("changes", "How often the status changed.", whole()),
            key("shares", "How long it was which.", list(share.clone())),
        ]
    };
    let role = maybe("role", "The role; absent for tasks of none.", json!({ "type": ["string", "null"] }));
    let change = object([
        key("time_ns", "When.", whole()),
        maybe("before", "The status before.", whole()),
        key("status", "The status from then on.", whole()),
    ]);
    let task = [
        key("task", "The task.", text()),
        key("first_changes", "The first changes.", list(change)),
        maybe("at_first", "The status before them.", whole()),
    ];
    view(
        "status",
        vec![
            key("roles", "The status of the tasks of each role.", list(object([role].into_iter().chain(shares())))),
            maybe("tasks", "The same for each task.", list(object(task.into_iter().chain(shares())))),
        ],
    )
}

fn timeline() -> Value {
    let cell = object([
        maybe("task", "The task that had most of the time.", text()),
        maybe("untraced", "What had it, if it was no task that was asked for.", text()),
    ]);
    let row = object([key("cpu", "The CPU.", whole()), key("cells", "One for each step.", list(cell))]);
    view(
        "timeline",
        vec![
            key("from_ns", "When the first cell begins.", whole()),
            key("to_ns", "When the last cell ends.", whole()),
            key("step_ns", "How long a cell is.", whole()),
            key("rows", "A row for each CPU.", list(row)),
        ],
    )
}
