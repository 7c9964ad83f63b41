//! What a running call holds: references and locks that it has to give back, iterators that it has to end, and dynptrs.
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
    /// A lock.
    Lock(Lock),
    /// Interrupts that are off.
    Interrupts,
}

/// A kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    /// `bpf_spin_lock`.
    Spin,
    /// `bpf_res_spin_lock`.
    Resilient,
}

impl Lock {
    /// Its type.
    pub fn type_name(self) -> &'static str {
        match self {
            Lock::Spin => "bpf_spin_lock",
            Lock::Resilient => "bpf_res_spin_lock",
        }
    }
}

impl Held {
    pub fn name(&self) -> &'static str {
        match *self {
            Held::Kernel(name) => name,
            Held::Object => "local object",
            Held::Record(_) => "record of a ring buffer",
            Held::Bits(_) => "bpf_iter_bits",
            Held::Iterator(name, _) => name,
            Held::Dynptr(..) => "bpf_dynptr",
            Held::Lock(lock) => lock.type_name(),
            Held::Interrupts => "interrupts",
        }
    }

    /// The functions that take it and give it back, of what is no thing but a state.
    pub fn calls(&self) -> Option<[&'static str; 2]> {
        Some(match self {
            Held::Lock(Lock::Spin) => ["bpf_spin_lock()", "bpf_spin_unlock()"],
            Held::Lock(Lock::Resilient) => ["bpf_res_spin_lock()", "bpf_res_spin_unlock()"],
            Held::Interrupts => ["bpf_local_irq_save()", "bpf_local_irq_restore()"],
            _ => return None,
        })
    }

    /// Whether both have to be given back in the opposite order of that in which they were got.
    pub fn is_nested_with(&self, other: &Held) -> bool {
        matches!((self, other), (Held::Lock(_), Held::Lock(_)) | (Held::Interrupts, Held::Interrupts))
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
    entries: Vec<Entry>,
}

/// Something that is held.
#[derive(Clone, Debug)]
struct Entry {
    address: u64,
    held: Held,
    /// Where the program got it.
    position: u64,
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

    /// Holds one more, got at a position of the program; false when it is too much.
    pub fn add(&mut self, address: u64, held: Held, position: u64) -> bool {
        let fits = self.entries.len() < HELD_MAX;
        if fits {
            self.entries.push(Entry { address, held, position });
        }
        fits
    }

    /// What is held at an address and `is` meant, the youngest first.
    pub fn find(&mut self, address: u64, is: impl Fn(&Held) -> bool) -> Option<&mut Held> {
        let found = self.entries.iter_mut().rev().find(|entry| entry.address == address && is(&entry.held));
        found.map(|entry| &mut entry.held)
    }

    /// The youngest of what `is` meant, with its address.
    pub fn last(&self, is: impl Fn(&Held) -> bool) -> Option<(u64, &Held)> {
        self.entries.iter().rev().find(|entry| is(&entry.held)).map(|entry| (entry.address, &entry.held))
    }

    /// How many locks are held.
    pub fn locks(&self) -> u32 {
        self.entries.iter().filter(|entry| matches!(entry.held, Held::Lock(_))).count() as u32
    }

    /// Gives up what is held at an address and `is` meant.
    pub fn take(&mut self, address: u64, is: impl Fn(&Held) -> bool) -> Option<Held> {
        let index = self.entries.iter().rposition(|entry| entry.address == address && is(&entry.held))?;
        Some(self.entries.remove(index).held)
    }

    /// Forgets the dynptrs that overlap `len` bytes at an address.
    pub fn forget_dynptrs(&mut self, address: u64, len: u64) {
        let overlaps = |at: u64| at < address + len && address < at + len;
        self.entries.retain(|entry| !matches!(entry.held, Held::Dynptr(..)) || !overlaps(entry.address));
    }

    /// What was got after the first `from` and has not been given back: what is wrong, and where the last of it was got.
    pub fn leak(&self, from: usize) -> Option<(String, u64)> {
        let leaked = self.entries.get(from..)?.iter().filter(|entry| !matches!(entry.held, Held::Dynptr(..)));
        let Entry { address, held, position } = leaked.clone().next_back()?;
        let text = match held.calls() {
            Some(calls) => without_end(calls),
            None => {
                let (count, name) = (leaked.count(), held.name());
                let references = if count == 1 { "1 reference".into() } else { format!("{count} references") };
                format!("ends without releasing {references}, at last a {name} at {address:#x}")
            }
        };
        Some((text, *position))
    }
}

/// A program ends where it should first have called the second of two functions.
pub(crate) fn without_end([enter, leave]: [&str; 2]) -> String {
    format!("calls {enter} and ends without a {leave}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_given_back_once() {
        let mut held = References::default();
        assert!(held.add(8, Held::Kernel("bpf_cpumask"), 5) && held.add(8, Held::Dynptr(0, 4), 6));
        assert!(held.take(8, |held| *held == Held::Object).is_none());
        let text = "ends without releasing 1 reference, at last a bpf_cpumask at 0x8";
        assert_eq!(held.leak(0), Some((text.to_string(), 5)));
        assert!(held.take(8, |held| *held == Held::Kernel("bpf_cpumask")).is_some());
        assert!(held.take(8, |held| *held == Held::Kernel("bpf_cpumask")).is_none());
        assert_eq!((held.leak(0), held.len()), (None, 1));
        held.forget_dynptrs(0, 16);
        assert!(held.is_empty());
        (0..HELD_MAX as u64).for_each(|at| assert!(held.add(at, Held::Object, 0)));
        assert!(!held.add(0, Held::Object, 0));
    }

    #[test]
    fn the_youngest_of_a_kind_is_found() {
        let mut held = References::default();
        let (spin, resilient) = (Held::Lock(Lock::Spin), Held::Lock(Lock::Resilient));
        for (at, what) in [(8, spin.clone()), (16, Held::Interrupts), (24, resilient.clone()), (32, Held::Object)] {
            assert!(held.add(at, what, at));
        }
        assert_eq!(held.locks(), 2);
        assert_eq!(held.last(|found| found.is_nested_with(&spin)), Some((24, &resilient)));
        assert_eq!(held.last(|found| found.is_nested_with(&Held::Interrupts)), Some((16, &Held::Interrupts)));
        held.truncate(3);
        let text = "calls bpf_res_spin_lock() and ends without a bpf_res_spin_unlock()";
        assert_eq!(held.leak(0), Some((text.to_string(), 24)));
    }

    #[test]
    fn bits_are_found_across_words_without_empty_ones() {
        let mut bits = Bits { words: [0, 1 << 63, 0, 5].into(), next: 0 };
        let found: Vec<u32> = std::iter::from_fn(|| bits.advance()).collect();
        assert_eq!(found, [127, 192, 194]);
        assert_eq!(bits.advance(), None);
    }
}
