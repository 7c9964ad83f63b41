//! A door, and what is tried at it.

use crate::targets;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What came of an input, so that inputs with other answers can be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Answer(pub u64);

impl Answer {
    /// An answer in words: their numbers do not make another answer of it, nor does what they quote.
    pub fn of(words: &str) -> Answer {
        let mut quoted = false;
        let told = |letter: &char| {
            quoted ^= matches!(letter, '`' | '"');
            !quoted && !letter.is_ascii_digit()
        };
        let plain: String = words.chars().filter(told).take(200).collect();
        Answer::from(&plain)
    }

    /// An answer that is some values.
    pub fn from(values: impl Hash) -> Answer {
        let mut hasher = DefaultHasher::new();
        values.hash(&mut hasher);
        Answer(hasher.finish())
    }
}

/// One door.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words of the format.
    pub words: &'static [&'static str],
    /// Takes any bytes. Panics where a promise is broken.
    pub run: fn(&[u8]) -> Answer,
}

/// All doors.
pub fn all() -> Vec<Target> {
    [targets::languages::all(), targets::recordings::all(), targets::machines::all()].concat()
}
