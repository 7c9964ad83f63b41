//! Periodic tasks: one task that sleeps until each of its releases (`clock_nanosleep` with `TIMER_ABSTIME`:
//! `common_nsleep_timens`, `hrtimer_nanosleep`).

use super::World;
use super::steps::Next;
use super::timers::Due;
use schedlab_model::time::Time;
use schedlab_model::trace::{Call, EventKind};
use schedlab_model::workload::{Pace, Release};

impl World {
    /// The task is done with its job and waits for its next release, unless that is over.
    pub(super) fn pace(&mut self, slot: u32, pace: &Pace, cpu: u32) -> Next {
        let now_ns = self.now_ns;
        let task = &mut self.tasks[slot];
        let last_ns = task.release_of(pace.timer);
        let release = pace.next(last_ns, pace.origin(task.asked_ns, 0), now_ns);
        let first = (last_ns.is_none() && !task.fresh).then(|| pace.first_job(task.asked_ns));
        task.set_release(pace.timer, release.at_ns);
        task.step += 1;
        let id = task.id;
        let event = |Release { at_ns, deadline_ns, skipped }| EventKind::Release {
            task: id,
            release: Time(at_ns),
            deadline: Time(deadline_ns),
            skipped,
        };
        self.tell(slot, cpu, Call::SleepUntil, None, release.at_ns);
        first.into_iter().chain([release]).for_each(|release| self.emit(cpu, event(release)));
        if release.at_ns > now_ns {
            self.tasks[slot].fresh = false;
            return self.call_sleep(slot, release.at_ns, Due::Timer(slot), self.costs.sleep);
        }
        // What it does next is late: it should have begun at the release.
        let task = &mut self.tasks[slot];
        (task.ready_ns, task.fresh) = (release.at_ns, true);
        Next::Again
    }
}

#[cfg(test)]
mod tests {
    use crate::ideal::test_helpers::*;
    use schedlab_model::trace::*;

    /// When a task on a CPU of its own is woken by its timer, in µs.
    fn wakes(steps: &str) -> Vec<u64> {
        let workload = described(1, &format!("[[task]]\nname = \"a\"\nstart = \"5us\"\n{steps}"));
        let is_wake = |kind: &EventKind| matches!(kind, EventKind::Wakeup { source: WakeSource::Timer, .. });
        let events = events_with(&workload, decimal_costs(&[]));
        events.iter().filter(|event| is_wake(&event.kind)).map(|event| event.time.ns() / 1000).collect()
    }

    /// Release, deadline and skipped ones of each job, in µs.
    fn jobs(steps: &str) -> Vec<(u64, u64, u64, u32)> {
        let workload = described(1, &format!("[[task]]\nname = \"a\"\nstart = \"5us\"\n{steps}"));
        let us = |time: schedlab_model::time::Time| time.ns() / 1000;
        let job = |event: &Event| match event.kind {
            EventKind::Release { release, deadline, skipped, .. } => {
                Some((us(event.time), us(release), us(deadline), skipped))
            }
            _ => None,
        };
        events_with(&workload, decimal_costs(&[])).iter().filter_map(job).collect()
    }

    #[test]
    fn releases_are_multiples_of_the_period_whatever_the_work() {
        let body = "{ period = \"10us\" }, { compute = \"3us\" }";
        assert_eq!(wakes(&format!("once = [{{ repeat = 3, steps = [{body}] }}]")), [15, 25, 35]);
        let body = "{ compute = \"3us\" }, { period = \"10us\", offset = \"6us\" }";
        assert_eq!(wakes(&format!("once = [{{ repeat = 3, steps = [{body}] }}]")), [11, 21, 31]);
    }

    #[test]
    fn a_task_that_works_before_its_first_release_has_a_job_from_its_start() {
        let head = "once = [{ period = \"10us\", deadline = \"4us\" }, { compute = \"3us\" }]";
        assert_eq!(jobs(head), [(5, 15, 19, 0)]);
        let tail = "once = [{ compute = \"3us\" }, { period = \"10us\", deadline = \"4us\" }]";
        assert_eq!(jobs(tail), [(8, 5, 9, 0), (8, 15, 19, 0)]);
    }

    #[test]
    fn releases_of_the_run_do_not_wait_for_the_task() {
        let body = "{ period = \"4us\", from = \"run\", overrun = \"catch_up\" }, { compute = \"1us\" }";
        let steps = format!("once = [{{ repeat = 3, steps = [{body}] }}]");
        // The task comes at 5 and is late for 4.
        assert_eq!((wakes(&steps), jobs(&steps)[0]), (vec![8, 12], (5, 4, 8, 0)));
        let restart = steps.replace("catch_up", "restart");
        assert_eq!(wakes(&restart), [9, 13]);
    }

    #[test]
    fn an_overrun_is_skipped_caught_up_or_moves_the_grid() {
        let steps = |overrun: &str| {
            let period = format!("{{ period = \"10us\", overrun = \"{overrun}\" }}");
            let work = |us: u32| format!("{{ compute = \"{us}us\" }}, {period}");
            format!("once = [{}, {}, {}, {}]", work(3), work(24), work(3), work(3))
        };
        assert_eq!(wakes(&steps("skip")), [15, 45, 55, 65]);
        // With the job of 35 it is done at 45, when the next one is released: it need not sleep.
        assert_eq!(wakes(&steps("catch_up")), [15]);
        assert_eq!(wakes(&steps("restart")), [15, 49, 59]);
        assert_eq!(jobs(&steps("skip"))[2], (39, 45, 55, 2));
        assert_eq!(jobs(&steps("catch_up"))[2..], [(39, 25, 35, 0), (42, 35, 45, 0), (45, 45, 55, 0)]);
    }

    #[test]
    fn what_begins_late_counts_from_its_release() {
        let steps = "loop = [{ period = \"10us\", overrun = \"catch_up\" }, { compute = \"12us\" }]";
        let workload = described(1, &format!("[[task]]\nname = \"a\"\n{steps}"));
        let intended = |event: &Event| match event.kind {
            EventKind::RequestBegin { intended, .. } => Some((event.time.ns(), intended.ns())),
            _ => None,
        };
        let events = events_with(&workload, decimal_costs(&[]));
        let begins: Vec<_> = events.iter().filter_map(intended).take(3).collect();
        assert_eq!(begins, [(10_000, 10_000), (22_000, 20_000), (34_000, 30_000)]);
    }

    #[test]
    fn a_busy_task_goes_by_the_clock_and_not_by_its_work() {
        let busy = |cpus, count| {
            let task = format!("[[task]]\nname = \"a\"\ncount = {count}\nonce = [{{ busy = \"100us\" }}]");
            ends_ns(&events_with(&described(cpus, &task), decimal_costs(&[])))
        };
        // Four pieces of 32 µs; the clock is looked at after each, not in between.
        assert_eq!(busy(1, 1), [128_000]);
        assert_eq!(busy(2, 2), [128_000, 128_000]);
        // The other one had the CPU meanwhile, and its own time is counted from when it began.
        assert_eq!(busy(1, 2), [128_000, 256_000]);
    }

    #[test]
    fn several_timers_of_a_task_have_a_grid_each() {
        let fast = "{ period = \"10us\", timer = \"fast\" }, { period = \"10us\", timer = \"fast\" }";
        let once = format!("once = [{fast}, {{ period = \"30us\", timer = \"slow\" }}, {{ compute = \"1us\" }}]");
        assert_eq!(wakes(&once), [15, 25, 35]);
    }
}
