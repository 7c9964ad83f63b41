//! A virtual machine whose programs are called with a host.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Deref;

use crate::context::Moment;
use crate::fault::Fault;
use crate::memory::MemoryError;
use crate::program::{MapId, ProgramId};
use crate::timers::TimerRequest;
use crate::vm::{Released, VmState};

/// A loaded program, called with a host `H`: what its kernel functions work on.
///
/// What can be asked without changing anything is that of [`VmState`].
#[derive(Debug)]
pub struct Vm<H> {
    state: VmState,
    host: PhantomData<fn(&mut H)>,
}

impl<H> Deref for Vm<H> {
    type Target = VmState;

    #[inline]
    fn deref(&self) -> &VmState {
        &self.state
    }
}

impl<H> Vm<H> {
    /// A machine whose kernel functions are all of this host.
    pub(crate) fn new(state: VmState) -> Vm<H> {
        Vm { state, host: PhantomData }
    }

    pub(crate) fn state_mut(&mut self) -> &mut VmState {
        &mut self.state
    }

    /// When and where the next call runs.
    #[inline]
    pub fn moment(&mut self) -> &mut Moment {
        &mut self.state.context.moment
    }

    /// From now on the interpreter marks the source lines that it executes.
    pub fn observe_lines(&mut self) {
        self.state.observe_lines();
    }

    /// The source lines of the program, each with whether it was executed.
    pub fn coverage(&self) -> crate::Coverage {
        self.state.coverage()
    }

    /// Sets how many instructions one call may execute.
    pub fn limit_instructions(&mut self, limit: u32) {
        self.state.instruction_limit = i64::from(limit);
    }

    /// Calls an entry: `args` become the array of words that r1 points at.
    #[inline(always)]
    pub fn call<const N: usize>(
        &mut self,
        program: ProgramId,
        args: [u64; N],
        host: &mut H,
    ) -> Result<u64, Box<Fault>> {
        // SAFETY: the host is exclusively ours, and no part of the machine.
        unsafe { self.state.call(program, args, (&raw mut *host).cast::<c_void>()) }
    }

    /// Runs the callback of a timer that expired. Nothing happens if it was cancelled or its value is gone.
    pub fn fire_timer(&mut self, timer: u64, host: &mut H) -> Result<(), Box<Fault>> {
        // SAFETY: as above.
        unsafe { self.state.fire_timer(timer, (&raw mut *host).cast::<c_void>()) }
    }

    /// Guest address of the value of a key, in a per-CPU map the one of CPU 0.
    pub fn map_value(&mut self, map: MapId, key: &[u8]) -> Option<u64> {
        self.map_value_on(map, key, 0)
    }

    /// Guest address of the value of a key on a CPU.
    pub fn map_value_on(&mut self, map: MapId, key: &[u8], cpu: u32) -> Option<u64> {
        self.state.map_value_on(map, key, cpu)
    }

    /// As [`storage_value`](VmState::storage_value); a missing one is created, zeroed.
    pub fn storage_value_or_create(&mut self, map: MapId, owner: u64) -> Result<Option<u64>, MemoryError> {
        self.state.storage_value_or_create(map, owner)
    }

    /// Frees the values of a task or cgroup that ends, in all storage maps.
    pub fn release_owner(&mut self, owner: u64) {
        self.state.release_owner(owner);
    }

    /// What programs asked of timers since the host last took it; take it after each call.
    pub fn take_timer_requests(&mut self) -> Vec<TimerRequest> {
        self.state.take_timer_requests()
    }

    /// Lines that programs printed with `bpf_printk` and the like since the host last took them.
    pub fn take_printed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.state.printed)
    }

    /// Kernel objects that map values held when they went away, since the host last took them.
    pub fn take_released(&mut self) -> Vec<Released> {
        std::mem::take(&mut self.state.released)
    }

    /// Keeps the records of a ring buffer from now on, to be taken with [`take_records`](Self::take_records).
    pub fn keep_records(&mut self, map: MapId) {
        self.state.keep_records(map);
    }

    /// The records of a ring buffer since the last time.
    pub fn take_records(&mut self, map: MapId) -> Vec<Vec<u8>> {
        self.state.take_records(map)
    }
}
