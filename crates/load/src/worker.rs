//! One task at work: the steps of its program, for real.

mod items;
mod memory;
mod timers;

use crate::account::{Account, run_delay_ns};
use crate::algorithm::Engine;
use crate::attributes;
use crate::clock::{now_ns, sleep_until, thread_cpu_ns, wait_for_device};
use crate::device;
use crate::futex::{self, Waited};
use crate::program;
use crate::requests::{Queue, Request};
use crate::shared::{MAX_REQUESTS, RequestRecord, fate};
use crate::site::Site;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::ControlGroupId;
use schedlab_model::rng::Rng;
use schedlab_model::time::Time;
use schedlab_model::workload::{BUSY_PIECE, Change, Class, Kind, Role, SPIN_PIECE, Step};
use std::sync::atomic::Ordering::*;

/// Pieces of work between two looks at whether the run is over, as time.
const LOOK_NS: f64 = 100_000.0;
/// Requests for which a task that repeats takes places at once.
const PLACES: u32 = 64;

/// Whether the task continues.
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

/// Creates tasks while the run continues.
pub trait Spawner {
    /// Creates `count` tasks of a role on behalf of a task.
    fn spawn(&self, role: u32, count: u32, parent: u32);
}

/// How a task is scheduled.
#[derive(Clone, Copy)]
struct Scheduling {
    class: Class,
    nice: i8,
    slice: Option<Time>,
}

impl Scheduling {
    fn change(&mut self, change: &Change) {
        self.class = change.class.unwrap_or(self.class);
        self.nice = change.nice.unwrap_or(self.nice);
        self.slice = change.slice.or(self.slice).filter(|_| matches!(self.class, Class::Other | Class::Batch));
    }
}

/// A request that a task took.
struct Held {
    request: Request,
    /// The task's own demand when it was taken.
    demand_mark_ns: u64,
    /// Where it is written down, if there was a place.
    place: Option<u32>,
}

/// A task.
pub struct Worker<'a> {
    site: &'a Site<'a>,
    spawner: &'a dyn Spawner,
    number: u32,
    role: &'a Role,
    engine: Engine,
    rng: Rng,
    step: usize,
    /// How it is scheduled, once it has changed that.
    scheduling: Option<Scheduling>,
    /// The last release of each of its timers.
    releases: Vec<Option<u64>>,
    repeats: Vec<u32>,
    /// When it became ready: a request that opens its turn should have begun then.
    ready_ns: u64,
    fresh: bool,
    /// Work asked for since the request began.
    demand_ns: u64,
    /// Its own open request: when it should have begun, and when it did.
    request: Option<(u64, u64)>,
    /// The requests that it took and has not answered.
    held: Vec<Held>,
    /// CPU time of programs that it ran.
    program_cpu_ns: u64,
    /// How long it had waited for a CPU before it came to the gate.
    delay_before_ns: u64,
    /// Places for requests that it has taken.
    places: std::ops::Range<u32>,
    /// Its number among the tasks of its role, and the recorded items that it has taken from its own list.
    member: Option<u32>,
    items_taken: u64,
}

impl<'a> Worker<'a> {
    /// The task with a number. Its random numbers are those of the simulated task of that number.
    pub fn new(site: &'a Site<'a>, spawner: &'a dyn Spawner, number: u32, engine: Engine) -> Worker<'a> {
        let role = &site.workload.roles[site.shared.task(number).role.load(Relaxed) as usize];
        let rng = Rng::split(site.seed, &format!("task/{}", role.name)).child(u64::from(number));
        Worker {
            site,
            spawner,
            number,
            role,
            engine,
            rng,
            step: 0,
            scheduling: None,
            releases: Vec::new(),
            repeats: Vec::with_capacity(role.program.repeat_depth),
            ready_ns: 0,
            fresh: true,
            demand_ns: 0,
            request: None,
            held: Vec::new(),
            program_cpu_ns: 0,
            delay_before_ns: 0,
            places: 0..0,
            member: None,
            items_taken: 0,
        }
    }

    /// What the kernel counted for it so far was before the run.
    pub fn forget(&mut self) {
        self.delay_before_ns = run_delay_ns().unwrap_or(0);
    }

    /// The step that comes next, if one does.
    pub fn next_step(&self) -> Option<&'a Step> {
        self.role.program.steps.get(self.step)
    }

