//! Sets of CPUs.

use crate::ids::CpuId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A set of CPUs, as the bits of 64-bit words (bit `c % 64` of word `c / 64`), like the kernel's `cpumask`.
#[derive(Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct CpuSet {
    words: Vec<u64>,
}

impl CpuSet {
    /// The CPUs `0..count`.
    pub fn first(count: u32) -> CpuSet {
        (0..count).map(CpuId).collect()
    }

    /// Adds one CPU.
    pub fn insert(&mut self, cpu: CpuId) {
        let word = cpu.index() / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu.0 % 64);
    }

    /// Whether the CPU is a member.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.words.get(cpu.index() / 64).is_some_and(|w| w >> (cpu.0 % 64) & 1 == 1)
    }

    /// The number of members.
    pub fn len(&self) -> u32 {
        self.words.iter().map(|w| w.count_ones()).sum()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros();
                    rest &= rest - 1;
                    CpuId(i as u32 * 64 + bit)
                })
            })
        })
    }

    /// The words, lowest CPUs first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> CpuSet {
        let mut set = CpuSet::default();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

/// Ranges as the kernel writes them: `0-3,8`.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().map(|c| c.0).peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            write!(f, "{separator}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_back_in_order_and_print_as_ranges() {
        let set: CpuSet = [8, 0, 1, 2, 3, 130].map(CpuId).into_iter().collect();
        assert_eq!(set.to_string(), "0-3,8,130");
        assert_eq!(set.len(), 6);
        assert!(set.contains(CpuId(130)) && !set.contains(CpuId(129)));
        assert_eq!(CpuSet::first(65).len(), 65);
    }
}
