//! Which program each thread belongs to.
//!
//! A task has one role for all its life, and a process may run several programs in its: a shell that is about to
//! become `ls` is a shell first. It counts as the last one, which is known only at the end of the recording. So
//! [`Programs`] goes over the records twice, in the same way: first to learn the names, then to find each again.

use schedlab_boundary::Shown;
use schedlab_model::ids::RoleId;
use schedlab_model::workload::MAX_ROLES;
use schedlab_record::{Comm, Record, RecordKind, Thread};
use std::collections::BTreeMap;

/// The name for all programs beyond the limit. It is longer than any thread's name.
const FURTHER: &str = "all further programs";

/// What a role of a trace is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoleBy {
    /// All threads of all processes that ran a program.
    #[default]
    Program,
    /// Of those, the threads of one name, except for the number at its end.
    Thread,
}

/// The processes seen so far, or their threads.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    role_by: RoleBy,
    /// The life that has a number now, of a process or of a thread; numbers are given away again.
    lives: BTreeMap<i32, usize>,
    /// The name of each life: that of the process's first thread, or of the thread, as last heard.
    names: Vec<Comm>,
    /// The life of the process that each belongs to.
    processes: Vec<usize>,
    cpus: u32,
    last_ns: u64,
}

impl Programs {
    /// With roles of this kind.
    pub fn by(role_by: RoleBy) -> Programs {
        Programs { role_by, ..Programs::default() }
    }

    /// What a role is.
    pub fn role_by(&self) -> RoleBy {
        self.role_by
    }

    /// The number by which a thread's life is known.
    fn number(&self, thread: &Thread) -> i32 {
        match self.role_by {
            RoleBy::Program => thread.tgid,
            RoleBy::Thread => thread.tid,
        }
    }

    /// Takes the next record.
    pub fn note(&mut self, record: &Record) {
        self.last_ns = record.time_ns;
        self.see_cpu(record.cpu);
        match record.kind {
            RecordKind::Switch { previous, next, .. } => {
                self.see(&previous);
                self.see(&next);
            }
            RecordKind::Wakeup { thread, target, .. } => {
                self.see(&thread);
                self.see_cpu(target);
            }
            RecordKind::Migrate { thread, from, to } => {
                self.see(&thread);
                self.see_cpu(from.max(to));
            }
            RecordKind::Running { thread, .. } | RecordKind::Exit { thread } | RecordKind::Ran { thread, .. } => {
                self.see(&thread);
            }
            RecordKind::Fork { child, comm, .. } => {
                if self.number(&child) == child.tid {
                    self.lives.remove(&child.tid);
                }
                self.name(&child, comm);
            }
            RecordKind::Present { thread, comm, cpu, .. } => {
                self.name(&thread, comm);
                self.see_cpu(cpu);
            }
            RecordKind::Exec { thread, comm, .. } | RecordKind::Rename { thread, comm } => self.name(&thread, comm),
            RecordKind::Status { thread, .. } => self.see(&thread),
            RecordKind::Publishing
            | RecordKind::Lost
            | RecordKind::SoftirqEntry
            | RecordKind::SoftirqExit
            | RecordKind::Tick => {}
        }
    }

    /// The life that this thread is part of now.
    pub fn life(&self, thread: &Thread) -> Option<usize> {
        self.lives.get(&self.number(thread)).copied()
    }

    /// The number of CPUs that any record spoke of, from 0.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// The time of the last record.
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// The programs in the order of their first life, and the one of each life. Beyond the most roles that a trace has,
    /// programs are one.
    pub fn roles(&self) -> (Vec<String>, Vec<RoleId>) {
        let (mut programs, mut places) = (Vec::new(), BTreeMap::new());
        let of_life = self.names.iter().zip(&self.processes).map(|(&comm, &process)| {
            let name = match self.role_by {
                RoleBy::Program => program(comm),
                RoleBy::Thread => role(self.names[process], comm),
            };
            let fits = places.len() + 1 < MAX_ROLES || places.contains_key(&name);
            let name = if fits { name } else { FURTHER.to_string() };
            *places.entry(name.clone()).or_insert_with(|| {
                programs.push(name);
                RoleId(programs.len() as u32 - 1)
            })
        });
        let of_life = of_life.collect();
        (programs, of_life)
    }

    fn see(&mut self, thread: &Thread) {
        if thread.followed {
            self.live(thread);
        }
    }

