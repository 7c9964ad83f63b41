//! Host functions for the tests: plain models of what the code generator writes in line, and observers.

use crate::context::CallContext;
use crate::fault::FaultKind;
use crate::program::{FunctionId, HostFunction, HostId, Intrinsic, MapLayout, Program};
use crate::vm::VmState;

pub(super) const MIX: HostId = HostId(0);
pub(super) const OBSERVE: HostId = HostId(1);
pub(super) const REFUSE: HostId = HostId(2);
pub(super) const REENTER: HostId = HostId(3);
pub(super) const LOOKUP: HostId = HostId(4);
pub(super) const LOOKUP_CPU: HostId = HostId(5);
pub(super) const NOW: HostId = HostId(6);
pub(super) const CPU: HostId = HostId(7);
pub(super) const CURRENT: HostId = HostId(8);
pub(super) const STORAGE: HostId = HostId(9);
pub(super) const ITER_NEW: HostId = HostId(10);
pub(super) const ITER_NEXT: HostId = HostId(11);
pub(super) const NOTHING: HostId = HostId(12);
pub(super) const IDENTITY: HostId = HostId(13);
pub(super) const SECOND: HostId = HostId(14);

pub(super) const FIELD: HostId = HostId(15);
pub(super) const FIELD_AT: i16 = 12;

pub(super) fn hosts() -> Vec<HostFunction> {
    let host = |name: &str, arguments, call, intrinsic| {
        let name = name.to_string();
        let calls_back = name == "reenter";
        HostFunction { calls_back, name, call, arguments, intrinsic, needs_no_lock: false }
    };
    vec![
        host("mix", 5, mix, None),
        host("observe", 0, observe, None),
        host("refuse", 1, refuse, None),
        host("reenter", 2, reenter, None),
        host("lookup", 2, lookup, Some(Intrinsic::MapLookup)),
        host("lookup_cpu", 3, lookup_cpu, Some(Intrinsic::MapLookupPerCpu)),
        host("now", 0, now, Some(Intrinsic::NowNs)),
        host("cpu", 0, cpu, Some(Intrinsic::ProcessorId)),
        host("current", 0, current, Some(Intrinsic::CurrentTask)),
        host("storage", 4, storage, Some(Intrinsic::TaskStorageGet)),
        host("iter_new", 3, iter_new, Some(Intrinsic::IterNumNew)),
        host("iter_next", 1, iter_next, Some(Intrinsic::IterNumNext)),
        host("nothing", 0, nothing, Some(Intrinsic::Nothing)),
        host("identity", 1, identity, Some(Intrinsic::Identity)),
        host("second", 2, second, None),
        host("field", 1, field, Some(Intrinsic::Field(FIELD_AT))),
    ]
}

/// Depends on every argument.
unsafe extern "C" fn mix(_: *mut CallContext, a: u64, b: u64, c: u64, d: u64, e: u64) -> u64 {
    [a, b, c, d, e].iter().fold(7, |sum: u64, word| sum.wrapping_mul(31).rotate_left(9) ^ word)
}

/// What the context shows of the run: budget, position, stack.
unsafe extern "C" fn observe(ctx: *mut CallContext, _: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    let ctx = unsafe { &*ctx };
    let counts_all = unsafe { (*ctx.vm).program.counts_all };
    let budget = if counts_all { ctx.budget } else { 0 };
    (budget as u64).wrapping_mul(1_000_003) ^ ctx.position.rotate_left(20) ^ ctx.stack_top << 40
}

/// Raises a fault for a quarter of all first arguments.
unsafe extern "C" fn refuse(ctx: *mut CallContext, a: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    if a % 4 == 3 {
        unsafe { (*ctx).raise(FaultKind::Refused(format!("asks for {a}"))) };
    }
    a.wrapping_add(1)
}

/// Calls the last function of the program with the first two arguments.
unsafe extern "C" fn reenter(ctx: *mut CallContext, a: u64, b: u64, _: u64, _: u64, _: u64) -> u64 {
    unsafe {
        let last = (&mut *(*ctx).vm).program.functions.len() as u32 - 1;
        VmState::call_back(ctx, Program::function_handle(FunctionId(last)), [a, b, 0, 0, 0])
    }
}

