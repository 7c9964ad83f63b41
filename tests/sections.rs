//! Sections and locks that no verifier would pass (`tests/policies/sections.bpf.c`): RCU, preemption, interrupts, spin
//! locks, and where a program may sleep.

use crate::lab;
use schedlab_bpf::{Executor, Object, Value};
use schedlab_model::scenario::Scenario;
use schedlab_sim::{Options, Outcome, RunError, scx};
use std::sync::LazyLock;

const SCENARIO: &str = "name = \"t\"\n[machine]\ncpus = 2\n[[task]]\nname = \"worker\"\ncount = 4\n\
     once = [{ compute = \"20ms\" }, { sleep = \"5ms\" }, { compute = \"20ms\" }]\n[run]\nduration = \"100ms\"\n";

static OBJECT: LazyLock<Object> = LazyLock::new(|| lab::object("sections"));

const BOTH: [Executor; 2] = [Executor::Interpreter, Executor::Machine];

fn run(attack: u64, executor: Executor, counts: bool) -> Result<Outcome, String> {
    let cost = if counts { "[machine.costs]\npolicy_instruction = \"1ns\"\n" } else { "" };
    let text = SCENARIO.replace("[[task]]", &format!("{cost}[[task]]"));
    let workload = Scenario::parse(&text, "test").unwrap().compile().unwrap();
    let settings = vec![("attack".to_string(), Value::Integer(attack.into()))];
    match scx::run(&workload, &OBJECT, &Options { executor, settings, seed: 1 }, &mut (), &mut ()) {
        Ok(outcome) => Ok(outcome),
        Err(RunError::Policy(failure)) => Err(failure.message),
        Err(other) => panic!("attack {attack}: {other}"),
    }
}

/// Each attack ends with its text, in both executors and whether instructions are counted, in one and the same line.
fn end(attacks: &[(u64, &str)]) {
    for (attack, text) in attacks {
        let runs = BOTH.into_iter().flat_map(|executor| [(executor, false), (executor, true)]);
        let messages: Vec<String> = runs
            .map(|(executor, counts)| {
                run(*attack, executor, counts).expect_err(&format!("attack {attack} in {executor:?} is not noticed"))
            })
            .collect();
        assert!(messages[0].contains(text), "attack {attack}: {}", messages[0]);
        assert!(messages.iter().all(|message| *message == messages[0]), "attack {attack}: {messages:?}");
        assert!(messages[0].contains("sections.bpf.c:"), "attack {attack} has no place: {}", messages[0]);
    }
}

#[test]
fn what_is_left_as_it_was_entered_is_a_good_policy() {
    for counts in [false, true] {
        let [interpreted, compiled] = BOTH.map(|executor| run(0, executor, counts).expect("it is good").printed);
        assert_eq!(interpreted, compiled);
        // A resilient lock that is taken twice fails each time.
        assert!(
            interpreted.iter().any(|(_, line)| line.parse::<u64>().is_ok_and(|count| count > 4)),
            "{interpreted:?}"
        );
    }
}

#[test]
fn sections_are_left_as_often_as_they_are_entered() {
    end(&[
        (1, "calls bpf_rcu_read_lock() and ends without a bpf_rcu_read_unlock()"),
        (2, "calls bpf_rcu_read_unlock() without a bpf_rcu_read_lock() before it"),
        (3, "calls bpf_rcu_read_unlock() without a bpf_rcu_read_lock() before it"),
        (4, "calls bpf_rcu_read_lock() and ends without a bpf_rcu_read_unlock()"),
        (5, "calls bpf_preempt_disable() and ends without a bpf_preempt_enable()"),
        (6, "calls bpf_preempt_enable() without a bpf_preempt_disable() before it"),
        (7, "calls bpf_rcu_read_lock() and ends without a bpf_rcu_read_unlock()"),
        (8, "bpf_rcu_read_unlock()"),
        (9, "calls bpf_preempt_disable() and ends without a bpf_preempt_enable()"),
    ]);
}

#[test]
fn interrupts_are_switched_on_in_turn() {
    end(&[
        (20, "calls bpf_local_irq_save() and ends without a bpf_local_irq_restore()"),
        (21, "without a bpf_local_irq_save() there before it"),
        (22, "without a bpf_local_irq_save() there before it; what was taken last is given back first"),
        (23, "which is not on its stack"),
        (24, "without a bpf_local_irq_save() there before it"),
    ]);
}

#[test]
fn locks_are_given_back_and_little_is_done_while_they_are_held() {
    end(&[
        (40, "calls bpf_spin_lock() and ends without a bpf_spin_unlock()"),
        (41, "without a bpf_spin_lock() there before it"),
        (42, "without a bpf_spin_lock() there before it; what was taken last is given back first"),
        (43, "a kernel lets it hold one at a time"),
        (44, "a kernel lets it hold one at a time"),
        (45, "calls bpf_ktime_get_ns while it holds a lock"),
        (46, "calls scx_bpf_kick_cpu while it holds a lock"),
        (47, "calls bpf_rcu_read_lock while it holds a lock"),
        (48, "as a bpf_spin_lock, which it is not"),
        (49, "as a bpf_spin_lock, which it is not"),
        (50, "as a bpf_spin_lock, which it is not"),
        (51, "calls bpf_loop while it holds a lock"),
        (52, "calls bpf_res_spin_lock() and ends without a bpf_res_spin_unlock()"),
        (53, "without a bpf_res_spin_lock() there before it"),
        (54, "calls bpf_local_irq_save() and ends without a bpf_local_irq_restore()"),
        (55, "without a bpf_local_irq_save() there before it"),
    ]);
}

#[test]
fn only_what_may_sleep_calls_what_sleeps() {
    end(&[
        (60, "calls scx_bpf_create_dsq, which may sleep, from a section that is not struct_ops.s/init_task"),
        (61, "calls scx_bpf_create_dsq, which may sleep, between bpf_rcu_read_lock() and bpf_rcu_read_unlock()"),
        (62, "calls scx_bpf_create_dsq, which may sleep, between bpf_preempt_disable() and bpf_preempt_enable()"),
        (63, "calls scx_bpf_create_dsq, which may sleep, between bpf_local_irq_save() and bpf_local_irq_restore()"),
        (64, "calls scx_bpf_create_dsq while it holds a lock"),
    ]);
}
