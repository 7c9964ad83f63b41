//! What a running call holds: references that it has to give back, iterators that it has to end, and dynptrs.
//!
//! The kernel's verifier proves that every reference is released exactly once on every path; here it is counted while
//! the program runs, on the host's side, so that nothing a program writes can forge one.

use crate::program::MapId;

/// The most references held at a time. No verifier follows a program that holds a number of references without a bound.
const HELD_MAX: usize = 1024;

/// What is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// A reference to a kernel object of a type: `bpf_cpumask`.
    Kernel(&'static str),
    /// A reference to an object that the program made.
    Object,
    /// A record of a ring buffer that is not submitted.
    Record(MapId),
    /// An iterator over the bits of a bitmap.
    Bits(Bits),
    /// An iterator of the host: the name of its structure and what the host finds it by.
    Iterator(&'static str, u64),
    /// A dynptr: address and length in bytes. It needs no release.
    Dynptr(u64, u64),
}

impl Held {
    fn name(&self) -> &'static str {
        match *self {
            Held::Kernel(name) => name,
            Held::Object => "object of its own",
            Held::Record(_) => "record of a ring buffer",
            Held::Bits(_) => "bpf_iter_bits",
            Held::Iterator(name, _) => name,
            Held::Dynptr(..) => "bpf_dynptr",
        }
    }
}

/// An iterator over bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    /// The bitmap as it was when the iterator was made.
    pub words: Box<[u64]>,
    /// The first bit that is still to come.
    pub next: u32,
}

impl Bits {
    /// The next bit that is set.
    pub fn advance(&mut self) -> Option<u32> {
        let mut index = (self.next / 64) as usize;
        let mut word = self.words.get(index)? & u64::MAX << (self.next % 64);
        while word == 0 {
            index += 1;
            word = *self.words.get(index)?;
        }
        let bit = index as u32 * 64 + word.trailing_zeros();
        self.next = bit + 1;
        Some(bit)
    }
}

/// Everything that the calls on the way hold, in the order in which they got it.
#[derive(Clone, Debug, Default)]
pub(crate) struct References {
    entries: Vec<(u64, Held)>,
}

impl References {
    /// Whether nothing is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How much is held.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Forgets what came after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.entries.truncate(len);
    }

    /// Holds one more; false when it is too much.
    pub fn add(&mut self, address: u64, held: Held) -> bool {
        let fits = self.entries.len() < HELD_MAX;
        if fits {
            self.entries.push((address, held));
        }
        fits
    }

    /// What is held at an address and `is` meant, the youngest first.
    pub fn find(&mut self, address: u64, is: impl Fn(&Held) -> bool) -> Option<&mut Held> {
        let found = self.entries.iter_mut().rev().find(|(at, held)| *at == address && is(held));
        found.map(|(_, held)| held)
    }

    /// Gives up what is held at an address and `is` meant.
    pub fn take(&mut self, address: u64, is: impl Fn(&Held) -> bool) -> Option<Held> {
        let index = self.entries.iter().rposition(|(at, held)| *at == address && is(held))?;
        Some(self.entries.remove(index).1)
    }

    /// Forgets the dynptrs that overlap `len` bytes at an address.
    pub fn forget_dynptrs(&mut self, address: u64, len: u64) {
        let overlaps = |at: u64| at < address + len && address < at + len;
        self.entries.retain(|(at, held)| !matches!(held, Held::Dynptr(..)) || !overlaps(*at));
    }

    /// What was got after the first `from` and has not been given back: how much, and the last of it.
    pub fn leak(&self, from: usize) -> Option<(usize, u64, &'static str)> {
        let leaked = self.entries.get(from..)?.iter().filter(|(_, held)| !matches!(held, Held::Dynptr(..)));
        let (address, held) = leaked.clone().next_back()?;
        Some((leaked.count(), *address, held.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_given_back_once() {
        let mut held = References::default();
        assert!(held.add(8, Held::Kernel("bpf_cpumask")) && held.add(8, Held::Dynptr(0, 4)));
        assert!(held.take(8, |held| *held == Held::Object).is_none());
        assert_eq!(held.leak(0), Some((1, 8, "bpf_cpumask")));
        assert!(held.take(8, |held| *held == Held::Kernel("bpf_cpumask")).is_some());
        assert!(held.take(8, |held| *held == Held::Kernel("bpf_cpumask")).is_none());
        assert_eq!((held.leak(0), held.len()), (None, 1));
        held.forget_dynptrs(0, 16);
        assert!(held.is_empty());
        (0..HELD_MAX as u64).for_each(|at| assert!(held.add(at, Held::Object)));
        assert!(!held.add(0, Held::Object));
    }

    #[test]
    fn bits_are_found_across_words_without_empty_ones() {
        let mut bits = Bits { words: [0, 1 << 63, 0, 5].into(), next: 0 };
        let found: Vec<u32> = std::iter::from_fn(|| bits.advance()).collect();
        assert_eq!(found, [127, 192, 194]);
        assert_eq!(bits.advance(), None);
    }
}
