//! CPUs that only run tasks of SCHED_IDLE: for Linux' fair schedulers since 5.4 they are as good as idle ones where a task
//! looks for a place.

use super::observe::{self, LOOKS_ALWAYS, cpu_time, run, workload};
use schedlab_model::ids::CpuId;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind};

/// Policies by version, and whether they know of it.
const VERSIONS: [(&str, u64, bool); 6] =
    [("cfs", 0, true), ("cfs", 2, true), ("cfs", 1, false), ("eevdf", 0, true), ("eevdf", 1, true), ("eevdf", 2, true)];

/// A task that always computes on CPU 0, one of SCHED_IDLE that does so on CPU 1, and one of both that sleeps at first, on
/// CPU 0. Two more CPUs idle, so that the cache is not so busy that kernels look at no CPU at all.
fn sleeper_of(class: &str) -> String {
    format!(
        "[[task]]\nname = \"hog\"\ncpus = [0]\nloop = [{{ compute = \"100s\" }}]\n\
         [[task]]\nname = \"idle\"\nclass = \"idle\"\ncpus = [1]\nloop = [{{ compute = \"100s\" }}]\n\
         [[task]]\nname = \"sleeper\"\nclass = \"{class}\"\ncpus = [0, 1]\nstart_on = 0\nloop = [{{ sleep = \"20ms\" }}, {{ compute = \"1ms\" }}]\n"
    )
}

/// Where a task was woken first after its birth.
fn first_wakeup(events: &[Event], task: u32) -> Option<CpuId> {
    events.iter().find_map(|event| match event.kind {
        EventKind::Wakeup { task: of, target, .. } if of.0 == task && event.time > Time::ZERO => Some(target),
        _ => None,
    })
}

#[test]
fn a_waking_task_takes_a_cpu_from_the_idle_class() {
    for (policy, version, knows) in VERSIONS {
        let events = run(policy, &workload("cpus = 4", "300ms", &sleeper_of("other")), &[("version", version)]);
        assert_eq!(first_wakeup(&events, 2), Some(CpuId(u32::from(knows))), "{policy} {version}");
    }
}

/// Since 7.1 one of SCHED_IDLE looks on, for it would have to share.
#[test]
fn a_task_of_the_idle_class_finds_it_free_up_to_7_0() {
    for (version, cpu) in [(0, 1), (1, 1), (2, 0)] {
        let events = run("eevdf", &workload("cpus = 4", "2s", &sleeper_of("idle")), &[("version", version)]);
        assert_eq!(first_wakeup(&events, 2), Some(CpuId(cpu)), "{version}");
    }
}

/// Four tasks that compute for 5333 of 7777 us, and three hogs of SCHED_IDLE, on four CPUs, where things cost about what they cost
/// in a guest. Without waits the four have 68.6 % of the CPUs. In guests, under Linux' own schedulers, they had 68.6 % in 6.1 and
/// 68.3 % in 7.3. A CPU that runs out of tasks always looks for some here; how often a kernel does depends on what it did before.
#[test]
fn the_idle_class_takes_little_from_others() {
    let tasks = "[[task]]\nname = \"normal\"\ncount = 4\nloop = [{ compute = \"5333us\" }, { sleep = \"2444us\" }]\n\
                 [[task]]\nname = \"idle\"\ncount = 3\nclass = \"idle\"\nloop = [{ compute = \"100s\" }]\n";
    let costs =
        "switch = \"20us\"\nwakeup = \"8us\"\ntick = \"19us\"\ntimer = \"6us\"\nresume = \"8us\"\nsleep = \"10us\"";
    let machine = format!("cpus = 4\ntick = \"4ms\"\ntick_offset = \"2ms\"\n[machine.costs]\n{costs}");
    for (policy, version, measured) in [("cfs", 0, 0.686), ("eevdf", 3, 0.683)] {
        let settings = [("version", version), ("newidle", LOOKS_ALWAYS)];
        let events = run(policy, &workload(&machine, "3s", tasks), &settings);
        let normal: u64 = cpu_time(&events, 7)[..4].iter().sum();
        let share = normal as f64 / 12_000_000.0;
        assert!((share - measured).abs() < 0.015, "{policy} {version}: {share}");
        assert_eq!(observe::places(&events, 4, Time::from_ms(1500)).concat().len(), 7);
    }
}
