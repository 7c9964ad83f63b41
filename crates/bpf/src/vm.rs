//! The virtual machine: a loaded program with its maps and globals, ready to be called.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;

use crate::context::CallContext;
use crate::fault::{Fault, FaultKind};
use crate::heap::Heap;
use crate::interpreter;
use crate::machine::MachineCode;
use crate::maps::{ElementKey, Map, Storage};
use crate::memory::GuestMemory;
use crate::program::{FunctionId, MapId, Program, ProgramId};
use crate::timers::{TimerRequest, Timers};

/// Machine code of a function: the call context and r1 to r5 in, r0 out.
pub type EntryFn = unsafe extern "C" fn(ctx: *mut CallContext, r1: u64, r2: u64, r3: u64, r4: u64, r5: u64) -> u64;

/// How many calls into the machine may be inside one another: host functions that call a program.
const DEPTH_LIMIT: u32 = 8;
/// How many frames a call has at most, those of callbacks included (the kernel's `MAX_CALL_FRAMES`).
pub(crate) const CALL_DEPTH: u32 = 8;
/// Arguments that a call may have without a look at the stack.
const ARGUMENTS_MAX: usize = 64;
/// Bytes of the stack of all nested calls together.
pub(crate) const STACK_SIZE: u64 = 256 * 1024;
/// Bytes from a map's pointer to the next map's.
pub(crate) const MAP_POINTER_STRIDE: u64 = 64;

/// Where things of the running task are, from its `task_struct`; `None` when the kernel has no such field.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TaskFields {
    pub pid: Option<u32>,
    pub tgid: Option<u32>,
    pub comm: Option<u32>,
}

/// A kernel object whose only pointer was in a map value that went away: the host may drop the reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    /// Guest address of the object.
    pub object: u64,
    /// Name of its type: `bpf_cpumask`.
    pub type_name: String,
}

/// A pointer to a kernel object inside the values of a map.
#[derive(Clone, Debug)]
pub(crate) struct KernelPointer {
    /// Byte offset in the value.
    pub offset: u32,
    pub type_name: String,
}

/// A loaded program.
#[derive(Debug)]
pub struct Vm {
    /// The state of calls. The caller sets `now_ns`, `cpu` and `current` before a call.
    pub context: CallContext,
    /// Guest memory.
    pub memory: GuestMemory,
    /// The linked program.
    pub program: Program,
    /// Instructions that one call may execute.
    pub instruction_limit: i64,
    /// Lines that programs printed with `bpf_printk` and the like since the host last took them.
    pub printed: Vec<String>,
    /// Kernel objects that map values held when they went away, since the host last took them.
    pub released: Vec<Released>,
    /// Whether helpers check what a program hands them against the regions.
    pub(crate) checked: bool,
    pub(crate) maps: Vec<Map>,
    pub(crate) kernel_pointers: Vec<Vec<KernelPointer>>,
    pub(crate) timers: Timers,
    pub(crate) heap: Heap,
    /// Bytes between CPUs of each per-CPU kernel variable, by its address.
    pub(crate) per_cpu: BTreeMap<u64, u32>,
    /// Bytes of the object's own types that it makes objects of, by BTF number.
    pub(crate) local_types: BTreeMap<u64, u32>,
    pub(crate) globals: BTreeMap<String, (u64, u32)>,
    pub(crate) task_fields: TaskFields,
    pub(crate) cpus: u32,
    pub(crate) cpu_nodes: Vec<u32>,
    pub(crate) random: u64,
    /// `CONFIG_HZ`, for jiffies.
    pub(crate) ticks_per_second: u64,
    pub(crate) machine: Option<Arc<MachineCode>>,
    /// Machine code of each entry, out of `machine`; empty without it.
    pub(crate) entry_code: Vec<EntryFn>,
    pub(crate) executed: u64,
}

/// What a call that a host function makes has to leave as it was.
struct Outer {
    budget: i64,
    position: u64,
    frames: u32,
    host: *mut c_void,
    fault: Option<Box<Fault>>,
}

impl Outer {
    unsafe fn take(ctx: *mut CallContext) -> Outer {
        // SAFETY: the caller holds the machine.
        let ctx = unsafe { &mut *ctx };
        Outer {
            budget: ctx.budget,
            position: ctx.position,
            frames: std::mem::replace(&mut ctx.frames, 1),
            host: ctx.host,
            fault: ctx.fault.take(),
        }
    }

