//! Of single waits: why this CPU, and why so long.

use super::account::Worst;
use schedlab_model::ids::{CpuId, TaskId};
use schedlab_model::names::{Label, Names};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Sink, Untraced};
use std::collections::{BTreeMap, HashMap};

/// What was seen of a wait.
#[derive(Clone, Debug)]
pub struct Case {
    /// The wait.
    pub wait: Worst,
    /// The CPU where the task had run last before it.
    pub ran_last: Option<CpuId>,
    /// The CPUs on whose run queues it was, in order.
    pub places: Vec<CpuId>,
    /// What had these CPUs meanwhile, and for how long.
    pub had: BTreeMap<Who, Time>,
    /// The other CPUs on which it might have run, and for how long each idled meanwhile.
    pub idled: BTreeMap<CpuId, Time>,
}

/// What had a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// A task.
    Task(Label),
    /// Nothing: it idled.
    Idle,
    /// What was not recorded.
    Untraced,
}

/// Goes over a trace once more.
pub struct Evidence {
    names: Names,
    cases: Vec<Case>,
    now: Time,
    cpus: Vec<(Option<TaskId>, Untraced)>,
    /// Where each task ran last.
    ran_last: HashMap<TaskId, CpuId>,
}

impl Evidence {
    /// For these waits of a trace with these roles.
    pub fn new(roles: impl IntoIterator<Item = String>, cpus: u32, waits: &[Worst]) -> Evidence {
        let case = |wait: &Worst| Case {
            wait: *wait,
            ran_last: None,
            places: vec![wait.cpu],
            had: BTreeMap::new(),
            idled: BTreeMap::new(),
        };
        Evidence {
            names: Names::new(roles),
            cases: waits.iter().map(case).collect(),
            now: Time::ZERO,
            cpus: vec![(None, Untraced::Idle); cpus as usize],
            ran_last: HashMap::new(),
        }
    }

    /// The names of tasks.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// What was seen, in the order in which the waits were given.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Up to this time everything was as it is.
    fn pass(&mut self, until: Time) {
        for case in &mut self.cases {
            let (from, to) = (self.now.max(case.wait.from), until.min(case.wait.until));
            let passed = to.since(from);
            if from >= to {
                continue;
            }
            let place = case.places.last().map_or(0, |cpu| cpu.0 as usize);
            let who = match self.cpus.get(place) {
                Some((Some(task), _)) => Who::Task(self.names.label(*task)),
                Some((None, Untraced::Idle)) => Who::Idle,
                _ => Who::Untraced,
            };
            let had = case.had.entry(who).or_default();
            *had = Time(had.ns() + passed.ns());
            for (other, state) in self.cpus.iter().enumerate().filter(|(other, _)| *other != place) {
                if *state == (None, Untraced::Idle) {
                    let idled = case.idled.entry(CpuId(other as u32)).or_default();
                    *idled = Time(idled.ns() + passed.ns());
                }
            }
        }
        self.now = until;
    }
}

impl Sink for Evidence {
    fn event(&mut self, event: &Event) {
        self.pass(event.time);
        self.names.observe(event);
        match event.kind {
            EventKind::Wakeup { task, .. } => {
                let last = self.ran_last.get(&task).copied();
                let begun = self.cases.iter_mut().filter(|case| case.is_of(task) && case.wait.from == event.time);
                begun.for_each(|case| case.ran_last = last);
            }
            EventKind::Migrate { task, to, .. } => {
                let now = event.time;
                let moved = |case: &&mut Case| case.is_of(task) && case.wait.from <= now && now < case.wait.until;
                self.cases.iter_mut().filter(moved).for_each(|case| case.places.push(to));
            }
            EventKind::Switch { next, .. } => {
                if let Some(cpu) = self.cpus.get_mut(event.cpu.0 as usize) {
                    *cpu = (next, Untraced::Idle);
                }
                next.into_iter().for_each(|task| _ = self.ran_last.insert(task, event.cpu));
            }
            EventKind::Untraced { what } => {
                if let Some(cpu) = self.cpus.get_mut(event.cpu.0 as usize).filter(|cpu| cpu.0.is_none()) {
                    cpu.1 = what;
                }
            }
            EventKind::Exit { task } => drop(self.ran_last.remove(&task)),
            _ => {}
        }
    }

    fn finish(&mut self, end: Time) {
        self.pass(end);
    }
}

impl Case {
    fn is_of(&self, task: TaskId) -> bool {
        self.wait.task.task == task
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contrast::Account;
    use crate::test_helpers::{fork, migrate, roles, switch, wakeup};
    use schedlab_model::trace::Reason;

    #[test]
    fn a_wait_is_explained_by_who_had_its_cpus_and_who_idled() {
        let events = [
            fork(0, 0, 0),
            fork(0, 1, 0),
            fork(0, 2, 1),
            wakeup(0, 0, 0),
            switch(0, 0, None, Reason::Idle, Some(0)),
            wakeup(0, 2, 1),
            switch(0, 1, None, Reason::Idle, Some(2)),
            switch(5, 1, Some(2), Reason::Blocked, None),
            wakeup(10, 2, 0),
            switch(40, 0, Some(0), Reason::Preempted, Some(1)),
            migrate(60, 2, 0, 1),
            switch(61, 1, None, Reason::Idle, Some(2)),
        ];
        let mut account = Account::new(roles(), 2, Time(100), Time(50));
        events.iter().for_each(|event| account.event(event));
        let mut evidence = Evidence::new(roles(), 2, &account.worst()[..1]);
        events.iter().for_each(|event| evidence.event(event));
        evidence.finish(Time(100));
        let case = &evidence.cases()[0];
        assert_eq!(
            (case.wait.length(), case.ran_last, case.places.as_slice()),
            (Time(51), Some(CpuId(1)), &[CpuId(0), CpuId(1)][..])
        );
        let had: Vec<u64> = case.had.values().map(|time| time.ns()).collect();
        assert_eq!(had, [30, 20, 1], "two workers, and then no task");
        assert_eq!(case.idled[&CpuId(1)], Time(50));
    }
}
