//! Objects that are cut off, changed, or of another kind: an error of one line, never a crash.

mod support;

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use schedlab_bpf::{Executor, Object, ObjectError};
use support::{Machine, compile, load};

static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| compile("scheduler", "v3"));
static RICH: LazyLock<Vec<u8>> = LazyLock::new(|| compile("features", "v3"));

/// Parses, loads what can be parsed and runs what can be loaded; every error is one line.
fn try_all(bytes: &[u8]) {
    match Object::parse(bytes) {
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        Ok(object) => {
            let _ = (object.ops(), object.programs(), object.maps(), object.constants(), object.helpers());
            match load(&object, Executor::Interpreter, &[]) {
                Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
                Ok(machine) => run_all(machine),
            }
        }
    }
}

/// Runs every program for a while, with a task and numbers as arguments.
fn run_all(mut machine: Machine) {
    machine.vm.limit_instructions(2000);
    let names: Vec<String> = machine.vm.program.entries.iter().map(|entry| entry.name.clone()).collect();
    for name in names {
        if let Err(fault) = machine.call(&name, &[machine.tasks, 3, 1]) {
            assert!(!fault.to_string().contains('\n'), "{fault}");
        }
    }
    let requests = machine.vm.take_timer_requests();
    for request in requests {
        let _ = machine.fire(request.timer);
    }
}

#[test]
fn what_is_no_object_is_named() {
    let of = |bytes: &[u8]| Object::parse(bytes).expect_err("no object");
    assert_eq!(of(b""), ObjectError::Empty);
    assert_eq!(of(b"int main() { return 0; }"), ObjectError::NotElf);
    assert_eq!(of(b"\x7FEL"), ObjectError::Truncated { len: 3 });
    let mut other = BYTES.clone();
    other[18] = 62;
    other[19] = 0;
    assert_eq!(of(&other), ObjectError::OtherMachine { machine: "x86-64".to_string() });
    let mut big = BYTES.clone();
    big[5] = 2;
    assert_eq!(of(&big).to_string().lines().count(), 1);
    assert!(of(&big).to_string().contains("big-endian"));
    let mut linked = BYTES.clone();
    linked[16] = 2;
    assert_eq!(of(&linked), ObjectError::NotRelocatable);
}

#[test]
fn an_object_without_types_or_operations_is_named() {
    let plain = support::compile_with("isa", "v4", &["-g0"]);
    assert_eq!(Object::parse(&plain).expect_err("no BTF"), ObjectError::NoBtf);
    let object = Object::parse(&RICH).unwrap();
    assert_eq!(object.ops().expect_err("no operations"), ObjectError::NoStructOps);
}

#[test]
fn an_object_of_this_processor_is_named() {
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let error = Object::parse(&own).expect_err("not for BPF").to_string();
    assert!(error.contains("not for BPF"), "{error}");
}

#[test]
fn every_truncation_is_an_error() {
    for len in 0..BYTES.len() {
        let error = Object::parse(&BYTES[..len]).expect_err("cut off").to_string();
        assert!(!error.contains('\n'), "{len}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Changed bytes anywhere: most hit names and debug data, some hit what matters.
    #[test]
    fn changed_bytes_never_crash(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
        let mut bytes = BYTES.clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        try_all(&bytes);
    }

    /// Changed words of the object with all features, in the parts that are read: everything but debug information.
    #[test]
    fn changed_words_never_crash(at in any::<prop::sample::Index>(), value in any::<u32>(), small in any::<bool>()) {
        let mut bytes = RICH.clone();
        let at = at.index(bytes.len() / 4 - 1) * 4;
        let value = if small { value % 16 } else { value };
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        try_all(&bytes);
    }

    #[test]
    fn noise_never_crashes(mut bytes in prop::collection::vec(any::<u8>(), 0..2000), as_elf in any::<bool>()) {
        if as_elf && bytes.len() >= 64 {
            bytes[..20].copy_from_slice(&BYTES[..20]);
        }
        try_all(&bytes);
    }
}