    unsafe fn put_back(self, ctx: *mut CallContext) {
        // SAFETY: as above.
        let ctx = unsafe { &mut *ctx };
        (ctx.budget, ctx.position, ctx.frames) = (self.budget, self.position, self.frames);
        (ctx.host, ctx.fault) = (self.host, self.fault);
    }
}

// SAFETY: the pointers in the context are only used during a call; a machine moves between threads as a whole, with the
// guest memory that belongs to its simulation.
unsafe impl Send for Vm {}

impl Vm {
    /// The entry of a name (C name of the function).
    pub fn program(&self, name: &str) -> Option<ProgramId> {
        self.program.entries.iter().position(|entry| entry.name == name).map(|index| ProgramId(index as u32))
    }

    /// Calls an entry: `args` become the array of words that r1 points at. `host` is handed through to host functions.
    ///
    /// A host function may call in turn; each call has a budget of its own.
    #[inline]
    pub fn call<const N: usize>(
        &mut self,
        program: ProgramId,
        args: [u64; N],
        host: *mut c_void,
    ) -> Result<u64, Box<Fault>> {
        const { assert!(N <= ARGUMENTS_MAX) };
        match self.entry_code.get(program.index()) {
            Some(&code) if self.context.depth == 0 => self.call_machine(code, args, host),
            _ => self.call_nested(self.program.entries[program.index()].function, &args, host),
        }
    }

    /// The usual call: machine code, and no other call is on the way whose state would have to be kept.
    #[inline]
    fn call_machine<const N: usize>(
        &mut self,
        entry: EntryFn,
        args: [u64; N],
        host: *mut c_void,
    ) -> Result<u64, Box<Fault>> {
        let vm: *mut Vm = self;
        // SAFETY: as in `enter`; the stack is empty, so that the arguments fit.
        unsafe {
            let ctx = &raw mut (*vm).context;
            let (top, limit) = ((*ctx).stack_top, (*vm).instruction_limit);
            let at = top - 8 * N as u64;
            let to = (*vm).memory.host(at).cast::<u64>();
            for (index, arg) in args.into_iter().enumerate() {
                // Volatile, so that words that were just stored one by one are not loaded in pairs: that would wait
                // for the stores to leave the processor.
                to.add(index).write_volatile(arg);
            }
            (*ctx).budget = limit;
            (*ctx).host = host;
            (*ctx).vm = vm;
            (*ctx).stack_top = at;
            (*ctx).depth = 1;
            let result = entry(ctx, at, 0, 0, 0, 0);
            (*ctx).depth = 0;
            (*ctx).stack_top = top;
            if (*ctx).fault.is_none() {
                (*vm).executed += (limit - (*ctx).budget) as u64;
                return Ok(result);
            }
            (*vm).executed += limit as u64;
            (*ctx).frames = 1;
            Err((*ctx).fault.take().expect("there is one"))
        }
    }

    #[cold]
    fn call_nested(&mut self, function: FunctionId, args: &[u64], host: *mut c_void) -> Result<u64, Box<Fault>> {
        self.enter(host, |ctx, memory| {
            let len = 8 * args.len() as u64;
            if len > ctx.stack_top - ctx.stack_start {
                ctx.raise_at(function, 0, FaultKind::StackOverflow);
                return (function, [0; 5]);
            }
            let at = ctx.stack_top - len;
            for (index, &arg) in args.iter().enumerate() {
                memory.write(at + 8 * index as u64, arg);
            }
            ctx.stack_top = at;
            (function, [at, 0, 0, 0, 0])
        })
    }

    /// Sets a call up, runs the function that `prepare` gives, and puts the context back.
    #[inline]
    fn enter(
        &mut self,
        host: *mut c_void,
        prepare: impl FnOnce(&mut CallContext, &GuestMemory) -> (FunctionId, [u64; 5]),
    ) -> Result<u64, Box<Fault>> {
        let vm: *mut Vm = self;
        // SAFETY: `vm` is alive and exclusively ours; from here on it is only reached through the pointer, as host
        // functions reach it, and no reference lives across the call.
        unsafe {
            let ctx = &raw mut (*vm).context;
            let outer = if (*ctx).depth == 0 { None } else { Some(Outer::take(ctx)) };
            let (stack_top, limit) = ((*ctx).stack_top, (*vm).instruction_limit);
            (*ctx).budget = limit;
            (*ctx).host = host;
            (*ctx).vm = vm;
            let (function, args) = prepare(&mut *ctx, &(*vm).memory);
            let result = if (*ctx).fault.is_none() { Vm::call_function(ctx, function, args) } else { 0 };
            (*ctx).stack_top = stack_top;
            (*ctx).frames = 1;
            let fault = (*ctx).fault.take();
            if fault.is_some() {
                // An error counts as the whole budget, the same in both executors.
                (*ctx).budget = 0;
            }
            (*vm).executed += (limit - (*ctx).budget) as u64;
            if let Some(outer) = outer {
                outer.put_back(ctx);
            }
            match fault {
                None => Ok(result),
                Some(fault) => Err(fault),
            }
        }
    }

