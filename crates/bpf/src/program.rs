//! The linked form of a program: what both executors read.
//!
//! After loading, every function of an object is a list of small decoded instructions cut into basic blocks. Constants
//! are final: addresses of globals and maps are guest addresses, functions are handles, host functions are addresses.
//! Executing a block counts all its instructions when it is entered, so that both executors count the same.

mod maps;

use crate::constants::Constants;
use crate::fault::{Fault, FaultKind, SourceLine};
use crate::kernel::HostFn;
use crate::memory::HANDLE_BASE;
use crate::needs::Needs;
pub use crate::sections::Section;
pub use maps::{LinkedMap, MapLayout};

/// Bytes of a BPF stack frame.
pub const FRAME_SIZE: u64 = 512;
/// How often `may_goto` falls through in one call of a function before it jumps (the kernel's `BPF_MAX_LOOPS`).
pub const MAY_GOTO_LIMIT: u32 = 8 * 1024 * 1024;

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

numbers! {
    /// A function of the program: an entry or a subprogram.
    FunctionId;
    /// A basic block of a function.
    BlockId;
    /// A host function: helper or kernel function.
    HostId;
    /// An entry of the program: something with a section of its own that the environment may call.
    ProgramId;
    /// A map.
    MapId;
}

/// A register, 0 to 10. Register 10 is the end of the frame.
pub type Register = u8;

/// Width of an operation on registers. A 32-bit result is zero-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
}

/// Bytes of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 1 byte.
    B1,
    /// 2 bytes.
    B2,
    /// 4 bytes.
    B4,
    /// 8 bytes.
    B8,
}

impl Size {
    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Size::B1 => 1,
            Size::B2 => 2,
            Size::B4 => 4,
            Size::B8 => 8,
        }
    }
}

/// The second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// A constant, sign-extended to the width of the operation.
    Immediate(i32),
}

/// `dst = dst op operand`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AluOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Unsigned quotient; 0 when divided by 0.
    Div,
    /// Signed quotient; 0 when divided by 0; the smallest number over -1 is itself.
    SignedDiv,
    /// Unsigned remainder; unchanged (cut to the width) when divided by 0.
    Mod,
    /// Signed remainder; unchanged (cut to the width) when divided by 0; 0 when divided by -1.
    SignedMod,
    /// Bitwise or.
    Or,
    /// Bitwise and.
    And,
    /// Bitwise exclusive or.
    Xor,
    /// Shift left by the operand modulo the width.
    ShiftLeft,
    /// Shift right, zeros come in.
    ShiftRight,
    /// Shift right, copies of the sign come in.
    ShiftRightSigned,
    /// `dst = operand`.
    Move,
}

/// When a branch is taken: `dst condition operand`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Unsigned greater.
    Greater,
    /// Unsigned greater or equal.
    GreaterEqual,
    /// Unsigned less.
    Less,
    /// Unsigned less or equal.
    LessEqual,
    /// Signed greater.
    SignedGreater,
    /// Signed greater or equal.
    SignedGreaterEqual,
    /// Signed less.
    SignedLess,
    /// Signed less or equal.
    SignedLessEqual,
    /// `dst & operand` is not zero.
    Set,
}

