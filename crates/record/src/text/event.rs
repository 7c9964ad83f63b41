//! The fields of scheduler events, in the kernel's own form, `comm=sh pid=12`, and in the short one, `sh:12 [120]`, that
//! some tools print instead.

use super::line::{check_cpu, number, quote};

/// A task as an event names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task<'a> {
    pub tid: i32,
    pub comm: &'a str,
    pub priority: i16,
}

/// An event of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    Switch { previous: Task<'a>, state: &'a str, next: Task<'a> },
    Waking { task: Task<'a>, target: u32 },
    Wakeup { task: Task<'a>, target: u32, new: bool },
    Migrate { task: Task<'a>, from: u32, to: u32 },
    Fork { parent: i32, child: i32, comm: &'a str },
    Exec { tid: i32, former: i32, program: &'a str },
    Exit { task: Task<'a> },
}

impl<'a> Event<'a> {
    /// Reads the fields of the event with this name; none for one that is not of interest.
    pub fn of(name: &str, fields: &'a str) -> Result<Option<Event<'a>>, String> {
        let event = match name {
            "sched_switch" => switch(fields),
            "sched_waking" => wakeup(fields).map(|(task, target)| Event::Waking { task, target }),
            "sched_wakeup" => wakeup(fields).map(|(task, target)| Event::Wakeup { task, target, new: false }),
            "sched_wakeup_new" => wakeup(fields).map(|(task, target)| Event::Wakeup { task, target, new: true }),
            "sched_migrate_task" => migrate(fields),
            "sched_process_fork" => fork(fields),
            "sched_process_exec" => exec(fields),
            "sched_process_exit" => task(fields).map(|(task, _)| Event::Exit { task }),
            _ => return Ok(None),
        };
        let wrong = || format!("{name} without the fields that the kernel gives it: {}", quote(fields));
        let event = event.ok_or_else(wrong)?;
        event.cpus().into_iter().try_for_each(check_cpu)?;
        event.impossible().map_or(Ok(Some(event)), Err)
    }

    /// The CPUs that it names.
    fn cpus(&self) -> [u32; 2] {
        match *self {
            Event::Waking { target, .. } | Event::Wakeup { target, .. } => [target, 0],
            Event::Migrate { from, to, .. } => [from, to],
            _ => [0, 0],
        }
    }
}

fn switch(fields: &str) -> Option<Event<'_>> {
    let (left, right) = fields.split_once(" ==> ")?;
    let (previous, state) = match left.strip_prefix("prev_") {
        Some(left) => {
            let (task, state) = left.rsplit_once(" prev_state=")?;
            (long(task, " prev_pid=", " prev_prio=")?, state)
        }
        None => {
            let (task, state) = left.rsplit_once(' ')?;
            (short(task)?.0, state)
        }
    };
    let next = match right.strip_prefix("next_") {
        Some(task) => long(task, " next_pid=", " next_prio=")?,
        None => short(right)?.0,
    };
    (!state.is_empty()).then_some(Event::Switch { previous, state, next })
}

impl Event<'_> {
    /// What no scheduler does.
    fn impossible(&self) -> Option<String> {
        match *self {
            // The idle task stands for all tasks that a tool does not name.
            Event::Switch { previous, next, .. } if previous.tid == next.tid && next.tid != 0 => {
                Some(format!("task {} switches to itself, which no scheduler does", next.tid))
            }
            Event::Fork { parent, child, .. } if parent == child => Some(format!("task {child} is its own parent")),
            _ => None,
        }
    }
}

fn wakeup(fields: &str) -> Option<(Task<'_>, u32)> {
    let (task, rest) = task(fields)?;
    let target = last_of(rest, "target_cpu=").or_else(|| last_of(rest, "CPU:"))?;
    Some((task, target))
}

fn migrate(fields: &str) -> Option<Event<'_>> {
    let (task, rest) = task(fields)?;
    Some(Event::Migrate { task, from: last_of(rest, "orig_cpu=")?, to: last_of(rest, "dest_cpu=")? })
}

fn fork(fields: &str) -> Option<Event<'_>> {
    let (parent, child) = fields.split_once(" child_comm=")?;
    let (comm, child) = child.rsplit_once(" child_pid=")?;
    let (_, parent) = parent.rsplit_once(" pid=")?;
    Some(Event::Fork { parent: number(parent)?, child: number(child)?, comm })
}

fn exec(fields: &str) -> Option<Event<'_>> {
    let (file, rest) = fields.strip_prefix("filename=")?.rsplit_once(" pid=")?;
    let (tid, former) = rest.split_once(" old_pid=")?;
    let program = file.rsplit('/').next().unwrap_or(file);
    Some(Event::Exec { tid: number(tid)?, former: number(former)?, program })
}

/// The task at the beginning of the fields, and what comes behind it.
fn task(fields: &str) -> Option<(Task<'_>, &str)> {
    if !fields.starts_with("comm=") {
        return short(fields);
    }
    // What comes behind the priority has no blank in its values.
    let (_, behind) = fields.rsplit_once(" prio=")?;
    let rest = behind.split_once(' ').map_or("", |(_, rest)| rest);
    let task = fields[..fields.len() - rest.len()].trim_end();
    Some((long(task, " pid=", " prio=")?, rest))
}

/// `comm=sh pid=12 prio=120` under these names.
fn long<'a>(text: &'a str, pid: &str, priority: &str) -> Option<Task<'a>> {
    let (rest, priority) = text.rsplit_once(priority)?;
    let (comm, tid) = rest.rsplit_once(pid)?;
    Some(Task { tid: number(tid)?, comm: comm.strip_prefix("comm=")?, priority: of_priority(priority)? })
}

