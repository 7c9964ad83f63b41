//! Laws that hold for every workload, on generated ones.

use super::test_helpers::*;
use super::*;
use proptest::prelude::*;
use schedlab_model::distribution::Distribution;
use schedlab_model::workload::{Birth, ChannelKind, Program, Role, Step};
use schedlab_model::{cpuset::CpuSet, ids::*, time::Time, workload};

fn time() -> impl Strategy<Value = Distribution> {
    let us = Time::from_us;
    prop_oneof![
        (0..20_000u64).prop_map(move |t| Distribution::Constant(us(t))),
        (1..9_000u64).prop_map(move |t| Distribution::Exponential(us(t))),
        (1..9_000u64).prop_map(move |t| Distribution::Uniform(us(t), us(2 * t))),
    ]
}

/// Steps that do not wait for ever if others do them too.
fn step() -> impl Strategy<Value = Vec<Step>> {
    let object = || (0..2u32).prop_map(ObjectId);
    prop_oneof![
        4 => time().prop_map(|t| vec![Step::Compute(t)]),
        2 => time().prop_map(|t| vec![Step::Sleep(t)]),
        1 => Just(vec![Step::Yield]),
        1 => (object(), time()).prop_map(|(o, t)| vec![Step::Io(o, t)]),
        1 => (object(), time()).prop_map(|(o, t)| vec![Step::Lock(o), Step::Compute(t), Step::Unlock(o)]),
        1 => object().prop_map(|o| vec![Step::Lock(o), Step::CondWait(o, o), Step::Relock(o), Step::Unlock(o)]),
        1 => object().prop_map(|o| vec![Step::Signal(o)]),
        1 => object().prop_map(|o| vec![Step::Broadcast(o)]),
        1 => object().prop_map(|o| vec![Step::Post(o, 1)]),
        1 => object().prop_map(|o| vec![Step::Wait(o)]),
        1 => (object(), 1..3u32).prop_map(|(o, n)| vec![Step::Send(o, n)]),
        1 => (object(), 1..3u32).prop_map(|(o, n)| vec![Step::Recv(o, n)]),
        1 => (2..4u32, time()).prop_map(|(times, t)| {
            vec![Step::RepeatBegin { times }, Step::Compute(t), Step::RepeatEnd { begin: usize::MAX }]
        }),
        1 => Just(vec![Step::Spawn(RoleId(0), 1)]),
    ]
}

fn program() -> impl Strategy<Value = Program> {
    (prop::collection::vec(step(), 1..6), any::<bool>()).prop_map(|(parts, repeats)| {
        let mut steps = [vec![Step::RequestBegin], parts.concat(), vec![Step::RequestEnd]].concat();
        // A pass of a loop takes time.
        steps.push(Step::Sleep(ms(1)));
        for (index, step) in steps.iter_mut().enumerate() {
            if let Step::RepeatEnd { begin } = step {
                *begin = index - 1;
            }
        }
        Program { steps, repeats, repeat_depth: 1, items: None }
    })
}

fn role(index: usize) -> impl Strategy<Value = Role> {
    let birth = prop_oneof![
        (0..50u64).prop_map(|t| Birth::At(Time::from_ms(t))),
        (2..200u64)
            .prop_map(|t| Birth::Arrivals { first: Time::ZERO, gap: Distribution::Exponential(Time::from_ms(t)) }),
    ];
    (birth, 1..6u32, -3..3i8, program()).prop_map(move |(birth, count, nice, program)| Role {
        count: Some(count),
        birth,
        nice,
        program,
        ..once(&format!("role{index}"), 0, vec![])
    })
}

/// The first role computes only and is what others spawn.
fn any_workload() -> impl Strategy<Value = Workload> {
    let roles = (role(1), role(2), role(3)).prop_map(|(a, b, c)| vec![a, b, c]);
    (1..5u32, roles, prop::collection::vec(1..32u32, 3), 0..200u64).prop_map(|(cpus, mut roles, sets, warmup)| {
        for (role, set) in roles.iter_mut().zip(sets) {
            role.cpus = (0..cpus).filter(|cpu| set >> cpu & 1 == 1).map(CpuId).collect();
        }
        roles.insert(0, Role { birth: Birth::Spawned, ..job("spawned", 0, 3) });
        let mut workload = workload(cpus, roles);
        workload.run.warmup = Time::from_ms(warmup);
        workload.objects = workload::Objects {
            semaphores: vec![semaphore("a", 3), semaphore("b", 0)],
            locks: vec!["a".into(), "b".into()],
            conditions: vec!["a".into(), "b".into()],
            channels: ["a", "b"]
                .map(|name| workload::Channel { name: name.into(), capacity: 3, kind: ChannelKind::Pipe, work: None })
                .into(),
            barriers: vec![],
            devices: vec!["a".into(), "b".into()],
        };
        workload
    })
}

/// The same with every task allowed on all CPUs, so that fluid disciplines know it too.
fn anywhere(mut workload: Workload) -> Workload {
    let all = CpuSet::first(workload.machine.cpus());
    workload.roles.iter_mut().for_each(|role| role.cpus = all.clone());
    workload
}

/// Jobs of one `compute` that come by themselves: instants and works, in nanoseconds.
fn jobs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0..40_000u64, 1..9_000u64), 1..25)
        .prop_map(|jobs| jobs.into_iter().map(|(at, work)| (at * 1000, work * 1000)).collect())
}

