//! A whole scheduler in charge of this kernel: a program that loads its own BPF object and keeps running.

use crate::message::{ProgramJob, ProgramReport};
use schedlab_kernel::{ProcessUse, SchedulerError, Tenure, Vacancy, is_vacant, operations, process_use};
use schedlab_load::{Ended, Guarded};
use schedlab_model::hash::sha256;
use schedlab_model::result::SchedulerProgram;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::FromRawFd;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest that a program may take until its policy is in charge. A kernel's verifier takes 168 s of virtual time for the
/// largest that was tried.
const READY: Duration = Duration::from_secs(600);
/// The longest that it may take to end when it is asked to.
const END: Duration = Duration::from_secs(5);
/// Between two looks at it, before and after the run.
const LOOK: Duration = Duration::from_millis(20);
/// How the kernel says that it was the program itself (`scx_exit_reason`).
const UNREGISTERED: &str = "(unregistered from user space)";
/// What is kept of the end of what it printed: lines, the bytes of each, and the bytes that are looked at.
const LINES: usize = 40;
const LINE_BYTES: usize = 400;
const TAIL_BYTES: u64 = 64 << 10;
/// What it prints beyond that is thrown away.
const MOST_BYTES: u64 = 16 << 20;

/// A program that has the CPUs.
pub struct Program {
    process: Guarded,
    tenure: Tenure,
    printed: Printed,
    hash: String,
    report: ProgramReport,
    /// What it had taken before the run.
    before: ProcessUse,
}

impl Program {
    /// Starts a program and waits until its policy is in charge.
    pub fn start(job: &ProgramJob) -> Result<Program, SchedulerError> {
        let vacancy = Vacancy::find()?;
        let cannot = |error: io::Error| SchedulerError::Program(format!("cannot start {}: {error}", job.words[0]));
        let hash = sha256(&fs::read(&job.words[0]).map_err(cannot)?);
        let printed = Printed::new().map_err(cannot)?;
        let mut command = Command::new(&job.words[0]);
        command.args(&job.words[1..]).current_dir(&job.folder).stdin(Stdio::null()).env("NO_COLOR", "1");
        command.stdout(printed.writer().map_err(cannot)?).stderr(printed.writer().map_err(cannot)?);
        let mut process = Guarded::start_apart(&mut command).map_err(cannot)?;
        let begun = Instant::now();
        process.go().map_err(cannot)?;
        wait_until_ready(&vacancy, &mut process, begun).map_err(|why| printed.below(why))?;
        let ready_ns = begun.elapsed().as_nanos() as u64;
        let tenure = vacancy.filled().map_err(|error| printed.below(error.to_string()))?;
        let program = SchedulerProgram { operations: operations(), ready_ns, ..SchedulerProgram::default() };
        let report = ProgramReport { program, ended: false };
        Ok(Program { process, tenure, printed, hash, report, before: ProcessUse::default() })
    }

    /// SHA-256 of the program's file.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// What it did.
    pub fn report(&self) -> &ProgramReport {
        &self.report
    }

    /// From here on what it takes is counted.
    pub fn begin_account(&mut self) {
        self.before = process_use(self.process.pid()).unwrap_or_default();
    }

    /// And up to here.
    pub fn end_account(&mut self) {
        let now = process_use(self.process.pid()).unwrap_or(self.before);
        let program = &mut self.report.program;
        program.cpu_ns = now.cpu_ns.saturating_sub(self.before.cpu_ns);
        program.threads = now.threads;
        program.voluntary = now.voluntary.saturating_sub(self.before.voluntary);
        program.involuntary = now.involuntary.saturating_sub(self.before.involuntary);
    }

    /// Whether its policy is still in charge.
    pub fn check(&self) -> Result<(), SchedulerError> {
        self.printed.cut();
        self.tenure.check().map_err(|error| match error {
            SchedulerError::Ejected(why) if why.contains(UNREGISTERED) => {
                self.printed.below(format!("the program ended its policy before the run was over: {why}"))
            }
            // What the kernel dumped is among what the program printed.
            SchedulerError::Ejected(why) => SchedulerError::Ejected(self.printed.added_to(why)),
            other => other,
        })
    }

