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

/// A round counts when at least this share of its yields were switches: some schedulers let the one that yields continue.
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

/// A wakeup and a switch, where a wakeup takes so long: one task wakes another and sleeps, so that the other runs. Two tasks
/// hand a word back and forth. How often one wakes the other and how often the CPU goes from one to the other depends on the
/// scheduler, so both are counted; the system calls around them are taken off.
pub fn handing_over(cpu: CpuId, wakeup_ns: f64, effort: &Effort) -> io::Result<Vec<f64>> {
    let shared = Shared::new(2, 0)?;
    let mut values = Vec::with_capacity(effort.rounds);
    for _ in 0..effort.rounds {
        let [wake_ns, wait_ns] = calls(effort.yields);
        Turns::default().write(shared.object(1));
        let Handing { passed_ns, turns, switches } =
            beside(&shared, cpu, Kind::Thread, answer, || ask(&shared, effort.yields))?;
        let calls_ns = f64::from(turns.wakes) * wake_ns + f64::from(turns.waits) * wait_ns;
        values.push((passed_ns - calls_ns - f64::from(turns.woken) * wakeup_ns) / switches);
    }
    Ok(values.into_iter().filter(|ns| *ns > 0.0 && ns.is_finite()).map(|switch_ns| switch_ns + wakeup_ns).collect())
}

/// What the two did of their calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Turns {
    /// Calls that wake.
    wakes: u32,
    /// How many of them found a waiter asleep.
    woken: u32,
    /// Calls that wait.
    waits: u32,
}

impl Turns {
    /// Changes the word and wakes the waiter.
    fn give(&mut self, turn: &AtomicU32, to: u32) {
        turn.store(to, SeqCst);
        self.wakes += 1;
        self.woken += futex::wake(turn, 1);
    }

    /// Waits while the word has this value.
    fn await_other(&mut self, turn: &AtomicU32, than: u32) {
        self.waits += 1;
        futex::wait(turn, than);
    }

    fn write(self, words: &[AtomicU32; 4]) {
        let own = [self.wakes, self.woken, self.waits];
        words.iter().zip(own).for_each(|(word, own)| word.store(own, Relaxed));
    }

    fn read(words: &[AtomicU32; 4]) -> Turns {
        let [wakes, woken, waits, _] = words.each_ref().map(|word| word.load(Relaxed));
        Turns { wakes, woken, waits }
    }

    /// What both did since then, with what the other did in all.
    fn since(self, before: [Turns; 2], other: Turns) -> Turns {
        let sum = |of: fn(&Turns) -> u32| of(&self) + of(&other) - of(&before[0]) - of(&before[1]);
        Turns { wakes: sum(|t| t.wakes), woken: sum(|t| t.woken), waits: sum(|t| t.waits) }
    }
}

/// Two tasks handing a word back and forth.
struct Handing {
    passed_ns: f64,
    turns: Turns,
    /// How often the CPU went from one of them to the other.
    switches: f64,
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

/// Wall time of a wake without a waiter, and of a wait that returns at once.
pub fn calls(count: u32) -> [f64; 2] {
    let word = AtomicU32::new(0);
    let each = |call: &dyn Fn()| {
        let begin = now_ns();
        (0..count).for_each(|_| call());
        (now_ns() - begin) as f64 / f64::from(count)
    };
    [each(&|| _ = futex::wake(&word, 1)), each(&|| futex::wait(&word, 1))]
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
    let mut turns = Turns::default();
    while stop.load(SeqCst) == 0 {
        turns.await_other(turn, 0);
        turns.give(turn, 0);
        turns.write(shared.object(1));
    }
}

/// Hands the word there and back `count` times.
fn ask(shared: &Shared, count: u32) -> Handing {
    let turn = words(shared).1;
    let there_and_back = |turns: &mut Turns| {
        turns.give(turn, 1);
        while turn.load(SeqCst) == 1 {
            turns.await_other(turn, 1);
        }
    };
    let mut turns = Turns::default();
    // This one is not counted: the partner may be on its way still.
    there_and_back(&mut turns);
    let before = [turns, Turns::read(shared.object(1))];
    let (begin, left) = (now_ns(), times_left());
    (0..count).for_each(|_| there_and_back(&mut turns));
    let passed_ns = (now_ns() - begin) as f64;
    // Each time one leaves the CPU the other gets it, and gives it back.
    let switches = 2.0 * (times_left() - left) as f64;
    Handing { passed_ns, turns: turns.since(before, Turns::read(shared.object(1))), switches }
}

/// Measures while a partner on the same CPU is at work; it ends when it is asked to.
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