    fn live(&mut self, thread: &Thread) -> usize {
        let number = self.number(thread);
        if let Some(life) = self.lives.get(&number) {
            return *life;
        }
        let process = (number != thread.tgid).then(|| self.live(&Thread { tid: thread.tgid, ..*thread }));
        self.names.push(Comm::default());
        let life = self.names.len() - 1;
        self.processes.push(process.unwrap_or(life));
        self.lives.insert(number, life);
        life
    }

    /// A thread is called so. Another than the first names its process only until that is known.
    fn name(&mut self, thread: &Thread, comm: Comm) {
        let life = self.live(thread);
        if thread.tid == self.number(thread) || self.names[life] == Comm::default() {
            self.names[life] = comm;
        }
    }

    fn see_cpu(&mut self, cpu: u32) {
        self.cpus = self.cpus.max(cpu.saturating_add(1));
    }
}

/// The program of a process with this name. Kernel threads of one kind, as `ksoftirqd/0`, are one program.
fn program(comm: Comm) -> String {
    let name = comm.to_string();
    let kind = name.split('/').next().unwrap_or_default();
    clean(if kind.is_empty() { "unnamed" } else { kind })
}

/// The name of a role: that of the program, and that of the thread without a number at its end where it has another.
fn role(process: Comm, thread: Comm) -> String {
    let (process, thread) = (program(process), program(thread));
    let kind = thread.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let kind = kind.trim_end_matches(['-', '_', '#', '.', ':', ' ']);
    let kind = if kind.is_empty() { thread.as_str() } else { kind };
    if process == thread || process == "unnamed" { kind.to_string() } else { format!("{process}:{kind}") }
}

/// A name that a process gave itself, without what a terminal would obey.
pub fn clean(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    Shown::name(&spaced).into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(tid: i32, tgid: i32) -> Thread {
        Thread { tid, tgid, priority: 120, followed: true }
    }

    fn record(kind: RecordKind) -> Record {
        Record { time_ns: 5, cpu: 1, kind }
    }

    fn fork(tid: i32, tgid: i32, name: &str) -> Record {
        record(RecordKind::Fork { parent: 1, child: thread(tid, tgid), comm: Comm::new(name.as_bytes()) })
    }

    fn exec(tid: i32, name: &str) -> Record {
        record(RecordKind::Exec { thread: thread(tid, tid), former: tid, comm: Comm::new(name.as_bytes()) })
    }

    #[test]
    fn a_process_counts_as_the_last_program_it_ran() {
        let mut programs = Programs::default();
        let records =
            [fork(10, 10, "sh"), fork(11, 11, "sh"), exec(11, "make"), fork(12, 11, "worker"), exec(10, "ls")];
        records.iter().for_each(|record| programs.note(record));
        let (names, of_life) = programs.roles();
        assert_eq!(names, ["ls", "make"]);
        assert_eq!(of_life[programs.life(&thread(11, 11)).unwrap()], RoleId(1));
        assert_eq!((programs.cpus(), programs.last_ns()), (2, 5));
    }

    #[test]
    fn a_number_that_is_given_away_again_is_another_life() {
        let mut programs = Programs::default();
        [fork(10, 10, "cat"), fork(10, 10, "dog"), fork(20, 20, "cat")].iter().for_each(|record| programs.note(record));
        assert_eq!(programs.roles(), (vec!["cat".into(), "dog".into()], vec![RoleId(0), RoleId(1), RoleId(0)]));
        assert_eq!((programs.life(&thread(10, 10)), programs.life(&thread(30, 30))), (Some(1), None));
    }

    #[test]
    fn threads_of_a_program_are_roleed_by_what_they_are_called() {
        let mut programs = Programs::by(RoleBy::Thread);
        let records = [
            fork(10, 10, "sh"),
            exec(10, "firefox"),
            fork(11, 10, "Compositor"),
            fork(12, 10, "Worker-1"),
            fork(13, 10, "Worker #2"),
            fork(20, 20, "Worker-7"),
        ];
        records.iter().for_each(|record| programs.note(record));
        let (names, of_life) = programs.roles();
        assert_eq!(names, ["firefox", "firefox:Compositor", "firefox:Worker", "Worker"]);
        let role = |tid, tgid| of_life[programs.life(&thread(tid, tgid)).unwrap()];
        assert_eq!((role(12, 10), role(13, 10), role(20, 20)), (RoleId(2), RoleId(2), RoleId(3)));
    }

    #[test]
    fn names_are_of_programs_and_harmless() {
        let of = |name: &str| program(Comm::new(name.as_bytes()));
        assert_eq!(
            ["ksoftirqd/0", "kworker/u8:1", "\u{1b}[2J", "", "a b"].map(of),
            ["ksoftirqd", "kworker", "\\u{1b}[2J", "unnamed", "a b"]
        );
    }
}
