//! What the system itself takes on this machine: the costs that the simulator takes as inputs.
//!
//! Each is a difference of two measurements that take turns, one with the thing and one without, and the median of many
//! such pairs. All of it happens on two CPUs at most, which should have nothing else to do.

mod arrivals;
mod creations;
mod departures;
mod interrupts;
mod kernel_threads;
mod lives;
mod moves;
mod preemptions;
mod sleeper;
mod steps;
mod switches;
mod waits;
mod wakeups;

use crate::algorithm::Algorithm;
use crate::apart::Apart;
use crate::attributes::{cpus, set_cpus};
use crate::calibration::{Calibration, quantile};
use crate::clock::{now_ns, sleep_until, thread_cpu_ns};
use crate::futex;
use crate::run::{Settings, pinned};
use lives::{Beside, lives};
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::CpuId;
use schedlab_model::result::SchedulerCosts;
use schedlab_model::workload;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::time::Duration;
use switches::{Kind, handing_over, yielding};
use wakeups::{Wakeups, wakeups};

/// A measured cost in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The median.
    pub median_ns: f64,
    /// The quartiles.
    pub quartiles_ns: (f64, f64),
    /// How many measurements.
    pub count: u32,
}

/// The costs of a machine; absent is what could not be measured here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// From one thread to another of the same process.
    pub switch_thread: Option<Cost>,
    /// From one process to another.
    pub switch_process: Option<Cost>,
    /// A wakeup and a switch: a thread wakes another on its CPU and goes to sleep.
    pub hand_over: Option<Cost>,
    /// From a thread that goes to sleep to another that waits for the CPU.
    pub switch_wait: Option<Cost>,
    /// What a switch takes more on a CPU that was idle and had stopped its tick.
    pub idle_exit: Option<Cost>,
    /// What a wakeup and a switch take more where the woken thread takes its waker's CPU.
    pub preempt: Option<Cost>,
    /// Waking a sleeper on the waker's CPU, as the waker feels it; on another one where the waker may not be a real-time task.
    pub wakeup: Option<Cost>,
    /// What that takes more on another CPU, which is idle.
    pub wakeup_remote: Option<Cost>,
    /// What it takes more for a sleeper that may run on several CPUs.
    pub wakeup_select: Option<Cost>,
    /// A timer tick.
    pub tick: Option<Cost>,
    /// The interrupt of a timer without a waiter.
    pub timer: Option<Cost>,
    /// Moving a task that waits to another CPU.
    pub migration_warm: Option<Cost>,
    /// Moving to a CPU with cold caches: how much longer it takes to read a working set of 256 KiB.
    pub migration_cold: Option<Cost>,
    /// Creating a thread, as its parent pays.
    pub fork: Option<Cost>,
    /// A thread's begin, up to its first step.
    pub start: Option<Cost>,
    /// A thread's end.
    pub exit: Option<Cost>,
    /// Creating a process, as its parent pays.
    pub process_fork: Option<Cost>,
    /// What that takes more for each other thread of the parent's process.
    pub process_fork_thread: Option<Cost>,
    /// Creating a process, as its parent pays once it is awake.
    pub process_return: Option<Cost>,
    /// Creating processes, as their parent pays once for all that it creates at a time.
    pub process_copy: Option<Cost>,
    /// A process's begin, up to its first step.
    pub process_start: Option<Cost>,
    /// What that takes more while processes that are created later at that time have the same memory.
    pub process_start_shared: Option<Cost>,
    /// What that takes more where it runs before its parent continues.
    pub process_start_first: Option<Cost>,
    /// What that takes more for each other thread of its parent's process.
    pub process_start_thread: Option<Cost>,
    /// A process's end.
    pub process_exit: Option<Cost>,
    /// What that takes more for each other thread of its parent's process.
    pub process_exit_thread: Option<Cost>,
    /// Creating a thread that arrives from outside.
    pub arrival: Option<Cost>,
    /// The same of a process.
    pub process_arrival: Option<Cost>,
    /// The kernel's thread that waits for grace periods, each time that it runs.
    pub grace_period: Option<Cost>,
    /// What the kernel's other threads take for each task that has ended.
    pub reclaim: Option<Cost>,
    /// A worker of the kernel that is bound to a CPU, each time that it runs.
    pub statistics: Option<Cost>,
    /// A sleep: CPU time of the task from the call to its next step.
    pub sleep: Option<Cost>,
    /// From the instant at which a sleep was to end to the next step, on a CPU that was idle.
    pub lateness: Option<Cost>,
    /// A request to a device, as `sleep`.
    pub io: Option<Cost>,
    /// A call that would wait at a futex and need not.
    pub futex_wait: Option<Cost>,
    /// A wake call at a futex without a waiter.
    pub futex_wake: Option<Cost>,
    /// Giving to or taking from a semaphore without a waiter.
    pub semaphore: Option<Cost>,
    /// Writing down a task's own request.
    pub request: Option<Cost>,
    /// Sending a request on, next to the call that does.
    pub request_send: Option<Cost>,
    /// Taking one over.
    pub request_recv: Option<Cost>,
    /// Putting a message into a pipe without a waiting reader, in a page that the pipe has kept.
    pub pipe_send: Option<Cost>,
    /// Taking it out.
    pub pipe_recv: Option<Cost>,
    /// What putting one in takes more that needs a new page.
    pub pipe_alloc: Option<Cost>,
    /// What taking one out takes more whose page the pipe does not keep.
    pub pipe_free: Option<Cost>,
    /// Waiting in a pipe.
    pub pipe_wait: Option<Cost>,
    /// What of that comes after the wakeup.
    pub pipe_resume: Option<Cost>,
    /// Putting a message into a socket without a waiting reader.
    pub socket_send: Option<Cost>,
    /// Taking it out.
    pub socket_recv: Option<Cost>,
    /// Waiting at a socket.
    pub socket_wait: Option<Cost>,
    /// What of that comes after the wakeup.
    pub socket_resume: Option<Cost>,
}