unsafe fn element(ctx: *mut CallContext, map: u64, key: u64, cpu: u64) -> u64 {
    let vm = unsafe { &mut *(*ctx).vm };
    let key = u64::from(vm.memory.read::<u32>(key));
    let Some(map) = vm.program.map_at(map) else { return 0 };
    match vm.program.maps[map.index()].layout {
        MapLayout::Array { base, stride, entries } if key < entries.into() => base + key * u64::from(stride),
        MapLayout::PerCpuArray { base, stride, entries, cpu_stride, cpus }
            if key < entries.into() && cpu < cpus.into() =>
        {
            base + cpu * cpu_stride + key * u64::from(stride)
        }
        _ => 0,
    }
}

unsafe extern "C" fn lookup(ctx: *mut CallContext, map: u64, key: u64, _: u64, _: u64, _: u64) -> u64 {
    unsafe { element(ctx, map, key, (*ctx).moment.cpu.into()) }
}

unsafe extern "C" fn lookup_cpu(ctx: *mut CallContext, map: u64, key: u64, cpu: u64, _: u64, _: u64) -> u64 {
    unsafe { element(ctx, map, key, u64::from(cpu as u32)) }
}

unsafe extern "C" fn now(ctx: *mut CallContext, _: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    unsafe { (*ctx).moment.now_ns }
}

unsafe extern "C" fn cpu(ctx: *mut CallContext, _: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    unsafe { (*ctx).moment.cpu.into() }
}

unsafe extern "C" fn current(ctx: *mut CallContext, _: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    unsafe { (*ctx).moment.current }
}

/// Gives the value of an owner; a missing one is made up, so that a test sees which owner was asked.
unsafe extern "C" fn storage(ctx: *mut CallContext, map: u64, owner: u64, _: u64, flags: u64, _: u64) -> u64 {
    let vm = unsafe { &mut *(*ctx).vm };
    let Some(map) = vm.program.map_at(map) else { return 0 };
    let MapLayout::Storage { table, owners, owner_stride, count } = vm.program.maps[map.index()].layout else {
        return 0;
    };
    let Some(offset) = owner.checked_sub(owners) else { return 1 };
    let index = offset / u64::from(owner_stride);
    if index >= count.into() {
        return 2;
    }
    let value = vm.memory.read::<u32>(table + 4 * index);
    if value == 0 { 1000 + index + flags } else { value.into() }
}

unsafe extern "C" fn iter_new(ctx: *mut CallContext, it: u64, start: u64, end: u64, _: u64, _: u64) -> u64 {
    let memory = unsafe { &(*(*ctx).vm).memory };
    let (start, end) = (start as i32, end as i32);
    let (pair, result): ((i32, i32), i64) = match i64::from(end) - i64::from(start) {
        ..0 => ((0, 0), -22),
        0..=8_388_608 => ((start.wrapping_sub(1), end), 0),
        _ => ((0, 0), -7),
    };
    memory.write(it, pair.0);
    memory.write(it + 4, pair.1);
    result as u64
}

unsafe extern "C" fn iter_next(ctx: *mut CallContext, it: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    let memory = unsafe { &(*(*ctx).vm).memory };
    let next = memory.read::<i32>(it).wrapping_add(1);
    if next >= memory.read::<i32>(it + 4) {
        memory.write(it, 0u64);
        return 0;
    }
    memory.write(it, next);
    it
}

unsafe extern "C" fn nothing(_: *mut CallContext, _: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    0
}

unsafe extern "C" fn identity(_: *mut CallContext, a: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    a
}

unsafe extern "C" fn field(ctx: *mut CallContext, a: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    let memory = unsafe { &(*(*ctx).vm).memory };
    memory.read::<u32>(a + FIELD_AT as u64).into()
}

unsafe extern "C" fn second(_: *mut CallContext, _: u64, b: u64, _: u64, _: u64, _: u64) -> u64 {
    b
}
