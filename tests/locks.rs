//! Reader-writer locks, and tasks that spin before they sleep. Times by hand, without costs.

use crate::lab;
use schedlab_model::result::Measures;
use schedlab_model::scenario::Scenario;

/// What each role measures under a policy; the run obeys the laws of every trace.
fn measured(cpus: u32, tables: &str, policy: &str) -> Vec<Measures> {
    let text = format!("name = \"t\"\n[machine]\ncpus = {cpus}\n{tables}");
    let workload = Scenario::parse(&text, "t").unwrap().compile().unwrap_or_else(|error| panic!("{tables}: {error}"));
    lab::measured(&workload, policy).roles.into_iter().map(|role| role.measures).collect()
}

fn responses_us(roles: &[Measures]) -> Vec<u64> {
    roles.iter().map(|role| role.response_ns.expect("it ended").max / 1000).collect()
}

fn once(name: &str, start: &str, steps: &str) -> String {
    format!("[[task]]\nname = \"{name}\"\nstart = \"{start}\"\nonce = [{steps}]\n")
}

fn pinned(task: &str, cpus: &str) -> String {
    format!("{task}cpus = \"{cpus}\"\n")
}

const POLICIES: [&str; 5] = ["fcfs", "rr", "cfs", "eevdf", "ule"];

/// Two readers from 0 to 10 ms, a writer that comes at 5, a reader that comes at 6.
#[test]
fn who_is_preferred_comes_first() {
    let read = "{ read_lock = \"l\" }, { compute = \"10ms\" }, { unlock = \"l\" }";
    let write = "{ lock = \"l\" }, { compute = \"2ms\" }, { unlock = \"l\" }";
    let early = once("early", "0ns", read) + "count = 2\n";
    let tasks = [(early, "0-1"), (once("writer", "5ms", write), "2"), (once("late", "6ms", read), "3")];
    let tasks: String = tasks.iter().map(|(task, cpus)| pinned(task, cpus)).collect();
    for policy in POLICIES {
        // Without a word the late reader joins the others, and the writer waits for it, too: until 16.
        let readers = responses_us(&measured(4, &tasks, policy));
        assert_eq!(readers, [10_000, 13_000, 10_000], "{policy}");
        // The writer has it from 10 to 12, the late reader from then to 22.
        let writers = format!("[lock.l]\nprefer = \"writers\"\n{tasks}");
        assert_eq!(responses_us(&measured(4, &writers, policy)), [10_000, 7_000, 16_000], "{policy}");
    }
}

/// A lock that is held until 5 ms, and one that wants it from 1 ms on.
#[test]
fn who_spins_has_the_lock_without_a_sleep() {
    let steps = |ms: u32| format!("{{ lock = \"l\" }}, {{ compute = \"{ms}ms\" }}, {{ unlock = \"l\" }}");
    let tasks = once("holder", "0ns", &steps(5)) + &once("taker", "1ms", &steps(1));
    let taker = |lock: &str, policy: &str| measured(2, &format!("[lock.l]\n{lock}{tasks}"), policy).remove(1);
    // Of the CPU it has had what it worked under the lock and what it spun; a block and the end are own switches.
    for (lock, cpu_us, switches) in [("", 1000, 2), ("spin = \"20ms\"\n", 5000, 1), ("spin = \"2ms\"\n", 3000, 2)] {
        for policy in POLICIES {
            let measures = taker(lock, policy);
            let seen = (measures.cpu_ns / 1000, measures.switches.voluntary);
            assert_eq!(seen, (cpu_us, switches), "{policy} {lock}");
            assert_eq!(responses_us(&[measures]), [5000], "{policy} {lock}");
        }
    }
}

/// On one CPU a task that spins keeps the one that has the lock from it until its slice is over.
#[test]
fn spinning_on_the_only_cpu_is_for_nothing() {
    let steps = "{ lock = \"l\" }, { compute = \"150ms\" }, { unlock = \"l\" }";
    let tasks = "[[task]]\nname = \"t\"\ncount = 2\nonce = [".to_owned() + steps + "]\n";
    let with = |lock: &str| measured(1, &format!("[lock.l]\n{lock}{tasks}"), "rr").remove(0);
    // 100 ms of the first, then of the second one's spinning, as long as it may; 50 of the first, 150 of the second.
    assert_eq!(with("").turnaround_ns.expect("both ended").max, 300_000_000);
    assert_eq!(with("spin = \"30ms\"\n").turnaround_ns.expect("both ended").max, 330_000_000);
    // It looks again when the piece of work that it began with at the end of its slice is done.
    assert_eq!(with("spin = \"10s\"\n").turnaround_ns.expect("both ended").max, 400_001_000);
}

/// Readers that spin see a writer that waits.
#[test]
fn readers_spin_for_a_writer_too() {
    let read = "{ read_lock = \"l\" }, { compute = \"1ms\" }, { unlock = \"l\" }";
    let write = "{ lock = \"l\" }, { compute = \"5ms\" }, { unlock = \"l\" }";
    let tasks = once("writer", "0ns", write) + &once("reader", "1ms", read);
    for policy in POLICIES {
        let roles = measured(2, &format!("[lock.l]\nspin = \"10ms\"\n{tasks}"), policy);
        assert_eq!((roles[1].cpu_ns, roles[1].switches.voluntary), (5_000_000, 1), "{policy}");
    }
}

#[test]
fn what_goes_with_mutexes_alone_is_refused() {
    let wrong = |tables: &str| {
        let text = format!("name = \"t\"\n[machine]\ncpus = 1\n{tables}");
        Scenario::parse(&text, "t").unwrap().compile().map(drop).unwrap_err().to_string()
    };
    let read = "[[task]]\nname = \"t\"\nonce = [{ read_lock = \"l\" }, { compute = \"1ms\" }, { unlock = \"l\" }]\n";
    let write = read.replace("read_lock", "lock");
    let wait = "[[task]]\nname = \"w\"\nonce = [{ lock = \"l\" }, { cond_wait = \"c\", mutex = \"l\" }, { unlock = \"l\" }]\n\
                [[task]]\nname = \"s\"\nonce = [{ signal = \"c\" }]\n";
    for (tables, what) in [
        (format!("{read}[lock.l]\nprotocol = \"inherit\"\n"), "many owners"),
        (format!("{write}[lock.l]\nprotocol = \"inherit\"\nspin = \"1ms\"\n"), "boosts no task"),
        (format!("{write}[lock.l]\nprefer = \"writers\"\n"), "no task takes this lock to read"),
        (format!("{read}{wait}"), "taken to read elsewhere"),
        (read.replace("{ unlock = \"l\" }", "{ lock = \"l\" }, { unlock = \"l\" }"), "already held"),
    ] {
        assert!(wrong(&tables).contains(what), "{tables}: {}", wrong(&tables));
    }
}