/// An atomic operation on memory, sequentially consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicOp {
    /// `*p += src`.
    Add,
    /// `*p |= src`.
    Or,
    /// `*p &= src`.
    And,
    /// `*p ^= src`.
    Xor,
    /// `src = *p, *p = src`; always fetches.
    Exchange,
    /// `r0 = *p`, and `*p = src` if it was r0; always fetches, into r0.
    CompareExchange,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insn {
    /// Arithmetic on registers.
    Alu {
        /// What.
        op: AluOp,
        /// Width.
        width: Width,
        /// First operand and result.
        dst: Register,
        /// Second operand.
        operand: Operand,
    },
    /// `dst = -dst`.
    Negate {
        /// Width.
        width: Width,
        /// Operand and result.
        dst: Register,
    },
    /// `dst = the low bytes of src, sign-extended` to the width.
    MoveSigned {
        /// Width of the result.
        width: Width,
        /// Bytes taken.
        from: Size,
        /// Result.
        dst: Register,
        /// Operand.
        src: Register,
    },
    /// `dst = the low 32 bits of src`, with `high` above them unless they are zero: the pointer by which a loader knows a
    /// place of an arena.
    ToUser {
        /// Result.
        dst: Register,
        /// Operand.
        src: Register,
        /// The upper half of all such pointers.
        high: u32,
    },
    /// Reverses the low bytes of `dst` and clears the others.
    SwapBytes {
        /// Bytes that stay.
        size: Size,
        /// Operand and result.
        dst: Register,
    },
    /// Clears all but the low bytes of `dst` (a conversion to little endian).
    Truncate {
        /// Bytes that stay.
        size: Size,
        /// Operand and result.
        dst: Register,
    },
    /// `dst = value`: a 64-bit constant, which may be the address of a global, a map or a function handle.
    Constant {
        /// Result.
        dst: Register,
        /// Final value.
        value: u64,
    },
    /// `dst = *(base + offset)`.
    Load {
        /// Bytes.
        size: Size,
        /// Whether the value is sign-extended.
        signed: bool,
        /// Whether a NULL base reads as zero: a field of a kernel type.
        probe: bool,
        /// Result.
        dst: Register,
        /// Address.
        base: Register,
        /// Added to the address.
        offset: i16,
    },
    /// `*(base + offset) = operand`.
    Store {
        /// Bytes.
        size: Size,
        /// Address.
        base: Register,
        /// Added to the address.
        offset: i16,
        /// What is stored; a constant is sign-extended.
        operand: Operand,
    },
    /// An atomic operation.
    Atomic {
        /// What.
        op: AtomicOp,
        /// 32 or 64 bits of memory.
        width: Width,
        /// Whether the old value comes back, zero-extended: into `src`, for [`AtomicOp::CompareExchange`] into r0.
        fetch: bool,
        /// Address.
        base: Register,
        /// Added to the address.
        offset: i16,
        /// Operand.
        src: Register,
    },
    /// Goes to a block.
    Jump {
        /// Where.
        target: BlockId,
    },
    /// Goes to a block if the condition holds, else to the next block.
    Branch {
        /// When.
        condition: Condition,
        /// Width of the comparison.
        width: Width,
        /// First operand.
        dst: Register,
        /// Second operand.
        operand: Operand,
        /// Where.
        target: BlockId,
    },
    /// Goes to a block after [`MAY_GOTO_LIMIT`] passes of all such instructions in one call of the function, else to
    /// the next block.
    MayGoto {
        /// Where.
        target: BlockId,
    },
    /// Calls a function of the program: r1 to r5 are its arguments, r0 its result, r6 to r9 are kept.
    CallFunction {
        /// Which.
        function: FunctionId,
    },
    /// Calls a host function.
    CallHost {
        /// Which.
        host: HostId,
    },
    /// Calls the function whose handle is in a register.
    CallHandle {
        /// Holds the handle.
        src: Register,
    },
    /// Returns r0.
    Exit,
    /// Something that could not be resolved: executing it is an error. Ends a block.
    Unresolved {
        /// Index into [`Program::unresolved`].
        what: u32,
    },
}

impl Insn {
    /// Whether control never continues to the next instruction.
    pub fn ends_flow(&self) -> bool {
        matches!(self, Insn::Jump { .. } | Insn::Exit | Insn::Unresolved { .. })
    }

    /// Where it may jump.
    pub fn target(&self) -> Option<BlockId> {
        match *self {
            Insn::Jump { target } | Insn::Branch { target, .. } | Insn::MayGoto { target } => Some(target),
            _ => None,
        }
    }
}

