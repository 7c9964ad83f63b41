//! CO-RE: programs that were compiled for another layout find the fields of this kernel.

mod support;

use std::sync::LazyLock;

use schedlab_bpf::{Executor, Object};
use support::{EXECUTORS, TASK_SIZE, compile, load};

/// The object of all tests of this file.
static OBJECT: LazyLock<Object> = LazyLock::new(|| Object::parse(&compile("core", "v3")).expect("a good object"));

#[test]
fn fields_are_found_by_name() {
    for executor in EXECUTORS {
        let mut machine = load(&OBJECT, executor, &[]).unwrap();
        let (task, parent) = (machine.task(3), machine.task(4));
        machine.vm.memory.write(task + 64, parent);
        machine.vm.memory.write(parent + 64, machine.task(5));
        machine.vm.memory.write(task + 32 + 16, 55u32);
        assert_eq!(machine.run("pid", &[task]), 103);
        assert_eq!(machine.run("weight", &[task]), 55);
        assert_eq!(machine.run("element", &[task]), 9);
        assert_eq!(machine.run("resized", &[task]), 0xFFFF, "32 bits here, 16 in the kernel");
        assert_eq!(machine.run("flavoured", &[task]), 103);
        assert_eq!(machine.run("bit_field", &[task]), 2);
        assert_eq!(machine.run("computed", &[task, 1]), u64::from(b'o'));
        assert_eq!(machine.run("chain", &[task]), 105);
    }
}

#[test]
fn kernel_pointers_that_are_null_read_zero() {
    for executor in EXECUTORS {
        let mut machine = load(&OBJECT, executor, &[]).unwrap();
        let task = machine.task(1);
        assert_eq!(machine.run("chain", &[task]), 0);
        assert_eq!(machine.run("pid", &[0]), 0);
    }
}

#[test]
fn what_the_kernel_does_not_have_can_be_asked_for() {
    for executor in EXECUTORS {
        let mut machine = load(&OBJECT, executor, &[]).unwrap();
        let task = machine.task(1);
        assert_eq!(machine.run("guarded", &[task]), 7);
        let expected = 0b1001_0101 | 16 << 16 | 2 << 24 | u64::from(TASK_SIZE) << 32;
        assert_eq!(machine.run("questions", &[task]), expected);
        assert_eq!(machine.run("enumerators", &[]), (1 << 40) * 2 + 3);
    }
}

/// A part of a type is that type; what differs in size, sign, length or kind is not, nor what has more.
#[test]
fn a_type_is_the_kernels_member_by_member() {
    for executor in EXECUTORS {
        let mut machine = load(&OBJECT, executor, &[]).unwrap();
        assert_eq!(machine.run("matches", &[]), 0b1000_0001);
    }
}

#[test]
fn using_it_unasked_is_a_fault_that_names_it() {
    for executor in EXECUTORS {
        let mut machine = load(&OBJECT, executor, &[]).unwrap();
        let fault = machine.call("unguarded", &[machine.tasks]).unwrap_err();
        assert!(fault.to_string().contains("uses field task_struct.not_there"), "{fault}");
        assert_eq!(fault.source.as_ref().map(|source| source.file.as_str()), Some("core.bpf.c"));
    }
    let mut machine = load(&OBJECT, Executor::Interpreter, &[]).unwrap();
    assert!(machine.call("pid", &[machine.tasks + 8 * 128]).is_err(), "behind the last task");
}
