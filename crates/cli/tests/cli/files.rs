//! Files in addition to the output: unwritable ones are reported before anything runs, later failures keep the output.

use crate::lab::{Lab, Output};
use std::fs;
use std::process::Command;

/// Three switches between two tasks, as ftrace writes them.
const TEXT: &str = "\
# tracer: nop
           a-10    [000] d..2.  1.000000: sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=R ==> next_comm=b next_pid=11 next_prio=120
           b-11    [000] d..2.  1.010000: sched_switch: prev_comm=b prev_pid=11 prev_prio=120 prev_state=R ==> next_comm=a next_pid=10 next_prio=120
           a-10    [000] d..2.  1.020000: sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=R ==> next_comm=b next_pid=11 next_prio=120
";

const SWEEP: &str = r#"
name = "s"
about = "CPUs."
policy = "rr"
scenario = "small.toml"

[axis]
"machine.cpus" = [1, 2]
"#;

#[test]
fn what_cannot_be_written_is_known_before_anything_runs() {
    let lab = Lab::with_small();
    lab.write("file", "x");
    lab.write("text.txt", TEXT);
    lab.write("sweep.toml", SWEEP);
    let result = lab.out(&["run", "small.toml", "--policy", "rr", "--json", "--quiet"]);
    lab.write("result.json", result);
    let before = lab.files();
    let run = ["run", "small.toml", "--policy", "rr"];
    let cases: [&[&str]; 13] = [
        &[&run[..], &["--report", "none/page.html"]].concat(),
        &[&run[..], &["--report", "."]].concat(),
        &[&run[..], &["--report", "/dev/null"]].concat(),
        &[&run[..], &["--trace", "whole.txt", "--trace", "none/trace.txt"]].concat(),
        &[&run[..], &["--trace", "file/trace.parquet"]].concat(),
        &["compare", "small.toml", "--policy", "rr,fcfs", "--report", "none/page.html"],
        &["study", "gpos", "--quick", "-o", "file"],
        &["study", "gpos", "--quick", "--report", "none/page.html"],
        &["report", "result.json", "-o", "none/page.html"],
        &["report", "result.json", "--format", "svg", "-o", "file/below"],
        &["calibrate", "--machine", "none/machine.toml"],
        &["import", "text.txt", "-o", "none/trace.parquet"],
        &["sweep", "sweep.toml", "-o", "file/below"],
    ];
    for args in cases {
        let Output { code, out, err } = lab.run(args);
        assert_eq!((code, out.as_str(), err.lines().count()), (Some(2), "", 1), "{args:?}: {err}");
        let target = args.last().unwrap();
        assert!(err.contains("cannot write") || err.contains(target), "{args:?}: {err}");
        assert_eq!(lab.files(), before, "{args:?}");
    }
    let twice = lab.run(&[&run[..], &["--trace", "a.txt", "--trace", "a.txt"]].concat());
    assert_eq!((twice.code, twice.out.as_str()), (Some(2), ""), "{}", twice.err);
    assert!(twice.err.contains("a.txt is named twice"), "{}", twice.err);
}

/// One line that refuses, and every file as it was.
fn refused(lab: &Lab, args: &[&str], part: &str) {
    let all = || lab.files().into_iter().map(|name| (fs::read(lab.path(&name)).unwrap(), name)).collect::<Vec<_>>();
    let before = all();
    let Output { code, out, err } = lab.run(args);
    assert_eq!((code, out.as_str(), err.lines().count()), (Some(2), "", 1), "{args:?}: {err}");
    assert!(err.contains(part), "{args:?}: {err}");
    assert!(all() == before, "{args:?} has changed a file");
}

#[test]
fn no_command_replaces_what_it_reads() {
    let lab = Lab::with_small();
    let result = lab.out(&[
        "run",
        "small.toml",
        "--policy",
        "rr",
        "--json",
        "--quiet",
        "--trace",
        "t.parquet",
        "--trace",
        "m.txt",
    ]);
    lab.write("r.json", result);
    lab.write("v.gate.toml", "about = \"v\"\n");
    lab.write("m.steps.parquet", "");
    std::os::unix::fs::symlink("v.gate.toml", lab.path("link")).unwrap();
    fs::hard_link(lab.path("r.json"), lab.path("r.html")).unwrap();
    let told = "which the command reads; name another file";
    for args in [
        &["report", "r.json", "-o", "r.html"][..],
        &["gate", "v.gate.toml", "--markdown", "v.gate.toml"],
        &["gate", "v.gate.toml", "--junit", "./link"],
        &["tune", "small.toml", "--policy", "mlfq", "-o", "small.toml"],
        &["trace", "t.parquet", "timeline", "--output", "t.parquet"],
        &["trace", "m.txt", "--against", "t.parquet", "timeline", "--output", "t.parquet"],
        &["import", "m.txt", "-o", "m.txt"],
        &["run", "m.toml", "--policy", "rr", "--trace", "m.steps.parquet"],
    ] {
        refused(&lab, args, told);
    }
    refused(&lab, &["report", "r.json", "-o", "r.json"], "r.json: this would replace a run, which the command reads");
    refused(&lab, &["model", "t.parquet", "-o", "t.parquet"], "ends in .toml");
    let twice = ["gate", "v.gate.toml", "--markdown", "x.md", "--export", "x.md"];
    refused(&lab, &twice, "x.md is named twice: name another file");
    // What is piped in may be a file too.
    let input = fs::File::open(lab.path("r.json")).unwrap();
    let output = lab.command(&["report", "-", "-o", "r.html"]).stdin(input).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains(told), "{output:?}");
}