    /// Does one step.
    pub fn step(&mut self) {
        self.next();
    }

    /// When it should have come back from its last sleep.
    pub fn due_ns(&self) -> u64 {
        self.ready_ns
    }

    /// Does its steps until they are over or the run is.
    pub fn run(mut self) {
        let record = self.site.shared.task(self.number);
        self.ready_ns = record.intended_ns.load(Relaxed);
        if self.site.reads_cpu_time {
            record.start_cpu_ns.store(thread_cpu_ns(), Relaxed);
        }
        record.began_ns.store(now_ns(), Relaxed);
        while !self.site.shared.is_stopped() && self.next() == Next::Step {}
        self.close();
    }

    fn next(&mut self) -> Next {
        let program = &self.role.program;
        let Some(step) = program.steps.get(self.step) else {
            self.step = 0;
            return if program.repeats { Next::Step } else { Next::End };
        };
        self.step += 1;
        let fresh = self.fresh;
        self.fresh = fresh && step.keeps_fresh();
        match step {
            Step::RequestBegin => self.begin_request(fresh),
            Step::RequestEnd => self.end_request(),
            Step::Answer => self.answer(),
            Step::RepeatBegin { times } => self.repeats.push(*times),
            Step::RepeatEnd { begin } => self.repeat(*begin),
            Step::Period(pace) => return self.pace(pace, fresh),
            Step::Until(at) => return self.until(*at),
            Step::Item => self.next_item(),
            Step::ItemEnd => {
                self.step = 0;
                return if program.repeats { Next::Step } else { Next::End };
            }
            Step::Spawn(role, count) => self.spawner.spawn(role.0, *count, self.number),
            Step::Exit => return Next::End,
            step @ Step::Recv(channel, _) if self.site.outside[channel.index()].is_some() => return self.act(step),
            step @ (Step::Wait(_)
            | Step::Lock(_)
            | Step::ReadLock(_)
            | Step::CondWait(..)
            | Step::Relock(_)
            | Step::Barrier(_)
            | Step::Send(..)
            | Step::Recv(..)) => {
                return self.meet(step);
            }
            step => return self.act(step),
        }
        Next::Step
    }

