//! A step means the same in the simulator, on this machine and in a kernel. What is compared are counts, computed by hand
//! and with margins of a tenth of a second and more, so that they hold on a machine that others use.

use crate::lab::{Lab, is_done, may_virtualize};
use crate::stalls::longest_stall_during;
use serde_json::Value;
use std::time::Duration;

/// What the counts bear: less than their margins.
const TOLERATED_STALL: Duration = Duration::from_millis(100);

/// How often a run on this machine is made again because of what else happens there. The last one counts in any case.
const ATTEMPTS: usize = 5;

/// The roles of a run in each venue that works here.
fn in_every_venue(scenario: &str) -> Vec<(&'static str, Value)> {
    let kernel = "debian:13";
    let in_guest: &[&str] = &["--venue", "vm", "--no-costs", "--policy", "kernel", "--kernel", kernel];
    let mut places = vec![("sim", &["--venue", "sim", "--policy", "rr"][..])];
    places.push(("host", &["--venue", "host", "--policy", "kernel"]));
    if may_virtualize(&[kernel]) {
        places.push(("vm", in_guest));
    }
    places.into_iter().map(|(venue, flags)| (venue, undisturbed_roles(venue, scenario, flags))).collect()
}

/// The longest that a task waited for a CPU: programs that run here at the same time take them, too.
fn longest_wait(roles: &Value) -> Duration {
    let waits = roles.as_array().unwrap().iter().filter_map(|role| role["run_delay_ns"]["max"].as_u64());
    Duration::from_nanos(waits.max().unwrap_or(0))
}

/// The same, of a run during which this machine did not stand still and no other program took much of it, where that matters.
fn undisturbed_roles(venue: &str, scenario: &str, flags: &[&str]) -> Value {
    let attempts = if venue == "host" { ATTEMPTS } else { 1 };
    for attempt in 1..attempts {
        let (roles, stall) = longest_stall_during(|| roles(scenario, flags));
        let wait = longest_wait(&roles);
        if stall.max(wait) < TOLERATED_STALL {
            return roles;
        }
        println!("attempt {attempt}: the machine stood still for {stall:?}, a task waited for a CPU for {wait:?}");
    }
    roles(scenario, flags)
}

fn roles(scenario: &str, flags: &[&str]) -> Value {
    let lab = Lab::new();
    lab.write("s.toml", scenario);
    let mut command = lab.command(&[&["run", "s.toml", "--quiet", "--json"], flags].concat());
    let output = command.env_remove("XDG_CACHE_HOME").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(is_done(output.status.code(), &flags.join(" ")), "{flags:?}: {error}");
    let mut result: Value = serde_json::from_slice(&output.stdout).unwrap();
    result["roles"].take()
}

/// These counts of each role.
fn counts(roles: &Value, names: &[&str]) -> Vec<Vec<u64>> {
    let of = |role: &Value| names.iter().map(|name| role[name].as_u64().unwrap_or(0)).collect();
    roles.as_array().unwrap().iter().map(of).collect()
}

/// Two jobs in time, a sleep over two releases, two more jobs; the second one is late in any case.
#[test]
fn periodic_tasks_skip_catch_up_and_restart() {
    let role = |name: &str, overrun: &str| {
        let period = format!("{{ period = \"400ms\"{overrun} }}");
        let jobs = format!("{{ repeat = 2, steps = [{period}, {{ compute = \"1ms\" }}] }}");
        format!("[[task]]\nname = \"{name}\"\nonce = [{jobs}, {{ sleep = \"1s\" }}, {jobs}]\n")
    };
    let roles = role("skips", "")
        + &role("catches-up", ", overrun = \"catch_up\"")
        // The run ends with the last job of this one.
        + &role("restarts", ", overrun = \"restart\"");
    for (venue, roles) in in_every_venue(&format!("name = \"t\"\n[machine]\ncpus = 1\n{roles}")) {
        let counts = counts(&roles, &["jobs", "deadline_misses", "releases_skipped"]);
        assert_eq!(counts, [[4, 1, 2], [4, 2, 0], [4, 1, 0]], "{venue}");
        // The job of 800 ms is done at 1801 ms, 601 ms late.
        for role in roles.as_array().unwrap() {
            let late = role["lateness_ns"]["max"].as_u64().unwrap();
            assert!((600_000_000..900_000_000).contains(&late), "{venue}: {role}");
        }
    }
}

/// Four wait. A signal before they do is lost, the next one wakes the first in the line, the broadcast all others and, since
/// it waits again, the first.
#[test]
fn a_signal_goes_to_who_waits() {
    let wait = "{ lock = \"m\" }, { cond_wait = \"c\", mutex = \"m\" }, { unlock = \"m\" }";
    let work = "{ compute = \"1us\" }";
    let pause = "{ sleep = \"400ms\" }";
    let giver = format!("{{ signal = \"c\" }}, {pause}, {{ signal = \"c\" }}, {pause}, {{ broadcast = \"c\" }}");
    let scenario = format!(
        "name = \"t\"\n[machine]\ncpus = 1\n\
         [[task]]\nname = \"first\"\nonce = [{work}, {{ sleep = \"100ms\" }}, {wait}, {wait}, {work}]\n\
         [[task]]\nname = \"others\"\ncount = 3\nonce = [{work}, {{ sleep = \"200ms\" }}, {wait}, {work}]\n\
         [[task]]\nname = \"giver\"\nonce = [{giver}]\n"
    );
    for (venue, roles) in in_every_venue(&scenario) {
        assert_eq!(responses(&roles, 800_000_000), [1, 3, 1], "{venue}: {roles}");
    }
}

