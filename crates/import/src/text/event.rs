//! The fields of scheduler events, in the kernel's own form, `comm=sh pid=12`, in the short one, `sh:12 [120]`, that some
//! tools print instead, and in the raw one of `trace-cmd report -R` and of ftrace's option `fields`, with numeric states.

use super::fields::{Fields, whole};
use super::line::{number, quote};
use crate::told::{Event, States, Task};
use schedlab_record::{Comm, Departure};

/// How events begin that are of interest, for a first look at a line.
pub const NAMES: [&str; 10] = [
    "sched_switch",
    "sched_waking",
    "sched_wakeup",
    "sched_wakeup_new",
    "sched_migrate_task",
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_exit",
    "sched_stat_runtime",
    "task_rename",
];

/// Reads the fields of the event with this name; none for one that is not of interest.
pub fn of(name: &str, fields: &str) -> Result<Option<Event>, String> {
    if is_of_probe(fields) {
        return Ok(None);
    }
    let event = match name {
        "sched_switch" => switch(fields),
        "sched_waking" => wakeup(fields).map(|(task, target)| Event::Waking { task, target }),
        "sched_wakeup" => wakeup(fields).map(|(task, target)| Event::Wakeup { task, target, new: false }),
        "sched_wakeup_new" => wakeup(fields).map(|(task, target)| Event::Wakeup { task, target, new: true }),
        "sched_migrate_task" => migrate(fields),
        "sched_process_fork" => fork(fields),
        "sched_process_exec" => exec(fields),
        "sched_process_exit" => task(fields).map(|(task, _)| Event::Exit { task }),
        "sched_stat_runtime" => ran(fields),
        "task_rename" => rename(fields),
        _ => return Ok(None),
    };
    let wrong = || format!("{name} without the fields that the kernel gives it: {}", quote(fields));
    let event = event.ok_or_else(wrong)?;
    event.check()?;
    Ok(Some(event))
}

/// Whether fields are those of a probe, which has any name: they begin with its place, as `(try_to_wake_up+0x0/0x600)`.
fn is_of_probe(fields: &str) -> bool {
    let place = fields.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    place.is_some_and(|(place, behind)| {
        let is_address = place.len() >= 8 && place.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_address || place.contains("+0x")) && (behind.is_empty() || behind.starts_with(' '))
    })
}

const SWITCH: &[&str] = &["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"];

fn switch(text: &str) -> Option<Event> {
    if !text.contains("prev_pid=") {
        let (left, right) = text.split_once(" ==> ")?;
        let (task, state) = left.rsplit_once(' ')?;
        let (previous, next) = (short(task)?.0, short(right)?.0);
        return Some(Event::Switch { previous, how: departure(state)?, next });
    }
    let fields = Fields::new(text, SWITCH);
    let of = |comm: &str, tid: &str, priority: &str| -> Option<Task> {
        // The arrow stands between the state and the next task's name.
        Some(Task { tid: fields.number(tid)?, comm: comm_of(fields.name(comm)?), priority: fields.number(priority)? })
    };
    let previous = of("prev_comm", "prev_pid", "prev_prio")?;
    let next = of("next_comm", "next_pid", "next_prio")?;
    let how = departure(fields.word("prev_state")?)?;
    let is_whole = previous.tid >= 0 && next.tid >= 0;
    is_whole.then_some(Event::Switch { previous, how, next })
}

fn wakeup(text: &str) -> Option<(Task, u32)> {
    let (task, rest) = task(text)?;
    let target = last_of(rest, "target_cpu=").or_else(|| last_of(rest, "CPU:"))?;
    Some((task, target))
}

fn migrate(text: &str) -> Option<Event> {
    let (task, rest) = task(text)?;
    Some(Event::Migrate { task, from: last_of(rest, "orig_cpu=")?, to: last_of(rest, "dest_cpu=")? })
}

fn fork(text: &str) -> Option<Event> {
    let fields = Fields::new(text, &["comm", "parent_comm", "pid", "parent_pid", "child_comm", "child_pid"]);
    let parent = fields.number("pid").or_else(|| fields.number("parent_pid"))?;
    Some(Event::Fork { parent, child: fields.number("child_pid")?, comm: comm_of(fields.name("child_comm")?) })
}

fn exec(text: &str) -> Option<Event> {
    let fields = Fields::new(text, &["filename", "pid", "old_pid"]);
    let program = fields.name("filename")?.rsplit('/').next().unwrap_or_default();
    Some(Event::Exec { tid: fields.number("pid")?, former: fields.number("old_pid")?, program: comm_of(program) })
}

