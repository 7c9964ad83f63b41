//! What works on this machine is tried, not looked for.

use crate::lab::Lab;
use std::os::unix::fs::PermissionsExt;

/// A QEMU that is installed and starts no guest, as where the processor below refuses what it asks for.
const BROKEN: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo "QEMU emulator version 0"; exit; }
echo "qemu-system-x86_64: error: failed to set MSR 0x10a to 0x69" >&2
kill -ABRT $$
"#;

fn with_broken_qemu(args: &[&str]) -> (Option<i32>, String, String) {
    let lab = Lab::with_small();
    lab.write("bin/qemu-system-x86_64", BROKEN);
    std::fs::set_permissions(lab.path("bin/qemu-system-x86_64"), PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", lab.path("bin").display(), std::env::var("PATH").unwrap());
    let output = lab.command(args).env("PATH", path).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn an_engine_that_starts_no_guest_does_not_work_whatever_is_installed() {
    let (code, page, _) = with_broken_qemu(&["venues"]);
    assert_eq!(code, Some(0));
    let of = |engine: &str| {
        let rest = page.split(&format!("--engine {engine}\n")).nth(1).unwrap_or_else(|| panic!("{page}"));
        rest.split("\n\n").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let qemu = of("qemu");
    assert!(qemu.starts_with("not working qemu is here, but no guest starts: it ended with signal: 6"), "{page}");
    assert!(qemu.contains(": failed to set MSR 0x10a to 0x69 CPUs"), "{page}");
    // With or without the device.
    assert!(of("kvm").starts_with("not working "), "{page}");
}

#[test]
fn kvm_is_refused_before_a_run_where_it_starts_no_guest() {
    let args =
        ["run", "small.toml", "--venue", "vm", "--engine", "kvm", "--policy", "kernel", "--kernel", "/no/kernel"];
    let (code, page, error) = with_broken_qemu(&args);
    assert_eq!((code, page.as_str(), error.lines().count()), (Some(2), "", 1), "{error}");
    assert!(error.contains("/dev/kvm") || error.contains("no guest starts"), "{error}");
}
