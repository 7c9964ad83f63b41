//! What the system itself takes on this machine: the costs that the simulator takes as inputs.
//!
//! Each is a difference of two measurements that take turns, one with the thing and one without, and the median of many
//! such pairs. All of it happens on two CPUs at most, which should have nothing else to do.

mod arrivals;
mod lives;
mod steps;
mod switches;
mod timers;

use crate::algorithm::{Algorithm, Engine};
use crate::attributes::{cpus, set_cpus};
use crate::calibration::{Calibration, quantile};
use crate::clock::{now_ns, thread_cpu_ns};
use crate::futex;
use crate::run::Settings;
use lives::{Beside, lives};
use schedlab_model::ids::CpuId;
use schedlab_model::result::SchedulerCosts;
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::time::Duration;
use switches::{Kind, handing_over, yielding};

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
    /// Waking a sleeper, on another CPU where there is one, as the waker feels it.
    pub wakeup: Option<Cost>,
    /// A timer tick.
    pub tick: Option<Cost>,
    /// The interrupt of a timer for which nobody waits.
    pub timer: Option<Cost>,
    /// Moving to another CPU and back at once.
    pub migration_warm: Option<Cost>,
    /// Moving to a CPU whose caches know nothing of the task: what reading a working set of 256 KiB takes longer.
    pub migration_cold: Option<Cost>,
    /// Creating a thread, as its parent pays.
    pub fork: Option<Cost>,
    /// A thread's begin, up to its first step.
    pub start: Option<Cost>,
    /// A thread's end.
    pub exit: Option<Cost>,
    /// Creating a process, as its parent pays.
    pub process_fork: Option<Cost>,
    /// A process's begin, up to its first step.
    pub process_start: Option<Cost>,
    /// A process's end.
    pub process_exit: Option<Cost>,
    /// Creating a task that arrives from outside.
    pub arrival: Option<Cost>,
    /// A sleep: CPU time of the task from the call to its next step.
    pub sleep: Option<Cost>,
    /// From the instant at which a sleep was to end to the next step, on a CPU that was idle.
    pub lateness: Option<Cost>,
    /// A request to a device, as `sleep`.
    pub io: Option<Cost>,
    /// A call that would wait at a futex and need not.
    pub futex_wait: Option<Cost>,
    /// A call that wakes at a futex at which nobody waits.
    pub futex_wake: Option<Cost>,
    /// Giving to or taking from a semaphore at which nobody waits.
    pub semaphore: Option<Cost>,
    /// Putting a message into a pipe in which nobody waits.
    pub pipe_send: Option<Cost>,
    /// Taking it out.
    pub pipe_recv: Option<Cost>,
    /// Putting a message into a socket in which nobody waits.
    pub socket_send: Option<Cost>,
    /// Taking it out.
    pub socket_recv: Option<Cost>,
}

impl Costs {
    /// From the end of a wait to the next step, after the switch: what is late of a sleep beside the interrupt, the wakeup
    /// and the switch.
    pub fn resume_ns(&self) -> Option<f64> {
        let [late, timer, wakeup] = [self.lateness, self.timer, self.wakeup].map(|cost| Some(cost?.median_ns));
        Some((late? - timer? - wakeup? - self.switch_ns()?).max(0.0))
    }

    /// As results tell them; an instruction takes so long.
    pub fn told(&self, ns_per_instruction: f64) -> SchedulerCosts {
        let median = |cost: Option<Cost>| cost.map(|cost| cost.median_ns);
        SchedulerCosts {
            ns_per_instruction,
            switch_thread_ns: median(self.switch_thread),
            switch_process_ns: median(self.switch_process),
            hand_over_ns: median(self.hand_over),
            wakeup_ns: median(self.wakeup),
            tick_ns: median(self.tick),
            migration_ns: median(self.migration_cold.or(self.migration_warm)),
            fork_ns: median(self.fork),
            start_ns: median(self.start),
            exit_ns: median(self.exit),
            timer_ns: median(self.timer),
            process_fork_ns: median(self.process_fork),
            process_start_ns: median(self.process_start),
            process_exit_ns: median(self.process_exit),
            arrival_ns: median(self.arrival),
            sleep_ns: median(self.sleep),
            resume_ns: self.resume_ns(),
            io_ns: median(self.io),
            futex_wait_ns: median(self.futex_wait),
            futex_wake_ns: median(self.futex_wake),
            semaphore_ns: median(self.semaphore),
            pipe_send_ns: median(self.pipe_send),
            pipe_recv_ns: median(self.pipe_recv),
            socket_send_ns: median(self.socket_send),
            socket_recv_ns: median(self.socket_recv),
        }
    }

    /// What a switch takes. Under a scheduler that lets a task that yields go on it is what a hand-over takes without the
    /// wakeup in it.
    pub fn switch_ns(&self) -> Option<f64> {
        let in_hand_over = || Some((self.hand_over?.median_ns - self.wakeup?.median_ns).max(0.0));
        self.switch_thread.map(|cost| cost.median_ns).or_else(in_hand_over)
    }
}

