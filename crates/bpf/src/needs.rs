//! What a call of each function takes, all that it calls in turn included.

use crate::program::{AluOp, AtomicOp, Function, FunctionId, HostFunction, Insn, Intrinsic, Operand, Register};

/// What a call of a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// It reads r1 to this one before it sets them; nothing else need be passed.
    pub arguments: u8,
    /// The most frames that are in use at a time.
    pub frames: u32,
    /// The most calls that are inside one another, its own included, with a frame or without.
    pub depth: u32,
    /// Whether it may call back into the program: a host function that does, or through a register.
    pub calls_back: bool,
    /// The most instructions that are executed if every loop goes round once.
    pub length: u64,
    /// Whether its entry looks at the budget. Where all is counted, that of each function does that calls others;
    /// else only where calls of calls could continue for very long: loops look at the budget themselves.
    pub tests_budget: bool,
    /// Whether its machine code can raise a fault.
    pub can_fail: bool,
}

/// Where not all instructions are counted, a call counts as at most that many: of what is called little is usually
/// executed.
const CALL_MAX: u64 = 100;

impl Needs {
    /// What a call in a loop, or by a host function, counts as where not all instructions are counted.
    pub fn counts_as(&self) -> i64 {
        self.length.min(CALL_MAX) as i64
    }
}

/// Calls of functions that are longer are tested.
const LONG: u64 = 1 << 20;

/// What each function of a program takes; if one calls itself, directly or through others, that one. The kernel refuses
/// it too.
pub fn needs_of(functions: &[Function], hosts: &[HostFunction], counts_all: bool) -> Result<Vec<Needs>, FunctionId> {
    let unknown =
        Needs { arguments: 5, frames: 0, depth: 1, calls_back: true, length: 0, tests_budget: true, can_fail: true };
    let mut analysis = Analysis { hosts, counts_all, needs: vec![unknown; functions.len()] };
    for id in callees_first(functions)? {
        analysis.needs[id.index()] = analysis.of(&functions[id.index()]);
    }
    Ok(analysis.needs)
}

fn callees(function: &Function) -> impl Iterator<Item = FunctionId> {
    function.insns.iter().filter_map(|insn| match *insn {
        Insn::CallFunction { function } => Some(function),
        _ => None,
    })
}

/// The functions, each behind all that it calls.
fn callees_first(functions: &[Function]) -> Result<Vec<FunctionId>, FunctionId> {
    // Unprocessed calls of each function; functions without any are removed until only cycles are left.
    let mut calls = vec![0; functions.len()];
    functions.iter().flat_map(callees).for_each(|callee| calls[callee.index()] += 1);
    let ids = || (0..functions.len() as u32).map(FunctionId);
    let mut order: Vec<FunctionId> = ids().filter(|id| calls[id.index()] == 0).collect();
    let mut next = 0;
    while let Some(&id) = order.get(next) {
        next += 1;
        for callee in callees(&functions[id.index()]) {
            calls[callee.index()] -= 1;
            if calls[callee.index()] == 0 {
                order.push(callee);
            }
        }
    }
    match ids().find(|id| calls[id.index()] > 0) {
        Some(in_circle) => Err(in_circle),
        None => {
            order.reverse();
            Ok(order)
        }
    }
}

/// A set of registers, a bit for each.
type Set = u16;

const ARGUMENTS: Set = 0b11_1110;
/// What a call leaves without its value.
const CLOBBERED: Set = ARGUMENTS | 1;

fn set(register: Register) -> Set {
    1 << register
}

/// r1 to the last argument.
fn first(arguments: u8) -> Set {
    (2 << arguments.min(5)) - 2
}

fn of(operand: Operand) -> Set {
    match operand {
        Operand::Register(register) => set(register),
        Operand::Immediate(_) => 0,
    }
}

struct Analysis<'a> {
    hosts: &'a [HostFunction],
    counts_all: bool,
    /// Of the callees of the present function it is known.
    needs: Vec<Needs>,
}

