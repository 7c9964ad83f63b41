//! Calls that may wait: sleeps, futexes, polls, reads.

use super::{Outcome, Result, error, go_on, value};
use crate::clock::from_timespec;
use crate::process::Errno;
use crate::supervisor::Supervisor;
use crate::sys;
use crate::threads::{Answer, On, Polled};
use std::os::fd::{AsRawFd, OwnedFd};

/// Operations of futex(2), and what may be added to them.
const FUTEX_WAIT: i32 = 0;
const FUTEX_WAKE: i32 = 1;
const FUTEX_REQUEUE: i32 = 3;
const FUTEX_CMP_REQUEUE: i32 = 4;
const FUTEX_WAIT_BITSET: i32 = 9;
const FUTEX_WAKE_BITSET: i32 = 10;
const FUTEX_PRIVATE: i32 = 128;
const FUTEX_REALTIME: i32 = 256;
/// Bytes of `struct pollfd`.
const ENTRY: usize = 8;
/// The most files that a call may wait for.
const MOST_FILES: u64 = 4096;

pub fn answer(with: &mut Supervisor, number: libc::c_long, args: [u64; 6]) -> Option<Result> {
    Some(match number {
        libc::SYS_nanosleep => sleep(with, args[0], None),
        libc::SYS_clock_nanosleep => {
            let absolute = args[1] as i32 & libc::TIMER_ABSTIME != 0;
            sleep(with, args[2], absolute.then_some(args[0] as i32))
        }
        libc::SYS_sched_yield => Ok(Outcome::Yield),
        libc::SYS_pause | libc::SYS_rt_sigsuspend => for_ever(),
        libc::SYS_rt_sigtimedwait => wait_for_signal(with, args[2]),
        libc::SYS_futex => futex(with, args),
        libc::SYS_poll => poll(with, args[0], args[1], milliseconds(args[2])),
        libc::SYS_ppoll => timespec(with, args[2]).and_then(|wait| poll(with, args[0], args[1], wait)),
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => {
            let wait = milliseconds(args[3]);
            one_file(with, args[0] as i32, wait, Answer::Value(0))
        }
        libc::SYS_read | libc::SYS_readv | libc::SYS_recvfrom | libc::SYS_recvmsg => {
            one_file(with, args[0] as i32, Timeout::Never, Answer::Error(libc::EAGAIN))
        }
        libc::SYS_accept | libc::SYS_accept4 => for_ever(),
        _ => return None,
    })
}

/// How long a call waits.
#[derive(Clone, Copy)]
enum Timeout {
    Never,
    After(u64),
}

impl Timeout {
    fn until(self, with: &Supervisor, answer: Answer) -> Option<(u64, Answer)> {
        match self {
            Timeout::Never => None,
            Timeout::After(ns) => Some((with.clock.now_ns.saturating_add(ns), answer)),
        }
    }
}

fn milliseconds(word: u64) -> Timeout {
    let ms = word as i32;
    if ms < 0 { Timeout::Never } else { Timeout::After(ms as u64 * 1_000_000) }
}

fn timespec(with: &Supervisor, at: u64) -> std::result::Result<Timeout, Errno> {
    match at {
        0 => Ok(Timeout::Never),
        at => Ok(Timeout::After(from_timespec(with.process.read_pair(at)?).ok_or(Errno(libc::EINVAL))?)),
    }
}

fn for_ever() -> Result {
    Ok(Outcome::Wait { until: None, on: On::Nothing })
}

fn sleep(with: &Supervisor, at: u64, absolute: Option<i32>) -> Result {
    let ns = from_timespec(with.process.read_pair(at)?).ok_or(Errno(libc::EINVAL))?;
    let when = match absolute {
        Some(clock) => with.clock.when(ns, clock == libc::CLOCK_REALTIME),
        None => with.clock.now_ns.saturating_add(ns),
    };
    Ok(Outcome::Wait { until: Some((when, Answer::Value(0))), on: On::Nothing })
}

fn wait_for_signal(with: &Supervisor, at: u64) -> Result {
    let until = timespec(with, at)?.until(with, Answer::Error(libc::EAGAIN));
    Ok(Outcome::Wait { until, on: On::Nothing })
}

