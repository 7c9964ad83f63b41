//! The schemas of objects that commands put together from several parts. Tests hold what is printed against them.

use super::words::{
    Key, any, document, key, list, map, maybe, number, object, one_of, or_null, pair, text, truth, whole,
};
use serde_json::Value;

/// What `check --json` prints.
pub fn check() -> Value {
    document(
        "schedlab.check/1",
        "What `schedlab check --json` prints",
        of_trace().into_iter().chain([
            key("file", "The trace file.", text()),
            key("format", "Its format.", text()),
            key("events", "How many events it holds.", whole()),
            key("tasks", "How many tasks are in it.", whole()),
            key("is_lawful", "Whether no invariant is violated.", truth()),
            key("violations", "How many violations there are.", whole()),
            key("reported", "The first of them, in words.", list(text())),
        ]),
    )
}

/// What all objects about a trace begin with.
pub fn of_trace() -> Vec<Key> {
    vec![
        key("scenario", "The scenario, or what was recorded.", text()),
        key("policy", "The policy.", text()),
        key("venue", "Where it ran.", text()),
        key("seed", "The seed.", whole()),
        key("cpus", "How many CPUs there are.", whole()),
        key("end_ns", "When the trace ends.", whole()),
        key("lost", "How many events are missing.", whole()),
    ]
}

/// What `venues --json` prints.
pub fn venues() -> Value {
    let venue = object([
        key("venue", "Its name.", text()),
        maybe("engine", "The emulator, of a virtual machine.", text()),
        key("works", "Whether it works here.", truth()),
        key("about", "What it is, or why it does not work.", text()),
        key("holds", "Its properties.", map(text())),
    ]);
    let venues = key("venues", "Each venue, with each engine.", list(venue));
    document("schedlab.venues/1", "What `schedlab venues --json` prints", [venues])
}

/// What `policies --json` prints.
pub fn policies() -> Value {
    let policy = || list(named_with_about());
    document(
        "schedlab.policies/1",
        "What `schedlab policies --json` prints",
        [
            key("shipped", "The policies that are sched_ext objects.", policy()),
            key("ideal", "The disciplines that only the simulator has.", policy()),
        ],
    )
}

fn named_with_about() -> Value {
    object([key("name", "Its name.", text()), key("about", "What it is, in a sentence.", text())])
}

/// What `policies NAME --json` prints.
pub fn policy() -> Value {
    let need = || {
        let is_optional = key("is_optional", "Whether the object also loads without it.", truth());
        list(object([key("name", "Its name.", text()), is_optional]))
    };
    let map_of = object([
        key("name", "Its name.", text()),
        key("kind", "Its type.", text()),
        key("key_bytes", "The size of a key.", whole()),
        key("value_bytes", "The size of a value.", whole()),
        key("entries", "The maximum number of entries.", whole()),
    ]);
    document(
        "schedlab.policy/1",
        "What `schedlab policies NAME --json` prints",
        [
            key("policy", "The policy as it was written.", text()),
            maybe("licence", "The licence of the object.", text()),
            maybe("not_simulated", "What it needs that is not simulated.", list(text())),
            maybe("operations", "Its operations.", list(text())),
            maybe("never_called", "Operations that the simulator never calls.", list(text())),
            maybe("settings", "The other fields of its operations.", map(text())),
            maybe("parameters", "Its parameters.", list(parameter())),
            maybe("maps", "Its maps.", list(map_of)),
            maybe("other_programs", "Programs that are no operations.", list(text())),
            maybe("kernel_functions", "The kernel's functions that it calls.", need()),
            maybe("kernel_variables", "The kernel's variables that it reads.", need()),
            maybe("helpers", "The BPF helpers that it calls.", list(text())),
        ],
    )
}

fn parameter() -> Value {
    object([
        key("name", "Its name.", text()),
        key("type", "Its type in C.", text()),
        key("about", "What it does.", text()),
        key("is_from_the_machine", "Whether its default is a fact about the machine.", truth()),
        maybe("default", "Its default.", text()),
        maybe("range", "The smallest and the largest value.", pair(text())),
        maybe("choices", "The words that it can be.", list(text())),
    ])
}

/// What `model --json` prints.
pub fn model() -> Value {
    document("schedlab.model/1", "What `schedlab model --json` prints", model_keys())
}

fn model_keys() -> Vec<Key> {
    let edge = object([
        key("from", "The role that wakes.", text()),
        key("to", "The role that is woken.", text()),
        key("wakes", "How often.", whole()),
    ]);
    let doubt = object([
        key("code", "What the doubt is called.", text()),
        key("refuses", "Whether nothing is predicted because of it.", truth()),
        key("what", "What it is, and what to do.", text()),
    ]);
    vec![
        key("name", "What was recorded.", text()),
        key("duration_ns", "How long.", whole()),
        key("cpus", "How many CPUs there are.", whole()),
        key("policy", "The scheduler of the recording.", text()),
        key("events", "How many events it holds.", whole()),
        key("wakeups", "How many wake-ups are no births.", whole()),
        key("lost", "How many events are missing.", whole()),
        key("roles", "The roles of the model.", list(model_role())),
        key("edges", "The wake-ups between roles.", list(edge)),
        key("slept", "For how long tasks slept, by cause, in nanoseconds.", map(whole())),
        key("unexplained_frac", "The part of it that has no known cause.", number()),
        key("others_frac", "CPU time of others while a recorded task waited.", number()),
        key("kept_frac", "The part of the items that the model keeps.", number()),
        key("doubts", "What lessens the trust in the model.", list(doubt)),
    ]
}