fn ran(text: &str) -> Option<Event> {
    let fields = Fields::new(text, &["comm", "pid", "runtime", "vruntime"]);
    let runtime_ns = u64::try_from(fields.number::<i64>("runtime")?).ok()?;
    Some(Event::Ran { tid: fields.number("pid")?, comm: comm_of(fields.name("comm")?), runtime_ns })
}

fn rename(text: &str) -> Option<Event> {
    let fields = Fields::new(text, &["pid", "oldcomm", "newcomm", "oom_score_adj"]);
    Some(Event::Rename { tid: fields.number("pid")?, comm: comm_of(fields.name("newcomm")?) })
}

/// The task of an event that has one, and the text in which its other fields are.
fn task(text: &str) -> Option<(Task, &str)> {
    if !text.contains("comm=") {
        return short(text);
    }
    let fields =
        Fields::new(text, &["comm", "pid", "prio", "success", "target_cpu", "orig_cpu", "dest_cpu", "group_dead"]);
    let task =
        Task { tid: fields.number("pid")?, comm: comm_of(fields.name("comm")?), priority: fields.number("prio")? };
    (task.tid >= 0).then_some((task, text))
}

/// `sh:12 [120]` and what comes behind it.
fn short(text: &str) -> Option<(Task, &str)> {
    let open = text.match_indices(" [").map(|(at, _)| at);
    open.filter_map(|open| {
        let (comm, tid) = text[..open].rsplit_once(':')?;
        let (priority, rest) = text[open + 2..].split_once(']')?;
        let priority = i16::try_from(whole(priority)?).ok()?;
        Some((Task { tid: number(tid)?, comm: comm_of(comm), priority }, rest))
    })
    .next()
}

fn comm_of(text: &str) -> Comm {
    Comm::new(text.as_bytes())
}

/// The number behind a name in a list of words.
fn last_of(text: &str, name: &str) -> Option<u32> {
    let word = text.split_whitespace().rev().find_map(|word| word.strip_prefix(name))?;
    u32::try_from(whole(word)?).ok()
}

