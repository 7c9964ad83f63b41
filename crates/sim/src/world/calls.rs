//! What a task pays for its steps in addition to what they say: the calls that they are. All of it is CPU time of the task.

use super::World;
use super::requests::Place;
use super::steps::Next;
use super::timers::Due;
use schedlab_model::ids::ObjectId;
use schedlab_model::machine::Costs;
use schedlab_model::time::Time;
use schedlab_model::workload::{ChannelKind, Step};

impl World {
    /// Whether the task has to work first for the call that its step is; it is at the same step then when it has.
    pub(super) fn works_for_call(&mut self, slot: u32, step: &Step, cpu: u32) -> bool {
        if std::mem::take(&mut self.tasks[slot].paid) {
            return false;
        }
        self.give_with(slot, step, cpu);
        let cost_ns = self.call_cost(slot, step).ns();
        let task = &mut self.tasks[slot];
        // A sleep is counted from its call on: what is owed is paid on its way in.
        let owed_ns = if matches!(step, Step::Sleep(_) | Step::Io(..)) { 0 } else { task.take_debts() };
        task.work_ns = cost_ns + owed_ns;
        task.paid = task.work_ns > 0;
        task.paid
    }

    /// Requests are given away when the call that sends them begins: what the call takes is time of the receiver.
    pub(super) fn give_with(&mut self, slot: u32, step: &Step, cpu: u32) {
        match step {
            Step::Post(s, count) => self.give_to(Place::Semaphore(*s), Some(slot), *count, cpu),
            // All its requests go with the first of its messages.
            Step::Send(c, count) if !std::mem::replace(&mut self.tasks[slot].has_given, true) => {
                self.give_to(Place::Channel(*c), Some(slot), *count, cpu);
            }
            _ => {}
        }
    }

    /// What the call takes as things are: one that will wait goes further into the kernel, and so does one that wakes.
    fn call_cost(&self, slot: u32, step: &Step) -> Time {
        if self.is_unseen(slot) {
            return Time::ZERO;
        }
        let Costs { futex_wait, futex_wake, semaphore, .. } = self.costs;
        let first = |cost: Time| if self.tasks[slot].waits { Time::ZERO } else { cost };
        match step {
            Step::Wait(s) => first(semaphore) + when(self.objects.semaphores[s.index()].would_wait(slot), futex_wait),
            Step::Post(s, count) => {
                let woken = when(self.objects.semaphores[s.index()].waiters() > 0, futex_wake);
                semaphore + woken + self.sending_cost(Place::Semaphore(*s), *count)
            }
            Step::CondWait(_, l) => futex_wait + when(self.objects.locks[l.index()].is_contended(), futex_wake),
            Step::Signal(c) | Step::Broadcast(c) => when(self.objects.conditions[c.index()].waiters() > 0, futex_wake),
            Step::Lock(l) | Step::Relock(l) => when(self.objects.locks[l.index()].would_wait(slot, false), futex_wait),
            Step::ReadLock(l) => when(self.objects.locks[l.index()].would_wait(slot, true), futex_wait),
            Step::Unlock(l) => when(self.objects.locks[l.index()].is_contended(), futex_wake),
            Step::Barrier(b) => match self.objects.barriers[b.index()].is_last() {
                true => futex_wake,
                false => futex_wait,
            },
            // The receiver of a message from outside writes it down and sleeps until it is due.
            Step::Recv(c, messages) if self.objects.channels[c.index()].is_fed_from_outside() => {
                first(self.costs.sleep + many(self.costs.request, *messages))
            }
            Step::Send(c, _) | Step::Recv(c, _) => self.message_cost(slot, step, *c),
            _ => Time::ZERO,
        }
    }

    /// What sending requests on takes, if the messages are some.
    fn sending_cost(&self, place: Place, messages: u32) -> Time {
        if self.requests.are_in(place) { many(self.costs.request_send, messages) } else { Time::ZERO }
    }

    /// A task that has taken requests over pays for that with what it does next.
    pub(super) fn note_taken(&mut self, place: Place, slot: u32, messages: u32) {
        let is_outside = |c: &ObjectId| self.objects.channels[c.index()].is_fed_from_outside();
        if self.requests.are_in(place) && !matches!(&place, Place::Channel(c) if is_outside(c)) {
            self.tasks[slot].noted_ns += many(self.costs.request_recv, messages).ns();
        }
    }

