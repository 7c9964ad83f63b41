//! The program's identity and place, and what it asks for itself: threads, priorities, limits.

use super::{Outcome, Result, error, go_on, value};
use crate::allowance::MEMORY_BYTES;
use crate::process::Errno;
use crate::supervisor::{PID, Supervisor};
use crate::sys;

/// Bytes of a field of `struct utsname`.
const NAME_BYTES: usize = 65;
/// What a clone must have to be a thread.
const THREAD: u64 = (libc::CLONE_THREAD | libc::CLONE_VM) as u64;

pub fn answer(with: &mut Supervisor, thread: usize, number: libc::c_long, args: [u64; 6]) -> Option<Result> {
    Some(match number {
        libc::SYS_getpid => value(PID),
        libc::SYS_gettid => value(PID + with.thread(thread).number),
        libc::SYS_set_tid_address => {
            with.thread(thread).clears = args[0];
            value(PID + with.thread(thread).number)
        }
        libc::SYS_getppid | libc::SYS_getsid | libc::SYS_getpgrp | libc::SYS_getpgid => value(1),
        libc::SYS_getuid | libc::SYS_geteuid | libc::SYS_getgid | libc::SYS_getegid => value(0),
        libc::SYS_uname => name(with, args[0]),
        libc::SYS_sysinfo => system_info(with, args[0]),
        libc::SYS_getrandom => random(with, args[0], args[1]),
        libc::SYS_getcpu => cpu(with, thread, args),
        libc::SYS_sched_getaffinity => cpus(with, thread, args),
        libc::SYS_sched_setaffinity => set_cpus(with, thread, args),
        libc::SYS_sched_getscheduler => value(0),
        libc::SYS_getpriority => value(20),
        libc::SYS_prlimit64 if args[2] == 0 => own_limit(with, args),
        libc::SYS_getrlimit => go_on(),
        libc::SYS_getrusage => go_on(),
        // What it asks for is granted, and means nothing here.
        libc::SYS_prlimit64
        | libc::SYS_setrlimit
        | libc::SYS_sched_setscheduler
        | libc::SYS_sched_setparam
        | libc::SYS_sched_setattr
        | libc::SYS_setpriority
        | libc::SYS_mlockall
        | libc::SYS_mlock
        | libc::SYS_munlockall
        | libc::SYS_set_robust_list
        | libc::SYS_seccomp
        | libc::SYS_capset
        | libc::SYS_umask => value(0),
        libc::SYS_capget => capabilities(with, args[1]),
        libc::SYS_prctl => control(args),
        libc::SYS_clone => clone(with, args),
        // The C library makes its threads by clone(2) then, whose flags are no pointer.
        libc::SYS_clone3 => error(libc::ENOSYS),
        libc::SYS_fork | libc::SYS_vfork => refuse(with, "a process of its own", libc::EAGAIN),
        libc::SYS_execve if with.is_first_call() => go_on(),
        libc::SYS_execve | libc::SYS_execveat => refuse(with, "to become another program", libc::EACCES),
        libc::SYS_exit => Ok(Outcome::EndThread),
        libc::SYS_exit_group => go_on(),
        libc::SYS_kill | libc::SYS_tkill | libc::SYS_tgkill => signal(with, number, args),
        libc::SYS_perf_event_open => error(libc::EOPNOTSUPP),
        libc::SYS_setsid | libc::SYS_setpgid => refuse(with, "a session of its own", libc::EPERM),
        _ => return None,
    })
}

fn refuse(with: &mut Supervisor, what: &str, number: i32) -> Result {
    with.refuse(what.into());
    error(number)
}

fn own_limit(with: &mut Supervisor, [pid, what, _, to, ..]: [u64; 6]) -> Result {
    match pid {
        0 => go_on(),
        // By the number that it knows, which the host gave to another process.
        pid if pid == u64::from(PID) => {
            let limits = sys::limits_of(with.process.pid(), what as u32)?;
            let bytes: Vec<u8> = limits.iter().flat_map(|limit| limit.to_le_bytes()).collect();
            with.process.write(to, &bytes)?;
            value(0)
        }
        _ => error(libc::ESRCH),
    }
}

fn clone(with: &mut Supervisor, [flags, _, _, child_word, ..]: [u64; 6]) -> Result {
    if flags & THREAD != THREAD {
        return refuse(with, "a process of its own", libc::EAGAIN);
    }
    let clears = if flags & libc::CLONE_CHILD_CLEARTID as u64 != 0 { child_word } else { 0 };
    Ok(Outcome::Thread { clears })
}

