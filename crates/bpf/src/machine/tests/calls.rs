//! Calls, what is written in line for some of them, and faults.

use super::assembler::{Assembler, W64, imm, r};
use super::{DATA_LEN, OWNER_STRIDE, STRIDE, World, agreed, call, fault, hosts, new_vm, run_in, value};
use crate::FaultKind;
use crate::options::Executor;
use crate::program::{AluOp, Condition, Function, FunctionId, HostId, Insn, MapLayout, Program, Size};

#[test]
fn functions_have_their_own_frames_and_keep_r6_to_r9() {
    let build = |_: &World| {
        let mut caller = Assembler::default();
        caller.store(Size::B8, 10, -8, imm(5)).mov(6, imm(6)).mov(9, imm(9)).mov(1, imm(1)).mov(2, imm(2));
        caller.mov(3, imm(0)).mov(4, imm(0)).mov(5, imm(5)).call(1).add(0, r(6)).add(0, r(9));
        caller.load(Size::B8, 1, 10, -8).add(0, r(1)).exit();
        let mut callee = Assembler::default();
        callee.store(Size::B8, 10, -8, imm(77)).mov(6, imm(0)).mov(9, imm(0)).mov(0, r(1));
        callee.alu(AluOp::Mul, W64, 0, imm(1000)).add(0, r(2)).add(0, r(5)).exit();
        vec![caller.finish(), callee.finish()]
    };
    assert_eq!(value(&build), (1007 + 15 + 5, 14 + 8));
}

#[test]
fn host_functions_get_five_words_and_see_the_state() {
    let build = |_: &World| {
        let mut code = Assembler::default();
        (1..=5).for_each(|register| _ = code.constant(register, u64::MAX / u64::from(register)));
        code.call_host(hosts::MIX).mov(6, r(0)).store(Size::B8, 10, -8, imm(0)).call_host(hosts::OBSERVE);
        vec![code.alu(AluOp::Xor, W64, 0, r(6)).exit().finish()]
    };
    agreed(1 << 40, &build);
}

#[test]
fn a_handle_runs_the_function_and_a_wild_one_is_a_fault() {
    let build = |handle: u64| {
        move |_: &World| {
            let mut code = Assembler::default();
            code.mov(1, imm(30)).mov(2, imm(12)).mov(3, imm(0)).mov(4, imm(0)).mov(5, imm(0)).constant(6, handle);
            let mut callee = Assembler::default();
            callee.mov(0, r(1)).add(0, r(2)).store(Size::B8, 10, -8, imm(0));
            vec![code.push(Insn::CallHandle { src: 6 }).exit().finish(), callee.exit().finish()]
        }
    };
    assert_eq!(value(&build(Program::function_handle(FunctionId(1)))), (42, 12));
    assert_eq!(fault(100, &build(0xdead)), FaultKind::WildCall(0xdead));
}

#[test]
fn a_loop_that_does_not_end_is_a_fault_at_its_head() {
    let endless = |_: &World| {
        let mut code = Assembler::default();
        let (again, out) = (code.label(), code.label());
        code.mov(0, imm(1)).place(again).branch(Condition::Equal, W64, 0, imm(0), out);
        vec![code.jump(again).place(out).exit().finish()]
    };
    let found = agreed(1000, &endless).result.unwrap_err();
    assert_eq!((found.kind, found.instruction), (FaultKind::Endless { limit: 1000 }, 1));
}

/// Without every instruction counted, too.
#[test]
fn what_goes_on_for_too_long_is_found_by_its_loops_and_calls() {
    let endless = |_: &World| {
        let mut code = Assembler::default();
        let again = code.label();
        code.mov(0, imm(1)).place(again).add(0, imm(1));
        vec![code.jump(again).exit().finish()]
    };
    // Each calls the next one twice.
    let calls = |_: &World| {
        let twice = |next| {
            let mut code = Assembler::default();
            code.call(next).call(next).exit().finish()
        };
        (1..40).map(twice).chain([Assembler::default().mov(0, imm(0)).exit().finish()]).collect()
    };
    // As deep as callbacks may be.
    let calls_by_handle = |_: &World| {
        let four_times = |next| {
            let mut code = Assembler::default();
            for _ in 0..4 {
                (1..=5).for_each(|register| _ = code.mov(register, imm(0)));
                code.constant(6, Program::function_handle(FunctionId(next))).push(Insn::CallHandle { src: 6 });
            }
            code.exit().finish()
        };
        (1..8).map(four_times).chain([Assembler::default().mov(0, imm(0)).exit().finish()]).collect()
    };
    for build in [&endless as &dyn Fn(&World) -> Vec<Function>, &calls, &calls_by_handle] {
        assert_eq!(fault(1000, build), FaultKind::Endless { limit: 1000 });
        let found = run_in(World::new(false), Executor::Machine, 1000, build).result.unwrap_err();
        assert_eq!(found.kind, FaultKind::Endless { limit: 1000 });
    }
}

