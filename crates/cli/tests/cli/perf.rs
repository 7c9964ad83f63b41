//! `record` and perf look at the same command at the same time, and see the same.

use crate::lab::{Lab, lack_of_recorder};
use crate::skip::skip;
use schedlab_model::scenario::Notation;
use schedlab_model::time::Time;
use std::path::Path;
use std::process::Command;

/// Four pairs of shells, each handing a line back and forth without a child, all on one CPU, so that the woken task waits.
/// Each counts a while before it answers: waits are then far longer than what the two observers themselves take between a
/// wake-up and a switch. They have names of their own, so that they are found.
const PAIRS: &str = "
for i in 1 2 3 4; do
    mkfifo there$i back$i
    ln -s \"$(command -v sh)\" pinger$i
    ln -s \"$(command -v sh)\" ponger$i
    ./ponger$i -c \"exec 3<>back$i 4<>there$i
        while read x <&4; do k=0; while [ \\$k -lt 300 ]; do k=\\$((k+1)); done; echo x >&3; [ \\$x = end ] && exit; done\" &
    ./pinger$i -c \"exec 3<>there$i 4<>back$i; n=0
        while [ \\$n -lt 300 ]; do k=0; while [ \\$k -lt 300 ]; do k=\\$((k+1)); done; echo x >&3; read y <&4
            n=\\$((n+1)); done; echo end >&3\" &
done
wait
";

/// How many runs may be seen by one of the two only.
const UNLIKE: usize = 10;

/// How many times a task ran after a wake-up, and how long after it, in microseconds, on average. The shortest and the
/// longest are left out, as they may be those that one alone has seen.
#[derive(Debug)]
struct Seen {
    runs: usize,
    mean_us: f64,
}

impl Seen {
    fn of(mut latencies_us: Vec<f64>) -> Seen {
        let runs = latencies_us.len();
        assert!(runs >= 50, "{latencies_us:?}");
        latencies_us.sort_by(f64::total_cmp);
        let common = &latencies_us[UNLIKE..runs - UNLIKE];
        Seen { runs, mean_us: common.iter().sum::<f64>() / common.len() as f64 }
    }
}

/// Where the kernel's tracing files are mounted.
const TRACING: &str = "/sys/kernel/tracing";

/// A shell that finds the kernel's tracing files: where they are, or else in a mount of its own, which goes away with it.
fn perf(lab: &Lab, script: &str) -> Command {
    let is_mounted = Path::new(TRACING).join("events").exists();
    let mut command = Command::new(if is_mounted { "sh" } else { "unshare" });
    if !is_mounted {
        command.args(["--mount", "sh"]);
    }
    let mount = if is_mounted { String::new() } else { format!("mount -t tracefs tracefs {TRACING} && ") };
    command.args(["-c", &format!("{mount}{script}"), env!("CARGO_BIN_EXE_schedlab")]).current_dir(lab.path(""));
    command
}

/// Why the two cannot be compared with each other here; nothing where they can. Both are tried.
fn lack(lab: &Lab) -> Option<String> {
    let by_perf = || {
        let tried = perf(lab, "perf sched record -o trial.data -- true").output();
        let said = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().replace('\n', "; ");
        match tried {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(format!("perf does not record (`make setup` installs it): {}", said(output.stderr))),
            Err(error) => Some(format!("there is no shell with the kernel's tracing files: {error}")),
        }
    };
    lack_of_recorder().or_else(by_perf)
}

/// What `perf sched timehist` says about a task: a line for each time it left a CPU, with the time from its wake-up to that
/// run, in milliseconds of three digits, zero when it had not slept.
fn by_perf(text: &str, name: &str) -> Seen {
    let lines = text.lines().filter(|line| line.contains(&format!(" {name}[")));
    let delays = lines.map(|line| {
        let from_the_right: Vec<&str> = line.split_whitespace().rev().collect();
        1000.0 * from_the_right[1].parse::<f64>().unwrap_or_else(|_| panic!("{line}"))
    });
    Seen::of(delays.filter(|delay| *delay > 0.0).collect())
}

/// What our own list says about it. Where the kernel has hidden a switch, the end of a wait is not known.
fn by_us(list: &str, name: &str) -> Seen {
    let lines = list.lines().filter(|line| line.contains(&format!("  {name}/0 ")) && !line.ends_with("not known"));
    let latencies = lines.map(|line| {
        let time = line.split_whitespace().last().and_then(|time| Time::read(time).ok()).unwrap();
        time.ns() as f64 / 1000.0
    });
    Seen::of(latencies.collect())
}

#[test]
fn perf_sees_the_same_latencies() {
    let lab = Lab::new();
    if let Some(lack) = lack(&lab) {
        return skip(&lack);
    }
    lab.write("pairs.sh", PAIRS);
    let recorded =
        perf(&lab, "\"$0\" record -o ours.parquet -- perf sched record -o perf.data -- taskset -c 0 sh pairs.sh")
            .output();
    let recorded = recorded.unwrap();
    assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
    let text = perf(&lab, "perf sched timehist -i perf.data").output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    for name in ["pinger1", "ponger1", "pinger4", "ponger4"] {
        let list = lab.out(&["trace", "ours.parquet", "latency", "--role", name, "--list"]);
        let (ours, theirs) = (by_us(&list, name), by_perf(&text, name));
        println!("{name}: ours {ours:?}, perf's {theirs:?}");
        // How many of the 300 lines find their reader asleep is for the kernel to decide.
        assert!(ours.runs.abs_diff(theirs.runs) <= UNLIKE, "{name}: {ours:?}, {theirs:?}");
        // Each looks at the clock in a handler of its own, one after the other.
        assert!((ours.mean_us - theirs.mean_us).abs() <= 2.0 + 0.05 * theirs.mean_us, "{name}: {ours:?}, {theirs:?}");
    }
}
