//! Faults planted in copies of shipped policies are found, and made small; one that lets no task starve has none as it is.

use schedlab_campaign::Runner;
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_policy::{PolicySpec, copy_of};
use schedlab_search::{Bounds, Found, Options, Search};
use schedlab_venue::{Monitor, Policy};
use std::fs;
use std::path::Path;

/// A fault: in which policy, what it is, what is put in the place of what, and the name under which it is found.
struct Fault {
    policy: &'static str,
    about: &'static str,
    edits: &'static [(&'static str, &'static str)],
    shows: &'static str,
}

/// The most lines of a scenario that shows a fault, and the most scenarios that are drawn for it.
const LINES: usize = 20;
const SCENARIOS: u64 = 64;

const FAULTS: [Fault; 13] = [
    Fault {
        policy: "rr",
        about: "a task that is pinned to one CPU is lost when it wakes with a nice value",
        edits: &[(
            "\tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);",
            "\tif (p->nr_cpus_allowed == 1 && p->static_prio > 120)\n\t\treturn;\n\
             \tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);",
        )],
        shows: "stall",
    },
    Fault {
        policy: "rr",
        about: "a nice level starves: its queue is looked at only when the other one is empty",
        edits: &[
            (
                "\tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);",
                "\tscx_bpf_dsq_insert(p, p->static_prio > 120 ? 1 : QUEUE, quantum, enq_flags);",
            ),
            (
                "\tif (scx_bpf_dsq_move_to_local(QUEUE, 0))",
                "\tif (scx_bpf_dsq_move_to_local(QUEUE, 0) || (!still_runnable(prev) && scx_bpf_dsq_move_to_local(1, 0)))",
            ),
            (
                "\treturn scx_bpf_create_dsq(QUEUE, NUMA_NO_NODE);",
                "\tscx_bpf_create_dsq(1, NUMA_NO_NODE);\n\treturn scx_bpf_create_dsq(QUEUE, NUMA_NO_NODE);",
            ),
        ],
        shows: "stall",
    },
    Fault {
        policy: "rr",
        about: "a queue that is never drained: that of the class batch",
        edits: &[
            (
                "\tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);",
                "\tscx_bpf_dsq_insert(p, p->policy == 3 ? 1 : QUEUE, quantum, enq_flags);",
            ),
            (
                "\treturn scx_bpf_create_dsq(QUEUE, NUMA_NO_NODE);",
                "\tscx_bpf_create_dsq(1, NUMA_NO_NODE);\n\treturn scx_bpf_create_dsq(QUEUE, NUMA_NO_NODE);",
            ),
        ],
        shows: "stall",
    },
    Fault {
        policy: "rr",
        about: "a task is sent to the CPU where it ran last, on which it may not run any more",
        edits: &[(
            "\tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);",
            "\tif (p->static_prio < 120) {\n\t\tscx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | 0, quantum, enq_flags);\n\t\treturn;\n\t}\n\
             \tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);",
        )],
        shows: "fault",
    },
    Fault {
        policy: "rr",
        about: "a missed kick: a task waits on the CPU where it was, and nothing wakes the CPUs that idle",
        edits: &[("\ts32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, 0, &idle);\n", "\ts32 cpu = prev_cpu;\n")],
        shows: "idle-beside-work",
    },
    Fault {
        policy: "rr",
        about: "an off-by-one: a slice of a nanosecond less than nothing is a slice without an end",
        edits: &[(
            "\t\tscx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, quantum, 0);",
            "\t\tscx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, quantum - quantum - 1, 0);",
        )],
        shows: "stall",
    },
    Fault {
        policy: "rr",
        about: "a leak: an element of a map for each task that comes, and none is ever given back",
        edits: &[
            (
                "/* The one queue. */",
                "struct {\n\t__uint(type, BPF_MAP_TYPE_HASH);\n\t__uint(max_entries, 48);\n\t__type(key, u32);\n\t__type(value, u64);\n} seen SEC(\".maps\");\n\n/* The one queue. */",
            ),
            (
                "\tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);",
                "\tu32 pid = p->pid;\n\n\tif (bpf_map_update_elem(&seen, &pid, &quantum, 0))\n\t\treturn;\n\
                 \tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);",
            ),
        ],
        shows: "stall",
    },
    Fault {
        policy: "rr",
        about: "virtual time without a place: a new task begins at zero, and so goes before all that ran",
        edits: &[
            (
                "\tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);",
                "\tscx_bpf_dsq_insert_vtime(p, QUEUE, quantum, p->scx.dsq_vtime, enq_flags);",
            ),
            (
                "s32 BPF_STRUCT_OPS_SLEEPABLE(rr_init)",
                "void BPF_STRUCT_OPS(rr_stopping, struct task_struct *p, bool runnable)\n{\n\tp->scx.dsq_vtime += quantum - p->scx.slice;\n}\n\n\
                 s32 BPF_STRUCT_OPS_SLEEPABLE(rr_init)",
            ),
            (
                "\t       .init = (void *)rr_init,",
                "\t       .stopping = (void *)rr_stopping,\n\t       .init = (void *)rr_init,",
            ),
        ],
        shows: "long-wait",
    },
    Fault {
        policy: "rr",
        about: "a task that changes its CPUs while it waits is put back into a queue of that moment's CPU alone",
        edits: &[
            (
                "\tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);",
                "\tscx_bpf_dsq_insert(p, p->nr_cpus_allowed == 1 ? 16 + scx_bpf_task_cpu(p) : QUEUE, quantum, enq_flags);",
            ),
            (
                "\tif (scx_bpf_dsq_move_to_local(QUEUE, 0))",
                "\tif (scx_bpf_dsq_move_to_local(QUEUE, 0) || scx_bpf_dsq_move_to_local(16 + cpu, 0))",
            ),
            (
                "\treturn scx_bpf_create_dsq(QUEUE, NUMA_NO_NODE);",
                "\ts32 cpu;\n\n\tbpf_for(cpu, 0, 16)\n\t\tscx_bpf_create_dsq(16 + cpu, NUMA_NO_NODE);\n\treturn scx_bpf_create_dsq(QUEUE, NUMA_NO_NODE);",
            ),
        ],
        shows: "stall",
    },
    Fault {
        policy: "rr",
        about: "an underflow: what is left of a slice is what was used less than it, and without an end when more was used",
        edits: &[(
            "\tif (scx_bpf_dsq_move_to_local(QUEUE, 0))\n\t\treturn;",
            "\tif (still_runnable(prev) && prev->scx.weight > 100) {\n\t\tscx_bpf_task_set_slice(prev, prev->scx.slice - 1);\n\t\treturn;\n\t}\n\tif (scx_bpf_dsq_move_to_local(QUEUE, 0))\n\t\treturn;",
        )],
        shows: "stall",
    },
    Fault {
        policy: "rr",
        about: "every other task has slices of four times the length",
        edits: &[(
            "\tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);",
            "\tscx_bpf_dsq_insert(p, QUEUE, p->pid % 2 ? quantum : 4 * quantum, enq_flags);",
        )],
        shows: "unfair",
    },
    Fault {
        policy: "rr",
        about: "a CPU that comes back is not counted, and when all but one have gone no task is queued",
        edits: &[
            (
                "void BPF_STRUCT_OPS(rr_cpu_offline, s32 cpu)\n{\n",
                "void BPF_STRUCT_OPS(rr_cpu_offline, s32 cpu)\n{\n\taway++;\n",
            ),
            ("/* The one queue. */", "static u32 away;\n\n/* The one queue. */"),
            (
                "\tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);",
                "\tif (away && away + 1 >= scx_bpf_nr_cpu_ids())\n\t\treturn;\n\tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);",
            ),
        ],
        shows: "stall",
    },
    Fault {
        policy: "linux-o1",
        about: "the arrays change places only where no task has expired: those that have are never served again",
        edits: &[(
            "\tif (!head && !(takes_part && t->array == rq->active)) {",
            "\tif (!head && !(takes_part && t->array == rq->active) && !rq->expired_since) {",
        )],
        shows: "stall",
    },
];

