//! A task that sleeps on a word until others wake it, again and again.

use crate::futex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

/// What it shares with those.
#[derive(Default)]
pub struct Sleeper {
    word: AtomicU32,
    ended: AtomicBool,
    asleep: AtomicBool,
}

impl Sleeper {
    /// Sleeps until the end.
    pub fn sleep(&self) {
        self.sleep_each(|| ());
    }

    /// The same, and does something each time before it goes to sleep.
    pub fn sleep_each(&self, before: impl Fn()) {
        let mut seen = 0;
        while !self.ended.load(SeqCst) {
            before();
            self.asleep.store(true, SeqCst);
            futex::wait(&self.word, seen);
            seen = self.word.load(SeqCst);
        }
    }

    /// Whether it has gone to sleep since this was last asked.
    pub fn has_gone_to_sleep(&self) -> bool {
        self.asleep.swap(false, SeqCst)
    }

    /// Gives it a reason to wake: [`Sleeper::wake`] then does.
    pub fn stir(&self) {
        self.word.fetch_add(1, SeqCst);
    }

    /// The call that wakes it.
    pub fn wake(&self) {
        futex::wake(&self.word, 1);
    }

    /// Lets it end.
    pub fn end(&self) {
        self.ended.store(true, SeqCst);
        self.stir();
        self.wake();
    }
}
