//! A command, or the tasks of a run, that wait for a word before they begin, and with all that they start never outlive
//! this process.
//!
//! The kernel kills a child with its parent, but not a grandchild. So a process stands between: the *guard*. It adopts
//! whatever loses its parent below it, and when this process is gone, whyever, it ends everything it has, and itself.

use crate::process::{self, die_with, die_with_group};
use crate::stat::Stat;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Status(ExitStatus),
    /// It could not be started: the kernel's error.
    NotStarted(i32),
}

/// A process under guard. It and all that descends from it is gone when this is dropped.
#[derive(Debug)]
pub struct Guarded {
    guard: libc::pid_t,
    pid: i32,
    /// To the guard, and at first to the guarded. Closed at the end of this process, which is what the guard waits for.
    line: UnixStream,
}

impl Guarded {
    /// Starts the command, up to the point where it would become its program. What a terminal sends to this program's
    /// group, Ctrl-C, reaches it too.
    pub fn start(command: &mut Command) -> io::Result<Guarded> {
        Guarded::with(|post| {
            // SAFETY: the child only makes system calls before it becomes the program.
            unsafe { command.pre_exec(move || post.pass()) };
            command.spawn().map(|child| child.id() as i32)
        })
    }

    /// The same in the guard's group of processes: no terminal reaches it, and it is this program alone that ends it.
    pub fn start_apart(command: &mut Command) -> io::Result<Guarded> {
        Guarded::with(|post| {
            // SAFETY: as above.
            unsafe { command.pre_exec(move || post.pass_apart()) };
            command.spawn().map(|child| child.id() as i32)
        })
    }

    /// Starts a copy of this process that does some work and leaves with its code; 101 if it panics. It leads a group of its
    /// own, which is killed with it.
    pub fn start_work(work: impl FnOnce() -> i32) -> io::Result<Guarded> {
        Guarded::with(|post| {
            // The word is for the child: the guard, which listens on the same line, does not before the child has it.
            let (mut has_begun, begins) = io::pipe()?;
            // SAFETY: the child does the work and leaves by `_exit`. The guard has no other thread yet.
            match unsafe { libc::fork() } {
                0 => {
                    let work = || {
                        // SAFETY: plain numbers.
                        unsafe { libc::setpgid(0, 0) };
                        die_with_group(post.guard);
                        let word = post.wait_for_word();
                        drop(begins);
                        word.map_or(1, |()| work())
                    };
                    let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
                    // SAFETY: nothing of the parent is to be run.
                    unsafe { libc::_exit(code.unwrap_or(101)) }
                }
                pid if pid > 0 => {
                    drop(begins);
                    has_begun.read_to_end(&mut Vec::new())?;
                    Ok(pid)
                }
                _ => Err(io::Error::last_os_error()),
            }
        })
    }

    /// `begin` runs in the guard and gives the process that it has started, when that has had its word.
    fn with(begin: impl FnOnce(Post) -> io::Result<i32>) -> io::Result<Guarded> {
        let (mut line, theirs) = UnixStream::pair()?;
        // SAFETY: the child becomes the guard and leaves by `_exit`.
        let guard = match unsafe { libc::fork() } {
            0 => {
                drop(line);
                let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stand_guard(begin, theirs)));
                // SAFETY: nothing of the parent is to be run.
                unsafe { libc::_exit(i32::from(code.is_err())) }
            }
            guard if guard > 0 => guard,
            _ => return Err(io::Error::last_os_error()),
        };
        drop(theirs);
        let told = Said::read(&mut line);
        let mut guarded = Guarded { guard, pid: 0, line };
        match told? {
            Said::Waits(pid) => guarded.pid = pid,
            Said::Ended(Ended::NotStarted(error)) => return Err(io::Error::from_raw_os_error(error)),
            Said::Ended(Ended::Status(_)) => return Err(io::ErrorKind::BrokenPipe.into()),
        }
        Ok(guarded)
    }

    /// The number of the guarded process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Lets it begin.
    pub fn go(&mut self) -> io::Result<()> {
        self.line.write_all(&[1])?;
        self.line.set_nonblocking(true)
    }

    /// What is readable once it has ended.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }

    /// How it ended, once it has.
    pub fn ended(&mut self) -> io::Result<Option<Ended>> {
        match Said::read(&mut self.line) {
            Ok(Said::Ended(ended)) => Ok(Some(ended)),
            Ok(Said::Waits(_)) => Err(io::ErrorKind::InvalidData.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Fails only when the guard is gone already.
        let _ = self.line.shutdown(std::net::Shutdown::Both);
        process::bury(self.guard);
    }
}

/// What is said on the line.
enum Said {
    /// By the guarded process: it waits for its word.
    Waits(i32),
    /// By the guard.
    Ended(Ended),
}

/// The first word of what the guarded process says. No error of the kernel has that number.
const WAITS: i32 = -1;

impl Said {
    fn read(line: &mut UnixStream) -> io::Result<Said> {
        let mut bytes = [0; 8];
        line.read_exact(&mut bytes)?;
        let word = |at: usize| i32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Ok(match word(0) {
            WAITS => Said::Waits(word(4)),
            0 => Said::Ended(Ended::Status(ExitStatus::from_raw(word(4)))),
            error => Said::Ended(Ended::NotStarted(error)),
        })
    }

    /// Makes no other than system calls.
    fn bytes(words: [i32; 2]) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&words[0].to_ne_bytes());
        bytes[4..].copy_from_slice(&words[1].to_ne_bytes());
        bytes
    }
}

