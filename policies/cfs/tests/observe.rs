//! Looking into runs of `cfs`.

use crate::policies::observe::{self, Formulas, Settings};
pub use crate::policies::observe::{
    THREE_CHILDREN, THREE_SLEEPERS, TWO_END_EARLY, cpu_time, spread, turns_us as turns, wakeup_waits,
};
use schedlab_model::trace::Event;

/// The place of a version among the choices of the parameter.
pub const V6_1: u64 = 0;
pub const V4_9: u64 = 1;
pub const V6_5: u64 = 2;

/// What `formulas.bpf.c` prints on a machine of that many CPUs: for each name all numbers, in order.
pub fn formulas(cpus: u32, settings: Settings) -> Formulas {
    observe::formulas("cfs", cpus, settings)
}

/// Holds each printed formula against its number.
pub fn assert_formulas(cpus: u32, settings: Settings, expected: &[(&str, i64)]) {
    let formulas = formulas(cpus, settings);
    for (name, value) in expected {
        assert_eq!(formulas.get(*name).map(|values| &values[..]), Some(&[*value][..]), "{name}");
    }
}

/// What happens on a machine (`cpus = 2` or `topology = "1n2l4c1t"`) with these tasks.
pub fn run_tasks(machine: &str, duration: &str, tasks: &str, settings: Settings) -> Vec<Event> {
    observe::run("cfs", &observe::workload(machine, duration, tasks), settings)
}
