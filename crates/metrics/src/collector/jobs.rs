//! Jobs of periodic tasks: whether each was done before its deadline.

use super::Collector;
use super::measures::times;
use super::samples::Samples;
use schedlab_model::ids::TaskId;
use schedlab_model::result::Measures;
use schedlab_model::time::Time;

/// The jobs of a task or a role.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs {
    /// Of those that met their deadline.
    slack: Samples,
    /// Of those that missed it.
    lateness: Samples,
    /// Jobs that were not done at the end of the run, though past their deadline.
    overdue: u64,
    skipped: u64,
}

impl Jobs {
    /// A job was done.
    fn done(&mut self, at: u64, deadline: u64) {
        match at.checked_sub(deadline).filter(|late| *late > 0) {
            Some(late) => self.lateness.record(late),
            None => self.slack.record(deadline - at),
        }
    }

    /// Takes all jobs of another.
    pub fn merge(&mut self, other: &mut Jobs) {
        self.slack.merge(&mut other.slack);
        self.lateness.merge(&mut other.lateness);
        self.overdue += other.overdue;
        self.skipped += other.skipped;
    }

    /// Puts what is known into the metrics.
    pub fn measure(&mut self, measures: &mut Measures) {
        let (slack, lateness) = (self.slack.histogram(), self.lateness.histogram());
        let (met, late) = (slack.count(), lateness.count());
        let (missed, judged) = (late + self.overdue, met + late + self.overdue);
        measures.jobs = Some(met + late);
        measures.deadline_misses = Some(missed);
        measures.deadline_miss_frac = (judged > 0).then(|| missed as f64 / judged as f64);
        measures.releases_skipped = Some(self.skipped);
        measures.slack_ns = times(slack);
        measures.lateness_ns = times(lateness);
    }
}

impl Collector {
    /// A task is done with its job, if it has one, and has a next one.
    #[cold]
    pub(super) fn release(&mut self, id: TaskId, deadline: Time, skipped: u32) {
        self.end_job(id);
        let Some(jobs) = self.jobs_of(id) else { return };
        jobs.skipped += u64::from(skipped);
        self.due.insert(id, deadline.0);
    }

    /// The job of a task is done.
    #[cold]
    pub(super) fn end_job(&mut self, id: TaskId) {
        let now = self.now;
        let Some(deadline) = self.due.remove(&id) else { return };
        if let Some(jobs) = self.jobs_of(id) {
            jobs.done(now, deadline);
        }
    }

    /// Jobs that are past their deadline at the end of the run have missed it.
    pub(super) fn note_overdue_jobs(&mut self) {
        let overdue: Vec<TaskId> = self.due.iter().filter(|(_, due)| **due < self.now).map(|(id, _)| *id).collect();
        for id in overdue {
            if let Some(jobs) = self.jobs_of(id) {
                jobs.overdue += 1;
            }
        }
    }

    fn jobs_of(&mut self, id: TaskId) -> Option<&mut Jobs> {
        let task = self.tasks.find(id)?;
        Some(self.observations[task.observations as usize].jobs.get_or_insert_default())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Collector;
    use crate::test_helpers::*;
    use schedlab_model::ids::TaskId;
    use schedlab_model::result::Measures;
    use schedlab_model::time::Time;
    use schedlab_model::trace::{Event, EventKind, Reason, Sink};

    fn release(time: u64, task: u32, at: u64, skipped: u32) -> Event {
        let (task, release, deadline) = (TaskId(task), Time(at), Time(at + 8));
        event(time, 0, EventKind::Release { task, release, deadline, skipped })
    }

    fn measures(events: &[Event], end: u64) -> [Measures; 2] {
        let mut collector = Collector::new(&plain(1));
        collector.events(events);
        collector.finish(Time(end));
        let measures = collector.into_measures();
        [measures.roles[0].measures.clone(), measures.tasks[0].measures.clone()]
    }

    #[test]
    fn each_job_meets_its_deadline_or_does_not() {
        let events = [
            fork(0, 0),
            wakeup(0, 0, 0),
            switch(0, 0, None, Reason::Idle, Some(0)),
            release(1, 0, 10, 0),
            // Done 5 before its deadline, then just in time, then 12 late with a release in between.
            release(13, 0, 20, 0),
            release(28, 0, 30, 0),
            release(50, 0, 60, 2),
        ];
        for of in measures(&events, 69) {
            assert_eq!((of.jobs, of.deadline_misses, of.releases_skipped), (Some(3), Some(2), Some(2)));
            assert_eq!(of.deadline_miss_frac, Some(0.5), "the last one is past its deadline");
            let (slack, late) = (of.slack_ns.unwrap(), of.lateness_ns.unwrap());
            assert_eq!((slack.count, slack.min, slack.max, late.max), (2, 0, 5, 12));
        }
        let [role, _] = measures(&events, 68);
        assert_eq!((role.deadline_misses, role.deadline_miss_frac), (Some(1), Some(1.0 / 3.0)));
    }

    #[test]
    fn the_end_of_a_task_ends_its_job_and_others_have_none() {
        let begin = [fork(0, 0), wakeup(0, 0, 0), switch(0, 0, None, Reason::Idle, Some(0)), release(1, 0, 10, 0)];
        let end = [exit(12, 0, 0), switch(12, 0, Some(0), Reason::Exited, None)];
        let [role, task] = measures(&[&begin[..], &end].concat(), 90);
        assert_eq!((role.jobs, role.deadline_misses, task.slack_ns.unwrap().max), (Some(1), Some(0), 6));
        let [role, _] = measures(&begin[..3], 90);
        assert_eq!((role.jobs, role.deadline_misses, role.slack_ns), (None, None, None));
    }
}
