//! What it takes to get from one task to another on the same CPU.

use super::{Effort, bind};
use crate::clock::now_ns;
use crate::futex;
use crate::process::{bury, die_with};
use crate::shared::Shared;
use schedlab_model::ids::CpuId;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// Whether the two tasks share their memory.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Thread,
    Process,
}

/// A round counts when so many of its yields were switches: some schedulers let the one that yields go on.
const LEAST_SWITCHING: f64 = 0.95;

/// A switch: yields in turns with a partner, less yields alone.
pub fn yielding(cpu: CpuId, kind: Kind, effort: &Effort) -> io::Result<Vec<f64>> {
    let shared = Shared::new(1, 0)?;
    let count = effort.yields;
    let mut values = Vec::with_capacity(effort.rounds);
    for _ in 0..effort.rounds {
        let (alone, _) = yields(count);
        let (together, left) = beside(&shared, cpu, kind, yield_on, || {
            yields(1);
            yields(count)
        })?;
        if left as f64 >= LEAST_SWITCHING * f64::from(count) {
            // Both yield as often, and every yield is a switch: the partner's time is in it as well.
            values.push((together - 2.0 * alone) / 2.0 / left as f64);
        }
    }
    values.retain(|&ns| ns > 0.0);
    Ok(values)
}

/// A hand-over: one task wakes another and sleeps, so that the other runs; less the system calls for it. Two tasks hand a
/// word to and fro.
pub fn handing_over(cpu: CpuId, effort: &Effort) -> io::Result<Vec<f64>> {
    let shared = Shared::new(1, 0)?;
    let mut values = Vec::with_capacity(effort.rounds);
    for _ in 0..effort.rounds {
        let calls = calls(effort.yields);
        let there_and_back = beside(&shared, cpu, Kind::Thread, answer, || ask(&shared, effort.yields))?;
        values.push((there_and_back - 2.0 * calls) / 2.0 / f64::from(effort.yields));
    }
    values.retain(|&ns| ns > 0.0);
    Ok(values)
}

/// Wall time of some yields, and how many of them were switches.
fn yields(count: u32) -> (f64, u64) {
    let (begin, before) = (now_ns(), times_left());
    for _ in 0..count {
        yield_once();
    }
    ((now_ns() - begin) as f64, times_left() - before)
}

fn yield_once() {
    // SAFETY: it takes nothing.
    unsafe { libc::sched_yield() };
}

/// How often this thread has left its CPU.
fn times_left() -> u64 {
    // SAFETY: the kernel fills the structure.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        (usage.ru_nvcsw + usage.ru_nivcsw) as u64
    }
}

/// Wall time of waking nobody and of a wait that is over at once, so many times.
fn calls(count: u32) -> f64 {
    let word = AtomicU32::new(0);
    let begin = now_ns();
    for _ in 0..count {
        futex::wake(&word, 1);
        futex::wait(&word, 1);
    }
    (now_ns() - begin) as f64
}

/// The words that two tasks share: whether the partner is to end, and whose turn it is.
fn words(shared: &Shared) -> (&AtomicU32, &AtomicU32) {
    (&shared.object(0)[0], &shared.object(0)[1])
}

fn yield_on(shared: &Shared) {
    while words(shared).0.load(Relaxed) == 0 {
        yield_once();
    }
}

fn answer(shared: &Shared) {
    let (stop, turn) = words(shared);
    while stop.load(SeqCst) == 0 {
        futex::wait(turn, 0);
        turn.store(0, SeqCst);
        futex::wake(turn, 1);
    }
}

/// Wall time of so many ways there and back.
fn ask(shared: &Shared, count: u32) -> f64 {
    let turn = words(shared).1;
    let mut begin = 0;
    for round in 0..=count {
        // The first round is not counted: the partner may be on its way still.
        begin = if round == 1 { now_ns() } else { begin };
        turn.store(1, SeqCst);
        futex::wake(turn, 1);
        while turn.load(SeqCst) == 1 {
            futex::wait(turn, 1);
        }
    }
    (now_ns() - begin) as f64
}

/// Measures while a partner on the same CPU is at work; it ends when it is told so.
fn beside<T>(shared: &Shared, cpu: CpuId, kind: Kind, partner: fn(&Shared), measure: impl Fn() -> T) -> io::Result<T> {
    let (stop, turn) = words(shared);
    stop.store(0, SeqCst);
    turn.store(0, SeqCst);
    let work = || {
        if bind(cpu).is_ok() {
            partner(shared);
        }
    };
    let measured = || {
        let measured = measure();
        stop.store(1, SeqCst);
        turn.store(1, SeqCst);
        futex::wake(turn, 1);
        measured
    };
    if kind == Kind::Thread {
        return Ok(std::thread::scope(|scope| {
            scope.spawn(work);
            measured()
        }));
    }
    let parent = std::process::id() as i32;
    // SAFETY: the child plays its part and leaves by `_exit`.
    match unsafe { libc::fork() } {
        0 => {
            die_with(parent);
            work();
            // SAFETY: nothing of the parent is to be run.
            unsafe { libc::_exit(0) }
        }
        pid if pid > 0 => {
            let measured = measured();
            bury(pid);
            Ok(measured)
        }
        _ => Err(io::Error::last_os_error()),
    }
}