    /// Instructions executed so far by all calls, a running one not included. A call that failed counts as its whole
    /// budget. Machine code only knows if it [counts them](crate::LoadOptions::counts_instructions).
    #[inline]
    pub fn instructions(&self) -> u64 {
        self.executed
    }

    /// The map of a name.
    pub fn map(&self, name: &str) -> Option<MapId> {
        self.program.maps.iter().position(|map| map.name == name).map(|index| MapId(index as u32))
    }

    /// The map that a pointer of the program points at.
    #[inline]
    pub(crate) fn map_of(&self, address: u64) -> Option<MapId> {
        let offset = address.checked_sub(self.program.maps.first()?.address)?;
        let index = offset / MAP_POINTER_STRIDE;
        (offset % MAP_POINTER_STRIDE == 0 && index < self.maps.len() as u64).then_some(MapId(index as u32))
    }

    /// Guest address of the value of a key, in a per-CPU map the one of CPU 0.
    pub fn map_value(&mut self, map: MapId, key: &[u8]) -> Option<u64> {
        self.map_value_on(map, key, 0)
    }

    /// Guest address of the value of a key on a CPU.
    pub fn map_value_on(&mut self, map: MapId, key: &[u8], cpu: u32) -> Option<u64> {
        let found = &mut self.maps[map.index()];
        if key.len() != found.key_size as usize {
            return None;
        }
        found.lookup(&self.memory, key, cpu)
    }

    /// Bytes of a map's values.
    pub fn value_size(&self, map: MapId) -> u32 {
        self.maps[map.index()].value_size
    }

    /// Guest address of the value of an owner (task, cgroup) in a storage map.
    #[inline]
    pub fn storage_value(&self, map: MapId, owner: u64) -> Option<u64> {
        match &self.maps[map.index()].storage {
            Storage::Owner(storage) => storage.lookup(&self.memory, owner),
            _ => None,
        }
    }

    /// Guest address of the table of a storage map whose owners begin with this one: a `u32` for each, the guest address of
    /// its value, or 0. None for any other map.
    pub fn storage_table(&self, map: MapId, first_owner: u64) -> Option<u64> {
        match &self.maps[map.index()].storage {
            Storage::Owner(storage) => storage.table_from(first_owner),
            _ => None,
        }
    }

    /// As [`storage_value`](Self::storage_value); a missing one is created, zeroed.
    pub fn storage_value_or_create(&mut self, map: MapId, owner: u64) -> Option<u64> {
        match &mut self.maps[map.index()].storage {
            Storage::Owner(storage) => storage.lookup_or_create(&self.memory, owner),
            _ => None,
        }
    }

    /// Frees the values of a task or cgroup that ends, in all storage maps.
    pub fn release_owner(&mut self, owner: u64) {
        for index in 0..self.maps.len() {
            self.delete_storage(MapId(index as u32), owner);
        }
    }

    /// Frees the value of an owner in one map; false when there is none.
    pub(crate) fn delete_storage(&mut self, map: MapId, owner: u64) -> bool {
        let Storage::Owner(storage) = &mut self.maps[map.index()].storage else { return false };
        let Some(value) = storage.detach(&self.memory, owner) else { return false };
        self.drop_value(map, value);
        if let Storage::Owner(storage) = &mut self.maps[map.index()].storage {
            storage.free(&self.memory, value);
        }
        true
    }

    /// Lets go of what a value holds: timers, kernel objects, own objects.
    pub(crate) fn drop_value(&mut self, map: MapId, value: u64) {
        if !self.timers.known.is_empty() {
            self.timers.forget(value, u64::from(self.maps[map.index()].value_size));
        }
        for pointer in &self.kernel_pointers[map.index()] {
            let object: u64 = self.memory.read(value + u64::from(pointer.offset));
            if object != 0 && !self.heap.release(&self.memory, object) {
                self.released.push(Released { object, type_name: pointer.type_name.clone() });
            }
        }
    }

    /// A value that is stored as bytes never brings pointers to kernel objects along.
    pub(crate) fn clear_kernel_pointers(&mut self, map: MapId, value: u64) {
        for pointer in &self.kernel_pointers[map.index()] {
            self.memory.write(value + u64::from(pointer.offset), 0u64);
        }
    }