/// A basic block: entered at its start only, left at its end only. Calls do not end a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Index of its first instruction.
    pub start: u32,
    /// Index behind its last instruction. If that one does not end the flow, control continues to the next block.
    pub end: u32,
}

impl Block {
    /// Number of instructions: what entering it costs.
    pub fn len(&self) -> u32 {
        self.end - self.start
    }

    /// Blocks are never empty.
    pub fn is_empty(&self) -> bool {
        self.end == self.start
    }
}

/// A function of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its C name.
    pub name: String,
    /// Its instructions.
    pub insns: Vec<Insn>,
    /// Its basic blocks, in the order of the instructions; the first is the entry.
    pub blocks: Vec<Block>,
    /// Whether it mentions r10. Only then it gets a frame.
    pub uses_stack: bool,
    /// Number of each instruction in the section of the object, where 16-byte instructions count twice.
    pub slots: Vec<u32>,
    /// First instruction (index into `insns`) of each source line, ascending.
    pub lines: Vec<(u32, SourceLine)>,
}

impl Function {
    /// A function of basic blocks, for tests.
    #[cfg(test)]
    pub(crate) fn of_blocks(blocks: &[&[Insn]], uses_stack: bool) -> Function {
        let mut insns = Vec::new();
        let mut made = Vec::new();
        for block in blocks {
            let start = insns.len() as u32;
            insns.extend_from_slice(block);
            made.push(Block { start, end: insns.len() as u32 });
        }
        Function { name: "f".into(), insns, blocks: made, uses_stack, slots: vec![], lines: vec![] }
    }

    /// The source line of an instruction.
    pub fn line(&self, instruction: u32) -> Option<&SourceLine> {
        let after = self.lines.partition_point(|(first, _)| *first <= instruction);
        after.checked_sub(1).map(|index| &self.lines[index].1)
    }
}

/// Host functions that a code generator may write in line, because they are called all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intrinsic {
    /// `bpf_map_lookup_elem(map, key)`.
    MapLookup,
    /// `bpf_map_lookup_percpu_elem(map, key, cpu)`.
    MapLookupPerCpu,
    /// `bpf_ktime_get_ns()` and its kin: [`crate::CallContext::now_ns`].
    NowNs,
    /// `bpf_get_smp_processor_id()`: [`crate::CallContext::cpu`].
    ProcessorId,
    /// `bpf_get_current_task()` and `_btf`: [`crate::CallContext::current`].
    CurrentTask,
    /// `bpf_task_storage_get(map, task, value, flags)`.
    TaskStorageGet,
    /// `bpf_iter_num_new(it, start, end)`.
    IterNumNew,
    /// `bpf_iter_num_next(it)`.
    IterNumNext,
    /// Functions without any effect that return 0: `bpf_iter_num_destroy`.
    Nothing,
    /// Functions that enter a section of this kind: `bpf_rcu_read_lock`.
    Enter(Section),
    /// Functions that leave a section of this kind: `bpf_rcu_read_unlock`.
    Leave(Section),
    /// Functions that read a 32-bit number at this offset in bytes from their first argument: `scx_bpf_task_cpu`.
    Field(i16),
    /// Functions that give their first argument back: `bpf_cast_to_kern_ctx`, `bpf_rdonly_cast`.
    Identity,
}

impl Intrinsic {
    /// Whether what is written in line raises no fault.
    pub fn never_fails(self) -> bool {
        use Intrinsic::*;
        matches!(self, NowNs | ProcessorId | CurrentTask | Nothing | Enter(_))
    }
}

/// A helper or kernel function that the program calls.
#[derive(Clone, Debug)]
pub struct HostFunction {
    /// Its name.
    pub name: String,
    /// The routine.
    pub call: HostFn,
    /// How many of r1 to r5 it looks at.
    pub arguments: u8,
    /// Set when a code generator may know it.
    pub intrinsic: Option<Intrinsic>,
    /// Whether it may call back into the program.
    pub calls_back: bool,
    /// Whether the program takes locks, and may not call this while it holds one.
    pub needs_no_lock: bool,
}

