//! Arrays, also with a copy for each CPU.

use crate::memory::{Access, Content, GuestMemory, MemoryError, Region};
use crate::program::MapLayout;

/// An array: value `i` of a CPU is at `base + cpu * cpu_stride + i * stride`.
#[derive(Clone, Debug)]
pub struct Array {
    pub base: u64,
    stride: u32,
    pub entries: u32,
    /// Bytes from a CPU's values to the next CPU's; 0 when all share one copy.
    cpu_stride: u64,
    cpus: u32,
}

impl Array {
    pub fn new(
        name: &str,
        value_size: u32,
        entries: u32,
        cpus: Option<u32>,
        content: Content,
        memory: &GuestMemory,
    ) -> Result<Array, MemoryError> {
        let stride = value_size.checked_next_multiple_of(8).unwrap_or(u32::MAX - 7);
        let one = u64::from(stride) * u64::from(entries);
        let len = one.saturating_mul(u64::from(cpus.unwrap_or(1)));
        let region =
            Region::array(format!("map {name}"), stride, value_size.min(stride), Access::ReadWrite).with(content);
        memory.charge(&format!("map {name}"), len)?;
        let base = memory.alloc(len, 8, region)?;
        Ok(Array { base, stride, entries, cpu_stride: if cpus.is_some() { one } else { 0 }, cpus: cpus.unwrap_or(1) })
    }

    #[inline]
    pub fn address(&self, index: u32, cpu: u32) -> Option<u64> {
        let is_there = index < self.entries && (self.cpu_stride == 0 || cpu < self.cpus);
        is_there.then(|| self.base + u64::from(cpu) * self.cpu_stride + u64::from(index) * u64::from(self.stride))
    }

    pub fn layout(&self) -> MapLayout {
        let Array { base, stride, entries, cpu_stride, cpus } = *self;
        match cpu_stride {
            0 => MapLayout::Array { base, stride, entries },
            _ => MapLayout::PerCpuArray { base, stride, entries, cpu_stride, cpus },
        }
    }

    /// The value around an address and its index.
    pub fn element_around(&self, address: u64) -> Option<(u64, u32)> {
        let number = address.checked_sub(self.base)? / u64::from(self.stride);
        let total = u64::from(self.entries) * u64::from(self.cpus);
        let index = (number < total).then(|| (number % u64::from(self.entries)) as u32)?;
        Some((self.base + number * u64::from(self.stride), index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_has_its_copy() {
        let memory = GuestMemory::new().unwrap();
        let array = Array::new("stats", 12, 3, Some(2), Content::Other, &memory).unwrap();
        assert_eq!(array.address(2, 1), Some(array.base + 48 + 32));
        assert_eq!(array.address(3, 0), None);
        assert_eq!(array.address(0, 2), None);
        assert_eq!(array.element_around(array.base + 48 + 33), Some((array.base + 80, 2)));
        let shared = Array::new("flags", 4, 1, None, Content::Other, &memory).unwrap();
        assert_eq!(shared.address(0, 7), Some(shared.base));
        assert_eq!(shared.element_around(shared.base + 8), None);
    }
}
