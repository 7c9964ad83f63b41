//! Drives a target: inputs in a process of its own, findings out.

use crate::change::changed;
use crate::notebook::Notebook;
use crate::rng::Rng;
use crate::{Answer, Target, signals};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::process::{ExitStatusExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// The most CPU time for one input.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest time for one input, of which others may have most.
const LONGEST: Duration = Duration::from_secs(300);
/// The memory limit of a process that tries inputs.
const MEMORY_BYTES: u64 = 8 << 30;
/// How many inputs with new answers are kept next to the seeds.
const KEPT: usize = 512;
/// A folder in memory.
const MEMORY_FOLDER: &str = "/dev/shm";
/// How many attempts to shrink a finding.
const TRIES: u32 = 400;
/// How long between two words of how many inputs were tried.
const TELLING: Duration = Duration::from_secs(60);

/// Inputs that are tried one after the other in this process.
pub struct Session {
    target: Target,
    rng: Rng,
    inputs: Vec<Vec<u8>>,
    answers: BTreeSet<Answer>,
    /// How many inputs were tried.
    pub tried: u64,
}

impl Session {
    /// With the target's own seeds, and those in a folder.
    pub fn new(target: Target, seed: u64, corpus: Option<&Path>) -> Session {
        let stored = corpus.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
        let mut stored: Vec<PathBuf> = stored.map(|entry| entry.path()).collect();
        stored.sort();
        let stored = stored.iter().filter_map(|path| fs::read(path).ok());
        let inputs = (target.seeds)().into_iter().chain(stored).collect();
        Session { target, rng: Rng::new(seed), inputs, answers: BTreeSet::new(), tried: 0 }
    }

    /// How many answers there were.
    pub fn answers(&self) -> usize {
        self.answers.len()
    }

    /// The next input: each seed first as it is.
    fn next(&mut self) -> Vec<u8> {
        if let Some(seed) = self.inputs.get(self.tried as usize).filter(|_| self.answers.len() <= self.tried as usize) {
            return seed.clone();
        }
        let (one, other) = (self.rng.below(self.inputs.len()), self.rng.below(self.inputs.len()));
        changed(&self.inputs[one], &self.inputs[other], self.target.words, &mut self.rng)
    }

    /// Tries an input, after calling `before` with it.
    pub fn step(&mut self, before: &mut dyn FnMut(&[u8])) {
        let input = self.next();
        before(&input);
        let answer = (self.target.run)(&input);
        self.tried += 1;
        if self.answers.insert(answer) && self.inputs.len() < KEPT {
            self.inputs.push(input);
        }
    }
}

/// What was found.
#[derive(Debug)]
pub struct Finding {
    /// The input, as small as it could be made.
    pub file: PathBuf,
    /// How it ended.
    pub how: String,
}

/// What came of an attack.
#[derive(Debug)]
pub struct Attack {
    /// How many inputs were tried.
    pub tried: u64,
    /// What they found.
    pub found: Vec<Finding>,
    /// The signal that ended it before its time.
    pub ended_by: Option<&'static str>,
}

/// Tries inputs of a target for a time, in processes of this program, restarted after each finding. `tell` hears from
/// time to time how many were tried, so that an attack that is killed leaves its count.
///
/// # Errors
///
/// No process can be started, or nothing can be written.
pub fn attack(
    target: &Target,
    length: Duration,
    seed: u64,
    home: &Path,
    tell: &mut dyn FnMut(u64),
) -> io::Result<Attack> {
    let (begun, mut attack) = (Instant::now(), Attack { tried: 0, found: Vec::new(), ended_by: None });
    let scratch = tempfile::tempdir()?;
    let notes = scratch.path().join("notes");
    let mut seed = seed;
    while let Some(left) = length.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
        let arguments = ["--inside".into(), target.name.into(), seed.to_string(), left.as_millis().to_string()];
        let notebook = Notebook::create(&notes)?;
        let before = attack.tried;
        let ended = child(&arguments, &notes, left + LONGEST, &notebook, &mut |tried| tell(before + tried))?;
        attack.tried += notebook.tried()?;
        match ended {
            Ended::Well => break,
            Ended::Asked(signal) => {
                attack.ended_by = Some(signal);
                break;
            }
            Ended::Badly(how) => attack.found.push(keep(target, &notebook.input()?, how, home, scratch.path())?),
        }
        seed = seed.wrapping_add(1);
    }
    Ok(attack)
}