impl PartialEq for HostFunction {
    /// By the routine's address: equal means that the same code is called.
    fn eq(&self, other: &HostFunction) -> bool {
        let address = |host: &HostFunction| host.call as *const () as usize;
        (&self.name, self.intrinsic, self.needs_no_lock) == (&other.name, other.intrinsic, other.needs_no_lock)
            && address(self) == address(other)
    }
}

impl Eq for HostFunction {}

/// An entry of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// C name of the function.
    pub name: String,
    /// ELF section: `struct_ops/enqueue`, `tp_btf/sched_switch`.
    pub section: String,
    /// The function.
    pub function: FunctionId,
}

/// A linked program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// What never changes.
    pub constants: Constants,
    /// All functions that can be reached.
    pub functions: Vec<Function>,
    /// What a call of each function takes, see [`needs_of`](crate::needs::needs_of).
    pub needs: Vec<Needs>,
    /// All host functions that are called.
    pub hosts: Vec<HostFunction>,
    /// What the environment may call.
    pub entries: Vec<Entry>,
    /// Maps in the order of [`MapId`].
    pub maps: Vec<LinkedMap>,
    /// What could not be resolved, for [`Insn::Unresolved`].
    pub unresolved: Vec<String>,
    /// Whether machine code counts every instruction. Else it only takes from the budget what continues and on, at about
    /// its length: each pass of a loop, each call of a function that calls others.
    pub counts_all: bool,
}

impl Program {
    /// The value of a pointer to a function.
    pub fn function_handle(function: FunctionId) -> u64 {
        HANDLE_BASE + 8 * (u64::from(function.0) + 1)
    }

    /// The function behind a handle.
    pub fn function_of(&self, handle: u64) -> Option<FunctionId> {
        let index = handle.checked_sub(HANDLE_BASE + 8)?;
        (index % 8 == 0 && index / 8 < self.functions.len() as u64).then_some(FunctionId((index / 8) as u32))
    }

    /// Whether it is another program with other constants only: what is a setting is in there.
    pub fn differs_in_constants(&self, other: &Program) -> bool {
        self.constants != other.constants
            && self.functions == other.functions
            && (&self.hosts, &self.entries, &self.maps) == (&other.hosts, &other.entries, &other.maps)
            && (&self.unresolved, self.counts_all) == (&other.unresolved, other.counts_all)
    }

    /// The map that a pointer points at.
    pub fn map_at(&self, address: u64) -> Option<MapId> {
        let index = self.maps.binary_search_by_key(&address, |map| map.address).ok()?;
        Some(MapId(index as u32))
    }

    /// The name of the host function that an instruction calls.
    pub fn host_name_at(&self, function: FunctionId, instruction: u32) -> String {
        match self.functions[function.index()].insns.get(instruction as usize) {
            Some(Insn::CallHost { host }) => self.hosts[host.index()].name.clone(),
            _ => "something unknown".to_string(),
        }
    }

    /// The text of an unresolved instruction.
    pub fn unresolved_at(&self, function: FunctionId, instruction: u32) -> String {
        match self.functions[function.index()].insns.get(instruction as usize) {
            Some(Insn::Unresolved { what }) => self.unresolved[*what as usize].clone(),
            _ => "something unknown".to_string(),
        }
    }

    /// Puts the place to an error.
    pub fn fault(&self, function: FunctionId, instruction: u32, kind: FaultKind) -> Fault {
        let Some(found) = self.functions.get(function.index()) else {
            return Fault { kind, function: "the program".to_string(), instruction, source: None };
        };
        let slot = found.slots.get(instruction as usize).copied().unwrap_or(instruction);
        Fault { kind, function: found.name.clone(), instruction: slot, source: found.line(instruction).cloned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_small() {
        assert!(size_of::<Insn>() <= 16, "{}", size_of::<Insn>());
    }
}