/// One that is resumed while it does not sleep misses it: of the calls at 200, 400, 600, 800 and 1000 ms it hears every other.
#[test]
fn who_is_suspended_waits_for_the_next_resume() {
    let scenario = r#"
name = "t"
[machine]
cpus = 2
[[task]]
name = "sleeper"
once = [{ compute = "1us" }, { repeat = 3, steps = [{ suspend = "sleeper" }, { sleep = "300ms" }] }, { compute = "1us" }]
[[task]]
name = "caller"
once = [{ compute = "1us" }, { repeat = 5, steps = [{ sleep = "200ms" }, { resume = "sleeper" }] }]
"#;
    for (venue, roles) in in_every_venue(scenario) {
        assert_eq!(responses(&roles, 1_000_000_000), [1, 1], "{venue}: {roles}");
        assert_eq!(responses(&roles, 1_300_000_000), [1, 0], "{venue}: {roles}");
    }
}

/// The most urgent task waits for the one with the mutex, and without inheritance for another that keeps that one from its CPU.
#[test]
fn inheritance_ends_what_an_urgent_task_has_nothing_to_do_with() {
    let scenario = |protocol: &str| {
        format!(
            "name = \"t\"\n[machine]\ncpus = 1\n\
             [[task]]\nname = \"low\"\nonce = [{{ lock = \"m\" }}, {{ compute = \"200ms\" }}, {{ unlock = \"m\" }}]\n\
             [[task]]\nname = \"medium\"\nclass = \"fifo:10\"\nstart = \"50ms\"\nonce = [{{ compute = \"1200ms\" }}]\n\
             [[task]]\nname = \"high\"\nclass = \"fifo:20\"\nstart = \"100ms\"\nonce = [{{ lock = \"m\" }}, \
             {{ compute = \"10ms\" }}, {{ unlock = \"m\" }}]\n[lock.m]\nprotocol = \"{protocol}\"\n"
        )
    };
    // 50 ms of the mutex's 200 are over before, 1150 ms of the other one's 1200 are still to come.
    for (protocol, is_long) in [("none", true), ("inherit", false)] {
        for (venue, roles) in in_every_venue(&scenario(protocol)) {
            let response = roles[2]["response_ns"]["max"].as_u64().unwrap();
            assert_eq!(response > 1_000_000_000, is_long, "{protocol} {venue}: {response}");
        }
    }
}

/// A reader until 300 ms, a writer that comes at 50 and keeps the lock for 200, a reader that comes at 100 and keeps it for 300.
#[test]
fn a_lock_lets_in_whom_it_prefers() {
    let hold = |name: &str, start: u32, step: &str, ms: u32| {
        format!(
            "[[task]]\nname = \"{name}\"\nstart = \"{start}ms\"\nonce = [{{ {step} = \"l\" }}, {{ compute = \"1us\" }}, \
             {{ sleep = \"{ms}ms\" }}, {{ unlock = \"l\" }}]\n"
        )
    };
    let tasks =
        hold("early", 0, "read_lock", 300) + &hold("writer", 50, "lock", 200) + &hold("late", 100, "read_lock", 300);
    // The writer from 400 to 600, or from 300 to 500 and the late reader until 800.
    for (prefer, waits) in [("readers", [0, 1, 0]), ("writers", [0, 0, 1])] {
        let scenario = format!("name = \"t\"\n[machine]\ncpus = 1\n[lock.l]\nprefer = \"{prefer}\"\n{tasks}");
        for (venue, roles) in in_every_venue(&scenario) {
            assert_eq!(responses(&roles, 500_000_000), waits, "{prefer} {venue}: {roles}");
        }
    }
}

/// While it is of the real-time class it has the CPU alone.
#[test]
fn a_task_changes_its_class() {
    let scenario = r#"
name = "t"
[machine]
cpus = 1
[[task]]
name = "changes"
once = [{ set = { class = "fifo:5" } }, { compute = "300ms" }, { set = { class = "other" } }, { compute = "1ms" }]
[[task]]
name = "other"
once = [{ compute = "300ms" }]
"#;
    for (venue, roles) in in_every_venue(scenario) {
        let [changes, other] = [0, 1].map(|role| roles[role]["response_ns"]["max"].as_u64().unwrap());
        assert!(changes * 10 < other * 8, "{venue}: {changes} {other}");
    }
}

/// How many tasks of each role took so long from their first piece of work to their last; none may have been much faster or slower.
fn responses(roles: &Value, least_ns: u64) -> Vec<u64> {
    let of = |role: &Value| {
        let response = &role["response_ns"];
        let is_so_long = response["min"].as_u64().is_some_and(|ns| ns >= least_ns && ns < least_ns + 400_000_000);
        if is_so_long { response["count"].as_u64().unwrap() } else { 0 }
    };
    roles.as_array().unwrap().iter().map(of).collect()
}