    /// What programs asked of timers since the host last took it; take it after each call.
    pub fn timer_requests(&mut self) -> &mut Vec<TimerRequest> {
        &mut self.timers.requests
    }

    /// Whether calls left anything for the host to take: timer requests, printed lines, released objects.
    #[inline]
    pub fn has_leftovers(&self) -> bool {
        self.timers.requests.len() | self.printed.len() | self.released.len() != 0
    }

    /// Runs the callback of a timer that expired. Nothing happens if it was cancelled or its value is gone.
    pub fn fire_timer(&mut self, timer: u64, host: *mut c_void) -> Result<(), Box<Fault>> {
        let Some(found) = self.timers.known.get_mut(&timer).filter(|found| found.active) else { return Ok(()) };
        (found.active, found.firing) = (false, true);
        let found = *found;
        let Some(function) = self.program.function_of(found.callback) else { return Ok(()) };
        let map = self.program.maps[found.map.index()].address;
        let result = self.enter(host, |ctx, memory| {
            let key = match found.key {
                ElementKey::At(key) => key,
                ElementKey::Index(index) => {
                    ctx.stack_top -= 8;
                    memory.write(ctx.stack_top, u64::from(index));
                    ctx.stack_top
                }
            };
            (function, [map, key, found.value, 0, 0])
        });
        if let Some(found) = self.timers.known.get_mut(&timer) {
            found.firing = false;
        }
        result.map(|_| ())
    }

    /// Keeps the records of a ring buffer from now on, to be taken with [`take_records`](Self::take_records).
    pub fn keep_records(&mut self, map: MapId) {
        if let Storage::Ring(ring) = &mut self.maps[map.index()].storage {
            ring.keeps = true;
        }
    }

    /// The records of a ring buffer since the last time.
    pub fn take_records(&mut self, map: MapId) -> Vec<Vec<u8>> {
        match &mut self.maps[map.index()].storage {
            Storage::Ring(ring) => std::mem::take(&mut ring.records),
            _ => Vec::new(),
        }
    }

    /// How many records were submitted to a ring buffer in all.
    pub fn records_submitted(&self, map: MapId) -> u64 {
        match &self.maps[map.index()].storage {
            Storage::Ring(ring) => ring.submitted,
            _ => 0,
        }
    }

    /// Guest address and size in bytes of a global variable.
    pub fn global(&self, name: &str) -> Option<(u64, u32)> {
        self.globals.get(name).copied()
    }

    /// Runs a function inside a call: callbacks of helpers. Errors stay in the context, whose budget is then negative.
    ///
    /// # Safety
    /// `ctx` is the context of the running call.
    #[inline]
    pub unsafe fn call_function(ctx: *mut CallContext, function: FunctionId, args: [u64; 5]) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            let vm = (*ctx).vm;
            let (depth, limit) = ((*ctx).depth, (*vm).instruction_limit);
            let program = &(*vm).program;
            let needs = program.needs[function.index()];
            if depth >= DEPTH_LIMIT || !(*ctx).has_frames(needs.frames) {
                (*ctx).raise(FaultKind::StackOverflow);
                return 0;
            }
            if !program.counts_all {
                (*ctx).budget -= needs.counts_as();
            }
            if (*ctx).budget < 0 {
                (*ctx).raise(FaultKind::Endless { limit });
                return 0;
            }
            (*ctx).depth = depth + 1;
            let result = match &(*vm).machine {
                None => interpreter::run(ctx, function, args),
                Some(machine) => machine.entry(function)(ctx, args[0], args[1], args[2], args[3], args[4]),
            };
            (*ctx).depth = depth;
            result
        }
    }

    /// Runs the function behind a handle inside a call.
    ///
    /// # Safety
    /// `ctx` is the context of the running call.
    pub unsafe fn call_back(ctx: *mut CallContext, handle: u64, args: [u64; 5]) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            let program = &(*(*ctx).vm).program;
            let Some(function) = program.function_of(handle) else {
                (*ctx).raise(FaultKind::WildCall(handle));
                return 0;
            };
            let frames = (*ctx).frames;
            if frames + program.needs[function.index()].depth > CALL_DEPTH {
                (*ctx).raise(FaultKind::StackOverflow);
                return 0;
            }
            (*ctx).frames = frames + 1;
            let result = Vm::call_function(ctx, function, args);
            (*ctx).frames = frames;
            result
        }
    }
}