/// A copy of a policy with some edits.
fn copy(folder: &Path, policy: &str, edits: &[(&str, &str)]) -> Policy {
    let _ = fs::remove_dir_all(folder.join("copy"));
    let [path, ..] = copy_of(policy, "copy", folder).expect("it ships");
    let mut source = fs::read_to_string(&path).expect("it is written");
    for (from, to) in edits {
        assert!(source.contains(from), "{policy} has no `{from}`");
        source = source.replacen(from, to, 1);
    }
    fs::write(&path, source).expect("the folder can be written to");
    Policy::find(&PolicySpec::parse(path.to_str().expect("it is UTF-8")).expect("it is a policy")).expect("it compiles")
}

fn bounds() -> Bounds {
    Bounds { idle: Some(0.25), longest_wait: Some(Time::from_ms(2_400)), jain: Some(0.8), ..Bounds::default() }
}

fn shipped(name: &str) -> Policy {
    Policy::find(&PolicySpec::parse(name).unwrap()).unwrap()
}

/// What a search finds that the policy `reference` does not show, too.
fn found(policy: &Policy, scenarios: u64, reference: Option<&str>) -> Vec<Found> {
    let monitor = Monitor::default();
    let bounds = Bounds { reference: reference.map(shipped), ..bounds() };
    let runner = Runner::new(None, schedlab_campaign::threads(None), &monitor);
    let options = Options { seed: 1, scenarios: Some(scenarios), time: None, kernel: None, coverage: false };
    let mut search = Search::new(policy, &bounds, &runner, options, None).unwrap();
    search.run(&|_| ()).expect("the policy can be run");
    search.state.found
}

