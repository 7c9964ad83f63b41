//! An error that a running program made.

use std::fmt;

/// A place in the C source of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLine {
    /// File name as the compiler was given it, without its folders.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

/// What a program did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It touched memory outside of everything it may touch.
    Outside {
        /// Whether it wrote.
        write: bool,
        /// Bytes.
        len: u64,
        /// Address.
        address: u64,
    },
    /// It ran over the end of something.
    Overrun {
        /// Whether it wrote.
        write: bool,
        /// Bytes.
        len: u64,
        /// What it ran over, with the place in it.
        what: String,
    },
    /// It wrote to something that is not to be written.
    ReadOnly {
        /// Bytes.
        len: u64,
        /// What, with the place in it.
        what: String,
    },
    /// It continued beyond its budget of instructions.
    Endless {
        /// Instructions of the budget.
        limit: i64,
    },
    /// Calls are nested deeper than the stack.
    StackOverflow,
    /// It executed something that could not be resolved when it was loaded.
    Unresolved(String),
    /// It called an address that is no function.
    WildCall(u64),
    /// It called this function while it held a lock.
    Locked(String),
    /// A helper or kernel function refused; the text says why.
    Refused(String),
    /// It threw an exception, which ends the call and is no error.
    Thrown {
        /// What it threw: the result of the call.
        cookie: u64,
        /// What was left of the budget.
        budget: i64,
    },
    /// A host function panicked: an error of ours that this program has found.
    Defect(String),
}

/// An error of a program: what it did, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What it did.
    pub kind: FaultKind,
    /// The function of the program.
    pub function: String,
    /// Number of the instruction in the function's section.
    pub instruction: u32,
    /// The line of the source, where the object says it.
    pub source: Option<SourceLine>,
}

impl Fault {
    /// The result of a call that ended with an exception, and what was left of its budget.
    pub(crate) fn exception(&self) -> Option<(u64, i64)> {
        match self.kind {
            FaultKind::Thrown { cookie, budget } => Some((cookie, budget)),
            _ => None,
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = |write: &bool| if *write { "writes" } else { "reads" };
        match self {
            FaultKind::Outside { write, len, address: 0 } => write!(f, "{} {len} bytes through NULL", verb(write)),
            FaultKind::Outside { write, len, address } => {
                write!(f, "{} {len} bytes at {address:#x}, outside of everything it may touch", verb(write))
            }
            FaultKind::Overrun { write, len, what } => write!(f, "{} {len} bytes past the end of {what}", verb(write)),
            FaultKind::ReadOnly { len, what } => write!(f, "writes {len} bytes to {what}, which is read-only"),
            FaultKind::Endless { limit } => {
                write!(f, "does not end: {limit} instructions in one call; bound its loops")
            }
            FaultKind::StackOverflow => f.write_str("nests calls deeper than its stack"),
            FaultKind::Unresolved(what) => write!(f, "uses {what}, which this kernel does not have"),
            FaultKind::WildCall(address) => write!(f, "calls {address:#x}, which is not a function"),
            FaultKind::Locked(name) => write!(
                f,
                "calls {name} while it holds a lock; a kernel lets it call only what takes locks, gives them back, or \
                 works on lists and trees"
            ),
            FaultKind::Refused(text) => f.write_str(text),
            FaultKind::Thrown { cookie, .. } => write!(f, "throws an exception ({cookie})"),
            FaultKind::Defect(text) => {
                write!(f, "calls what has a defect of schedlab ({text}); please report it with the object")
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { kind, function, instruction, source } = self;
        match source {
            Some(SourceLine { file, line }) => {
                write!(f, "{function} ({file}:{line}, instruction {instruction}) {kind}")
            }
            None => write!(f, "{function} (instruction {instruction}) {kind}"),
        }
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_one_line_with_the_place() {
        let kind = FaultKind::Outside { write: false, len: 8, address: 0x40 };
        let source = Some(SourceLine { file: "mine.bpf.c".into(), line: 12 });
        let fault = Fault { kind, function: "mine_enqueue".into(), instruction: 7, source };
        let text =
            "mine_enqueue (mine.bpf.c:12, instruction 7) reads 8 bytes at 0x40, outside of everything it may touch";
        assert_eq!(fault.to_string(), text);
    }
}
