//! What a load needs in addition to the object and the kernel.

/// How a program is executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Executor {
    /// The interpreter: every access to memory is checked.
    #[default]
    Interpreter,
    /// Machine code: fast, nothing is checked but that it ends.
    Machine,
}

/// The things that own values of a storage map: an array in guest memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnerTable {
    /// Guest address of owner 0.
    pub base: u64,
    /// Bytes from an owner to the next; 0 when there are none.
    pub stride: u32,
    /// How many there can be.
    pub count: u32,
}

impl OwnerTable {
    /// The index of the owner at an address.
    #[inline]
    pub fn index(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(self.base)?;
        let index = offset.checked_div(u64::from(self.stride))?;
        let is_one = index < u64::from(self.count) && index * u64::from(self.stride) == offset;
        is_one.then_some(index as u32)
    }
}

/// Options of a load.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Interpreter or machine code.
    pub executor: Executor,
    /// CPUs of the machine: the copies of per-CPU maps.
    pub cpus: u32,
    /// NUMA node of each CPU; a missing one is node 0.
    pub cpu_nodes: Vec<u32>,
    /// Seed of the program's random numbers.
    pub seed: u64,
    /// Instructions that one call may execute.
    pub instruction_limit: i64,
    /// Whether executed instructions are counted. If not, machine code only finds endless loops, and is a twentieth
    /// faster.
    pub counts_instructions: bool,
    /// Where tasks lie: owners of task storage.
    pub task_owners: OwnerTable,
    /// Where cgroups lie: owners of cgroup storage.
    pub cgroup_owners: OwnerTable,
}

impl Default for LoadOptions {
    fn default() -> LoadOptions {
        LoadOptions {
            executor: Executor::Interpreter,
            cpus: 1,
            cpu_nodes: Vec::new(),
            seed: 1,
            instruction_limit: 100_000_000,
            counts_instructions: true,
            task_owners: OwnerTable::default(),
            cgroup_owners: OwnerTable::default(),
        }
    }
}

/// The value of a setting: a `const volatile` global of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Integer(i128),
    /// A truth value.
    Bool(bool),
    /// Text, for a `char` array.
    Text(String),
    /// The constant's own bytes, whatever its type.
    Bytes(Vec<u8>),
}
