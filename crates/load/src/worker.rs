//! One task at work: the steps of its program, for real.

use crate::account::{Account, run_delay_ns};
use crate::algorithm::Engine;
use crate::clock::{now_ns, sleep_until, wait_for_device};
use crate::futex::{self, Waited};
use crate::program;
use crate::shared::MAX_REQUESTS;
use crate::site::Site;
use schedlab_model::rng::Rng;
use schedlab_model::workload::{Group, Step};
use std::sync::atomic::Ordering::*;

/// Pieces of work between two looks at whether the run is over, as time.
const LOOK_NS: f64 = 100_000.0;
/// Requests for which a task that repeats takes places at once.
const PLACES: u32 = 64;

/// Whether the task goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Step,
    End,
}

impl From<Waited> for Next {
    fn from(waited: Waited) -> Next {
        if waited == Waited::Done { Next::Step } else { Next::End }
    }
}

/// Creates tasks while the run goes on.
pub trait Spawner {
    /// Creates `count` tasks of a group on behalf of a task.
    fn spawn(&self, group: u32, count: u32, parent: u32);
}

/// A task.
pub struct Worker<'a> {
    site: &'a Site<'a>,
    spawner: &'a dyn Spawner,
    number: u32,
    group: &'a Group,
    engine: Engine,
    rng: Rng,
    step: usize,
    repeats: Vec<u32>,
    /// When it became ready: a request that opens its turn should have begun then.
    ready_ns: u64,
    fresh: bool,
    /// Work asked for since the request began.
    demand_ns: u64,
    /// The open request: when it should have begun, and when it did.
    request: Option<(u64, u64)>,
    /// CPU time of programs that it ran.
    program_cpu_ns: u64,
    /// How long it had waited for a CPU before it came to the gate.
    delay_before_ns: u64,
    /// Places for requests that it has taken.
    places: std::ops::Range<u32>,
}

