//! What the system itself takes on this machine: the costs that the simulator takes as inputs.
//!
//! Each is a difference of two measurements that take turns, one with the thing and one without, and the median of many
//! such pairs. All of it happens on two CPUs at most, which should have nothing else to do.

use crate::algorithm::{Algorithm, Engine};
use crate::attributes::{cpus, set_cpus};
use crate::calibration::quantile;
use crate::clock::{now_ns, thread_cpu_ns};
use crate::futex;
use crate::process::{bury, die_with};
use crate::shared::Shared;
use schedlab_model::ids::CpuId;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// From one thread to another of the same process.
    pub switch_thread: Option<Cost>,
    /// From one process to another.
    pub switch_process: Option<Cost>,
    /// Waking a sleeper on another CPU, as the waker feels it.
    pub wakeup: Option<Cost>,
    /// A timer tick.
    pub tick: Option<Cost>,
    /// Moving to another CPU and back at once.
    pub migration_warm: Option<Cost>,
    /// Moving to a CPU whose caches know nothing of the task: what reading a working set of 256 KiB takes longer.
    pub migration_cold: Option<Cost>,
}

const ROUNDS: usize = 31;
const YIELDS: u32 = 2000;
const WAKES: u32 = 200;
const WORKING_SET_KIB: u32 = 256;
/// How long to look for ticks.
const TICK_WATCH_NS: u64 = 400_000_000;
/// A gap in a spinning thread's time that a tick can be: longer is something else, shorter the loop itself.
const TICK_GAP_NS: std::ops::Range<u64> = 400..10_000;

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

/// Measures all of them; takes about two seconds.
pub fn measure() -> io::Result<Costs> {
    let before = cpus()?;
    let mut here = before.iter();
    let (first, second) = (here.next().unwrap_or(CpuId(0)), here.next());
    bind(first)?;
    let costs = Costs {
        switch_thread: Cost::of(&switches(first, Kind::Thread)?),
        switch_process: Cost::of(&switches(first, Kind::Process)?),
        wakeup: second.and_then(|other| Cost::of(&wakeups(other))),
        tick: Cost::of(&ticks()),
        migration_warm: second.and_then(|other| Cost::of(&moves(first, other).ok()?.0)),
        migration_cold: second.and_then(|other| Cost::of(&moves(first, other).ok()?.1)),
    };
    set_cpus(0, &before)?;
    Ok(costs)
}

fn bind(cpu: CpuId) -> io::Result<()> {
    set_cpus(0, &[cpu].into_iter().collect())
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Thread,
    Process,
}

/// Yields with a partner on the same CPU, less yields alone, per switch.
fn switches(cpu: CpuId, kind: Kind) -> io::Result<Vec<f64>> {
    let shared = Shared::new(1)?;
    let mut values = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let alone = yields();
        let together = with_partner(&shared, cpu, kind, yields)?;
        // Both yield as often, and every yield is a switch: the partner's time is in it as well.
        values.push((together - 2.0 * alone) / 2.0);
    }
    Ok(values.into_iter().filter(|&ns| ns > 0.0).collect())
}

/// Wall time of a yield.
fn yields() -> f64 {
    let begin = now_ns();
    for _ in 0..YIELDS {
        // SAFETY: it takes nothing.
        unsafe { libc::sched_yield() };
    }
    (now_ns() - begin) as f64 / f64::from(YIELDS)
}