#[test]
fn a_gate_replaces_nothing_that_it_names() {
    let lab = Lab::with_small();
    let named = "scenario = \"small.toml\"\npolicy = \"./mine.bpf.c:depth=3\"\n";
    lab.write("v.gate.toml", format!("{named}[[check]]\nmetric = \"response_ns.p99\"\nmax = \"2s\"\n"));
    lab.write("mine.bpf.c", "");
    for file in ["small.toml", "mine.bpf.c"] {
        let told = format!("{file}: this would replace ");
        refused(&lab, &["gate", "v.gate.toml", "--markdown", file], &told);
    }
}

#[test]
fn a_file_that_a_command_keeps_replaces_nothing_else() {
    let lab = Lab::with_small();
    lab.write("notes.txt", "mine");
    let tune = ["tune", "small.toml", "--policy", "mlfq", "-o", "notes.txt"];
    refused(&lab, &tune, "notes.txt: `schedlab tune` did not write this file and would replace it; name another file");
    refused(
        &lab,
        &["calibrate", "--load", "spin", "--machine", "small.toml"],
        "small.toml: `schedlab calibrate` did not write",
    );
    lab.write("stall.toml", "mine");
    refused(&lab, &["search", "--policy", "fcfs", "-o", "."], "stall.toml: no search wrote this file");
}

#[test]
fn a_page_is_a_file_and_charts_are_a_folder() {
    let lab = Lab::with_small();
    let result = lab.out(&["run", "small.toml", "--policy", "rr", "--json", "--quiet"]);
    lab.write("r.json", result);
    refused(&lab, &["report", "r.json", "-o", "rep.pdf"], "rep.pdf: name a file that ends in .html");
    for name in ["rep.html", "rep.svg"] {
        refused(&lab, &["report", "r.json", "--format", "svg", "-o", name], "charts are files in a folder");
    }
}

#[test]
fn traces_come_from_standard_input_too() {
    let lab = Lab::with_small();
    lab.out(&["run", "small.toml", "--policy", "rr", "--trace", "t.parquet", "--quiet"]);
    let read = |args: &[&str]| {
        let input = std::fs::File::open(lab.path("t.parquet")).unwrap();
        let output = lab.command(args).stdin(input).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(read(&["check", "-"]).starts_with("standard input: Parquet trace of small "));
    assert_eq!(read(&["trace", "-", "queue"]), lab.out(&["trace", "t.parquet", "queue"]));
    assert!(read(&["trace", "-", "--against", "t.parquet"]).starts_with("standard input against t.parquet\n"));
    read(&["report", "-", "-o", "page.html"]);
    assert!(lab.files().contains(&"page.html".to_string()));
}

/// What the program does where no file may have more than 512 bytes.
fn without_room(lab: &Lab, args: &[&str]) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_schedlab")]).args(args);
    let output = shell.current_dir(lab.path("")).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn a_result_is_printed_whatever_happens_to_its_files() {
    let lab = Lab::with_small();
    lab.write("text.txt", TEXT);
    let before = lab.files();
    let run = ["run", "small.toml", "--policy", "rr", "--quiet"];
    let compare = ["compare", "small.toml", "--policy", "rr,fcfs", "--quiet"];
    let files = ["--report", "page.html", "--trace", "trace.txt", "--trace", "trace.parquet"];
    let (alone, sides) = (lab.out(&run), lab.out(&compare));
    for (args, printed, unwritten) in [
        (&[&run[..], &files].concat()[..], &alone, &["page.html", "trace.txt", "trace.parquet"][..]),
        (&[&run[..], &files, &["--runs", "3", "--threads", "2", "--json"]].concat(), &String::new(), &files),
        (&[&compare[..], &files[..2]].concat(), &sides, &["page.html"]),
    ] {
        let Output { code, out, err } = without_room(&lab, args);
        assert_eq!(code, Some(1), "{err}");
        assert!(out.starts_with(printed.as_str()) && !out.is_empty(), "{args:?}: {out}{err}");
        for file in unwritten.iter().filter(|file| !file.starts_with("--")) {
            let said = err.lines().filter(|line| line.contains(file) && line.contains("File too large")).count();
            assert_eq!(said, 1, "{args:?}: {file}: {err}");
        }
        assert_eq!(lab.files(), before, "{args:?}");
    }
    let Output { code, out, err } = without_room(&lab, &["import", "text.txt", "-o", "trace.parquet"]);
    assert_eq!((code, err.lines().count()), (Some(1), 1), "{err}");
    assert!(out.starts_with("text.txt: ") && !out.contains("The trace is in"), "{out}");
    assert!(err.contains("trace.parquet") && err.contains("File too large"), "{err}");
    assert_eq!(lab.files(), before);
}

#[test]
fn who_stops_reading_still_gets_the_files() {
    let lab = Lab::with_small();
    lab.shell("schedlab compare small.toml --policy rr,fcfs --report page.html --quiet | head -n 1");
    assert_eq!(lab.files(), ["page.html", "small.toml"]);
}
