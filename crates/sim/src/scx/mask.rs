//! CPU masks in guest memory, where policies read them as `struct cpumask`.

use schedlab_bpf::{Access, GuestMemory, MemoryError, Region};
use schedlab_model::cpuset::CpuSet;

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
    /// The bits of the last word that stand for CPUs. Whatever a program wrote into the others, no CPU is there.
    last: u64,
}

impl Mask {
    fn at(memory: &GuestMemory, address: u64, cpus: u32) -> Mask {
        let last = u64::MAX >> ((64 - cpus % 64) % 64);
        Mask { memory: memory.clone(), address, words: cpus.div_ceil(64), last }
    }

    /// How many words are in use.
    pub fn words(&self) -> u32 {
        self.words
    }

    /// The word that holds CPUs `64 * index` and up.
    #[inline]
    pub fn word(&self, index: u32) -> u64 {
        let word: u64 = self.memory.read(self.address + 8 * index as u64);
        if index + 1 == self.words { word & self.last } else { word }
    }

    /// Sets a word; what is no CPU is left out.
    #[inline]
    pub fn set_word(&self, index: u32, word: u64) {
        let word = if index + 1 == self.words { word & self.last } else { word };
        self.memory.write(self.address + 8 * index as u64, word);
    }

    /// Whether both have the same members.
    pub fn is_same(&self, other: &Mask) -> bool {
        (0..self.words).all(|i| self.word(i) == other.word(i))
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

    /// The first CPU from a number on that is also in `other`, if given.
    pub fn first_from(&self, from: u32, other: Option<&Mask>) -> Option<u32> {
        (from / 64..self.words).find_map(|i| {
            let passed = if i == from / 64 { u64::MAX << (from % 64) } else { u64::MAX };
            let word = self.word(i) & passed & other.map_or(u64::MAX, |m| m.word(i));
            (word != 0).then(|| i * 64 + word.trailing_zeros())
        })
    }

    /// The first of `cpus` CPUs that is not in it.
    pub fn first_missing(&self, cpus: u32) -> Option<u32> {
        let mut words = (0..self.words).map(|i| (i, self.word(i).trailing_ones()));
        let found = words.find_map(|(i, ones)| (ones < 64).then_some(i * 64 + ones));
        found.filter(|&cpu| cpu < cpus)
    }

    /// Whether all members are in another mask.
    pub fn is_within(&self, other: &Mask) -> bool {
        (0..self.words).all(|i| self.word(i) & !other.word(i) == 0)
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

/// The owner of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// None: it is free.
    Nobody,
    /// The kernel: a policy may only read it.
    Kernel,
    /// The policy, with this number of references.
    Policy(u32),
}

/// Hands out masks from guest memory and knows each that is in use.
pub struct Masks {
    memory: GuestMemory,
    cpus: u32,
    /// For each [`CHUNK_BYTES`] of guest memory the first mask in it, [`NO_CHUNK`] if there are none.
    chunks: Vec<u32>,
    /// By number.
    owners: Vec<Owner>,
    /// Where the last chunk is, and how many of its masks were ever used.
    last: (u64, u64),
    free: Vec<u64>,
}

/// Masks allocated at once.
const CHUNK: u64 = 256;
const CHUNK_BYTES: u64 = CHUNK * MASK_BYTES as u64;
const NO_CHUNK: u32 = u32::MAX;

impl Masks {
    /// No mask yet.
    pub fn new(memory: &GuestMemory, cpus: u32) -> Masks {
        let (chunks, owners, free) = (Vec::new(), Vec::new(), Vec::new());
        Masks { memory: memory.clone(), cpus, chunks, owners, last: (0, CHUNK), free }
    }

    /// A mask of the kernel, equal to `set`.
    pub fn create(&mut self, set: &CpuSet) -> Result<Mask, MemoryError> {
        let address = self.allocate(Owner::Kernel)?;
        let mask = Mask::at(&self.memory, address, self.cpus);
        mask.assign(set);
        Ok(mask)
    }

    /// An empty mask of the policy, which has one reference to it. Gives its address.
    pub fn make(&mut self) -> Result<u64, MemoryError> {
        self.memory.charge("CPU masks", MASK_BYTES.into())?;
        self.allocate(Owner::Policy(1)).inspect_err(|_| self.memory.refund(MASK_BYTES.into()))
    }

    fn allocate(&mut self, owner: Owner) -> Result<u64, MemoryError> {
        let address = match self.free.pop() {
            Some(address) => address,
            None => self.unused()?,
        };
        if let Some(index) = self.index(address) {
            self.owners[index] = owner;
        }
        Ok(address)
    }

    /// The address of a mask that was never used.
    fn unused(&mut self) -> Result<u64, MemoryError> {
        if self.last.1 == CHUNK {
            // Policies change masks by kernel functions only.
            let region = Region::array("cpumask", MASK_BYTES, MASK_BYTES, Access::ReadOnly);
            let start = self.memory.alloc(CHUNK_BYTES, CHUNK_BYTES, region)?;
            let place = (start / CHUNK_BYTES) as usize;
            self.chunks.resize(self.chunks.len().max(place + 1), NO_CHUNK);
            self.chunks[place] = self.owners.len() as u32;
            self.owners.resize(self.owners.len() + CHUNK as usize, Owner::Nobody);
            self.last = (start, 0);
        }
        let (start, used) = self.last;
        self.last.1 = used + 1;
        Ok(start + used * MASK_BYTES as u64)
    }

    /// The number of the mask at an address.
    #[inline]
    fn index(&self, address: u64) -> Option<usize> {
        let first = *self.chunks.get((address / CHUNK_BYTES) as usize).filter(|&&first| first != NO_CHUNK)?;
        let offset = address % CHUNK_BYTES;
        offset.is_multiple_of(MASK_BYTES.into()).then_some(first as usize + (offset / MASK_BYTES as u64) as usize)
    }

    #[inline]
    fn owner(&self, address: u64) -> Owner {
        self.index(address).map_or(Owner::Nobody, |index| self.owners[index])
    }

    /// The mask at an address, of any owner.
    #[inline]
    pub fn get(&self, address: u64) -> Option<Mask> {
        (self.owner(address) != Owner::Nobody).then(|| Mask::at(&self.memory, address, self.cpus))
    }

    /// The mask at an address, if it is one of the policy's.
    #[inline]
    pub fn get_own(&self, address: u64) -> Option<Mask> {
        matches!(self.owner(address), Owner::Policy(_)).then(|| Mask::at(&self.memory, address, self.cpus))
    }

    /// A mask that a policy keeps in memory of its own, a map or its variables: a kernel takes that as well.
    #[cold]
    pub fn in_memory(&self, address: u64) -> Option<Mask> {
        let is_own = address.is_multiple_of(8) && self.memory.writable(address, MASK_BYTES.into());
        is_own.then(|| Mask::at(&self.memory, address, self.cpus))
    }

    /// Another reference to a mask of the policy's.
    pub fn acquire(&mut self, mask: &Mask) {
        if let Some(index) = self.index(mask.address)
            && let Owner::Policy(references) = &mut self.owners[index]
        {
            *references += 1;
        }
    }

    /// Drops a reference to a mask of the policy's; the last one takes the mask back.
    pub fn put(&mut self, address: u64) {
        let Some(index) = self.index(address) else { return };
        match &mut self.owners[index] {
            Owner::Policy(1) => {
                self.owners[index] = Owner::Nobody;
                self.memory.zero(address, MASK_BYTES as usize);
                self.memory.refund(MASK_BYTES.into());
                self.free.push(address);
            }
            Owner::Policy(references) => *references -= 1,
            Owner::Kernel | Owner::Nobody => {}
        }
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
        let from = |from| (some.first_from(from, None), some.first_from(from, Some(&all)));
        assert_eq!(
            [from(0), from(71), from(129), from(130), from(4000)],
            [(Some(70), Some(129)), (Some(129), Some(129)), (Some(129), Some(129)), (None, None), (None, None)]
        );
        assert!(!some.is_within(&all) && some.remove(70) && some.is_within(&all) && !all.is_within(&some));
        assert_eq!((all.first_missing(130), some.first_missing(130)), (Some(70), Some(0)));
        all.insert(70);
        assert_eq!((all.first_missing(130), all.remove(128), all.first_missing(130)), (None, true, Some(128)));
    }

    #[test]
    fn what_is_no_cpu_is_in_no_mask() {
        let memory = GuestMemory::new().expect("memory");
        let mut masks = Masks::new(&memory, 66);
        let mask = masks.create(&CpuSet::default()).expect("mask");
        memory.write(mask.address + 8, u64::MAX);
        assert_eq!(mask.iter().collect::<Vec<_>>(), [64, 65]);
        mask.set_word(1, u64::MAX);
        assert_eq!(memory.read::<u64>(mask.address + 8), 3);
        let mut full = Masks::new(&memory, 64);
        assert_eq!(full.create(&CpuSet::first(64)).expect("mask").len(), 64);
    }

    #[test]
    fn the_last_reference_takes_a_mask_back_once() {
        let memory = GuestMemory::new().expect("memory");
        let mut masks = Masks::new(&memory, 8);
        let kernel = masks.create(&CpuSet::first(8)).expect("mask");
        let address = masks.make().expect("mask");
        let mask = masks.get_own(address).expect("own");
        assert!(masks.get_own(kernel.address).is_none() && masks.get(kernel.address).is_some());
        assert!(masks.get(address + 8).is_none() && masks.get(0).is_none() && masks.get(u64::MAX).is_none());
        mask.insert(3);
        masks.acquire(&mask);
        masks.put(address);
        assert!(masks.get(address).is_some());
        masks.put(address);
        assert!(masks.get(address).is_none());
        masks.put(address);
        masks.put(kernel.address);
        let (first, second) = (masks.make().expect("mask"), masks.make().expect("mask"));
        assert_eq!((first, masks.get(first).expect("own").len()), (address, 0));
        assert_ne!(first, second);
    }
}
