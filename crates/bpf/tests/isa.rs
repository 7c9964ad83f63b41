//! Every kind of instruction, as the compiler's assembler encodes it, in both executors.

mod support;

use schedlab_bpf::Object;
use support::{EXECUTORS, compile, load};

const MINUS: u64 = u64::MAX;
const MIN64: u64 = 1 << 63;
const MIN32: u64 = 1 << 31;

/// Program, a, b, result.
const CASES: &[(&str, u64, u64, u64)] = &[
    ("add", MINUS, 2, 1),
    ("add32", MINUS, 2, 1),
    ("add32", 0xFFFF_FFFF, 0, 0xFFFF_FFFF),
    ("sub_constant", 10, 0, 15),
    ("mul32", 0x1_0000_0003, 5, 15),
    ("div", 100, 7, 14),
    ("div", MINUS, 2, MINUS / 2),
    ("div", 100, 0, 0),
    ("div32", 0x1_0000_0064, 0x1_0000_0000, 0),
    ("mod", 100, 7, 2),
    ("mod", MINUS, 0, MINUS),
    ("mod32", 0x1_0000_0064, 0, 100),
    ("sdiv", -7i64 as u64, 2, -3i64 as u64),
    ("sdiv", MIN64, MINUS, MIN64),
    ("sdiv", 5, 0, 0),
    ("sdiv32", MIN32, MINUS, MIN32),
    ("sdiv32", -7i32 as u32 as u64, 2, -3i32 as u32 as u64),
    ("smod", -7i64 as u64, 2, MINUS),
    ("smod", MIN64, MINUS, 0),
    ("smod", -7i64 as u64, 0, -7i64 as u64),
    ("smod32", MIN32, MINUS, 0),
    ("smod32", -7i32 as u32 as u64, 4, -3i32 as u32 as u64),
    ("shl", 1, 64 + 3, 8),
    ("shl32", 1, 32 + 3, 8),
    ("shl32", MIN32, 1, 0),
    ("shr32", 0xFFFF_FFFF_0000_0010, 4, 1),
    ("sar", MIN64, 63, MINUS),
    ("sar32", MIN32, 31, 0xFFFF_FFFF),
    ("neg", 1, 0, MINUS),
    ("neg32", 1, 0, 0xFFFF_FFFF),
    ("move32", 0x1234_5678_9ABC_DEF0, 0, 0x9ABC_DEF0),
    ("movsx8", 0x180, 0, -128i64 as u64),
    ("movsx16", 0x1_8000, 0, -32768i64 as u64),
    ("movsx32", 0x1_8000_0000, 0, i32::MIN as u64),
    ("movsx8_32", 0x80, 0, 0xFFFF_FF80),
    ("swap16", 0xAABB_1234, 0, 0x3412),
    ("swap32", 0xAABB_CCDD_1122_3344, 0, 0x4433_2211),
    ("swap64", 0x1122_3344_5566_7788, 0, 0x8877_6655_4433_2211),
    ("to_big16", 0x1234, 0, 0x3412),
    ("to_big64", 1, 0, 1 << 56),
    ("to_little32", 0x1_2345_6789, 0, 0x2345_6789),
    ("constant64", 0, 0, 0x8877_6655_4433_2211),
    ("load_signed", 0xFFFF_FFFF, 0, -3i64 as u64),
    ("load_signed", 0x7F_8080, 0, (-128i64 - 32640 + 0x7F_8080) as u64),
    ("store_sizes", 0x1122_3344_5566_7788, 0, 0x5566_7788_7788_0088),
    ("store_constant", 0, 0, 0x03FF_FFFF_0000_0007),
    ("fetch_add32", 0xFFFF_FFFF_FFFF_FFFF, 3, 0xFFFF_FFFF_0000_0002 ^ 0xFFFF_FFFF),
    ("exchange", 5, 9, 4),
    ("exchange32", 0x9_0000_0005, 7, 0x9_0000_0007 ^ 5),
    ("compare_exchange", 5, 5, 82),
    ("compare_exchange", 5, 6, 10),
    ("compare_exchange32", 0x2_0000_0005, 0x7_0000_0005, 0x2_0000_004D + 5),
    ("compare_exchange32", 0x2_0000_0005, 6, 0x2_0000_0005 + 5),
    ("locked", 0xF0_0000_0001, 6, 0xF0_0000_0004),
    ("if_signed", MINUS, 0, 1),
    ("if_signed", 0, MINUS, 0),
    ("if_unsigned", MINUS, 0, 0),
    ("if_signed32", 0xFFFF_FFFF, 0, 1),
    ("if_equal32", 0x1_0000_0005, 0x2_0000_0005, 1),
    ("if_bits", 6, 2, 1),
    ("if_bits", 5, 2, 0),
    ("if_constant", MINUS, 0, 1),
    ("if_constant", -2i64 as u64, 0, 0),
    ("far_jump", 0, 0, 5),
    ("back_jump", 4, 0, 12),
];

#[test]
fn instructions_do_what_the_kernels_do() {
    let object = Object::parse(&compile("isa", "v4")).unwrap();
    for executor in EXECUTORS {
        let mut machine = load(&object, executor, &[]).unwrap();
        for &(name, a, b, expected) in CASES {
            let result = machine.run(name, &[a, b]);
            assert_eq!(result, expected, "{name}({a:#x}, {b:#x}) in the {executor:?}: {result:#x}, not {expected:#x}");
        }
    }
}

#[test]
fn may_goto_ends_a_loop() {
    let object = Object::parse(&compile("isa", "v4")).unwrap();
    for executor in EXECUTORS {
        let mut machine = load(&object, executor, &[]).unwrap();
        machine.vm.limit_instructions(100_000_000);
        assert_eq!(machine.run("may_goto", &[0, 0]), (1 << 23) + 1001);
    }
}
