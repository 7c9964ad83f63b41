//! Lets the threads of a program take turns, and gives each of their calls an answer.

use crate::allowance::{self, Allowance};
use crate::calls::{self, Outcome};
use crate::child::{self, Child};
use crate::clock::{BPF_NS, CALL_NS, Clock, START_NS, YIELD_NS};
use crate::interface::{CPU_UNITS, Caller, Command, LoaderError, Reply, Stand, System};
use crate::process::{Errno, Process, object_name};
use crate::sys::{self, End, Notification};
use crate::threads::{Answer, On, State, Thread, Wait};
use crate::tree::Tree;
use crate::vdso;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The number by which a program knows itself.
pub const PID: u32 = 1000;
/// Looks in a row at which a thread that should compute waits inside of the host's kernel, for what only another of its
/// threads could do: it will not come back.
const ASLEEP_LOOKS: u32 = 50;
/// Milliseconds between two looks at whether to stop.
const LOOK_MS: i32 = 100;
/// How much of what it was refused is noted.
const MOST_REFUSED: usize = 1000;
/// What is kept of the end of what it printed.
const LINES: usize = 40;
const TAIL_BYTES: u64 = 64 << 10;

/// A program at work.
pub struct Supervisor {
    pub(crate) child: Child,
    pub(crate) process: Process,
    pub(crate) tree: Tree,
    pub(crate) clock: Clock,
    pub(crate) command: Command,
    pub(crate) random: u64,
    pub(crate) allowance: Allowance,
    pub(crate) listed: BTreeMap<i32, usize>,
    pub(crate) refused: BTreeSet<String>,
    /// What programs can wait for in the place of objects, by their numbers.
    counters: BTreeMap<u32, OwnedFd>,
    threads: Vec<Thread>,
    /// Those that could run, by the host's numbers, in their order.
    ready: VecDeque<libc::pid_t>,
    turns: u64,
    calls: u64,
    created: u32,
    /// A thread is being made, which clears this word at its end.
    expected: Option<u64>,
    is_program: bool,
    /// The thread and its call at which the machine stopped everything.
    stopped: Option<(usize, Notification)>,
    ended: Option<End>,
    output: OwnedFd,
}

impl Supervisor {
    /// Starts a program, which is stopped at its first call.
    pub fn start(command: Command) -> Result<Supervisor, LoaderError> {
        let own = PathBuf::from(&command.words[0]);
        let tree = Tree::new(&command.files, command.reads.iter().cloned().chain([own]), PID)?;
        let output = sys::memory_file(c"output", &[])?;
        let environment = ["PATH=/usr/bin:/bin", "HOME=/", "TERM=dumb", "NO_COLOR=1", "LANG=C"];
        let child = child::start(&command.words, &environment, &output)?;
        let process = Process::new(child.pid, child.process.try_clone()?);
        let first = Thread { tid: child.pid, number: 0, clears: 0, cpus: None, state: State::Running };
        Ok(Supervisor {
            process,
            tree,
            clock: Clock { now_ns: START_NS },
            random: command.seed,
            allowance: Allowance::default(),
            command,
            listed: BTreeMap::new(),
            refused: BTreeSet::new(),
            counters: BTreeMap::new(),
            threads: vec![first],
            ready: VecDeque::new(),
            turns: 0,
            calls: 0,
            created: 1,
            expected: None,
            is_program: false,
            stopped: None,
            ended: None,
            output,
            child,
        })
    }

