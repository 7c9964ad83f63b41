//! What the disciplines do, by hand.

use super::test_helpers::*;
use super::*;
use schedlab_model::workload::{Birth, Class, Role, Step};
use schedlab_model::{cpuset::CpuSet, ids::*, time::Time, trace::*};

const WHOLE_CPUS: [Discipline; 6] = {
    use Discipline::*;
    [Fcfs, Srpt, Psjf, Sjf, Prio, PrioNp]
};

fn pinned(role: Role) -> Role {
    Role { cpus: CpuSet::first(1), ..role }
}

#[test]
fn names_lead_back() {
    for discipline in Discipline::ALL {
        assert_eq!(Discipline::from_name(discipline.name()), Some(discipline));
        assert!(discipline.about().len() < 90);
    }
    assert_eq!(Discipline::from_name("rr"), None);
}

/// Three jobs on one CPU: 6 ms at 0, 4 ms at 1, 1 ms at 2.
#[test]
fn three_jobs_on_one_cpu() {
    let workload = workload(1, vec![job("a", 0, 6), job("b", 1, 4), job("c", 2, 1)]);
    for (discipline, ends) in [
        (Discipline::Fcfs, [6.0, 10.0, 11.0]),
        (Discipline::Sjf, [6.0, 11.0, 7.0]),
        (Discipline::Psjf, [11.0, 6.0, 3.0]),
        (Discipline::Srpt, [11.0, 6.0, 3.0]),
        // b has got as much as a at 2, when c comes and is served alone until it ends at 3. Then a and b share.
        (Discipline::Fb, [11.0, 9.0, 3.0]),
        // c gets a third from 2 to 5; then a has 3.5 left and b 2.5.
        (Discipline::Ps, [11.0, 10.0, 5.0]),
    ] {
        assert_eq!(ends_ms(&workload, discipline), ends, "{discipline}");
    }
}

/// Vector 33 of the theory: four jobs of 20 ms at time 0.
#[test]
fn four_equal_jobs() {
    let workload = workload(1, (0..4).map(|i| job(&format!("job{i}"), 0, 20)).collect());
    for discipline in Discipline::ALL {
        let ends = if discipline.is_fluid() { [80.0; 4] } else { [20.0, 40.0, 60.0, 80.0] };
        assert_eq!(ends_ms(&workload, discipline), ends, "{discipline}");
    }
}

#[test]
fn the_remaining_work_counts_and_equals_do_not_preempt() {
    // When b comes, a has 3 ms left: less than 4, and as much as 3.
    for (work_ms, ends) in [(4, [6.0, 10.0]), (3, [6.0, 9.0]), (2, [8.0, 5.0])] {
        let workload = workload(1, vec![job("a", 0, 6), job("b", 3, work_ms)]);
        assert_eq!(ends_ms(&workload, Discipline::Srpt), ends, "{work_ms} ms");
    }
}

#[test]
fn priorities_are_nice_values() {
    let nice = |role: Role, nice| Role { nice, ..role };
    let workload = workload(1, vec![job("a", 0, 6), nice(job("b", 1, 4), -5), nice(job("c", 2, 2), -5)]);
    assert_eq!(ends_ms(&workload, Discipline::Prio), [12.0, 5.0, 7.0]);
    assert_eq!(ends_ms(&workload, Discipline::PrioNp), [6.0, 10.0, 12.0]);
}

#[test]
fn a_preemption_is_one_switch_and_the_task_comes_back() {
    let workload = workload(1, vec![job("a", 0, 6), job("b", 1, 2)]);
    let switch = |event: &Event| match event.kind {
        EventKind::Switch { previous, reason, next } => {
            Some((event.time.ns() / 1_000_000, previous.map(|t| t.0), reason, next.map(|t| t.0)))
        }
        _ => None,
    };
    let switches: Vec<_> = events(&workload, Discipline::Srpt).iter().filter_map(switch).collect();
    assert_eq!(
        switches,
        [
            (0, None, Reason::Idle, Some(0)),
            (1, Some(0), Reason::Preempted, Some(1)),
            (3, Some(1), Reason::Exited, Some(0)),
            (8, Some(0), Reason::Exited, None)
        ]
    );
}

