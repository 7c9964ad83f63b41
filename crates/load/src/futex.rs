//! Sleeping on a word of shared memory, between threads and processes alike, and what is made of it: semaphores,
//! mutexes, condition variables, barriers. The kernel wakes sleepers of equal class in the order in which they came.

use crate::shared::Shared;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// Sleeps while the word has this value; returns early for signals and for no reason at all.
pub fn wait(word: &AtomicU32, value: u32) {
    // SAFETY: the word lives as long as the call; the kernel only reads it.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, std::ptr::null::<u8>()) };
}

/// The same for at most `ns` nanoseconds.
pub fn wait_for(word: &AtomicU32, value: u32, ns: u64) {
    let timeout = crate::clock::timespec(ns);
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &timeout) };
}

/// Wakes at most `count` sleepers; returns how many it woke.
pub fn wake(word: &AtomicU32, count: u32) -> u32 {
    let count = count.min(i32::MAX as u32);
    // SAFETY: the kernel uses the address as a name only.
    let woken = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, count) };
    woken.try_into().unwrap_or(0)
}

/// Whether a wait was ended by the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// It is over.
    Done,
    /// All tasks are to end.
    Stopped,
}

/// Takes one from a semaphore: word 0 is its value, word 1 the number of sleepers.
pub fn semaphore_wait(shared: &Shared, semaphore: u32) -> Waited {
    let [value, sleepers, ..] = shared.object(semaphore);
    loop {
        let taken = value.fetch_update(Acquire, Relaxed, |v| v.checked_sub(1));
        if taken.is_ok() {
            return Waited::Done;
        }
        if shared.is_stopped() {
            return Waited::Stopped;
        }
        sleepers.fetch_add(1, SeqCst);
        wait(value, 0);
        sleepers.fetch_sub(1, SeqCst);
    }
}

/// Gives `count` to a semaphore.
pub fn semaphore_post(shared: &Shared, semaphore: u32, count: u32) {
    let [value, sleepers, ..] = shared.object(semaphore);
    value.fetch_add(count, SeqCst);
    if sleepers.load(SeqCst) > 0 {
        wake(value, count);
    }
}

/// Takes a mutex: word 0 is 0 when free, 1 when held, 2 when a waiter may sleep (Drepper, "Futexes are tricky", 2011).
pub fn lock(shared: &Shared, mutex: u32) -> Waited {
    let word = &shared.object(mutex)[0];
    if word.compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
        return Waited::Done;
    }
    relock(shared, mutex)
}

/// Releases it.
pub fn unlock(shared: &Shared, mutex: u32) {
    let word = &shared.object(mutex)[0];
    if word.swap(0, Release) == 2 {
        wake(word, 1);
    }
}

/// Takes a mutex after a sleep: its release then looks for further waiters (`lll_cond_lock` of glibc).
pub fn relock(shared: &Shared, mutex: u32) -> Waited {
    let word = &shared.object(mutex)[0];
    while word.swap(2, Acquire) != 0 {
        if shared.is_stopped() {
            return Waited::Stopped;
        }
        wait(word, 2);
    }
    Waited::Done
}

/// Takes a mutex with priority inheritance: the word is the number of the thread that has it, which the kernel boosts
/// (`FUTEX_LOCK_PI`; `__pthread_mutex_lock_full` of glibc). One whose owner has ended at the end of the run goes to the next.
pub fn lock_inheriting(shared: &Shared, mutex: u32) -> Waited {
    let word = &shared.object(mutex)[0];
    let tid = crate::attributes::tid() as u32;
    if word.compare_exchange(0, tid, Acquire, Relaxed).is_ok() {
        return Waited::Done;
    }
    loop {
        if shared.is_stopped() {
            return Waited::Stopped;
        }
        // SAFETY: the word lives as long as the call.
        let locked =
            unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_LOCK_PI, 0, std::ptr::null::<u8>()) };
        if locked == 0 {
            return if shared.is_stopped() { Waited::Stopped } else { Waited::Done };
        }
    }
}

/// Releases it: to the most urgent that waits, if one does.
pub fn unlock_inheriting(shared: &Shared, mutex: u32) {
    let word = &shared.object(mutex)[0];
    let tid = crate::attributes::tid() as u32;
    if word.compare_exchange(tid, 0, Release, Relaxed).is_err() {
        // SAFETY: the word lives as long as the call.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_UNLOCK_PI, 0) };
    }
}

