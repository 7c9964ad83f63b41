//! Random programs of the shape that a verifier accepts: accesses stay inside the frame and the data, loops are bounded,
//! and every register is set before it is read. Careless ones read r1 to r5 after calls, which no verifier lets them.

use proptest::prelude::*;

use super::assembler::{Assembler, W64, imm, r};
use super::{DATA_LEN, OWNER_STRIDE, OWNERS, World, hosts};
use crate::program::{AluOp, AtomicOp, Condition, Function, HostId, Insn, Operand, Register, Size, Width};

/// A piece of a program. Values live in r0 to r7; r8 and r9 are for addresses and counters.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Simple(Insn),
    /// A load of a constant.
    Constant {
        size: Size,
        signed: bool,
        dst: Register,
        place: i16,
    },
    /// r9 becomes an address in the frame or the data, chosen by what `index` holds; then an access through it.
    Access {
        frame: bool,
        index: Option<Register>,
        place: i16,
        insn: Insn,
    },
    /// A call of a host function with five values, after which r1 to r5 are set or not.
    Host {
        host: HostId,
        words: [Operand; 5],
        careless: bool,
    },
    /// A lookup with a key from a register.
    Lookup {
        host: HostId,
        map: usize,
        key: Register,
        third: i32,
    },
    /// A look at the value of an owner, of which one has none and two do not exist.
    Storage {
        owner: u32,
    },
    /// A call of the function behind this one, if there is one.
    Function {
        words: [Operand; 5],
        careless: bool,
    },
    If {
        condition: Condition,
        width: Width,
        dst: Register,
        operand: Operand,
        then: Vec<Piece>,
    },
    Loop {
        passes: i32,
        body: Vec<Piece>,
    },
}

/// Offsets from r10: below are 64 bytes for loop counters and keys.
const LOWEST: i16 = -448;
const COUNTERS: i16 = -512;
const KEY: i16 = -456;

fn value() -> BoxedStrategy<u64> {
    prop_oneof![
        any::<u64>(),
        0u64..70,
        (0u64..70).prop_map(u64::wrapping_neg),
        Just(1 << 63),
        Just(1 << 31),
        Just(u64::from(u32::MAX)),
        any::<i32>().prop_map(|value| value as u64),
    ]
    .boxed()
}

fn register() -> impl Strategy<Value = Register> {
    0u8..8
}

fn width() -> impl Strategy<Value = Width> {
    prop_oneof![Just(Width::W32), Just(Width::W64)]
}

fn size() -> impl Strategy<Value = Size> {
    prop_oneof![Just(Size::B1), Just(Size::B2), Just(Size::B4), Just(Size::B8)]
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        register().prop_map(Operand::Register),
        any::<i32>().prop_map(Operand::Immediate),
        (-2..70).prop_map(Operand::Immediate),
    ]
}

fn alu_op() -> impl Strategy<Value = AluOp> {
    use AluOp::*;
    prop::sample::select(vec![
        Add,
        Sub,
        Mul,
        Div,
        SignedDiv,
        Mod,
        SignedMod,
        Or,
        And,
        Xor,
        ShiftLeft,
        ShiftRight,
        ShiftRightSigned,
        Move,
    ])
}

fn condition() -> impl Strategy<Value = Condition> {
    use Condition::*;
    prop::sample::select(vec![
        Equal,
        NotEqual,
        Greater,
        GreaterEqual,
        Less,
        LessEqual,
        SignedGreater,
        SignedGreaterEqual,
        SignedLess,
        SignedLessEqual,
        Set,
    ])
}

fn simple() -> impl Strategy<Value = Insn> {
    prop_oneof![
        6 => (alu_op(), width(), register(), operand())
            .prop_map(|(op, width, dst, operand)| Insn::Alu { op, width, dst, operand }),
        1 => (width(), register()).prop_map(|(width, dst)| Insn::Negate { width, dst }),
        1 => (width(), prop_oneof![Just(Size::B1), Just(Size::B2), Just(Size::B4)], register(), register())
            .prop_map(|(width, from, dst, src)| Insn::MoveSigned { width, from, dst, src }),
        1 => (size(), register()).prop_map(|(size, dst)| Insn::SwapBytes { size, dst }),
        1 => (size(), register()).prop_map(|(size, dst)| Insn::Truncate { size, dst }),
        2 => (register(), value()).prop_map(|(dst, value)| Insn::Constant { dst, value }),
    ]
}