    /// Steps at which it may wait for others. The supervisor sees whether it does.
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
            Step::Busy(length) => {
                let until = now_ns().saturating_add(length.sample(&mut self.rng).ns());
                while !site.shared.is_stopped() {
                    self.compute(BUSY_PIECE.ns());
                    if now_ns() >= until {
                        break;
                    }
                }
            }
            Step::Sleep(length) => {
                let until = now_ns().saturating_add(length.sample(&mut self.rng).ns());
                return self.sleep(until);
            }
            // SAFETY: it takes nothing and touches nothing.
            Step::Yield => _ = unsafe { libc::sched_yield() },
            Step::Wait(s) => {
                let since = now_ns();
                let waited = futex::semaphore_wait(&site.shared, s.index() as u32);
                if waited == Waited::Done {
                    self.take_from(site.at_semaphore(s.index()), 1, since);
                }
                return waited.into();
            }
            Step::Post(s, count) => {
                let work = site.workload.objects.semaphores[s.index()].work;
                self.give_to(site.at_semaphore(s.index()), work.is_some_and(|work| work.hands_on), *count);
                futex::semaphore_post(&site.shared, s.index() as u32, *count);
            }
            Step::Lock(l) | Step::ReadLock(l) => {
                let to_read = matches!(step, Step::ReadLock(_));
                self.spin(l.index(), to_read);
                return site.take_lock(l.index(), to_read, false).into();
            }
            Step::Unlock(l) => site.release_lock(l.index()),
            Step::Relock(l) => return site.take_lock(l.index(), false, true).into(),
            Step::CondWait(c, l) => {
                let since = now_ns();
                let condition = site.condition(c.index());
                let waited = futex::cond_wait(&site.shared, condition, || site.release_lock(l.index()));
                self.ready_ns = futex::opened_ns(&site.shared, condition).max(since);
                self.fresh = true;
                return waited.into();
            }
            Step::Signal(c) => futex::signal(&site.shared, site.condition(c.index()), false),
            Step::Broadcast(c) => futex::signal(&site.shared, site.condition(c.index()), true),
            Step::Barrier(b) => {
                let parties = site.workload.objects.barriers[b.index()].1;
                let since = now_ns();
                let waited = futex::barrier(&site.shared, site.barrier(b.index()), parties);
                let opened = futex::opened_ns(&site.shared, site.barrier(b.index()));
                (self.ready_ns, self.fresh) = (opened, opened > since);
                return waited.into();
            }
            Step::Send(c, n) => {
                let work = site.workload.objects.channels[c.index()].work;
                self.give_to(site.at_channel(c.index()), work.is_some_and(|work| work.hands_on), *n);
                if site.channels[c.index()].send(&site.shared, *n).is_err() {
                    return Next::End;
                }
            }
            Step::Recv(c, n) if site.outside[c.index()].is_some() => return self.receive_from_outside(c.index(), *n),
            Step::Recv(c, n) => {
                let since = now_ns();
                if site.channels[c.index()].receive(&site.shared, *n).is_err() {
                    return Next::End;
                }
                self.take_from(site.at_channel(c.index()), *n, since);
            }
            Step::Set(change) => return self.change(change),
            Step::Join(group) => return self.join(*group),
            Step::Adjust(group, change) => {
                if self.site.control_groups.adjust(*group, change).is_err() {
                    program::tell(&self.site.shared, self.number, program::Failure::ADJUST);
                    return Next::End;
                }
            }
            Step::Command(words) => return self.run_program(words),
            Step::Io(device, service) => {
                let service = service.sample(&mut self.rng).ns();
                return self.use_device(device.index(), service);
            }
            Step::Period(_)
            | Step::RequestBegin
            | Step::RequestEnd
            | Step::Answer
            | Step::RepeatBegin { .. }
            | Step::RepeatEnd { .. }
            | Step::Spawn(..)
            | Step::Until(_)
            | Step::Item
            | Step::ItemEnd
            | Step::Exit => unreachable!("done by `next`"),
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