/// Releases a mutex and sleeps until the condition variable is signalled: word 0 counts waiters that came, word 1
/// waiters that were woken, words 2 and 3 are when it was last signalled. Each sleeps under one of 32 bits, so that a
/// signal wakes the one whose turn it is.
pub fn cond_wait(shared: &Shared, condition: u32, unlock: impl FnOnce()) -> Waited {
    let [came, woken, ..] = shared.object(condition);
    let mine = came.fetch_add(1, SeqCst);
    unlock();
    loop {
        let seen = woken.load(SeqCst);
        if is_past(seen, mine) {
            return Waited::Done;
        }
        if shared.is_stopped() {
            return Waited::Stopped;
        }
        wait_for_bit(woken, seen, bit(mine));
    }
}

/// Wakes the first that waits for a condition variable, or all that do.
pub fn signal(shared: &Shared, condition: u32, all: bool) {
    let [came, woken, signalled @ ..] = shared.object(condition);
    let next = |seen: u32| {
        let waiting = came.load(SeqCst).wrapping_sub(seen);
        (waiting > 0).then(|| seen.wrapping_add(if all { waiting } else { 1 }))
    };
    note_now(signalled);
    if let Ok(first) = woken.fetch_update(SeqCst, SeqCst, next) {
        wake_bits(woken, if all { u32::MAX } else { bit(first) }, u32::MAX);
    }
}

fn bit(turn: u32) -> u32 {
    1 << (turn % u32::BITS)
}

/// Whether the turns before `next` include this one; they are counted round and round.
fn is_past(next: u32, turn: u32) -> bool {
    (next.wrapping_sub(turn) as i32) > 0
}

/// Sleeps while the word has this value, to be woken by this bit.
pub fn wait_for_bit(word: &AtomicU32, value: u32, bit: u32) {
    let (none, no_time) = (std::ptr::null::<u8>(), std::ptr::null::<u8>());
    // SAFETY: the word lives as long as the call; the kernel only reads it.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT_BITSET, value, no_time, none, bit) };
}

/// Wakes those that sleep under one of these bits, at most `count`.
pub fn wake_bits(word: &AtomicU32, bits: u32, count: u32) {
    let count = count.min(i32::MAX as u32);
    let (none, no_time) = (std::ptr::null::<u8>(), std::ptr::null::<u8>());
    // SAFETY: the kernel uses the address as a name only.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE_BITSET, count, no_time, none, bits) };
}

/// Sleeps until all parties are here: word 0 counts rounds, word 1 the parties that are here, words 2 and 3 are when it
/// last opened. The next round does not open before all have read that.
pub fn barrier(shared: &Shared, barrier: u32, parties: u32) -> Waited {
    let [round, here, opened @ ..] = shared.object(barrier);
    let mine = round.load(Acquire);
    if here.fetch_add(1, AcqRel) + 1 == parties {
        note_now(opened);
        here.store(0, Relaxed);
        round.fetch_add(1, Release);
        wake(round, u32::MAX);
        return Waited::Done;
    }
    while round.load(Acquire) == mine {
        if shared.is_stopped() {
            return Waited::Stopped;
        }
        wait(round, mine);
    }
    Waited::Done
}

fn note_now(words: &[AtomicU32; 2]) {
    let now = crate::clock::now_ns();
    words[0].store(now as u32, Relaxed);
    words[1].store((now >> 32) as u32, Relaxed);
}