    /// The same of a call that moves a message. One that has waited and can go on has the rest of its wait to pay.
    fn message_cost(&self, slot: u32, step: &Step, channel: ObjectId) -> Time {
        let (costs, place) = (&self.costs, Place::Channel(channel));
        let channel = &self.objects.channels[channel.index()];
        let [send, recv, wait, resume] = match channel.kind {
            ChannelKind::Pipe => [
                costs.pipe_send + when(channel.pages().are_used_up() && !channel.is_full(), costs.pipe_alloc),
                costs.pipe_recv + when(channel.pages().are_enough() && !channel.is_empty(), costs.pipe_free),
                costs.pipe_wait,
                costs.pipe_resume,
            ],
            ChannelKind::Socket => [costs.socket_send, costs.socket_recv, costs.socket_wait, costs.socket_resume],
        };
        let (move_one, is_blocked) = match step {
            // All its requests go with the first of its messages.
            Step::Send(_, messages) if self.tasks[slot].moved == 0 => {
                (send + self.sending_cost(place, *messages), channel.is_full())
            }
            Step::Send(..) => (send, channel.is_full()),
            _ => (recv, channel.is_empty()),
        };
        let has_waited = self.tasks[slot].waits;
        // One that was woken where channels hand over has been served.
        let will_wait = is_blocked && !(has_waited && channel.hands_over());
        match (has_waited, will_wait) {
            (false, false) => move_one,
            (false, true) => move_one + wait,
            (true, false) => resume,
            (true, true) => wait,
        }
    }

    /// Sleeps until an instant that is known when the call begins; `cost` is its way in.
    pub(super) fn call_sleep(&mut self, slot: u32, until_ns: u64, due: Due, cost: Time) -> Next {
        let task = &mut self.tasks[slot];
        let cost_ns = cost.ns() + task.take_debts();
        if cost_ns == 0 {
            return self.sleep_until(until_ns, due);
        }
        (task.asleep_at_ns, task.work_ns) = (Some((until_ns, due)), cost_ns);
        Next::Work
    }

    /// A task that has worked for the call of a sleep goes to sleep, unless its time is over already.
    pub(super) fn fall_asleep(&mut self, slot: u32) -> Option<Next> {
        let (until_ns, due) = self.tasks[slot].asleep_at_ns.take()?;
        Some(self.sleep_until(until_ns.max(self.now_ns), due))
    }
}

/// A cost that is paid under a condition.
fn when(condition: bool, cost: Time) -> Time {
    if condition { cost } else { Time::ZERO }
}

/// What each of some takes, all together.
fn many(each: Time, count: u32) -> Time {
    Time(each.ns().saturating_mul(count.into()))
}

#[cfg(test)]
mod tests {
    use crate::ideal::test_helpers::*;
    use schedlab_model::trace::*;

    /// CPU time of each task of a run in which these costs are 1 ns, 10 ns and so on.
    fn paid(tables: &str, costs: &[&str]) -> Vec<u64> {
        cpu_ns(&events_with(&described(2, tables), decimal_costs(costs)))
    }

    fn task(name: &str, steps: &str) -> String {
        format!("[[task]]\nname = \"{name}\"\nonce = [{steps}]\n")
    }

    fn two(first: &str, second: &str) -> String {
        task("a", first) + &task("b", second)
    }

    /// When tasks were woken, and by what.
    fn wakes(events: &[Event]) -> Vec<(u64, WakeSource)> {
        let wake = |event: &Event| match event.kind {
            EventKind::Wakeup { source, .. } if source != WakeSource::Fork => Some((event.time.ns(), source)),
            _ => None,
        };
        events.iter().filter_map(wake).collect()
    }

    #[test]
    fn a_sleep_ends_when_it_was_to_end_whatever_its_way_in() {
        let workload = described(1, &task("a", "{ sleep = \"1ms\" }, { compute = \"5us\" }"));
        let events = events_with(&workload, decimal_costs(&["sleep", "resume"]));
        assert_eq!(wakes(&events), [(1_000_000, WakeSource::Timer)], "counted from the call");
        assert_eq!((cpu_ns(&events), ends_ns(&events)), (vec![5011], vec![1_005_010]));
    }

    #[test]
    fn who_is_still_on_the_way_in_when_the_sleep_is_over_does_not_sleep() {
        let workload = described(1, &task("a", "{ sleep = \"7ns\" }, { compute = \"5us\" }"));
        let events = events_with(&workload, decimal_costs(&["resume", "sleep"]));
        assert_eq!(wakes(&events), []);
        assert_eq!((cpu_ns(&events), ends_ns(&events)), (vec![5010], vec![5010]));
    }

