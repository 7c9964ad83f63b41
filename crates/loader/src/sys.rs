//! The system calls of the supervisor itself, as safe functions.

use libc::{c_int, c_long, pid_t};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// What a supervised thread asked for.
pub type Notification = libc::seccomp_notif;

fn checked(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(result: c_long) -> io::Result<OwnedFd> {
    // SAFETY: the kernel has just made this descriptor for us.
    checked(result).map(|fd| unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// A descriptor of a process that stays valid when its number is used again.
pub fn pidfd_open(pid: pid_t) -> io::Result<OwnedFd> {
    // SAFETY: only numbers are passed.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })
}

/// A copy of a descriptor of another process.
pub fn pidfd_getfd(process: BorrowedFd, fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: only numbers are passed.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) })
}

/// Ends a process.
pub fn pidfd_kill(process: BorrowedFd, signal: c_int) -> io::Result<()> {
    let none: *const libc::siginfo_t = std::ptr::null();
    // SAFETY: no information is passed with the signal.
    checked(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, none, 0) }).map(|_| ())
}

/// Sends a signal to a thread.
pub fn tgkill(pid: pid_t, tid: pid_t, signal: c_int) -> io::Result<()> {
    // SAFETY: only numbers are passed.
    checked(unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, signal) }).map(|_| ())
}

/// A file in memory.
pub fn memory_file(name: &CStr, bytes: &[u8]) -> io::Result<OwnedFd> {
    // SAFETY: the name ends with a zero.
    let file = owned(c_long::from(unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) }))?;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        // SAFETY: the slice has this length.
        let written = unsafe { libc::pwrite(file.as_raw_fd(), rest.as_ptr().cast(), rest.len(), at as i64) };
        at += checked(written as c_long)? as usize;
    }
    Ok(file)
}

/// A file of this many bytes in memory, all zeros, whose length cannot change: it is mapped here.
pub fn object_file(name: &CStr, len: u64) -> io::Result<OwnedFd> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name ends with a zero.
    let file = owned(c_long::from(unsafe { libc::memfd_create(name.as_ptr(), flags) }))?;
    // SAFETY: only numbers are passed.
    checked(c_long::from(unsafe { libc::ftruncate(file.as_raw_fd(), len as i64) }))?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: only numbers are passed.
    checked(c_long::from(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) }))?;
    Ok(file)
}

/// A limit of another process, and how far it may raise it.
pub fn limits_of(pid: pid_t, what: u32) -> io::Result<[u64; 2]> {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes a structure there.
    checked(c_long::from(unsafe { libc::prlimit(pid, what, std::ptr::null(), &raw mut limits) }))?;
    Ok([limits.rlim_cur, limits.rlim_max])
}

/// Which of these are ready, after at most this many milliseconds, or at once.
pub fn poll(fds: &mut [libc::pollfd], timeout_ms: c_int) -> io::Result<usize> {
    // SAFETY: the slice has this length.
    let ready = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout_ms) };
    checked(c_long::from(ready)).map(|ready| ready as usize)
}

/// Takes the next notification.
pub fn receive(listener: BorrowedFd) -> io::Result<Notification> {
    // SAFETY: the structure is plain numbers.
    let mut notification: Notification = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes a notification there.
    checked(c_long::from(unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut notification)
    }))
    .map(|_| notification)
}

/// Answers a notification: a result, an error number, or "do it" (`SECCOMP_USER_NOTIF_FLAG_CONTINUE`).
pub fn answer(listener: BorrowedFd, id: u64, value: i64, error: i32, go_on: bool) -> io::Result<()> {
    let flags = if go_on { libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32 } else { 0 };
    let response = libc::seccomp_notif_resp { id, val: value, error: -error, flags };
    // SAFETY: the kernel reads a response there.
    checked(c_long::from(unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const response)
    }))
    .map(|_| ())
}

/// Puts a descriptor into the process and gives its number there as the result of its call.
pub fn answer_with(listener: BorrowedFd, id: u64, file: BorrowedFd, close_on_exec: bool) -> io::Result<RawFd> {
    let request = libc::seccomp_notif_addfd {
        id,
        flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
        srcfd: file.as_raw_fd() as u32,
        newfd: 0,
        newfd_flags: if close_on_exec { libc::O_CLOEXEC as u32 } else { 0 },
    };
    // SAFETY: the kernel reads a request there.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const request) };
    checked(c_long::from(result)).map(|fd| fd as RawFd)
}

/// Reads memory of another process; gives how many bytes could be read.
pub fn read_memory(pid: pid_t, address: u64, bytes: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes.len() };
    // SAFETY: the local part is ours and as long as it says.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    checked(read as c_long).map(|read| read as usize)
}

/// Writes memory of another process.
pub fn write_memory(pid: pid_t, address: u64, bytes: &[u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes.len() };
    // SAFETY: the local part is ours, as long as it says, and only read.
    let written = unsafe { libc::process_vm_writev(pid, &raw const local, 1, &raw const remote, 1, 0) };
    checked(written as c_long).map(|written| written as usize)
}

/// How a process ended.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// As `waitpid` gives it.
    pub status: c_int,
    /// The most memory that it had at a time.
    pub peak_bytes: u64,
}

/// Waits until a child has ended; gives how.
pub fn wait(pid: pid_t) -> io::Result<End> {
    // SAFETY: a structure of numbers.
    let (mut status, mut usage) = (0, unsafe { std::mem::zeroed::<libc::rusage>() });
    loop {
        // SAFETY: the kernel writes a number and a structure there.
        match checked(c_long::from(unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) })) {
            Ok(_) => return Ok(End { status, peak_bytes: usage.ru_maxrss as u64 * 1024 }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Changes what an epoll descriptor watches.
pub fn epoll_control(epoll: BorrowedFd, what: c_int, file: BorrowedFd, event: Option<(u32, u64)>) -> io::Result<()> {
    let (events, data) = event.unwrap_or_default();
    let mut event = libc::epoll_event { events, u64: data };
    let result = unsafe {
        // SAFETY: the kernel reads an event there.
        libc::epoll_ctl(epoll.as_raw_fd(), what, file.as_raw_fd(), &raw mut event)
    };
    checked(c_long::from(result)).map(|_| ())
}

/// A counter that can be waited for.
pub fn event_file() -> io::Result<OwnedFd> {
    // SAFETY: only numbers are passed.
    owned(c_long::from(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) }))
}

/// What the name of a file leads to (`stat`, or `lstat` where `follow` is not set).
pub fn status(path: &CStr, follow: bool) -> io::Result<libc::stat> {
    // SAFETY: the structure is plain numbers.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    let flags = if follow { 0 } else { libc::AT_SYMLINK_NOFOLLOW };
    // SAFETY: the path ends with a zero, the kernel writes a status there.
    checked(c_long::from(unsafe { libc::fstatat(libc::AT_FDCWD, path.as_ptr(), &raw mut status, flags) }))?;
    Ok(status)
}

/// A structure of plain numbers as bytes.
pub fn bytes_of<T: Copy>(value: &T) -> Vec<u8> {
    // SAFETY: the callers pass structures of the kernel's interface that come from zeroes: their padding is
    // initialised.
    unsafe { std::slice::from_raw_parts((&raw const *value).cast::<u8>(), size_of::<T>()) }.to_vec()
}
