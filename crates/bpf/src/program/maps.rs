//! Maps as a linked program sees them.

/// Where the values of a map lie, for code generators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapLayout {
    /// Value `i` is at `base + i * stride` for `i < entries`; the key is a `u32`.
    Array {
        /// Guest address of value 0.
        base: u64,
        /// Bytes from a value to the next.
        stride: u32,
        /// Number of values.
        entries: u32,
    },
    /// As an array, once for each CPU: value `i` of a CPU is at `base + cpu * cpu_stride + i * stride`.
    PerCpuArray {
        /// Guest address of value 0 of CPU 0.
        base: u64,
        /// Bytes from a value to the next.
        stride: u32,
        /// Number of values.
        entries: u32,
        /// Bytes from a CPU to the next.
        cpu_stride: u64,
        /// Number of CPUs.
        cpus: u32,
    },
    /// The owner at guest address `a` has the index `(a - owners) / owner_stride < count`; the `u32` at
    /// `table + index * 4` is the guest address of its value, 0 when it has none.
    Storage {
        /// Guest address of the table.
        table: u64,
        /// Guest address of owner 0.
        owners: u64,
        /// Bytes from an owner to the next.
        owner_stride: u32,
        /// Number of owners.
        count: u32,
    },
    /// Only reachable through its helpers.
    Opaque,
}

/// A map as the program sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedMap {
    /// Its name.
    pub name: String,
    /// The value of a pointer to the map.
    pub address: u64,
    /// Where its values lie.
    pub layout: MapLayout,
}
