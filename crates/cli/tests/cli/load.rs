//! `load` and the venue `host` on a kernel that has sched_ext: the built program inside of a virtual machine.

use crate::lab::{Lab, may_virtualize};
use crate::vm::{NEW, ONE};
use schedlab_load::Guarded;
use schedlab_vm::engine::{Engine, Guest, MEMORY_BYTES, Part, Qemu};
use schedlab_vm::image::Image;
use schedlab_vm::initramfs::Initramfs;
use schedlab_vm::{kernels, libraries};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A kernel without sched_ext.
const OLD: &str = "debian:12";

/// A guest that is not off by then hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// What the guest's shell needs in addition to the program.
const PROGRAMS: [&str; 4] = ["/bin/sh", "/bin/mount", "/bin/sleep", "/usr/bin/setpriv"];

/// Before the test: file systems, a task that always computes, two functions. After it: off.
const BEGIN: &str = r#"#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
exec > /dev/ttyS0 2>&1
export HOME=/tmp NO_COLOR=1 PATH=/bin:/usr/bin
while :; do :; done &
hog=$!
state() { read word < /sys/kernel/sched_ext/state; echo "$1: code $code, $word"; }
began() { for try in 1 2 3 4 5 6 7 8 9; do sleep 0.5; read word < /sys/kernel/sched_ext/state; [ $word = enabled ] && return; done; }
"#;
const END: &str = "\necho o > /proc/sysrq-trigger\nsleep 100\n";

/// Runs a script as the first program of a guest with this kernel, and gives the lines that it printed.
pub fn guest(kernel: &str, script: &str) -> Vec<String> {
    let lab = Lab::new();
    lab.policy("stall.bpf.c");
    let mut files = Initramfs::default();
    files.program("/init", format!("{BEGIN}{script}{END}").into_bytes());
    files.data("/one.toml", ONE.into());
    files.data("/stall.bpf.o", schedlab_policy::compile(&lab.path("stall.bpf.c")).unwrap().object);
    let mut add = |path: &str, program: &Path| {
        files.program(path, libraries::without_sections(fs::read(program).unwrap()));
        libraries::of(program).unwrap().into_iter().for_each(|(path, library)| files.program(&path, library));
    };
    add("/bin/schedlab", Path::new(env!("CARGO_BIN_EXE_schedlab")));
    PROGRAMS.iter().for_each(|program| add(program, Path::new(program)));
    let (kernel, folder) = (Image::read(&kernels::find(kernel).unwrap()).unwrap(), lab.path(""));
    let guest = Guest {
        kernel: &kernel,
        files: &files.archive(),
        cpus: 1,
        memory_bytes: MEMORY_BYTES,
        seed: 1,
        part: Part::Whole,
        folder: &folder,
    };
    let mut emulator = Guarded::start(Qemu::default().command(&guest).unwrap().stdin(Stdio::null())).unwrap();
    emulator.go().unwrap();
    let begun = Instant::now();
    let console = || String::from_utf8_lossy(&fs::read(guest.console()).unwrap_or_default()).replace('\r', "");
    while emulator.ended().unwrap().is_none() {
        assert!(begun.elapsed() < LIMIT, "{}", console());
        std::thread::sleep(Duration::from_millis(100));
    }
    let console = console();
    console.lines().map(str::to_string).collect()
}

/// The one line that begins so.
pub fn line<'a>(lines: &'a [String], begin: &str) -> &'a str {
    let mut found = lines.iter().filter(|line| line.starts_with(begin));
    let line = found.next().unwrap_or_else(|| panic!("{begin}: {lines:#?}"));
    assert!(found.next().is_none(), "{begin}: {lines:#?}");
    line
}