/// Signals go to its own threads alone.
fn signal(with: &mut Supervisor, number: libc::c_long, args: [u64; 6]) -> Result {
    let (target, signal) = match number {
        libc::SYS_tgkill => (args[1], args[2]),
        _ => (args[0], args[1]),
    };
    match with.index_of(i64::from(target as i32)) {
        Some(index) => {
            let tid = with.thread(index).tid;
            sys::tgkill(with.process.pid(), tid, signal as i32)?;
            // One that waits is not to run beside the others: it hears of the signal with its answer.
            with.interrupt(index);
            value(0)
        }
        None => refuse(with, "a signal to another process", libc::ESRCH),
    }
}

fn control(args: [u64; 6]) -> Result {
    match args[0] as i32 {
        libc::PR_SET_NAME | libc::PR_GET_NAME | libc::PR_GET_DUMPABLE => go_on(),
        libc::PR_CAPBSET_READ => value(1),
        // What would take it out of our hands is said to be done; names of its mappings are its own affair.
        _ => value(0),
    }
}

fn capabilities(with: &mut Supervisor, at: u64) -> Result {
    if at != 0 {
        // Two sets of three words: it has all.
        with.process.write(at, &[0xff; 24])?;
    }
    value(0)
}

fn name(with: &mut Supervisor, at: u64) -> Result {
    let mut bytes = Vec::new();
    for field in ["Linux", "schedlab", &with.command.release, "#1", "x86_64", "(none)"] {
        let start = bytes.len();
        bytes.extend_from_slice(&field.as_bytes()[..field.len().min(NAME_BYTES - 1)]);
        bytes.resize(start + NAME_BYTES, 0);
    }
    with.process.write(at, &bytes)?;
    value(0)
}

fn system_info(with: &mut Supervisor, at: u64) -> Result {
    // uptime, three loads, total, free, shared, buffers, swap total, swap free, processes, high total, high free, unit.
    let mut words = [0u64; 14];
    (words[0], words[4], words[5]) = (with.clock.now_ns / 1_000_000_000, MEMORY_BYTES, MEMORY_BYTES / 2);
    words[10] = 1;
    words[13] = 1;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    with.process.write(at, &bytes)?;
    value(0)
}

fn random(with: &mut Supervisor, at: u64, len: u64) -> Result {
    let len = len.min(1 << 16) as usize;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&with.draw().to_le_bytes());
    }
    with.process.write(at, &bytes[..len])?;
    value(len as i64)
}

fn cpu(with: &mut Supervisor, thread: usize, [cpu, node, ..]: [u64; 6]) -> Result {
    let on = with.cpu_of(thread);
    for (at, word) in [(cpu, on), (node, 0)] {
        if at != 0 {
            with.process.write(at, &word.to_le_bytes())?;
        }
    }
    value(0)
}

/// The index of the thread that a call about a thread means; 0 is the caller.
fn meant(with: &mut Supervisor, caller: usize, number: u64) -> std::result::Result<usize, Errno> {
    match number as i32 {
        0 => Ok(caller),
        number => with.index_of(i64::from(number)).ok_or(Errno(libc::ESRCH)),
    }
}

fn cpus(with: &mut Supervisor, caller: usize, [number, len, at, ..]: [u64; 6]) -> Result {
    let thread = meant(with, caller, number)?;
    let cpus = with.command.cpus as usize;
    let needed = cpus.div_ceil(64) * 8;
    if (len as usize) < needed {
        return error(libc::EINVAL);
    }
    let all = || {
        let mut bytes = vec![0u8; needed];
        (0..cpus).for_each(|cpu| bytes[cpu / 8] |= 1 << (cpu % 8));
        bytes
    };
    let bytes = with.thread(thread).cpus.clone().unwrap_or_else(all);
    with.process.write(at, &bytes)?;
    value(needed as i64)
}

fn set_cpus(with: &mut Supervisor, caller: usize, [number, len, at, ..]: [u64; 6]) -> Result {
    let thread = meant(with, caller, number)?;
    let cpus = with.command.cpus as usize;
    let asked = with.process.read_vec(at, (len as usize).min(1024))?;
    let mut bytes = vec![0u8; cpus.div_ceil(64) * 8];
    let is_asked = |cpu: &usize| asked.get(cpu / 8).is_some_and(|byte| byte >> (cpu % 8) & 1 == 1);
    (0..cpus).filter(is_asked).for_each(|cpu| bytes[cpu / 8] |= 1 << (cpu % 8));
    if bytes.iter().all(|&byte| byte == 0) {
        return error(libc::EINVAL);
    }
    with.thread(thread).cpus = Some(bytes);
    value(0)
}
