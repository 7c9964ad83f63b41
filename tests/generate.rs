//! Machines and workloads drawn at random, small enough to look at when a law is broken.

use proptest::prelude::*;
use schedlab_model::control_group::ControlGroups;
use schedlab_model::workload::*;
use schedlab_model::{cpuset::CpuSet, distribution::Distribution, ids::*, machine::*, time::Time};

/// A machine of 1 to 8 CPUs, some with threads and caches, some with a tick or costs.
pub fn machine() -> impl Strategy<Value = Machine> {
    let topology = prop_oneof![
        (1u32..=6).prop_map(Topology::flat),
        Just(Topology { nodes: 1, llcs_per_node: 1, cores_per_llc: 2, threads_per_core: 2 }),
        Just(Topology { nodes: 2, llcs_per_node: 2, cores_per_llc: 1, threads_per_core: 2 }),
    ];
    let tick = prop_oneof![
        2 => Just((Time::ZERO, Time::ZERO)),
        1 => Just((Time::from_ms(1), Time::ZERO)),
        1 => (0..4_000_000u64).prop_map(|offset| (Time::from_ms(4), Time(offset))),
    ];
    let cost = prop_oneof![3 => Just(0u64), 1 => 1u64..20_000];
    let costs = proptest::collection::vec(cost, Costs::NAMES.len());
    let instruction = prop_oneof![3 => Just(0u64), 1 => 1u64..2_000];
    let switches: Vec<&str> = Machine::mechanisms().filter(|name| !Costs::NAMES.contains(name)).collect();
    let count = switches.len();
    let off = proptest::sample::subsequence(switches, 0..=count);
    (topology, tick, costs, instruction, off).prop_map(
        |(topology, (tick, tick_offset), times, policy_instruction_ps, off)| {
            let mut costs = Costs { policy_instruction_ps, ..Costs::default() };
            costs.times_mut().into_iter().zip(times).for_each(|((_, cost), ns)| *cost = Time(ns));
            let machine = Machine { tick, tick_offset, costs, topology, ..Machine::flat(1) };
            off.into_iter()
                .fold(machine, |machine, name| machine.without(name).expect("it has a mechanism of this name"))
        },
    )
}

fn length() -> impl Strategy<Value = Distribution> {
    let ns = || prop_oneof![50_000u64..5_000_000, 5_000_000u64..200_000_000];
    prop_oneof![
        3 => ns().prop_map(|n| Distribution::Constant(Time(n))),
        1 => ns().prop_map(|n| Distribution::Exponential(Time(n))),
        1 => (ns(), ns()).prop_map(|(a, b)| Distribution::Uniform(Time(a.min(b)), Time(a.max(b)))),
    ]
}

/// Steps that cannot block forever: work, sleep, yields, disk, messages and semaphores that the role posts itself.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => length().prop_map(|l| vec![Step::Compute(l)]),
        2 => length().prop_map(|l| vec![Step::Sleep(l)]),
        1 => Just(vec![Step::Yield]),
        1 => length().prop_map(|l| vec![Step::Io(ObjectId(0), l)]),
        1 => length().prop_map(|l| vec![Step::Lock(ObjectId(0)), Step::Compute(l), Step::Unlock(ObjectId(0))]),
        1 => any::<bool>().prop_map(|all| {
            vec![if all { Step::Broadcast(ObjectId(0)) } else { Step::Signal(ObjectId(0)) }]
        }),
        1 => (1u32..3).prop_map(|n| vec![Step::Post(ObjectId(0), n)]),
        1 => Just(vec![Step::Post(ObjectId(0), 1), Step::Wait(ObjectId(0))]),
        1 => Just(vec![Step::Send(ObjectId(0), 1), Step::Recv(ObjectId(0), 1)]),
    ];
    let some = proptest::collection::vec(step, 1..5).prop_map(|s| s.concat());
    (some, length()).prop_map(|(steps, work)| {
        let mut all = vec![Step::RequestBegin, Step::Compute(work)];
        all.extend(steps);
        all.push(Step::RequestEnd);
        all
    })
}

/// A change of the CPUs, of the nice value, or of both.
fn change(cpus: u32) -> impl Strategy<Value = Step> {
    (1u64..256, prop_oneof![Just(None), (-20i8..20).prop_map(Some)]).prop_map(move |(mask, nice)| {
        let set: CpuSet = (0..cpus).filter(|c| mask >> c & 1 == 1).map(CpuId).collect();
        Step::Set(Change { cpus: Some(set).filter(|set| !set.is_empty()), nice, class: None, slice: None })
    })
}