#[test]
fn a_machine_is_given_back_however_it_ends() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let lines = guest(
        NEW,
        r#"
schedlab load rr:quantum=5ms --seconds 2; code=$?; state time
kill $hog
schedlab load fcfs & began; kill -TERM $!; wait $!; code=$?; state term
schedlab load mlfq & began; kill -INT $!; wait $!; code=$?; state int
schedlab load rr & began; schedlab load fcfs; code=$?; state taken
kill -KILL $!; wait $!; code=$?; sleep 0.3; state kill
schedlab load /stall.bpf.o; code=$?; state ejected
setpriv --reuid=1000 --clear-groups schedlab load rr; code=$?; state rights
"#,
    );
    let line = |begin| line(&lines, begin);
    assert_eq!(line("time: "), "time: code 0, disabled");
    assert!(line("rr:quantum=5ms was in charge for 2.").ends_with(" s; the kernel's own scheduler is again"));
    let numbers: Vec<&str> = line("   2 s ").split_whitespace().collect();
    // Its slices end 200 times a second, if another task wants to run.
    assert!((2.0..2000.0).contains(&numbers[2].parse::<f64>().unwrap()), "{numbers:?}");
    assert_eq!((numbers[3], numbers[4], numbers[6], numbers[7]), ("switches/s", "busy", "%", "runnable"));
    assert_eq!((line("term: "), line("int: ")), ("term: code 130, disabled", "int: code 130, disabled"));
    assert!(
        line("fcfs was in charge for ").ends_with("is again") && line("mlfq was in charge for ").ends_with("is again")
    );
    assert_eq!((line("taken: "), line("kill: ")), ("taken: code 2, enabled", "kill: code 137, disabled"));
    line("schedlab: policy fcfs cannot be run in the venue `host`: the scheduler `rr` is in charge of this kernel");
    assert_eq!(line("ejected: "), "ejected: code 1, disabled");
    line("schedlab: policy /stall.bpf.o: the kernel ejected the policy: BPF scheduler \"stall\" disabled (runnable");
    assert_eq!(line("rights: "), "rights: code 2, disabled");
    line(
        "schedlab: policy rr cannot be run in the venue `host`: loading a policy needs CAP_BPF and CAP_PERFMON, which",
    );
}

#[test]
fn a_run_on_this_machine_is_under_its_policy() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let lines = guest(
        NEW,
        r#"
kill $hog
schedlab run /one.toml --venue host --policy rr --quiet --check; code=$?; state ran
schedlab run /one.toml --venue host --policy /stall.bpf.o --quiet; code=$?; state ejected
schedlab run /one.toml --venue host --policy rr --quiet --duration 60s & began; sleep 1; kill -INT $!; wait $!; code=$?; state int
"#,
    );
    let line = |begin| line(&lines, begin);
    // What else the guest does may take too much of an emulated CPU.
    assert!(["ran: code 0, disabled", "ran: code 3, disabled"].contains(&line("ran: ")), "{}", line("ran: "));
    line("one under rr: 500ms on 1 CPU in host, seed 1");
    assert_eq!(line("ejected: "), "ejected: code 1, disabled");
    line("schedlab: policy /stall.bpf.o: the kernel ejected the policy: BPF scheduler \"stall\" disabled (runnable");
    assert_eq!(line("int: "), "int: code 130, disabled");
    line("PARTIAL: stopped before the end");
}

/// On a kernel without sched_ext: this one, or else one that never had it.
#[test]
fn a_kernel_that_cannot_is_one_line_that_says_what_to_do() {
    const LINE: &str = "has no sched_ext; name a policy that a kernel can load; `schedlab venues` shows";
    if schedlab_kernel::has_sched_ext() {
        if may_virtualize(&[OLD]) {
            let lines = guest(OLD, "schedlab load rr --seconds 1; echo \"none: code $?\"");
            assert_eq!(line(&lines, "none: "), "none: code 2");
            assert!(line(&lines, "schedlab: ").contains(LINE), "{lines:?}");
        }
        return;
    }
    let output = Lab::new().run(&["load", "rr", "--seconds", "1"]);
    assert_eq!((output.code, output.out.as_str(), output.err.lines().count()), (Some(2), "", 1), "{}", output.err);
    assert!(output.err.contains(LINE), "{}", output.err);
}
