//! Errors of parsing and loading. Each is one line that says what is wrong and what to try.

use crate::btf::BtfError;
use crate::memory::MemoryError;

/// Why a program could not be turned into machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot generate machine code for {function}: {reason}; run it in the interpreter")]
pub struct MachineError {
    /// The function of the program.
    pub function: String,
    /// What went wrong.
    pub reason: String,
}

/// Why a file is no usable BPF object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// Nothing in it.
    #[error("the file is empty; compile the policy again")]
    Empty,
    /// Something else than an object file.
    #[error("this is no ELF file; a policy is a .bpf.c source or an object compiled by clang -target bpf")]
    NotElf,
    /// It ends too early.
    #[error("the file is cut off: it ends at byte {len}, in the middle of an ELF structure; compile or copy it again")]
    Truncated {
        /// Bytes that are there.
        len: usize,
    },
    /// Compiled for something else.
    #[error("the object is for {machine}, not for BPF; compile it with clang -target bpf")]
    OtherMachine {
        /// What for.
        machine: String,
    },
    /// A BPF file, but no object.
    #[error("the ELF file is not relocatable; give the object that clang -c wrote")]
    NotRelocatable,
    /// No type information.
    #[error("the object has no BTF: it defines nothing, or was compiled without -g")]
    NoBtf,
    /// Broken type information.
    #[error("the object's BTF is damaged: {0}; compile it again")]
    Btf(#[from] BtfError),
    /// No table of operations.
    #[error("the object defines no struct_ops variable; a scheduler has one of type struct sched_ext_ops")]
    NoStructOps,
    /// Something does not fit together.
    #[error("the object is damaged: {0}; compile it again")]
    Damaged(String),
    /// An instruction that BPF does not have.
    #[error("{function}, instruction {instruction}: {what}")]
    Instruction {
        /// The function.
        function: String,
        /// Number in its section.
        instruction: u32,
        /// What is wrong with it.
        what: String,
    },
}

/// Why an object cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The object itself is broken.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// No memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// No machine code.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// It needs what is not simulated.
    #[error("the object needs what is not simulated: {}", .0.join(", "))]
    Missing(Vec<String>),
    /// A kernel refuses its table of operations.
    #[error("a kernel refuses to attach it: {0}")]
    Refused(String),
    /// A kernel refuses its licence.
    #[error(
        "{}, and kernels load only schedulers with a GPL-compatible licence: write \
         `char _license[] SEC(\"license\") = \"GPL\";`",
        if .0.is_empty() { "it has no licence".into() } else { format!("its licence is \"{}\"", .0) }
    )]
    Licence(String),
    /// It calls what is defined elsewhere.
    #[error(
        "the object does not define {}; compile one source that includes all its parts, or link their objects with \
         `bpftool gen object`",
        .0.join(", ")
    )]
    Unlinked(Vec<String>),
    /// A setting for nothing.
    #[error("there is no parameter `{name}`; {}", list(.known))]
    UnknownSetting {
        /// The name that was given.
        name: String,
        /// The names that are there.
        known: Vec<String>,
    },
    /// A setting of another type.
    #[error("parameter `{name}` is of type {type_name}: {reason}")]
    BadSetting {
        /// The parameter.
        name: String,
        /// Its C type.
        type_name: String,
        /// Why the value does not fit.
        reason: String,
    },
    /// A map that cannot be made.
    #[error("map `{name}`: {reason}")]
    Map {
        /// The map.
        name: String,
        /// What is wrong.
        reason: String,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "the object has none".to_string() } else { format!("known are {}", names.join(", ")) }
}
