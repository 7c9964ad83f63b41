use super::*;
use crate::test_helpers::{exit, fork, roles, switch, wakeup};
use schedlab_model::{
    ids::RoleId,
    trace::Reason::{Blocked, Exited, Idle, Preempted, SliceEnd, Yielded},
};

/// Start, end, task, reason.
type Slice = (u64, u64, u64, u64);
/// Time, waker + 1, woken, source.
type Wake = (u64, u64, u64, u64);

/// Reads numbers one after the other.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().expect("the bytes end within a number");
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return value;
            }
        }
        panic!("a number of more than 64 bits");
    }

    fn columns<const N: usize>(&mut self, length: u32) -> [Vec<u64>; N] {
        [(); N].map(|()| (0..length).map(|_| self.number()).collect())
    }
}

/// The inverse of packing, where nothing is throttled.
fn unpack(packed: &Packed) -> (Vec<Vec<Slice>>, Vec<Wake>) {
    let (cpus, wakes, throttled) = unpack_all(packed);
    assert_eq!(throttled, []);
    (cpus, wakes)
}

/// Start, end, task.
type Stretch = (u64, u64, u64);

/// The inverse of packing.
fn unpack_all(packed: &Packed) -> (Vec<Vec<Slice>>, Vec<Wake>, Vec<Stretch>) {
    let mut reader = Reader(&packed.bytes);
    let mut cpus = Vec::new();
    for &count in &packed.header.slices_per_cpu {
        let [gap, length, task, reason] = reader.columns(count);
        let mut end = 0;
        cpus.push(Vec::new());
        for i in 0..count as usize {
            let start = end + gap[i];
            end = start + length[i];
            cpus.last_mut().unwrap().push((start, end, task[i], reason[i]));
        }
    }
    let [delta, waker, woken, source] = reader.columns(packed.header.wakes);
    let mut time = 0;
    let wakes = (0..delta.len()).map(|i| {
        time += delta[i];
        (time, waker[i], woken[i], source[i])
    });
    let wakes = wakes.collect();
    let [delta, length, task] = reader.columns(packed.header.throttled);
    let mut start = 0;
    let stretches = (0..delta.len()).map(|i| {
        start += delta[i];
        (start, start + length[i], task[i])
    });
    let stretches = stretches.collect();
    assert!(reader.0.is_empty(), "{} bytes too many", reader.0.len());
    (cpus, wakes, stretches)
}

fn pack(slices: Slices, events: &[Event], end: u64) -> Packed {
    let mut slices = slices;
    slices.events(events);
    slices.finish(Time(end));
    slices.into_packed()
}

fn woken_by(time: u64, waker: u32, task: u32) -> Event {
    let (task, waker) = (TaskId(task), Some(TaskId(waker)));
    let kind = EventKind::Wakeup { task, target: CpuId(0), waker, source: WakeSource::Pipe };
    Event { time: Time(time), cpu: CpuId(0), kind }
}

fn story() -> Vec<Event> {
    vec![
        fork(0, 7, 1),
        fork(0, 3, 0),
        wakeup(0, 3, 0),
        switch(10, 0, None, Idle, Some(3)),
        woken_by(150, 3, 7),
        switch(200, 1, None, Idle, Some(7)),
        switch(1000, 0, Some(3), SliceEnd, Some(9)),
        switch(1000, 0, Some(9), Preempted, Some(3)),
        exit(1500, 0, 3),
        switch(1500, 0, Some(3), Exited, None),
        switch(1600, 1, Some(7), Blocked, None),
        switch(1700, 1, None, Idle, Some(7)),
        switch(1800, 1, Some(7), Yielded, Some(9)),
    ]
}