fn role(cpus: u32) -> impl Strategy<Value = Role> {
    let birth = prop_oneof![
        3 => Just(Birth::At(Time::ZERO)),
        1 => (0u64..100).prop_map(|ms| Birth::At(Time::from_ms(ms))),
        1 => length().prop_map(|gap| Birth::Arrivals { first: Time::ZERO, gap }),
    ];
    let nice = prop_oneof![3 => Just(0i8), 1 => -20i8..20];
    let class = prop_oneof![8 => Just(Class::Other), 1 => Just(Class::Idle), 1 => Just(Class::Fifo(50)), 1 => Just(Class::RoundRobin(10))];
    let mask = prop_oneof![2 => Just(u64::MAX), 1 => 1u64..256];
    let changes = prop_oneof![2 => Just(Vec::new()), 1 => proptest::collection::vec((change(cpus), any::<prop::sample::Index>()), 1..3)];
    (birth, nice, class, mask, 1u32..5, any::<bool>(), steps(), changes).prop_map(
        move |(birth, nice, class, mask, count, pinned, mut steps, changes)| {
            let mut allowed: CpuSet = (0..cpus).filter(|c| mask >> c & 1 == 1).map(CpuId).collect();
            if allowed.is_empty() {
                allowed = CpuSet::first(cpus);
            }
            let repeats = !matches!(birth, Birth::Arrivals { .. });
            // A real-time task that never sleeps would take its CPU for good.
            let class = if steps.iter().any(|s| matches!(s, Step::Sleep(_))) { class } else { Class::Other };
            let pinned = pinned && changes.is_empty();
            for (change, place) in changes {
                steps.insert(1 + place.index(steps.len() - 1), change);
            }
            let start_on = pinned.then(|| allowed.iter().next().unwrap_or(CpuId(0)));
            Role {
                name: String::new(),
                count: Some(count),
                birth,
                start_on,
                nice,
                slice: None,
                class,
                cpus: allowed,
                kind: Kind::Thread,
                control: Default::default(),
                program: Program { steps, repeats, repeat_depth: 0, items: None },
            }
        },
    )
}

/// A workload of one to four roles that runs for up to half a second.
pub fn workload() -> impl Strategy<Value = Workload> {
    machine()
        .prop_flat_map(|machine| {
            let cpus = machine.cpus();
            (Just(machine), proptest::collection::vec(role(cpus), 1..5), 50u64..500, any::<u64>())
        })
        .prop_map(|(machine, mut roles, ms, seed)| {
            roles.iter_mut().enumerate().for_each(|(i, g)| g.name = format!("g{i}"));
            let control_groups = ControlGroups::root_alone(machine.cpus());
            let objects = Objects {
                semaphores: vec![Semaphore { name: "s".into(), initial: 1, work: None }],
                locks: vec!["l".into()],
                conditions: vec!["c".into()],
                channels: vec![Channel { name: "c".into(), capacity: 4, kind: ChannelKind::Pipe, work: None }],
                barriers: vec![],
                devices: vec!["d".into()],
            };
            Workload {
                name: "generated".into(),
                about: String::new(),
                machine,
                roles,
                control_groups,
                objects,
                sources: Vec::new(),
                hotplug: Vec::new(),
                run: schedlab_model::workload::Run {
                    duration: Time::from_ms(ms),
                    warmup: Time::ZERO,
                    period_phase: Default::default(),
                    calls: false,
                    seed,
                },
            }
        })
}

/// Tasks that only compute, all there from the start, on one CPU or more.
pub fn hogs(cpus: u32, tasks: u32) -> Workload {
    let steps = vec![Step::RequestBegin, Step::Compute(Distribution::Constant(Time::from_s(1))), Step::RequestEnd];
    let role = Role {
        name: "hog".into(),
        count: Some(tasks),
        birth: Birth::At(Time::ZERO),
        start_on: None,
        nice: 0,
        slice: None,
        class: Class::Other,
        cpus: CpuSet::first(cpus),
        kind: Kind::Thread,
        control: Default::default(),
        program: Program { steps, repeats: true, repeat_depth: 0, items: None },
    };
    let machine = Machine::flat(cpus);
    let control_groups = ControlGroups::root_alone(cpus);
    let run = schedlab_model::workload::Run {
        duration: Time::from_s(60),
        warmup: Time::ZERO,
        period_phase: Default::default(),
        calls: false,
        seed: 1,
    };
    Workload {
        name: "hogs".into(),
        about: String::new(),
        machine,
        roles: vec![role],
        control_groups,
        objects: Objects::default(),
        sources: Vec::new(),
        hotplug: Vec::new(),
        run,
    }
}
