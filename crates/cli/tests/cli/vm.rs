//! Kernels in virtual machines. What these tests need, `make setup` installs; kernels are fetched when they are missing.

use crate::lab::{Lab, may_virtualize};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// One CPU, three tasks, half a second.
pub const ONE: &str = r#"
name = "one"
about = "Three tasks on one CPU."

[machine]
cpus = 1

[[task]]
name = "worker"
count = 2
loop = [{ compute = "30ms" }, { sleep = "exp(5ms)" }]

[[task]]
name = "hog"
loop = [{ compute = "100ms" }]

[run]
duration = "500ms"
"#;

/// One CPU, two tasks that never sleep, one that computes for moments.
const SLICES: &str = r#"
name = "slices"
about = "A task that computes for moments waits for the slices of two that always compute."

[machine]
cpus = 1

[[task]]
name = "moment"
loop = [{ compute = "2ms" }, { sleep = "exp(10ms)" }]

[[task]]
name = "hog"
count = 2
loop = [{ compute = "1s" }]

[run]
duration = "1s"
"#;

/// A real program, twice, and a task that always computes.
const PROGRAM: &str = r#"
name = "program"
about = "A shell that counts, beside a task that computes."

[machine]
cpus = 1

[[task]]
name = "shell"
count = 2
command = ["sh", "-c", "n=0; while [ $n -lt 1000 ]; do n=$((n+1)); done"]

[[task]]
name = "hog"
once = [{ compute = "100ms" }]

[run]
duration = "5s"
"#;

/// Each task waits for what its name says: a timer, a semaphore, a pipe, the network, a disk.
const WAITS: &str = r#"
name = "waits"

[machine]
cpus = 1

[[task]]
name = "w-t"
loop = [{ compute = "200us" }, { sleep = "5ms" }]

[[task]]
name = "giver"
loop = [{ compute = "100us" }, { post = "s" }, { send = "p" }, { send = "n" }, { sleep = "7ms" }]

[[task]]
name = "w-s"
loop = [{ wait = "s" }, { compute = "200us" }]

[[task]]
name = "w-p"
loop = [{ recv = "p" }, { compute = "200us" }]

[[task]]
name = "w-n"
loop = [{ recv = "n" }, { compute = "200us" }]

[[task]]
name = "w-d"
loop = [{ io = { device = "disk", service = "3ms" } }, { compute = "200us" }]

[channel.n]
kind = "socket"

[run]
duration = "200ms"
"#;

/// A kernel with sched_ext.
pub const NEW: &str = "debian:13-backports";

/// A folder with the scenario. Kernels are kept where users keep them, so that they are fetched once.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("one.toml", ONE);
    lab
}

/// Runs the scenario in a virtual machine and gives what was printed, and the trace.
fn run(lab: &Lab, flags: &[&str]) -> (String, Vec<u8>) {
    run_in("vm", lab, flags, &[])
}

fn run_in(venue: &str, lab: &Lab, flags: &[&str], surroundings: &[(&str, &str)]) -> (String, Vec<u8>) {
    let args = ["run", "one.toml", "--venue", venue, "--quiet", "--json", "--check", "--trace", "t.parquet"];
    let in_guest: &[&str] = if venue == "vm" { &["--no-costs"] } else { &[] };
    let mut command = lab.command(&[&args, in_guest, flags].concat());
    command.env_remove("XDG_CACHE_HOME").envs(surroundings.iter().copied());
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{flags:?}: {error}");
    (String::from_utf8(output.stdout).unwrap(), std::fs::read(lab.path("t.parquet")).unwrap())
}

fn mean_response_ms(result: &str, role: usize) -> f64 {
    let result: serde_json::Value = serde_json::from_str(result).unwrap();
    result["roles"][role]["response_ns"]["mean"].as_f64().unwrap_or_else(|| panic!("{result}")) / 1e6
}

/// A folder for what is kept in which there is nothing but the user's kernels.
fn kernels_only(lab: &Lab) -> PathBuf {
    let (users, folder) = (schedlab_venue::cache_folder().unwrap(), lab.path("cache/schedlab"));
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(users.join("kernels"), folder.join("kernels")).unwrap();
    lab.path("cache")
}

