//! Known answers of single instructions.

use super::assembler::{Assembler, W32, W64, imm, r};
use super::value;
use crate::program::{AluOp, AtomicOp, Condition, Insn, MAY_GOTO_LIMIT, Size, Width};

/// `a op b` with the second operand in a register and, where it fits, as a constant.
fn alu(op: AluOp, width: Width, a: u64, b: u64) -> u64 {
    let in_register =
        value(&|_| vec![Assembler::default().constant(0, a).constant(1, b).alu(op, width, 0, r(1)).exit().finish()]).0;
    // Loaded from memory, the divisor is not known to the code generator.
    let loaded = value(&|world| {
        let mut code = Assembler::default();
        code.constant(0, a).constant(1, b).constant(2, world.data).store(Size::B8, 2, 8, r(1)).mov(3, r(2));
        code.add(3, imm(4)).load(Size::B8, 4, 3, 4);
        vec![code.alu(op, width, 0, r(4)).exit().finish()]
    });
    assert_eq!(loaded.0, in_register);
    if let Ok(small) = i32::try_from(b as i64) {
        let constant =
            value(&|_| vec![Assembler::default().constant(0, a).alu(op, width, 0, imm(small)).exit().finish()]).0;
        assert_eq!(constant, in_register);
    }
    in_register
}

const MINUS_ONE: u64 = u64::MAX;
const LEAST: u64 = 1 << 63;

#[test]
fn division_has_the_kernels_results() {
    use AluOp::{Div, Mod, SignedDiv, SignedMod};
    assert_eq!(alu(Div, W64, MINUS_ONE, 0), 0);
    assert_eq!(alu(Div, W64, MINUS_ONE, 10), MINUS_ONE / 10);
    assert_eq!(alu(Div, W32, 0xffff_ffff_0000_0064, 7), 14);
    assert_eq!(alu(Div, W32, 100, 0xffff_ffff_0000_0000), 0);
    assert_eq!(alu(Mod, W64, LEAST + 5, 0), LEAST + 5);
    assert_eq!(alu(Mod, W32, MINUS_ONE, 0), 0xffff_ffff);
    assert_eq!(alu(Mod, W64, 103, 10), 3);
    assert_eq!(alu(SignedDiv, W64, -100i64 as u64, 7), -14i64 as u64);
    assert_eq!(alu(SignedDiv, W64, -100i64 as u64, 0), 0);
    assert_eq!(alu(SignedDiv, W64, LEAST, MINUS_ONE), LEAST);
    assert_eq!(alu(SignedDiv, W32, 1 << 31, MINUS_ONE), 1 << 31);
    assert_eq!(alu(SignedDiv, W32, -100i64 as u64, -7i64 as u64), 14);
    assert_eq!(alu(SignedMod, W64, -100i64 as u64, 7), -2i64 as u64);
    assert_eq!(alu(SignedMod, W64, LEAST, MINUS_ONE), 0);
    assert_eq!(alu(SignedMod, W32, 1 << 31, MINUS_ONE), 0);
    assert_eq!(alu(SignedMod, W64, -100i64 as u64, 0), -100i64 as u64);
    assert_eq!(alu(SignedMod, W32, MINUS_ONE, 0), 0xffff_ffff);
}

#[test]
fn shifts_take_the_amount_modulo_the_width() {
    use AluOp::{ShiftLeft, ShiftRight, ShiftRightSigned};
    assert_eq!(alu(ShiftLeft, W64, 3, 65), 6);
    assert_eq!(alu(ShiftLeft, W32, 0x8000_0001, 33), 2);
    assert_eq!(alu(ShiftRight, W64, LEAST, 127), 1);
    assert_eq!(alu(ShiftRight, W32, MINUS_ONE, 36), 0x0fff_ffff);
    assert_eq!(alu(ShiftRightSigned, W64, LEAST, 63), MINUS_ONE);
    assert_eq!(alu(ShiftRightSigned, W32, 0x8000_0000, 4), 0xf800_0000);
}