impl Costs {
    /// As results tell them; an instruction takes so long.
    pub fn told(&self, ns_per_instruction: f64) -> SchedulerCosts {
        let median = |cost: Option<Cost>| cost.map(|cost| cost.median_ns);
        let mut told = SchedulerCosts {
            ns_per_instruction,
            switch_thread_ns: median(self.switch_thread),
            switch_process_ns: median(self.switch_process),
            hand_over_ns: median(self.hand_over),
            switch_wait_ns: median(self.switch_wait),
            idle_exit_ns: median(self.idle_exit),
            preempt_ns: median(self.preempt),
            wakeup_ns: median(self.wakeup),
            wakeup_remote_ns: median(self.wakeup_remote),
            wakeup_select_ns: median(self.wakeup_select),
            tick_ns: median(self.tick),
            migration_ns: median(self.migration_cold.or(self.migration_warm)),
            fork_ns: median(self.fork),
            start_ns: median(self.start),
            exit_ns: median(self.exit),
            timer_ns: median(self.timer),
            process_fork_ns: median(self.process_fork),
            process_fork_thread_ns: median(self.process_fork_thread),
            process_return_ns: median(self.process_return),
            process_copy_ns: median(self.process_copy),
            process_start_ns: median(self.process_start),
            process_exit_ns: median(self.process_exit),
            process_start_shared_ns: median(self.process_start_shared),
            process_start_first_ns: median(self.process_start_first),
            process_start_thread_ns: median(self.process_start_thread),
            process_exit_thread_ns: median(self.process_exit_thread),
            arrival_ns: median(self.arrival),
            process_arrival_ns: median(self.process_arrival),
            grace_period_ns: median(self.grace_period),
            reclaim_ns: median(self.reclaim),
            statistics_ns: median(self.statistics),
            sleep_ns: median(self.sleep),
            resume_ns: None,
            io_ns: median(self.io),
            futex_wait_ns: median(self.futex_wait),
            futex_wake_ns: median(self.futex_wake),
            semaphore_ns: median(self.semaphore),
            request_ns: median(self.request),
            request_send_ns: median(self.request_send),
            request_recv_ns: median(self.request_recv),
            pipe_send_ns: median(self.pipe_send),
            pipe_recv_ns: median(self.pipe_recv),
            pipe_alloc_ns: median(self.pipe_alloc),
            pipe_free_ns: median(self.pipe_free),
            pipe_wait_ns: median(self.pipe_wait),
            pipe_resume_ns: median(self.pipe_resume),
            socket_send_ns: median(self.socket_send),
            socket_recv_ns: median(self.socket_recv),
            socket_wait_ns: median(self.socket_wait),
            socket_resume_ns: median(self.socket_resume),
        };
        told.resume_ns = self.lateness.and_then(|late| resume_ns(late.median_ns, &told));
        told
    }
}

