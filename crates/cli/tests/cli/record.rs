//! Recording on the kernel that runs. Where this process may not, what is asserted is the line that says so.

use crate::lab::{Lab, Output, lack_of_recorder};
use crate::skip::skip;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The messages for a process without capabilities.
const RIGHTS: &str = "recording needs CAP_BPF and CAP_PERFMON, which this process lacks; run it as root";

/// Records; none where that is refused, as it must be then.
fn record(lab: &Lab, args: &[&str]) -> Option<Output> {
    let output = lab.run(&[&["record"], args].concat());
    let Some(lack) = lack_of_recorder() else { return Some(output) };
    assert_lack(lab, &output, &lack);
    skip(&lack);
    None
}

fn assert_lack(lab: &Lab, output: &Output, lack: &str) {
    let told = format!("schedlab: {lack}\n");
    assert_eq!((output.code, output.out.as_str(), output.err.as_str()), (Some(2), "", told.as_str()));
    assert!(lab.files().is_empty(), "{:?}", lab.files());
}

/// Two sleepers, one in a session of its own, and their numbers in files.
const SLEEPERS: &str = "setsid sh -c 'echo $$ >far; exec sleep 1000' & echo $$ >near; exec sleep 1000";

/// Waits until a condition holds, for a time that nothing here takes.
fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The numbers of both sleepers, once they sleep.
fn sleepers(lab: &Lab) -> [String; 2] {
    let number = |name| fs::read_to_string(lab.path(name)).unwrap_or_default().trim().to_string();
    let sleeps = |name| fs::read_to_string(format!("/proc/{}/comm", number(name))).is_ok_and(|comm| comm == "sleep\n");
    wait_for("both sleep", || sleeps("near") && sleeps("far"));
    ["near", "far"].map(number)
}