#[test]
fn a_kernel_on_one_cpu_repeats_bit_for_bit() {
    if !may_virtualize(&["debian:12", NEW]) {
        return;
    }
    let lab = lab();
    let flags = ["--policy", "kernel", "--kernel", "debian:12"];
    let (first, trace) = run(&lab, &flags);
    assert!(first.contains("Linux 6.1.") && first.contains("8 ns for each instruction"), "{first}");
    let mut first: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert_eq!(first.get("costs"), None, "they were not asked for");
    // In another folder, where no machine has booted yet, and with costs, which are measured when the run is over.
    let lab = self::lab();
    let cache = kernels_only(&lab);
    let args = "run one.toml --venue vm --quiet --json --check --trace t.parquet --policy kernel --kernel debian:12";
    let mut command = lab.command(&args.split(' ').collect::<Vec<_>>());
    let second = command.env("XDG_CACHE_HOME", &cache).output().unwrap();
    let mut second: serde_json::Value = serde_json::from_slice(&second.stdout).unwrap();
    assert_eq!(std::fs::read_dir(cache.join("schedlab/states")).unwrap().count(), 1, "it is kept for the next run");
    first["costs"] = second["costs"].take();
    second["costs"] = first["costs"].clone();
    assert!(first["costs"]["wakeup_ns"].as_f64().unwrap() > 0.0);
    assert_eq!(first, second);
    assert!(trace == std::fs::read(lab.path("t.parquet")).unwrap());
}

/// A verifier looks at what the parameters leave of a program: policies by other rules than their default ones.
const OTHER_RULES: [&str; 7] = [
    "ule:mode=freebsd",
    "linux-o1:version=2.6.3",
    "windows:version=vista",
    "cfs:version=4.9",
    "cfs:groups=process",
    "eevdf:version=7.1,hrtick=true",
    "alb:version=4.9",
];

#[test]
fn every_shipped_policy_is_taken_by_a_real_kernel_and_decides() {
    if !may_virtualize(&["debian:12", NEW]) {
        return;
    }
    let lab = lab();
    lab.write("one.toml", SLICES);
    let mean = |policy: &str| mean_response_ms(&run(&lab, &["--policy", policy, "--kernel", NEW]).0, 0);
    let (short, long) = (mean("rr:quantum=1ms"), mean("rr:quantum=20ms"));
    // Its 2 ms, and before them what is left of one slice and the whole of the other hog's. A slice ends at a tick, 4 ms
    // after the last: so at most 2 + 8 ms, or 2 + 40 ms.
    assert!((4.0..12.0).contains(&short) && (20.0..45.0).contains(&long), "{short} {long}");
    lab.write("one.toml", PROGRAM);
    let shipped = schedlab_policy::catalog().iter().map(|policy| policy.name).filter(|name| *name != "rr");
    let policies: Vec<&str> = shipped.chain(OTHER_RULES).collect();
    let gate = format!(
        "scenario = \"one.toml\"\npolicy = {policies:?}\nvenue = \"vm\"\nkernel = \"{NEW}\"\n\
         [[check]]\nmetric = \"roles.shell.requests\"\nmin = 2\nmax = 2\n"
    );
    lab.write("all.gate.toml", gate);
    let mut command = lab.command(&["gate", "all.gate.toml", "--fresh", "--quiet"]);
    let output = command.env_remove("XDG_CACHE_HOME").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told} {}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains(&format!("{} checks", policies.len())), "{told}");
}

#[test]
fn what_tasks_waited_for_is_the_same_in_the_simulator_and_in_a_kernel() {
    if !may_virtualize(&["debian:12", NEW]) {
        return;
    }
    let lab = lab();
    lab.write("one.toml", WAITS);
    lab.write("waits.bpf.c", include_str!("policies/waits.bpf.c"));
    // The policy gives up when a task was woken by anything else.
    for (venue, kernel) in [("sim", &[][..]), ("vm", &["--kernel", NEW])] {
        let (result, _) = run_in(venue, &lab, &[&["--policy", "./waits.bpf.c"], kernel].concat(), &[]);
        let result: serde_json::Value = serde_json::from_str(&result).unwrap();
        for role in result["roles"].as_array().unwrap() {
            assert!(role["requests"].as_u64().unwrap() >= 20, "{venue}: {role}");
        }
    }
}