/// An access through r9.
fn access() -> impl Strategy<Value = Insn> {
    use AtomicOp::*;
    let atomic_op = prop::sample::select(vec![Add, Or, And, Xor, Exchange, CompareExchange]);
    prop_oneof![
        (size(), any::<bool>(), register()).prop_map(|(size, signed, dst)| Insn::Load {
            size,
            signed,
            probe: false,
            dst,
            base: 9,
            offset: 0
        }),
        (size(), operand()).prop_map(|(size, operand)| Insn::Store { size, base: 9, offset: 0, operand }),
        (atomic_op, width(), any::<bool>(), register()).prop_map(|(op, width, fetch, src)| {
            let fetch = fetch || matches!(op, Exchange | CompareExchange);
            Insn::Atomic { op, width, fetch, base: 9, offset: 0, src }
        }),
    ]
}

fn words() -> impl Strategy<Value = [Operand; 5]> {
    prop::array::uniform5(operand())
}

fn careless() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.3)
}

fn leaf() -> impl Strategy<Value = Piece> {
    let called = prop::sample::select(vec![
        hosts::MIX,
        hosts::OBSERVE,
        hosts::REFUSE,
        hosts::REENTER,
        hosts::NOW,
        hosts::CPU,
        hosts::CURRENT,
        hosts::NOTHING,
        hosts::IDENTITY,
    ]);
    let lookup = prop::sample::select(vec![hosts::LOOKUP, hosts::LOOKUP_CPU]);
    prop_oneof![
        12 => simple().prop_map(Piece::Simple),
        3 => (size(), any::<bool>(), register(), 0i16..25)
            .prop_map(|(size, signed, dst, place)| Piece::Constant { size, signed, dst, place }),
        6 => (any::<bool>(), prop::option::of(register()), -40i16..40, access())
            .prop_map(|(frame, index, place, insn)| Piece::Access { frame, index, place: 8 * place, insn }),
        1 => (called, words(), careless()).prop_map(|(host, words, careless)| Piece::Host { host, words, careless }),
        1 => (lookup, 0usize..4, register(), -1..4).prop_map(|(host, map, key, third)| Piece::Lookup { host, map, key, third }),
        1 => (0..OWNERS + 2).prop_map(|owner| Piece::Storage { owner }),
        1 => (words(), careless()).prop_map(|(words, careless)| Piece::Function { words, careless }),
    ]
}

pub(super) fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let piece = leaf().prop_recursive(3, 60, 8, |inner| {
        let body = prop::collection::vec(inner, 1..8);
        prop_oneof![
            2 => (condition(), width(), register(), operand(), body.clone())
                .prop_map(|(condition, width, dst, operand, then)| Piece::If { condition, width, dst, operand, then }),
            1 => (1..6, body).prop_map(|(passes, body)| Piece::Loop { passes, body }),
        ]
    });
    prop::collection::vec(piece, 1..16)
}

/// Writes functions; each calls only the one behind it.
pub(super) fn functions(world: &World, all: &[Vec<Piece>]) -> Vec<Function> {
    (0..all.len()).map(|index| function(world, all, index)).collect()
}

fn function(world: &World, all: &[Vec<Piece>], index: usize) -> Function {
    let mut code = Assembler::default();
    for register in [0, 6, 7] {
        code.constant(register, 0x1234_5678_9abc_def1u64.rotate_left(7 * u32::from(register)));
    }
    let mut writer = Writer { world, callee: (index + 1 < all.len()).then_some(index as u32 + 1), depth: 0 };
    writer.pieces(&mut code, &all[index]);
    // What the registers hold at the end goes to memory.
    code.constant(9, world.data + DATA_LEN - 64 * (index as u64 % 2 + 1));
    for register in 0..8 {
        code.store(Size::B8, 9, 8 * i16::from(register), r(register));
    }
    code.exit().finish()
}