/// A task that comes when another ends finds the CPU free, even if it could have preempted it.
#[test]
fn nobody_is_preempted_at_the_end_of_the_work() {
    let better = Role { nice: -1, ..job("b", 6, 2) };
    let workload = workload(1, vec![job("a", 0, 6), better]);
    assert_eq!(ends_ms(&workload, Discipline::Prio), [6.0, 8.0]);
}

#[test]
fn allowed_cpus_are_respected() {
    let roles = vec![job("a", 0, 10), job("b", 0, 10), pinned(job("pinned", 1, 2)), job("c", 2, 1)];
    let workload = workload(2, roles);
    assert_eq!(ends_ms(&workload, Discipline::Fcfs), [10.0, 10.0, 12.0, 11.0]);
    // pinned takes the first CPU from a, and c the second from b. At 3 both end; b has less left.
    assert_eq!(ends_ms(&workload, Discipline::Srpt), [12.0, 11.0, 3.0, 3.0]);
    let error = run(&workload, Discipline::Ps, 1, &mut (), &mut ()).unwrap_err();
    assert!(error.to_string().contains("task 'pinned' may run on CPUs 0 only"), "{error}");
}

#[test]
fn a_task_that_is_driven_off_by_a_pinned_one_drives_off_a_worse_one_elsewhere() {
    let workload = workload(2, vec![job("a", 0, 5), job("b", 0, 10), pinned(job("pinned", 1, 2))]);
    assert_eq!(ends_ms(&workload, Discipline::Srpt), [5.0, 12.0, 3.0]);
}

#[test]
fn two_cpus_are_shared_by_three() {
    let mut workload = workload(2, vec![job("a", 0, 4), job("b", 0, 4), job("c", 0, 6)]);
    assert_eq!(ends_ms(&workload, Discipline::Ps), [6.0, 6.0, 8.0]);
    assert_eq!(ends_ms(&workload, Discipline::Fb), [6.0, 6.0, 8.0]);
    // d comes when the others have got 2 each. It has a CPU of its own until it ends, and they share the other one;
    // at 5 they have got 2 2/3 and share both again.
    workload.roles.push(Role { cpus: CpuSet::first(2), ..job("d", 3, 2) });
    assert_eq!(ends_ms(&workload, Discipline::Fb), [7.0, 7.0, 9.0, 5.0]);
}

#[test]
fn attained_service_is_that_of_the_request() {
    let late = once("late", 0, vec![Step::Compute(ms(2)), Step::Sleep(ms(5)), Step::Compute(ms(2))]);
    let workload = workload(1, vec![late, job("a", 4, 5)]);
    // When late comes back with 2, a has 3: a waits until 8, then they share.
    assert_eq!(ends_ms(&workload, Discipline::Fb), [10.0, 11.0]);
}

#[test]
fn blocking_and_yielding_give_the_cpu_away() {
    let yielding = once("yielding", 0, vec![Step::Compute(ms(1)), Step::Yield, Step::Compute(ms(1))]);
    let sleeping = once("sleeping", 0, vec![Step::Compute(ms(1)), Step::Sleep(ms(1)), Step::Compute(ms(1))]);
    let workload = workload(1, vec![yielding, sleeping, job("last", 0, 3)]);
    assert_eq!(ends_ms(&workload, Discipline::Fcfs), [6.0, 7.0, 5.0]);
}

#[test]
fn tasks_that_hand_over_to_each_other_run_one_after_the_other() {
    let ball = |mine: u32, other: u32| {
        vec![
            Step::RepeatBegin { times: 50 },
            Step::Wait(ObjectId(mine)),
            Step::Compute(ms(1)),
            Step::Post(ObjectId(other), 1),
            Step::RepeatEnd { begin: 2 },
        ]
    };
    let mut workload = workload(2, vec![once("ping", 0, ball(0, 1)), once("pong", 0, ball(1, 0))]);
    workload.objects.semaphores = [("ping", 1), ("pong", 0)].map(|(name, initial)| semaphore(name, initial)).into();
    for discipline in Discipline::ALL {
        assert_eq!(ends_ms(&workload, discipline), [99.0, 100.0], "{discipline}");
    }
}