/// From the end of a wait to the next step, after the switch: what is late of a sleep next to the interrupt, the wakeup and
/// the switch.
fn resume_ns(late_ns: f64, told: &SchedulerCosts) -> Option<f64> {
    Some((late_ns - told.timer_ns? - told.wakeup_ns? - told.switch_ns()?).max(0.0))
}

/// How much to measure.
#[derive(Clone, Debug)]
pub struct Effort {
    /// How long whatever was before may take to be over.
    calm_ns: u64,
    rounds: usize,
    yields: u32,
    wakes: u32,
    /// How long to look for ticks.
    tick_watch_ns: u64,
    /// A gap in a spinning thread's time that a tick can be: longer is something else, shorter the loop itself.
    tick_gap_ns: Range<u64>,
    /// Whether there are caches that can be cold.
    caches: bool,
    /// Whether no other task is at work on the machine.
    alone: bool,
}

impl Effort {
    /// For real hardware, where times vary.
    pub const REAL: Effort = Effort {
        calm_ns: 0,
        rounds: 31,
        yields: 2000,
        wakes: 200,
        tick_watch_ns: 400_000_000,
        tick_gap_ns: 400..10_000,
        caches: true,
        alone: false,
    };

    /// For an emulator that counts instructions: a tenth of a processor's speed, no chance, no caches.
    pub const EMULATED: Effort = Effort {
        calm_ns: 100_000_000,
        rounds: 15,
        yields: 50,
        wakes: 40,
        tick_watch_ns: 400_000_000,
        tick_gap_ns: 4_000..2_000_000,
        caches: false,
        alone: true,
    };
}

impl Cost {
    /// One that was found as a difference; none where noise hides it.
    fn positive(ns: f64) -> Option<Cost> {
        Some(ns).filter(|ns| *ns > 0.0).and_then(|ns| Cost::of(&[ns]))
    }

    fn of(values: &[f64]) -> Option<Cost> {
        let q = |q| quantile(values, q);
        (!values.is_empty()).then(|| Cost {
            median_ns: q(0.5),
            quartiles_ns: (q(0.25), q(0.75)),
            count: values.len() as u32,
        })
    }
}

/// Measures all of them; on a processor it takes some seconds.
pub fn measure(effort: &Effort) -> io::Result<Costs> {
    let before = kernel_threads::Threads::look();
    // In a process of its own: threads leave areas of memory behind, which each process gets that is created later.
    let measured = Apart::start(|tell| tell.write_all(&serde_json::to_vec(&measure_without_lives(effort)?)?))?;
    let mut costs: Costs = serde_json::from_slice(&measured.told()?)
        .map_err(|_| io::Error::other("the process that measures costs has failed"))?;
    costs.statistics = kernel_threads::worker_ns(before).and_then(Cost::positive);
    let alone_on = Some(cpus()?).filter(|_| effort.alone);
    // Which of a parent and its child writes to a page first is not defined on two CPUs.
    let (ended, taken) = pinned(|| kernel_threads::beside(|| measure_lives(&mut costs, alone_on.as_ref())))?;
    costs.grace_period = taken.and_then(|taken| Cost::of(&[taken.waiter_ns?]));
    costs.reclaim = taken.zip(ended).and_then(|(taken, ended)| Cost::of(&[taken.others_ns / ended]));
    let arrival = |kind| arrivals::arrival_ns(kind).ok().and_then(Cost::positive);
    (costs.arrival, costs.process_arrival) = (arrival(workload::Kind::Thread), arrival(workload::Kind::Process));
    Ok(costs)
}