/// Measures while a partner on the same CPU yields all the time.
fn with_partner(shared: &Shared, cpu: CpuId, kind: Kind, measure: fn() -> f64) -> io::Result<f64> {
    let (stop, ready) = (&shared.object(0)[0], &shared.object(0)[1]);
    stop.store(0, SeqCst);
    ready.store(0, SeqCst);
    let yield_on = || {
        let bound = bind(cpu);
        ready.store(1, SeqCst);
        while bound.is_ok() && stop.load(Relaxed) == 0 {
            // SAFETY: it takes nothing.
            unsafe { libc::sched_yield() };
        }
    };
    let measured = || {
        while ready.load(SeqCst) == 0 {
            // SAFETY: as above.
            unsafe { libc::sched_yield() };
        }
        let time = measure();
        stop.store(1, SeqCst);
        time
    };
    if kind == Kind::Thread {
        return Ok(std::thread::scope(|scope| {
            scope.spawn(yield_on);
            measured()
        }));
    }
    let parent = std::process::id() as i32;
    // SAFETY: the child yields and leaves by `_exit`.
    match unsafe { libc::fork() } {
        0 => {
            die_with(parent);
            yield_on();
            // SAFETY: nothing of the parent is to be run.
            unsafe { libc::_exit(0) }
        }
        pid if pid > 0 => {
            let time = measured();
            bury(pid);
            Ok(time)
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waking a thread that sleeps on another CPU, less the same call with nobody asleep.
fn wakeups(other: CpuId) -> Vec<f64> {
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
        for _ in 0..WAKES {
            while asleep.swap(0, SeqCst) == 0 {
                std::hint::spin_loop();
            }
            // From telling that it will sleep to sleeping.
            crate::clock::sleep_until(now_ns() + 200_000);
            let nobody = AtomicU32::new(0);
            let idle = time(|| futex::wake(&nobody, 1));
            word.fetch_add(1, SeqCst);
            let waking = time(|| futex::wake(&word, 1));
            values.push(waking - idle);
        }
        stop.store(true, SeqCst);
        word.fetch_add(1, SeqCst);
        futex::wake(&word, 1);
    });
    values.retain(|&ns| ns > 0.0);
    values
}

fn time(f: impl FnOnce()) -> f64 {
    let begin = now_ns();
    f();
    (now_ns() - begin) as f64
}

/// CPU time, which waiting for the CPU is no part of.
fn cpu_time(f: impl FnOnce()) -> f64 {
    let begin = thread_cpu_ns();
    f();
    (thread_cpu_ns() - begin) as f64
}

/// Gaps in the time of a thread that does nothing but look at the clock. Most of those of the right length are ticks.
fn ticks() -> Vec<f64> {
    let begin = now_ns();
    let mut last = begin;
    let mut gaps = Vec::new();
    while last - begin < TICK_WATCH_NS {
        let now = now_ns();
        if TICK_GAP_NS.contains(&(now - last)) {
            gaps.push((now - last) as f64);
        }
        last = now;
    }
    gaps
}

/// Walks through a working set, moves, and walks again: how much longer the move itself takes than staying, and how
/// much longer the first walk on a CPU that the task has not been on, while another task used that CPU's caches.
fn moves(first: CpuId, other: CpuId) -> io::Result<(Vec<f64>, Vec<f64>)> {
    let (mut warm, mut cold) = (Vec::new(), Vec::new());
    let mut engine = Engine::new(Algorithm::Memory(WORKING_SET_KIB));
    let mut others = Engine::new(Algorithm::Memory(8 * WORKING_SET_KIB));
    let whole = |engine: &mut Engine, kib: u32| engine.burn(u64::from(kib));
    for _ in 0..ROUNDS {
        bind(first)?;
        whole(&mut engine, WORKING_SET_KIB);
        let stay = cpu_time(|| _ = bind(first));
        let there_and_back = cpu_time(|| _ = bind(other).and_then(|()| bind(first)));
        warm.push((there_and_back - 2.0 * stay) / 2.0);
        bind(other)?;
        whole(&mut others, 8 * WORKING_SET_KIB);
        bind(first)?;
        whole(&mut engine, WORKING_SET_KIB);
        let usual = cpu_time(|| whole(&mut engine, WORKING_SET_KIB));
        bind(other)?;
        let after_move = cpu_time(|| whole(&mut engine, WORKING_SET_KIB));
        cold.push(after_move - usual);
    }
    warm.retain(|&ns| ns > 0.0);
    cold.retain(|&ns| ns > 0.0);
    Ok((warm, cold))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_found_or_said_to_be_unknown() {
        let costs = measure().unwrap();
        let all = [costs.switch_thread, costs.switch_process, costs.wakeup, costs.tick, costs.migration_cold];
        for cost in all.into_iter().flatten() {
            assert!(cost.quartiles_ns.0 <= cost.median_ns && cost.median_ns <= cost.quartiles_ns.1, "{cost:?}");
            assert!(cost.median_ns > 0.0 && cost.count > 0);
        }
        assert!(costs.switch_thread.is_some(), "two threads on one CPU switch");
    }
}
