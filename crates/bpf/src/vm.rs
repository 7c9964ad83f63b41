//! The virtual machine, whatever its host: a loaded program with its maps and globals, ready to be called.

mod bytes;

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;

use crate::context::CallContext;
use crate::coverage::Marks;
use crate::fault::{Fault, FaultKind};
use crate::fields::{FieldKind, Fields};
use crate::heap::Heap;
use crate::interpreter;
use crate::local_types::LocalTypes;
use crate::machine::MachineCode;
use crate::maps::{ElementKey, Map, Storage};
use crate::memory::{Content, GuestMemory, MemoryError};
use crate::program::{FunctionId, MapId, Program, ProgramId};
use crate::references::{References, without_end};
use crate::sections::Sections;
use crate::stored::{Owned, Stored};
use crate::timers::{TimerRequest, Timers};

/// Machine code of a function: the call context and r1 to r5 in, r0 out.
pub(crate) type EntryFn =
    unsafe extern "C" fn(ctx: *mut CallContext, r1: u64, r2: u64, r3: u64, r4: u64, r5: u64) -> u64;

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
    pub type_name: &'static str,
}

/// A loaded program.
#[derive(Debug)]
pub struct VmState {
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
    /// What only host functions may touch in the values of each map, and in each section of globals.
    pub(crate) map_fields: Vec<Fields>,
    pub(crate) section_fields: BTreeMap<u32, Fields>,
    /// What the pointers in them own.
    pub(crate) stored: Stored,
    /// What the calls on the way hold.
    pub(crate) references: References,
    pub(crate) timers: Timers,
    pub(crate) heap: Heap,
    /// Bytes between CPUs of each per-CPU kernel variable, by its address.
    pub(crate) per_cpu: BTreeMap<u64, u32>,
    /// The object's own types that it makes objects of, by BTF number.
    pub(crate) local_types: LocalTypes,
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
    /// What the interpreter executed, if it is observed.
    pub(crate) marks: Option<Marks>,
}

/// What a call that a host function makes has to leave as it was.
struct Outer {
    budget: i64,
    position: u64,
    frames: u32,
    host: *mut c_void,
    fault: Option<Box<Fault>>,
    sections: Sections,
    section_at: u64,
    locks: u32,
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
            sections: std::mem::take(&mut ctx.sections),
            section_at: ctx.section_at,
            locks: std::mem::take(&mut ctx.locks),
        }
    }

    unsafe fn put_back(self, ctx: *mut CallContext) {
        // SAFETY: as above.
        let ctx = unsafe { &mut *ctx };
        (ctx.budget, ctx.position, ctx.frames) = (self.budget, self.position, self.frames);
        (ctx.host, ctx.fault) = (self.host, self.fault);
        (ctx.sections, ctx.section_at, ctx.locks) = (self.sections, self.section_at, self.locks);
    }
}

impl VmState {
    /// The entry of a name (C name of the function).
    pub fn program(&self, name: &str) -> Option<ProgramId> {
        self.program.entries.iter().position(|entry| entry.name == name).map(|index| ProgramId(index as u32))
    }

