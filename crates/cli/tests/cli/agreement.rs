//! How far the simulator is from a kernel.

use crate::lab::{Lab, Output, may_virtualize};
use crate::vm::NEW;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A task that has its CPU for itself: whatever schedules, a request takes what it computes.
const ALONE: &str = r#"
name = "alone"
about = "One task on one CPU."

[machine]
cpus = 1

[[task]]
name = "worker"
loop = [{ compute = "uniform(1ms, 3ms)" }, { sleep = "uniform(1ms, 3ms)" }]

[run]
duration = "1s"
"#;

const PAGE: &str = "before\n<!-- schedlab agreement: one -->\n<!-- /schedlab agreement: one -->\nbehind\n";

/// A program in the emulator's place that writes down what it is called with, and is the emulator then.
fn watch_emulator(lab: &Lab) {
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|folder| folder.join("qemu-system-x86_64")).find(|path| path.exists());
    let (real, log) = (real.unwrap(), lab.path("started"));
    lab.write(
        "bin/qemu-system-x86_64",
        format!("#!/bin/sh\necho \"$*\" >> {}\nexec {} \"$@\"\n", log.display(), real.display()),
    );
    fs::set_permissions(lab.path("bin/qemu-system-x86_64"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// How many guests the emulator has been started with; it is also asked for its version.
fn guests(lab: &Lab) -> usize {
    let log = fs::read_to_string(lab.path("started")).unwrap();
    log.lines().filter(|line| line.contains("-kernel")).count()
}

fn run(lab: &Lab, kernel: &str, more: &[&str]) -> Output {
    run_with(&format!("{}:{}", lab.path("bin").display(), std::env::var("PATH").unwrap()), lab, kernel, more)
}

fn run_with(path: &str, lab: &Lab, kernel: &str, more: &[&str]) -> Output {
    let args = ["agreement", "alone.toml", "--policy", "rr", "--seeds", "2", "--copies", "3", "--kernel", kernel];
    let mut command = lab.command(&[&args, more].concat());
    let output = command.env("PATH", path).env("XDG_CACHE_HOME", lab.path("cache")).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn a_cell_is_judged_and_its_guests_run_once() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let kernel = schedlab_vm::kernels::find(NEW).unwrap().display().to_string();
    let lab = Lab::new();
    lab.write("alone.toml", ALONE);
    lab.write("page.md", PAGE);
    watch_emulator(&lab);
    let first = run(&lab, &kernel, &["--json", "--keep", "traces"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(first.err.contains("alone under rr in "), "{}", first.err);
    let printed: serde_json::Value = serde_json::from_str(&first.out).unwrap();
    let schema = lab.json(&["schema", "agreement"]);
    assert!(jsonschema::is_valid(&schema, &printed), "{printed}");
    let cell = &printed["cells"][0];
    assert_eq!((&cell["verdict"], &cell["seeds"]), (&"agrees".into(), &serde_json::json!([1, 2])), "{cell}");
    assert_eq!(fs::read_dir(lab.path("traces")).unwrap().count(), 2);
    // One that boots, one for each seed, and one that measures what the kernel takes.
    assert_eq!(guests(&lab), 4);
    // What another build would find: the guests, and no run.
    fs::remove_dir_all(lab.path("cache/schedlab/runs")).unwrap();
    let again = run(&lab, &kernel, &["--json"]);
    assert_eq!((guests(&lab), &again.out), (4, &first.out));
    // And the same build: everything.
    let files = ["--markdown", "page.md#one", "--report", "page.html", "--export", "cells.md"];
    let page = run(&lab, &kernel, &files);
    let tables = fs::read_to_string(lab.path("cells.md")).unwrap();
    assert!(
        tables.contains("\n\n1 cell: ") && tables.contains("## Cells") && tables.contains("| alone | rr |"),
        "{tables}"
    );
    let report = fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(report.contains("1 of 1 cells agree.") && report.contains("alone under rr: "));
    assert!(page.err.contains("runs reused from the cache") && page.out.contains("\nalone "), "{page:?}");
    let page = fs::read_to_string(lab.path("page.md")).unwrap();
    assert!(page.starts_with("before\n") && page.ends_with("\nbehind\n"), "{page}");
    assert!(
        page.contains("    schedlab agreement alone.toml --policy rr") && page.contains("| alone | rr |"),
        "{page}"
    );
    // But `--fresh` starts guests, where there is an emulator.
    let fresh = run_with("", &lab, &kernel, &["--fresh", "--json"]);
    assert!(fresh.code == Some(1) && fresh.err.contains("1 of 1 cells failed"), "{fresh:?}");
}

#[test]
fn where_every_run_fails_the_page_stays_as_it_is() {
    let lab = Lab::new();
    lab.write("alone.toml", ALONE);
    lab.write("page.md", PAGE);
    let nothing = lab.path("nothing");
    fs::create_dir(&nothing).unwrap();
    let mut command = lab.command(&["agreement", "alone.toml", "--policy", "rr", "--markdown", "page.md#one"]);
    // No emulator is found.
    let output = command.env("PATH", nothing).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && error.contains("1 of 1 cells failed"), "{output:?}");
    assert_eq!(fs::read_to_string(lab.path("page.md")).unwrap(), PAGE);
}

#[test]
fn what_cannot_be_judged_is_one_line() {
    let lab = Lab::with_small();
    lab.write("page.md", "no marks\n");
    let cases: &[(&[&str], &str)] = &[
        (&["--policy", "cfs@"], "the kernel is missing"),
        (
            &["--policy", "rr", "--venue", "sim"],
            "agreement compares the simulator with a kernel: use --venue vm or host",
        ),
        (
            &["--policy", "cfs@debian:12", "--venue", "host"],
            "to compare with the kernel that runs here, write POLICY@kernel",
        ),
        (
            &["--policy", "rr@kernel", "--venue", "host", "--kernel", "debian:12"],
            "--kernel is for --venue vm and has no effect in host",
        ),
        (&["--policy", "kernel"], "policy kernel cannot be run in the venue `sim`"),
        (&["--policy", "rr,ps,srpt"], "policy srpt cannot be run in the venue `vm`"),
        (&["--policy", "ps"], "policy ps cannot be run in the venue `vm`"),
        (&["--policy", "rr", "--max-seeds", "2"], "--max-seeds 2 is less than the 3 seeds"),
        (&["--policy", "rr", "--length", "4", "--max-length", "3"], "--max-length 3 is less than --length 4"),
        (&["--policy", "rr", "--copies", "1"], "1 is not between 2 and"),
        (&["--policy", "rr", "--machine", "m.toml"], "--machine is for --venue host"),
        (&["--policy", "rr", "--markdown", "page.md"], "write FILE#NAME"),
        (&["--policy", "rr", "--markdown", "page.md#one"], "one line `<!-- schedlab agreement: one -->`"),
    ];
    let endless = "name = \"e\"\n[machine]\ncpus = 1\n[[task]]\nname = \"t\"\nonce = [{ compute = \"1ms\" }]\n";
    lab.write("endless.toml", endless);
    let output = lab.run(&["agreement", "endless.toml", "--policy", "rr", "--length", "2"]);
    assert!(output.code == Some(2) && output.err.contains("`e` has no duration"), "{output:?}");
    // What this machine takes is not measured for a command that is refused.
    lab.write("m.toml", "[costs]\nswitch = \"1us\"\n");
    for (flags, part) in cases {
        let machine = if flags.contains(&"host") { &["--machine", "m.toml"][..] } else { &[] };
        let output = lab.run(&[&["agreement", "small.toml"], *flags, machine].concat());
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{flags:?}: {output:?}");
        assert!(output.err.contains(part), "{flags:?}: {}", output.err);
    }
}