#[test]
fn arithmetic_wraps_and_32_bits_are_zero_extended() {
    assert_eq!(alu(AluOp::Add, W64, MINUS_ONE, 2), 1);
    assert_eq!(alu(AluOp::Add, W32, MINUS_ONE, 2), 1);
    assert_eq!(alu(AluOp::Sub, W32, 1, 2), 0xffff_ffff);
    assert_eq!(alu(AluOp::Sub, W64, 1, 2), MINUS_ONE);
    assert_eq!(alu(AluOp::Mul, W32, 0x1_0001_0000, 0x10000), 0);
    assert_eq!(alu(AluOp::Mul, W64, MINUS_ONE, MINUS_ONE), 1);
    assert_eq!(alu(AluOp::Or, W64, 8, -16i64 as u64), -8i64 as u64);
    assert_eq!(alu(AluOp::And, W32, MINUS_ONE, -16i64 as u64), 0xffff_fff0);
    assert_eq!(alu(AluOp::Xor, W64, 5, MINUS_ONE), -6i64 as u64);
    assert_eq!(alu(AluOp::Move, W64, 5, -2i64 as u64), -2i64 as u64);
    assert_eq!(alu(AluOp::Move, W32, 5, -2i64 as u64), 0xffff_fffe);
}

fn unary(insn: Insn, a: u64) -> u64 {
    value(&|_| vec![Assembler::default().constant(0, a).push(insn).exit().finish()]).0
}

#[test]
fn one_operand() {
    let dst = 0;
    assert_eq!(unary(Insn::Negate { width: W64, dst }, 5), -5i64 as u64);
    assert_eq!(unary(Insn::Negate { width: W32, dst }, 5), 0xffff_fffb);
    let signed = |width, from| Insn::MoveSigned { width, from, dst, src: 0 };
    assert_eq!(unary(signed(W64, Size::B1), 0x180), -128i64 as u64);
    assert_eq!(unary(signed(W32, Size::B2), 0x1_8000), 0xffff_8000);
    assert_eq!(unary(signed(W64, Size::B4), 0x8000_0000), 0xffff_ffff_8000_0000);
    let swap = |size| Insn::SwapBytes { size, dst };
    assert_eq!(unary(swap(Size::B2), 0x1122_3344_5566_7788), 0x8877);
    assert_eq!(unary(swap(Size::B4), 0x1122_3344_5566_7788), 0x8877_6655);
    assert_eq!(unary(swap(Size::B8), 0x1122_3344_5566_7788), 0x8877_6655_4433_2211);
    assert_eq!(unary(Insn::Truncate { size: Size::B2, dst }, MINUS_ONE), 0xffff);
    assert_eq!(unary(Insn::Truncate { size: Size::B4, dst }, MINUS_ONE), 0xffff_ffff);
}

fn taken(condition: Condition, width: Width, a: u64, b: u64) -> bool {
    let (result, executed) = value(&|_| {
        let mut code = Assembler::default();
        let yes = code.label();
        code.constant(1, a).constant(2, b).mov(0, imm(1)).branch(condition, width, 1, r(2), yes);
        vec![code.mov(0, imm(0)).place(yes).exit().finish()]
    });
    assert_eq!(executed, 6 - result, "a taken branch leaves an instruction out");
    result == 1
}

#[test]
fn conditions() {
    use Condition::*;
    let less = [NotEqual, Less, LessEqual, SignedGreater, SignedGreaterEqual];
    let all = [
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
    ];
    for condition in all {
        let equal = matches!(condition, Equal | GreaterEqual | LessEqual | SignedGreaterEqual | SignedLessEqual | Set);
        assert_eq!(taken(condition, W64, 5, 5), equal, "{condition:?}");
        assert_eq!(taken(condition, W32, 5, 5 | 7 << 32), equal, "{condition:?}");
        // 4 is unsigned less and signed greater than -8, and they share no bit.
        assert_eq!(taken(condition, W64, 4, -8i64 as u64), less.contains(&condition), "{condition:?}");
        assert_eq!(taken(condition, W32, 4, -8i64 as u64), less.contains(&condition), "{condition:?}");
    }
}

#[test]
fn loads_and_stores_of_every_size() {
    for (size, zero, sign) in [
        (Size::B1, 0x88, 0xffff_ffff_ffff_ff88),
        (Size::B2, 0x9988, 0xffff_ffff_ffff_9988),
        (Size::B4, 0xbbaa_9988, 0xffff_ffff_bbaa_9988),
        (Size::B8, 0xffee_ddcc_bbaa_9988, 0xffee_ddcc_bbaa_9988),
    ] {
        for (signed, expected) in [(false, zero), (true, sign)] {
            let result = value(&|_| {
                let mut code = Assembler::default();
                // The store of a size leaves the bytes around it alone: the load behind it sees 0x77.
                code.store(Size::B8, 10, -16, imm(0x77)).store(Size::B8, 10, -8, imm(0x77));
                code.constant(1, 0xffee_ddcc_bbaa_9988).store(size, 10, -16, r(1)).load(Size::B8, 6, 10, -8);
                if signed {
                    code.load_signed(size, 0, 10, -16)
                } else {
                    code.load(size, 0, 10, -16)
                };
                vec![code.add(0, r(6)).alu(AluOp::Sub, W64, 0, imm(0x77)).exit().finish()]
            });
            assert_eq!(result.0, expected, "{size:?} {signed}");
        }
    }
    let constant = |size| {
        value(&|_| {
            let mut code = Assembler::default();
            code.store(Size::B8, 10, -8, imm(0)).store(size, 10, -8, imm(-2)).load(Size::B8, 0, 10, -8);
            vec![code.exit().finish()]
        })
        .0
    };
    assert_eq!(constant(Size::B2), 0xfffe);
    assert_eq!(constant(Size::B8), -2i64 as u64);
}

