//! The functions that the kernel maps into a process to tell the time without a call: each is overwritten by the call
//! that it saves, which then comes to us.

use crate::process::Errno;
use libc::{c_long, pid_t};
use object::{Object, ObjectSymbol};
use std::fs;
use std::os::unix::fs::FileExt;

/// The entry of the auxiliary vector with the address of these functions (`AT_SYSINFO_EHDR`).
const ADDRESS: u64 = 33;
/// At most this many bytes are looked at.
const MOST_BYTES: usize = 64 << 10;

/// What is there, and the call that it stands for; none for what there is no call for us to answer.
const FUNCTIONS: [(&str, Option<c_long>); 6] = [
    ("__vdso_clock_gettime", Some(libc::SYS_clock_gettime)),
    ("__vdso_gettimeofday", Some(libc::SYS_gettimeofday)),
    ("__vdso_time", Some(libc::SYS_time)),
    ("__vdso_clock_getres", Some(libc::SYS_clock_getres)),
    ("__vdso_getcpu", Some(libc::SYS_getcpu)),
    ("__vdso_getrandom", None),
];

/// Overwrites them in a process that has just become another program.
pub fn patch(pid: pid_t) -> Result<(), Errno> {
    let Some(base) = address(&fs::read(format!("/proc/{pid}/auxv"))?) else { return Ok(()) };
    let memory = fs::OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
    let mut image = Vec::new();
    while image.len() < MOST_BYTES {
        let mut page = [0; 4096];
        if memory.read_exact_at(&mut page, base + image.len() as u64).is_err() {
            break;
        }
        image.extend_from_slice(&page);
    }
    for (offset, code) in patches(&image) {
        memory.write_all_at(&code, base + offset)?;
    }
    Ok(())
}

fn address(auxiliary: &[u8]) -> Option<u64> {
    let words: Vec<u64> =
        auxiliary.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
    words.chunks_exact(2).find(|pair| pair[0] == ADDRESS).map(|pair| pair[1]).filter(|&at| at != 0)
}

/// What to write where.
fn patches(image: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let Ok(file) = object::File::parse(image) else { return Vec::new() };
    let known = |name: &str| FUNCTIONS.iter().find(|(function, _)| *function == name);
    let found = file.dynamic_symbols().filter_map(|symbol| Some((symbol.address(), known(symbol.name().ok()?)?.1)));
    found.map(|(at, call)| (at, code(call))).collect()
}

fn code(call: Option<c_long>) -> Vec<u8> {
    // mov eax, NUMBER; syscall; ret. Or: mov rax, -ENOSYS; ret.
    match call {
        Some(number) => [&[0xb8][..], &(number as u32).to_le_bytes(), &[0x0f, 0x05, 0xc3]].concat(),
        None => [&[0x48, 0xc7, 0xc0][..], &(-libc::ENOSYS).to_le_bytes(), &[0xc3]].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_of_this_kernel_are_found() {
        let base = address(&fs::read("/proc/self/auxv").unwrap()).unwrap();
        let mut image = vec![0; 8192];
        fs::File::open("/proc/self/mem").unwrap().read_exact_at(&mut image, base).unwrap();
        let found = patches(&image);
        let time = code(Some(libc::SYS_clock_gettime));
        assert!(found.iter().any(|(_, code)| *code == time), "{found:?}");
        assert_eq!(address(&[33u64.to_le_bytes(), 0u64.to_le_bytes()].concat()), None);
        assert_eq!(code(Some(228)), [0xb8, 228, 0, 0, 0, 0x0f, 0x05, 0xc3]);
    }
}
