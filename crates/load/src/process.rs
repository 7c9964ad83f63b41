//! Processes and signals: dying together, ending sleeps, burying the dead.

use std::collections::HashMap;

/// The signal that ends sleeps; its handler does nothing.
const NUDGE: libc::c_int = libc::SIGUSR1;

/// Asks the kernel to kill the calling process when its parent dies, and sees that it has not died already.
pub fn die_with(parent: i32) {
    // SAFETY: plain numbers.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(0);
        }
    }
}

/// As [`die_with`], for one that leads a process group: the whole group is killed. A child need not ask for that itself,
/// and cannot: the signal comes when the *thread* dies that forked it, which may have ended long before.
pub fn die_with_group(parent: i32) {
    // SAFETY: the handler only makes a system call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = kill_group as *const () as usize;
        libc::sigaction(libc::SIGTERM, &action, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        if libc::getppid() != parent {
            kill_group(libc::SIGTERM);
        }
    }
}

extern "C" fn kill_group(_: libc::c_int) {
    // SAFETY: plain numbers.
    unsafe { libc::kill(0, libc::SIGKILL) };
}

extern "C" fn nothing(_: libc::c_int) {}

/// Makes [`nudge`] harmless.
pub fn install_nudge() {
    // SAFETY: a handler that does nothing, without SA_RESTART, so that sleeping calls end.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        libc::sigaction(NUDGE, &action, std::ptr::null_mut());
    }
}

/// Ends a sleeping call of a thread of ours.
pub fn nudge(pid: i32, tid: i32) {
    // SAFETY: a signal whose handler does nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, NUDGE) };
}

/// Lets all threads that come share one heap. Each heap is memory that every new process gets a copy of, and how many there
/// are would depend on which threads have allocated something.
pub fn share_heap() {
    // SAFETY: plain numbers; no other thread is there yet.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Waits for a process of ours that has nothing left to do but to leave.
pub fn bury(pid: i32) {
    let mut status = 0;
    // SAFETY: our own child.
    unsafe { libc::waitpid(pid, &mut status, 0) };
}

/// Waits for all processes of ours, which have nothing left to do but to leave: the number of each, and its CPU time from its
/// begin to its end with that of the processes for which it waited.
pub fn bury_all() -> HashMap<i32, u64> {
    let mut buried = HashMap::new();
    loop {
        let mut status = 0;
        // SAFETY: our own children; the kernel fills the structure that it is given.
        let (pid, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(-1, &mut status, 0, &mut usage), usage)
        };
        if pid <= 0 {
            return buried;
        }
        buried.insert(pid, cpu_ns(&usage));
    }
}

fn cpu_ns(usage: &libc::rusage) -> u64 {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

/// Kills a process of ours; whether it could be.
pub fn kill(pid: i32) -> bool {
    // SAFETY: plain numbers.
    unsafe { libc::kill(pid, libc::SIGKILL) == 0 }
}