fn of_jobs(cpus: u32, jobs: &[(u64, u64)]) -> Workload {
    let role = |(index, &(at, work)): (usize, &(u64, u64))| Role {
        birth: Birth::At(Time(at)),
        ..once(&format!("job{index}"), 0, vec![Step::Compute(Distribution::Constant(Time(work)))])
    };
    workload(cpus, jobs.iter().enumerate().map(role).collect())
}

/// What each job would get, found again at every instant from the rule itself: rates of the jobs by attained service.
fn rates(discipline: Discipline, cpus: f64, attained: &[f64], here: &[usize]) -> Vec<f64> {
    let mut rates = vec![0.0; attained.len()];
    let mut left = cpus;
    let mut order = here.to_vec();
    order.sort_by(|&a, &b| attained[a].total_cmp(&attained[b]));
    while let Some(&first) = order.first() {
        let same = |&&i: &&usize| discipline == Discipline::Ps || attained[i] - attained[first] < 1e-3;
        let level = order.iter().take_while(same).count();
        let rate = (left / level as f64).min(1.0);
        order.drain(..level).for_each(|i| rates[i] = rate);
        left -= rate * level as f64;
    }
    rates
}

/// Ends of the jobs in nanoseconds, in floating point, one arrival, end or meeting at a time.
fn naive_ends(discipline: Discipline, cpus: u32, jobs: &[(u64, u64)]) -> Vec<f64> {
    let (mut now, mut attained, mut ends) = (0.0f64, vec![0.0; jobs.len()], vec![f64::NAN; jobs.len()]);
    while ends.iter().any(|end| end.is_nan()) {
        let here: Vec<usize> = (0..jobs.len()).filter(|&i| ends[i].is_nan() && jobs[i].0 as f64 <= now).collect();
        let rates = rates(discipline, cpus.into(), &attained, &here);
        let arrival = jobs.iter().map(|job| job.0 as f64 - now).filter(|&t| t > 0.0);
        let end = here.iter().filter(|&&i| rates[i] > 0.0).map(|&i| (jobs[i].1 as f64 - attained[i]) / rates[i]);
        let pairs = here.iter().flat_map(|&a| here.iter().map(move |&b| (a, b)));
        let meeting = pairs
            .filter(|&(a, b)| attained[b] - attained[a] > 1e-3 && rates[a] > rates[b])
            .map(|(a, b)| (attained[b] - attained[a]) / (rates[a] - rates[b]));
        let meeting: Vec<f64> = if discipline == Discipline::Fb { meeting.collect() } else { vec![] };
        let step = arrival.chain(end).chain(meeting).fold(f64::INFINITY, f64::min);
        now += step;
        for &i in &here {
            attained[i] += rates[i] * step;
            if attained[i] >= jobs[i].1 as f64 - 1e-3 {
                ends[i] = now;
            }
        }
    }
    ends
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Trace laws, conservation of CPU time, allowed CPUs: all checked by `events`. The same inputs give the same
    /// events.
    #[test]
    fn every_run_is_lawful_and_repeats(workload in any_workload()) {
        for discipline in Discipline::ALL {
            let workload = if discipline.is_fluid() { anywhere(workload.clone()) } else { workload.clone() };
            prop_assert!(events(&workload, discipline) == events(&workload, discipline));
        }
    }

    /// No discipline idles while there is work: on one CPU all are done with it at the same time, to the nanosecond.
    #[test]
    fn one_cpu_is_done_with_all_jobs_at_the_same_time(jobs in jobs()) {
        let workload = of_jobs(1, &jobs);
        let last = Discipline::ALL.map(|discipline| ends_ns(&events(&workload, discipline)).into_iter().max().unwrap());
        prop_assert!(last.iter().all(|&end| end == last[0]), "{last:?}");
    }

    /// Shortest remaining first has the smallest mean response of all on one CPU, on every sequence of jobs.
    #[test]
    fn shortest_remaining_first_is_best(jobs in jobs()) {
        let workload = of_jobs(1, &jobs);
        let sum = |discipline| ends_ns(&events(&workload, discipline)).iter().sum::<u64>();
        let best = sum(Discipline::Srpt);
        for discipline in Discipline::ALL {
            prop_assert!(best <= sum(discipline), "{discipline}");
        }
    }

    #[test]
    fn fluid_disciplines_give_what_their_rule_says(cpus in 1..5u32, mut jobs in jobs()) {
        // An end that is rounded to the nanosecond must not fall on an arrival.
        jobs.iter_mut().enumerate().for_each(|(index, job)| job.0 += index as u64);
        let workload = of_jobs(cpus, &jobs);
        for discipline in [Discipline::Ps, Discipline::Fb] {
            let expected = naive_ends(discipline, cpus, &jobs);
            // Tasks are numbered as they come.
            let mut order: Vec<usize> = (0..jobs.len()).collect();
            order.sort_by_key(|&i| jobs[i].0);
            for (&end, index) in ends_ns(&events(&workload, discipline)).iter().zip(order) {
                let expected = expected[index];
                prop_assert!((end as f64 - expected).abs() < 100.0, "{discipline}: {end} ns, expected {expected}");
            }
        }
    }
}
