//! What is known about the registers before a program runs: constants and places in the frame.
//!
//! A map that is known when a lookup is compiled can be looked up in line, an access whose place in the frame is known
//! needs no masking, and an argument that was never set need not be passed. The analysis is the usual forward one over
//! the basic blocks; it only has to be true, so everything hard is [`Known::Nothing`].

use crate::program::{AluOp, AtomicOp, Function, Insn, Operand, Register, Width};

/// What is known about the value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// On no path was it set since the last call, which leaves r1 to r5 without a value.
    Unset,
    /// It is this number.
    Constant(u64),
    /// It is r10 plus this.
    Frame(i64),
    /// It may be anything.
    Nothing,
}

/// The registers r0 to r10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Registers([Known; 11]);

impl Registers {
    /// As a function starts: r1 to r5 are whatever the caller gave, r10 is the end of the frame.
    pub(super) fn at_entry() -> Registers {
        let mut known = [Known::Unset; 11];
        known[1..=5].fill(Known::Nothing);
        known[10] = Known::Frame(0);
        Registers(known)
    }

    /// What is known of a register.
    pub(super) fn of(&self, register: Register) -> Known {
        self.0[usize::from(register)]
    }

    /// The number that a register is known to hold.
    pub(super) fn constant(&self, register: Register) -> Option<u64> {
        match self.of(register) {
            Known::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// How many of r1 to r5 an unknown host function may look at: those behind were never set.
    pub(super) fn arguments(&self) -> usize {
        (1..=5).rev().find(|&register| self.of(register) != Known::Unset).map_or(0, usize::from)
    }

    /// Follows an instruction.
    pub(super) fn step(&mut self, insn: &Insn) {
        match *insn {
            Insn::Constant { dst, value } => self.set(dst, Known::Constant(value)),
            Insn::Alu { op, width, dst, operand } => self.set(dst, self.alu(op, width, dst, operand)),
            Insn::Negate { dst, .. }
            | Insn::MoveSigned { dst, .. }
            | Insn::SwapBytes { dst, .. }
            | Insn::Truncate { dst, .. }
            | Insn::Load { dst, .. } => self.set(dst, Known::Nothing),
            Insn::Atomic { op: AtomicOp::CompareExchange, .. } => self.set(0, Known::Nothing),
            Insn::Atomic { op, fetch, src, .. } if fetch || op == AtomicOp::Exchange => self.set(src, Known::Nothing),
            Insn::CallFunction { .. } | Insn::CallHost { .. } | Insn::CallHandle { .. } => {
                self.set(0, Known::Nothing);
                self.0[1..=5].fill(Known::Unset);
            }
            Insn::Atomic { .. }
            | Insn::Store { .. }
            | Insn::Jump { .. }
            | Insn::Branch { .. }
            | Insn::MayGoto { .. }
            | Insn::Exit
            | Insn::Unresolved { .. } => {}
        }
    }

    fn set(&mut self, register: Register, known: Known) {
        self.0[usize::from(register)] = known;
    }

    fn alu(&self, op: AluOp, width: Width, dst: Register, operand: Operand) -> Known {
        let operand = match operand {
            Operand::Register(register) => self.of(register),
            Operand::Immediate(value) => Known::Constant(i64::from(value) as u64),
        };
        match (op, width, self.of(dst), operand) {
            (AluOp::Move, Width::W64, _, Known::Unset) => Known::Nothing,
            (AluOp::Move, Width::W64, _, value) => value,
            (AluOp::Move, Width::W32, _, Known::Constant(value)) => Known::Constant(u64::from(value as u32)),
            (AluOp::Add, Width::W64, Known::Constant(a), Known::Constant(b)) => Known::Constant(a.wrapping_add(b)),
            (AluOp::Sub, Width::W64, Known::Constant(a), Known::Constant(b)) => Known::Constant(a.wrapping_sub(b)),
            (AluOp::Add, Width::W64, Known::Frame(a), Known::Constant(b)) => Known::Frame(a.wrapping_add(b as i64)),
            (AluOp::Sub, Width::W64, Known::Frame(a), Known::Constant(b)) => Known::Frame(a.wrapping_sub(b as i64)),
            _ => Known::Nothing,
        }
    }

    /// Keeps what holds on both paths. Gives whether anything was lost.
    fn join(&mut self, other: &Registers) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            if *mine != theirs && *mine != Known::Nothing {
                *mine = Known::Nothing;
                changed = true;
            }
        }
        changed
    }
}

