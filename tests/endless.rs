//! A scenario that lets no time go by is named, and not the policy under which it runs. The scenario language refuses such
//! loops, so they are made by hand.

use crate::lab;
use schedlab_bpf::Executor;
use schedlab_model::scenario::Scenario;
use schedlab_model::workload::Workload;
use schedlab_sim::RunError;

/// Tasks that repeat what they do once.
fn repeating(tasks: &str) -> Workload {
    let text = format!("name = \"t\"\n[machine]\ncpus = 1\n{tasks}[run]\nduration = \"1s\"\n");
    let mut workload = Scenario::parse(&text, "test").unwrap().compile().unwrap();
    workload.roles.iter_mut().for_each(|role| role.program.repeats = true);
    workload
}

const YIELDS: &str = "[[task]]\nname = \"polite\"\ncount = 2\nonce = [{ yield = true }]\n";
/// The two wait for one another and for nothing else.
const PING_PONG: &str = "[[task]]\nname = \"ping\"\nonce = [{ wait = \"a\" }, { post = \"b\" }]\n\
     [[task]]\nname = \"pong\"\nonce = [{ wait = \"b\" }, { post = \"a\" }]\n[semaphore.a]\ninitial = 1\n";

#[test]
fn a_scenario_that_never_lets_time_go_by_is_named() {
    for (policy, tasks) in [("rr", YIELDS), ("fcfs", YIELDS), ("rr", PING_PONG)] {
        let Err(error) = lab::run_with(&repeating(tasks), policy, Executor::Machine, &[]) else {
            panic!("{policy} ends")
        };
        assert!(matches!(error, RunError::Stuck { steps, .. } if steps > 10_000_000), "{policy}: {error}");
        let text = error.to_string();
        assert!(text.contains("endless steps at 0s") && !text.contains("policy"), "{text}");
    }
}
