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
    let mut collector = Collector::new(&workload());
    collector.events(&[&begin[..], &rest].concat());
    collector.finish(Time(100));
    let measures = collector.into_measures();
    assert_eq!(measures.work_conservation_violation.unwrap().ns, 10);
    assert_eq!(measures.control_groups[0].throttled_wait_ns.unwrap().max, 50);
}