    /// Works until a lock is free, or for as long as a task spins for it. That is no demand of the task.
    fn spin(&mut self, lock: usize, to_read: bool) {
        let mut left_ns = self.site.workload.objects.locks[lock].spin.ns();
        while left_ns > 0 && self.site.is_held(lock, to_read) && !self.site.shared.is_stopped() {
            let piece_ns = left_ns.min(SPIN_PIECE.ns());
            self.engine.burn(((piece_ns as f64 * self.site.pieces_per_ns).round() as u64).max(1));
            left_ns -= piece_ns;
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

    /// Changes the calling thread, which is the task. All changes were allowed before the run; if one is refused now,
    /// since rights changed meanwhile, the task ends.
    fn change(&mut self, change: &Change) -> Next {
        let own = || Scheduling { class: self.role.class, nice: self.role.nice, slice: self.role.slice };
        let scheduling = self.scheduling.get_or_insert_with(own);
        let has_only_nice = change.class.is_none() && change.slice.is_none();
        scheduling.change(change);
        let Scheduling { class, nice, slice } = *scheduling;
        let scheduled = match change.nice {
            Some(nice) if has_only_nice => attributes::set_nice(nice),
            None if has_only_nice => Ok(()),
            _ => attributes::set_class(self.site.ranks.class(class), nice, slice),
        };
        let own = |cpus: &CpuSet| self.site.set_own_cpus(cpus);
        let cpus = scheduled.and_then(|()| change.cpus.as_ref().map_or(Ok(()), own));
        if cpus.is_ok() { Next::Step } else { Next::End }
    }

    fn join(&self, group: ControlGroupId) -> Next {
        if self.site.control_groups.enter(group).is_err() {
            return Next::End;
        }
        self.site.shared.note_join(self.number, group.0);
        Next::Step
    }

    /// Waits until the device has served it, after those that came before, and reads a block for that. A device works while
    /// its users wait for a CPU.
    fn use_device(&mut self, index: usize, service_ns: u64) -> Next {
        let until = device::book(&self.site.shared, self.site.device(index), service_ns);
        if let Some(disk) = &self.site.disk {
            disk.read();
        }
        self.wait_until(until, wait_for_device)
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
        self.site.shared.task(self.number).open_intended_ns.store(0, Relaxed);
        if let Some(record) = self.place().map(|place| self.site.shared.request(place)) {
            record.intended_ns.store(intended, Relaxed);
            record.begin_ns.store(begin, Relaxed);
            record.task.store(self.number + 1, Relaxed);
            end(record, self.demand_ns, fate::ANSWERED);
        }
    }

    /// A place for a request, unless all are taken.
    fn place(&mut self) -> Option<u32> {
        let shared = &self.site.shared;
        if self.places.is_empty() {
            let count = if self.role.program.repeats { PLACES } else { 1 };
            let from = shared.control().requests.fetch_add(count, Relaxed).min(MAX_REQUESTS);
            self.places = from..(from + count).min(MAX_REQUESTS);
        }
        let place = self.places.next();
        if place.is_none() {
            shared.control().requests.store(MAX_REQUESTS, Relaxed);
            shared.control().requests_lost.fetch_add(1, Relaxed);
        }
        place
    }

    /// Ends all its requests.
    fn answer(&mut self) {
        self.end_request();
        self.give(fate::ANSWERED);
    }

    /// Gives away the requests that it took, with what it has added to them.
    fn give(&mut self, fate: u32) -> Vec<Request> {
        if self.site.shared.is_stopped() {
            return Vec::new();
        }
        let mut given = Vec::with_capacity(self.held.len());
        for Held { request, demand_mark_ns, place } in self.held.drain(..) {
            let demand_ns = request.demand_ns + (self.demand_ns - demand_mark_ns);
            if let Some(place) = place {
                end(self.site.shared.request(place), demand_ns, fate);
            }
            given.push(Request { demand_ns, ..request });
        }
        given
    }

    /// Puts `count` messages where requests wait, if this carries any: those that the task has taken are dealt out over
    /// them, and a message that gets none is a new one.
    fn give_to(&mut self, queue: Option<Queue>, hands_on: bool, count: u32) {
        let Some(queue) = queue else { return };
        let mut messages = vec![Vec::new(); count as usize];
        let given = if hands_on { self.give(fate::HANDED_ON) } else { Vec::new() };
        for (index, request) in given.into_iter().enumerate() {
            messages[index % count as usize].push(request);
        }
        let now = now_ns();
        for mut message in messages {
            if message.is_empty() {
                message.push(self.new_request(now));
            }
            message.iter_mut().for_each(|request| (request.queued_ns, request.from) = (now, Some(self.number)));
            queue.put(&message);
        }
    }

    fn new_request(&self, now: u64) -> Request {
        let id = self.site.from_outside + self.site.shared.control().born.fetch_add(1, Relaxed);
        Request { id, born_ns: now, queued_ns: now, from: None, demand_ns: 0 }
    }

    /// Takes the requests of `count` messages, for which it has waited since an instant. They were its own from when the
    /// last of them was there.
    fn take_from(&mut self, queue: Option<Queue>, count: u32, since: u64) {
        let Some(queue) = queue else { return };
        let mut taken = Vec::new();
        for _ in 0..count {
            match queue.take() {
                none if none.is_empty() => taken.push(self.new_request(now_ns())),
                message => taken.extend(message),
            }
        }
        let last = taken.iter().map(|request| request.queued_ns).max().unwrap_or(since);
        let begin = if last > since { last } else { now_ns() };
        taken.into_iter().for_each(|request| self.take(request, begin));
    }

    fn take(&mut self, request: Request, begin: u64) {
        let place = self.place();
        if let Some(place) = place {
            let record = self.site.shared.request(place);
            record.request.store(request.id + 1, Relaxed);
            record.from.store(request.from.map_or(0, |from| from + 1), Relaxed);
            record.queued_ns.store(request.queued_ns, Relaxed);
            record.intended_ns.store(request.born_ns, Relaxed);
            record.begin_ns.store(begin, Relaxed);
            record.task.store(self.number + 1, Release);
        }
        self.held.push(Held { request, demand_mark_ns: self.demand_ns, place });
    }

    /// Claims the next messages that come from outside, and sleeps until they are there. They are written down before:
    /// it may never get a CPU again.
    fn receive_from_outside(&mut self, channel: usize, count: u32) -> Next {
        let site = self.site;
        let Some(outside) = &site.outside[channel] else { return Next::End };
        let start = site.shared.control().start_ns.load(Relaxed);
        let first = site.shared.object(site.claims(channel))[0].fetch_add(count, Relaxed);
        let claimed = first as usize..first as usize + count as usize;
        let Some(messages) = outside.at_ns.get(claimed) else { return self.wait_for_nothing() };
        let now = now_ns();
        let due = start + messages.last().copied().unwrap_or(0);
        for (index, at_ns) in messages.iter().enumerate() {
            let id = outside.first_id + first + index as u32;
            let (born_ns, queued_ns) = (start + at_ns, start + at_ns);
            self.take(Request { id, born_ns, queued_ns, from: None, demand_ns: 0 }, due.max(now));
        }
        if due > now { self.sleep(due) } else { Next::Step }
    }

    /// Nothing comes any more. The program outside of the tasks sees that.
    fn wait_for_nothing(&mut self) -> Next {
        let record = self.site.shared.task(self.number);
        record.waits_at.store(self.step as u32 - 1, Relaxed);
        record.waits.fetch_add(1, Release);
        while !self.site.shared.is_stopped() {
            sleep_until(u64::MAX >> 2);
        }
        Next::End
    }

    /// Writes down what the kernel says about the task.
    fn close(self) {
        let shared = &self.site.shared;
        let record = shared.task(self.number);
        let reads_cpu_time = self.role.kind == Kind::Thread || self.site.reads_cpu_time;
        if reads_cpu_time {
            record.done_cpu_ns.store(thread_cpu_ns() + self.program_cpu_ns, Relaxed);
        }
        let account = Account::of_this_thread();
        if let Some(delay) = account.run_delay_ns {
            record.run_delay_ns.store(delay.saturating_sub(self.delay_before_ns), Relaxed);
        }
        record.switches[0].store(account.switches[0], Relaxed);
        record.switches[1].store(account.switches[1], Relaxed);
        if reads_cpu_time {
            record.cpu_ns.store(thread_cpu_ns() + self.program_cpu_ns, Relaxed);
        }
        record.ended_ns.store(now_ns(), Release);
        shared.end_task();
    }
}

/// Writes down that a request has left its task.
fn end(record: &RequestRecord, demand_ns: u64, fate: u32) {
    record.demand_ns.store(demand_ns, Relaxed);
    record.end_ns.store(now_ns(), Relaxed);
    record.fate.store(fate, Release);
}