impl<'a> Worker<'a> {
    /// The task with a number. Its random numbers are those of the simulated task of that number.
    pub fn new(site: &'a Site<'a>, spawner: &'a dyn Spawner, number: u32, engine: Engine) -> Worker<'a> {
        let group = &site.workload.groups[site.shared.task(number).group.load(Relaxed) as usize];
        let rng = Rng::split(site.seed, &format!("task/{}", group.name)).child(u64::from(number));
        Worker {
            site,
            spawner,
            number,
            group,
            engine,
            rng,
            step: 0,
            repeats: Vec::with_capacity(group.program.repeat_depth),
            ready_ns: 0,
            fresh: true,
            demand_ns: 0,
            request: None,
            program_cpu_ns: 0,
            delay_before_ns: 0,
            places: 0..0,
        }
    }

    /// What the kernel counted for it so far was before the run.
    pub fn forget(&mut self) {
        self.delay_before_ns = run_delay_ns().unwrap_or(0);
    }

    /// Does its steps until they are over or the run is.
    pub fn run(mut self) {
        let record = self.site.shared.task(self.number);
        self.ready_ns = record.intended_ns.load(Relaxed);
        record.began_ns.store(now_ns(), Relaxed);
        while !self.site.shared.is_stopped() && self.next() == Next::Step {}
        self.close();
    }

    fn next(&mut self) -> Next {
        let program = &self.group.program;
        let Some(step) = program.steps.get(self.step) else {
            self.step = 0;
            return if program.repeats { Next::Step } else { Next::End };
        };
        self.step += 1;
        let fresh = self.fresh;
        self.fresh = fresh && matches!(step, Step::RequestBegin | Step::RepeatBegin { .. });
        match step {
            Step::RequestBegin => self.begin_request(fresh),
            Step::RequestEnd => self.end_request(),
            Step::RepeatBegin { times } => self.repeats.push(*times),
            Step::RepeatEnd { begin } => self.repeat(*begin),
            Step::Spawn(group, count) => self.spawner.spawn(group.0, *count, self.number),
            Step::Exit => return Next::End,
            step @ (Step::Wait(_) | Step::Lock(_) | Step::Barrier(_) | Step::Send(..) | Step::Recv(..)) => {
                return self.meet(step);
            }
            step => return self.act(step),
        }
        Next::Step
    }

    /// Steps at which it may wait for others. Whoever looks from outside sees whether it does.
    fn meet(&mut self, step: &Step) -> Next {
        let record = self.site.shared.task(self.number);
        record.waits_at.store(self.step as u32 - 1, Relaxed);
        record.waits.fetch_add(1, Release);
        let next = self.act(step);
        record.waits.fetch_add(1, Release);
        next
    }

    /// Steps that take time.
    fn act(&mut self, step: &Step) -> Next {
        let site = self.site;
        match step {
            Step::Compute(length) => {
                let length = length.sample(&mut self.rng).ns();
                self.compute(length);
            }
            Step::Sleep(length) => {
                let until = now_ns().saturating_add(length.sample(&mut self.rng).ns());
                return self.sleep(until);
            }
            // SAFETY: it takes nothing and touches nothing.
            Step::Yield => _ = unsafe { libc::sched_yield() },
            Step::Wait(s) => return futex::semaphore_wait(&site.shared, s.index() as u32).into(),
            Step::Post(s, count) => futex::semaphore_post(&site.shared, s.index() as u32, *count),
            Step::Lock(l) => return futex::lock(&site.shared, site.lock(l.index())).into(),
            Step::Unlock(l) => futex::unlock(&site.shared, site.lock(l.index())),
            Step::Barrier(b) => {
                let parties = site.workload.objects.barriers[b.index()].1;
                return futex::barrier(&site.shared, site.barrier(b.index()), parties).into();
            }
            Step::Send(c, n) if site.channels[c.index()].send(*n).is_err() => return Next::End,
            Step::Recv(c, n) if site.channels[c.index()].receive(*n).is_err() => return Next::End,
            Step::Send(..) | Step::Recv(..) => {}
            Step::Command(words) => return self.run_program(words),
            Step::Io(device, service) => {
                let service = service.sample(&mut self.rng).ns();
                return self.use_device(device.index(), service);
            }
            _ => unreachable!("done by `next`"),
        }
        Next::Step
    }

    fn compute(&mut self, work_ns: u64) {
        self.demand_ns += work_ns;
        let mut left = (work_ns as f64 * self.site.pieces_per_ns).round() as u64;
        let at_once = ((LOOK_NS * self.site.pieces_per_ns) as u64).max(1);
        while left > 0 && !self.site.shared.is_stopped() {
            let now = left.min(at_once);
            self.engine.burn(now);
            left -= now;
        }
    }

    fn sleep(&mut self, until: u64) -> Next {
        self.wait_until(until, sleep_until)
    }

    /// Waits, in a way that a signal may end, until an instant.
    fn wait_until(&mut self, until: u64, wait: fn(u64) -> bool) -> Next {
        while !wait(until) {
            if self.site.shared.is_stopped() {
                return Next::End;
            }
        }
        (self.ready_ns, self.fresh) = (until, true);
        Next::Step
    }

    /// Runs a real program to its end. One that fails ends the run.
    fn run_program(&mut self, words: &[String]) -> Next {
        match program::run(&self.site.shared, self.number, words) {
            Ok(cpu_ns) => {
                self.program_cpu_ns += cpu_ns;
                Next::Step
            }
            Err(failure) => {
                program::tell(&self.site.shared, self.number, failure);
                Next::End
            }
        }
    }

    /// Has the device to itself for the service time, in which it reads a block.
    fn use_device(&mut self, index: usize, service_ns: u64) -> Next {
        let device = self.site.device(index);
        if futex::lock(&self.site.shared, device) == Waited::Stopped {
            return Next::End;
        }
        let until = now_ns() + service_ns;
        if let Some(disk) = &self.site.disk {
            disk.read();
        }
        let next = self.wait_until(until, wait_for_device);
        futex::unlock(&self.site.shared, device);
        next
    }

    fn repeat(&mut self, begin: usize) {
        if let Some(left) = self.repeats.last_mut() {
            *left -= 1;
            if *left > 0 {
                self.step = begin;
            } else {
                self.repeats.pop();
            }
        }
    }

    fn begin_request(&mut self, fresh: bool) {
        let now = now_ns();
        let intended = if fresh { self.ready_ns } else { now };
        (self.demand_ns, self.request) = (0, Some((intended, now)));
        self.site.shared.task(self.number).open_intended_ns.store(intended, Relaxed);
    }

    fn end_request(&mut self) {
        let Some((intended, begin)) = self.request.take() else { return };
        // What the run's end cut short did not end.
        if self.site.shared.is_stopped() {
            return;
        }
        let shared = &self.site.shared;
        shared.task(self.number).open_intended_ns.store(0, Relaxed);
        if self.places.is_empty() {
            let count = if self.group.program.repeats { PLACES } else { 1 };
            let from = shared.control().requests.fetch_add(count, Relaxed).min(MAX_REQUESTS);
            self.places = from..(from + count).min(MAX_REQUESTS);
        }
        let Some(place) = self.places.next() else {
            shared.control().requests.store(MAX_REQUESTS, Relaxed);
            shared.control().requests_lost.fetch_add(1, Relaxed);
            return;
        };
        let record = shared.request(place);
        record.intended_ns.store(intended, Relaxed);
        record.begin_ns.store(begin, Relaxed);
        record.demand_ns.store(self.demand_ns, Relaxed);
        record.task.store(self.number + 1, Relaxed);
        record.end_ns.store(now_ns(), Release);
    }

    /// Writes down what the kernel says about the task.
    fn close(self) {
        let shared = &self.site.shared;
        let record = shared.task(self.number);
        let account = Account::of_this_thread();
        if let Some(delay) = account.run_delay_ns {
            record.run_delay_ns.store(delay.saturating_sub(self.delay_before_ns), Relaxed);
        }
        record.switches[0].store(account.switches[0], Relaxed);
        record.switches[1].store(account.switches[1], Relaxed);
        record.cpu_ns.store(account.cpu_ns + self.program_cpu_ns, Relaxed);
        record.ended_ns.store(now_ns(), Release);
        shared.end_task();
    }
}