fn futex(with: &mut Supervisor, [word, operation, expected, extra, _, bits]: [u64; 6]) -> Result {
    let operation = operation as i32;
    let (what, wall) = (operation & !(FUTEX_PRIVATE | FUTEX_REALTIME), operation & FUTEX_REALTIME != 0);
    match what {
        FUTEX_WAIT | FUTEX_WAIT_BITSET => {
            let mut now = [0; 4];
            with.process.read(word, &mut now)?;
            if u32::from_le_bytes(now) != expected as u32 {
                return error(libc::EAGAIN);
            }
            let until = match extra {
                0 => None,
                at => {
                    let ns = from_timespec(with.process.read_pair(at)?).ok_or(Errno(libc::EINVAL))?;
                    let when = match what {
                        FUTEX_WAIT => with.clock.now_ns.saturating_add(ns),
                        _ => with.clock.when(ns, wall),
                    };
                    Some((when, Answer::Error(libc::ETIMEDOUT)))
                }
            };
            let bits = if what == FUTEX_WAIT { u32::MAX } else { bits as u32 };
            Ok(Outcome::Wait { until, on: On::Word { address: word, bits } })
        }
        FUTEX_WAKE => value(with.wake(word, expected as u32 as usize, u32::MAX) as i64),
        FUTEX_WAKE_BITSET => value(with.wake(word, expected as u32 as usize, bits as u32) as i64),
        // Those that would wait for another word are woken and look for themselves.
        FUTEX_REQUEUE | FUTEX_CMP_REQUEUE => value(with.wake(word, usize::MAX, u32::MAX) as i64),
        _ => error(libc::ENOSYS),
    }
}

/// A call on one file that is done when the file is ready.
fn one_file(with: &mut Supervisor, fd: i32, wait: Timeout, late: Answer) -> Result {
    let file = with.process.descriptor(fd)?;
    let until = wait.until(with, late);
    let files = vec![Polled { file, events: libc::POLLIN, answer_at: None }];
    if answer_of(with, &files)?.is_some() || does_not_wait(&files[0].file) {
        return go_on();
    }
    match wait {
        Timeout::After(0) => go_on(),
        _ => Ok(Outcome::Wait { until, on: On::Files(files) }),
    }
}

fn does_not_wait(file: &OwnedFd) -> bool {
    // An epoll descriptor never has the flag and is asked with a timeout.
    let Ok(info) = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())) else { return false };
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).map(str::trim);
    flags.and_then(|flags| i32::from_str_radix(flags, 8).ok()).is_some_and(|flags| flags & libc::O_NONBLOCK != 0)
}

/// The entries of `struct pollfd` are answered here; for an object of ours, a counter has the answer.
fn poll(with: &mut Supervisor, at: u64, count: u64, wait: Timeout) -> Result {
    if count > MOST_FILES {
        return error(libc::EINVAL);
    }
    let mut bytes = with.process.read_vec(at, count as usize * ENTRY)?;
    let mut files = Vec::new();
    for (entry, place) in bytes.chunks_exact_mut(ENTRY).zip((at..).step_by(ENTRY)) {
        let fd = i32::from_le_bytes(entry[..4].try_into().expect("four bytes"));
        let events = i16::from_le_bytes(entry[4..6].try_into().expect("two bytes"));
        entry[6..].fill(0);
        let file = match with.process.object(fd) {
            Some(object) => Ok(with.counter(object)?.try_clone()?),
            None => with.process.descriptor(fd),
        };
        match file {
            Ok(file) => files.push(Polled { file, events, answer_at: Some(place + 6) }),
            // The kernel says what is wrong with it.
            Err(_) if fd >= 0 => return go_on(),
            Err(_) => {}
        }
    }
    with.process.write(at, &bytes)?;
    if let Some(answer) = answer_of(with, &files)? {
        return Ok(Outcome::Answer(answer));
    }
    if matches!(wait, Timeout::After(0)) {
        return value(0);
    }
    let until = wait.until(with, Answer::Value(0));
    Ok(Outcome::Wait { until, on: On::Files(files) })
}

/// What a call that waits for files is answered if one is ready.
pub fn answer_of(with: &Supervisor, files: &[Polled]) -> std::result::Result<Option<Answer>, Errno> {
    let mut asked: Vec<libc::pollfd> = files
        .iter()
        .map(|polled| libc::pollfd { fd: polled.file.as_raw_fd(), events: polled.events, revents: 0 })
        .collect();
    let ready = sys::poll(&mut asked, 0)?;
    if ready == 0 {
        return Ok(None);
    }
    let mut is_told = false;
    for (polled, found) in files.iter().zip(asked) {
        if let Some(at) = polled.answer_at {
            with.process.write(at, &found.revents.to_le_bytes())?;
            is_told = true;
        }
    }
    Ok(Some(if is_told { Answer::Value(ready as i64) } else { Answer::GoOn }))
}