#[test]
fn a_trace_is_packed_whole() {
    let packed = pack(Slices::new(roles(), 2), &story(), 2000);
    let header = &packed.header;
    assert_eq!((header.cpus, header.end_ns, header.kept_until_ns), (2, 2000, None));
    let names: Vec<_> = header.tasks.iter().map(|task| (&task.label[..], task.role)).collect();
    assert_eq!(names, [("worker/0", Some(0)), ("timer/0", Some(1)), ("task9", None)]);
    assert_eq!(header.roles, roles());
    let (cpus, wakes) = unpack(&packed);
    assert_eq!(cpus[0], [(10, 1000, 0, 1), (1000, 1000, 2, 2), (1000, 1500, 0, 5)]);
    assert_eq!(cpus[1], [(200, 1600, 1, 3), (1700, 1800, 1, 4), (1800, 2000, 2, 0)]);
    assert_eq!(wakes, [(0, 0, 0, 1), (150, 1, 1, 3)]);
}

#[test]
fn the_bytes_are_those_that_the_module_says() {
    let events = [switch(300, 0, None, Idle, Some(0)), switch(301, 0, Some(0), Blocked, None), woken_by(600, 0, 0)];
    let packed = pack(Slices::new([], 1), &events, 700);
    let gap = [0xac, 0x02];
    let delta = [0xd8, 0x04];
    assert_eq!(packed.bytes, [&gap[..], &[1, 0, 3], &delta, &[1, 0, 3]].concat());
}

#[test]
fn beyond_the_limit_it_says_until_when_it_goes() {
    let packed = pack(Slices::new(roles(), 2).keeping(3), &story(), 2000);
    let (cpus, wakes) = unpack(&packed);
    assert_eq!(packed.header.kept_until_ns, Some(1000));
    assert_eq!(cpus[0], [(10, 1000, 0, 1), (1000, 1000, 2, 2)]);
    // The task on the CPU when it stopped has its slice up to there.
    assert_eq!(cpus[1], [(200, 1000, 1, 0)]);
    assert_eq!((wakes.len(), packed.header.end_ns), (2, 2000));
    let few = pack(Slices::new(roles(), 2).keeping(1), &story(), 2000);
    assert_eq!((few.header.kept_until_ns, few.header.wakes), (Some(150), 1));
}

#[test]
fn roles_without_a_name_and_cpus_out_of_range_do_no_harm() {
    let events = [
        fork(0, 0, 5),
        fork(0, 1, 5),
        switch(1, 0, None, Idle, Some(0)),
        switch(2, 0, Some(0), Blocked, Some(1)),
        switch(2, 4, None, Idle, Some(2)),
        // The switch to task 2 was lost, so task 1 left for no known reason.
        switch(3, 0, Some(2), Exited, None),
    ];
    let packed = pack(Slices::new(roles(), 1), &events, 4);
    assert_eq!(packed.header.roles[2], format!("role{}", RoleId(5)));
    assert_eq!(packed.header.tasks.iter().map(|task| task.role).collect::<Vec<_>>(), [Some(2), Some(2)]);
    assert_eq!(unpack(&packed).0[0], [(1, 2, 0, 3), (2, 3, 1, 0)]);
}

#[test]
fn without_switches_there_is_nothing() {
    let share = EventKind::Share { task: TaskId(0), cpu_time: Time(5) };
    let events = [fork(0, 0, 0), Event { time: Time(9), cpu: CpuId(0), kind: share }];
    let packed = pack(Slices::new(roles(), 2), &events, 9);
    assert_eq!((packed.header.slices_per_cpu, packed.bytes), (vec![0, 0], vec![]));
}