    #[test]
    fn a_device_works_from_the_call_on() {
        let io = "{ io = { device = \"disk\", service = \"1ms\" } }";
        let events = events_with(&described(2, &two(io, io)), decimal_costs(&["io", "resume", "sleep"]));
        assert_eq!(wakes(&events), [(1_000_000, WakeSource::Disk), (2_000_000, WakeSource::Disk)]);
        assert_eq!(cpu_ns(&events), [11, 11]);
    }

    const FUTEX: [&str; 4] = ["semaphore", "futex_wait", "futex_wake", "resume"];

    #[test]
    fn a_semaphore_costs_more_where_somebody_waits() {
        let alone = "[semaphore.s]\ninitial = 1\n".to_string() + &task("a", "{ wait = \"s\" }, { post = \"s\" }");
        assert_eq!(paid(&alone, &FUTEX), [2]);
        let waits = two("{ wait = \"s\" }", "{ compute = \"1ms\" }, { post = \"s\" }");
        assert_eq!(paid(&waits, &FUTEX), [1011, 1_000_101]);
    }

    #[test]
    fn requests_cost_what_writing_them_down_and_passing_them_on_takes() {
        let requests = ["request", "request_send", "request_recv"];
        assert_eq!(paid(&task("a", "{ compute = \"5us\" }"), &requests), [5001]);
        // The giver has one of its own; the taker's are those that it takes, and it pays for the last with its next call.
        let takes = |step: &str| format!("[[task]]\nname = \"takes\"\nloop = [{step}, {{ compute = \"5us\" }}]\n");
        for (takes, gives) in [
            (takes("{ wait = \"s\" }"), "{ post = \"s\", times = 3 }"),
            (takes("{ recv = \"c\" }"), "{ send = \"c\", messages = 3 }"),
        ] {
            let gives = task("gives", &format!("{{ compute = \"1ms\" }}, {gives}"));
            for retry in ["", "[machine.mechanisms]\nretry = false\n"] {
                assert_eq!(paid(&format!("{retry}{takes}{gives}"), &requests), [15_300, 1_000_031], "{gives}{retry}");
            }
        }
        let outside = "[channel.c]\n[[source]]\nchannel = \"c\"\nat = [\"1ms\", \"2ms\"]\n".to_string();
        // It already waits for a third, which it could write down.
        assert_eq!(paid(&(outside + &takes("{ recv = \"c\" }")), &requests), [10_003]);
    }

    #[test]
    fn a_mutex_costs_nothing_where_nobody_waits() {
        let lock = "{ lock = \"m\" }, { compute = \"2ms\" }, { unlock = \"m\" }";
        assert_eq!(paid(&task("a", lock), &FUTEX), [2_000_000]);
        // A task that has waited leaves the mutex contended, and looks for waiters.
        assert_eq!(paid(&two(lock, &format!("{{ compute = \"1ms\" }}, {lock}")), &FUTEX), [2_000_100, 3_001_110]);
    }

    #[test]
    fn a_condition_costs_nothing_where_nobody_waits() {
        assert_eq!(paid(&task("a", "{ signal = \"c\" }, { broadcast = \"c\" }"), &FUTEX), [0]);
        let wait = "{ lock = \"m\" }, { cond_wait = \"c\", mutex = \"m\" }, { unlock = \"m\" }";
        let signal = "{ compute = \"1ms\" }, { signal = \"c\" }";
        // A task that has waited looks for others when it releases the mutex.
        assert_eq!(paid(&two(wait, signal), &FUTEX), [1110, 1_000_100]);
    }

    #[test]
    fn the_last_at_a_barrier_wakes_the_others() {
        assert_eq!(
            paid(&two("{ barrier = \"b\" }", "{ compute = \"1ms\" }, { barrier = \"b\" }"), &FUTEX),
            [1010, 1_000_100]
        );
    }

    #[test]
    fn every_message_is_paid_by_who_sends_and_by_who_receives() {
        let messages = ["pipe_send", "pipe_recv", "socket_send", "socket_recv", "resume"];
        let tables = two("{ recv = \"c\", messages = 3 }", "{ compute = \"1ms\" }, { send = \"c\", messages = 3 }");
        assert_eq!(paid(&tables, &messages), [10_030, 1_000_003]);
        let socket = format!("[channel.c]\nkind = \"socket\"\n{tables}");
        assert_eq!(paid(&socket, &messages), [13_000, 1_000_300]);
    }