/// A loop around long functions ends as soon as a long loop, and not after as many passes as a short one.
#[test]
fn a_loop_that_counts_itself_alone_counts_what_it_calls() {
    let build = |world: &World| {
        let mut code = Assembler::default();
        let again = code.label();
        code.place(again).call(1).mov(0, imm(1)).jump(again);
        let mut callee = Assembler::default();
        callee.constant(1, world.data).load(Size::B8, 0, 1, 0).add(0, imm(1)).store(Size::B8, 1, 0, r(0));
        (0..5000).for_each(|_| _ = callee.add(0, imm(1)));
        vec![code.exit().finish(), callee.exit().finish()]
    };
    let outcome = run_in(World::new(false), Executor::Machine, 100_000, &build);
    assert_eq!(outcome.result.unwrap_err().kind, FaultKind::Endless { limit: 100_000 });
    let calls = u64::from_le_bytes(outcome.memory[..8].try_into().unwrap());
    assert!((500..1000).contains(&calls), "{calls}");
}

#[test]
fn a_recursion_through_handles_overflows_the_stack() {
    let build = |_: &World| {
        let mut code = Assembler::default();
        code.store(Size::B8, 10, -8, imm(0)).mov(1, imm(0)).mov(2, imm(0)).mov(3, imm(0)).mov(4, imm(0)).mov(5, imm(0));
        code.constant(6, Program::function_handle(FunctionId(0)));
        vec![code.push(Insn::CallHandle { src: 6 }).exit().finish()]
    };
    assert_eq!(fault(1 << 40, &build), FaultKind::StackOverflow);
}

#[test]
fn nothing_runs_after_a_fault() {
    let build = |world: &World| {
        let mut code = Assembler::default();
        code.constant(6, world.data).mov(1, imm(7)).call_host(hosts::REFUSE).store(Size::B8, 6, 0, imm(1));
        vec![code.exit().finish()]
    };
    let outcome = agreed(100, &build);
    let found = outcome.result.unwrap_err();
    assert_eq!((found.kind, found.instruction), (FaultKind::Refused("asks for 7".to_string()), 2));
    assert_eq!(outcome.memory[..DATA_LEN as usize], [0; DATA_LEN as usize]);
    let nested = |world: &World| {
        let mut code = Assembler::default();
        code.constant(6, world.data).mov(1, imm(7)).mov(2, imm(0)).mov(3, imm(0)).mov(4, imm(0)).mov(5, imm(0));
        code.call_host(hosts::REENTER).store(Size::B8, 6, 0, imm(1)).exit();
        let mut last = Assembler::default();
        vec![code.finish(), last.store(Size::B8, 10, -8, imm(1)).call_host(hosts::REFUSE).exit().finish()]
    };
    let outcome = agreed(100, &nested);
    assert_eq!(outcome.result.unwrap_err().kind, FaultKind::Refused("asks for 7".to_string()));
    assert_eq!(outcome.memory[..DATA_LEN as usize], [0; DATA_LEN as usize]);
}

/// No verifier lets a program read them; both executors give zeros all the same.
#[test]
fn a_call_leaves_zeros_in_r1_to_r5() {
    let call = |how: Insn| {
        move |_: &World| {
            let mut code = Assembler::default();
            (1..=5).for_each(|register| _ = code.mov(register, imm(100 + i32::from(register))));
            code.constant(6, Program::function_handle(FunctionId(1))).push(how).mov(0, imm(0));
            (1..=5).for_each(|register| _ = code.add(0, r(register)).alu(AluOp::Mul, W64, 0, imm(10)));
            vec![code.exit().finish(), Assembler::default().mov(0, imm(7)).exit().finish()]
        }
    };
    for how in [
        Insn::CallHost { host: hosts::MIX },
        Insn::CallFunction { function: FunctionId(1) },
        Insn::CallHandle { src: 6 },
    ] {
        assert_eq!(value(&call(how)).0, 0, "{how:?}");
    }
    // A host function that is called with a register that was never set gets a zero.
    let unset = |_: &World| {
        let mut code = Assembler::default();
        code.mov(1, imm(5)).mov(2, imm(9)).call_host(hosts::NOTHING).mov(1, imm(5));
        vec![code.call_host(hosts::SECOND).exit().finish()]
    };
    assert_eq!(value(&unset).0, 0);
}

