//! From instruction slots to decoded instructions and basic blocks.

use std::collections::BTreeMap;

use crate::object::RawInsn;
use crate::program::{
    AluOp, AtomicOp, Block, BlockId, Condition, FunctionId, HostId, Insn, Operand, Register, Size, Width,
};

/// What the linker found for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patch {
    /// The value of a 64-bit constant.
    Constant(u64),
    /// A call of a function of the program.
    Function(FunctionId),
    /// A call of a host function.
    Host(HostId),
    /// A pointer of an arena as its loader knows it: the upper half.
    ToUser(u32),
    /// Not to be executed: index of the reason.
    Unresolved(u32),
}

/// The code of one function, to be decoded.
pub struct Source<'a> {
    /// Slots of the function.
    pub insns: &'a [RawInsn],
    /// Number of the first slot in the section.
    pub start: u32,
    /// By slot of the section.
    pub patches: &'a BTreeMap<u32, Patch>,
    /// Whether a load at a slot of the section may go through NULL.
    pub probes: &'a dyn Fn(u32) -> bool,
}

/// A decoded function.
#[derive(Clone, Debug, Default)]
pub struct Decoded {
    pub insns: Vec<Insn>,
    pub blocks: Vec<Block>,
    pub slots: Vec<u32>,
    pub uses_stack: bool,
}

/// What is wrong with a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    pub slot: u32,
    pub what: String,
}

/// Decodes a function.
pub fn decode(source: &Source) -> Result<Decoded, DecodeError> {
    let mut decoded = Decoded::default();
    // Index of the instruction that begins at a slot; none for second halves.
    let mut index_of = vec![None; source.insns.len()];
    let mut at = 0;
    while at < source.insns.len() {
        let slot = source.start + at as u32;
        let insn = source.insn(at).map_err(|what| DecodeError { slot, what })?;
        decoded.uses_stack |= mentions_frame(&source.insns[at]);
        index_of[at] = Some(decoded.insns.len() as u32);
        decoded.insns.push(insn);
        decoded.slots.push(slot);
        at += if source.insns[at].code == 0x18 { 2 } else { 1 };
    }
    let ends = decoded.insns.last().is_some_and(Insn::ends_flow);
    if !ends {
        let what = "control runs over the end of the function".to_string();
        return Err(DecodeError { slot: source.start + source.insns.len() as u32, what });
    }
    decoded.cut(&index_of, source.start)?;
    Ok(decoded)
}

fn mentions_frame(raw: &RawInsn) -> bool {
    let class = raw.code & 7;
    let reads_source = matches!(class, 1 | 3) || (class >= 4 && raw.code & 8 != 0);
    class != 0 && (raw.dst == 10 || (reads_source && raw.src == 10))
}

impl Decoded {
    /// Cuts the instructions into blocks and turns targets from relative slots into blocks.
    fn cut(&mut self, index_of: &[Option<u32>], start: u32) -> Result<(), DecodeError> {
        let mut leader = vec![false; self.insns.len() + 1];
        leader[0] = true;
        for (index, insn) in self.insns.iter_mut().enumerate() {
            let ends_flow = insn.ends_flow();
            if let Some(target) = target_mut(insn) {
                // Until here a target is a slot of the function.
                let found = index_of.get(target.index()).copied().flatten();
                let what = "it jumps out of the function or into the middle of an instruction".to_string();
                *target = BlockId(found.ok_or(DecodeError { slot: self.slots[index], what })?);
                leader[target.index()] = true;
                leader[index + 1] = true;
            }
            leader[index + 1] |= ends_flow;
        }
        let mut block_of = vec![BlockId(0); self.insns.len()];
        for index in 0..self.insns.len() {
            if leader[index] {
                self.blocks.push(Block { start: index as u32, end: index as u32 });
            }
            let last = self.blocks.len() - 1;
            self.blocks[last].end = index as u32 + 1;
            block_of[index] = BlockId(last as u32);
        }
        for insn in &mut self.insns {
            if let Some(target) = target_mut(insn) {
                *target = block_of[target.index()];
            }
        }
        debug_assert!(self.slots.first().is_none_or(|&first| first == start));
        Ok(())
    }
}

