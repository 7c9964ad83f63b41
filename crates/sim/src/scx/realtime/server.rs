//! The deadline server of a CPU, which runs tasks of the policy's class that real-time tasks keep from running
//! (`dl_server_*` and `update_curr_dl_se` of `kernel/sched/deadline.c`).
//!
//! It has 50 ms of each second and is deferred: it waits until no laxity is left, that is, until what it has not spent is
//! all there is before its deadline. What its tasks run by themselves it spends, too, and begins a new period when that is
//! all; so while they get CPU time it never acts. Once it has acted it does so again at the start of each period, without
//! waiting, until its tasks get time by themselves.
//!
//! Example: a real-time task never sleeps, another task wants to run from 0 on. The server waits until 950 ms and runs the
//! task up to 1000 ms, then from 1950 to 2000 ms, and so on.

/// What it has in each period.
const RUNTIME_NS: i64 = 50_000_000;
const PERIOD_NS: u64 = 1_000_000_000;
/// It does not wait again for less than this (`dl_server_min_res`).
const LEAST_WAIT_NS: u64 = 1_000_000;
const NEVER: u64 = u64::MAX;

/// Where it is between start and stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has no tasks (A).
    Stopped,
    /// It waits until no laxity is left (B); after some idle time it stops then (C).
    Deferred { idle: bool },
    /// It is first in line for the CPU (D).
    Serving,
    /// It has spent all and waits for its next period (E).
    Spent,
}

/// The server of a CPU.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    state: State,
    /// Whether it acts at the start of a period, as its tasks have starved before (`dl_defer_running`).
    starved: bool,
    /// What is left to it before its deadline.
    left_ns: i64,
    deadline_ns: u64,
    /// When it has to be looked at.
    timer_ns: u64,
}

impl Server {
    /// One that has never had a task.
    pub fn new() -> Server {
        Server { state: State::Stopped, starved: false, left_ns: 0, deadline_ns: 0, timer_ns: NEVER }
    }

    /// Whether its tasks go before real-time ones.
    pub fn serves(&self) -> bool {
        self.state == State::Serving
    }

    /// When [`Server::expire`] is due; `u64::MAX` if never.
    pub fn timer_ns(&self) -> u64 {
        self.timer_ns
    }

    /// Its deadline.
    pub fn deadline_ns(&self) -> u64 {
        self.deadline_ns
    }

    /// How long it will serve.
    pub fn left_ns(&self) -> u64 {
        self.left_ns.max(0) as u64
    }

    /// The first task wants the CPU (`dl_server_start`).
    pub fn start(&mut self, now_ns: u64) {
        if self.state != State::Stopped {
            return;
        }
        if self.deadline_ns <= now_ns || self.exceeds_its_part(now_ns) {
            if self.starved && self.deadline_ns > now_ns {
                // What fits in what is left of the period (`update_dl_revised_wakeup`).
                self.left_ns = (self.deadline_ns - now_ns) as i64 / (PERIOD_NS as i64 / RUNTIME_NS);
                return self.serve();
            }
            self.starved = false;
            return self.begin_period(now_ns);
        }
        if self.starved { self.serve() } else { self.defer(now_ns, false) }
    }

    /// It was to run a task and there was none (`dl_server_stop`).
    pub fn stop(&mut self) {
        (self.state, self.timer_ns) = (State::Stopped, NEVER);
    }

    /// Its tasks had the CPU, by it or by themselves. Whether it served and has nothing left.
    pub fn spend(&mut self, now_ns: u64, length_ns: u64) -> bool {
        match self.state {
            State::Stopped => false,
            State::Serving => {
                self.left_ns -= length_ns as i64;
                if self.left_ns > 0 {
                    return false;
                }
                (self.state, self.timer_ns) = (State::Spent, self.deadline_ns);
                if self.deadline_ns < now_ns {
                    self.expire(now_ns);
                }
                true
            }
            State::Deferred { .. } | State::Spent => {
                self.spend_in_background(now_ns, length_ns, false);
                false
            }
        }
    }

    /// The CPU was idle for so long: time that its tasks could have had (`dl_server_update_idle`).
    pub fn pass_idle(&mut self, now_ns: u64, length_ns: u64) {
        if matches!(self.state, State::Deferred { idle: false } | State::Spent) {
            self.spend_in_background(now_ns, length_ns, true);
        }
    }

    /// A period ends whenever all is spent, and the next one begins.
    fn spend_in_background(&mut self, now_ns: u64, length_ns: u64, idle: bool) {
        if let State::Deferred { idle: was_idle } = &mut self.state {
            *was_idle = idle && *was_idle;
        }
        let mut from_ns = now_ns - length_ns;
        while now_ns - from_ns >= self.left_ns() && now_ns > from_ns {
            from_ns += self.left_ns();
            self.starved = false;
            self.begin_period(from_ns);
            if idle {
                self.state = State::Deferred { idle };
                return;
            }
        }
        self.left_ns -= (now_ns - from_ns) as i64;
    }

