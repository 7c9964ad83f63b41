//! What policies know of the machine on which they run: what the scenario says, without a word of the user.

use super::observe::{migrations, places, run, spread, workload};
use schedlab_model::time::Time;

/// Policies that know of cores, caches and nodes, with the numbers of some of their other rules.
const KNOW_DOMAINS: [(&str, &[(&str, u64)]); 6] = [
    ("cfs", &[]),
    ("cfs", &[("version", 1)]),
    ("eevdf", &[]),
    ("ule", &[("mode", 1)]),
    ("alb", &[("domain", 2)]),
    ("linux-o1", &[]),
];

/// Two nodes of two caches of a core with two threads.
const NESTED: &str = "topology = \"2n2l1c2t\"";

const MIXED: &str = "[[task]]\nname = \"hog\"\ncount = 11\nstart_on = 0\nloop = [{ compute = \"100s\" }]\n\
     [[task]]\nname = \"sleeper\"\ncount = 5\nloop = [{ compute = \"3ms\" }, { sleep = \"4ms\" }]\n";

#[test]
fn the_scenarios_topology_does_what_the_same_numbers_by_hand_do() {
    let machine = workload(NESTED, "700ms", MIXED);
    for (policy, rules) in KNOW_DOMAINS {
        let by_hand = [rules, &[("threads_per_core", 2), ("cores_per_llc", 1), ("llcs_per_node", 2)]].concat();
        let flat = [rules, &[("threads_per_core", 1), ("cores_per_llc", 0), ("llcs_per_node", 0)]].concat();
        let events = run(policy, &machine, rules);
        assert!(events == run(policy, &machine, &by_hand), "{policy} {rules:?}");
        assert!(events != run(policy, &machine, &flat), "{policy} {rules:?} does not look at the machine");
    }
}

/// Four tasks on four cores of two threads: one on each core.
#[test]
fn tasks_have_cores_of_their_own_while_there_are_some() {
    let tasks = "[[task]]\nname = \"t\"\ncount = 4\nloop = [{ compute = \"1s\" }]\n";
    let machine = workload("topology = \"1n1l4c2t\"", "1s", tasks);
    for (policy, rules) in [("cfs", &[][..]), ("cfs", &[("version", 1)]), ("cfs", &[("version", 2)]), ("eevdf", &[])] {
        let events = run(policy, &machine, rules);
        for ms in [10, 500, 999] {
            let spread = spread(&events, 8, Time::from_ms(ms));
            let cores: Vec<usize> = spread.chunks(2).map(|core| core.iter().sum()).collect();
            assert_eq!(cores, [1; 4], "{policy} {rules:?} at {ms} ms: {spread:?}");
        }
    }
}

/// The balancer of Linux 4.9 knows levels: how 512 tasks leave a CPU depends on how 32 CPUs hang together.
#[test]
fn the_same_cpus_hang_together_in_different_ways() {
    let tasks = "[[task]]\nname = \"spin\"\ncount = 512\nstart_on = 0\nloop = [{ compute = \"1000s\" }]\n";
    let moves = |topology| {
        let machine = workload(&format!("topology = \"{topology}\""), "1s", tasks);
        migrations(&run("cfs", &machine, &[("version", 1)]))
    };
    let all = ["1n1l32c1t", "8n1l4c1t", "4n1l8c1t", "2n1l16c1t"].map(moves);
    for (index, one) in all.iter().enumerate() {
        assert!(all[..index].iter().all(|other| other != one), "{index}");
    }
}

/// Three hogs may only run on CPU 1, two that may run anywhere begin on CPU 2. CPU 0 sees that nothing of the busiest queue may come,
/// and looks at the next one (LBF_ALL_PINNED).
#[test]
fn a_cpu_looks_past_a_queue_of_which_nothing_may_come() {
    let tasks = "[[task]]\nname = \"pinned\"\ncount = 3\ncpus = [1]\nloop = [{ compute = \"100s\" }]\n\
                 [[task]]\nname = \"free\"\ncount = 2\ncpus = [0, 2]\nstart_on = 2\nloop = [{ compute = \"100s\" }]\n";
    for (policy, version) in [("cfs", 0), ("cfs", 1), ("cfs", 2), ("eevdf", 0), ("eevdf", 1), ("eevdf", 2)] {
        let events = run(policy, &workload("cpus = 3", "1s", tasks), &[("version", version)]);
        let places = places(&events, 3, Time::from_ms(500));
        assert_eq!([0, 1, 2].map(|cpu: usize| places[cpu].len()), [1, 3, 1], "{policy} {version}: {places:?}");
    }
}