fn target_mut(insn: &mut Insn) -> Option<&mut BlockId> {
    match insn {
        Insn::Jump { target } | Insn::Branch { target, .. } | Insn::MayGoto { target } => Some(target),
        _ => None,
    }
}

impl Source<'_> {
    /// Decodes the instruction at an index of the function.
    fn insn(&self, at: usize) -> Result<Insn, String> {
        let raw = self.insns[at];
        if raw.dst > 10 || (raw.src > 10 && !is_pseudo(&raw)) {
            return Err("it names a register above r10".to_string());
        }
        if let Some(Patch::Unresolved(what)) = self.patches.get(&(self.start + at as u32)) {
            return Ok(Insn::Unresolved { what: *what });
        }
        if let Some(Patch::ToUser(high)) = self.patches.get(&(self.start + at as u32)) {
            return Ok(Insn::ToUser { dst: written(raw.dst)?, src: raw.src, high: *high });
        }
        match raw.code & 7 {
            0 => self.constant(at, raw),
            1 => self.load(at, raw),
            2 | 3 => store(raw),
            4 => alu(raw, Width::W32),
            7 => alu(raw, Width::W64),
            5 => self.jump(at, raw, Width::W64),
            _ => self.jump(at, raw, Width::W32),
        }
    }

    fn constant(&self, at: usize, raw: RawInsn) -> Result<Insn, String> {
        if raw.code != 0x18 {
            return Err(format!("instruction code {:#04x} is for packets and not simulated", raw.code));
        }
        let high = self.insns.get(at + 1).ok_or("a 64-bit constant is cut off")?;
        let value = match self.patches.get(&(self.start + at as u32)) {
            Some(Patch::Constant(value)) => *value,
            None if raw.src == 0 => u64::from(raw.imm as u32) | u64::from(high.imm as u32) << 32,
            _ => return Err("a 64-bit constant refers to something that is not there".to_string()),
        };
        Ok(Insn::Constant { dst: written(raw.dst)?, value })
    }

    fn load(&self, at: usize, raw: RawInsn) -> Result<Insn, String> {
        let (size, dst) = (size(raw.code), written(raw.dst)?);
        let signed = match raw.code & 0xE0 {
            0x60 => false,
            0x80 if size != Size::B8 => true,
            _ => return Err(unknown(raw)),
        };
        let probe = (self.probes)(self.start + at as u32);
        Ok(Insn::Load { size, signed, probe, dst, base: raw.src, offset: raw.offset })
    }

    fn jump(&self, at: usize, raw: RawInsn, width: Width) -> Result<Insn, String> {
        let target = |distance: i64| {
            let slot = at as i64 + 1 + distance;
            // What does not fit is refused as a jump out of the function.
            BlockId(u32::try_from(slot).unwrap_or(u32::MAX))
        };
        let near = target(i64::from(raw.offset));
        let operand = operand(raw);
        let branch = |condition| Ok(Insn::Branch { condition, width, dst: raw.dst, operand, target: near });
        match (raw.code & 0xF0, width) {
            (0x00, Width::W64) if raw.code & 8 == 0 => Ok(Insn::Jump { target: near }),
            (0x00, Width::W32) if raw.code & 8 == 0 => Ok(Insn::Jump { target: target(i64::from(raw.imm)) }),
            (0x10, _) => branch(Condition::Equal),
            (0x20, _) => branch(Condition::Greater),
            (0x30, _) => branch(Condition::GreaterEqual),
            (0x40, _) => branch(Condition::Set),
            (0x50, _) => branch(Condition::NotEqual),
            (0x60, _) => branch(Condition::SignedGreater),
            (0x70, _) => branch(Condition::SignedGreaterEqual),
            (0x80, Width::W64) if raw.code & 8 != 0 => Ok(Insn::CallHandle { src: raw.dst }),
            (0x80, Width::W64) => self.call(at),
            (0x90, Width::W64) => Ok(Insn::Exit),
            (0xA0, _) => branch(Condition::Less),
            (0xB0, _) => branch(Condition::LessEqual),
            (0xC0, _) => branch(Condition::SignedLess),
            (0xD0, _) => branch(Condition::SignedLessEqual),
            (0xE0, Width::W64) if raw.code & 8 == 0 && raw.src == 0 => Ok(Insn::MayGoto { target: near }),
            _ => Err(unknown(raw)),
        }
    }

    fn call(&self, at: usize) -> Result<Insn, String> {
        match self.patches.get(&(self.start + at as u32)) {
            Some(Patch::Function(function)) => Ok(Insn::CallFunction { function: *function }),
            Some(Patch::Host(host)) => Ok(Insn::CallHost { host: *host }),
            _ => Err("a call leads nowhere".to_string()),
        }
    }
}