    /// Time as the program sees it.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns
    }

    /// What it asked for and was not given, a line for each.
    pub fn refused(&self) -> impl Iterator<Item = &str> {
        self.refused.iter().map(String::as_str)
    }

    /// Lets it run until nothing of it can run before a time.
    pub fn run(&mut self, system: &mut dyn System, until_ns: u64) -> Result<Stand, LoaderError> {
        let mut looked = Instant::now();
        loop {
            self.collect(system)?;
            if looked.elapsed().as_millis() >= LOOK_MS as u128 {
                looked = Instant::now();
                if system.is_to_stop() {
                    return Err(LoaderError::Stopped);
                }
            }
            if let Some(end) = self.ended {
                return Ok(Stand::Ended(how(end)));
            }
            self.wake_by_files();
            if !self.ready.is_empty() && self.clock.now_ns > until_ns {
                return Ok(Stand::Waits(Some(self.clock.now_ns)));
            }
            let Some(tid) = self.ready.pop_front() else {
                match self.next_deadline() {
                    Some(at) if at <= until_ns => self.pass_to(at),
                    next => return Ok(Stand::Waits(next)),
                }
                continue;
            };
            if self.step(tid, system)? {
                return Ok(Stand::Stopped);
            }
        }
    }

    /// Answers the call at which the machine stopped it with a descriptor of an object.
    ///
    /// # Errors
    ///
    /// The host has no room.
    pub fn go_on(&mut self, object: u32) -> Result<(), LoaderError> {
        let file = sys::object_file(&object_name(object), 0)?;
        // From here on time limits what it does: each call takes some.
        self.command.most_calls = u64::MAX;
        if let Some((index, call)) = self.stopped.take() {
            self.threads[index].state = State::Running;
            self.settle(index, &call, Outcome::File(file, true))?;
        }
        Ok(())
    }

    /// Lets time pass for it where it waits.
    pub fn let_pass(&mut self, now_ns: u64) {
        self.pass_to(now_ns);
    }

    /// Replaces the content of a file that was made for it.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write_file(&self, path: &str, content: &str) -> io::Result<()> {
        self.tree.write(Path::new(path), content.as_bytes())
    }

    /// Lets it run until the machine stops it.
    pub fn run_to_stop(&mut self, system: &mut dyn System) -> Result<(), LoaderError> {
        match self.run(system, u64::MAX)? {
            Stand::Stopped => Ok(()),
            Stand::Waits(_) => Err(LoaderError::Stuck(self.tail())),
            Stand::Ended(how) => Err(LoaderError::Ended(how, self.tail())),
        }
    }

    /// Gives a thread its answer, or finds one. True: the machine has stopped the program.
    fn step(&mut self, tid: libc::pid_t, system: &mut dyn System) -> Result<bool, LoaderError> {
        let Some(index) = self.threads.iter().position(|thread| thread.tid == tid) else { return Ok(false) };
        let state = std::mem::replace(&mut self.threads[index].state, State::Running);
        let call = match state {
            State::Answered(id, answer) => {
                self.send(id, answer)?;
                return Ok(false);
            }
            State::Asks(call) => call,
            other => {
                self.threads[index].state = other;
                return Ok(false);
            }
        };
        self.calls += 1;
        if self.calls > self.command.most_calls {
            return Err(LoaderError::Endless(self.command.most_calls, self.tail()));
        }
        self.clock.pass(CALL_NS);
        self.begin_program(&call)?;
        let outcome = match libc::c_long::from(call.data.nr) {
            libc::SYS_bpf => self.bpf(index, &call, system),
            _ => calls::outcome(self, index, &call),
        };
        self.settle(index, &call, outcome)
    }

    /// The first call of the program itself comes when its functions that tell the time are already there.
    fn begin_program(&mut self, call: &Notification) -> Result<(), LoaderError> {
        if libc::c_long::from(call.data.nr) != libc::SYS_execve && !self.is_program {
            self.is_program = true;
            vdso::patch(self.child.pid).map_err(|Errno(number)| io::Error::from_raw_os_error(number))?;
        }
        Ok(())
    }

    /// Whether it makes its first call, by which it becomes the program.
    pub(crate) fn is_first_call(&self) -> bool {
        self.calls == 1
    }

    /// A signal is there for a thread: one that waits is answered so.
    pub(crate) fn interrupt(&mut self, index: usize) {
        self.end_wait(index, Answer::Error(libc::EINTR));
    }

    fn bpf(&mut self, index: usize, call: &Notification, system: &mut dyn System) -> Outcome {
        self.clock.pass(BPF_NS);
        let cpu = self.cpu_of(index);
        let caller = Caller { process: &self.process, cpu, now_ns: self.clock.now_ns };
        let [command, attributes, size, ..] = call.data.args;
        match system.bpf(&caller, command as u32, attributes, size as u32) {
            Reply::Value(value) => Outcome::Answer(Answer::Value(value)),
            Reply::Error(Errno(number)) => Outcome::Answer(Answer::Error(number)),
            Reply::Object(object, file) => match file.map_or_else(|| sys::object_file(&object_name(object), 0), Ok) {
                Ok(file) => Outcome::File(file, true),
                Err(error) => Outcome::Answer(Answer::Error(Errno::from(error).0)),
            },
            Reply::Stop => Outcome::Stop,
        }
    }

    fn settle(&mut self, index: usize, call: &Notification, outcome: Outcome) -> Result<bool, LoaderError> {
        let tid = self.threads[index].tid;
        match outcome {
            Outcome::Answer(answer) => self.send(call.id, answer)?,
            Outcome::File(file, close_on_exec) => {
                match sys::answer_with(self.listener(), call.id, file.as_fd(), close_on_exec) {
                    Ok(fd) => _ = self.listed.remove(&fd),
                    Err(error) => self.send(call.id, Answer::Error(Errno::from(error).0))?,
                }
            }
            Outcome::Wait { until, on } => {
                self.turns += 1;
                self.threads[index].state = State::Waits(call.id, Wait { turn: self.turns, until, on });
            }
            Outcome::Yield => {
                if self.ready.is_empty() {
                    self.clock.pass(YIELD_NS);
                    let now = self.clock.now_ns;
                    self.wake_by_time(now);
                }
                self.threads[index].state = State::Answered(call.id, Answer::Value(0));
                self.ready.push_back(tid);
            }
            Outcome::Thread { clears } => {
                self.expected = Some(clears);
                self.send(call.id, Answer::GoOn)?;
            }
            Outcome::EndThread => {
                let clears = self.threads.remove(index).clears;
                self.send(call.id, Answer::GoOn)?;
                self.await_end_of(tid)?;
                self.wake(clears, usize::MAX, u32::MAX);
            }
            Outcome::Stop => {
                self.threads[index].state = State::Asks(*call);
                self.stopped = Some((index, *call));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits until no thread computes any more: each has asked for something.
    fn collect(&mut self, system: &mut dyn System) -> Result<(), LoaderError> {
        // What it had taken when it was first found computing.
        let mut begun = None;
        while self.ended.is_none() {
            let running = self.threads.iter().any(|thread| matches!(thread.state, State::Running));
            if !(running || self.expected.is_some() && self.is_thread_missing()) {
                self.expected = None;
                return Ok(());
            }
            let mut fds = [self.listener().as_raw_fd(), self.child.process.as_raw_fd()].map(|fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            });
            match sys::poll(&mut fds, LOOK_MS) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error.into()),
                Err(_) | Ok(0) if system.is_to_stop() => return Err(LoaderError::Stopped),
                Err(_) | Ok(0) => {
                    let now = self.process.cpu_time();
                    let (from, looks) = begun.get_or_insert((now, 0));
                    if now - *from > CPU_UNITS {
                        return Err(LoaderError::Computes(self.tail()));
                    }
                    let running = |thread: &&Thread| matches!(thread.state, State::Running);
                    let sleeps = |thread: &Thread| self.process.is_asleep(thread.tid);
                    *looks = if self.threads.iter().filter(running).all(sleeps) { *looks + 1 } else { 0 };
                    if *looks > ASLEEP_LOOKS {
                        return Err(LoaderError::Stuck(self.tail()));
                    }
                    continue;
                }
                Ok(_) => {}
            }
            if fds[0].revents & libc::POLLIN != 0 {
                begun = None;
                self.receive()?;
            } else if fds[1].revents != 0 {
                self.ended = Some(sys::wait(self.child.pid)?);
            }
        }
        Ok(())
    }

    /// Whether a thread was made that has not asked for anything yet.
    fn is_thread_missing(&self) -> bool {
        let known = |tid: &libc::pid_t| self.threads.iter().any(|thread| thread.tid == *tid);
        self.process.threads().iter().any(|tid| !known(tid))
    }

    fn receive(&mut self) -> Result<(), LoaderError> {
        let call = match sys::receive(self.listener()) {
            Ok(call) => call,
            // The caller is gone.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let tid = call.pid as libc::pid_t;
        let known = self.threads.iter_mut().find(|thread| thread.tid == tid);
        match known {
            Some(thread) => {
                // One that continues has its turn; a new one comes behind all others.
                thread.state = State::Asks(call);
                self.ready.push_front(tid);
            }
            None => {
                let (number, clears) = (self.created, self.expected.take().unwrap_or(0));
                self.created += 1;
                self.threads.push(Thread { tid, number, clears, cpus: None, state: State::Asks(call) });
                self.ready.push_back(tid);
            }
        }
        Ok(())
    }

    /// The first thread stays as long as there are others, without doing anything.
    fn await_end_of(&mut self, tid: libc::pid_t) -> Result<(), LoaderError> {
        while !self.process.is_over(tid) {
            std::thread::yield_now();
        }
        Ok(())
    }

    fn send(&mut self, id: u64, answer: Answer) -> Result<(), LoaderError> {
        let (value, error, go_on) = match answer {
            Answer::Value(value) => (value, 0, false),
            Answer::Error(error) => (0, error, false),
            Answer::GoOn => (0, 0, true),
        };
        match sys::answer(self.listener(), id, value, error, go_on) {
            // It was ended, which is seen where threads are collected.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            other => Ok(other?),
        }
    }

    fn listener(&self) -> BorrowedFd<'_> {
        self.child.listener.as_fd()
    }

    /// Answers a thread that waits, which can run then.
    fn end_wait(&mut self, index: usize, answer: Answer) {
        let thread = &mut self.threads[index];
        if let State::Waits(id, _) = thread.state {
            thread.state = State::Answered(id, answer);
            self.ready.push_back(thread.tid);
        }
    }

    /// Those that wait and are meant, in the order in which they began.
    fn waiting(&self, is_meant: impl Fn(&Wait) -> bool) -> Vec<usize> {
        let mut found: Vec<(u64, usize)> = Vec::new();
        for (index, thread) in self.threads.iter().enumerate() {
            if let State::Waits(_, wait) = &thread.state
                && is_meant(wait)
            {
                found.push((wait.turn, index));
            }
        }
        found.sort_unstable();
        found.into_iter().map(|(_, index)| index).collect()
    }

    /// Wakes at most this many threads that wait for a word; gives how many.
    pub(crate) fn wake(&mut self, word: u64, most: usize, wanted: u32) -> usize {
        let is_meant =
            |wait: &Wait| matches!(wait.on, On::Word { address, bits } if address == word && bits & wanted != 0);
        let found = self.waiting(is_meant);
        let woken = found.len().min(most);
        found.into_iter().take(most).for_each(|index| self.end_wait(index, Answer::Value(0)));
        woken
    }

    fn wake_by_files(&mut self) {
        for index in self.waiting(|wait| matches!(wait.on, On::Files(_))) {
            let State::Waits(_, Wait { on: On::Files(files), .. }) = &self.threads[index].state else { continue };
            match calls::answer_of(self, files) {
                Ok(None) => {}
                Ok(Some(answer)) => self.end_wait(index, answer),
                Err(Errno(number)) => self.end_wait(index, Answer::Error(number)),
            }
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        let until = |thread: &Thread| match &thread.state {
            State::Waits(_, Wait { until, .. }) => until.map(|(at, _)| at),
            _ => None,
        };
        self.threads.iter().filter_map(until).min()
    }

    /// Lets time pass, and ends the waits that end with it.
    fn pass_to(&mut self, at_ns: u64) {
        self.clock.now_ns = self.clock.now_ns.max(at_ns);
        self.wake_by_time(self.clock.now_ns);
    }

    fn wake_by_time(&mut self, now: u64) {
        let mut due: Vec<(u64, usize, Answer)> = Vec::new();
        for index in self.waiting(|wait| wait.until.is_some_and(|(at, _)| at <= now)) {
            if let State::Waits(_, Wait { until: Some((at, answer)), .. }) = self.threads[index].state {
                due.push((at, index, answer));
            }
        }
        due.sort_by_key(|(at, ..)| *at);
        due.into_iter().for_each(|(_, index, answer)| self.end_wait(index, answer));
    }

    pub(crate) fn thread(&mut self, index: usize) -> &mut Thread {
        &mut self.threads[index]
    }

    /// The index of the thread that the program knows by a number, or by the host's.
    pub(crate) fn index_of(&self, number: i64) -> Option<usize> {
        let known =
            |thread: &Thread| number == i64::from(thread.tid) || number == i64::from(PID) + i64::from(thread.number);
        self.threads.iter().position(known)
    }

    /// The CPU on which a thread runs.
    pub(crate) fn cpu_of(&self, index: usize) -> u32 {
        let bits = self.threads[index].cpus.as_deref().unwrap_or_default();
        let first = bits.iter().enumerate().find(|(_, byte)| **byte != 0);
        first.map_or(0, |(at, byte)| at as u32 * 8 + byte.trailing_zeros())
    }

    /// The counter that stands for an object where a program waits for it.
    pub(crate) fn counter(&mut self, object: u32) -> io::Result<&OwnedFd> {
        use std::collections::btree_map::Entry;
        match self.counters.entry(object) {
            Entry::Occupied(found) => Ok(found.into_mut()),
            Entry::Vacant(free) => Ok(free.insert(sys::event_file()?)),
        }
    }

    /// The next random word (SplitMix64).
    pub(crate) fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.random;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    pub(crate) fn refuse(&mut self, what: String) {
        if self.refused.len() < MOST_REFUSED {
            self.refused.insert(what);
        }
    }

    /// The last that it printed, below a colon.
    pub fn tail(&self) -> String {
        // A line less is better than none about what happened.
        let Ok(output) = self.output.try_clone() else { return String::new() };
        let file = std::fs::File::from(output);
        let len = file.metadata().map_or(0, |about| about.len());
        let mut bytes = vec![0; len.min(TAIL_BYTES) as usize];
        let from = len - bytes.len() as u64;
        let _ = file.read_exact_at(&mut bytes, from);
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        if last.is_empty() { String::new() } else { format!("; it printed:\n{}", last.join("\n")) }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // There is no use for an error here, and the process ends with us at the latest.
            let _ = self.child.end();
        }
    }
}

fn how(End { status, peak_bytes }: End) -> String {
    let memory = allowance::words(peak_bytes);
    match libc::WIFSIGNALED(status) {
        true => format!("signal {}{memory}", libc::WTERMSIG(status)),
        false => format!("status {}{memory}", libc::WEXITSTATUS(status)),
    }
}