/// The thread that creates the tasks moves to a real-time class, and the supervisor is in one: a policy that derives
/// slices from its number of tasks counts neither.
#[test]
fn a_kernel_has_no_tasks_beside_those_of_the_scenario() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let lab = lab();
    let hogs = SLICES.replace("sleep = \"exp(10ms)\"", "compute = \"1s\"");
    lab.write("one.toml", hogs.replace("[machine]", "[machine]\ntick = \"4ms\""));
    let wait = |venue: &str, flags: &[&str]| {
        let (result, _) = run_in(venue, &lab, &[&["--policy", "ule:inherit=false"], flags].concat(), &[]);
        let result: serde_json::Value = serde_json::from_str(&result).unwrap();
        result["roles"][1]["preempt_wait_ns"]["p50"].as_f64().unwrap_or_else(|| panic!("{result}")) / 1e6
    };
    // Three tasks: slices of 10 / 2 ticks. A fourth would make them 10 / 3.
    assert_eq!(wait("sim", &[]), 40.0);
    let real = wait("vm", &["--kernel", NEW]);
    assert!((36.5..43.5).contains(&real), "{real}");
}

#[test]
fn a_policy_in_a_kernel_publishes_what_it_does_in_the_simulator() {
    if !may_virtualize(&["debian:12", NEW]) {
        return;
    }
    let lab = lab();
    // The workers leave some of the CPU, so that the hog gets it whenever in their turns the run begins: next to workers that
    // take all of it a queue below theirs may starve.
    lab.write("one.toml", ONE.replace("500ms", "2s").replace("exp(5ms)", "exp(40ms)"));
    let queues = |venue: &str, flags: &[&str]| {
        run_in(venue, &lab, &[&["--policy", "mlfq"], flags].concat(), &[]);
        let told = lab.command(&["trace", "t.parquet", "status", "--role", "hog", "--list"]).output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        let words: Vec<u64> = told.lines().filter_map(|line| line.split_whitespace().last()?.parse().ok()).collect();
        // Where it was while its thread got ready is the generator's doing.
        let begin = words.iter().rposition(|&word| word == 1).unwrap_or_else(|| panic!("{told}"));
        words[begin..].iter().take(4).copied().collect::<Vec<_>>()
    };
    assert_eq!(queues("sim", &[]), [1, 2, 3, 4]);
    assert_eq!(queues("vm", &["--kernel", NEW]), [1, 2, 3, 4]);
}

#[test]
fn several_cpus_repeat_bit_for_bit_elsewhere_and_beside_busy_processes() {
    if !may_virtualize(&["debian:12", NEW]) {
        return;
    }
    let lab = lab();
    // The second CPU goes and comes back.
    let away = "[[hotplug]]\nat = \"50ms\"\noffline = \"1\"\n[[hotplug]]\nat = \"100ms\"\nonline = \"1\"\n";
    lab.write("one.toml", ONE.replace("cpus = 1", "cpus = 2") + away);
    let flags = ["--policy", "kernel", "--kernel", "debian:12", "--duration", "300ms"];
    let first = run(&lab, &flags);
    // Next to a busy process on each core.
    let busy: Vec<Child> =
        (0..2).map(|_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap()).collect();
    // The clock of Bochs knows zones.
    let second = run_in("vm", &lab, &flags, &[("TZ", "Asia/Kathmandu"), ("LANG", "C"), ("SOMETHING", "else")]);
    for mut process in busy {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert_eq!(first, second);
    let (result, _) = first;
    assert!(result.contains("50000000 instructions of each CPU a second, 16 at a time"), "{result}");
    // Three tasks on two CPUs: a worker shares at most with one other most of the time.
    assert!(mean_response_ms(&result, 0) < 70.0, "{result}");
    let parsed: serde_json::Value = serde_json::from_str(&result).unwrap();
    let idle = |cpu: usize| parsed["cpus"][cpu]["idle_frac"].as_f64().unwrap();
    assert!(idle(1) > 0.15 && idle(0) < 0.1, "{} {}", idle(0), idle(1));
}

#[test]
fn what_a_guest_cannot_do_is_one_line() {
    if !may_virtualize(&["debian:12", NEW]) {
        return;
    }
    let lab = lab();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--policy", "kernel", "--kernel", "debian:99"], 2, "there is no kernel `debian:99`; take debian:11"),
        (&["--policy", "kernel", "--kernel", "./one.toml"], 2, "./one.toml: this is not a kernel image"),
        (&["--policy", "ps"], 2, "policy ps cannot be run in the venue `vm`"),
        (
            &["--policy", "kernel", "--engine", "qemu", "--cpus", "2"],
            2,
            "the time of qemu is true for at most 1 CPU and",
        ),
        (
            &["--policy", "rr", "--kernel", "debian:12"],
            2,
            "the kernel debian:12 has no sched_ext; --kernel debian:13-backports has",
        ),
        (&["--policy", "kernel", "--engine", "xen"], 2, "there is no engine `xen`; take qemu, bochs or kvm"),
        (&["lost.toml", "--policy", "kernel"], 2, "task `shell`: there is no program `no-such-program` here"),
    ];
    lab.write("lost.toml", PROGRAM.replace("\"sh\"", "\"no-such-program\""));
    for (flags, code, part) in cases {
        let scenario = if flags[0].ends_with(".toml") { &[][..] } else { &["one.toml"] };
        let mut command = lab.command(&[&["run", "--venue", "vm", "--quiet"], *flags, scenario].concat());
        let output = command.env_remove("XDG_CACHE_HOME").output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), error.lines().count()), (Some(*code), 1), "{flags:?}: {error}");
        assert!(error.contains(part), "{flags:?}: {error}");
    }
}

