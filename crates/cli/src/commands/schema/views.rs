//! The schemas of the views of a trace.

use super::printed::of_trace;
use super::words::{Key, document, key, list, maybe, number, object, one_of, or_null, pair, text, truth, whole};
use serde_json::{Value, json};

/// One for each view, and that of two traces.
pub fn all() -> [Value; 6] {
    [summary(), latency(), queue(), status(), timeline(), contrast()]
}

/// What `--against` prints. Of each pair the first is of the trace before.
fn contrast() -> Value {
    let part = |what: Value| list(object([key("what", "What had it.", what), key("ns", "For how long.", whole())]));
    let wait = object([
        key("task", "The task.", text()),
        key("from_ns", "When the wait began.", whole()),
        key("length_ns", "How long it was.", whole()),
        key("cpu", "Where it began.", whole()),
        maybe("ran_last_on", "The CPU on which the task had run.", whole()),
        key("was_preempted", "Whether another task took the CPU.", truth()),
        maybe("woken_by", "The task that woke it.", text()),
        key("cpus", "The CPUs on whose run queues it was.", list(whole())),
        key("had_the_cpu", "What had the CPU meanwhile.", part(text())),
        key("idle_meanwhile", "The CPUs that idled meanwhile.", part(whole())),
    ]);
    document(
        "schedlab.contrast/1",
        "What `schedlab trace --against --json` prints",
        [
            key("titles", "What the traces are called.", pair(text())),
            key("changes", "The programs, the largest change first.", list(change())),
            key("blocks", "How many blocks each trace has.", pair(whole())),
            key("block_ns", "How long a block is.", whole()),
            key("lengths_ns", "How long each trace is.", pair(whole())),
            key("level", "The level of each interval.", number()),
            key("longest_waits", "The longest waits.", pair(list(wait))),
            key("cautions", "What makes numbers doubtful.", list(text())),
        ],
    )
}

/// What changed for a program.
fn change() -> Value {
    let interval = || {
        object([
            key("estimate", "The estimate.", number()),
            key("low", "The lower end.", number()),
            key("high", "The upper end.", number()),
            key("level", "The level.", number()),
        ])
    };
    let shift = object([
        key("what", "The CPU, or what had it.", text()),
        key("before_ns_per_s", "Before.", number()),
        key("after_ns_per_s", "After.", number()),
    ]);
    object([
        key("name", "Its name.", text()),
        key("waits_per_s", "How many waits there are.", pair(number())),
        key("mean_ns", "Their mean; null where no task waited.", pair(or_null(number()))),
        maybe("difference_ns", "The difference of the means.", interval()),
        maybe("ratio", "After over before.", interval()),
        maybe("is_firm", "Whether that is more than chance.", truth()),
        key("waited_ns_per_s", "How long its tasks wait together.", pair(number())),
        key("beside_idle_ns_per_s", "Of these, while a CPU idled.", pair(number())),
        key("by_cpu", "Where the change is.", list(shift.clone())),
        key("by_had", "What had the CPU meanwhile.", list(shift)),
    ])
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
