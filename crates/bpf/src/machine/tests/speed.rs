//! What a call costs. Nothing about time is asserted; to see the numbers:
//! `cargo test --release -p schedlab-bpf speed -- --nocapture`.

use super::assembler::{Assembler, W64, imm, r};
use super::{OWNER_STRIDE, World, hosts, new_vm};
use crate::machine::MachineCode;
use crate::options::Executor;
use crate::program::{AluOp, Condition, Function, HostId, ProgramId, Size};

/// 23 instructions as a scheduler has them in a callback: it looks something up, counts, computes a number from the
/// task's weight, and hands the task over.
fn callback(world: &World, lookup: HostId, map: usize) -> Function {
    let mut code = Assembler::default();
    let out = code.label();
    code.load(Size::B8, 6, 1, 0).load(Size::B8, 7, 1, 8);
    match lookup {
        hosts::STORAGE => code.mov(2, r(6)).mov(3, imm(0)).mov(4, imm(1)),
        _ => code.store(Size::B8, 10, -8, imm(1)).mov(2, r(10)).add(2, imm(-8)),
    };
    code.constant(1, world.maps[map].address).call_host(lookup).branch(Condition::Equal, W64, 0, imm(0), out);
    code.load(Size::B8, 1, 0, 0).add(1, imm(1)).store(Size::B8, 0, 0, r(1));
    code.load(Size::B4, 3, 6, 40).alu(AluOp::Mul, W64, 3, imm(100)).alu(AluOp::Div, W64, 3, imm(1024));
    code.add(3, r(7)).store(Size::B8, 6, 48, r(3)).mov(1, r(6)).mov(2, imm(5)).mov(4, imm(0));
    code.mov(5, imm(0)).call_host(hosts::MIX).mov(0, imm(0));
    code.place(out).exit().finish()
}

/// Nanoseconds of a call: the smallest over rounds, so that what else runs on the host does not count.
fn ns_per_call(executor: Executor, functions: Vec<Function>, world: &World) -> f64 {
    let (rounds, calls) = if executor == Executor::Machine { (2000, 1000) } else { (100, 1000) };
    let mut vm = new_vm(world.program(functions), world.memory.clone(), executor, 1 << 40);
    let task = world.owners + 2 * u64::from(OWNER_STRIDE);
    let round = |_| {
        let start = std::time::Instant::now();
        for flags in 0..calls {
            // SAFETY: no host function looks at the host.
            let result = unsafe { vm.call(ProgramId(0), [task, flags], std::ptr::null_mut()) };
            assert_eq!(result, Ok(0));
        }
        start.elapsed().as_nanos() as f64 / calls as f64
    };
    (0..rounds).map(round).fold(f64::INFINITY, f64::min)
}

#[test]
fn speed_of_a_call() {
    let world = World::new(true);
    let cases = [
        ("2 instructions", Assembler::default().mov(0, imm(0)).exit().finish()),
        ("23 instructions, 2 host calls", callback(&world, hosts::SECOND, 0)),
        ("23 instructions, array in line, 1 host call", callback(&world, hosts::LOOKUP, 0)),
        ("23 instructions, storage in line, 1 host call", callback(&world, hosts::STORAGE, 2)),
    ];
    for (name, function) in cases {
        for executor in [Executor::Machine, Executor::Interpreter] {
            let ns = ns_per_call(executor, vec![function.clone()], &world);
            println!("{name}, {executor:?}: {ns:.1} ns");
        }
    }
}

#[test]
fn speed_of_compilation() {
    let world = World::new(true);
    let lookups = [(hosts::LOOKUP, 0), (hosts::LOOKUP, 1), (hosts::STORAGE, 2), (hosts::SECOND, 0)];
    let functions: Vec<Function> =
        lookups.into_iter().cycle().take(5000 / 23).map(|(host, map)| callback(&world, host, map)).collect();
    let instructions: usize = functions.iter().map(|function| function.insns.len()).sum();
    let program = world.program(functions);
    let start = std::time::Instant::now();
    let code = MachineCode::compile(&program).unwrap();
    println!("{instructions} instructions compiled in {:.1} ms: {code:?}", start.elapsed().as_secs_f64() * 1e3);
}