    /// Asks it to end, and says what it did up to now.
    pub fn stop(mut self) -> Result<ProgramReport, SchedulerError> {
        self.check()?;
        // SAFETY: a signal to a process of ours, which is not buried before this is dropped.
        unsafe { libc::kill(self.process.pid(), libc::SIGINT) };
        let asked = Instant::now();
        while !self.report.ended && asked.elapsed() < END {
            self.report.ended = is_vacant() && self.process.ended().is_ok_and(|ended| ended.is_some());
            sleep(LOOK);
        }
        self.report.program.printed = self.printed.last_lines();
        Ok(self.report)
    }
}

/// Waits until the policy is in charge.
///
/// # Errors
///
/// The program has ended before, or has taken too long.
fn wait_until_ready(vacancy: &Vacancy, process: &mut Guarded, begun: Instant) -> Result<(), String> {
    loop {
        if vacancy.is_filled() {
            return Ok(());
        }
        match process.ended() {
            Ok(None) => {}
            Ok(Some(Ended::Status(status))) => {
                return Err(format!("the program ended before its policy was in charge ({status})"));
            }
            Ok(Some(Ended::NotStarted(error))) => {
                return Err(format!("the program cannot be started: {}", io::Error::from_raw_os_error(error)));
            }
            Err(error) => return Err(format!("the program cannot be watched: {error}")),
        }
        if begun.elapsed() > READY {
            return Err(format!("the program did not put a policy in charge within {} s", READY.as_secs()));
        }
        sleep(LOOK);
    }
}

/// What a program prints: a file in memory, of which the end counts.
struct Printed(File);

impl Printed {
    fn new() -> io::Result<Printed> {
        // SAFETY: a static name; nothing else owns the descriptor.
        let file = unsafe {
            match libc::memfd_create(c"printed".as_ptr(), libc::MFD_CLOEXEC) {
                -1 => return Err(io::Error::last_os_error()),
                descriptor => File::from_raw_fd(descriptor),
            }
        };
        // Each write goes to the end of the file, also after it was cut.
        // SAFETY: plain numbers.
        match unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&file), libc::F_SETFL, libc::O_APPEND) } {
            0 => Ok(Printed(file)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn writer(&self) -> io::Result<Stdio> {
        self.0.try_clone().map(Stdio::from)
    }

    /// Throws away what is too much.
    fn cut(&self) {
        if self.0.metadata().is_ok_and(|data| data.len() > MOST_BYTES) {
            let _ = self.0.set_len(0);
        }
    }

    fn last_lines(&self) -> Vec<String> {
        let length = self.0.metadata().map_or(0, |data| data.len());
        let (mut file, mut bytes) = (&self.0, Vec::new());
        let read =
            file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).and_then(|_| file.read_to_end(&mut bytes));
        if read.is_err() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LINES)..].iter().map(|line| shortened(line)).collect()
    }

    /// A reason with what was printed below it.
    fn added_to(&self, why: String) -> String {
        self.last_lines().iter().fold(why, |text, line| text + "\n  program: " + line)
    }

    fn below(&self, why: String) -> SchedulerError {
        SchedulerError::Program(self.added_to(why))
    }
}

fn shortened(line: &str) -> String {
    let end = (0..=LINE_BYTES.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    line[..end].trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_end_of_what_is_printed_is_kept() {
        let printed = Printed::new().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "seq 1 100; echo; printf '%01000d\\n' 7 >&2"]);
        let status = command.stdout(printed.writer().unwrap()).stderr(printed.writer().unwrap()).status().unwrap();
        assert!(status.success());
        let lines = printed.last_lines();
        assert_eq!((lines.len(), lines[0].as_str(), lines[LINES - 2].as_str()), (LINES, "62", "100"));
        assert_eq!(lines[LINES - 1], "0".repeat(LINE_BYTES));
        assert!(printed.added_to("why".into()).starts_with("why\n  program: 62\n  program: 63\n"));
    }

    #[test]
    fn what_is_too_much_is_thrown_away() {
        let printed = Printed::new().unwrap();
        printed.0.set_len(MOST_BYTES + 1).unwrap();
        printed.cut();
        (&printed.0).write_all(b"after\n").unwrap();
        assert_eq!(printed.last_lines(), ["after"]);
    }

    #[test]
    fn a_line_is_cut_between_letters() {
        assert_eq!(shortened(&"ä".repeat(LINE_BYTES)), "ä".repeat(LINE_BYTES / 2));
        assert_eq!(shortened("short \t"), "short");
    }
}
