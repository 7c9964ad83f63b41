//! What is known about the registers before a program runs: constants and places in the frame.
//!
//! A map that is known when a lookup is compiled can be looked up in line, and an access whose place in the frame is
//! known needs no masking. The analysis is the usual forward one over
//! the basic blocks; it only has to be true, so everything hard is [`Known::Nothing`].

use crate::alu::{alu32, alu64, holds, sign_extend};
use crate::constants::Constants;
use crate::program::{AluOp, AtomicOp, Condition, Function, Insn, Operand, Register, Size, Width};

/// What is known about the value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
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
    /// As a function starts: r1 to the last argument are whatever the caller gave, r10 is the end of the frame, the
    /// others are 0.
    pub(super) fn at_entry(arguments: u8) -> Registers {
        let mut known = [Known::Constant(0); 11];
        known[1..=usize::from(arguments)].fill(Known::Nothing);
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

    /// What is known of the second operand of an instruction.
    pub(super) fn operand(&self, operand: Operand) -> Known {
        match operand {
            Operand::Register(register) => self.of(register),
            Operand::Immediate(value) => Known::Constant(i64::from(value) as u64),
        }
    }

    /// What a load gives, if it is from a place that never changes.
    pub(super) fn load(
        &self,
        constants: &Constants,
        size: Size,
        signed: bool,
        base: Register,
        offset: i16,
    ) -> Option<u64> {
        let value = constants.read(self.constant(base)?.wrapping_add(i64::from(offset) as u64), size)?;
        Some(if signed { sign_extend(size, value) } else { value })
    }

    /// Which way a branch goes, if it always goes the same.
    pub(super) fn decides(&self, condition: Condition, width: Width, dst: Register, operand: Operand) -> Option<bool> {
        match (self.of(dst), self.operand(operand)) {
            (Known::Constant(a), Known::Constant(b)) => Some(holds(condition, width, a, b)),
            _ => None,
        }
    }

    /// Follows an instruction.
    pub(super) fn step(&mut self, insn: &Insn, constants: &Constants) {
        match *insn {
            Insn::Load { size, signed, dst, base, offset, .. } => {
                let loaded = self.load(constants, size, signed, base, offset);
                self.set(dst, loaded.map_or(Known::Nothing, Known::Constant));
            }
            Insn::Constant { dst, value } => self.set(dst, Known::Constant(value)),
            Insn::Alu { op, width, dst, operand } => self.set(dst, self.alu(op, width, dst, operand)),
            Insn::Negate { dst, .. }
            | Insn::MoveSigned { dst, .. }
            | Insn::ToUser { dst, .. }
            | Insn::SwapBytes { dst, .. }
            | Insn::Truncate { dst, .. } => self.set(dst, Known::Nothing),
            Insn::Atomic { op: AtomicOp::CompareExchange, .. } => self.set(0, Known::Nothing),
            Insn::Atomic { op, fetch, src, .. } if fetch || op == AtomicOp::Exchange => self.set(src, Known::Nothing),
            Insn::CallFunction { .. } | Insn::CallHost { .. } | Insn::CallHandle { .. } => {
                self.set(0, Known::Nothing);
                self.0[1..=5].fill(Known::Constant(0));
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

    /// What is known of the result of an operation.
    pub(super) fn alu(&self, op: AluOp, width: Width, dst: Register, operand: Operand) -> Known {
        match (op, width, self.of(dst), self.operand(operand)) {
            (AluOp::Move, Width::W64, _, value) => value,
            (AluOp::Move, Width::W32, _, Known::Constant(value)) => Known::Constant(u64::from(value as u32)),
            (op, Width::W64, Known::Constant(a), Known::Constant(b)) => Known::Constant(alu64(op, a, b)),
            (op, Width::W32, Known::Constant(a), Known::Constant(b)) => {
                Known::Constant(u64::from(alu32(op, a as u32, b as u32)))
            }
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
pub(super) fn analyse(function: &Function, arguments: u8, constants: &Constants) -> Vec<Option<Registers>> {
    let mut entries: Vec<Option<Registers>> = vec![None; function.blocks.len()];
    entries[0] = Some(Registers::at_entry(arguments));
    let mut waiting = vec![0];
    while let Some(index) = waiting.pop() {
        let Some(mut state) = entries[index] else { continue };
        let block = function.blocks[index];
        let insns = &function.insns[block.start as usize..block.end as usize];
        insns.iter().for_each(|insn| state.step(insn, constants));
        let decided = match insns.last() {
            Some(&Insn::Branch { condition, width, dst, operand, .. }) => state.decides(condition, width, dst, operand),
            _ => None,
        };
        let goes_on = insns.last().is_none_or(|last| !last.ends_flow()) && decided != Some(true);
        let next = goes_on.then_some(index + 1);
        let target = insns.last().filter(|_| decided != Some(false)).and_then(Insn::target);
        let target = target.map(|target| target.index());
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
    use crate::program::{BlockId, Condition, HostId};

    fn branch(target: u32) -> Insn {
        let (condition, width) = (Condition::Equal, Width::W64);
        Insn::Branch { condition, width, dst: 0, operand: Operand::Immediate(0), target: BlockId(target) }
    }

    fn put(dst: Register, value: u64) -> Insn {
        Insn::Constant { dst, value }
    }

    fn function(blocks: &[&[Insn]]) -> Function {
        Function::of_blocks(blocks, true)
    }

    /// Two bytes at 1000: 7, then -1.
    fn constants() -> Constants {
        let mut constants = Constants::default();
        constants.add(1000, vec![7, 0xff]);
        constants
    }

    /// What is known after some instructions.
    fn after(insns: &[Insn]) -> Registers {
        let mut known = Registers::at_entry(5);
        insns.iter().for_each(|insn| known.step(insn, &constants()));
        known
    }

    fn alu(op: AluOp, operand: Operand) -> Insn {
        Insn::Alu { op, width: Width::W64, dst: 2, operand }
    }

    #[test]
    fn follows_constants_and_places_in_the_frame() {
        let place = [alu(AluOp::Move, Operand::Register(10)), alu(AluOp::Add, Operand::Immediate(-8))];
        assert_eq!(after(&place).of(2), Known::Frame(-8));
        assert_eq!(after(&[put(2, 40), alu(AluOp::Sub, Operand::Immediate(-2))]).constant(2), Some(42));
        assert_eq!(after(&[put(2, 40), alu(AluOp::Mul, Operand::Immediate(2))]).constant(2), Some(80));
        assert_eq!(after(&[alu(AluOp::Mul, Operand::Immediate(2))]).of(2), Known::Nothing);
        let low = Insn::Alu { op: AluOp::Add, width: Width::W32, dst: 2, operand: Operand::Immediate(2) };
        assert_eq!(after(&[put(2, 0x1_ffff_ffff), low]).constant(2), Some(1));
    }

    #[test]
    fn what_never_changes_is_known_when_it_is_loaded() {
        let load = |offset, signed| Insn::Load { size: Size::B1, signed, probe: false, dst: 3, base: 2, offset };
        assert_eq!(after(&[put(2, 1000), load(0, false)]).constant(3), Some(7));
        assert_eq!(after(&[put(2, 1002), load(-1, true)]).constant(3), Some(u64::MAX));
        assert_eq!(after(&[put(2, 1000), load(2, false)]).of(3), Known::Nothing);
    }

    #[test]
    fn a_branch_that_is_decided_leaves_one_way() {
        // r0 is 0, so that the first branch is taken, and 1 where the second one is not.
        let entries = analyse(
            &function(&[&[put(0, 0), branch(2)], &[Insn::Exit], &[put(0, 1), branch(4)], &[Insn::Exit], &[Insn::Exit]]),
            5,
            &constants(),
        );
        let reached: Vec<bool> = entries.iter().map(Option::is_some).collect();
        assert_eq!(reached, [true, false, true, true, false]);
    }

    #[test]
    fn a_call_leaves_zeros_as_arguments() {
        let call = Insn::CallHost { host: HostId(0) };
        let of = |insns: &[Insn]| [after(insns).of(1), after(insns).of(2)];
        assert_eq!(of(&[]), [Known::Nothing, Known::Nothing]);
        assert_eq!(of(&[call]), [Known::Constant(0), Known::Constant(0)]);
        assert_eq!(of(&[call, put(2, 1)]), [Known::Constant(0), Known::Constant(1)]);
    }

    #[test]
    fn joins_keep_what_both_paths_agree_on() {
        // Both ways to block 2 agree on r6 and not on r7; block 2 loops and changes r8.
        let unknown = Insn::Load { size: Size::B8, signed: false, probe: false, dst: 0, base: 1, offset: 0 };
        let blocks: &[&[Insn]] = &[
            &[unknown, put(6, 1), put(7, 2), put(8, 3), branch(2)],
            &[put(7, 5)],
            &[put(8, 4), branch(2)],
            &[Insn::Exit],
            &[Insn::Exit],
        ];
        let entries = analyse(&function(blocks), 5, &constants());
        let at = entries[2].unwrap();
        assert_eq!((at.of(6), at.of(7), at.of(8)), (Known::Constant(1), Known::Nothing, Known::Nothing));
        assert_eq!(entries[3].unwrap().of(8), Known::Constant(4));
        assert_eq!(entries[4], None);
    }
}