struct Writer<'a> {
    world: &'a World,
    callee: Option<u32>,
    depth: i16,
}

impl Writer<'_> {
    fn pieces(&mut self, code: &mut Assembler, pieces: &[Piece]) {
        pieces.iter().for_each(|piece| self.piece(code, piece));
    }

    fn piece(&mut self, code: &mut Assembler, piece: &Piece) {
        match *piece {
            Piece::Simple(insn) => _ = code.push(insn),
            Piece::Constant { size, signed, dst, place } => {
                code.constant(9, self.world.constants);
                code.push(Insn::Load { size, signed, probe: false, dst, base: 9, offset: place });
            }
            Piece::Access { frame, index, place, insn } => self.access(code, frame, index, place, insn),
            Piece::Host { host, words, careless } => {
                arguments(code, words);
                code.call_host(host);
                if !careless {
                    after_call(code);
                }
            }
            Piece::Lookup { host, map, key, third } => {
                code.store(Size::B4, 10, KEY, r(key)).alu(AluOp::And, W64, key, imm(7));
                code.mov(2, r(10)).add(2, imm(i32::from(KEY)));
                code.constant(1, self.world.maps[map].address).mov(3, imm(third)).call_host(host);
                after_call(code);
            }
            Piece::Storage { owner } => {
                code.constant(1, self.world.maps[2].address);
                code.constant(2, self.world.owners + u64::from(owner * OWNER_STRIDE)).mov(3, imm(0)).mov(4, imm(1));
                code.call_host(hosts::STORAGE);
                after_call(code);
            }
            Piece::Function { words, careless } => {
                let Some(callee) = self.callee else { return };
                arguments(code, words);
                code.call(callee);
                if !careless {
                    after_call(code);
                }
            }
            Piece::If { condition, width, dst, operand, ref then } => {
                let over = code.label();
                code.branch(condition, width, dst, operand, over);
                self.pieces(code, then);
                code.place(over);
            }
            Piece::Loop { passes, ref body } => {
                let (again, counter) = (code.label(), COUNTERS + 8 * self.depth);
                code.store(Size::B8, 10, counter, imm(passes)).place(again);
                self.depth += 1;
                self.pieces(code, body);
                self.depth -= 1;
                code.load(Size::B8, 8, 10, counter).alu(AluOp::Sub, W64, 8, imm(1)).store(Size::B8, 10, counter, r(8));
                code.branch(Condition::NotEqual, W64, 8, imm(0), again);
            }
        }
    }

    /// An access at a place that is known, or that a register chooses.
    fn access(&self, code: &mut Assembler, frame: bool, index: Option<Register>, place: i16, insn: Insn) {
        let place = place.rem_euclid(if frame { -LOWEST / 2 } else { DATA_LEN as i16 / 2 });
        let offset = match frame {
            true => {
                code.mov(9, r(10)).add(9, imm(i32::from(LOWEST)));
                place
            }
            false => {
                code.constant(9, self.world.data);
                place
            }
        };
        if let Some(index) = index {
            code.mov(8, r(index)).alu(AluOp::And, W64, 8, imm(0x7f)).add(9, r(8));
        }
        code.push(match insn {
            Insn::Load { size, signed, probe, dst, base, .. } => Insn::Load { size, signed, probe, dst, base, offset },
            Insn::Store { size, base, operand, .. } => Insn::Store { size, base, offset, operand },
            Insn::Atomic { op, width, fetch, base, src, .. } => Insn::Atomic { op, width, fetch, base, offset, src },
            other => other,
        });
    }
}

/// Sets r1 to r5 without reading one that was already set.
fn arguments(code: &mut Assembler, words: [Operand; 5]) {
    for (register, word) in (1..).zip(words) {
        match word {
            Operand::Register(source) if (1..=5).contains(&source) => code.mov(register, r(6 + source % 2)),
            word => code.mov(register, word),
        };
    }
}

/// A call leaves r1 to r5 without a value: give them new ones.
fn after_call(code: &mut Assembler) {
    for register in 1..=5 {
        code.mov(register, r(0)).alu(AluOp::Xor, W64, register, imm(i32::from(register) << 20));
    }
}