impl Analysis<'_> {
    fn of(&self, function: &Function) -> Needs {
        let called = || callees(function).map(|id| self.needs[id.index()]);
        let read = self.live_at_entry(function) & ARGUMENTS;
        let length = called().fold(function.insns.len() as u64, |sum, needs| sum.saturating_add(needs.length));
        let calls = function.insns.iter().any(|i| matches!(i, Insn::CallFunction { .. } | Insn::CallHandle { .. }));
        let tests_budget = if self.counts_all { calls } else { length > LONG };
        Needs {
            arguments: (1..=5).rev().find(|&register| read & set(register) != 0).unwrap_or(0),
            frames: u32::from(function.uses_stack) + called().map(|needs| needs.frames).max().unwrap_or(0),
            depth: 1 + called().map(|needs| needs.depth).max().unwrap_or(0),
            calls_back: self.calls_back(function) || called().any(|needs| needs.calls_back),
            length,
            tests_budget,
            can_fail: tests_budget || self.can_fail(function) || called().any(|needs| needs.can_fail),
        }
    }

    /// Whether a function itself may call back into the program.
    fn calls_back(&self, function: &Function) -> bool {
        function.insns.iter().any(|insn| match *insn {
            Insn::CallHost { host } => self.hosts[host.index()].calls_back,
            Insn::CallHandle { .. } => true,
            _ => false,
        })
    }

    /// Whether a function can raise a fault, besides those that it calls: only host functions and endless loops do, and
    /// what could not be resolved. The only host functions that surely do not are those that are written in line.
    fn can_fail(&self, function: &Function) -> bool {
        function.blocks.iter().enumerate().any(|(index, block)| {
            let insns = &function.insns[block.start as usize..block.end as usize];
            insns.iter().any(|insn| match *insn {
                Insn::CallHost { host } => {
                    let host = &self.hosts[host.index()];
                    host.needs_no_lock || !host.intrinsic.is_some_and(Intrinsic::never_fails)
                }
                Insn::CallHandle { .. } | Insn::Unresolved { .. } => true,
                _ => insn.target().is_some_and(|target| target.index() <= index),
            })
        })
    }

    /// The registers whose values at the entry may be read.
    fn live_at_entry(&self, function: &Function) -> Set {
        let mut live: Vec<Set> = vec![0; function.blocks.len()];
        loop {
            let before = live.clone();
            for (index, block) in function.blocks.iter().enumerate().rev() {
                let insns = &function.insns[block.start as usize..block.end as usize];
                let last = &insns[insns.len() - 1];
                let next = if last.ends_flow() { 0 } else { live[index + 1] };
                let behind = next | last.target().map_or(0, |target| live[target.index()]);
                live[index] = insns.iter().rev().fold(behind, |live, insn| {
                    let (reads, writes) = self.effect(insn);
                    live & !writes | reads
                });
            }
            if live == before {
                return live[0];
            }
        }
    }

    /// The registers that an instruction reads, and those that it sets.
    fn effect(&self, insn: &Insn) -> (Set, Set) {
        match *insn {
            Insn::Alu { op: AluOp::Move, dst, operand, .. } => (of(operand), set(dst)),
            Insn::Alu { dst, operand, .. } => (set(dst) | of(operand), set(dst)),
            Insn::Negate { dst, .. } | Insn::SwapBytes { dst, .. } | Insn::Truncate { dst, .. } => (set(dst), set(dst)),
            Insn::MoveSigned { dst, src, .. } | Insn::ToUser { dst, src, .. } => (set(src), set(dst)),
            Insn::Constant { dst, .. } => (0, set(dst)),
            Insn::Load { dst, base, .. } => (set(base), set(dst)),
            Insn::Store { base, operand, .. } => (set(base) | of(operand), 0),
            // What is set besides memory is only left out: it may be read from before.
            Insn::Atomic { op: AtomicOp::CompareExchange, base, src, .. } => (set(base) | set(src) | 1, 0),
            Insn::Atomic { base, src, .. } => (set(base) | set(src), 0),
            Insn::Branch { dst, operand, .. } => (set(dst) | of(operand), 0),
            Insn::CallFunction { function } => (first(self.needs[function.index()].arguments), CLOBBERED),
            Insn::CallHost { host } => (first(self.hosts[host.index()].arguments), CLOBBERED),
            Insn::CallHandle { src } => (ARGUMENTS | set(src), CLOBBERED),
            Insn::Exit => (1, 0),
            Insn::Jump { .. } | Insn::MayGoto { .. } | Insn::Unresolved { .. } => (0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{BlockId, Condition, HostId, Size, Width};

    fn host(arguments: u8, intrinsic: Option<Intrinsic>) -> HostFunction {
        let routine = crate::helpers::find(7).unwrap().routine;
        let (call, name) = (routine.call, "h".into());
        HostFunction { name, call, arguments, intrinsic, calls_back: false, needs_no_lock: false }
    }

    fn mov(dst: Register, src: Register) -> Insn {
        let (op, width, operand) = (AluOp::Move, Width::W64, Operand::Register(src));
        Insn::Alu { op, width, dst, operand }
    }

    fn call(function: u32) -> Insn {
        Insn::CallFunction { function: FunctionId(function) }
    }

    fn needs(functions: &[Function], hosts: &[HostFunction]) -> Vec<Needs> {
        needs_of(functions, hosts, true).unwrap()
    }

    #[test]
    fn arguments_are_what_is_read_before_it_is_set() {
        let arguments =
            |blocks: &[&[Insn]]| needs(&[Function::of_blocks(blocks, false)], &[host(2, None)])[0].arguments;
        assert_eq!(arguments(&[&[mov(0, 3), Insn::Exit]]), 3);
        assert_eq!(arguments(&[&[mov(3, 1), mov(0, 3), Insn::Exit]]), 1);
        // r0 is not an argument, though it is read.
        assert_eq!(arguments(&[&[Insn::Exit]]), 0);
        // On one of two ways only.
        let (condition, width) = (Condition::Equal, Width::W64);
        let branch = Insn::Branch { condition, width, dst: 1, operand: Operand::Immediate(0), target: BlockId(2) };
        assert_eq!(arguments(&[&[branch], &[mov(4, 1)], &[mov(0, 4), Insn::Exit]]), 4);
        // A loop that reads in its second pass what its first one left, and a call, which leaves nothing.
        let back = Insn::Branch { condition, width, dst: 0, operand: Operand::Immediate(0), target: BlockId(0) };
        assert_eq!(arguments(&[&[mov(0, 2), mov(2, 1), back], &[Insn::Exit]]), 2);
        let host = Insn::CallHost { host: HostId(0) };
        assert_eq!(arguments(&[&[host, mov(0, 5), Insn::Exit]]), 2);
        assert_eq!(arguments(&[&[Insn::CallHandle { src: 6 }, Insn::Exit]]), 5);
    }

    #[test]
    fn callees_count_and_the_deepest_one_alone() {
        let load = Insn::Load { size: Size::B8, signed: false, probe: false, dst: 0, base: 1, offset: 0 };
        let functions = [
            Function::of_blocks(&[&[call(2), call(1), Insn::Exit]], true),
            Function::of_blocks(&[&[call(3), Insn::Exit]], true),
            Function::of_blocks(&[&[load, Insn::Exit]], true),
            Function::of_blocks(&[&[mov(0, 2), Insn::Exit]], false),
        ];
        let needs = needs(&functions, &[]);
        assert_eq!(needs.iter().map(|needs| needs.frames).collect::<Vec<_>>(), [2, 1, 1, 0]);
        assert_eq!(needs.iter().map(|needs| needs.depth).collect::<Vec<_>>(), [3, 2, 1, 1]);
        assert_eq!(needs.iter().map(|needs| needs.length).collect::<Vec<_>>(), [9, 4, 2, 2]);
        // The first one passes r2 on, that is, after a call that has left it without a value.
        assert_eq!(needs.iter().map(|needs| needs.arguments).collect::<Vec<_>>(), [1, 2, 1, 2]);
        assert_eq!(needs.iter().map(|needs| needs.tests_budget).collect::<Vec<_>>(), [true, true, false, false]);
    }

    #[test]
    fn faults_come_from_host_functions_loops_and_calls_of_such() {
        let can_fail = |insns: &[Insn], intrinsic| {
            let functions =
                [Function::of_blocks(&[&[call(1), Insn::Exit]], false), Function::of_blocks(&[insns], false)];
            needs_of(&functions, &[host(0, intrinsic)], false).unwrap()[0].can_fail
        };
        let host = Insn::CallHost { host: HostId(0) };
        assert!(!can_fail(&[Insn::Exit], None));
        assert!(can_fail(&[host, Insn::Exit], None));
        assert!(!can_fail(&[host, Insn::Exit], Some(Intrinsic::NowNs)));
        assert!(can_fail(&[Insn::Jump { target: BlockId(0) }], None));
        assert!(can_fail(&[Insn::CallHandle { src: 1 }, Insn::Exit], None));
        assert!(can_fail(&[Insn::Unresolved { what: 0 }], None));
    }

    #[test]
    fn who_calls_itself_is_named() {
        let to = |callee| Function::of_blocks(&[&[call(callee), Insn::Exit]], false);
        assert_eq!(needs_of(&[to(0)], &[], true), Err(FunctionId(0)));
        assert_eq!(needs_of(&[to(1), to(2), to(1)], &[], true), Err(FunctionId(1)));
    }
}