    #[test]
    fn who_creates_pays_for_it_and_who_comes_and_goes_for_that() {
        let lives = ["fork", "start", "exit", "process_fork", "process_start", "process_exit", "resume"];
        let child = "spawned = true\nonce = [{ yield = true }]\n";
        let tables = task("parent", "{ spawn = \"thread\", count = 2 }, { spawn = \"process\" }")
            + &format!("[[task]]\nname = \"thread\"\n{child}")
            + &format!("[[task]]\nname = \"process\"\nkind = \"process\"\n{child}");
        assert_eq!(paid(&tables, &lives), [1102, 110, 110, 110_000]);
    }

    #[test]
    fn what_a_parent_owes_for_its_processes_it_pays_with_what_it_does_next() {
        let lives = ["process_fork", "process_copy"];
        let child = task("child", "{ yield = true }") + "kind = \"process\"\nspawned = true\n";
        for (next, paid_ns) in [
            ("{ compute = \"1ms\" }", 1_000_012),
            ("{ sleep = \"1ms\" }", 12),
            ("{ post = \"s\" }, { sleep = \"1ms\" }", 12),
            ("{ yield = true }, { compute = \"1ms\" }", 1_000_012),
            ("{ exit = true }", 12),
        ] {
            let parent = task("parent", &format!("{{ spawn = \"child\", count = 2 }}, {next}"));
            let semaphore = if next.contains("post") { "[semaphore.s]\n" } else { "" };
            assert_eq!(paid(&format!("{semaphore}{parent}{child}"), &lives), [paid_ns, 0, 0], "{next}");
        }
    }

    #[test]
    fn a_parent_returns_from_each_creation_of_a_process() {
        let child = task("child", "{ compute = \"5us\" }") + "spawned = true\n";
        let process = format!("{child}kind = \"process\"\n");
        let parent = task("parent", "{ spawn = \"child\", count = 3 }, { compute = \"1ms\" }");
        let of = |child: &str, lives: &[&str]| paid(&format!("{parent}{child}"), lives)[0];
        assert_eq!(of(&process, &["process_fork", "process_return", "process_copy"]), 1_000_133);
        assert_eq!(of(&process, &["process_return", "process_copy"]), 1_000_013);
        assert_eq!(of(&child, &["process_fork", "process_return", "process_copy"]), 1_000_000);
        // It is a part of the step: what comes next waits for it.
        let parent = task("parent", "{ spawn = \"child\" }");
        assert_eq!(paid(&format!("{parent}{process}"), &["process_fork", "process_return"])[0], 11);
    }

    #[test]
    fn all_but_the_last_process_of_a_step_copy_what_they_write_to() {
        let parent = task("parent", "{ spawn = \"child\", count = 3 }, { sleep = \"1ms\" }, { spawn = \"child\" }");
        let thread = task("child", "{ compute = \"5us\" }") + "spawned = true\n";
        let process = format!("{thread}kind = \"process\"\n");
        let of = |child: &str, lives: &[&str]| paid(&format!("{parent}{child}"), lives)[1..].to_vec();
        for lives in [&["process_start_shared"][..], &["process_start_shared", "process_fork"]] {
            assert_eq!(of(&process, lives), [5001, 5001, 5000, 5000], "{lives:?}");
            assert_eq!(of(&thread, lives), [5000; 4], "{lives:?}");
        }
    }

    #[test]
    fn a_process_gets_the_memory_of_all_threads_of_its_creator() {
        let lives = ["process_fork_thread", "process_exit_thread", "process_start_thread"];
        let parent = task("parent", "{ spawn = \"child\" }");
        let child = task("child", "{ compute = \"5us\" }") + "kind = \"process\"\nspawned = true\n";
        // One of them at a time, and so one more thread.
        let late = task("late", "{ compute = \"1us\" }") + "arrivals = \"1ms\"\nlimit = 3\n";
        let other = task("other", "{ sleep = \"1us\" }");
        assert_eq!(paid(&format!("{parent}{child}"), &lives)[..2], [0, 5_000]);
        assert_eq!(paid(&format!("{parent}{child}{other}"), &lives), [1, 0, 5_110]);
        let parent = task("parent", "{ sleep = \"10ms\" }, { spawn = \"child\" }");
        // The first of them has what the other one had.
        assert_eq!(paid(&format!("{parent}{child}{other}{late}"), &lives), [1, 0, 1000, 1000, 1000, 5_110]);
        let other = task("other", "{ sleep = \"20ms\" }");
        assert_eq!(paid(&format!("{parent}{child}{other}{late}"), &lives), [2, 0, 1000, 1000, 1000, 5_220]);
    }