/// What the guarded process has to know before it begins.
#[derive(Clone, Copy)]
struct Post {
    guard: i32,
    gate: i32,
    /// The signals as they were before the guard.
    signals: libc::sigset_t,
    /// The group of processes from before the guard.
    group: i32,
}

impl Post {
    /// What a command does before it becomes its program: it joins its group of processes, and waits. Only system calls.
    fn pass(&self) -> io::Result<()> {
        // SAFETY: plain numbers. Where the group is gone it stays in the guard's.
        unsafe { libc::setpgid(0, self.group) };
        self.pass_apart()
    }

    /// The same where it is.
    fn pass_apart(&self) -> io::Result<()> {
        die_with(self.guard);
        self.wait_for_word()
    }

    fn wait_for_word(&self) -> io::Result<()> {
        // SAFETY: the set lives.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.signals, std::ptr::null_mut()) };
        wait_at(self.gate)
    }
}

/// The guard's life.
fn stand_guard(begin: impl FnOnce(Post) -> io::Result<i32>, line: UnixStream) {
    let signals = block_signals();
    // SAFETY: plain numbers. Whatever loses its parent below the guard becomes its child. What is sent to the group of
    // this program, to end it whole, must not end the guard before its work is done.
    let group = unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        let group = libc::getpgrp();
        libc::setpgid(0, 0);
        group
    };
    let child = begin(Post { guard: std::process::id() as i32, gate: line.as_raw_fd(), signals, group });
    let mut watched = line.try_clone().expect("a descriptor is left");
    std::thread::spawn(move || {
        // Nothing is ever said on the line; that it ends is what matters.
        let _ = watched.read(&mut [0]);
        end_all();
        // SAFETY: nothing is left to be done.
        unsafe { libc::_exit(0) }
    });
    let told = match child {
        Ok(child) => [0, wait_for(child)],
        Err(error) => [error.raw_os_error().unwrap_or(libc::EIO), 0],
    };
    // The write fails if the parent is gone; then the other thread ends everything already.
    let _ = (&line).write_all(&Said::bytes(told));
    end_all();
}

/// Reports that this process waits, and waits. Only system calls.
fn wait_at(gate: i32) -> io::Result<()> {
    let waits = Said::bytes([WAITS, std::process::id() as i32]);
    let mut word = 0_u8;
    // SAFETY: both buffers live and have this size.
    unsafe {
        libc::write(gate, waits.as_ptr().cast(), waits.len());
        if libc::read(gate, (&raw mut word).cast(), 1) != 1 {
            libc::_exit(0);
        }
    }
    Ok(())
}

/// The guard must outlive what a terminal does to all its processes. Gives the mask as it was, for the command.
fn block_signals() -> libc::sigset_t {
    // SAFETY: the C library fills both sets.
    unsafe {
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut blocked);
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
            libc::sigaddset(&mut blocked, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &blocked, &mut before);
        before
    }
}

/// Reaps ended processes until it is this one; gives its status.
fn wait_for(pid: i32) -> i32 {
    loop {
        let mut status = 0;
        // SAFETY: our own children.
        let ended = unsafe { libc::waitpid(-1, &mut status, 0) };
        if ended == pid || ended < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return status;
        }
    }
}