/// How much to measure.
#[derive(Clone, Debug)]
pub struct Effort {
    rounds: usize,
    yields: u32,
    wakes: u32,
    /// How long to look for ticks.
    tick_watch_ns: u64,
    /// A gap in a spinning thread's time that a tick can be: longer is something else, shorter the loop itself.
    tick_gap_ns: Range<u64>,
    /// Whether there are caches that can be cold.
    caches: bool,
}

impl Effort {
    /// For a processor, whose times vary.
    pub const REAL: Effort = Effort {
        rounds: 31,
        yields: 2000,
        wakes: 200,
        tick_watch_ns: 400_000_000,
        tick_gap_ns: 400..10_000,
        caches: true,
    };

    /// For an emulator that counts instructions: a tenth of a processor's speed, no chance, no caches.
    pub const EMULATED: Effort = Effort {
        rounds: 3,
        yields: 200,
        wakes: 40,
        tick_watch_ns: 100_000_000,
        tick_gap_ns: 4_000..2_000_000,
        caches: false,
    };
}

const WORKING_SET_KIB: u32 = 256;

impl Cost {
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
    let before = cpus()?;
    let mut here = before.iter();
    let (first, second) = (here.next().unwrap_or(CpuId(0)), here.next());
    bind(first)?;
    let mut costs = Costs {
        hand_over: Cost::of(&handing_over(first, effort)?),
        wakeup: Cost::of(&wakeups(second.unwrap_or(first), effort)),
        switch_thread: Cost::of(&yielding(first, Kind::Thread, effort)?),
        switch_process: Cost::of(&yielding(first, Kind::Process, effort)?),
        tick: Cost::of(&ticks(effort)),
        timer: Cost::of(&timers::interrupts(effort)?),
        migration_warm: second.and_then(|other| Cost::of(&warm_moves(first, other, effort).ok()?)),
        migration_cold: second
            .filter(|_| effort.caches)
            .and_then(|other| Cost::of(&cold_moves(first, other, effort).ok()?)),
        ..Costs::default()
    };
    bind(first)?;
    measure_calls(&mut costs, effort)?;
    set_cpus(0, &before)?;
    measure_lives(&mut costs);
    costs.arrival = arrivals::arrival_ns().ok().flatten().and_then(|ns| Cost::of(&[ns]));
    Ok(costs)
}

/// Lives of threads and processes, where what a wakeup, a switch and a sleep take is known.
fn measure_lives(costs: &mut Costs) {
    let known = [costs.wakeup, costs.sleep].map(|cost| cost.map(|cost| cost.median_ns));
    let ([Some(wakeup), Some(sleep)], Some(switch)) = (known, costs.switch_ns()) else { return };
    let of = |kind| lives(kind, Beside { wakeup, switch, sleep }).ok();
    if let Some(life) = of("thread") {
        (costs.fork, costs.start, costs.exit) = (life.fork, life.start, life.exit);
    }
    if let Some(life) = of("process") {
        (costs.process_fork, costs.process_start, costs.process_exit) = (life.fork, life.start, life.exit);
    }
}

/// For runs in which tasks compute nothing.
fn settings() -> Settings {
    Settings {
        algorithm: Algorithm::Spin,
        calibration: Calibration::unknown(Algorithm::Spin),
        seed: 1,
        look: Duration::from_secs(1),
        others: None,
    }
}

/// What tasks take for their calls.
fn measure_calls(costs: &mut Costs, effort: &Effort) -> io::Result<()> {
    let steps = steps::steps(effort)?;
    (costs.sleep, costs.lateness, costs.io) = (steps.sleep, steps.lateness, steps.io);
    costs.semaphore = steps.semaphore;
    [costs.pipe_send, costs.pipe_recv] = steps.pipe;
    [costs.socket_send, costs.socket_recv] = steps.socket;
    let word = AtomicU32::new(0);
    let many =
        |call: &dyn Fn()| Cost::of(&(0..effort.wakes).map(|_| cpu_time(call) - steps.nothing_ns).collect::<Vec<_>>());
    costs.futex_wait = many(&|| futex::wait(&word, 1));
    costs.futex_wake = many(&|| futex::wake(&word, 1));
    Ok(())
}

fn bind(cpu: CpuId) -> io::Result<()> {
    set_cpus(0, &[cpu].into_iter().collect())
}

/// CPU time of waking a thread that sleeps, on another CPU where there is one, less that of the same call with nobody asleep.
fn wakeups(other: CpuId, effort: &Effort) -> Vec<f64> {
    let (word, stop, asleep) = (AtomicU32::new(0), AtomicBool::new(false), AtomicU32::new(0));
    let mut values = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = bind(other);
            let mut seen = 0;
            while !stop.load(SeqCst) {
                asleep.store(1, SeqCst);
                futex::wait(&word, seen);
                seen = word.load(SeqCst);
            }
        });
        for _ in 0..effort.wakes {
            while asleep.swap(0, SeqCst) == 0 {
                // SAFETY: it takes nothing.
                unsafe { libc::sched_yield() };
            }
            // From telling that it will sleep to sleeping.
            crate::clock::sleep_until(now_ns() + 200_000);
            let nobody = AtomicU32::new(0);
            let idle = cpu_time(|| futex::wake(&nobody, 1));
            word.fetch_add(1, SeqCst);
            let waking = cpu_time(|| futex::wake(&word, 1));
            values.push(waking - idle);
        }
        stop.store(true, SeqCst);
        word.fetch_add(1, SeqCst);
        futex::wake(&word, 1);
    });
    values.retain(|&ns| ns > 0.0);
    values
}

