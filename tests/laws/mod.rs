//! The laws of scheduling, over generated machines, workloads and policies. Each law is a function that looks at a
//! trace; each is shown to catch the wrong policy that breaks it.

mod fair;
mod order;

use crate::{generate, lab};
use proptest::prelude::*;
use schedlab_bpf::Executor;
use schedlab_metrics::validator::{Expectations, Validator};
use schedlab_model::trace::*;
use schedlab_model::workload::Workload;
use schedlab_sim::RunError;

/// One task per CPU, one CPU per task and an allowed one, time never back, no task runs without being runnable, time
/// conserved: what the validator knows. The simulator itself stops a run in which time is not conserved.
pub fn is_lawful(workload: &Workload, run: &lab::Run) -> Result<(), String> {
    let mut validator = Validator::new(Expectations { workload: Some(workload), lost_events: false, fluid: false });
    run.events.iter().for_each(|event| validator.event(event));
    validator.finish(run.outcome.end);
    let findings = validator.into_findings();
    match findings.reported.first() {
        Some(first) => Err(format!("{} violations, the first: {first}", findings.violations)),
        None => Ok(()),
    }
}

/// No runnable task is lost: a run ends well only if none waited beyond the watchdog's patience.
fn loses_nobody(result: &Result<lab::Run, RunError>) -> Result<(), String> {
    match result {
        Err(RunError::Policy(failure)) if failure.is_stall => Err(failure.to_string()),
        Err(other) => panic!("{other}"),
        Ok(_) => Ok(()),
    }
}

/// The name of a policy of ours.
fn shipped() -> impl Strategy<Value = &'static str> {
    prop::sample::select(schedlab_policy::catalog().iter().map(|policy| policy.name).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_policy_obeys_the_laws_of_the_machine(workload in generate::workload(), policy in shipped()) {
        match lab::run(&workload, policy) {
            Ok(run) => prop_assert_eq!(is_lawful(&workload, &run), Ok(())),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn both_executors_give_the_same_trace(workload in generate::workload(), policy in shipped()) {
        let traces = [Executor::Interpreter, Executor::Machine].map(|executor| lab::run_with(&workload, policy, executor, &[]));
        match traces {
            [Ok(a), Ok(b)] => {
                prop_assert_eq!(a.outcome, b.outcome);
                prop_assert!(a.events == b.events, "the traces differ");
            }
            [a, b] => prop_assert!(false, "{:?} {:?}", a.err(), b.err()),
        }
    }
}

#[test]
fn a_policy_that_loses_tasks_is_caught() {
    let result = lab::run(&generate::hogs(2, 7), "losing");
    let caught = loses_nobody(&result).expect_err("the policy loses every third task");
    assert!(caught.contains("hog/"), "{caught}");
    assert_eq!(loses_nobody(&lab::run(&generate::hogs(2, 7), "rr")), Ok(()));
}
