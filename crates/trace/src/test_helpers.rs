//! Runs for the tests.

use crate::header::{Header, Role};
use proptest::prelude::*;
use schedlab_model::{
    cpuset::CpuSet,
    ids::{ControlGroupId, CpuId, ObjectId, RequestId, RoleId, TaskId},
    time::Time,
    trace::{Call, Event, EventKind, Overhead, Reason, Untraced, WakeSource},
};

/// Two roles on two CPUs.
pub(crate) fn header() -> Header {
    Header {
        scenario: "three".into(),
        policy: "rr".into(),
        venue: "sim".into(),
        seed: 7,
        cpus: 2,
        roles: vec![
            Role { name: "worker".into(), cpus: CpuSet::first(2) },
            Role { name: "timer".into(), cpus: [CpuId(1)].into_iter().collect() },
        ],
        control_groups: vec![String::new(), "web".into()],
        end: Time::from_ms(20),
        lost: 2,
        setting: None,
    }
}

/// A run of two tasks in which each kind of event happens.
pub(crate) fn story() -> Vec<Event> {
    let (first, second) = (TaskId(0), TaskId(1));
    let role = RoleId(0);
    let switch = |previous, reason, next| EventKind::Switch { previous, reason, next };
    let wakeup = |task, waker| EventKind::Wakeup { task, target: CpuId(0), waker, source: WakeSource::Fork };
    let (at, deadline) = (Time::from_ms(16), Time::from_ms(24));
    let release = |task| EventKind::Release { task, release: at, deadline, skipped: 1 };
    let lines = [
        (0, 0, EventKind::Fork { task: first, role, parent: None }),
        (0, 0, wakeup(first, None)),
        (0, 0, switch(None, Reason::Idle, Some(first))),
        (0, 0, EventKind::RequestBegin { task: first, intended: Time::ZERO, request: None }),
        (0, 1, EventKind::Fork { task: second, role, parent: Some(first) }),
        (0, 1, wakeup(second, Some(first))),
        (4_000, 0, EventKind::Tick),
        (10_000, 0, EventKind::Overhead { what: Overhead::Switch, length: Time::from_us(2) }),
        (10_000, 0, switch(Some(first), Reason::SliceEnd, Some(second))),
        (10_000, 0, EventKind::Status { task: second, word: 3 }),
        (11_000, 1, EventKind::Migrate { task: first, from: CpuId(0), to: CpuId(1) }),
        (11_000, 1, switch(None, Reason::Idle, Some(first))),
        (12_500, 1, EventKind::RequestEnd { task: first, demand: Time::from_us(11_500), request: None }),
        (12_500, 1, EventKind::Exit { task: first }),
        (12_500, 1, switch(Some(first), Reason::Exited, None)),
        (13_000, 0, EventKind::RequestBegin { task: second, intended: Time::from_ms(12), request: None }),
        (14_000, 0, switch(Some(second), Reason::Blocked, None)),
        (15_000, 0, EventKind::Join { task: second, control_group: ControlGroupId(1) }),
        (15_000, 0, EventKind::Throttle { task: second, on: true }),
        (15_000, 0, release(second)),
    ];
    lines.map(|(us, cpu, kind)| Event { time: Time::from_us(us), cpu: CpuId(cpu), kind }).into()
}

/// Any event of a time and a CPU that exist, possible in a run or not.
pub(crate) fn any_event() -> impl Strategy<Value = Event> {
    let time = prop_oneof![0..1_000_000u64, 0..=Time::LATEST.ns()].prop_map(Time);
    let cpu = (0..header().cpus).prop_map(CpuId);
    (time, cpu, any_kind()).prop_map(|(time, cpu, kind)| Event { time, cpu, kind })
}

fn any_kind() -> impl Strategy<Value = EventKind> {
    let task = || prop_oneof![0..5u32, any::<u32>()].prop_map(TaskId);
    let cpu = || (0..4u32).prop_map(CpuId);
    let maybe = move || proptest::option::of(task());
    let request = || proptest::option::of(any::<u32>().prop_map(RequestId));
    let length = || prop_oneof![0..1_000_000u64, 0..1u64 << 50].prop_map(Time);
    let reasons = [Reason::Idle, Reason::SliceEnd, Reason::Preempted, Reason::Blocked, Reason::Yielded, Reason::Exited];
    let sources = [WakeSource::Fork, WakeSource::Timer, WakeSource::Pipe, WakeSource::Untold];
    let overheads = [Overhead::Switch, Overhead::Wakeup, Overhead::Migration, Overhead::Tick, Overhead::Policy];
    prop_oneof![
        (task(), 0..3u32, maybe()).prop_map(|(task, role, parent)| EventKind::Fork {
            task,
            role: RoleId(role),
            parent
        }),
        task().prop_map(|task| EventKind::Exit { task }),
        (task(), cpu(), maybe(), prop::sample::select(sources.to_vec()))
            .prop_map(|(task, target, waker, source)| EventKind::Wakeup { task, target, waker, source }),
        (maybe(), prop::sample::select(reasons.to_vec()), maybe())
            .prop_map(|(previous, reason, next)| EventKind::Switch { previous, reason, next }),
        (task(), cpu(), cpu()).prop_map(|(task, from, to)| EventKind::Migrate { task, from, to }),
        Just(EventKind::Tick),
        (task(), length(), request()).prop_map(|(task, intended, request)| EventKind::RequestBegin {
            task,
            intended,
            request
        }),
        (task(), length(), request()).prop_map(|(task, demand, request)| EventKind::RequestEnd {
            task,
            demand,
            request
        }),
        (any::<u32>(), maybe(), 0..3u32).prop_map(|(request, task, role)| EventKind::RequestQueue {
            request: RequestId(request),
            task,
            role: RoleId(role),
        }),
        (task(), any::<u64>()).prop_map(|(task, word)| EventKind::Status { task, word }),
        prop::sample::select(vec![Untraced::Idle, Untraced::Others, Untraced::Unknown])
            .prop_map(|what| EventKind::Untraced { what }),
        (task(), 0..9u32).prop_map(|(task, group)| EventKind::Join { task, control_group: ControlGroupId(group) }),
        (task(), any::<bool>()).prop_map(|(task, on)| EventKind::Throttle { task, on }),
        (task(), length(), length(), any::<u32>())
            .prop_map(|(task, release, deadline, skipped)| { EventKind::Release { task, release, deadline, skipped } }),
        (maybe(), any::<u32>(), any::<u64>(), prop::sample::select(vec![Call::Sleep, Call::PipeRecv, Call::Answer]))
            .prop_map(|(task, object, amount, call)| EventKind::Call {
                task,
                call,
                object: Some(ObjectId(object)).filter(|_| call == Call::PipeRecv),
                amount,
            }),
        (prop::sample::select(overheads.to_vec()), length())
            .prop_map(|(what, length)| EventKind::Overhead { what, length }),
    ]
}
