//! What there is for each CPU.

use schedlab_model::machine::MAX_CPUS;
use std::ops::{Index, IndexMut};

const PLACES: usize = MAX_CPUS as usize;

/// Elements by the number of a CPU.
///
/// There are always as many places as a machine can have CPUs, and a number is wrapped into them: that needs no branch,
/// and a compiler does it once for all looks at a CPU. Debug builds look at the number.
pub struct PerCpu<T> {
    places: Box<[T; PLACES]>,
    len: u32,
}

impl<T> PerCpu<T> {
    /// Elements for some CPUs; `make` gives one for a number, for spare places too.
    pub fn new(cpus: u32, make: impl FnMut(u32) -> T) -> PerCpu<T> {
        const { assert!(PLACES.is_power_of_two()) };
        assert!(cpus <= MAX_CPUS);
        let places: Box<[T]> = (0..MAX_CPUS).map(make).collect();
        let places = places.try_into().unwrap_or_else(|_| unreachable!("there are as many as were made"));
        PerCpu { places, len: cpus }
    }

    /// How many CPUs there are.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// The elements of the CPUs that there are.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places[..self.len as usize].iter()
    }
}

impl<T> Index<u32> for PerCpu<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, cpu: u32) -> &T {
        debug_assert!(cpu < self.len, "cpu {cpu} of {}", self.len);
        &self.places[cpu as usize % PLACES]
    }
}

impl<T> IndexMut<u32> for PerCpu<T> {
    #[inline(always)]
    fn index_mut(&mut self, cpu: u32) -> &mut T {
        debug_assert!(cpu < self.len, "cpu {cpu} of {}", self.len);
        &mut self.places[cpu as usize % PLACES]
    }
}