    #[test]
    fn a_task_that_is_spawned_begins_also_where_others_of_its_role_were_there() {
        let tables =
            task("parent", "{ compute = \"1ms\" }, { spawn = \"child\" }") + &task("child", "{ compute = \"5us\" }");
        assert_eq!(paid(&tables, &["start"]), [1_000_000, 5_000, 5_001]);
    }

    #[test]
    fn a_pipe_keeps_the_pages_of_two_messages() {
        let costs = ["pipe_alloc", "pipe_free", "socket_send"];
        // Three pages are new, of which one is freed; then one more is new.
        let three = "{ send = \"c\", messages = 3 }, { recv = \"c\", messages = 3 }";
        let tables = task("a", &format!("{three}, {three}"));
        assert_eq!(paid(&tables, &costs), [4 + 20]);
        let one = "[machine.mechanisms]\npipe_keeps_two = false\n".to_string() + &tables;
        assert_eq!(paid(&one, &costs), [3 + 2 + 40]);
        // A waiting task takes what has just come, and its page is kept.
        let there_and_back = "[channel.c]\n[channel.d]\n".to_string()
            + &two(
                "{ repeat = 3, steps = [{ send = \"c\" }, { recv = \"d\" }] }",
                "{ repeat = 3, steps = [{ recv = \"c\" }, { send = \"d\" }] }",
            );
        assert_eq!(paid(&there_and_back, &costs), [1, 1]);
        let socket = format!("[channel.c]\nkind = \"socket\"\n{tables}");
        assert_eq!(paid(&socket, &costs), [600]);
    }

    #[test]
    fn who_waits_for_a_message_pays_for_that() {
        let costs = ["pipe_send", "pipe_recv", "pipe_wait", "socket_wait", "pipe_resume", "socket_resume"];
        let tables = two("{ recv = \"c\" }", "{ compute = \"1ms\" }, { send = \"c\" }");
        assert_eq!(paid(&tables, &costs), [10_110, 1_000_001]);
        assert_eq!(paid(&format!("[channel.c]\nkind = \"socket\"\n{tables}"), &costs), [101_000, 1_000_000]);
        let there_is_one = two("{ compute = \"1ms\" }, { recv = \"c\" }", "{ send = \"c\" }");
        assert_eq!(paid(&there_is_one, &costs), [1_000_010, 1]);
        let full = format!(
            "[channel.c]\ncapacity = 1\n{}",
            two("{ compute = \"1ms\" }, { recv = \"c\", messages = 2 }", "{ send = \"c\", messages = 2 }")
        );
        assert_eq!(paid(&full, &costs)[1], 10_102, "the sender waits for room");
        let mut handed_over = described(2, &tables);
        handed_over.machine.mechanisms.retry = false;
        assert_eq!(cpu_ns(&events_with(&handed_over, decimal_costs(&costs))), [10_110, 1_000_001]);
    }

    #[test]
    fn a_part_of_a_wait_comes_after_it() {
        let tables = two("{ recv = \"c\" }", "{ compute = \"1ms\" }, { send = \"c\" }");
        let events = events_with(&described(2, &tables), decimal_costs(&["", "", "pipe_wait", "pipe_resume"]));
        assert_eq!(
            (wakes(&events), ends_ns(&events)),
            (vec![(1_000_000, WakeSource::Pipe)], vec![1_001_000, 1_000_000])
        );
    }

    #[test]
    fn a_request_is_born_when_the_call_begins_that_sends_it() {
        let tables = two("{ recv = \"c\" }, { compute = \"5us\" }", "{ compute = \"1ms\" }, { send = \"c\" }");
        let events = events_with(&described(2, &tables), decimal_costs(&["", "", "", "pipe_send"]));
        let queued = |event: &&Event| matches!(event.kind, EventKind::RequestQueue { .. });
        assert_eq!(events.iter().find(queued).map(|event| event.time.ns()), Some(1_000_000));
        assert_eq!(wakes(&events), [(1_001_000, WakeSource::Pipe)], "the message is there when it is sent");
    }
}