/// How a process that tried inputs ended.
enum Ended {
    Well,
    /// By a signal that asked it, or us, to end.
    Asked(&'static str),
    Badly(String),
}

impl Ended {
    fn of(status: ExitStatus) -> Ended {
        match signals::came().or_else(|| signals::name(status.signal()?)) {
            _ if status.success() => Ended::Well,
            Some(signal) => Ended::Asked(signal),
            None => Ended::Badly(status.to_string()),
        }
    }
}

/// Runs this program on some inputs, calls `tell` from time to time with how many were tried, and ends it when one of them
/// takes too long or when we are asked to end.
fn child(
    arguments: &[String],
    file: &Path,
    limit: Duration,
    notebook: &Notebook,
    tell: &mut dyn FnMut(u64),
) -> io::Result<Ended> {
    let mut command = Command::new(std::env::current_exe()?);
    // Targets that want files get them in memory, where there is a folder for that.
    if Path::new(MEMORY_FOLDER).is_dir() {
        command.env("TMPDIR", MEMORY_FOLDER);
    }
    let mut child = command.args(arguments).arg(file).spawn()?;
    let (begun, mut told) = (Instant::now(), Instant::now());
    // How many inputs were tried before the present one, when it began, and what CPU time the process had taken then.
    let (mut tried_before, mut since, mut cpu_then) = (0, Instant::now(), Duration::ZERO);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::of(status));
        }
        std::thread::sleep(Duration::from_millis(20));
        let (tried, cpu) = (notebook.tried()?, cpu_time(child.id()));
        if tried != tried_before {
            (tried_before, since, cpu_then) = (tried, Instant::now(), cpu);
        }
        let age = since.elapsed();
        let is_stuck = cpu.saturating_sub(cpu_then) > PATIENCE || age > LONGEST;
        let asked = signals::came();
        if asked.is_some() || is_stuck || begun.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            let how = format!("not back after {:?} of CPU time and {age:?}", cpu.saturating_sub(cpu_then));
            return Ok(asked.map_or(Ended::Badly(how), Ended::Asked));
        }
        if told.elapsed() >= TELLING {
            told = Instant::now();
            tell(tried);
        }
    }
}

/// What a process has taken of CPUs, in ticks of 10 ms.
fn cpu_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Behind the name, which may hold anything, come the state and numbers: user and system time are the 12th and 13th.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// Makes an input smaller as long as it ends as badly, and keeps it.
fn keep(target: &Target, input: &[u8], how: String, home: &Path, scratch: &Path) -> io::Result<Finding> {
    let trial = scratch.join("trial");
    let nothing = Notebook::create(&scratch.join("trials"))?;
    let is_bad = |bytes: &[u8]| -> io::Result<bool> {
        fs::write(&trial, bytes)?;
        let ended = child(&["--one".into(), target.name.into()], &trial, LONGEST, &nothing, &mut |_| {})?;
        Ok(matches!(ended, Ended::Badly(_)))
    };
    let (mut best, mut size) = (input.to_vec(), input.len() / 2);
    let mut tries = 0;
    while size > 0 && tries < TRIES && signals::came().is_none() {
        let mut at = 0;
        while at < best.len() && tries < TRIES && signals::came().is_none() {
            let smaller = [&best[..at], &best[(at + size).min(best.len())..]].concat();
            tries += 1;
            if is_bad(&smaller)? { best = smaller } else { at += size }
        }
        size /= 2;
    }
    let folder = home.join("findings");
    fs::create_dir_all(&folder)?;
    let file = folder.join(format!("{}-{:016x}", target.name, Answer::from(&best).0));
    fs::write(&file, &best)?;
    Ok(Finding { file, how })
}

/// The life of a process that tries inputs: it notes each before it tries it.
///
/// # Errors
///
/// Nothing can be written.
pub fn inside(target: Target, seed: u64, length: Duration, notes: &Path, home: &Path) -> io::Result<()> {
    limit_memory();
    let mut notebook = Notebook::open(notes)?;
    let mut session = Session::new(target, seed, Some(&home.join("corpus").join(target.name)));
    let (begun, parent) = (Instant::now(), parent_id());
    // A parent that was killed does not end this process.
    while begun.elapsed() < length && parent_id() == parent {
        let tried = session.tried;
        session.step(&mut |input| notebook.note(tried, input).expect("an input can be noted"));
    }
    notebook.note(session.tried, b"")
}

/// Limits memory: an allocation beyond the limit fails, and aborts.
pub fn limit_memory() {
    let limit = libc::rlimit { rlim_cur: MEMORY_BYTES, rlim_max: MEMORY_BYTES };
    // SAFETY: the structure lives.
    unsafe { libc::setrlimit(libc::RLIMIT_DATA, &limit) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_a_process_grows_with_its_work() {
        let before = cpu_time(std::process::id());
        let mut number = 1u64;
        while cpu_time(std::process::id()) < before + Duration::from_millis(50) {
            number = std::hint::black_box(number.wrapping_mul(31).rotate_left(7));
        }
        // One that is gone has none.
        assert_eq!(cpu_time(u32::MAX), Duration::ZERO);
    }
}
