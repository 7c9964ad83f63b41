//! What this machine can hold: for each venue and engine whether it works here, and what is missing where it does not.
//!
//! Everything that it reports was tried: a guest was started, a recorder ran, the kernel was given a policy. That a program, a device or
//! a file exists says none of this.

use crate::charge::Charge;
use crate::host::kernel_release;
use crate::policy::Policy;
use crate::vm::built;
use schedlab_kernel::Recorder;
use schedlab_policy::PolicySpec;
use schedlab_vm::engine::{EngineSpec, starts};
use schedlab_vm::kernels;

/// What a venue or engine can do here.
#[derive(Clone, Debug)]
pub struct Support {
    /// The venue, as `--venue` takes it.
    pub venue: &'static str,
    /// The engine, as `--engine` takes it.
    pub engine: Option<&'static str>,
    /// What it calls itself; or what to install or to do so that it works.
    pub works: Result<String, String>,
    /// What it holds, a property and its value each.
    pub holds: Vec<(&'static str, String)>,
}

/// All venues and engines, looked at now.
pub fn survey() -> Vec<Support> {
    let engines = EngineSpec::all().map(|spec| virtual_machine(&spec));
    [sim(), host()].into_iter().chain(engines).collect()
}

fn sim() -> Support {
    Support {
        venue: "sim",
        engine: None,
        works: Ok("the simulated machine".into()),
        holds: vec![
            ("CPUs", "1 to 4096".into()),
            ("policies", "sched_ext objects, ideal disciplines".into()),
            ("repeats", "bit for bit".into()),
        ],
    }
}

fn host() -> Support {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let policies = match (schedlab_kernel::has_sched_ext(), takes_policies()) {
        (true, Ok(())) => "the kernel's own, sched_ext objects".into(),
        (true, Err(why)) => format!("the kernel's own; sched_ext objects not now: {why}"),
        (false, _) => "the kernel's own; this kernel has no sched_ext, the venue vm has kernels with it".into(),
    };
    let recorder = Recorder::probe().map_or_else(|lack| format!("no: {lack}"), |()| "yes".into());
    Support {
        venue: "host",
        engine: None,
        works: Ok(kernel_release()),
        holds: vec![
            ("CPUs", format!("up to {cpus}")),
            ("policies", policies),
            ("recorder", recorder),
            ("repeats", "no: real time".into()),
        ],
    }
}

/// Whether the running kernel could be given a policy: the smallest that ships.
fn takes_policies() -> Result<(), String> {
    let policy = PolicySpec::parse("fcfs").map_err(|error| error.to_string())?;
    let policy = Policy::find(&policy).map_err(|error| error.to_string())?;
    // A verifier says more than a line.
    Charge::probe(&policy).map_err(|why| why.lines().next().unwrap_or_default().to_string())
}

fn virtual_machine(spec: &EngineSpec) -> Support {
    let engine = spec.engine();
    let names: Vec<&str> = kernels::KNOWN.iter().map(|known| known.name).collect();
    let probe = || engine.probe().and_then(|version| starts(engine).map(|()| version));
    let repeats = if engine.repeats() { "bit for bit" } else { "no: real time" };
    Support {
        venue: "vm",
        engine: Some(engine.name()),
        works: built().map_err(|lack| lack.to_string()).and_then(|()| probe()),
        holds: vec![
            ("CPUs", format!("up to {}", engine.max_cpus())),
            ("time", engine.clock()),
            ("kernels", format!("{}, host, a path", names.join(", "))),
            ("policies", "the kernel's own; sched_ext objects where the kernel takes them".into()),
            ("repeats", repeats.into()),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_says_what_it_holds_or_lacks() {
        let places = survey();
        let names: Vec<_> = places.iter().map(|place| (place.venue, place.engine)).collect();
        let engine = |name| ("vm", Some(name));
        assert_eq!(names, [("sim", None), ("host", None), engine("qemu"), engine("bochs"), engine("kvm")]);
        for place in &places {
            assert!(place.holds.iter().any(|(what, _)| *what == "CPUs"), "{place:?}");
            let (Ok(said) | Err(said)) = &place.works;
            assert!(!said.is_empty() && said.lines().count() == 1, "{place:?}");
        }
    }
}
