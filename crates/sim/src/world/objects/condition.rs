//! Condition variables, which remember nothing: a signal goes to a task that waits already.

use super::Slot;
use std::collections::VecDeque;

/// A condition variable as in glibc (`pthread_cond_wait`): a signalled task leaves this queue even if another task takes the mutex
/// first, and a broadcast wakes all waiters at once and requeues none of them to the mutex.
#[derive(Default)]
pub struct Condition {
    waiting: VecDeque<Slot>,
}

impl Condition {
    /// The task waits from now on.
    pub fn wait(&mut self, task: Slot) {
        self.waiting.push_back(task);
    }

    /// Wakes the first that waits.
    pub fn signal(&mut self, woken: &mut Vec<Slot>) {
        woken.extend(self.waiting.pop_front());
    }

    /// Wakes all that wait.
    pub fn broadcast(&mut self, woken: &mut Vec<Slot>) {
        woken.extend(self.waiting.drain(..));
    }

    /// How many tasks wait.
    pub fn waiters(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use crate::ideal::test_helpers::*;
    use schedlab_model::trace::*;

    /// When tasks were woken, in µs, with the waker.
    fn wakes(events: &[Event]) -> Vec<(u64, u32, u32)> {
        let wake = |event: &Event| match event.kind {
            EventKind::Wakeup { task, waker: Some(waker), source: WakeSource::Semaphore, .. } => {
                Some((event.time.ns() / 1000, task.0, waker.0))
            }
            _ => None,
        };
        events.iter().filter_map(wake).collect()
    }

    fn run(cpus: u32, tables: &str) -> Vec<Event> {
        events_with(&described(cpus, tables), decimal_costs(&[]))
    }

    const WAITER: &str = "[[task]]\nname = \"waiter\"\ncount = 3\nonce = [{ lock = \"m\" }, { cond_wait = \"c\", \
                          mutex = \"m\" }, { compute = \"10us\" }, { unlock = \"m\" }]\n";

    fn with_waiters(cpus: u32, steps: &str) -> Vec<Event> {
        run(cpus, &format!("{WAITER}[[task]]\nname = \"giver\"\nonce = [{{ compute = \"5us\" }}, {steps}]\n"))
    }

    #[test]
    fn a_signal_wakes_one_and_a_broadcast_the_rest() {
        let steps = "{ signal = \"c\" }, { compute = \"20us\" }, { broadcast = \"c\" }";
        // The second of the herd has the mutex; the third finds it taken, and gets it 10 µs later.
        let expected = [(5, 0, 3), (25, 1, 3), (25, 2, 3), (35, 2, 1)];
        assert_eq!(wakes(&with_waiters(4, steps)), expected);
    }

    #[test]
    fn who_broadcasts_with_the_mutex_wakes_a_herd_that_waits_again() {
        let steps = "{ lock = \"m\" }, { broadcast = \"c\" }, { compute = \"5us\" }, { unlock = \"m\" }";
        // Each waits for the mutex as soon as it runs, and each release wakes the next.
        let expected = [(5, 0, 3), (5, 1, 3), (5, 2, 3), (10, 0, 3), (20, 1, 0), (30, 2, 1)];
        assert_eq!(wakes(&with_waiters(4, steps)), expected);
    }

    #[test]
    fn what_is_signalled_before_anybody_waits_is_lost() {
        let waiter = "[[task]]\nname = \"waiter\"\nonce = [{ compute = \"9us\" }, { suspend = \"waiter\" }]\n";
        let resume = "{ compute = \"5us\" }, { resume = \"waiter\" }";
        let giver = format!("[[task]]\nname = \"giver\"\nonce = [{resume}, {resume}]\n");
        assert_eq!(wakes(&run(2, &format!("{waiter}{giver}"))), [(10, 0, 1)]);
    }

    #[test]
    fn waiting_for_a_condition_is_no_part_of_a_request() {
        let wait = "{ lock = \"m\" }, { cond_wait = \"c\", mutex = \"m\" }, { unlock = \"m\" }, { compute = \"3us\" }";
        let giver = "loop = [{ sleep = \"10us\" }, { signal = \"c\" }]";
        let tables = format!("[[task]]\nname = \"a\"\nloop = [{wait}]\n[[task]]\nname = \"giver\"\n{giver}\n");
        let begin = |event: &Event| match event.kind {
            EventKind::RequestBegin { task, intended, .. } if task.0 == 0 => Some(intended.ns()),
            _ => None,
        };
        let begins: Vec<u64> = run(2, &tables).iter().filter_map(begin).take(3).collect();
        assert_eq!(begins, [10_000, 20_000, 30_000]);
    }
}
