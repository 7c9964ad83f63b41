//! Real programs as tasks, and how a task fails.

use crate::process::die_with;
use crate::shared::Shared;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::*;

/// How a task failed, as one number that fits into shared memory: the kernel's error for a program that did not start
/// (negative), its wait status for one that ended badly, or [`Failure::ADJUST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure(i32);

impl Failure {
    /// The kernel refused what a step `adjust` writes. No wait status is as large.
    pub const ADJUST: Failure = Failure(1 << 24);

    /// What happened to a task that runs a program.
    pub fn text(self, program: &str) -> String {
        if self == Failure::ADJUST {
            return "the kernel refuses what its step `adjust` writes, which may not be with what is there: a burst of \
                    more than the quota"
                .into();
        }
        let what = match self.0 {
            status @ ..0 => format!("did not start: {}", io::Error::from_raw_os_error(-status)),
            status if libc::WIFSIGNALED(status) => format!("was killed by signal {}", libc::WTERMSIG(status)),
            status => format!("ended with code {}", libc::WEXITSTATUS(status)),
        };
        format!("the program `{program}` {what}")
    }
}

/// Runs a program to its end with the class, nice value and CPUs of the calling thread; what it prints is not kept.
/// Gives its CPU time in nanoseconds, its children's included.
pub fn run(shared: &Shared, task: u32, words: &[String]) -> Result<u64, Failure> {
    let parent = std::process::id() as i32;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the child only makes system calls before it becomes the program.
    unsafe {
        command.pre_exec(move || {
            die_with(parent);
            Ok(())
        })
    };
    let mut child = command.spawn().map_err(|error| Failure(-error.raw_os_error().unwrap_or(libc::EIO)))?;
    let record = shared.task(task);
    record.last_program.store(child.id() as i32, Relaxed);
    record.program.store(child.id() as i32, Release);
    // The end of the run may have come between: the program that ends it looks at the record, and this looks at the run.
    if shared.is_stopped() {
        let _ = child.kill();
    }
    let (status, usage) = wait(child.id() as i32);
    record.program.store(0, Release);
    match status {
        0 => Ok(usage),
        _ if shared.is_stopped() => Ok(usage),
        status => Err(Failure(status)),
    }
}

/// Waits for a child; gives its status and CPU time in nanoseconds.
fn wait(pid: i32) -> (i32, u64) {
    let mut status = 0;
    // SAFETY: the kernel fills both.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        while libc::wait4(pid, &mut status, 0, &mut usage) < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    (status, ns(usage.ru_utime) + ns(usage.ru_stime))
}

/// Notes the first failure and ends the run.
pub fn tell(shared: &Shared, task: u32, failure: Failure) {
    let control = shared.control();
    if control.failed_task.compare_exchange(0, task + 1, AcqRel, Relaxed).is_ok() {
        control.failure.store(failure.0, Release);
    }
    shared.stop();
}

/// The task whose program failed first, and how.
pub fn failure(shared: &Shared) -> Option<(u32, Failure)> {
    let control = shared.control();
    let task = control.failed_task.load(Acquire).checked_sub(1)?;
    Some((task, Failure(control.failure.load(Acquire))))
}

/// A program that is not on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no program `{0}` here; install it, or write the path to it")]
pub struct NoProgram(String);

/// Where a program is, looked for as a shell does.
pub fn find(name: &str) -> Result<PathBuf, NoProgram> {
    look_for(name).ok_or_else(|| NoProgram(name.into()))
}

fn look_for(name: &str) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| is_program(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        assert!(find("sh").is_ok() && find("/bin/sh").is_ok());
        for none in ["/bin", "no-such-program-anywhere", "./sh"] {
            assert_eq!(find(none), Err(NoProgram(none.into())));
        }
    }

    #[test]
    fn failures_say_what_happened() {
        assert!(Failure::ADJUST.text("").starts_with("the kernel refuses what its step `adjust` writes"));
        let shared = Shared::new(0, 0).unwrap();
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        assert!(run(&shared, 0, &words("true")).is_ok());
        assert_eq!(
            run(&shared, 0, &words("false")).unwrap_err().text("false"),
            "the program `false` ended with code 1"
        );
        let kill = ["sh".into(), "-c".into(), "kill -9 $$".into()];
        assert_eq!(run(&shared, 0, &kill).unwrap_err().text("sh"), "the program `sh` was killed by signal 9");
        let error = run(&shared, 0, &words("/no/such/program")).unwrap_err().text("no");
        assert!(error.starts_with("the program `no` did not start: No such file"), "{error}");
    }
}
