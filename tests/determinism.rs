//! The same inputs give the same trace: twice in one process, and next to other simulations on other threads. (Across
//! processes: the tests of the command line.)

use crate::{generate, lab};
use schedlab_model::time::Time;

#[test]
fn many_simulations_at_once_give_what_one_gives_alone() {
    let mut workload = generate::hogs(4, 9);
    workload.roles[0].program.steps.push(schedlab_model::workload::Step::Sleep(
        schedlab_model::distribution::Distribution::Exponential(Time::from_ms(7)),
    ));
    workload.run.duration = Time::from_s(20);
    for policy in ["rr", "fcfs", "mlfq"] {
        let alone = lab::run(&workload, policy).expect("it runs");
        let workload = &workload;
        let together: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(move || lab::run(workload, policy).expect("it runs"))).collect();
            threads.into_iter().map(|t| t.join().expect("no panic")).collect()
        });
        for run in together {
            assert_eq!(run.outcome, alone.outcome);
            assert!(run.events == alone.events, "{policy}: the trace differs");
        }
    }
}