#[test]
fn tasks_stay_on_their_cpus() {
    let rounds = |name: &str| {
        let mut role = once(name, 0, vec![Step::Compute(ms(2)), Step::Sleep(ms(1))]);
        role.program.repeats = true;
        role
    };
    let workload = workload(4, vec![rounds("a"), rounds("b")]);
    for discipline in WHOLE_CPUS {
        let events = events(&workload, discipline);
        assert!(!events.iter().any(|event| matches!(event.kind, EventKind::Migrate { .. })), "{discipline}");
        let enters = |event: &&Event| matches!(event.kind, EventKind::Switch { next: Some(_), .. });
        let cpus: Vec<u32> = events.iter().filter(enters).map(|event| event.cpu.0).take(4).collect();
        assert_eq!(cpus, [0, 1, 0, 1], "{discipline}");
    }
}

#[test]
fn tasks_start_where_the_workload_says() {
    let start = |name| Role { start_on: Some(CpuId(1)), ..job(name, 0, 1) };
    let events = events(&workload(2, vec![start("a"), start("b")]), Discipline::Fcfs);
    let target = |event: &Event| match event.kind {
        EventKind::Wakeup { target, .. } => Some(target.0),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(target).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn shares_are_told_at_the_end_of_the_warmup_when_a_task_ends_and_when_the_run_ends() {
    let mut workload = workload(1, vec![job("a", 0, 5), job("b", 0, 9_000)]);
    workload.run.warmup = Time::from_ms(3);
    let share = |event: &Event| match event.kind {
        EventKind::Share { task, cpu_time } => Some((event.time.ns() / 1000, task.0, cpu_time.ns() / 1000)),
        _ => None,
    };
    let shares: Vec<_> = events(&workload, Discipline::Ps).iter().filter_map(share).collect();
    assert_eq!(shares, [(3000, 0, 1500), (3000, 1, 1500), (10_000, 0, 3500), (2_000_000, 1, 1_993_500)]);
}

#[test]
fn a_loop_without_time_is_found() {
    let mut role = once("spins", 0, vec![]);
    (role.program.steps, role.program.repeats) = (vec![Step::Yield], true);
    for discipline in [Discipline::Sjf, Discipline::Ps] {
        let error = run(&workload(1, vec![role.clone()]), discipline, 1, &mut (), &mut ()).unwrap_err();
        assert!(matches!(&error, RunError::Stuck { role, .. } if role == "spins"), "{error}");
    }
}

#[test]
fn a_run_can_be_ended_from_outside() {
    struct Until(Time);
    impl Control for Until {
        fn go_on(&mut self, now: Time) -> bool {
            now < self.0
        }
    }
    let birth = Birth::Arrivals { first: Time::ZERO, gap: ms(2) };
    let mut workload = workload(1, vec![Role { count: None, birth, ..job("job", 0, 1) }]);
    workload.run.duration = Time::from_s(1000);
    for discipline in Discipline::ALL {
        let outcome = run(&workload, discipline, 1, &mut (), &mut Until(Time::from_s(100))).unwrap();
        assert!(outcome.partial && outcome.end >= Time::from_s(100) && outcome.end < Time::from_s(200));
        let busy = outcome.cpus[0].task.as_s() / outcome.end.as_s();
        assert!((busy - 0.5).abs() < 1e-4, "{discipline}: {busy}");
    }
}

#[test]
fn classes_that_are_not_known_are_refused() {
    let role = Role { class: Class::Fifo(50), ..job("audio", 0, 1) };
    let error = run(&workload(1, vec![role]), Discipline::Srpt, 1, &mut (), &mut ()).unwrap_err();
    assert!(error.to_string().starts_with("task 'audio' is of a real-time class"), "{error}");
}