/// Each function calls the next one; the one before the last calls the last one back.
fn chain(depth: u32) -> Vec<Function> {
    let function = |index: u32| {
        let mut code = Assembler::default();
        (1..=5).for_each(|register| _ = code.mov(register, imm(1)));
        match depth - index {
            1 => code.mov(0, imm(1)),
            2 => code.call_host(hosts::REENTER).add(0, imm(1)),
            _ => code.call(index + 1).add(0, imm(1)),
        };
        code.exit().finish()
    };
    (0..depth).map(function).collect()
}

#[test]
fn frames_are_those_of_a_kernel_with_callbacks_and_without_a_stack() {
    assert_eq!(value(&|_| chain(8)).0, 8);
    assert_eq!(fault(1 << 40, &|_| chain(9)), FaultKind::StackOverflow);
    // What went wrong before does not count.
    for executor in [Executor::Interpreter, Executor::Machine] {
        let world = World::new(true);
        let mut vm = new_vm(world.program(chain(9)), world.memory.clone(), executor, 1 << 40);
        for _ in 0..3 {
            let fault = call(&mut vm).unwrap_err();
            assert_eq!(fault.kind, FaultKind::StackOverflow);
        }
    }
}

#[test]
fn what_could_not_be_resolved_fails_when_it_is_executed() {
    let build = |skip: i32| {
        move |_: &World| {
            let mut code = Assembler::default();
            let over = code.label();
            code.mov(0, imm(skip)).branch(Condition::Equal, W64, 0, imm(1), over).push(Insn::Unresolved { what: 0 });
            vec![code.place(over).exit().finish()]
        }
    };
    assert_eq!(value(&build(1)), (1, 3));
    assert_eq!(fault(100, &build(0)), FaultKind::Unresolved("the missing function".to_string()));
}

/// Calls a lookup on a map with a key that lies in memory, or in the frame where the code generator sees it.
fn lookup(world: &World, host: HostId, map: usize, key: i32, cpu: i32, in_frame: bool) -> Vec<Function> {
    let mut code = Assembler::default();
    if in_frame {
        code.store(Size::B4, 10, -4, imm(key)).mov(2, r(10)).add(2, imm(-4));
    } else {
        code.constant(2, world.data).store(Size::B4, 2, 0, imm(key)).add(2, imm(1));
        code.alu(AluOp::Sub, W64, 2, imm(1)).alu(AluOp::Or, W64, 2, imm(0));
    }
    code.constant(1, world.maps[map].address).mov(3, imm(cpu));
    vec![code.call_host(host).exit().finish()]
}

#[test]
fn array_lookups_are_bounded() {
    let MapLayout::Array { base, .. } = World::new(true).maps[0].layout else { panic!() };
    for in_frame in [false, true] {
        let at = |key| value(&|world| lookup(world, hosts::LOOKUP, 0, key, 0, in_frame)).0;
        assert_eq!([at(0), at(4)], [base, base + 4 * u64::from(STRIDE)]);
        assert_eq!([at(5), at(-1), at(i32::MIN)], [0, 0, 0]);
    }
}

#[test]
fn per_cpu_lookups_find_the_copy_of_a_cpu() {
    let MapLayout::PerCpuArray { base, .. } = World::new(true).maps[1].layout else { panic!() };
    // The test runs on CPU 2.
    let own = |key| value(&|world| lookup(world, hosts::LOOKUP, 1, key, 0, false)).0;
    assert_eq!([own(0), own(1), own(5)], [base + 1024, base + 1024 + u64::from(STRIDE), 0]);
    let of = |key, cpu| value(&|world| lookup(world, hosts::LOOKUP_CPU, 1, key, cpu, true)).0;
    assert_eq!([of(0, 0), of(2, 1), of(5, 1)], [base, base + 512 + 2 * u64::from(STRIDE), 0]);
    assert_eq!([of(0, 3), of(0, -1)], [0, 0]);
}