/// All but what creating and ending tasks takes.
fn measure_without_lives(effort: &Effort) -> io::Result<Costs> {
    let before = cpus()?;
    let mut here = before.iter();
    let (first, second) = (here.next().unwrap_or(CpuId(0)), here.next());
    bind(first)?;
    sleep_until(now_ns() + effort.calm_ns);
    let Wakeups { own: wakeup, remote: wakeup_remote, select: wakeup_select } = wakeups(first, second, effort);
    let mut costs = Costs {
        hand_over: Cost::of(&handing_over(first, wakeup.map_or(0.0, |cost| cost.median_ns), effort)?),
        wakeup,
        wakeup_remote,
        wakeup_select,
        switch_thread: Cost::of(&yielding(first, Kind::Thread, effort)?),
        switch_process: Cost::of(&yielding(first, Kind::Process, effort)?),
        tick: Cost::of(&interrupts::ticks(effort)),
        timer: Cost::of(&interrupts::of_timers(effort)?),
        migration_warm: second.and_then(|other| Cost::of(&moves::warm(first, other, effort).ok()?)),
        migration_cold: second
            .filter(|_| effort.caches)
            .and_then(|other| Cost::of(&moves::cold(first, other, effort).ok()?)),
        ..Costs::default()
    };
    bind(first)?;
    costs.switch_wait = Cost::of(&departures::departures(first, effort));
    costs.preempt = preempting(&costs, first, effort);
    measure_calls(&mut costs, effort)?;
    Ok(costs)
}

/// What a preemption takes next to a wakeup and the switches there and back.
fn preempting(costs: &Costs, cpu: CpuId, effort: &Effort) -> Option<Cost> {
    let told = costs.told(0.0);
    let others_ns = told.wakeup_ns? + told.switch_ns()? + told.switch_wait_ns?;
    preemptions::there_and_back(cpu, effort).and_then(|ns| Cost::positive(ns - others_ns))
}

/// Lives of threads and processes, where what a wakeup and a sleep take is known; how many there were.
fn measure_lives(costs: &mut Costs, alone_on: Option<&CpuSet>) -> Option<f64> {
    let [wakeup, sleep, call] = [costs.wakeup?, costs.sleep?, costs.futex_wake?].map(|cost| cost.median_ns);
    let of = |kind, exit| lives(kind, Beside { wakeup, sleep, exit, call }, alone_on).ok();
    let thread = of(lives::Kind::Thread, 0.0)?;
    let process = of(lives::Kind::Process, thread.exit?.median_ns)?;
    (costs.fork, costs.start, costs.exit) = (thread.fork, thread.start, thread.exit);
    (costs.process_fork, costs.process_start, costs.process_exit) = (process.fork, process.start, process.exit);
    (costs.process_fork_thread, costs.process_start_thread) = (process.fork_thread, process.start_thread);
    (costs.process_start_shared, costs.process_exit_thread) = (process.start_shared, process.exit_thread);
    (costs.process_return, costs.process_copy) = (process.return_of_fork, process.copy);
    costs.process_start_first = process.start_first;
    Some(f64::from(thread.ended + process.ended))
}

/// For runs in which tasks compute nothing.
fn settings() -> Settings {
    Settings {
        algorithm: Algorithm::Spin,
        calibration: Calibration::unknown(Algorithm::Spin),
        seed: 1,
        look: Duration::from_secs(1),
        others: None,
        reads_cpu_time: true,
    }
}

