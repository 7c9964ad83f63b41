//! Writes functions by hand: instructions and labels in, basic blocks out.

use std::collections::BTreeSet;

use crate::program::{
    AluOp, Block, BlockId, Condition, Function, FunctionId, HostId, Insn, Operand, Register, Size, Width,
};

pub(super) use Width::{W32, W64};

/// A place to jump to.
#[derive(Clone, Copy)]
pub(super) struct Label(u32);

/// A function that is being written. Until [`finish`](Self::finish) a target is the number of a label.
#[derive(Default)]
pub(super) struct Assembler {
    insns: Vec<Insn>,
    labels: Vec<Option<u32>>,
}

pub(super) fn r(register: Register) -> Operand {
    Operand::Register(register)
}

pub(super) fn imm(value: i32) -> Operand {
    Operand::Immediate(value)
}

impl Assembler {
    pub(super) fn push(&mut self, insn: Insn) -> &mut Self {
        self.insns.push(insn);
        self
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    pub(super) fn place(&mut self, label: Label) -> &mut Self {
        self.labels[label.0 as usize] = Some(self.insns.len() as u32);
        self
    }

    pub(super) fn alu(&mut self, op: AluOp, width: Width, dst: Register, operand: Operand) -> &mut Self {
        self.push(Insn::Alu { op, width, dst, operand })
    }

    pub(super) fn add(&mut self, dst: Register, operand: Operand) -> &mut Self {
        self.alu(AluOp::Add, W64, dst, operand)
    }

    pub(super) fn mov(&mut self, dst: Register, operand: Operand) -> &mut Self {
        self.alu(AluOp::Move, W64, dst, operand)
    }

    pub(super) fn constant(&mut self, dst: Register, value: u64) -> &mut Self {
        self.push(Insn::Constant { dst, value })
    }

    pub(super) fn load(&mut self, size: Size, dst: Register, base: Register, offset: i16) -> &mut Self {
        self.push(Insn::Load { size, signed: false, probe: false, dst, base, offset })
    }

    pub(super) fn load_signed(&mut self, size: Size, dst: Register, base: Register, offset: i16) -> &mut Self {
        self.push(Insn::Load { size, signed: true, probe: false, dst, base, offset })
    }

    pub(super) fn store(&mut self, size: Size, base: Register, offset: i16, operand: Operand) -> &mut Self {
        self.push(Insn::Store { size, base, offset, operand })
    }

    pub(super) fn branch(
        &mut self,
        condition: Condition,
        width: Width,
        dst: Register,
        operand: Operand,
        to: Label,
    ) -> &mut Self {
        self.push(Insn::Branch { condition, width, dst, operand, target: BlockId(to.0) })
    }

    pub(super) fn jump(&mut self, to: Label) -> &mut Self {
        self.push(Insn::Jump { target: BlockId(to.0) })
    }

    pub(super) fn may_goto(&mut self, to: Label) -> &mut Self {
        self.push(Insn::MayGoto { target: BlockId(to.0) })
    }

    pub(super) fn call(&mut self, function: u32) -> &mut Self {
        self.push(Insn::CallFunction { function: FunctionId(function) })
    }

    pub(super) fn call_host(&mut self, host: HostId) -> &mut Self {
        self.push(Insn::CallHost { host })
    }

    pub(super) fn exit(&mut self) -> &mut Self {
        self.push(Insn::Exit)
    }

    /// The function, cut into basic blocks.
    pub(super) fn finish(&mut self) -> Function {
        let len = self.insns.len() as u32;
        let place = |target: BlockId| self.labels[target.index()].expect("every label is placed");
        let mut starts: BTreeSet<u32> = [0].into();
        for (at, insn) in (0..).zip(&self.insns) {
            starts.extend(insn.target().map(place));
            if insn.target().is_some() || insn.ends_flow() {
                starts.insert(at + 1);
            }
        }
        starts.remove(&len);
        let starts: Vec<u32> = starts.into_iter().collect();
        let ends = starts.iter().copied().skip(1).chain([len]);
        let blocks = starts.iter().zip(ends).map(|(&start, end)| Block { start, end }).collect();
        let mut insns = self.insns.clone();
        for insn in &mut insns {
            if let Insn::Jump { target } | Insn::Branch { target, .. } | Insn::MayGoto { target } = insn {
                *target = BlockId(starts.binary_search(&place(*target)).expect("a target starts a block") as u32);
            }
        }
        let slots = (0..len).collect();
        Function { name: "f".into(), insns, blocks, uses_stack: self.mentions_r10(), slots, lines: vec![] }
    }

    fn mentions_r10(&self) -> bool {
        self.insns.iter().any(|insn| match *insn {
            Insn::Alu { operand, .. } => operand == r(10),
            Insn::Store { base, operand, .. } => base == 10 || operand == r(10),
            Insn::Load { base, .. } | Insn::Atomic { base, .. } => base == 10,
            _ => false,
        })
    }
}