    /// Calls an entry: `args` become the array of words that r1 points at. `host` is handed through to host functions.
    ///
    /// A host function may call in turn; each call has a budget of its own.
    ///
    /// # Safety
    /// `host` points at what this machine's kernel functions expect, and nothing else uses it during the call.
    #[inline(always)]
    pub unsafe fn call<const N: usize>(
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

    /// The usual call: machine code, without an outer call whose state has to be kept.
    #[inline(always)]
    fn call_machine<const N: usize>(
        &mut self,
        entry: EntryFn,
        args: [u64; N],
        host: *mut c_void,
    ) -> Result<u64, Box<Fault>> {
        let vm: *mut VmState = self;
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
            if !(*vm).references.is_empty() || (*ctx).sections != Sections::default() {
                VmState::end_holding(ctx, 0, Sections::default());
            }
            if (*ctx).fault.is_none() {
                (*vm).executed += (limit - (*ctx).budget) as u64;
                return Ok(result);
            }
            (*ctx).frames = 1;
            let fault = (*ctx).fault.take().expect("there is one");
            let exception = fault.exception();
            (*vm).executed += (limit - exception.map_or(0, |(_, budget)| budget)) as u64;
            exception.map(|(cookie, _)| cookie).ok_or(fault)
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
        let vm: *mut VmState = self;
        // SAFETY: `vm` is alive and exclusively ours; from here on it is only reached through the pointer, as host
        // functions reach it, and no reference lives across the call.
        unsafe {
            let ctx = &raw mut (*vm).context;
            let outer = if (*ctx).depth == 0 { None } else { Some(Outer::take(ctx)) };
            let (stack_top, limit) = ((*ctx).stack_top, (*vm).instruction_limit);
            let held = (*vm).references.len();
            (*ctx).budget = limit;
            (*ctx).host = host;
            (*ctx).vm = vm;
            let (function, args) = prepare(&mut *ctx, &(*vm).memory);
            let result = if (*ctx).fault.is_none() { VmState::call_function(ctx, function, args) } else { 0 };
            (*ctx).stack_top = stack_top;
            (*ctx).frames = 1;
            if (*vm).references.len() > held || (*ctx).sections != Sections::default() {
                VmState::end_holding(ctx, held, Sections::default());
            }
            let fault = (*ctx).fault.take();
            let exception = fault.as_ref().and_then(|fault| fault.exception());
            if fault.is_some() {
                // An error counts as the whole budget, the same in both executors.
                (*ctx).budget = exception.map_or(0, |(_, budget)| budget);
            }
            (*vm).executed += (limit - (*ctx).budget) as u64;
            if let Some(outer) = outer {
                outer.put_back(ctx);
            }
            match fault {
                None => Ok(result),
                Some(fault) => exception.map(|(cookie, _)| cookie).ok_or(fault),
            }
        }
    }

    /// What a call still holds when it ends, beyond the first `held`, or another number of sections than `sections`: a
    /// fault if it had to be given back or left.
    ///
    /// # Safety
    /// `ctx` is the context of a call that has just ended.
    #[cold]
    unsafe fn end_holding(ctx: *mut CallContext, held: usize, sections: Sections) {
        // SAFETY: the caller's promise.
        let vm = unsafe { &mut *(*ctx).vm };
        let leak = vm.references.leak(held);
        vm.references.truncate(held);
        let locks = vm.references.locks();
        // SAFETY: as above; the machine is not used any more.
        let ctx = unsafe { &mut *ctx };
        ctx.locks = locks;
        let inside = std::mem::replace(&mut ctx.sections, sections).other_than(sections);
        let section = || Some((without_end(inside?.calls()), ctx.section_at));
        if let Some((text, position)) = leak.or_else(section) {
            // An exception gives nothing back.
            ctx.fault.take_if(|fault| fault.exception().is_some());
            ctx.raise_from(position, FaultKind::Refused(text));
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
    pub(crate) fn storage_value_or_create(&mut self, map: MapId, owner: u64) -> Result<Option<u64>, MemoryError> {
        match &mut self.maps[map.index()].storage {
            Storage::Owner(storage) => storage.lookup_or_create(&self.memory, owner),
            _ => Ok(None),
        }
    }

    /// Frees the values of a task or cgroup that ends, in all storage maps.
    pub fn release_owner(&mut self, owner: u64) {
        for map in (0..self.maps.len() as u32).map(MapId) {
            if let Some(value) = self.detach_storage(map, owner) {
                self.drop_value(map, value);
                self.free_storage(map, value);
            }
        }
    }

    /// Takes the value of an owner out of a map; what it holds is to be let go of, then it is to be freed.
    pub(crate) fn detach_storage(&mut self, map: MapId, owner: u64) -> Option<u64> {
        match &mut self.maps[map.index()].storage {
            Storage::Owner(storage) => storage.detach(&self.memory, owner),
            _ => None,
        }
    }

    /// Frees a value that was taken out.
    pub(crate) fn free_storage(&mut self, map: MapId, value: u64) {
        if let Storage::Owner(storage) = &mut self.maps[map.index()].storage {
            storage.free(&self.memory, value);
        }
    }

    /// Lets go of what a value holds: timers, kernel objects, own objects. Gives how many.
    pub(crate) fn drop_value(&mut self, map: MapId, value: u64) -> u64 {
        self.drop_fields(map, value, u64::from(self.maps[map.index()].value_size))
    }

    /// The same of the values of all CPUs in an element of a hash, by the first of them.
    pub(crate) fn drop_element(&mut self, map: MapId, first: u64) -> u64 {
        let found = &self.maps[map.index()];
        let Storage::Hash(hash) = &found.storage else { return self.drop_value(map, first) };
        self.drop_fields(map, first, hash.span(found.value_size))
    }

    fn drop_fields(&mut self, map: MapId, value: u64, len: u64) -> u64 {
        if self.map_fields[map.index()].is_empty() {
            return 0;
        }
        let timers = self.timers.forget(&self.memory, value, len);
        timers + self.drop_contents(value, len)
    }

    /// Lets go of what pointers and collections in `len` bytes own, and of what that owns in turn. Gives how many.
    fn drop_contents(&mut self, address: u64, len: u64) -> u64 {
        let mut dropped = 0;
        let mut ranges = vec![(address, len)];
        while let Some((address, len)) = ranges.pop() {
            let places = self.stored.places_in(address, len);
            let mut objects = self.heap.drop_collections(address, len);
            for place in &places {
                match self.stored.remove(&self.memory, *place) {
                    Some((object, Owned::Kernel(type_name))) => self.released.push(Released { object, type_name }),
                    Some((object, Owned::Object)) => objects.push(object),
                    None => {}
                }
            }
            dropped += (places.len() + objects.len()) as u64;
            let freed = objects.into_iter().filter_map(|object| self.heap.release(&self.memory, object));
            ranges.extend(freed);
        }
        dropped
    }

    /// Drops a reference to an own object, and what it holds with the last one. Gives how many things that were.
    pub(crate) fn drop_object(&mut self, object: u64) -> u64 {
        match self.heap.release(&self.memory, object) {
            Some((address, len)) => 1 + self.drop_contents(address, len),
            None => 1,
        }
    }

    /// A value that is stored as bytes brings nothing along that only host functions may touch.
    pub(crate) fn clear_fields(&mut self, map: MapId, value: u64) {
        self.map_fields[map.index()].each(|offset, len| self.memory.zero(value + u64::from(offset), len as usize));
    }

    /// Whether a pointer in a map or an object owns a reference to a kernel object.
    #[inline]
    pub fn keeps(&self, object: u64) -> bool {
        self.stored.has(object)
    }

    /// The field at an address that only host functions may touch.
    pub(crate) fn field_at(&self, address: u64) -> Option<FieldKind> {
        let (content, start) = self.memory.element(address)?;
        let offset = |start: u64| u32::try_from(address - start).ok();
        match content {
            Content::Map(map) => {
                let fields = &self.map_fields[map as usize];
                let start = self.maps[map as usize].value_in(start, address)?;
                fields.at(offset(start)?).cloned()
            }
            Content::Section(section) => self.section_fields.get(&section)?.at(offset(start)?).cloned(),
            Content::Objects => {
                let ty = self.local_types.get(self.heap.type_of(start)?)?;
                ty.fields.at(offset(start)?).cloned()
            }
            Content::Other => None,
        }
    }

    /// What programs asked of timers since the host last took it; take it after each call.
    pub fn take_timer_requests(&mut self) -> Vec<TimerRequest> {
        self.timers.take_requests()
    }

    /// Whether calls left anything for the host to take: timer requests, printed lines, released objects.
    #[inline]
    pub fn has_leftovers(&self) -> bool {
        self.timers.has_requests() | self.printed.len() | self.released.len() != 0
    }

    /// Runs the callback of a timer that expired. Nothing happens if it was cancelled or its value is gone.
    ///
    /// # Safety
    /// As for [`call`](Self::call).
    pub unsafe fn fire_timer(&mut self, timer: u64, host: *mut c_void) -> Result<(), Box<Fault>> {
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
            Storage::Ring(ring) => ring.take_records(&self.memory),
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
            let (held, sections) = ((*(*ctx).vm).references.len(), (*ctx).sections);
            let result = VmState::call_function(ctx, function, args);
            (*ctx).frames = frames;
            let vm = (*ctx).vm;
            let has_more = (*vm).references.len() > held || (*ctx).sections != sections;
            if has_more && (*ctx).fault.is_none() {
                VmState::end_holding(ctx, held, sections);
            }
            result
        }
    }
}