#[test]
fn other_maps_and_unknown_ones_are_looked_up_by_the_host() {
    for map in [2, 3] {
        assert_eq!(value(&|world| lookup(world, hosts::LOOKUP, map, 0, 0, true)).0, 0);
    }
    let MapLayout::Array { base, .. } = World::new(true).maps[0].layout else { panic!() };
    let build = |world: &World| {
        let mut code = Assembler::default();
        code.constant(1, world.maps[0].address - 7).alu(AluOp::Or, W64, 1, imm(0)).add(1, imm(7));
        code.store(Size::B4, 10, -4, imm(1)).mov(2, r(10)).add(2, imm(-4));
        vec![code.call_host(hosts::LOOKUP).exit().finish()]
    };
    assert_eq!(value(&build).0, base + u64::from(STRIDE));
}

#[test]
fn storage_is_found_in_the_table_or_asked_for() {
    let world = World::new(true);
    let of = |address: u64| {
        let build = |world: &World| {
            let mut code = Assembler::default();
            code.constant(1, world.maps[2].address).constant(2, address).mov(3, imm(0)).mov(4, imm(1));
            vec![code.call_host(hosts::STORAGE).mov(6, r(0)).mov(0, r(6)).exit().finish()]
        };
        value(&build).0
    };
    let owner = |index: u64| world.owners + index * u64::from(OWNER_STRIDE);
    let value = |index: u64| u64::from(world.memory.read::<u32>(world.table + 4 * index));
    assert_eq!([of(owner(0)), of(owner(2)), of(owner(3))], [value(0), value(2), value(3)]);
    assert_eq!(of(owner(1)), 1002, "owner 1 has none yet");
    assert_eq!([of(0), of(owner(4)), of(owner(2) + 8)], [1, 2, value(2)]);
}

#[test]
fn context_fields_and_trivial_functions() {
    let call = |host| value(&|_| vec![Assembler::default().mov(1, imm(-3)).call_host(host).exit().finish()]).0;
    assert_eq!([call(hosts::NOW), call(hosts::CPU)], [123_456_789_012, 2]);
    assert_eq!(call(hosts::CURRENT), 0x5000);
    assert_eq!([call(hosts::NOTHING), call(hosts::IDENTITY)], [0, -3i64 as u64]);
    let field = |world: &World| {
        let mut code = Assembler::default();
        code.constant(1, world.data).store(Size::B4, 1, hosts::FIELD_AT, imm(-7));
        vec![code.call_host(hosts::FIELD).exit().finish()]
    };
    assert_eq!(value(&field).0, u64::from(-7i32 as u32));
}

#[test]
fn number_iterators_count() {
    // The sum of what the iterator gives, and the result of its creation in the high half.
    let sum = |start: i32, end: i32| {
        let build = |_: &World| {
            let mut code = Assembler::default();
            let (again, out) = (code.label(), code.label());
            code.mov(6, imm(0)).mov(1, r(10)).add(1, imm(-8)).mov(2, imm(start)).mov(3, imm(end));
            code.call_host(hosts::ITER_NEW).mov(7, r(0)).alu(AluOp::ShiftLeft, W64, 7, imm(32));
            code.place(again).mov(1, r(10)).add(1, imm(-8)).call_host(hosts::ITER_NEXT);
            code.branch(Condition::Equal, W64, 0, imm(0), out).load_signed(Size::B4, 0, 0, 0);
            code.add(6, r(0)).jump(again).place(out).mov(0, r(6));
            vec![code.add(0, r(7)).exit().finish()]
        };
        value(&build).0 as i64
    };
    assert_eq!([sum(0, 10), sum(-3, 3), sum(5, 5)], [45, -3, 0]);
    assert_eq!(sum(i32::MIN, i32::MIN + 2), 2 * i64::from(i32::MIN) + 1);
    assert_eq!([sum(3, 2), sum(0, i32::MAX), sum(i32::MIN, i32::MAX)], [-22 << 32, -7 << 32, -7 << 32]);
}

#[test]
fn machine_code_may_be_used_by_any_thread() {
    fn shareable<T: Send + Sync>() {}
    shareable::<crate::machine::MachineCode>();
}
