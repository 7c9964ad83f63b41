//! What policies do when a task of a real-time class, which they do not see, takes a CPU from one of theirs.

use super::observe;

const POLICIES: [&str; 7] = ["mlfq", "linux-o1", "windows", "ule", "cfs", "alb", "eevdf"];

/// The real-time task runs in the last two milliseconds of each tenth of a second, and in the midst of that somebody wakes who
/// goes before the task that was interrupted.
const TASKS: &str = "[[task]]\nname = \"hog\"\nonce = [{ compute = \"100s\" }]\n\
     [[task]]\nname = \"audio\"\nclass = \"fifo:50\"\nstart = \"98ms\"\nloop = [{ compute = \"2ms\" }, { sleep = \"98ms\" }]\n\
     [[task]]\nname = \"shell\"\nnice = -10\nstart = \"99ms\"\nloop = [{ compute = \"1ms\" }, { sleep = \"98ms\" }]\n";

/// A kernel gives the CPU back to the interrupted task without a word to the policy.
#[test]
fn who_wakes_during_an_interruption_runs_after_it() {
    for policy in POLICIES {
        let events = observe::run(policy, &observe::workload("cpus = 1", "2s", TASKS), &[]);
        let waits = observe::wakeup_waits(&events, 2);
        assert!(waits.len() > 15, "{policy}: {waits:?}");
        // The first time it is a new task, and not known yet.
        assert!(waits[1..].iter().all(|wait| *wait == 1_000), "{policy}: {waits:?}");
    }
}

/// Who is interrupted again and again comes to no harm by it, whatever it was when it got the CPU and has become since.
#[test]
fn nobody_starves_who_is_interrupted() {
    let tasks = "[[task]]\nname = \"hog\"\ncount = 4\nonce = [{ compute = \"100s\" }]\n[[task]]\nname = \"audio\"\n\
                 class = \"fifo:50\"\nloop = [{ compute = \"100us\" }, { sleep = \"1300us\" }]\n";
    for policy in POLICIES {
        let events = observe::run(policy, &observe::workload("cpus = 1", "10s", tasks), &[]);
        let hogs = observe::cpu_time(&events, 4);
        // A fourth of what is left is 2321 ms; the longest slices are above 100 ms.
        assert!(hogs.iter().all(|us| *us > 2_000_000), "{policy}: {hogs:?}");
    }
}