/// What tasks take for their calls.
fn measure_calls(costs: &mut Costs, effort: &Effort) -> io::Result<()> {
    let steps = steps::steps(effort)?;
    (costs.sleep, costs.lateness, costs.io) = (steps.sleep, steps.lateness, steps.io);
    (costs.semaphore, costs.idle_exit, costs.request) = (steps.semaphore, steps.idle_exit, steps.request);
    [costs.request_send, costs.request_recv] = steps.passing;
    [costs.pipe_send, costs.pipe_recv] = steps.pipe;
    [costs.pipe_alloc, costs.pipe_free] = steps.pages;
    [costs.socket_send, costs.socket_recv] = steps.socket;
    (costs.pipe_wait, costs.pipe_resume) = waits::waiting("pipe", costs, steps.pipe, effort);
    (costs.socket_wait, costs.socket_resume) = waits::waiting("socket", costs, steps.socket, effort);
    let word = AtomicU32::new(0);
    let many =
        |call: &dyn Fn()| Cost::of(&(0..effort.wakes).map(|_| cpu_time(call) - steps.nothing_ns).collect::<Vec<_>>());
    costs.futex_wait = many(&|| futex::wait(&word, 1));
    costs.futex_wake = many(&|| _ = futex::wake(&word, 1));
    Ok(())
}

fn bind(cpu: CpuId) -> io::Result<()> {
    set_cpus(0, &[cpu].into_iter().collect())
}

/// CPU time, which waiting for the CPU is no part of.
fn cpu_time(f: impl FnOnce()) -> f64 {
    let begin = thread_cpu_ns();
    f();
    (thread_cpu_ns() - begin) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_late_of_a_sleep_beside_its_known_parts_is_the_way_back() {
        let cost = |ns: f64| Cost::of(&[ns]);
        let known = Costs {
            lateness: cost(4000.0),
            timer: cost(1000.0),
            wakeup: cost(600.0),
            hand_over: cost(1500.0),
            migration_warm: cost(80.0),
            ..Costs::default()
        };
        let told = known.told(5.0);
        assert_eq!((told.resume_ns, told.ns_per_instruction), (Some(1500.0), 5.0), "a switch takes 900 ns");
        assert_eq!(Costs { switch_thread: cost(3000.0), ..known.clone() }.told(5.0).resume_ns, Some(0.0));
        assert_eq!(Costs { timer: None, ..known.clone() }.told(5.0).resume_ns, None);
        assert_eq!(told.migration_ns, Some(80.0), "where no cache is cold");
        assert_eq!(Costs { migration_cold: cost(9000.0), ..known }.told(5.0).migration_ns, Some(9000.0));
    }

    #[test]
    fn costs_are_found_or_said_to_be_unknown() {
        let costs = measure(&Effort::REAL).unwrap();
        let life = [costs.start, costs.exit, costs.process_start, costs.process_exit];
        assert!(life.iter().all(Option::is_some), "threads and processes can be created: {life:?}");
        // What a creation takes is the difference of two runs: on a machine with other work it may be told to be unknown.
        let creations = [costs.fork, costs.process_fork];
        let calls = [
            costs.sleep,
            costs.lateness,
            costs.io,
            costs.semaphore,
            costs.request,
            costs.arrival,
            costs.process_arrival,
        ];
        let messages = [costs.pipe_send, costs.pipe_recv, costs.socket_send, costs.socket_recv];
        assert!(calls.iter().chain(&messages).all(Option::is_some), "{calls:?} {messages:?}");
        let all =
            [costs.switch_thread, costs.switch_process, costs.preempt, costs.wakeup, costs.tick, costs.migration_cold];
        for cost in all.into_iter().chain(life).chain(creations).flatten() {
            assert!(cost.quartiles_ns.0 <= cost.median_ns && cost.median_ns <= cost.quartiles_ns.1, "{cost:?}");
            assert!(cost.median_ns > 0.0 && cost.count > 0);
        }
        assert!(costs.switch_thread.is_some(), "two threads on one CPU switch");
    }
}
