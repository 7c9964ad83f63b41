use super::*;
use crate::collector::Collector;
use crate::test_helpers::{event, fork, switch, wakeup};
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_model::trace::Sink;

fn workload() -> Workload {
    let text = "name = \"t\"\n[machine]\ncpus = 1\n[run]\nduration = \"1s\"\n\
                [[control_group]]\npath = \"a\"\nweight = 300\n[[control_group]]\npath = \"b\"\n\
                [[task]]\nname = \"x\"\ncontrol_group = \"a\"\nloop = [{ compute = \"1ms\" }]\n\
                [[task]]\nname = \"y\"\ncontrol_group = \"b\"\nloop = [{ compute = \"1ms\" }]\n";
    Scenario::parse(text, "t").unwrap().compile().unwrap()
}

fn results(events: &[Event], end: u64) -> Vec<ControlGroupResult> {
    let mut collector = Collector::new(&workload());
    collector.events(events);
    collector.finish(Time(end));
    collector.into_measures().control_groups
}

fn fork_of(task: u32, role: u32) -> Event {
    let Event { time, cpu, .. } = fork(0, task);
    Event { time, cpu, kind: EventKind::Fork { task: TaskId(task), role: RoleId(role), parent: None } }
}

/// `x` runs for 60, then `y` for 40: `y` waits for 60, `x` is held back for 30 of its 40.
#[test]
fn time_is_that_of_the_tasks_in_a_group() {
    let held = |time, on| event(time, 0, EventKind::Throttle { task: TaskId(0), on });
    let events = [
        fork_of(0, 0),
        fork_of(1, 1),
        wakeup(0, 0, 0),
        wakeup(0, 1, 0),
        switch(0, 0, None, Reason::Idle, Some(0)),
        switch(60, 0, Some(0), Reason::Preempted, Some(1)),
        held(65, true),
        held(95, false),
    ];
    let [a, b] = results(&events, 100).try_into().unwrap();
    assert_eq!((a.path.as_str(), a.tasks, a.usage_ns, a.sibling_share), ("a", 1, 60, Some(0.6)));
    assert_eq!((a.entitled_share, b.entitled_share, b.usage_ns), (Some(0.75), Some(0.25), 40));
    let waits = a.throttled_wait_ns.unwrap();
    assert_eq!((waits.count, waits.max), (1, 30));
    assert_eq!((a.pressure_some_ns, a.pressure_full_ns), (Some(40), Some(40)));
    assert_eq!((b.pressure_some_ns, b.throttled_wait_ns), (Some(60), None));
}

#[test]
fn who_joins_another_group_is_counted_there() {
    let join = EventKind::Join { task: TaskId(0), control_group: ControlGroupId(2) };
    let events = [fork_of(0, 0), wakeup(0, 0, 0), switch(0, 0, None, Reason::Idle, Some(0)), event(70, 0, join)];
    let [a, b] = results(&events, 100).try_into().unwrap();
    assert_eq!((a.usage_ns, b.usage_ns, a.tasks, b.tasks), (70, 30, 1, 1));
    assert_eq!((a.entitled_share, b.entitled_share), (Some(0.7), Some(0.3)));
}

/// A CPU that idles despite tasks that wait for a limit leaves no work undone.
#[test]
fn who_is_held_back_is_no_work_for_a_cpu() {
    let held = |time, on| event(time, 0, EventKind::Throttle { task: TaskId(0), on });
    let begin = [fork_of(0, 0), wakeup(0, 0, 0), switch(0, 0, None, Reason::Idle, Some(0))];
    let rest = [
        held(20, true),
        switch(20, 0, Some(0), Reason::Preempted, None),
        held(70, false),
        switch(80, 0, None, Reason::Idle, Some(0)),
    ];
    // The second time as in a trace that is measured again, whose header says nothing of groups.
    let mut bare = workload();
    bare.control_groups = schedlab_model::control_group::ControlGroups::root_alone(1);
    for workload in [workload(), bare] {
        let mut collector = Collector::new(&workload);
        collector.events(&[&begin[..], &rest].concat());
        collector.finish(Time(100));
        let measures = collector.into_measures();
        assert_eq!(measures.work_conservation_violation.unwrap().ns, 10);
        let waits = measures.control_groups.first().map(|group| group.throttled_wait_ns.as_ref().unwrap().max);
        assert!(waits.is_none_or(|longest| longest == 50));
    }
}

/// What a parent cannot use, as its children may not, is no part of what it is entitled to.
#[test]
fn a_parent_is_entitled_to_what_its_children_can_use() {
    let text = "name = \"t\"\n[machine]\ncpus = 1\n[run]\nduration = \"1s\"\n\
                [[control_group]]\npath = \"p\"\nweight = 300\n[[control_group]]\npath = \"p/a\"\nmax = \"20ms/100ms\"\n\
                [[task]]\nname = \"x\"\ncontrol_group = \"p/a\"\nloop = [{ compute = \"1s\" }]\n\
                [[task]]\nname = \"y\"\nloop = [{ compute = \"1s\" }]\n";
    let events = [fork_of(0, 0), fork_of(1, 1), wakeup(0, 0, 0), wakeup(0, 1, 0)];
    let shares = |text: &str| {
        let workload = Scenario::parse(text, "t").unwrap().compile().unwrap();
        let mut collector = Collector::new(&workload);
        collector.events(&events);
        collector.finish(Time(100));
        collector.into_measures().control_groups.iter().map(|group| group.entitled_share).collect::<Vec<_>>()
    };
    assert_eq!(shares(text), [Some(0.2), Some(1.0)]);
    // Weights that change have no single share.
    let adjusts = text.replace(
        "loop = [{ compute = \"1s\" }]\n[[task]]",
        "loop = [{ compute = \"1s\" }, { adjust = { control_group = \"p\", weight = 5 } }]\n[[task]]",
    );
    assert_eq!(shares(&adjusts), [None, None]);
}

/// A task that comes back is the same task.
#[test]
fn a_task_counts_once_in_a_group() {
    let join = |time, group| event(time, 0, EventKind::Join { task: TaskId(0), control_group: ControlGroupId(group) });
    let start = [fork_of(0, 0), wakeup(0, 0, 0), switch(0, 0, None, Reason::Idle, Some(0))];
    let events = [&start[..], &[join(20, 2), join(40, 1), join(60, 2)]].concat();
    let [a, b] = results(&events, 100).try_into().unwrap();
    assert_eq!((a.tasks, b.tasks), (1, 1));
}