    /// The timer goes off (`dl_server_timer`). Whether it serves from now on.
    pub fn expire(&mut self, now_ns: u64) -> bool {
        match self.state {
            State::Stopped | State::Serving => false,
            State::Deferred { idle: true } => {
                self.stop();
                false
            }
            State::Deferred { idle: false } => {
                let due_ns = self.deadline_ns - self.left_ns();
                if now_ns + LEAST_WAIT_NS < due_ns {
                    self.timer_ns = due_ns;
                    return false;
                }
                self.starved = true;
                if self.exceeds_its_part(now_ns) {
                    (self.deadline_ns, self.left_ns) = (now_ns + PERIOD_NS, RUNTIME_NS);
                }
                self.replenish(now_ns);
                true
            }
            State::Spent => {
                self.replenish(now_ns);
                true
            }
        }
    }

    /// The CPU was idle up to now, without a look at the timer: whenever that went off there was no task to run.
    pub fn catch_up(&mut self, now_ns: u64) {
        while self.timer_ns < now_ns {
            if self.expire(self.timer_ns) {
                self.stop();
            }
        }
    }

    /// Moves the deadline until something is left, and serves.
    fn replenish(&mut self, now_ns: u64) {
        while self.left_ns <= 0 {
            self.deadline_ns += PERIOD_NS;
            self.left_ns += RUNTIME_NS;
        }
        if self.deadline_ns < now_ns {
            (self.deadline_ns, self.left_ns) = (now_ns + PERIOD_NS, RUNTIME_NS);
        }
        self.serve();
    }

    fn serve(&mut self) {
        (self.state, self.timer_ns) = (State::Serving, NEVER);
    }

    fn begin_period(&mut self, now_ns: u64) {
        (self.deadline_ns, self.left_ns) = (now_ns + PERIOD_NS, RUNTIME_NS);
        self.defer(now_ns, false);
    }

    /// Waits until no laxity is left; if there is none, it serves.
    fn defer(&mut self, now_ns: u64, idle: bool) {
        let due_ns = self.deadline_ns.saturating_sub(self.left_ns());
        if due_ns < now_ns {
            return self.serve();
        }
        (self.state, self.timer_ns) = (State::Deferred { idle }, due_ns);
    }

    /// Whether what is left is more than its part of the time up to the deadline (`dl_entity_overflow`).
    fn exceeds_its_part(&self, now_ns: u64) -> bool {
        let rest_ns = self.deadline_ns.saturating_sub(now_ns);
        self.left_ns() as u128 * PERIOD_NS as u128 > rest_ns as u128 * RUNTIME_NS as u128
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// When it serves from and to, while its tasks run by it alone.
    fn turns(server: &mut Server, count: usize) -> Vec<(u64, u64)> {
        let turn = |_| {
            let from = server.timer_ns();
            assert!(server.expire(from));
            let to = from + server.left_ns();
            assert!(server.spend(to, to - from));
            (from / MS, to / MS)
        };
        (0..count).map(turn).collect()
    }

    #[test]
    fn it_waits_for_zero_laxity_once_and_then_serves_at_the_begin_of_each_period() {
        let mut server = Server::new();
        server.start(7 * MS);
        assert_eq!(turns(&mut server, 3), [(957, 1007), (1957, 2007), (2957, 3007)]);
    }

    #[test]
    fn what_tasks_get_by_themselves_is_spent() {
        let mut server = Server::new();
        server.start(0);
        // 20 ms of the first period by themselves: 30 are left to the deadline at 1000, but then a whole turn begins.
        server.spend(20 * MS, 20 * MS);
        assert!(!server.expire(950 * MS));
        assert_eq!(server.timer_ns(), 970 * MS);
        assert_eq!(turns(&mut server, 2), [(970, 1020), (1970, 2020)]);
        // All of it and more: new periods began at 2020, 2070 and 2120.
        server.spend(2130 * MS, 110 * MS);
        assert_eq!(server.timer_ns(), 3070 * MS);
    }

    #[test]
    fn without_tasks_it_stops_and_keeps_its_deadline() {
        let mut server = Server::new();
        server.start(0);
        assert!(server.expire(950 * MS));
        server.spend(960 * MS, 10 * MS);
        server.stop();
        assert!(!server.serves() && server.timer_ns() == NEVER);
        // Its tasks had starved: it continues where it was.
        server.start(1000 * MS);
        assert!(server.serves() && server.left_ns() == 40 * MS);
        server.stop();
        // Late in its period it has no more than its part of it.
        server.start(1900 * MS);
        assert_eq!(server.left_ns(), 5 / 2 * MS + MS / 2);
    }

    #[test]
    fn idle_time_pushes_it_once_and_then_it_stops() {
        let mut server = Server::new();
        server.start(0);
        server.pass_idle(400 * MS, 400 * MS);
        // A period that began at 50 ms.
        assert_eq!(server.timer_ns(), 1000 * MS);
        server.catch_up(1010 * MS);
        assert_eq!(server.timer_ns(), NEVER);
        server.start(1010 * MS);
        // Its deadline of then, 1050 ms, still holds, and leaves no laxity for 50 ms; a new period it is.
        assert_eq!(server.timer_ns(), (1010 + 950) * MS);
    }
}