#[test]
fn planted_faults_are_found_and_made_small() {
    let folder = tempfile::tempdir().unwrap();
    for fault in &FAULTS {
        let all = found(&copy(folder.path(), fault.policy, fault.edits), SCENARIOS, Some(fault.policy));
        let shown = all.iter().find(|found| found.finding.kind.name().starts_with(fault.shows));
        let names: Vec<String> = all.iter().map(|found| found.finding.kind.name()).collect();
        let shown = shown.unwrap_or_else(|| panic!("{}: only {names:?}", fault.about));
        assert!(shown.lines <= LINES, "{}: {} lines\n{}", fault.about, shown.lines, shown.text);
        // It is a scenario file, ready to run.
        let scenario = Scenario::parse(&shown.text, "found").unwrap();
        assert_eq!(scenario.name, shown.finding.kind.name());
        scenario.compile().unwrap();
    }
}

#[test]
fn policies_as_they_are_have_none() {
    let folder = tempfile::tempdir().unwrap();
    for policy in [copy(folder.path(), "rr", &[]), shipped("rr")] {
        // `make soak` looks at many more.
        let all = found(&policy, SCENARIOS / 4, None);
        let told: Vec<&str> = all.iter().map(|found| found.text.as_str()).collect();
        assert!(all.is_empty(), "{}:\n{}", policy.label, told.join("\n"));
    }
}

/// The same seeds find the same, on any number of threads, and a search that was stopped continues.
#[test]
fn a_search_repeats_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let policy = copy(folder.path(), "rr", FAULTS[2].edits);
    let search = |threads: usize, scenarios: u64, output: Option<&Path>| {
        let (monitor, bounds) = (Monitor::default(), Bounds::default());
        let runner = Runner::new(None, threads, &monitor);
        let options = Options { seed: 1, scenarios: Some(scenarios), time: None, kernel: None, coverage: false };
        let mut search = Search::new(&policy, &bounds, &runner, options, output).unwrap();
        search.run(&|_| ()).expect("the policy can be run");
        search.state
    };
    let output = folder.path().join("found");
    let (one, two) = (search(1, 64, None), search(2, 64, None));
    assert_eq!(one.found[0].text, two.found[0].text);
    assert_eq!((one.scenarios, one.found[0].times), (two.scenarios, two.found[0].times));
    search(2, 32, Some(&output));
    let on = search(1, 64, Some(&output));
    assert_eq!((on.scenarios, on.found[0].text.as_str()), (64, one.found[0].text.as_str()));
    assert!(output.join("stall.toml").exists());
}