/// Numbers without order, the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[test]
fn whatever_is_packed_comes_back() {
    const REASONS: [Reason; 5] = [SliceEnd, Preempted, Blocked, Yielded, Exited];
    for seed in 1..40 {
        let mut chance = Chance(seed);
        let cpus = 1 + chance.below(4) as u32;
        let (mut events, mut time) = (Vec::new(), 0);
        let mut there: Vec<Option<(u64, u32)>> = vec![None; cpus as usize];
        let (mut slices, mut wakes) = (vec![Vec::new(); cpus as usize], Vec::new());
        // Every task is named at the start, so that its place is its number.
        for task in 0..5 {
            events.extend([fork(0, task, 0), wakeup(0, task, 0)]);
            wakes.push((0, 0, u64::from(task), 1));
        }
        for _ in 0..chance.below(300) {
            let longest = 1 << (4 + chance.below(30));
            time += chance.below(longest);
            let (cpu, task) = (chance.below(cpus.into()) as usize, chance.below(5) as u32);
            if chance.below(3) == 0 {
                events.push(woken_by(time, 4 - task, task));
                wakes.push((time, u64::from(5 - task), task.into(), 3));
                continue;
            }
            let reason = chance.below(5);
            let next = (chance.below(4) > 0).then_some(task);
            let left = there[cpu].take();
            slices[cpu].extend(left.map(|(since, task)| (since, time, u64::from(task), reason + 1)));
            events.push(switch(time, cpu as u32, left.map(|(_, task)| task), REASONS[reason as usize], next));
            there[cpu] = next.map(|task| (time, task));
        }
        for (slices, there) in slices.iter_mut().zip(there) {
            slices.extend(there.map(|(since, task)| (since, time, u64::from(task), 0)));
        }
        let packed = pack(Slices::new(roles(), cpus), &events, time);
        assert_eq!(unpack(&packed), (slices, wakes), "seed {seed}");
    }
}

#[test]
fn what_a_cpu_does_without_a_task_is_seen_and_no_wake_up_is_made_up() {
    let turns_to = |at: u64, what| Event { time: Time(at), cpu: CpuId(0), kind: EventKind::Untraced { what } };
    let kind = EventKind::Wakeup { task: TaskId(3), target: CpuId(0), waker: None, source: WakeSource::Untold };
    let events = [
        fork(0, 3, 0),
        turns_to(0, Untraced::Others),
        Event { time: Time(10), cpu: CpuId(0), kind },
        switch(10, 0, None, Idle, Some(3)),
        switch(20, 0, Some(3), Blocked, None),
        turns_to(20, Untraced::Unknown),
        turns_to(40, Untraced::Others),
        turns_to(50, Untraced::Idle),
    ];
    let packed = pack(Slices::new(roles(), 1), &events, 100);
    let names: Vec<_> = packed.header.tasks.iter().map(|task| (&task.label[..], task.role)).collect();
    assert_eq!(names, [("not recorded", None), ("worker/0", Some(0)), ("not known", None)]);
    let (cpus, wakes) = unpack(&packed);
    assert_eq!(cpus[0], [(0, 10, 0, 0), (10, 20, 1, 3), (20, 40, 2, 0), (40, 50, 0, 0)]);
    assert_eq!(wakes, []);
}

#[test]
fn throttled_stretches_are_packed_in_the_order_of_their_starts() {
    let throttle = |at: u64, task: u32, on| {
        let kind = EventKind::Throttle { task: TaskId(task), on };
        Event { time: Time(at), cpu: CpuId(0), kind }
    };
    let events = [
        fork(0, 3, 0),
        switch(0, 0, None, Idle, Some(3)),
        switch(50, 0, Some(3), Preempted, None),
        throttle(50, 3, true),
        throttle(50, 3, true),
        throttle(60, 7, true),
        throttle(70, 7, false),
        // A task that gets a CPU is no longer throttled, whether an event says so or not.
        switch(100, 0, None, Idle, Some(3)),
        throttle(100, 3, false),
        switch(150, 0, Some(3), Preempted, None),
        throttle(150, 3, true),
    ];
    let packed = pack(Slices::new(roles(), 1), &events, 180);
    let (cpus, _, stretches) = unpack_all(&packed);
    assert_eq!(cpus[0], [(0, 50, 0, 2), (100, 150, 0, 2)]);
    assert_eq!(stretches, [(50, 100, 0), (60, 70, 1), (150, 180, 0)]);
    // There is no room for the second slice.
    let cut = pack(Slices::new(roles(), 1).keeping(1), &events, 180);
    assert_eq!((cut.header.kept_until_ns, unpack_all(&cut).2), (Some(100), vec![(50, 100, 0), (60, 70, 1)]));
}