#[test]
fn a_null_pointer_reads_zero_and_pointers_are_cut_to_32_bits() {
    let null = super::run(crate::Executor::Machine, 100, &|_| {
        let mut code = Assembler::default();
        vec![
            code.constant(1, 0)
                .push(Insn::Load { size: Size::B8, signed: false, probe: true, dst: 0, base: 1, offset: 96 })
                .exit()
                .finish(),
        ]
    });
    assert_eq!(null.result, Ok(0));
    for offset in [0, i16::MIN, i16::MAX] {
        let high = super::run(crate::Executor::Machine, 100, &|world| {
            let mut code = Assembler::default();
            code.constant(1, world.data.wrapping_sub(offset as u64)).store(Size::B4, 1, offset, imm(42));
            code.constant(2, 5 << 32).add(1, r(2)).load(Size::B4, 0, 1, offset);
            vec![code.exit().finish()]
        });
        assert_eq!(high.result, Ok(42), "{offset}");
    }
}

/// r0 and the memory after an atomic operation on 0x1_0000_000c with the operand 0x2_0000_000a.
fn atomic(op: AtomicOp, width: Width, fetch: bool, r0: u64) -> (u64, u64, u64) {
    let run = |keep: u8| {
        value(&|world| {
            let mut code = Assembler::default();
            code.constant(6, world.data).constant(1, 0x1_0000_000c).store(Size::B8, 6, 8, r(1));
            code.constant(2, 0x2_0000_000a).constant(0, r0);
            code.push(Insn::Atomic { op, width, fetch, base: 6, offset: 8, src: 2 });
            match keep {
                0 => code.load(Size::B8, 0, 6, 8),
                1 => code.mov(0, r(2)),
                _ => &mut code,
            };
            vec![code.exit().finish()]
        })
        .0
    };
    (run(0), run(1), run(2))
}

#[test]
fn atomics_change_memory_and_give_the_old_value_zero_extended() {
    let (old, src) = (0x1_0000_000c, 0x2_0000_000a);
    assert_eq!(atomic(AtomicOp::Add, W64, false, 9), (0x3_0000_0016, src, 9));
    assert_eq!(atomic(AtomicOp::Add, W64, true, 9), (0x3_0000_0016, old, 9));
    assert_eq!(atomic(AtomicOp::Add, W32, true, 9), (0x1_0000_0016, 0xc, 9));
    assert_eq!(atomic(AtomicOp::Or, W64, true, 9), (0x3_0000_000e, old, 9));
    assert_eq!(atomic(AtomicOp::And, W32, false, 9), (0x1_0000_0008, src, 9));
    assert_eq!(atomic(AtomicOp::Xor, W64, false, 9), (0x3_0000_0006, src, 9));
    assert_eq!(atomic(AtomicOp::Exchange, W64, true, 9), (src, old, 9));
    assert_eq!(atomic(AtomicOp::Exchange, W32, true, 9), (0x1_0000_000a, 0xc, 9));
    assert_eq!(atomic(AtomicOp::CompareExchange, W64, true, old), (src, src, old));
    assert_eq!(atomic(AtomicOp::CompareExchange, W64, true, 0xc), (old, src, old));
    assert_eq!(atomic(AtomicOp::CompareExchange, W32, true, 0x7_0000_000c), (0x1_0000_000a, src, 0xc));
}

#[test]
fn may_goto_leaves_a_loop_after_its_limit() {
    let (result, executed) = value(&|_| {
        let mut code = Assembler::default();
        let (again, out, end) = (code.label(), code.label(), code.label());
        code.mov(0, imm(0)).place(again).may_goto(out).add(0, imm(1)).jump(again);
        // The count is one for all of them: the second one does not fall through any more.
        code.place(out).may_goto(end).mov(0, imm(7));
        vec![code.place(end).exit().finish()]
    });
    assert_eq!(result, u64::from(MAY_GOTO_LIMIT));
    assert_eq!(executed, 3 * u64::from(MAY_GOTO_LIMIT) + 4);
}