/// `sh:12 [120]` and what comes behind it.
fn short(text: &str) -> Option<(Task<'_>, &str)> {
    let open = text.match_indices(" [").map(|(at, _)| at);
    open.filter_map(|open| {
        let (comm, tid) = text[..open].rsplit_once(':')?;
        let (priority, rest) = text[open + 2..].split_once(']')?;
        Some((Task { tid: number(tid)?, comm, priority: of_priority(priority)? }, rest))
    })
    .next()
}

/// Deadline tasks have -1.
fn of_priority(text: &str) -> Option<i16> {
    if text == "-1" { Some(-1) } else { number(text) }
}

/// The number behind a name in a list of words.
fn last_of(text: &str, name: &str) -> Option<u32> {
    text.split_whitespace().rev().find_map(|word| number(word.strip_prefix(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SH: Task = Task { tid: 12, comm: "sh", priority: 120 };

    fn of<'a>(name: &str, fields: &'a str) -> Event<'a> {
        Event::of(name, fields).unwrap().unwrap()
    }

    #[test]
    fn both_forms_say_the_same() {
        let idle = Task { tid: 0, comm: "swapper/1", priority: 120 };
        let switch = Event::Switch { previous: SH, state: "R+", next: idle };
        let long =
            "prev_comm=sh prev_pid=12 prev_prio=120 prev_state=R+ ==> next_comm=swapper/1 next_pid=0 next_prio=120";
        assert_eq!(of("sched_switch", long), switch);
        assert_eq!(of("sched_switch", "sh:12 [120] R+ ==> swapper/1:0 [120]"), switch);
        let wakeup = Event::Wakeup { task: SH, target: 1, new: false };
        for fields in ["comm=sh pid=12 prio=120 target_cpu=001", "comm=sh pid=12 prio=120 success=1 target_cpu=001"] {
            assert_eq!(of("sched_wakeup", fields), wakeup);
        }
        for fields in ["sh:12 [120] success=1 CPU:001", "sh:12 [120]<CANT FIND FIELD success> CPU:001"] {
            assert_eq!(of("sched_wakeup", fields), wakeup);
        }
        assert_eq!(of("sched_waking", "sh:12 [120] CPU:003"), Event::Waking { task: SH, target: 3 });
    }

    #[test]
    fn the_other_events_are_read() {
        let fields = "comm=sh pid=12 prio=120 orig_cpu=0 dest_cpu=1";
        assert_eq!(of("sched_migrate_task", fields), Event::Migrate { task: SH, from: 0, to: 1 });
        let fork = Event::Fork { parent: 12, child: 13, comm: "a b" };
        assert_eq!(of("sched_process_fork", "comm=sh pid=12 child_comm=a b child_pid=13"), fork);
        let exec = Event::Exec { tid: 12, former: 11, program: "a pid=9" };
        assert_eq!(of("sched_process_exec", "filename=/bin/a pid=9 pid=12 old_pid=11"), exec);
        for fields in ["comm=sh pid=12 prio=120", "comm=sh pid=12 prio=120 group_dead=true"] {
            assert_eq!(of("sched_process_exit", fields), Event::Exit { task: SH });
        }
        assert_eq!(Event::of("sys_enter", "NR 1"), Ok(None));
    }

    #[test]
    fn names_may_look_like_fields() {
        let comm = "a:1 pid=2 [x]";
        let fields = format!("comm={comm} pid=12 prio=-1 target_cpu=000");
        let task = Task { tid: 12, comm, priority: -1 };
        assert_eq!(of("sched_wakeup", &fields), Event::Wakeup { task, target: 0, new: false });
        let fields = format!("{comm}:12 [-1] CPU:000");
        assert_eq!(of("sched_wakeup", &fields), Event::Wakeup { task, target: 0, new: false });
    }

    #[test]
    fn damaged_fields_are_told() {
        let whole = "prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=b next_pid=1 next_prio=1";
        for cut in 0..whole.len() {
            assert!(Event::of("sched_switch", &whole[..cut]).is_err(), "{}", &whole[..cut]);
        }
        let error = Event::of("sched_wakeup", "comm=sh pid=x prio=120 target_cpu=001").unwrap_err();
        assert!(error.starts_with("sched_wakeup without the fields"), "{error}");
        assert!(Event::of("sched_wakeup", "a:1 [120] CPU:4096").unwrap_err().starts_with("there is no CPU 4096"));
        assert!(Event::of("sched_process_fork", "comm=a pid=1 child_comm=b child_pid=99999999999").is_err());
    }
}
