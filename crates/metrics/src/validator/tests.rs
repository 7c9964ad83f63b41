use super::*;
use crate::test_helpers::*;
use proptest::prelude::*;

fn findings(events: &[Event], end: u64, expectations: Expectations) -> Findings {
    let mut validator = Validator::new(expectations);
    events.iter().for_each(|event| validator.event(event));
    validator.finish(Time(end));
    validator.into_findings()
}

/// The lines that a trace on two CPUs of one role gives.
fn lines(events: &[Event]) -> Vec<String> {
    let workload = plain(2);
    let expectations = Expectations { workload: Some(&workload), ..Expectations::default() };
    findings(events, 1000, expectations).reported.iter().map(ToString::to_string).collect()
}

fn started() -> Vec<Event> {
    vec![fork(0, 1), wakeup(0, 1, 0), switch(0, 0, None, Reason::Idle, Some(1))]
}

fn then(events: impl IntoIterator<Item = Event>) -> Vec<String> {
    lines(&started().into_iter().chain(events).collect::<Vec<_>>())
}

#[test]
fn a_lawful_trace_has_no_findings() {
    assert_eq!(then([exit(5, 0, 1), switch(5, 0, Some(1), Reason::Exited, None)]), [""; 0]);
    assert_eq!(then([switch(5, 0, Some(1), Reason::Exited, None), exit(5, 0, 1)]), [""; 0]);
    assert_eq!(then([begin(1, 1, 0), end(4, 1, 3), switch(5, 0, Some(1), Reason::Blocked, None)]), [""; 0]);
}

#[test]
fn each_law_has_its_line() {
    let cases: Vec<(Vec<Event>, &str)> = vec![
        (vec![switch(5, 1, None, Reason::Idle, Some(1))], "5ns cpu 1 task 1 event 4: a task runs on two CPUs"),
        (
            vec![switch(5, 0, None, Reason::Idle, Some(2))],
            "5ns cpu 0 task 1 event 4: no task leaves the CPU, but task 1",
        ),
        (vec![wakeup(5, 1, 0)], "5ns cpu 0 task 1 event 4: a task wakes up while it runs on CPU 0"),
        (vec![wakeup(5, 9, 0)], "5ns cpu 0 task 9 event 4: an event of a task that never came to be"),
        (vec![fork(5, 1)], "5ns cpu 0 task 1 event 4: a task comes to be for the second time"),
        (vec![wakeup(5, 1, 2)], "5ns cpu 2 event 4: CPU 2 does not exist, the machine has 2"),
        (vec![begin(5, 1, 6)], "5ns cpu 0 task 1 event 4: a request begins before it is due at 6ns"),
        (vec![begin(5, 1, 5), begin(6, 1, 6)], "6ns cpu 0 task 1 event 5: a request begins within a request"),
        (vec![end(5, 1, 5)], "5ns cpu 0 task 1 event 4: a request ends that never began"),
        (vec![switch(5, 0, Some(1), Reason::Idle, None)], "5ns cpu 0 task 1 event 4: reason Idle does not fit"),
        (vec![switch(5, 0, Some(1), Reason::Preempted, Some(1))], "5ns cpu 0 task 1 event 4: a switch from a task to"),
        (vec![exit(5, 0, 1)], "1us cpu 0 task 1 event 5: it ended and never left its CPU"),
        (
            vec![exit(5, 0, 1), switch(6, 0, Some(1), Reason::Exited, None)],
            "6ns cpu 0 task 1 event 5: it ended at 5ns and leaves the CPU now, as Exited",
        ),
        (
            vec![switch(5, 0, Some(1), Reason::Blocked, None), switch(6, 0, None, Reason::Idle, Some(1))],
            "6ns cpu 0 task 1 event 5: a task that is not runnable is switched in",
        ),
        (
            vec![exit(5, 0, 1), switch(5, 0, Some(1), Reason::Exited, None), exit(7, 0, 1)],
            "7ns cpu 0 task 1 event 6: an event of a task that has ended",
        ),
        (vec![fork(8, 2), fork(5, 3)], "5ns cpu 0 event 5: time goes back from 8ns by 3ns"),
    ];
    for (events, expected) in cases {
        let got = then(events);
        assert!(got.first().is_some_and(|line| line.starts_with(expected)), "{expected}\n{got:#?}");
    }
}

#[test]
fn allowed_cpus_are_known_from_the_workload() {
    let only_first = role("pinned", schedlab_model::cpuset::CpuSet::first(1));
    let workload = workload(2, vec![only_first], 0);
    let expectations = Expectations { workload: Some(&workload), ..Expectations::default() };
    let events = [fork(0, 1), wakeup(0, 1, 0), switch(3, 1, None, Reason::Idle, Some(1))];
    let got = findings(&events, 10, expectations);
    assert_eq!(got.reported[0].to_string(), "3ns cpu 1 task 1 event 3: a task of \"pinned\" on CPU 1, allowed are 0");
    assert!(findings(&events, 10, Expectations::default()).is_lawful());
}

#[test]
fn lost_events_excuse_what_they_explain() {
    let events = [switch(5, 0, Some(7), Reason::Preempted, Some(8)), end(6, 8, 1), wakeup(6, 8, 0)];
    assert!(!findings(&events, 9, Expectations::default()).is_lawful());
    let lossy = Expectations { lost_events: true, ..Expectations::default() };
    assert!(findings(&events, 9, lossy).is_lawful());
    assert!(!findings(&[fork(5, 1), fork(4, 2)], 9, lossy).is_lawful());
}

#[test]
fn the_first_are_told_and_the_others_counted() {
    let events: Vec<Event> = (0..100).map(|i| end(i, 5, 0)).collect();
    let got = findings(&events, 200, Expectations::default());
    assert_eq!((got.reported.len(), got.violations, got.events), (MAX_REPORTED, 100, 100));
}

proptest! {
    /// What a lawful machine does is lawful; without one of its switches it is not.
    #[test]
    fn a_missing_switch_is_found(seed in any::<u64>(), victim in any::<prop::sample::Index>()) {
        let run = RandomRun::new(seed, 300, 0);
        let expectations = Expectations { workload: Some(&run.workload), ..Expectations::default() };
        let whole = findings(&run.events, run.end, expectations);
        prop_assert!(whole.is_lawful(), "{:?}", whole.reported);
        let is_switch = |i: &usize| matches!(run.events[*i].kind, EventKind::Switch { .. });
        let switches: Vec<usize> = (0..run.events.len()).filter(is_switch).collect();
        // The last switch of a CPU may go unnoticed: nothing follows that contradicts.
        if switches.len() > 1 {
            let victim = switches[victim.index(switches.len())];
            let cpu = run.events[victim].cpu;
            if switches.iter().any(|&i| i > victim && run.events[i].cpu == cpu) {
                let mut events = run.events.clone();
                events.remove(victim);
                prop_assert!(!findings(&events, run.end, expectations).is_lawful());
            }
        }
    }
}
