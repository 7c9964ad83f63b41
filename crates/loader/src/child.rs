//! The process of a program, from its fork to its first instruction.

use crate::allowance::{ADDRESS_BYTES, FILE_BYTES, MEMORY_BYTES};
use crate::filter;
use crate::sys;
use libc::{c_char, c_int, c_long, pid_t};
use std::ffi::{CString, OsStr};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

/// `ADDR_NO_RANDOMIZE`: the same program has the same addresses.
const NO_RANDOM_ADDRESSES: libc::c_ulong = 0x0004_0000;
/// Bytes of its first thread's stack.
const STACK_BYTES: u64 = 8 << 20;
/// `SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV`, which libc does not name.
const WAIT_KILLABLE: libc::c_ulong = 1 << 5;
/// What a child ends with that could not begin.
const NOT_BEGUN: c_int = 127;

/// A process that is about to run a program, and where its system calls come to us.
pub struct Child {
    pub pid: pid_t,
    pub process: OwnedFd,
    pub listener: OwnedFd,
}

/// The words of a command with their ends, and pointers to them, as `execve` takes them.
struct Words {
    pointers: Vec<*const c_char>,
    _words: Vec<CString>,
}

impl Words {
    fn new<'a>(words: impl Iterator<Item = &'a OsStr>) -> io::Result<Words> {
        let words: Vec<CString> = words.map(|word| CString::new(word.as_bytes())).collect::<Result<_, _>>()?;
        let pointers = words.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect();
        Ok(Words { pointers, _words: words })
    }
}

/// Starts `words[0]` with the rest as arguments. What it prints goes into `output`.
pub fn start(words: &[impl AsRef<OsStr>], environment: &[&str], output: &OwnedFd) -> io::Result<Child> {
    let arguments = Words::new(words.iter().map(AsRef::as_ref))?;
    let environment = Words::new(environment.iter().map(|entry| OsStr::new(*entry)))?;
    let steps = filter::program();
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_ptr().cast_mut() };
    let nothing = std::fs::File::open("/dev/null")?;
    let (mut from_child, to_parent) = io::pipe()?;
    let parent = std::process::id() as pid_t;
    // SAFETY: the child calls nothing but the kernel before it becomes another program.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let fds = [nothing.as_raw_fd(), output.as_raw_fd(), to_parent.as_raw_fd()];
        // SAFETY: this is the child of the fork; what the pointers lead to was made before.
        unsafe { become_program(parent, fds, &filter, &arguments.pointers, &environment.pointers) }
    }
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    drop(to_parent);
    let mut told = [0; 4];
    let heard = from_child.read_exact(&mut told);
    let begun = heard.and_then(|()| {
        let number = RawFd::from_ne_bytes(told);
        if number < 0 {
            return Err(io::Error::from_raw_os_error(-number));
        }
        let process = sys::pidfd_open(pid)?;
        let listener = sys::pidfd_getfd(process.as_fd(), number)?;
        Ok(Child { pid, process, listener })
    });
    begun.inspect_err(|_| {
        // SAFETY: it is our own child, not reaped yet.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        let _ = sys::wait(pid);
    })
}

/// Makes a forked process one that is supervised, and turns it into the program.
///
/// # Safety
/// Only for the child of a fork. It calls nothing that takes locks or memory.
unsafe fn become_program(
    parent: pid_t,
    [input, output, line]: [RawFd; 3],
    filter: &libc::sock_fprog,
    words: &[*const c_char],
    environment: &[*const c_char],
) -> ! {
    // SAFETY: system calls with numbers, and pointers to what the parent made before the fork.
    unsafe {
        let end = |error: c_int| -> ! {
            let told = (-error).to_ne_bytes();
            libc::write(line, told.as_ptr().cast(), told.len());
            libc::_exit(NOT_BEGUN)
        };
        let must = |result: c_long| if result < 0 { end(*libc::__errno_location()) } else { result as c_int };
        // It ends with us, also if we are killed.
        must(c_long::from(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)));
        if libc::getppid() != parent {
            libc::_exit(NOT_BEGUN);
        }
        libc::setsid();
        libc::personality(NO_RANDOM_ADDRESSES);
        limit(libc::RLIMIT_DATA, MEMORY_BYTES);
        limit(libc::RLIMIT_AS, ADDRESS_BYTES);
        limit(libc::RLIMIT_FSIZE, FILE_BYTES);
        limit(libc::RLIMIT_STACK, STACK_BYTES);
        limit(libc::RLIMIT_CORE, 0);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        must(c_long::from(libc::dup2(input, 0)));
        must(c_long::from(libc::dup2(output, 1)));
        must(c_long::from(libc::dup2(output, 2)));
        // The line to the parent is 3, what comes behind it is closed: the program gets nothing of ours.
        must(c_long::from(libc::dup2(line, 3)));
        must(libc::syscall(libc::SYS_close_range, 4, c_int::MAX, 0));
        libc::fcntl(3, libc::F_SETFD, libc::FD_CLOEXEC);
        let line = 3;
        must(c_long::from(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)));
        // A thread whose call we answer is not to run meanwhile, whatever signal comes: Linux 5.19 promises that.
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        let filtered = |flags: libc::c_ulong| {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const *filter)
        };
        let mut listener = filtered(flags | WAIT_KILLABLE);
        if listener < 0 {
            listener = filtered(flags);
        }
        let end = |error: c_int| -> ! {
            let told = (-error).to_ne_bytes();
            libc::write(line, told.as_ptr().cast(), told.len());
            libc::_exit(NOT_BEGUN)
        };
        if listener < 0 {
            end(*libc::__errno_location());
        }
        let told = (listener as c_int).to_ne_bytes();
        libc::write(line, told.as_ptr().cast(), told.len());
        // The first call that the supervisor sees.
        libc::execve(words[0], words.as_ptr(), environment.as_ptr());
        libc::_exit(NOT_BEGUN)
    }
}

/// # Safety
/// As for [`become_program`].
unsafe fn limit(what: libc::__rlimit_resource_t, most: u64) {
    let both = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the kernel reads two numbers.
    unsafe { libc::setrlimit(what, &raw const both) };
}

impl Child {
    /// Ends it and waits until it is gone.
    pub fn end(&self) -> io::Result<sys::End> {
        let _ = sys::pidfd_kill(self.process.as_fd(), libc::SIGKILL);
        sys::wait(self.pid)
    }
}
