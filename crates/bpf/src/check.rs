//! The gate between a program and the host: what a host function sees of the call that it is part of, and the checks
//! that turn the words of a call into things.
//!
//! A host function gets its arguments as types that only a check makes ([`Argument`](crate::arguments::Argument)). Whatever it copies or walks
//! through is charged to the budget of the call, what it makes grow to the account of the simulation.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::arguments::{Callback, Key, Own, Pointer, Readable, Writable};
use crate::context::CallContext;
use crate::fault::{Fault, FaultKind};
use crate::fields::FieldKind;
use crate::maps::Storage;
use crate::memory::{AccessError, Content, GuestMemory, MEMORY_SIZE, MemoryError};
use crate::program::MapId;
use crate::references::Held;
use crate::sections::Section;
use crate::vm::VmState;

/// Bytes of an argument that cost nothing.
const FREE_BYTES: u64 = 256;
/// Bytes that cost as much as one instruction.
const BYTES_PER_STEP: u64 = 64;
/// References looked through for the price of one instruction.
const REFERENCES_PER_STEP: u64 = 32;
/// The longest text that is looked at.
const TEXT_MAX: u64 = 64 * 1024;

/// A host function's view of the running call. A check that fails raises the fault and gives `None`; the function then
/// returns, and its result means nothing.
#[derive(Debug)]
pub struct Check<'a> {
    ctx: *mut CallContext,
    life: PhantomData<&'a mut CallContext>,
}

/// Runs a host function: the one place where a program's call becomes one of ours. A panic in it is a fault of the call.
///
/// # Safety
/// `ctx` is the context of the running call, and no reference to its machine is alive.
#[inline(always)]
pub(crate) unsafe fn guard(ctx: *mut CallContext, run: impl FnOnce(&mut Check<'_>) -> Option<u64>) -> u64 {
    let mut check = Check { ctx, life: PhantomData };
    match catch_unwind(AssertUnwindSafe(|| run(&mut check))) {
        Ok(result) => result.unwrap_or(0),
        Err(payload) => check.raise(FaultKind::Defect(panic_text(&*payload))).unwrap_or(0),
    }
}

#[cold]
fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message").replace('\n', " ")
}