/// Kills all that descend from this process. What was born meanwhile becomes a child of this one, and is next.
fn end_all() {
    // One that may not be killed, since it runs as another, is left alone.
    while descendants().into_iter().filter(|&pid| process::kill(pid)).count() > 0 {
        std::thread::sleep(Duration::from_millis(1));
        bury_ended();
    }
    bury_ended();
}

fn bury_ended() {
    let mut status = 0;
    // SAFETY: our own children.
    while unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } > 0 {}
}

/// All descendants of this process that have not ended, from one scan of /proc: fast enough to keep up with a process
/// that forks quickly.
fn descendants() -> Vec<i32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| entry.ok());
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let parents: Vec<(i32, i32)> = pids.filter_map(|pid| Some((pid, parent_of(pid)?))).collect();
    let (mut found, mut next) = (Vec::new(), 0);
    let mut parent = std::process::id() as i32;
    loop {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        let Some(&pid) = found.get(next) else { return found };
        (parent, next) = (pid, next + 1);
    }
}

/// The parent of a process that has not ended.
fn parent_of(pid: i32) -> Option<i32> {
    Stat::of(Path::new(&format!("/proc/{pid}"))).filter(|stat| !stat.has_ended()).map(|stat| stat.parent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn wait(guarded: &mut Guarded) -> Ended {
        loop {
            if let Some(ended) = guarded.ended().unwrap() {
                return ended;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn shell(script: &str) -> Guarded {
        Guarded::start(Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn a_command_waits_for_the_word_and_tells_how_it_ended() {
        let folder = std::env::temp_dir().join(format!("schedlab-guarded-{}", std::process::id()));
        let mut guarded = shell(&format!("echo >{}; exit 3", folder.display()));
        let name = fs::read_to_string(format!("/proc/{}/comm", guarded.pid())).unwrap();
        assert_ne!(name.trim(), "sh");
        assert!(!folder.exists());
        guarded.go().unwrap();
        assert_eq!(wait(&mut guarded), Ended::Status(ExitStatus::from_raw(3 << 8)));
        assert!(folder.exists());
        fs::remove_file(folder).unwrap();
        let mut killed = shell("kill -9 $$");
        killed.go().unwrap();
        assert_eq!(wait(&mut killed), Ended::Status(ExitStatus::from_raw(9)));
    }

    #[test]
    fn a_terminal_reaches_a_command_but_none_that_is_apart() {
        // SAFETY: plain numbers.
        let group_of = |pid: i32| unsafe { libc::getpgid(pid) };
        let ours = shell("exit");
        let apart = Guarded::start_apart(Command::new("sh").args(["-c", "exit"])).unwrap();
        assert_eq!(group_of(ours.pid()), group_of(0));
        assert_eq!(group_of(apart.pid()), apart.guard);
    }

    #[test]
    fn what_is_no_program_is_told() {
        let mut guarded = Guarded::start(&mut Command::new("/no/such/program")).unwrap();
        guarded.go().unwrap();
        assert_eq!(wait(&mut guarded), Ended::NotStarted(libc::ENOENT));
        // Before it waits for the word: what a command is made of may be missing, too.
        let mut command = Command::new("true");
        // SAFETY: it only gives an error.
        unsafe { command.pre_exec(|| Err(io::Error::from_raw_os_error(libc::ENFILE))) };
        assert_eq!(Guarded::start(&mut command).unwrap_err().raw_os_error(), Some(libc::ENFILE));
    }

    #[test]
    fn nothing_is_left_of_one_that_never_began_or_did_not_end() {
        let waiting = shell("exit");
        let pid = waiting.pid();
        drop(waiting);
        assert!(!fs::exists(format!("/proc/{pid}")).unwrap());
        // A grandchild in a session of its own, whose parent is gone.
        let (mut reader, writer) = io::pipe().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000"]).stdout(writer);
        let mut guarded = Guarded::start(&mut command).unwrap();
        drop(command);
        guarded.go().unwrap();
        let mut line = [0; 16];
        let length = reader.read(&mut line).unwrap();
        let grandchild = String::from_utf8_lossy(&line[..length]).trim().to_owned();
        assert!(fs::exists(format!("/proc/{grandchild}")).unwrap());
        drop(guarded);
        assert!(!fs::exists(format!("/proc/{grandchild}")).unwrap());
    }
}