/// A task on CPU 0 alone; then one there while all other CPUs are busy; then two that share it. Each computes for 100 ms.
fn phases(cpus: u32) -> String {
    let task = |name: &str, cpu: u32, count: u32, start: &str, work: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\ncpus = \"{cpu}\"\ncount = {count}\nstart = \"{start}\"\n\
             once = [{{ compute = \"{work}\" }}]\n"
        )
    };
    let others: String = (1..cpus).map(|cpu| task(&format!("other{cpu}"), cpu, 1, "200ms", "250ms")).collect();
    format!(
        "name = \"phases\"\nabout = \"Alone, beside others, and two on one CPU.\"\n[machine]\ncpus = {cpus}\n{}{}{}{others}\
         [run]\nduration = \"900ms\"\n",
        task("alone", 0, 1, "50ms", "100ms"),
        task("beside", 0, 1, "250ms", "100ms"),
        task("sharing", 0, 2, "500ms", "100ms"),
    )
}

/// How long the work of each phase took, in parts of the first: next to others, and the later of the two that share.
fn slowdowns(cpus: u32, engine: &str, kernel: &str) -> (f64, f64) {
    let lab = Lab::new();
    lab.write("one.toml", phases(cpus));
    let (result, _) = run(&lab, &["--policy", "kernel", "--kernel", kernel, "--engine", engine]);
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    let longest =
        |role: usize| result["roles"][role]["response_ns"]["max"].as_f64().unwrap_or_else(|| panic!("{result}"));
    println!("{cpus} CPUs in {engine}: {} {} {}", longest(0), longest(1), longest(2));
    (longest(1) / longest(0), longest(2) / longest(0))
}

#[test]
fn time_is_parallel_in_bochs() {
    if !may_virtualize(&["debian:12", NEW]) {
        return;
    }
    for cpus in [2, 4] {
        let (beside, sharing) = slowdowns(cpus, "bochs", "debian:12");
        assert!((0.98..1.02).contains(&beside), "{cpus}: {beside}");
        assert!((1.94..2.06).contains(&sharing), "{cpus}: {sharing}");
    }
}

/// Why QEMU is for one CPU: several take turns against one counter, so that what one does next to a busy one takes longer.
/// Kernels before 6.5 even wait for their second CPU without end.
#[test]
fn time_is_not_parallel_in_qemu() {
    if !may_virtualize(&["debian:12", NEW]) {
        return;
    }
    let (beside, _) = slowdowns(2, "qemu:cpus=2", NEW);
    assert!(beside > 1.1, "{beside}");
}

/// Processes that descend from this one.
fn descendants(pid: u32) -> Vec<u32> {
    let children = |pid: u32| {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        lists
            .flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<u32>>())
            .collect::<Vec<_>>()
    };
    let direct = children(pid);
    let further: Vec<u32> = direct.iter().flat_map(|&child| descendants(child)).collect();
    [direct, further].concat()
}

fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_run_that_is_cancelled_leaves_no_emulator() {
    if !may_virtualize(&["debian:12", NEW]) {
        return;
    }
    for (signal, code) in [(libc::SIGINT, Some(130)), (libc::SIGKILL, None)] {
        let lab = lab();
        let mut command =
            lab.command(&["run", "one.toml", "--venue", "vm", "--policy", "kernel", "--duration", "100s"]);
        let mut run = command.env_remove("XDG_CACHE_HOME").stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let is_emulator = |pid: &u32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("qemu-system"))
        };
        let mut emulators = Vec::new();
        wait_for("the emulator begins", || {
            emulators = descendants(run.id()).into_iter().filter(is_emulator).collect();
            !emulators.is_empty()
        });
        // SAFETY: our own child.
        unsafe { libc::kill(run.id() as i32, signal) };
        assert_eq!(run.wait().unwrap().code(), code);
        wait_for("the emulator ends", || !emulators.iter().any(is_emulator));
    }
}
