//! A compiler reads what a source includes: a pipe without a writer, an endless device, a macro that doubles itself. So
//! it gets only what honest sources need.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Of processor time, and of time on the wall for one that waits; an honest source takes a second.
const SECONDS: u64 = 60;
/// Of address space. Clang itself takes a quarter of it.
const ADDRESS_BYTES: u64 = 4 << 30;
/// Of each file that it writes.
const FILE_BYTES: u64 = 256 << 20;
/// Of what it says.
const SAID_BYTES: u64 = 1 << 20;

/// Runs a compiler within the limits; says so when it was ended by one.
///
/// # Errors
///
/// It cannot be started, or meets a limit.
pub fn output(command: &mut Command) -> io::Result<Output> {
    let parent = std::process::id() as i32;
    // SAFETY: the child only makes system calls before it becomes the compiler.
    unsafe { command.pre_exec(move || limit(parent)) };
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0).spawn()?;
    let mut said = child.stderr.take().expect("it is piped").take(SAID_BYTES);
    let (end, ended) = mpsc::channel();
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = said.read_to_end(&mut bytes);
        // The waiting process closes its end only when the time is over.
        let _ = end.send(());
        read.map(|_| bytes)
    });
    // One that computes has a limit of its own, and may have little of a busy machine.
    let is_late = loop {
        match ended.recv_timeout(Duration::from_secs(SECONDS)) {
            Err(RecvTimeoutError::Timeout) if computes(child.id()) => {}
            waited => break waited == Err(RecvTimeoutError::Timeout),
        }
    };
    if is_late {
        kill(&child);
    }
    let stderr = reader.join().expect("reading does not panic")?;
    // One that says more than is heard waits to be heard.
    let says_too_much = stderr.len() as u64 == SAID_BYTES;
    if says_too_much {
        kill(&child);
    }
    let status = child.wait()?;
    let met = |what: &str| {
        Err(io::Error::other(format!(
            "the compiler was ended after {what}: does the source include a device or a pipe?"
        )))
    };
    match std::os::unix::process::ExitStatusExt::signal(&status) {
        _ if is_late => met(&format!("{SECONDS} s")),
        _ if says_too_much => met(&format!("{} MiB of messages", SAID_BYTES >> 20)),
        Some(libc::SIGXCPU | libc::SIGKILL) => met(&format!("{SECONDS} s of computing")),
        Some(libc::SIGXFSZ) => met(&format!("{} MiB of output", FILE_BYTES >> 20)),
        _ => Ok(Output { status, stdout: Vec::new(), stderr }),
    }
}

/// Whether a process of a group wants a CPU or reads a disk. One that waits for a pipe does neither.
fn computes(group: u32) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let stats = processes.filter_map(|process| std::fs::read_to_string(process.ok()?.path().join("stat")).ok());
    stats.into_iter().any(|stat| {
        // Behind the name, which is in brackets: the state, the parent, the group.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let is_busy = matches!(fields.next(), Some("R" | "D"));
        is_busy && fields.nth(1).and_then(|field| field.parse().ok()) == Some(group)
    })
}

/// Clang compiles in a process of its own, so all of the group.
fn kill(child: &Child) {
    // SAFETY: the group of our own child, which has not been waited for.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
}

/// The compiler ends with the process that waits for it, and gets no more than these limits.
fn limit(parent: i32) -> io::Result<()> {
    // SAFETY: plain numbers. The parent may have ended before it was asked for.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(1);
        }
    }
    for (what, most) in [
        (libc::RLIMIT_CPU, SECONDS),
        (libc::RLIMIT_AS, ADDRESS_BYTES),
        (libc::RLIMIT_FSIZE, FILE_BYTES),
        (libc::RLIMIT_CORE, 0),
    ] {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the structure lives. A lower limit that is there already may not be raised, and is as good.
        unsafe { libc::setrlimit(what, &limit) };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_sleeps_does_not_compute() {
        let start = |words: &[&str]| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).stdout(Stdio::null()).process_group(0).spawn().unwrap()
        };
        for (words, is_busy) in [(&["sleep", "1000"][..], false), (&["yes"], true)] {
            let mut child = start(words);
            // Until it is the program, it computes.
            while computes(child.id()) != is_busy {
                thread::yield_now();
            }
            kill(&child);
            child.wait().unwrap();
        }
    }

    fn shell(script: &str) -> io::Result<Output> {
        output(Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn what_a_compiler_says_is_heard_up_to_a_limit() {
        let said = shell("echo no >&2; exit 3").unwrap();
        assert_eq!((said.status.code(), said.stderr), (Some(3), b"no\n".to_vec()));
        assert!(shell("yes >&2").unwrap_err().to_string().contains("1 MiB of messages"));
        assert!(shell("ulimit -v").unwrap().status.success());
    }
}