/// Whether the source register is no register but says what the constant means.
fn is_pseudo(raw: &RawInsn) -> bool {
    raw.code == 0x18 || raw.code == 0x85
}

fn unknown(raw: RawInsn) -> String {
    format!("BPF has no instruction of code {:#04x} (offset {}, constant {})", raw.code, raw.offset, raw.imm)
}

/// A register that is written: all but r10.
fn written(register: u8) -> Result<Register, String> {
    if register < 10 { Ok(register) } else { Err("it writes to r10, which is the frame".to_string()) }
}

fn operand(raw: RawInsn) -> Operand {
    if raw.code & 8 == 0 { Operand::Immediate(raw.imm) } else { Operand::Register(raw.src) }
}

fn size(code: u8) -> Size {
    match code & 0x18 {
        0x00 => Size::B4,
        0x08 => Size::B2,
        0x10 => Size::B1,
        _ => Size::B8,
    }
}

fn size_of_bits(bits: i32) -> Option<Size> {
    match bits {
        8 => Some(Size::B1),
        16 => Some(Size::B2),
        32 => Some(Size::B4),
        64 => Some(Size::B8),
        _ => None,
    }
}

fn store(raw: RawInsn) -> Result<Insn, String> {
    let (size, base, offset) = (size(raw.code), raw.dst, raw.offset);
    match (raw.code & 7, raw.code & 0xE0) {
        (2, 0x60) => Ok(Insn::Store { size, base, offset, operand: Operand::Immediate(raw.imm) }),
        (3, 0x60) => Ok(Insn::Store { size, base, offset, operand: Operand::Register(raw.src) }),
        (3, 0xC0) => atomic(raw),
        _ => Err(unknown(raw)),
    }
}

fn atomic(raw: RawInsn) -> Result<Insn, String> {
    let (size, offset) = (size(raw.code), raw.offset);
    // One thread runs at a time, so that acquire and release are plain.
    match raw.imm {
        0x100 => {
            let dst = written(raw.dst)?;
            return Ok(Insn::Load { size, signed: false, probe: false, dst, base: raw.src, offset });
        }
        0x110 => return Ok(Insn::Store { size, base: raw.dst, offset, operand: Operand::Register(raw.src) }),
        _ => {}
    }
    let width = match size {
        Size::B4 => Width::W32,
        Size::B8 => Width::W64,
        _ => return Err(unknown(raw)),
    };
    let (op, fetch) = match raw.imm {
        0x00 | 0x01 => (AtomicOp::Add, raw.imm & 1 != 0),
        0x40 | 0x41 => (AtomicOp::Or, raw.imm & 1 != 0),
        0x50 | 0x51 => (AtomicOp::And, raw.imm & 1 != 0),
        0xA0 | 0xA1 => (AtomicOp::Xor, raw.imm & 1 != 0),
        0xE1 => (AtomicOp::Exchange, true),
        0xF1 => (AtomicOp::CompareExchange, true),
        _ => return Err(unknown(raw)),
    };
    if fetch && op != AtomicOp::CompareExchange {
        written(raw.src)?;
    }
    Ok(Insn::Atomic { op, width, fetch, base: raw.dst, offset, src: raw.src })
}

