//! Looking into runs of `eevdf`.

use crate::policies::observe::{self, Formulas};
pub use crate::policies::observe::{
    LOOKS_ALWAYS, Settings, THREE_CHILDREN, THREE_SLEEPERS, TWO_END_EARLY, cpu_time, spread, turns_us as turns,
    wakeup_waits,
};
use schedlab_model::trace::Event;

/// The place of a version among the choices of the parameter.
pub const V6_12: u64 = 0;
pub const V6_18: u64 = 1;
pub const V7_1: u64 = 2;
/// The one with weights of control groups.
pub const V7_3: u64 = 3;
pub const VERSIONS: [u64; 3] = [V6_12, V6_18, V7_1];

/// What `formulas.bpf.c` prints on a machine of that many CPUs: for each name all numbers, in order.
pub fn formulas(cpus: u32, settings: Settings) -> Formulas {
    observe::formulas("eevdf", cpus, settings)
}

/// Holds what formulas give on one CPU against numbers, under every version.
pub fn assert_formulas(expected: &[(&str, i64)]) {
    for version in VERSIONS {
        assert_formulas_with(&[("version", version)], expected);
    }
}

/// The same under some settings.
pub fn assert_formulas_with(settings: Settings, expected: &[(&str, i64)]) {
    let formulas = formulas(8, settings);
    for (name, value) in expected {
        assert_eq!(formulas.get(*name).map(|values| values[0]), Some(*value), "{name}, {settings:?}");
    }
}

/// What happens on a machine (`cpus = 2` or `topology = "1n2l4c1t"`) with these tasks.
pub fn run_tasks(machine: &str, duration: &str, tasks: &str, settings: Settings) -> Vec<Event> {
    observe::run("eevdf", &observe::workload(machine, duration, tasks), settings)
}

/// On one CPU, with slices of 2.8 ms as on eight, that many ticks in a second, and a whole slice also for new tasks.
pub fn run_one(hz: u64, version: u64, more: Settings, duration: &str, tasks: &str) -> Vec<Event> {
    let settings = [("version", version), ("hz", hz), ("base_slice", 2_800_000), ("place_deadline_initial", 0)];
    run_tasks("cpus = 1", duration, tasks, &[&settings, more].concat())
}