/// The state that a task leaves its CPU in, as the kernel's letters (`task_state_to_char`): `R` runnable, `X` and `Z` ended, others
/// asleep; or as its bits, of which no text says by which kernel. 0x40 counts as dead, as before Linux 4.14: parked threads are rare.
fn departure(state: &str) -> Option<Departure> {
    if state.starts_with(|letter: char| letter.is_ascii_digit()) {
        return Some(States::Before.departure(u64::try_from(whole(state)?).ok()?));
    }
    Some(match state.as_bytes().first()? {
        b'R' => Departure::Preempted,
        b'X' | b'x' | b'Z' => Departure::Exited,
        b'S' | b'D' | b'T' | b't' | b'P' | b'I' | b'K' | b'W' | b'N' => Departure::Blocked,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh() -> Task {
        Task { tid: 12, comm: Comm::new(b"sh"), priority: 120 }
    }

    fn read(name: &str, fields: &str) -> Event {
        of(name, fields).unwrap().unwrap()
    }

    #[test]
    fn all_forms_say_the_same() {
        let idle = Task { tid: 0, comm: Comm::new(b"swapper/1"), priority: 120 };
        let switch = Event::Switch { previous: sh(), how: Departure::Preempted, next: idle };
        for fields in [
            "prev_comm=sh prev_pid=12 prev_prio=120 prev_state=R+ ==> next_comm=swapper/1 next_pid=0 next_prio=120",
            "prev_comm=sh prev_pid=12 prev_prio=120 prev_state=R ==> next_comm=swapper/1 next_pid=0 next_prio=120 vendor=3",
            "prev_comm=sh prev_pid=12 prev_prio=120 prev_state=4096 next_comm=swapper/1 next_pid=0 next_prio=120",
            "prev_comm=sh prev_pid=0xc (12) prev_prio=0x78 (120) prev_state=0x100 (256) next_comm=swapper/1 next_pid=0x0 (0) \
             next_prio=0x78 (120)",
            "next_prio=0x78 (120) next_pid=0x0 (0) next_comm=swapper/1 prev_state=0x0 (0) prev_prio=0x78 (120) \
             prev_pid=0xc (12) prev_comm=sh",
            "sh:12 [120] R+ ==> swapper/1:0 [120]",
            "sh:12 [120] R ==> swapper/1:0 [120] Latency: 1.963 usecs",
        ] {
            assert_eq!(read("sched_switch", fields), switch, "{fields}");
        }
        let wakeup = Event::Wakeup { task: sh(), target: 1, new: false };
        for fields in [
            "comm=sh pid=12 prio=120 target_cpu=001",
            "comm=sh pid=12 prio=120 success=1 target_cpu=001 state=S",
            "comm=sh pid=0xc (12) prio=0x78 (120) target_cpu=0x1 (1)",
            "sh:12 [120] success=1 CPU:001",
            "sh:12 [120]<CANT FIND FIELD success> CPU:001",
        ] {
            assert_eq!(read("sched_wakeup", fields), wakeup, "{fields}");
        }
        assert_eq!(read("sched_waking", "sh:12 [120] CPU:003"), Event::Waking { task: sh(), target: 3 });
    }

    #[test]
    fn states_are_letters_or_bits() {
        for (state, expected) in [
            ("S", Departure::Blocked),
            ("D|K", Departure::Blocked),
            ("R+", Departure::Preempted),
            ("X", Departure::Exited),
            ("1", Departure::Blocked),
            ("2048", Departure::Preempted),
            ("64", Departure::Exited),
            ("0x20", Departure::Exited),
        ] {
            assert_eq!(departure(state), Some(expected), "{state}");
        }
        assert_eq!((departure(""), departure("9x")), (None, None));
    }

    #[test]
    fn the_other_events_are_read() {
        let fields = "comm=sh pid=12 prio=120 orig_cpu=0 dest_cpu=1";
        assert_eq!(read("sched_migrate_task", fields), Event::Migrate { task: sh(), from: 0, to: 1 });
        let fork = Event::Fork { parent: 12, child: 13, comm: Comm::new(b"a b") };
        for fields in
            ["comm=sh pid=12 child_comm=a b child_pid=13", "parent_comm=sh parent_pid=12 child_comm=a b child_pid=13"]
        {
            assert_eq!(read("sched_process_fork", fields), fork, "{fields}");
        }
        let exec = Event::Exec { tid: 12, former: 11, program: Comm::new(b"a pid=9") };
        assert_eq!(read("sched_process_exec", "filename=/bin/a pid=9 pid=12 old_pid=11"), exec);
        for fields in ["comm=sh pid=12 prio=120", "comm=sh pid=12 prio=120 group_dead=true"] {
            assert_eq!(read("sched_process_exit", fields), Event::Exit { task: sh() });
        }
        let ran = Event::Ran { tid: 12, comm: Comm::new(b"sh"), runtime_ns: 7 };
        for fields in ["comm=sh pid=12 runtime=7 [ns] vruntime=9 [ns]", "comm=sh pid=12 runtime=7"] {
            assert_eq!(read("sched_stat_runtime", fields), ran, "{fields}");
        }
        let rename = Event::Rename { tid: 12, comm: Comm::new(b"a b") };
        assert_eq!(read("task_rename", "pid=12 oldcomm=sh newcomm=a b oom_score_adj=0"), rename);
        assert_eq!(of("sys_enter", "NR 1"), Ok(None));
    }

    #[test]
    fn names_may_look_like_fields() {
        let comm = "a:1 pid=2 [x]";
        let task = Task { tid: 12, comm: Comm::new(comm.as_bytes()), priority: -1 };
        let expected = Event::Wakeup { task, target: 0, new: false };
        assert_eq!(read("sched_wakeup", &format!("comm={comm} pid=12 prio=-1 target_cpu=000")), expected);
        assert_eq!(read("sched_wakeup", &format!("{comm}:12 [-1] CPU:000")), expected);
    }

    #[test]
    fn a_probe_may_have_the_name_of_a_scheduler_event() {
        for fields in [
            "(__probestub_sched_switch+0x4/0x10) preempt=0 prev=0xffff88800664e100 prev_state=1",
            "(try_to_wake_up+0x0/0x600)",
            "(do_fork+0x1/0x2 <- sys_fork+0x3/0x4) arg1=5",
            "(ffffffff810a1234) arg1=5",
        ] {
            assert_eq!(of("sched_switch", fields), Ok(None), "{fields}");
        }
        let task = Task { tid: 12, comm: Comm::new(b"(sd-pam)"), priority: 120 };
        assert_eq!(read("sched_waking", "(sd-pam):12 [120] CPU:003"), Event::Waking { task, target: 3 });
    }

    #[test]
    fn damaged_fields_are_told() {
        let whole = "prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=b next_pid=1 next_prio=1";
        for cut in 0..whole.len() {
            assert!(of("sched_switch", &whole[..cut]).is_err(), "{}", &whole[..cut]);
        }
        // No kernel has a state of that letter.
        assert!(of("sched_switch", &whole.replace("=S", "=Q")).is_err());
        let error = of("sched_wakeup", "comm=sh pid=x prio=120 target_cpu=001").unwrap_err();
        assert!(error.starts_with("sched_wakeup without the fields"), "{error}");
        assert!(of("sched_wakeup", "a:1 [120] CPU:4096").unwrap_err().starts_with("there is no CPU 4096"));
        assert!(of("sched_process_fork", "comm=a pid=1 child_comm=b child_pid=99999999999").is_err());
    }
}
