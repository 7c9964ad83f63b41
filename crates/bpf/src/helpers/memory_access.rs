//! Helpers that read and write memory.

use crate::arguments::{OnStack, Pointer, Readable, Writable, host_functions};
use crate::check::Check;
use crate::fields::FieldKind;
use crate::maps::errno;
use crate::references::Held;
use crate::stored::Owned;
use crate::vm::VmState;

/// Bytes of a `bpf_dynptr`. What it stands for is on the host's side; in it are the address and the number of bytes, so
/// that one sees when a program has written over it.
const DYNPTR_SIZE: u64 = 16;
/// The most bytes that a dynptr covers.
const DYNPTR_MAX: u64 = (1 << 24) - 1;

host_functions! {
    /// `bpf_probe_read_kernel(dst, size, src)`: copies, or clears and fails when the source is not readable.
    fn probe_read(call, to: Writable, from: u64) {
        if call.memory().readable(from, to.len) {
            call.memory().copy(from, to.address, to.len as usize);
            return Some(0);
        }
        to.clear(call);
        Some(errno::EFAULT as u64)
    }

    /// `bpf_probe_read_kernel_str(dst, size, src)`: copies text with its final zero; gives the number of bytes.
    fn probe_read_text(call, to: Writable, from: u64) {
        let readable = call.memory().readable_len(from, to.len);
        if readable == 0 {
            to.clear(call);
            return Some(errno::EFAULT as u64);
        }
        let len = call.memory().text_len(from, readable as usize).min(to.len as usize - 1);
        call.memory().copy(from, to.address, len);
        call.memory().write(to.address + len as u64, 0u8);
        Some(len as u64 + 1)
    }

    /// `bpf_probe_read_user` and its kin: simulated tasks have no memory of their own.
    fn probe_read_user(call, to: Writable) {
        to.clear(call);
        Some(errno::EFAULT as u64)
    }

    /// `bpf_per_cpu_ptr(variable, cpu)`.
    fn per_cpu_ptr(call, address: u64, cpu: u64) {
        Some(u32::try_from(cpu).map_or(0, |cpu| per_cpu_address(call, address, cpu)))
    }

    /// `bpf_this_cpu_ptr(variable)`.
    fn this_cpu_ptr(call, address: u64) {
        let cpu = call.cpu();
        Some(per_cpu_address(call, address, cpu))
    }

    /// `bpf_kptr_xchg(place, object)`: puts a pointer into a map value and gives the one that was there. What is put in
    /// belongs to the map from now on, what comes out to the program.
    fn exchange_pointer(call, place: Pointer, object: u64) {
        let FieldKind::Pointer(type_name) = call.field(place.0, "place for a pointer")? else {
            return call.fail(format!("passes {:#x} as a place for a pointer, which it is not", place.0));
        };
        call.range(place.0, 8, true)?;
        let owned = match object {
            0 => None,
            object => Some((object, hand_over(call, object, &type_name)?)),
        };
        let found: u64 = call.memory().read(place.0);
        let VmState { stored, memory, .. } = call.vm();
        let old = stored.remove(memory, place.0);
        if found != old.map_or(0, |(object, _)| object) {
            return call.fail(format!("has written over the pointer at {:#x}, which only bpf_kptr_xchg may change", place.0));
        }
        call.memory().write(place.0, object);
        if let Some((object, owned)) = owned {
            let VmState { stored, memory, .. } = call.vm();
            if let Err(error) = stored.insert(memory, place.0, object, owned) {
                return call.out_of_memory(&error);
            }
        }
        match old {
            Some((object, Owned::Kernel(name))) => call.acquire(object, name),
            Some((object, Owned::Object)) => call.hold(object, Held::Object),
            None => Some(0),
        }
    }

    /// `bpf_dynptr_from_mem(data, size, flags, dynptr)`.
    fn dynptr_from_memory(call, data: Writable, flags: u64, dynptr: OnStack<DYNPTR_SIZE>) {
        let at = dynptr.address();
        call.vm().references.forget_dynptrs(at, DYNPTR_SIZE);
        let (data, result) = match (flags, data.len) {
            (0, 0..=DYNPTR_MAX) => (data, 0),
            (0, _) => (Writable { address: 0, len: 0 }, errno::E2BIG),
            _ => (Writable { address: 0, len: 0 }, errno::EINVAL),
        };
        call.memory().write(at, data.address);
        call.memory().write(at + 8, data.len);
        call.hold(at, Held::Dynptr(data.address, data.len))?;
        Some(result as u64)
    }

    /// `bpf_dynptr_read(dst, len, dynptr, offset, flags)`.
    fn dynptr_read(call, to: Writable, dynptr: OnStack<DYNPTR_SIZE>, offset: u64, flags: u64) {
        match dynptr_part(call, dynptr, offset, to.len, false)? {
            Ok(from) if flags == 0 => {
                call.memory().copy(from, to.address, to.len as usize);
                Some(0)
            }
            Ok(_) => Some(errno::EINVAL as u64),
            Err(error) => Some(error as u64),
        }
    }

    /// `bpf_dynptr_write(dynptr, offset, src, len, flags)`.
    fn dynptr_write(call, dynptr: OnStack<DYNPTR_SIZE>, offset: u64, from: Readable, flags: u64) {
        match dynptr_part(call, dynptr, offset, from.len, true)? {
            Ok(to) if flags == 0 => {
                call.memory().copy(from.address, to, from.len as usize);
                Some(0)
            }
            Ok(_) => Some(errno::EINVAL as u64),
            Err(error) => Some(error as u64),
        }
    }

    /// `bpf_dynptr_data(dynptr, offset, len)`.
    fn dynptr_data(call, dynptr: OnStack<DYNPTR_SIZE>, offset: u64, len: u64) {
        Some(dynptr_part(call, dynptr, offset, len, true)?.unwrap_or(0))
    }
}

