//! Which system calls of a supervised program go to the kernel as they are. All others stop it and come to us.
//!
//! What passes touches the program's own memory and descriptors only, does not wait and says nothing of this machine.
//! Memory is mapped without us if it is private and does not grow by itself, as a stack does.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW,
    SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_USER_NOTIF, sock_filter,
};

/// `AUDIT_ARCH_X86_64`, which libc does not name.
const ARCHITECTURE: u32 = 0xc000_003e;
/// Numbers from here on are those of the x32 form.
const X32: u32 = 0x4000_0000;
/// Where `struct seccomp_data` has the number and the architecture.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
/// Where it has the flags of a `mmap`, of whose bits these say which processes see the memory (`MAP_TYPE`).
const MAP_FLAGS_AT: u32 = 16 + 3 * 8;
const MAP_TYPE: u32 = 0xf;

/// What the kernel answers itself.
const PASSED: &[libc::c_long] = &[
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_brk,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_pipe,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_epoll_create1,
    libc::SYS_lseek,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_fstat,
    libc::SYS_ftruncate,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_rseq,
    libc::SYS_arch_prctl,
    libc::SYS_membarrier,
];

/// Where it has the advice of a `madvise`. From here on it is root's, and spoils pages of the machine.
const ADVICE_AT: u32 = 16 + 2 * 8;
const ADVICE_OF_ROOT: u32 = libc::MADV_HWPOISON as u32;

/// The filter as the kernel takes it.
pub fn program() -> Vec<sock_filter> {
    let step =
        |code: u32, jt: usize, jf: usize, k: u32| sock_filter { code: code as u16, jt: jt as u8, jf: jf as u8, k };
    let load = |at| step(BPF_LD | BPF_W | BPF_ABS, 0, 0, at);
    let give = |value| step(BPF_RET | BPF_K, 0, 0, value);
    let mut steps = vec![
        load(ARCHITECTURE_AT),
        step(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE),
        give(SECCOMP_RET_KILL_PROCESS),
        load(NUMBER_AT),
        step(BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32),
        give(SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
    ];
    steps.push(step(BPF_JMP | BPF_JEQ | BPF_K, PASSED.len() + 8, 0, libc::SYS_madvise as u32));
    steps.push(step(BPF_JMP | BPF_JEQ | BPF_K, PASSED.len() + 2, 0, libc::SYS_mmap as u32));
    for (index, number) in PASSED.iter().enumerate() {
        steps.push(step(BPF_JMP | BPF_JEQ | BPF_K, PASSED.len() - index, 0, *number as u32));
    }
    steps.push(give(SECCOMP_RET_USER_NOTIF));
    steps.push(give(SECCOMP_RET_ALLOW));
    steps.extend([
        load(MAP_FLAGS_AT),
        step(BPF_ALU | BPF_AND | BPF_K, 0, 0, MAP_TYPE | libc::MAP_GROWSDOWN as u32),
        step(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, libc::MAP_PRIVATE as u32),
        give(SECCOMP_RET_ALLOW),
        give(SECCOMP_RET_USER_NOTIF),
        load(ADVICE_AT),
        step(BPF_JMP | BPF_JGE | BPF_K, 0, 1, ADVICE_OF_ROOT),
        give(SECCOMP_RET_ERRNO | libc::EPERM as u32),
        give(SECCOMP_RET_ALLOW),
    ]);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel does.
    fn answer(number: u32, architecture: u32, argument: u32) -> u32 {
        let (steps, mut at, mut word) = (program(), 0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = steps[at];
            at += 1;
            match u32::from(code) {
                code if code == BPF_RET | BPF_K => return k,
                code if code == BPF_LD | BPF_W | BPF_ABS => {
                    word = [number, architecture][usize::from(k == ARCHITECTURE_AT)];
                    word = if k == MAP_FLAGS_AT || k == ADVICE_AT { argument } else { word };
                }
                code if code == BPF_ALU | BPF_AND | BPF_K => word &= k,
                code => {
                    let holds = if code & 0xf0 == BPF_JEQ { word == k } else { word >= k };
                    at += usize::from(if holds { jt } else { jf });
                }
            }
        }
    }

    #[test]
    fn only_what_is_listed_passes() {
        for number in 0..600 {
            let passes = PASSED.contains(&libc::c_long::from(number)) || number == libc::SYS_madvise as u32;
            let wanted = if passes { SECCOMP_RET_ALLOW } else { SECCOMP_RET_USER_NOTIF };
            assert_eq!(answer(number, ARCHITECTURE, 0), wanted, "{number}");
        }
        assert_eq!(answer(libc::SYS_brk as u32, 0x4000_0003, 0), SECCOMP_RET_KILL_PROCESS);
        assert_eq!(answer(X32 | 1, ARCHITECTURE, 0), SECCOMP_RET_ERRNO | libc::ENOSYS as u32);
    }

    #[test]
    fn no_page_of_the_machine_is_spoilt() {
        let advise = |advice: libc::c_int| answer(libc::SYS_madvise as u32, ARCHITECTURE, advice as u32);
        assert_eq!([advise(libc::MADV_DONTNEED), advise(libc::MADV_COLD)], [SECCOMP_RET_ALLOW; 2]);
        assert_eq!([advise(libc::MADV_HWPOISON), advise(101)], [SECCOMP_RET_ERRNO | libc::EPERM as u32; 2]);
    }

    #[test]
    fn only_private_memory_is_mapped_without_a_question() {
        let map = |flags: libc::c_int| answer(libc::SYS_mmap as u32, ARCHITECTURE, flags as u32);
        let (private, shared) = (libc::MAP_PRIVATE, libc::MAP_SHARED);
        for with in [0, libc::MAP_ANONYMOUS, libc::MAP_FIXED | libc::MAP_NORESERVE] {
            assert_eq!(map(private | with), SECCOMP_RET_ALLOW);
            assert_eq!([map(shared | with), map(libc::MAP_SHARED_VALIDATE | with)], [SECCOMP_RET_USER_NOTIF; 2]);
            assert_eq!(map(private | libc::MAP_GROWSDOWN | with), SECCOMP_RET_USER_NOTIF);
        }
    }
}
