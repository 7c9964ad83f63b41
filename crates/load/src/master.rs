//! The process in which the tasks of a run live: it creates them, opens the gate, lets arrivals come, and ends
//! everything. It runs in a child of the program, dies with it, and takes all that it started along.

use crate::arrivals::Arrivals;
use crate::attributes as attr;
use crate::clock::{now_ns, process_cpu_ns, thread_cpu_ns};
use crate::futex;
use crate::plug::{Plugs, bring_back, plug};
use crate::process::{bury_all, install_nudge, kill, nudge, share_heap};
use crate::shared::{Moment, Shared};
use crate::site::Site;
use crate::worker::{Spawner, Worker};
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::ControlGroupId;
use schedlab_model::rng::Rng;
use schedlab_model::workload::{Birth, Hotplug, Kind, Role};
use std::collections::HashMap;
use std::sync::atomic::Ordering::*;
use std::sync::{Mutex, mpsc};
use std::thread::Scope;

/// What each thread gets for a stack.
pub(crate) const STACK_BYTES: usize = 256 << 10;
/// From the moment when all are ready to the start of the run.
const LEAD_NS: u64 = 2_000_000;
/// How much later it may be, drawn from the seed: a whole number of any kernel's ticks, so that it may be anywhere in one.
/// What happens before ends with waits for the kernel, which end at ticks, and a guest repeats: all its runs would begin at
/// the same place.
pub const TICKS_NS: u64 = 20_000_000;
/// How long tasks may take to get ready.
const READY_NS: u64 = 20_000_000_000;
/// How long tasks may take to end, and that much longer for each: on a slow CPU each has its turn before it sees that the run
/// is over.
const GRACE_NS: u64 = 2_000_000_000;
const GRACE_OF_EACH_NS: u64 = 20_000_000;

/// Exit codes of the process, in addition to 0.
pub mod code {
    /// A task could not be created.
    pub const NO_TASK: i32 = 10;
    /// A class, nice value or CPU set was refused.
    pub const REFUSED: i32 = 11;
    /// Tasks did not get ready in time.
    pub const NOT_READY: i32 = 12;
    /// Tasks did not end and were killed.
    pub const HUNG: i32 = 13;
    /// The kernel did not take a CPU offline or online.
    pub const PLUG: i32 = 15;
    /// The master itself failed.
    pub const PANIC: i32 = 14;
}

/// A task that is to be created.
#[derive(Clone, Copy, Debug)]
struct Order {
    role: u32,
    parent: Option<u32>,
    intended_ns: u64,
    /// Whether it waits at the gate.
    at_gate: bool,
}

/// Runs everything; the calling process does nothing else and exits with the result.
pub fn run(site: &Site) -> i32 {
    install_nudge();
    share_heap();
    site.shared.control().master.store(std::process::id() as i32, Relaxed);
    let outbox = Outbox { shared: &site.shared, orders: Mutex::default() };
    let code = std::thread::scope(|scope| {
        let master = Master { site, scope, outbox: &outbox };
        let code = master.run();
        master.stop().unwrap_or(code)
    });
    // When no CPU is taken away any more.
    bring_back(site.workload);
    code
}

/// Orders of running tasks that only the master can carry out.
struct Outbox<'env> {
    shared: &'env Shared,
    orders: Mutex<Vec<Order>>,
}

impl Outbox<'_> {
    fn put(&self, order: Order, count: u32) {
        self.shared.control().ordered.fetch_add(count, AcqRel);
        let mut orders = self.orders.lock().expect("nobody panics while holding it");
        orders.extend((0..count).map(|_| order));
        drop(orders);
        self.shared.call_master();
    }
}

/// Creates the tasks. Each thread that is a task has a copy, to create threads itself.
#[derive(Clone, Copy)]
struct Master<'scope, 'env> {
    site: &'env Site<'env>,
    scope: &'scope Scope<'scope, 'env>,
    outbox: &'env Outbox<'env>,
}

/// A task creates its children itself, so that the scheduler sees their parent, and the parent pays. Only children that
/// ask for more than it has are the master's to create: not every task may raise a child above itself.
impl Spawner for Master<'_, '_> {
    fn spawn(&self, role: u32, count: u32, parent: u32) {
        let order = Order { role, parent: Some(parent), intended_ns: now_ns(), at_gate: false };
        if !self.may_come_from(&order, self.site.shared.task(parent).role.load(Relaxed)) {
            return self.outbox.put(order, count);
        }
        for _ in 0..count {
            if self.site.shared.is_stopped() {
                return;
            }
            self.create_late(order);
        }
    }
}