/// What is known at the start of each basic block; `None` where control never comes.
pub(super) fn analyse(function: &Function) -> Vec<Option<Registers>> {
    let mut entries: Vec<Option<Registers>> = vec![None; function.blocks.len()];
    entries[0] = Some(Registers::at_entry());
    let mut waiting = vec![0];
    while let Some(index) = waiting.pop() {
        let Some(mut state) = entries[index] else { continue };
        let block = function.blocks[index];
        let insns = &function.insns[block.start as usize..block.end as usize];
        insns.iter().for_each(|insn| state.step(insn));
        let next = insns.last().is_none_or(|last| !last.ends_flow()).then_some(index + 1);
        let target = insns.last().and_then(Insn::target).map(|target| target.index());
        for successor in next.into_iter().chain(target) {
            let changed = match &mut entries[successor] {
                Some(entry) => entry.join(&state),
                empty => {
                    *empty = Some(state);
                    true
                }
            };
            if changed {
                waiting.push(successor);
            }
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Block, BlockId, Condition, HostId};

    fn branch(target: u32) -> Insn {
        let (condition, width) = (Condition::Equal, Width::W64);
        Insn::Branch { condition, width, dst: 0, operand: Operand::Immediate(0), target: BlockId(target) }
    }

    fn put(dst: Register, value: u64) -> Insn {
        Insn::Constant { dst, value }
    }

    fn function(blocks: &[&[Insn]]) -> Function {
        let mut made = Vec::new();
        let mut insns = Vec::new();
        for block in blocks {
            let start = insns.len() as u32;
            insns.extend_from_slice(block);
            made.push(Block { start, end: insns.len() as u32 });
        }
        Function { name: "f".into(), insns, blocks: made, uses_stack: true, slots: vec![], lines: vec![] }
    }

    #[test]
    fn follows_constants_and_places_in_the_frame() {
        let mut known = Registers::at_entry();
        let alu = |op, operand| Insn::Alu { op, width: Width::W64, dst: 2, operand };
        known.step(&alu(AluOp::Move, Operand::Register(10)));
        known.step(&alu(AluOp::Add, Operand::Immediate(-8)));
        assert_eq!(known.of(2), Known::Frame(-8));
        known.step(&put(2, 40));
        known.step(&alu(AluOp::Sub, Operand::Immediate(-2)));
        assert_eq!(known.constant(2), Some(42));
        known.step(&alu(AluOp::Mul, Operand::Immediate(2)));
        assert_eq!(known.of(2), Known::Nothing);
    }

    #[test]
    fn a_call_leaves_no_arguments() {
        let mut known = Registers::at_entry();
        assert_eq!(known.arguments(), 5);
        known.step(&Insn::CallHost { host: HostId(0) });
        assert_eq!(known.arguments(), 0);
        known.step(&put(2, 1));
        assert_eq!(known.arguments(), 2);
    }

    #[test]
    fn joins_keep_what_both_paths_agree_on() {
        // Both ways to block 2 agree on r6 and not on r7; block 2 loops and changes r8.
        let entries = analyse(&function(&[
            &[put(6, 1), put(7, 2), put(8, 3), branch(2)],
            &[put(7, 5)],
            &[put(8, 4), branch(2)],
            &[Insn::Exit],
            &[Insn::Exit],
        ]));
        let at = entries[2].unwrap();
        assert_eq!((at.of(6), at.of(7), at.of(8)), (Known::Constant(1), Known::Nothing, Known::Nothing));
        assert_eq!(entries[3].unwrap().of(8), Known::Constant(4));
        assert_eq!(entries[4], None);
    }
}
