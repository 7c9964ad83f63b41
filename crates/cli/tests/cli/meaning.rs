//! A step means the same in the simulator, on this machine and in a kernel. What is compared are counts, computed by hand
//! and with margins of a tenth of a second and more, so that they hold on a machine that others use.

use crate::lab::{Lab, is_done, may_virtualize};
use serde_json::Value;

/// The roles of a run in each venue that works here.
fn in_every_venue(scenario: &str) -> Vec<(&'static str, Value)> {
    let kernel = "debian:13";
    let in_guest: &[&str] = &["--venue", "vm", "--policy", "kernel", "--kernel", kernel];
    let mut places = vec![("sim", &["--venue", "sim", "--policy", "rr"][..])];
    places.push(("host", &["--venue", "host", "--policy", "kernel"]));
    if may_virtualize(&[kernel]) {
        places.push(("vm", in_guest));
    }
    places.into_iter().map(|(venue, flags)| (venue, roles(scenario, flags))).collect()
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