impl<'a> Check<'a> {
    /// The view of a call.
    ///
    /// # Safety
    /// As for [`guard`]; the view does not outlive the host function.
    #[inline]
    pub(crate) unsafe fn new(ctx: *mut CallContext) -> Check<'a> {
        Check { ctx, life: PhantomData }
    }

    /// The virtual machine.
    #[inline]
    pub(crate) fn vm(&mut self) -> &mut VmState {
        // SAFETY: the promise of `guard`; the reference ends before anything else of `self` is used.
        unsafe { &mut *(*self.ctx).vm }
    }

    #[inline]
    fn ctx(&self) -> &CallContext {
        // SAFETY: as above.
        unsafe { &*self.ctx }
    }

    #[inline]
    fn ctx_mut(&mut self) -> &mut CallContext {
        // SAFETY: as above.
        unsafe { &mut *self.ctx }
    }

    /// The same call for a function that this one calls.
    #[inline]
    pub(crate) fn context(&mut self) -> *mut CallContext {
        self.ctx
    }

    /// Guest memory.
    #[inline]
    pub fn memory(&self) -> &GuestMemory {
        // SAFETY: as above.
        unsafe { &(*(*self.ctx).vm).memory }
    }

    /// Simulated time in nanoseconds.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.ctx().moment.now_ns
    }

    /// The CPU of the call.
    #[inline]
    pub fn cpu(&self) -> u32 {
        self.ctx().moment.cpu
    }

    /// Guest address of the running task.
    #[inline]
    pub fn current(&self) -> u64 {
        self.ctx().moment.current
    }

    /// The error that is in the context.
    #[inline]
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.ctx().fault.as_deref()
    }

    /// Whether an error is in the context.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.ctx().fault.is_some()
    }

    /// Ends the call with an error that says what the program does wrong: `dispatches task 7 twice`.
    #[cold]
    pub fn fail<T>(&mut self, text: impl Into<String>) -> Option<T> {
        self.raise(FaultKind::Refused(text.into()))
    }

    /// What is left of the budget of the call.
    pub(crate) fn budget(&self) -> i64 {
        self.ctx().budget
    }

    /// Ends the call with an error.
    #[cold]
    pub(crate) fn raise<T>(&mut self, kind: FaultKind) -> Option<T> {
        self.ctx_mut().raise(kind);
        None
    }

    /// The storage of a map that has to be of one kind, and guest memory.
    pub(crate) fn storage<T>(
        &mut self,
        map: MapId,
        what: &str,
        pick: impl Fn(&mut Storage) -> Option<&mut T>,
    ) -> Option<(&mut T, &GuestMemory)> {
        if pick(&mut self.vm().maps[map.index()].storage).is_none() {
            let name = self.vm().maps[map.index()].name.clone();
            return self.fail(format!("uses `{name}` as {what}, which it is not"));
        }
        let VmState { maps, memory, .. } = self.vm();
        pick(&mut maps[map.index()].storage).map(|storage| (storage, &*memory))
    }

    /// Takes steps of work from the budget, each about as long as an instruction.
    #[inline]
    pub fn charge(&mut self, steps: u64) -> Option<()> {
        // SAFETY: as above.
        let (ctx, limit) = unsafe { (&mut *self.ctx, (*(*self.ctx).vm).instruction_limit) };
        ctx.budget = ctx.budget.saturating_sub_unsigned(steps);
        match ctx.budget < 0 {
            true => self.raise(FaultKind::Endless { limit }),
            false => Some(()),
        }
    }

    /// Takes what it costs to go through some bytes; a few are free.
    #[inline]
    pub fn charge_bytes(&mut self, len: u64) -> Option<()> {
        if len <= FREE_BYTES { Some(()) } else { self.charge(len / BYTES_PER_STEP) }
    }

    /// Takes bytes from the account of what a policy may make grow.
    #[inline]
    pub fn charge_memory(&mut self, what: &str, bytes: u64) -> Option<()> {
        match self.memory().charge(what, bytes) {
            Ok(()) => Some(()),
            Err(error) => self.out_of_memory(&error),
        }
    }

    /// Ends the call because something cannot grow any more.
    #[cold]
    pub fn out_of_memory<T>(&mut self, error: &MemoryError) -> Option<T> {
        self.fail(format!("takes too much memory: {error}"))
    }

    /// Where `len` bytes are that the host function may read or write on the program's behalf: below [`MEMORY_SIZE`], as
    /// machine code masks addresses. Of machine code only what is long is looked at, which takes the host's time and
    /// memory.
    #[inline(always)]
    pub(crate) fn range(&mut self, addr: u64, len: u64, write: bool) -> Option<u64> {
        if len > FREE_BYTES || self.vm().checked {
            self.look_at_range(addr, len, write)?;
        }
        Some(addr % MEMORY_SIZE)
    }

    fn look_at_range(&mut self, addr: u64, len: u64, write: bool) -> Option<()> {
        if len > 0 && !self.memory().allows(addr, len, write) {
            return self.refuse(addr, len, write);
        }
        self.charge_bytes(len)
    }

    #[cold]
    fn refuse<T>(&mut self, addr: u64, len: u64, write: bool) -> Option<T> {
        let kind = match self.memory().check(addr, len, write) {
            Err(AccessError::ReadOnly(what)) => FaultKind::ReadOnly { len, what },
            Err(AccessError::Overrun(what)) => FaultKind::Overrun { write, len, what },
            _ => FaultKind::Outside { write, len, address: addr },
        };
        self.raise(kind)
    }

    /// Bytes that the program lets the host read.
    #[inline]
    pub fn readable(&mut self, address: u64, len: u64) -> Option<Readable> {
        let address = self.range(address, len, false)?;
        Some(Readable { address, len })
    }

    /// Bytes that the program lets the host write.
    #[inline]
    pub fn writable(&mut self, address: u64, len: u64) -> Option<Writable> {
        let address = self.range(address, len, true)?;
        Some(Writable { address, len })
    }

    /// Text of at most `limit` bytes, as far as it may be read.
    pub fn text(&mut self, at: Pointer, limit: u64) -> Option<String> {
        let (address, limit) = (at.0, limit.min(TEXT_MAX));
        let readable = self.memory().readable_len(address, limit);
        if readable == 0 && limit > 0 {
            return self.refuse(address, 1, false);
        }
        let text = self.memory().read_text(address, readable as usize);
        self.charge_bytes(text.len() as u64)?;
        Some(text)
    }

    /// `len` bytes of the stack that is in use.
    #[inline]
    pub(crate) fn stack(&mut self, address: u64, len: u64) -> Option<()> {
        let ctx = self.ctx();
        let is_inside = address.checked_sub(ctx.stack_top).is_some_and(|at| at + len <= ctx.stack_end - ctx.stack_top);
        match is_inside && address.is_multiple_of(8) {
            true => Some(()),
            false => self.fail(format!("keeps an iterator or dynptr at {address:#x}, which is not on its stack")),
        }
    }

    /// The field that only host functions may touch at an address.
    pub(crate) fn field(&mut self, address: u64, what: &'static str) -> Option<FieldKind> {
        match self.vm().field_at(address) {
            Some(kind) => Some(kind),
            None => self.fail(format!("passes {address:#x} as a {what}, which it is not")),
        }
    }

    /// Holds something that has to be given back before the call ends.
    #[inline]
    pub(crate) fn hold(&mut self, address: u64, held: Held) -> Option<u64> {
        let ctx = self.ctx_mut();
        ctx.locks += u32::from(matches!(held, Held::Lock(_)));
        let position = ctx.position;
        match self.vm().references.add(address, held, position) {
            true => Some(address),
            false => self.fail("holds too many references at a time"),
        }
    }

    /// Gives up what is held.
    pub(crate) fn give_up(&mut self, address: u64, what: &str, is: impl Fn(&Held) -> bool) -> Option<Held> {
        self.charge_references()?;
        match self.vm().references.take(address, is) {
            Some(held) => {
                self.ctx_mut().locks -= u32::from(matches!(held, Held::Lock(_)));
                Some(held)
            }
            None => self.fail(format!("gives back {address:#x} as a {what}, which it does not hold")),
        }
    }

    /// Takes what it costs to look through what is held; a few references are free.
    #[inline]
    pub(crate) fn charge_references(&mut self) -> Option<()> {
        let held = self.vm().references.len() as u64;
        if held < REFERENCES_PER_STEP { Some(()) } else { self.charge(held / REFERENCES_PER_STEP) }
    }

    /// How many locks the program holds.
    pub(crate) fn locks(&self) -> u32 {
        self.ctx().locks
    }

    /// The program enters a section.
    pub(crate) fn enter_section(&mut self, section: Section) -> Option<u64> {
        let ctx = self.ctx_mut();
        ctx.sections.0 += section.one();
        ctx.section_at = ctx.position;
        Some(0)
    }

    /// The program leaves a section.
    pub(crate) fn leave_section(&mut self, section: Section) -> Option<u64> {
        let ctx = self.ctx_mut();
        if !ctx.sections.has(section) {
            let [enter, leave] = section.calls();
            return self.fail(format!("calls {leave} without a {enter} before it"));
        }
        ctx.sections.0 -= section.one();
        Some(0)
    }

    /// Ends the call if it is where a function may not be called that may sleep.
    pub fn may_sleep(&mut self, function: &str) -> Option<()> {
        let is_state = |held: &Held| held.calls().is_some();
        let calls = self.ctx().sections.any().map(Section::calls);
        match calls.or_else(|| self.vm().references.last(is_state)?.1.calls()) {
            None => Some(()),
            Some([enter, leave]) => {
                self.fail(format!("calls {function}, which may sleep, between {enter} and {leave}"))
            }
        }
    }

    /// The program now holds a reference to a kernel object of a type. Gives its address.
    #[inline]
    pub fn acquire(&mut self, address: u64, type_name: &'static str) -> Option<u64> {
        self.hold(address, Held::Kernel(type_name))
    }

    /// The program gives back a reference that it holds.
    pub fn release(&mut self, address: u64, type_name: &'static str) -> Option<()> {
        self.give_up(address, type_name, |held| *held == Held::Kernel(type_name)).map(|_| ())
    }

    /// Notes an iterator of the host's in a structure on the program's stack; `handle` is what the host finds it by.
    pub fn open_iterator(&mut self, address: u64, name: &'static str, handle: u64) -> Option<()> {
        self.open(address, Held::Iterator(name, handle))
    }

    /// Holds an iterator, where there is none yet.
    pub(crate) fn open(&mut self, address: u64, iterator: Held) -> Option<()> {
        self.charge_references()?;
        if self.vm().references.find(address, |held| matches!(held, Held::Bits(_) | Held::Iterator(..))).is_some() {
            return self.fail(format!("makes an iterator at {address:#x}, where one has not ended"));
        }
        self.hold(address, iterator).map(|_| ())
    }

    /// The handle of an iterator that was noted.
    #[inline]
    pub fn iterator(&mut self, address: u64, name: &'static str) -> Option<u64> {
        self.charge_references()?;
        match self.vm().references.find(address, |held| matches!(held, Held::Iterator(of, _) if *of == name)) {
            Some(Held::Iterator(_, handle)) => Some(*handle),
            _ => self.fail(format!("uses {address:#x} as a {name}, which was not made there")),
        }
    }

    /// The handle of an iterator that ends.
    pub fn close_iterator(&mut self, address: u64, name: &'static str) -> Option<u64> {
        let is = |held: &Held| matches!(held, Held::Iterator(of, _) if *of == name);
        match self.give_up(address, name, is) {
            Some(Held::Iterator(_, handle)) => Some(handle),
            _ => None,
        }
    }

    /// How much the program holds, to be forgotten later.
    pub fn held(&mut self) -> usize {
        self.vm().references.len()
    }

    /// Forgets what the program got since then.
    pub fn forget_held(&mut self, held: usize) {
        self.vm().references.truncate(held);
    }

    /// Calls a function of the program back.
    pub(crate) fn call_back(&mut self, callback: Callback, args: [u64; 5]) -> Option<u64> {
        // SAFETY: the promise of `guard`; no reference to the machine is alive, as each would be borrowed from `self`.
        let result = unsafe { VmState::call_back(self.ctx, callback.handle, args) };
        (!self.has_failed()).then_some(result)
    }

    /// Lets `run` use `len` bytes of the stack.
    pub(crate) fn with_scratch<T>(&mut self, len: u64, run: impl FnOnce(&mut Self, u64) -> Option<T>) -> Option<T> {
        let ctx = self.ctx_mut();
        let (top, len) = (ctx.stack_top, len.next_multiple_of(8));
        if len > top - ctx.stack_start {
            return self.raise(FaultKind::StackOverflow);
        }
        ctx.stack_top = top - len;
        let result = run(self, top - len);
        self.ctx_mut().stack_top = top;
        result
    }

    /// The key of a map in the program's memory.
    #[inline]
    pub(crate) fn key(&mut self, map: MapId, at: Pointer) -> Option<Key> {
        let len = u64::from(self.vm().maps[map.index()].key_size);
        self.range(at.0, len, false)?;
        let mut key = Key::of_len(len as usize);
        self.memory().read_bytes(at.0, key.bytes_mut());
        Some(key)
    }
}

impl Check<'_> {
    /// The object of the program's own around an address.
    pub(crate) fn own_object(&mut self, address: u64) -> Option<Own> {
        let VmState { memory, heap, .. } = self.vm();
        let base = memory.element(address).filter(|(content, _)| *content == Content::Objects).map(|(_, base)| base);
        match base.and_then(|base| Some(Own { base, ty: heap.type_of(base)? })) {
            Some(own) => Some(own),
            None => self.fail(format!("passes {address:#x} as a local object, which it is not")),
        }
    }
}
