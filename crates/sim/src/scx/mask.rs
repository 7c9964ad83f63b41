//! CPU masks in guest memory, where policies read them as `struct cpumask`.

use schedlab_bpf::GuestMemory;
use schedlab_model::cpuset::CpuSet;
use std::collections::BTreeMap;

/// Bytes of a `struct cpumask`: room for the largest machine, whatever machine is simulated, as in a kernel that was
/// built for it.
pub const MASK_BYTES: u32 = schedlab_model::machine::MAX_CPUS / 8;

/// One mask: `words` 64-bit words are in use.
#[derive(Clone)]
pub struct Mask {
    memory: GuestMemory,
    /// Its guest address.
    pub address: u64,
    words: u32,
}

impl Mask {
    /// The mask at a guest address, on a machine of `cpus` CPUs.
    pub fn at(memory: &GuestMemory, address: u64, cpus: u32) -> Mask {
        Mask { memory: memory.clone(), address, words: cpus.div_ceil(64) }
    }

    /// The word that holds CPUs `64 * index` and up.
    #[inline]
    pub fn word(&self, index: u32) -> u64 {
        self.memory.read(self.address + 8 * index as u64)
    }

    #[inline]
    fn set_word(&self, index: u32, word: u64) {
        self.memory.write(self.address + 8 * index as u64, word);
    }

    /// Makes it equal to a set.
    pub fn assign(&self, set: &CpuSet) {
        (0..self.words).for_each(|i| self.set_word(i, set.words().get(i as usize).copied().unwrap_or(0)));
    }

    /// Whether a CPU is in it.
    #[inline]
    pub fn contains(&self, cpu: u32) -> bool {
        cpu / 64 < self.words && self.word(cpu / 64) >> (cpu % 64) & 1 == 1
    }

    /// Puts a CPU in.
    #[inline]
    pub fn insert(&self, cpu: u32) {
        self.set_word(cpu / 64, self.word(cpu / 64) | 1 << (cpu % 64));
    }

    /// Takes a CPU out; whether it was in.
    #[inline]
    pub fn remove(&self, cpu: u32) -> bool {
        let word = self.word(cpu / 64);
        self.set_word(cpu / 64, word & !(1 << (cpu % 64)));
        word >> (cpu % 64) & 1 == 1
    }

    /// The first CPU that is also in `other` and, if given, in `third`.
    #[inline]
    pub fn first_common(&self, other: &Mask, third: Option<&Mask>) -> Option<u32> {
        (0..self.words).find_map(|i| {
            let word = self.word(i) & other.word(i) & third.map_or(u64::MAX, |m| m.word(i));
            (word != 0).then(|| i * 64 + word.trailing_zeros())
        })
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.words).flat_map(|i| {
            let mut word = self.word(i);
            std::iter::from_fn(move || {
                (word != 0).then(|| {
                    let bit = word.trailing_zeros();
                    word &= word - 1;
                    i * 64 + bit
                })
            })
        })
    }

    /// The number of members.
    pub fn len(&self) -> u32 {
        (0..self.words).map(|i| self.word(i).count_ones()).sum()
    }
}

/// Hands out masks from one region of guest memory.
pub struct Masks {
    memory: GuestMemory,
    cpus: u32,
    chunk: u64,
    used: u64,
    free: Vec<u64>,
    /// References beyond the first to masks that policies share.
    shared: BTreeMap<u64, u32>,
}

/// Masks allocated at once.
const CHUNK: u64 = 256;

impl Masks {
    /// No mask yet.
    pub fn new(memory: &GuestMemory, cpus: u32) -> Masks {
        Masks { memory: memory.clone(), cpus, chunk: 0, used: CHUNK, free: Vec::new(), shared: BTreeMap::new() }
    }

    /// A mask equal to `set`.
    pub fn create(&mut self, set: &CpuSet) -> Result<Mask, schedlab_bpf::MemoryError> {
        let address = self.allocate()?;
        let mask = Mask::at(&self.memory, address, self.cpus);
        mask.assign(set);
        Ok(mask)
    }

    /// The address of an unused mask of zeros.
    pub fn allocate(&mut self) -> Result<u64, schedlab_bpf::MemoryError> {
        use schedlab_bpf::{Access, Region};
        if let Some(address) = self.free.pop() {
            self.memory.zero(address, MASK_BYTES as usize);
            return Ok(address);
        }
        if self.used == CHUNK {
            // Policies change masks by kernel functions only.
            let region = Region::array("cpumask", MASK_BYTES, MASK_BYTES, Access::ReadOnly);
            self.chunk = self.memory.alloc(CHUNK * MASK_BYTES as u64, 64, region)?;
            self.used = 0;
        }
        self.used += 1;
        Ok(self.chunk + (self.used - 1) * MASK_BYTES as u64)
    }

    /// Another reference to a mask.
    pub fn acquire(&mut self, address: u64) {
        *self.shared.entry(address).or_default() += 1;
    }

    /// Drops a reference; the last one takes the mask back.
    pub fn put(&mut self, address: u64) {
        match self.shared.get_mut(&address) {
            Some(more) if *more > 1 => *more -= 1,
            Some(_) => _ = self.shared.remove(&address),
            None => self.release(address),
        }
    }

    /// Takes a mask back.
    pub fn release(&mut self, address: u64) {
        self.free.push(address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::ids::CpuId;

    #[test]
    fn members_are_found_across_words() {
        let memory = GuestMemory::new().expect("memory");
        let mut masks = Masks::new(&memory, 130);
        let all = masks.create(&CpuSet::first(130)).expect("mask");
        let some = masks.create(&[70, 129].map(CpuId).into_iter().collect()).expect("mask");
        assert_eq!(all.first_common(&some, None), Some(70));
        assert!(all.remove(70) && !all.remove(70) && !all.contains(4000));
        assert_eq!((all.first_common(&some, None), all.len()), (Some(129), 129));
        assert_eq!(some.iter().collect::<Vec<_>>(), [70, 129]);
    }
}
