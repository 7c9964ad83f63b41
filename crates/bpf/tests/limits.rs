//! Limits of what a program may make grow, of depth, and what happens when a host function panics.

mod support;

use schedlab_bpf::{Executor, FaultKind, LoadError, Object};
use support::{CPUS, EXECUTORS, Machine, compile, compile_with, load};

fn object(define: &str) -> Object {
    let bytes = if define.is_empty() { compile("limits", "v3") } else { compile_with("limits", "v3", &[define]) };
    Object::parse(&bytes).unwrap()
}

fn on_both(test: impl Fn(Machine)) {
    let object = object("");
    for executor in EXECUTORS {
        test(load(&object, executor, &[]).unwrap_or_else(|error| panic!("{error}")));
    }
}

fn refused(define: &str) -> String {
    match load(&object(define), Executor::Interpreter, &[]) {
        Ok(_) => panic!("{define} is loaded"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_panic_is_a_fault_with_its_place_and_the_machine_goes_on() {
    on_both(|mut machine| {
        for _ in 0..2 {
            let fault = machine.call("panics", &[7]).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Defect("no room for 7".to_string()));
            assert!(fault.to_string().starts_with("panics (limits.bpf.c:"), "{fault}");
            assert!(fault.to_string().contains("a defect of schedlab (no room for 7)"), "{fault}");
        }
        assert_eq!(machine.run("eight", &[100]), 100 + 3 + 4 + 5 + 6 + 7 + 8 + 6);
    });
}

#[test]
fn calls_are_as_deep_as_a_kernel_allows() {
    let text = refused("-DDEEP");
    assert!(text.contains("9 frames deep; a kernel allows 8"), "{text}");
}

#[test]
fn what_is_too_large_is_named_when_it_is_loaded() {
    let error = refused("-DMANY");
    assert!(error.contains("map `array`: it has more than 4096 pointers"), "{error}");
    let error = refused("-DNESTED");
    assert!(error.contains("map `array`: its values have more than 1048576 members to be looked at"), "{error}");
    match load(&object("-DHUGE"), Executor::Interpreter, &[]) {
        Err(LoadError::Memory(error)) => assert!(error.to_string().starts_with("map array needs 1600 MiB")),
        other => panic!("{:?}", other.map(|_| ())),
    }
}

#[test]
fn records_and_elements_are_charged_and_given_back() {
    on_both(|mut machine| {
        machine.vm.limit_instructions(u32::MAX);
        let ring = machine.vm.map("ring").unwrap();
        machine.vm.keep_records(ring);
        for _ in 0..2 {
            let fault = machine.call("outputs", &[]).unwrap_err().to_string();
            assert!(fault.contains("takes too much memory: records of ring buffers needs"), "{fault}");
            assert!(machine.vm.take_records(ring).len() > 1000);
        }
        let fault = machine.call("fills", &[]).unwrap_err().to_string();
        assert!(fault.contains("takes too much memory: hash maps needs 4"), "{fault}");
    });
}

#[test]
fn an_element_lets_go_of_what_each_cpu_has_in_it() {
    on_both(|mut machine| {
        let task = machine.task(0);
        for _ in 0..3 {
            assert_eq!(machine.run("keeps_on_each_cpu", &[task, u64::from(CPUS)]), 1);
            let released: Vec<u64> = machine.vm.take_released().into_iter().map(|released| released.object).collect();
            assert_eq!(released, vec![task; CPUS as usize]);
        }
    });
}

#[test]
fn what_is_held_is_bounded() {
    on_both(|mut machine| {
        let task = machine.task(0);
        let fault = machine.call("leaks_in_a_loop", &[task]).unwrap_err().to_string();
        assert!(fault.contains("holds too many references at a time"), "{fault}");
        assert_eq!(machine.run("eight", &[0]), 39);
    });
}