fn is_there(pid: &String) -> bool {
    // One that has ended may wait for its parent.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_command_and_all_it_starts_become_a_lawful_trace() {
    let lab = Lab::new();
    let script = "ls / | sort >/dev/null; exit 3";
    let Some(output) = record(&lab, &["--", "sh", "-c", script]) else { return };
    assert_eq!((output.code, output.out.as_str()), (Some(3), ""), "{}", output.err);
    let page = &output.err;
    // The first line may be longer than one of a terminal.
    assert!(page.replace("\n    ", " ").starts_with(&format!("sh -c '{script}': ")), "{page}");
    for program in ["sh", "ls", "sort"] {
        assert!(page.lines().any(|line| line.starts_with(&format!("{program} "))), "no {program} in {page}");
    }
    assert!(page.contains(", none lost, ") && page.ends_with("The trace is in schedlab.parquet.\n"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert!(lab.out(&["check", "schedlab.parquet"]).contains(" of 3 tasks: no invariant is violated"));
    assert_eq!(lab.files(), ["schedlab.parquet"]);
}

#[test]
fn standard_output_is_that_of_the_command() {
    let lab = Lab::new();
    let Some(output) = record(&lab, &["--", "echo", "hi there"]) else { return };
    assert_eq!((output.code, output.out.as_str()), (Some(0), "hi there\n"), "{}", output.err);
    assert!(output.err.starts_with("echo 'hi there': "), "{}", output.err);
}

/// A program that computes until it is dropped.
struct Busy(std::process::Child);

impl Busy {
    fn start() -> Busy {
        Busy(Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("it runs until it is killed");
    }
}

#[test]
fn time_of_programs_that_are_not_recorded_is_not_idle() {
    let lab = Lab::new();
    let _busy = Busy::start();
    let Some(output) = record(&lab, &["-o", "trace.txt", "--", "sleep", "0.3"]) else { return };
    let trace = fs::read_to_string(lab.path("trace.txt")).unwrap();
    assert!(output.err.contains("others %"), "{}", output.err);
    assert!(trace.lines().any(|line| line.contains("untraced") && line.ends_with("others")), "{trace}");
}

#[test]
fn the_other_forms_and_a_signal() {
    let lab = Lab::new();
    for name in ["a.pftrace", "a.txt"] {
        let Some(output) = record(&lab, &["-o", name, "--ring", "1MiB", "--", "sh", "-c", "kill -9 $$"]) else {
            return;
        };
        assert_eq!((output.code, output.out.as_str()), (Some(137), ""));
        assert!(output.err.ends_with("\nthe command was killed by signal 9\n"), "{}", output.err);
    }
    assert!(lab.out(&["check", "a.pftrace"]).contains("no invariant is violated"));
    assert!(fs::read_to_string(lab.path("a.txt")).unwrap().contains("sh/0"));
}

#[test]
fn the_whole_machine_is_recorded_for_a_second() {
    let lab = Lab::new();
    let Some(output) = record(&lab, &["--seconds", "1"]) else { return };
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    // On a busy machine the recorder ends a little late.
    let (_, rest) = output.out.split_once("the whole machine: ").expect("a page on the whole machine");
    let seconds: f64 =
        rest.split("s on ").next().and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{rest}"));
    assert!(seconds >= 1.0 && rest.contains("\nschedlab"), "{rest}");
    assert!(lab.out(&["check", "schedlab.parquet"]).contains("no invariant is violated"));
}

#[test]
fn what_cannot_be_recorded_is_one_line_and_no_file() {
    let lab = Lab::new();
    for (args, code, part) in [
        (&["--", "no-such-program"][..], 127, "cannot run `no-such-program`: No such file or directory"),
        (&["--", "/etc/passwd"], 126, "cannot run `/etc/passwd`: Permission denied"),
    ] {
        let Some(output) = record(&lab, args) else { return };
        assert_eq!((output.code, output.err.lines().count()), (Some(code), 1), "{}", output.err);
        assert!(output.err.contains(part) && output.out.is_empty(), "{}", output.err);
        assert!(lab.files().is_empty(), "{:?}", lab.files());
    }
    // Known before anything begins, whatever the rights.
    for (name, code, part) in [("a.json", 2, "unknown kind of trace file"), ("none/a.txt", 2, "cannot write the trace")]
    {
        let output = lab.run(&["record", "-o", name, "--", "sh", "-c", "echo >begun"]);
        assert_eq!((output.code, output.err.lines().count()), (Some(code), 1), "{}", output.err);
        assert!(output.err.contains(part), "{}", output.err);
        assert!(lab.files().is_empty(), "{:?}", lab.files());
    }
}

#[test]
fn without_rights_it_says_what_lacks() {
    let lab = Lab::new();
    if let Some(lack) = lack_of_recorder() {
        return assert_lack(&lab, &lab.run(&["record", "--", "true"]), &lack);
    }
    // Still root, but without what makes it powerful.
    let mut command = Command::new("setpriv");
    command.args(["--securebits", "+noroot", "--bounding-set=-all", "--inh-caps=-all"]);
    command.arg(env!("CARGO_BIN_EXE_schedlab")).args(["record", "--", "true"]).current_dir(lab.path(""));
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let output = Output { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
    assert_lack(&lab, &output, RIGHTS);
}

#[test]
fn nothing_is_left_after_a_kill() {
    let lab = Lab::new();
    if record(&lab, &["-o", "probe.txt", "--", "true"]).is_none() {
        return;
    }
    let mut command = lab.command(&["record", "--", "sh", "-c", SLEEPERS]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let sleepers = sleepers(&lab);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the sleepers are gone", || !sleepers.iter().any(is_there));
    assert_eq!(lab.files(), ["far", "near", "probe.txt"]);
}

#[test]
fn ctrl_c_keeps_what_there_is_and_ends_the_command() {
    let lab = Lab::new();
    if record(&lab, &["-o", "probe.txt", "--", "true"]).is_none() {
        return;
    }
    let mut command = lab.command(&["record", "--", "sh", "-c", SLEEPERS]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let sleepers = sleepers(&lab);
    let signal = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(signal.success());
    let output = child.wait_with_output().unwrap();
    assert!(!sleepers.iter().any(is_there));
    let page = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(page.ends_with("\nthe command had not ended and was killed\n"), "{page}");
    assert!(page.contains("PARTIAL: stopped before the end"), "{page}");
    assert!(lab.out(&["check", "schedlab.parquet"]).contains("no invariant is violated"));
}

#[test]
fn a_command_that_is_not_over_in_time_is_ended() {
    let lab = Lab::new();
    let Some(output) = record(&lab, &["--seconds", "1", "--", "sh", "-c", SLEEPERS]) else { return };
    assert_eq!((output.code, output.out.as_str()), (Some(0), ""));
    assert!(output.err.ends_with("\nthe command had not ended and was killed\n"), "{}", output.err);
    assert!(!output.err.contains("PARTIAL"), "{}", output.err);
    assert!(!sleepers_of(&lab).iter().any(is_there));
}

fn sleepers_of(lab: &Lab) -> [String; 2] {
    ["near", "far"].map(|name| fs::read_to_string(lab.path(name)).unwrap().trim().to_string())
}

#[test]
fn a_full_disk_leaves_nothing() {
    let lab = Lab::new();
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" record -- sh -c 'ls / | sort >/dev/null'";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(env!("CARGO_BIN_EXE_schedlab")).current_dir(lab.path(""));
    let output = shell.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let (code, expected) = lack_of_recorder().map_or((1, "File too large".into()), |lack| (2, lack));
    assert_eq!(output.status.code(), Some(code), "{error}");
    // The page comes before it.
    assert!(error.lines().last().is_some_and(|line| line.contains(&expected)), "{error}");
    assert!(lab.files().is_empty(), "{:?}", lab.files());
}