/// The address of a CPU's copy of a per-CPU variable or object; NULL for a CPU that is not there. What is not per-CPU
/// stays.
pub fn per_cpu_address(call: &mut Check<'_>, address: u64, cpu: u32) -> u64 {
    let vm = call.vm();
    if cpu >= vm.cpus || address == 0 {
        return 0;
    }
    let variable = vm.per_cpu.range(..=address).next_back();
    let variable = variable.filter(|&(&start, &stride)| address < start + u64::from(stride)).map(|(_, &stride)| stride);
    let stride = variable.or_else(|| vm.heap.cpu_stride(address)).unwrap_or(0);
    address + u64::from(cpu) * u64::from(stride)
}

/// Takes a reference to an object of a type from the program.
fn hand_over(call: &mut Check<'_>, object: u64, type_name: &str) -> Option<Owned> {
    let is_meant = |held: &Held, object_type: Option<&str>| match held {
        Held::Kernel(name) => *name == type_name,
        Held::Object => object_type == Some(type_name),
        _ => false,
    };
    let vm = call.vm();
    let object_type = vm.heap.type_of(object).and_then(|ty| vm.local_types.get(ty)).map(|ty| ty.name.clone());
    match call.give_up(object, type_name, |held| is_meant(held, object_type.as_deref()))? {
        Held::Kernel(name) => Some(Owned::Kernel(name)),
        _ => Some(Owned::Object),
    }
}

/// The address of a part of a dynptr's bytes, or an error number.
fn dynptr_part(
    call: &mut Check<'_>,
    dynptr: OnStack<DYNPTR_SIZE>,
    offset: u64,
    len: u64,
    write: bool,
) -> Option<Result<u64, i64>> {
    let at = dynptr.address();
    let found = match call.vm().references.find(at, |held| matches!(held, Held::Dynptr(..))) {
        Some(&mut Held::Dynptr(data, size)) => Some((data, size)),
        _ => None,
    };
    let written = (call.memory().read::<u64>(at), call.memory().read::<u64>(at + 8));
    let Some((data, size)) = found.filter(|found| *found == written) else {
        return call.fail(format!("uses {at:#x} as a dynptr, which was not made there"));
    };
    if data == 0 {
        return Some(Err(errno::EINVAL));
    }
    if offset.checked_add(len).is_none_or(|end| end > size) {
        return Some(Err(errno::E2BIG));
    }
    call.range(data + offset, len, write)?;
    Some(Ok(data + offset))
}
