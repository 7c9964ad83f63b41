//! Scenarios that would take more than a machine has are refused, in little time and memory, and what costs nothing takes
//! none.

use crate::lab::{Lab, Output};
use std::os::unix::process::CommandExt;

/// A run with 3 GiB of memory next to the 4 that the simulator reserves, and a minute of processor time.
fn run(lab: &Lab, file: &str, policy: &str) -> Output {
    let mut command = lab.command(&["run", file, "--policy", policy, "--quiet", "--json"]);
    // SAFETY: the child makes system calls before it becomes the program.
    unsafe {
        command.pre_exec(|| {
            for (what, most) in [(libc::RLIMIT_DATA, 7 << 30), (libc::RLIMIT_CPU, 60)] {
                libc::setrlimit(what, &libc::rlimit { rlim_cur: most, rlim_max: most });
            }
            Ok(())
        });
    }
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn scenario(duration: &str, tables: &str) -> String {
    format!("name = \"s\"\n[machine]\ncpus = 2\n[run]\nduration = \"{duration}\"\n{tables}")
}

fn task(rest: &str) -> String {
    format!("[[task]]\nname = \"t\"\n{rest}\n")
}

fn child(rest: &str) -> String {
    format!("[[task]]\nname = \"c\"\nspawned = true\n{rest}\n")
}

#[test]
fn too_much_is_refused_before_the_memory_is_gone() {
    let once = "once = [{ compute = \"1ms\" }]";
    let sleeper = "once = [{ sleep = \"1000s\" }]";
    let spawn = |count: u64, body: &str| task(&format!("once = [{{ spawn = \"c\", count = {count} }}]")) + &child(body);
    let worker = "loop = [{ recv = \"c\" }, { compute = \"1s\" }, { answer = true }]";
    let many: String = (0..4097).map(|number| format!("[[task]]\nname = \"t{number}\"\n{once}\n")).collect();
    let source = |gap: &str, messages: u32| {
        format!("[channel.c]\n[[source]]\nchannel = \"c\"\narrivals = \"{gap}\"\nmessages = {messages}\n")
            + &task(worker)
    };
    let cases = [
        (task(&format!("count = 9999999\n{once}")), "9999999 tasks are too many"),
        (task(&format!("count = 4294967295\n{once}")), "too many"),
        (task(&format!("count = 1048577\n{once}")), "at most 1048576 fit"),
        (
            task(&format!("count = 600000\n{once}")) + &many[..0] + "[[task]]\nname = \"u\"\ncount = 600000\n" + once,
            "1200000 tasks are too many",
        ),
        (spawn(4_000_000, once), "4000000 tasks at one instant"),
        (task("count = 3000\nonce = [{ spawn = \"c\", count = 1000 }]") + &child(once), "3000000 tasks at one instant"),
        (task("once = [{ repeat = 1000000, steps = [{ spawn = \"c\", count = 1000 }] }]") + &child(once), "too many"),
        (
            task("loop = [{ spawn = \"c\", count = 1000 }, { sleep = \"1ms\" }]") + &child(sleeper),
            "more than 1048576 tasks at once",
        ),
        (
            task("loop = [{ spawn = \"c\", count = 1000000 }, { compute = \"1ms\" }]") + &child(sleeper),
            "more than 1048576 tasks at once",
        ),
        (task(&format!("arrivals = \"exp(1ns)\"\n{once}")), "tasks arrive and 2 CPUs can serve"),
        (task(&format!("arrivals = \"1us\"\n{once}")), "tasks arrive and 2 CPUs can serve"),
        (task(&format!("arrivals = \"uniform(1ns, 100ns)\"\nlimit = 4000000000\n{once}")), "would be there at the end"),
        (task(&format!("arrivals = \"1us\"\n{sleeper}")), "more than 1048576 tasks at once"),
        (task(&format!("arrivals = \"exp(1ns)\"\n{sleeper}")), "more than 1048576 tasks at once"),
        (
            task(&format!("count = 1000000\n{once}")) + "[[task]]\nname = \"u\"\narrivals = \"1us\"\n" + sleeper,
            "more than 1048576 tasks at once",
        ),
        (many.clone(), "4097 tables [[task]] are too many"),
        (source("1us", 1000), "requests without an answer"),
        (source("1ns", 1), "requests without an answer"),
        (source("1s", 4_000_000_000), "too many"),
        (
            task("loop = [{ post = \"s\", times = 1000000 }, { sleep = \"1ms\" }]")
                + "[[task]]\nname = \"u\"\nloop = [{ wait = \"s\" }, { compute = \"1s\" }, { answer = true }]\n",
            "requests without an answer",
        ),
        (
            task("loop = [{ wait = \"s\" }, { compute = \"1ns\" }]")
                + "[[task]]\nname = \"u\"\nloop = [{ post = \"s\", times = 100000 }, { sleep = \"1us\" }]\n[[task]]\nname = \"v\"\nonce = [{ answer = true }]\n",
            "",
        ),
        (task("count = 4294967296\nonce = [{ compute = \"1ms\" }]"), "whole number"),
    ];
    for (number, (tables, part)) in cases.iter().enumerate() {
        let lab = Lab::new();
        lab.write("s.toml", scenario("1000s", tables));
        // What tasks do is the same under both kinds of policies, and takes seconds until the memory is full.
        let kinds: &[&str] = if number % 4 == 3 { &["rr", "ideal-fcfs"] } else { &["rr"] };
        for policy in kinds {
            let output = run(&lab, "s.toml", policy);
            assert!(output.code.is_some(), "{policy}: {} was ended from outside", &tables[..tables.len().min(300)]);
            if !part.is_empty() {
                assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{policy}: {tables}: {}", output.err);
                assert!(
                    output.err.contains(part) && output.err.lines().count() == 1,
                    "{policy}: {part}: {}",
                    output.err
                );
            }
        }
    }
}

#[test]
fn a_long_idleness_costs_nothing() {
    let lab = Lab::new();
    lab.write(
        "s.toml",
        scenario("4611686018427387902ns", &task("start = \"4611686018427387901ns\"\nonce = [{ compute = \"1ms\" }]")),
    );
    for policy in ["rr", "cfs", "eevdf", "mlfq", "fcfs", "linux-o1", "ps", "ideal-fcfs"] {
        let output = run(&lab, "s.toml", policy);
        assert_eq!(output.code, Some(0), "{policy}: {}", output.err);
    }
}

/// The watchdog sees a task that begins to wait after a long idle time as soon as it would without one.
#[test]
fn a_task_that_is_lost_after_a_long_idleness_is_found_in_time() {
    let lab = Lab::new();
    lab.policy("stall.bpf.c");
    for start in ["0ns", "100000s"] {
        lab.write(
            "s.toml",
            scenario("200000s", &task(&format!("count = 5\nstart = \"{start}\"\nonce = [{{ compute = \"1ms\" }}]"))),
        );
        let output = run(&lab, "s.toml", "./stall.bpf.c");
        assert_eq!(output.code, Some(1), "{start}: {}", output.out);
        assert!(output.err.contains("it wants a CPU and got none for"), "{start}: {}", output.err);
    }
}