impl<'env> Master<'_, 'env> {
    fn run(&self) -> i32 {
        let orders = self.first_orders();
        let expected = orders.len() as u32;
        let numbered: Option<Vec<(u32, Order)>> = orders.into_iter().map(|order| self.number(order)).collect();
        let Some(numbered) = numbered else { return code::NO_TASK };
        // Processes first: a fork copies one thread only, and there should be no other.
        let (processes, threads): (Vec<_>, Vec<_>) =
            numbered.into_iter().partition(|(_, order)| self.is_process(order));
        if !processes.into_iter().chain(threads).all(|(number, order)| self.create(number, order)) {
            return code::NO_TASK;
        }
        if let Err(code) = self.await_ready(expected) {
            return code;
        }
        self.site.ranks.hurry();
        self.open_gate();
        let before_ns = thread_cpu_ns();
        self.lead();
        self.site.shared.control().arrivals_cpu_ns.store(thread_cpu_ns() - before_ns, Relaxed);
        0
    }

    fn is_process(&self, order: &Order) -> bool {
        self.role(order.role).kind == Kind::Process
    }

    fn role(&self, role: u32) -> &'env Role {
        &self.site.workload.roles[role as usize]
    }

    /// Tasks that are born at a known instant, relative to the start.
    fn first_orders(&self) -> Vec<Order> {
        let roles = self.site.workload.roles.iter().enumerate();
        roles
            .flat_map(|(index, role)| {
                let birth = match role.birth {
                    Birth::At(time) => Some((time.ns(), role.count.unwrap_or(1))),
                    _ => None,
                };
                let (at, count) = birth.unwrap_or((0, 0));
                let order = Order { role: index as u32, parent: None, intended_ns: at, at_gate: true };
                (0..count).map(move |_| order)
            })
            .collect()
    }

    /// Whether a task may come from one of another role: it begins with what that one has, and need not ask for more.
    fn may_come_from(&self, order: &Order, parent: u32) -> bool {
        let (child, parent) = (self.role(order.role), self.role(parent));
        let same = |role: &Role| (role.class, role.slice);
        let worst = parent.changes().filter_map(|change| change.nice).fold(parent.nice, i8::max);
        same(child) == same(parent) && child.nice >= worst
    }

    fn number(&self, order: Order) -> Option<(u32, Order)> {
        let number = self.site.shared.add_task(order.role, order.parent, order.intended_ns)?;
        Some((number, order))
    }

    /// Creates a task; false when it could not be.
    fn create(&self, number: u32, order: Order) -> bool {
        if self.is_process(&order) { self.fork(number, order) } else { self.thread(number, order) }
    }

    fn thread(&self, number: u32, order: Order) -> bool {
        let (site, spawner) = (self.site, *self);
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        builder.spawn_scoped(self.scope, move || live(site, &spawner, number, order)).is_ok()
    }

    fn fork(&self, number: u32, order: Order) -> bool {
        let parent = std::process::id() as i32;
        // SAFETY: the child runs the task and leaves by `_exit`. Its C library's locks are in order after a fork.
        match unsafe { libc::fork() } {
            0 => {
                if parent_process() != parent {
                    // SAFETY: nothing of the master is to be run, which is gone.
                    unsafe { libc::_exit(0) };
                }
                // Nothing creates tasks for a process: the outbox and the scope belong to another process. Scenarios
                // with a `spawn` in a process are refused before.
                live(self.site, &Nobody, number, order);
                // SAFETY: nothing of the master is to be run.
                unsafe { libc::_exit(0) }
            }
            pid => pid > 0,
        }
    }

    fn await_ready(&self, expected: u32) -> Result<(), i32> {
        let control = self.site.shared.control();
        let until = now_ns() + READY_NS;
        loop {
            let ready = control.ready.load(Acquire);
            if ready & REFUSED_BIT != 0 {
                return Err(code::REFUSED);
            }
            if ready >= expected {
                return Ok(());
            }
            if now_ns() > until || self.site.shared.is_stopped() {
                return Err(if self.site.shared.is_stopped() { 0 } else { code::NOT_READY });
            }
            futex::wait_for(&control.ready, ready, 10_000_000);
        }
    }

    /// Lets all begin at one instant and sets those free that were placed on a CPU.
    fn open_gate(&self) {
        self.count_groups(Moment::Begin);
        let control = self.site.shared.control();
        let start = now_ns() + LEAD_NS + Rng::split(self.site.seed, "begin").below(TICKS_NS);
        control.start_ns.store(start, Relaxed);
        crate::clock::sleep_until(start);
        self.site.gate.open();
        let placed = (0..self.site.shared.tasks()).filter_map(|number| {
            let record = self.site.shared.task(number);
            let role = self.role(record.role.load(Relaxed));
            role.start_on.map(|_| (record.tid.load(Relaxed), &role.cpus))
        });
        control.freed_ns[0].store(now_ns(), Relaxed);
        // A task that has ended already needs no freedom.
        placed.for_each(|(tid, cpus)| _ = attr::set_cpus(tid, cpus));
        control.freed_ns[1].store(now_ns(), Relaxed);
    }

    /// Lets arrivals come and carries orders out until the run is over.
    fn lead(&self) {
        let control = self.site.shared.control();
        let start = control.start_ns.load(Relaxed);
        let end = start.saturating_add(self.site.workload.run.duration.ns());
        let mut arrivals = Arrivals::new(self.site, start);
        let mut plugs = Plugs::new(self.site.workload, start);
        let plugger = self.plugger();
        let warmup = start.saturating_add(self.site.workload.run.warmup.ns());
        let mut is_warm = warmup == start || self.site.control_groups.is_empty();
        loop {
            let calls = control.calls.load(Acquire);
            let orders = std::mem::take(&mut *self.outbox.orders.lock().expect("nobody panics while holding it"));
            let idle = orders.is_empty();
            for order in orders {
                self.create_here(order);
                control.ordered.fetch_sub(1, AcqRel);
            }
            let next = arrivals.next_ns();
            if next == u64::MAX {
                control.all_arrived.store(1, Release);
            }
            let now = now_ns();
            if self.site.shared.is_stopped() || now >= end {
                return self.count_groups(Moment::End);
            }
            if !is_warm && now >= warmup {
                self.count_groups(Moment::Begin);
                is_warm = true;
            }
            for event in plugs.due(now) {
                plugger.send(*event).expect("it takes events as long as there are some");
            }
            let until = if is_warm { end } else { warmup }.min(plugs.next_ns());
            if next <= now {
                let (role, intended_ns) = arrivals.pop();
                self.create_here(Order { role, parent: None, intended_ns, at_gate: false });
                control.arrivals.fetch_add(1, Relaxed);
            } else if idle && next == u64::MAX && control.alive.load(Acquire) == 0 {
                return self.count_groups(Moment::End);
            } else {
                futex::wait_for(&control.calls, calls, next.min(until) - now);
            }
        }
    }

    /// A thread that has CPUs go and come, one after the other: it takes milliseconds, and tasks arrive meanwhile.
    fn plugger(&self) -> mpsc::Sender<Hotplug> {
        let (sender, events) = mpsc::channel();
        if !self.site.workload.hotplug.is_empty() {
            self.scope.spawn(move || {
                if events.iter().any(|event| plug(&event).is_err()) {
                    // The run is not what it should be.
                    leave_at_once(code::PLUG);
                }
            });
        }
        sender
    }

    /// Keeps what the kernel counts of the control groups now.
    fn count_groups(&self, moment: Moment) {
        for (group, counters) in self.site.control_groups.counters().into_iter().enumerate() {
            self.site.shared.count(moment, group, counters);
        }
    }

    /// A thread is born where its creator may be, so the master goes first to where the new one may be, and stays there.
    /// One of a real-time class does not wait behind others until it has that class.
    fn create_here(&self, order: Order) {
        let (role, ranks) = (self.role(order.role), self.site.ranks);
        // A task that cannot be born there moves there by itself.
        _ = attr::set_cpus(0, &role.cpus);
        if !role.class.is_realtime() {
            return self.create_late(order);
        }
        ranks.hurry_with_children();
        self.create_late(order);
        ranks.hurry();
    }

    /// A task that cannot be created while the run continues is dropped: its record never begins.
    fn create_late(&self, order: Order) {
        if let Some((number, order)) = self.number(order)
            && !self.create(number, order)
        {
            self.site.shared.end_task();
        }
    }

    /// Ends all tasks. An exit code if they would not.
    fn stop(&self) -> Option<i32> {
        let shared = &self.site.shared;
        let control = shared.control();
        shared.stop();
        self.site.gate.open();
        let until = now_ns() + GRACE_NS + GRACE_OF_EACH_NS * u64::from(shared.tasks());
        loop {
            let alive = control.alive.load(Acquire);
            if alive == 0 {
                self.count_cpu(&bury_all());
                return None;
            }
            if now_ns() > until {
                // Threads that do not end would keep the scope open for ever.
                leave_at_once(code::HUNG);
            }
            for number in 0..shared.tasks() {
                let record = shared.task(number);
                let (tid, pid) = (record.tid.load(Relaxed), record.pid.load(Relaxed));
                let program = record.program.load(Acquire);
                if program != 0 {
                    kill(program);
                }
                if tid != 0 && record.ended_ns.load(Relaxed) == 0 {
                    nudge(pid, tid);
                }
            }
            futex::wait_for(&control.alive, alive, 2_000_000);
        }
    }

    /// Writes down what the kernel has counted for all tasks, and for each process that did not read it itself.
    fn count_cpu(&self, buried: &HashMap<i32, u64>) {
        for record in (0..self.site.shared.tasks()).map(|number| self.site.shared.task(number)) {
            let is_process = self.role(record.role.load(Relaxed)).kind == Kind::Process;
            if let Some(&cpu_ns) = buried.get(&record.pid.load(Relaxed)).filter(|_| is_process)
                && record.cpu_ns.load(Relaxed) == 0
            {
                record.cpu_ns.store(cpu_ns, Relaxed);
            }
        }
        let [threads, processes] = &self.site.shared.control().tasks_cpu_ns;
        threads.store(process_cpu_ns().saturating_sub(thread_cpu_ns()), Relaxed);
        processes.store(buried.values().sum(), Relaxed);
    }
}

