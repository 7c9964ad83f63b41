//! Policies that do what no verifier would pass: each attack ends with an error that says what was wrong, in both
//! executors, and nothing is touched that is not the policy's.

use crate::lab;
use schedlab_bpf::{Executor, Object, Value};
use schedlab_model::{scenario::Scenario, time::Time};
use schedlab_sim::{Control, Options, Outcome, RunError, scx};
use std::sync::LazyLock;

const SCENARIO: &str = "name = \"t\"\n[machine]\ncpus = 2\n[[task]]\nname = \"worker\"\ncount = 4\n\
     once = [{ compute = \"20ms\" }, { sleep = \"5ms\" }, { compute = \"20ms\" }]\n[run]\nduration = \"100ms\"\n";

/// Compiled once.
static OBJECT: LazyLock<Object> = LazyLock::new(|| lab::object("attack"));

/// Runs an attack.
fn run(attack: u64, executor: Executor) -> Result<(), String> {
    run_under(attack, executor, &mut ()).map(|_| ())
}

fn run_under(attack: u64, executor: Executor, control: &mut dyn Control) -> Result<Outcome, String> {
    let workload = Scenario::parse(SCENARIO, "test").unwrap().compile().unwrap();
    let settings = vec![("attack".to_string(), Value::Integer(attack.into()))];
    let options = Options { executor, settings, seed: 1 };
    match scx::run(&workload, &OBJECT, &options, &mut (), control) {
        Ok(outcome) => Ok(outcome),
        Err(RunError::Policy(failure)) => Err(failure.message),
        Err(other) => panic!("attack {attack}: {other}"),
    }
}

/// Fails unless an attack ends with this text.
fn ends(attack: u64, executor: Executor, text: &str) {
    let message = run(attack, executor).expect_err(&format!("attack {attack} in {executor:?} is not noticed"));
    assert!(message.contains(text), "attack {attack} in {executor:?}: {message}");
    assert!(!message.contains("defect"), "attack {attack}: {message}");
}

fn end_in_both(attacks: &[(u64, &str)]) {
    for executor in [Executor::Interpreter, Executor::Machine] {
        attacks.iter().for_each(|(attack, text)| ends(*attack, executor, text));
    }
}

#[test]
fn without_an_attack_it_is_a_good_policy() {
    for executor in [Executor::Interpreter, Executor::Machine] {
        assert_eq!(run(0, executor), Ok(()));
    }
}

#[test]
fn masks_and_references_are_what_they_are_passed_as() {
    end_in_both(&[
        (100, "as a bpf_cpumask, which it is not"),
        (101, "as a bpf_cpumask, which it does not hold"),
        (102, "to be written, which is the kernel's"),
        (103, "to be written, which is the kernel's"),
        (104, "as a bpf_cpumask, which it does not hold"),
        (105, "ends without releasing 1 reference, at last a bpf_cpumask"),
        (106, "as a bpf_cpumask, which it does not hold"),
        (107, "as a bpf_cpumask, which it is not"),
        (108, "as a cpumask, which it is not"),
        (109, "passes 0x0 as a cpumask"),
        (110, "as a bpf_cpumask, which it is not"),
        (111, "as a bpf_cpumask, which it does not hold"),
        (112, "as a bpf_cpumask, which it does not hold"),
        (113, "as a place for a pointer, which it is not"),
        (114, "has written over the pointer"),
        (115, "at last a task_struct"),
        (116, "as a task_struct, which it does not hold"),
        (117, "as a task, which it is not"),
        (118, "at last a cpumask"),
        (119, "as a cpumask, which it does not hold"),
        (120, "as a cpumask, which it does not hold"),
        (121, "at last a cgroup"),
        (122, "as a cgroup, which it is not"),
        (123, "as a task_struct, which it does not hold"),
        (124, "to be written, which is the kernel's"),
        (125, "holds too many references"),
        (126, "ends without releasing 1 reference, at last a task_struct"),
        (127, "as a bpf_cpumask, which it is not"),
        (128, "as a cpumask, which it is not"),
        (129, "as a cpumask, which it is not"),
        (130, "as a task, which it is not"),
        (133, "past the end of .bss"),
    ]);
    // Machine code checks no ranges.
    ends(131, Executor::Interpreter, "writes 1 bytes to task_struct");
    ends(132, Executor::Interpreter, "writes 64 bytes to task_struct");
    ends(312, Executor::Interpreter, "writes 4 bytes to map hash (element 0, offset 0), which is read-only");
}

#[test]
fn iterators_dynptrs_and_collections_cannot_be_forged() {
    end_in_both(&[
        (200, "as a dynptr, which was not made there"),
        (201, "as a dynptr, which was not made there"),
        (203, "which is not on its stack"),
        (204, "a bpf_iter_bits that was not made"),
        (205, "at last a bpf_iter_bits"),
        (206, "makes an iterator at"),
        (207, "as a bpf_iter_scx_dsq, which was not made there"),
        (208, "as a bpf_iter_scx_dsq, which it does not hold"),
        (209, "at last a bpf_iter_scx_dsq"),
        (210, "which is not on its stack"),
        (211, "as a timer, which it is not"),
        (212, "initialises a timer that is in no value of `holders`"),
        (213, "while it compares two nodes"),
        (214, "at last a local object"),
        (215, "as a local object, which it is not"),
        (216, "as a local object, which it does not hold"),
        (217, "as a bpf_list_head, which it is not"),
        (218, "as a local object, which it is not"),
        (219, "as a bpf_rb_node, which it is not"),
        (220, "at last a record of a ring buffer"),
        (221, "as a record of a ring buffer, which it does not hold"),
        (222, "holds too many references"),
        (223, "which is not a function"),
    ]);
    ends(202, Executor::Interpreter, "writes 64 bytes to task_struct");
}

#[test]
fn work_of_host_functions_ends() {
    end_in_both(&[
        (300, "does not end"),
        (302, "no time goes by"),
        (303, "does not end"),
        (304, "does not end"),
        (307, "does not end"),
        (308, "nests calls deeper"),
        (309, "does not end"),
        (310, "does not end"),
        (311, "does not end"),
    ]);
}

/// A listener that ends a run when asked for the second time.
#[derive(Default)]
struct Impatient(u32);

impl Control for Impatient {
    fn go_on(&mut self, _: Time) -> bool {
        self.0 += 1;
        self.0 < 2
    }
}

#[test]
fn a_policy_that_works_much_leaves_time_to_be_ended() {
    for executor in [Executor::Interpreter, Executor::Machine] {
        let mut impatient = Impatient::default();
        let outcome = run_under(320, executor, &mut impatient).unwrap();
        assert!(outcome.partial && outcome.end < Time::from_ms(100), "{outcome:?}");
        assert_eq!(impatient.0, 2);
    }
}

#[test]
fn memory_that_a_policy_makes_grow_has_a_limit() {
    end_in_both(&[(301, "pages of arenas needs"), (305, "takes too much memory"), (306, "takes too much memory")]);
}