fn model_role() -> Value {
    object([
        key("name", "Its name.", text()),
        key("tasks", "How many tasks it has.", whole()),
        key("items", "How many items of work.", whole()),
        key("kept", "What the model keeps of it.", one_of(&["tasks", "items"])),
        key("constant", "Whether all items are the same.", truth()),
        key("work_p50_ns", "The median work of an item.", or_null(whole())),
        key("work_p99_ns", "The 99th percentile of it.", or_null(whole())),
        key("cpu_frac", "Its part of the CPU work.", number()),
        key("waits_for", "What its steps wait for, the commonest first.", list(text())),
    ])
}

/// What `predict --json` prints.
pub fn prediction() -> Value {
    let name = || key("figure", "The figure, whose name has its unit.", text());
    let role = || key("role", "The role.", text());
    let checked = object([
        role(),
        name(),
        key("recorded", "What was recorded.", number()),
        key("modelled", "What the model gives.", number()),
        key("error", "How far the model is off, as a part.", or_null(number())),
    ]);
    let figure = object([
        role(),
        name(),
        key("value", "What is expected.", number()),
        key("low", "The lower end of its interval.", number()),
        key("high", "The upper end.", number()),
        key("level", "The level of the interval.", number()),
        key("bias", "By how much the self-check corrects the value.", or_null(number())),
    ]);
    let cell = object([
        key("policy", "The policy.", text()),
        key("cpus", "How many CPUs there are.", whole()),
        key("failure", "Why there are no figures, if so.", or_null(text())),
        key("figures", "What would happen.", list(figure)),
    ]);
    document(
        "schedlab.prediction/1",
        "What `schedlab predict --json` prints",
        [
            key("model", "What the model says about itself.", model()),
            key("baseline", "The policy of the self-check.", text()),
            key("self_check", "The model compared with the recording.", list(checked)),
            key("cells", "Each policy on each number of CPUs.", list(cell)),
            key("refused", "Whether nothing is predicted.", truth()),
        ],
    )
}

/// What `calibrate --json` prints.
pub fn calibration() -> Value {
    let load = object([
        key("algorithm", "What tasks compute.", text()),
        key("ns_per_piece", "CPU time of a piece.", number()),
        key("ns_per_call", "CPU time of a call without a piece.", number()),
        key("spread", "Distance of the quartiles, as a part of the median.", number()),
        key("misfit", "The largest distance from the line, as a part.", number()),
        key("measurements", "How many measurements there were.", whole()),
    ]);
    let verified = object([
        key("off", "How far 1, 10 and 250 ms of work are off, as a part.", list(number())),
        key("refused", "Rounds in which the machine was too noisy.", whole()),
    ]);
    let cost = object([
        key("median_ns", "The median.", number()),
        key("quartiles_ns", "The quartiles.", list(number())),
        key("count", "How many measurements.", whole()),
    ]);
    document(
        "schedlab.calibration/1",
        "What `schedlab calibrate --json` prints",
        [
            key("machine", "What the machine is.", text()),
            key("loads", "Each load.", list(load)),
            maybe("verified", "How far each load is off.", list(verified)),
            key("costs", "The costs of the machine; null where one could not be measured.", map(or_null(cost))),
        ],
    )
}

/// What `load --json` prints.
pub fn load() -> Value {
    let rates = object([
        key("second", "Which second.", whole()),
        key("switches_per_s", "How many switches there were.", number()),
        key("busy_frac", "The part of the CPU time that was used.", number()),
        key("runnable", "How many tasks ran or waited for a CPU at its end.", whole()),
        maybe("mean_wait_ns", "The mean wait for a CPU.", whole()),
        key("events", "Events of sched_ext, with how often each happened.", map(whole())),
    ]);
    document(
        "schedlab.load/1",
        "What `schedlab load --json` prints",
        [
            key("policy", "The policy.", text()),
            key("seconds", "How long it was in charge.", number()),
            key("rates", "What happened in each second.", list(rates)),
        ],
    )
}

/// What `scenarios --json` prints.
pub fn scenarios() -> Value {
    document(
        "schedlab.scenarios/1",
        "What `schedlab scenarios --json` prints",
        [
            key("shipped", "The shipped scenarios.", list(named_with_about())),
            key("families", "The families, of which each seed is a scenario.", list(named_with_about())),
        ],
    )
}

/// What `vm kernels --json` prints.
pub fn kernels() -> Value {
    let kernel = object([
        key("name", "What `--kernel` takes.", text()),
        key("about", "Which kernel it is.", text()),
        maybe("file", "Its file in the cache.", text()),
    ]);
    document(
        "schedlab.kernels/1",
        "What `schedlab vm kernels --json` prints",
        [
            key("cache", "The folder of the cache.", text()),
            key("kernels", "The kernels that have a name.", list(kernel)),
        ],
    )
}

/// What `trace FILE --json` and its views print.
pub fn trace() -> Value {
    any("What `schedlab trace --json` prints", super::views::all())
}