/// Ends the process with all of its threads.
fn leave_at_once(code: i32) -> ! {
    // SAFETY: what is left is the kernel's to take away.
    unsafe { libc::_exit(code) }
}

fn parent_process() -> i32 {
    // SAFETY: it takes nothing.
    unsafe { libc::getppid() }
}

/// In a process of its own no task can be created.
pub(crate) struct Nobody;

impl Spawner for Nobody {
    fn spawn(&self, _: u32, _: u32, _: u32) {}
}

/// In `ready`: a task was refused what its role asks for.
const REFUSED_BIT: u32 = 1 << 31;

/// A task from its first instruction to its last, in the thread or process that is the task.
fn live(site: &Site, spawner: &dyn Spawner, number: u32, order: Order) {
    let role = &site.workload.roles[order.role as usize];
    let record = site.shared.task(number);
    let control = site.shared.control();
    attr::set_name(&role.name);
    attr::set_punctual();
    // The working set of a task that is there from the start is its own; others share one, since making it takes time.
    let engine = if order.at_gate { crate::algorithm::Engine::new(site.algorithm) } else { site.engine.clone() };
    let mut worker = Worker::new(site, spawner, number, engine);
    let first: CpuSet = role.start_on.into_iter().collect();
    let cpus = if order.at_gate && role.start_on.is_some() { &first } else { &role.cpus };
    let class = site.ranks.class(role.class);
    // Before the CPUs, which older kernels reset with the control group.
    let enters = !role.control.inherits && role.control.begin != ControlGroupId::ROOT;
    let entered = if enters { site.control_groups.enter(role.control.begin) } else { Ok(()) };
    let refused = entered.is_err()
        || site.set_own_cpus(cpus).and_then(|()| attr::set_class(class, role.nice, role.slice)).is_err();
    record.pid.store(std::process::id() as i32, Relaxed);
    record.tid.store(attr::tid(), Release);
    if role.kind == Kind::Process {
        worker.touch_memory();
    }
    if refused {
        control.ready.fetch_or(REFUSED_BIT, AcqRel);
    }
    if order.at_gate {
        worker.forget();
        control.ready.fetch_add(1, AcqRel);
        futex::wake(&control.ready, 1);
        while !site.gate.pass() && !site.shared.is_stopped() {}
        let birth = control.start_ns.load(Relaxed) + order.intended_ns;
        record.intended_ns.store(birth, Relaxed);
        while order.intended_ns > 0 && !site.shared.is_stopped() && !crate::clock::sleep_until(birth) {}
    }
    worker.run();
}