/// CPU time, which waiting for the CPU is no part of.
fn cpu_time(f: impl FnOnce()) -> f64 {
    let begin = thread_cpu_ns();
    f();
    (thread_cpu_ns() - begin) as f64
}

/// Gaps in the time of a thread that does nothing but look at the clock. Most of those of the right length are ticks.
fn ticks(effort: &Effort) -> Vec<f64> {
    let looks: Vec<f64> = gaps(|number, _| number < LOOKS).map(|gap| gap as f64).collect();
    let shortest = effort.tick_gap_ns.start.max((3.0 * quantile(&looks, 0.5)) as u64);
    let tick = shortest..effort.tick_gap_ns.end;
    gaps(|_, passed| passed < effort.tick_watch_ns).filter(|gap| tick.contains(gap)).map(|gap| gap as f64).collect()
}

/// So many looks at the clock tell how long one takes.
const LOOKS: usize = 500;

/// The times between one look at the clock and the next, as long as their number and the time since the first allow.
fn gaps(go_on: impl Fn(usize, u64) -> bool) -> impl Iterator<Item = u64> {
    let begin = now_ns();
    let mut last = begin;
    (0..).map_while(move |number| {
        let before = std::mem::replace(&mut last, now_ns());
        go_on(number, last - begin).then_some(last - before)
    })
}

/// Moving to another CPU and back, per move: how much longer it takes than staying.
fn warm_moves(first: CpuId, other: CpuId, effort: &Effort) -> io::Result<Vec<f64>> {
    let mut values = Vec::new();
    for _ in 0..effort.rounds {
        bind(first)?;
        let stay = cpu_time(|| _ = bind(first));
        let there_and_back = cpu_time(|| _ = bind(other).and_then(|()| bind(first)));
        values.push((there_and_back - 2.0 * stay) / 2.0);
    }
    values.retain(|&ns| ns > 0.0);
    Ok(values)
}

/// How much longer the first walk through a working set takes on a CPU on which the task has not been, while another task
/// used that CPU's caches.
fn cold_moves(first: CpuId, other: CpuId, effort: &Effort) -> io::Result<Vec<f64>> {
    let mut values = Vec::new();
    let mut engine = Engine::new(Algorithm::Memory(WORKING_SET_KIB));
    let mut others = Engine::new(Algorithm::Memory(8 * WORKING_SET_KIB));
    let whole = |engine: &mut Engine, kib: u32| engine.burn(u64::from(kib));
    for _ in 0..effort.rounds {
        bind(other)?;
        whole(&mut others, 8 * WORKING_SET_KIB);
        bind(first)?;
        whole(&mut engine, WORKING_SET_KIB);
        let usual = cpu_time(|| whole(&mut engine, WORKING_SET_KIB));
        bind(other)?;
        let after_move = cpu_time(|| whole(&mut engine, WORKING_SET_KIB));
        values.push(after_move - usual);
    }
    values.retain(|&ns| ns > 0.0);
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_known_where_no_yield_makes_one() {
        let cost = |ns: f64| Cost::of(&[ns]);
        let known = Costs { hand_over: cost(1500.0), wakeup: cost(600.0), ..Costs::default() };
        assert_eq!(Costs { switch_thread: cost(700.0), ..known.clone() }.switch_ns(), Some(700.0));
        assert_eq!(known.switch_ns(), Some(900.0));
        assert_eq!(Costs { hand_over: None, ..known.clone() }.switch_ns(), None);
        assert_eq!(Costs { wakeup: None, ..known }.switch_ns(), None);
    }

    #[test]
    fn costs_are_found_or_said_to_be_unknown() {
        let costs = measure(&Effort::REAL).unwrap();
        let life = [costs.fork, costs.start, costs.exit, costs.process_fork, costs.process_start, costs.process_exit];
        assert!(life.iter().all(Option::is_some), "threads and processes can be created: {life:?}");
        let calls = [costs.sleep, costs.lateness, costs.io, costs.semaphore, costs.arrival];
        let messages = [costs.pipe_send, costs.pipe_recv, costs.socket_send, costs.socket_recv];
        assert!(calls.iter().chain(&messages).all(Option::is_some), "{calls:?} {messages:?}");
        let all = [costs.switch_thread, costs.switch_process, costs.wakeup, costs.tick, costs.migration_cold];
        for cost in all.into_iter().chain(life).flatten() {
            assert!(cost.quartiles_ns.0 <= cost.median_ns && cost.median_ns <= cost.quartiles_ns.1, "{cost:?}");
            assert!(cost.median_ns > 0.0 && cost.count > 0);
        }
        assert!(costs.switch_thread.is_some(), "two threads on one CPU switch");
    }
}
