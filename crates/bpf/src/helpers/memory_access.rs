//! Helpers that read and write memory.

use crate::call::{Call, host_functions};
use crate::maps::errno;

/// Bytes of a `bpf_dynptr`: here the address and the number of bytes that it stands for.
const DYNPTR_SIZE: u64 = 16;

host_functions! {
    /// `bpf_probe_read_kernel(dst, size, src)`: copies, or clears and fails when the source is not readable.
    fn probe_read(call, to, len, from) {
        if !call.check(to, len, true) {
            return 0;
        }
        if call.memory().readable(from, len) {
            call.memory().copy(from, to, len as usize);
            return 0;
        }
        call.memory().zero(to, len as usize);
        errno::EFAULT as u64
    }

    /// `bpf_probe_read_kernel_str(dst, size, src)`: copies text with its final zero; gives the number of bytes.
    fn probe_read_text(call, to, len, from) {
        if !call.check(to, len, true) {
            return 0;
        }
        if len == 0 || !call.memory().readable(from, 1) {
            call.memory().zero(to, len as usize);
            return errno::EFAULT as u64;
        }
        for at in 0..len - 1 {
            let byte: u8 = call.memory().read(from + at);
            call.memory().write(to + at, byte);
            if byte == 0 {
                return at + 1;
            }
        }
        call.memory().write(to + len - 1, 0u8);
        len
    }

    /// `bpf_probe_read_user` and its kin: simulated tasks have no memory of their own.
    fn probe_read_user(call, to, len) {
        if call.check(to, len, true) {
            call.memory().zero(to, len as usize);
        }
        errno::EFAULT as u64
    }

    /// `bpf_per_cpu_ptr(variable, cpu)`.
    fn per_cpu_ptr(call, address, cpu) {
        match u32::try_from(cpu) {
            Ok(cpu) => per_cpu_address(call, address, cpu),
            Err(_) => 0,
        }
    }

    /// `bpf_this_cpu_ptr(variable)`.
    fn this_cpu_ptr(call, address) {
        per_cpu_address(call, address, call.cpu())
    }

    /// `bpf_kptr_xchg(place, object)`: puts a pointer into a map value and gives the one that was there.
    fn exchange_pointer(call, place, object) {
        if !call.check(place, 8, true) {
            return 0;
        }
        let old: u64 = call.memory().read(place);
        call.memory().write(place, object);
        old
    }

    /// `bpf_dynptr_from_mem(data, size, flags, dynptr)`.
    fn dynptr_from_memory(call, data, len, flags, dynptr) {
        if !call.check(data, len, true) || !call.check(dynptr, DYNPTR_SIZE, true) {
            return 0;
        }
        call.memory().write(dynptr, data);
        call.memory().write(dynptr + 8, len);
        0
    }

    /// `bpf_dynptr_read(dst, len, dynptr, offset, flags)`.
    fn dynptr_read(call, to, len, dynptr, offset) {
        match dynptr_part(call, dynptr, offset, len) {
            Some(from) if call.check(to, len, true) => {
                call.memory().copy(from, to, len as usize);
                0
            }
            _ => errno::E2BIG as u64,
        }
    }

    /// `bpf_dynptr_write(dynptr, offset, src, len, flags)`.
    fn dynptr_write(call, dynptr, offset, from, len) {
        match dynptr_part(call, dynptr, offset, len) {
            Some(to) if call.check(from, len, false) => {
                call.memory().copy(from, to, len as usize);
                0
            }
            _ => errno::E2BIG as u64,
        }
    }

    /// `bpf_dynptr_data(dynptr, offset, len)`.
    fn dynptr_data(call, dynptr, offset, len) {
        dynptr_part(call, dynptr, offset, len).unwrap_or(0)
    }
}

/// The address of a CPU's copy of a per-CPU variable or object; NULL for a CPU that is not there. What is not per-CPU
/// stays.
pub fn per_cpu_address(call: Call, address: u64, cpu: u32) -> u64 {
    let vm = call.vm();
    if cpu >= vm.cpus || address == 0 {
        return 0;
    }
    let variable = vm.per_cpu.range(..=address).next_back();
    let variable = variable.filter(|&(&start, &stride)| address < start + u64::from(stride)).map(|(_, &stride)| stride);
    let stride = variable.or_else(|| vm.heap.cpu_stride(address)).unwrap_or(0);
    address + u64::from(cpu) * u64::from(stride)
}

fn dynptr_part(call: Call, dynptr: u64, offset: u64, len: u64) -> Option<u64> {
    if !call.check(dynptr, DYNPTR_SIZE, false) {
        return None;
    }
    let (data, size): (u64, u64) = (call.memory().read(dynptr), call.memory().read(dynptr + 8));
    let fits = data != 0 && offset.checked_add(len).is_some_and(|end| end <= size);
    fits.then(|| data + offset)
}