fn alu(raw: RawInsn, width: Width) -> Result<Insn, String> {
    let (dst, operand) = (written(raw.dst)?, operand(raw));
    let op = match (raw.code & 0xF0, raw.offset) {
        (0x00, 0) => AluOp::Add,
        (0x10, 0) => AluOp::Sub,
        (0x20, 0) => AluOp::Mul,
        (0x30, 0) => AluOp::Div,
        (0x30, 1) => AluOp::SignedDiv,
        (0x40, 0) => AluOp::Or,
        (0x50, 0) => AluOp::And,
        (0x60, 0) => AluOp::ShiftLeft,
        (0x70, 0) => AluOp::ShiftRight,
        (0x80, 0) if raw.code & 8 == 0 => return Ok(Insn::Negate { width, dst }),
        (0x90, 0) => AluOp::Mod,
        (0x90, 1) => AluOp::SignedMod,
        (0xA0, 0) => AluOp::Xor,
        (0xB0, 0) => AluOp::Move,
        // A cast between address spaces: an arena pointer is a guest address, of which 32 bits count.
        (0xB0, 1) if raw.code & 8 != 0 && width == Width::W64 => {
            return Ok(Insn::Alu { op: AluOp::Move, width: Width::W32, dst, operand });
        }
        (0xB0, bits) if raw.code & 8 != 0 => {
            let from = size_of_bits(i32::from(bits)).filter(|&size| size != Size::B8);
            let from = from.filter(|&size| size != Size::B4 || width == Width::W64).ok_or_else(|| unknown(raw))?;
            return Ok(Insn::MoveSigned { width, from, dst, src: raw.src });
        }
        (0xC0, 0) => AluOp::ShiftRightSigned,
        (0xD0, 0) => {
            let size = size_of_bits(raw.imm).filter(|&size| size != Size::B1).ok_or_else(|| unknown(raw))?;
            let swaps = width == Width::W64 || raw.code & 8 != 0;
            return Ok(if swaps { Insn::SwapBytes { size, dst } } else { Insn::Truncate { size, dst } });
        }
        _ => return Err(unknown(raw)),
    };
    Ok(Insn::Alu { op, width, dst, operand })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(code: u8, dst: u8, src: u8, offset: i16, imm: i32) -> RawInsn {
        RawInsn { code, dst, src, offset, imm }
    }

    fn decode_all(insns: &[RawInsn]) -> Result<Decoded, DecodeError> {
        decode(&Source { insns, start: 10, patches: &BTreeMap::new(), probes: &|_| false })
    }

    #[test]
    fn cuts_at_targets_and_branches() {
        // r0 = 3; loop: r0 -= 1; if r0 != 0 goto loop; r1 = 5 ll; exit
        let decoded = decode_all(&[
            raw(0xB7, 0, 0, 0, 3),
            raw(0x17, 0, 0, 0, 1),
            raw(0x55, 0, 0, -2, 0),
            raw(0x18, 1, 0, 0, 5),
            raw(0, 0, 0, 0, 0),
            raw(0x95, 0, 0, 0, 0),
        ]);
        let decoded = decoded.unwrap();
        let blocks: Vec<(u32, u32)> = decoded.blocks.iter().map(|block| (block.start, block.end)).collect();
        assert_eq!(blocks, [(0, 1), (1, 3), (3, 5)]);
        assert_eq!(decoded.insns[2].target(), Some(BlockId(1)));
        assert_eq!(decoded.slots, [10, 11, 12, 13, 15]);
        assert!(!decoded.uses_stack);
    }

    #[test]
    fn refuses_what_leads_out_or_is_unknown() {
        let exit = raw(0x95, 0, 0, 0, 0);
        let what = |insns: &[RawInsn]| decode_all(insns).unwrap_err().what;
        assert!(what(&[raw(0x05, 0, 0, 7, 0), exit]).contains("jumps out"));
        assert!(what(&[raw(0x05, 0, 0, 1, 0), raw(0x18, 0, 0, 0, 0), exit, exit]).contains("middle"));
        assert!(what(&[raw(0xB7, 10, 0, 0, 0), exit]).contains("r10"));
        assert!(what(&[raw(0xB7, 0, 0, 0, 0)]).contains("over the end"));
        assert!(what(&[raw(0x20, 0, 0, 0, 0), exit]).contains("packets"));
        assert!(what(&[raw(0xF7, 0, 0, 0, 0), exit]).contains("no instruction"));
        assert!(what(&[raw(0x85, 0, 0, 0, 1), exit]).contains("nowhere"));
        assert!(what(&[raw(0x18, 0, 0, 0, 1)]).contains("cut off"));
        assert!(decode_all(&[]).is_err());
    }
}