/// When a barrier last opened, or a condition variable was last signalled.
pub fn opened_ns(shared: &Shared, object: u32) -> u64 {
    let [_, _, low, high] = shared.object(object);
    u64::from(low.load(Relaxed)) | u64::from(high.load(Relaxed)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semaphore_is_a_count() {
        let shared = Shared::new(1, 0).unwrap();
        semaphore_post(&shared, 0, 3);
        std::thread::scope(|scope| {
            let waiters: Vec<_> = (0..5).map(|_| scope.spawn(|| semaphore_wait(&shared, 0))).collect();
            semaphore_post(&shared, 0, 1);
            semaphore_post(&shared, 0, 2);
            assert!(waiters.into_iter().all(|w| w.join().unwrap() == Waited::Done));
        });
        assert_eq!(shared.object(0)[0].load(Relaxed), 1);
    }

    fn excludes(lock: fn(&Shared, u32) -> Waited, unlock: fn(&Shared, u32)) {
        let shared = Shared::new(2, 0).unwrap();
        let counter = &shared.object(1)[0];
        let count = || {
            for _ in 0..10_000 {
                assert_eq!(lock(&shared, 0), Waited::Done);
                // A read and a write that others could come between.
                let seen = counter.load(Relaxed);
                counter.store(seen + 1, Relaxed);
                unlock(&shared, 0);
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(count))));
        assert_eq!((counter.load(Relaxed), shared.object(0)[0].load(Relaxed)), (40_000, 0));
    }

    #[test]
    fn a_mutex_excludes_with_and_without_inheritance() {
        excludes(lock, unlock);
        excludes(lock_inheriting, unlock_inheriting);
    }

    #[test]
    fn who_waits_for_a_mutex_whose_owner_ends_stops_with_it() {
        let shared = Shared::new(1, 0).unwrap();
        std::thread::scope(|scope| {
            let (sent, received) = std::sync::mpsc::channel();
            let shared = &shared;
            scope.spawn(move || {
                assert_eq!(lock_inheriting(shared, 0), Waited::Done);
                sent.send(()).unwrap();
                // Until the other one sleeps in the kernel, which says so in the word.
                while shared.object(0)[0].load(SeqCst) & libc::FUTEX_WAITERS == 0 {
                    std::thread::yield_now();
                }
                shared.control().stop.store(1, SeqCst);
            });
            received.recv().unwrap();
            assert_eq!(lock_inheriting(shared, 0), Waited::Stopped);
        });
    }

    #[test]
    fn nobody_passes_a_barrier_alone() {
        let shared = Shared::new(2, 0).unwrap();
        let passed = &shared.object(1)[0];
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 0..100 {
                        passed.fetch_add(1, SeqCst);
                        assert_eq!(barrier(&shared, 0, 3), Waited::Done);
                        assert!(passed.load(SeqCst) >= 3 * (round + 1));
                        assert_eq!(barrier(&shared, 0, 3), Waited::Done);
                    }
                });
            }
        });
        assert_eq!(passed.load(SeqCst), 300);
    }

    #[test]
    fn a_signal_wakes_one_in_its_turn_and_a_broadcast_all_and_neither_is_kept() {
        let shared = Shared::new(3, 0).unwrap();
        let (came, through) = (&shared.object(0)[0], &shared.object(2)[0]);
        signal(&shared, 0, false);
        signal(&shared, 0, true);
        assert_eq!(shared.object(0)[1].load(Relaxed), 0, "there was no waiter");
        let wait = || {
            lock(&shared, 1);
            let waited = cond_wait(&shared, 0, || unlock(&shared, 1));
            assert_eq!((waited, relock(&shared, 1)), (Waited::Done, Waited::Done));
            through.fetch_add(1, SeqCst);
            unlock(&shared, 1);
        };
        std::thread::scope(|scope| {
            (0..40).for_each(|_| drop(scope.spawn(wait)));
            while came.load(SeqCst) < 40 {
                std::thread::yield_now();
            }
            for count in 1..=3 {
                signal(&shared, 0, false);
                while through.load(SeqCst) < count {
                    std::thread::yield_now();
                }
            }
            assert_eq!(shared.object(0)[1].load(SeqCst), 3);
            signal(&shared, 0, true);
        });
        assert_eq!(through.load(SeqCst), 40);
    }

    #[test]
    fn a_stop_ends_every_wait() {
        let shared = Shared::new(5, 0).unwrap();
        lock(&shared, 1);
        lock(&shared, 4);
        shared.control().stop.store(1, SeqCst);
        assert_eq!(semaphore_wait(&shared, 0), Waited::Stopped);
        assert_eq!(lock(&shared, 1), Waited::Stopped);
        assert_eq!(barrier(&shared, 2, 2), Waited::Stopped);
        assert_eq!(cond_wait(&shared, 3, || unlock(&shared, 4)), Waited::Stopped);
    }
}
