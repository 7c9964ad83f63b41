//! The threads that exist when a recording begins, as `/proc` shows them.

use crate::process::numbers;
use schedlab_record::{Comm, Thread};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// A thread as `/proc` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    pub thread: Thread,
    pub comm: Comm,
    pub runnable: bool,
    pub cpu: u32,
    parent: i32,
}

/// The living threads of a process; none when it is gone.
pub fn threads(tgid: i32) -> Vec<Shown> {
    let tids = numbers(&format!("/proc/{tgid}/task"));
    tids.into_iter().filter_map(|tid| shown(tgid, &format!("/proc/{tgid}/task/{tid}/stat"))).collect()
}

/// All processes.
pub fn processes() -> Vec<i32> {
    numbers("/proc")
}

/// The given processes and all that descend from them.
pub fn with_descendants(roots: &[i32]) -> BTreeSet<i32> {
    let parents: BTreeMap<i32, i32> = processes()
        .into_iter()
        .filter_map(|tgid| Some((tgid, shown(tgid, &format!("/proc/{tgid}/stat"))?.parent)))
        .collect();
    descend(roots, &parents)
}

fn descend(roots: &[i32], parents: &BTreeMap<i32, i32>) -> BTreeSet<i32> {
    let mut found: BTreeSet<i32> = roots.iter().copied().collect();
    loop {
        let before = found.len();
        found.extend(
            parents.iter().filter(|(_, parent)| found.contains(parent)).map(|(&tgid, _)| tgid).collect::<Vec<_>>(),
        );
        if found.len() == before {
            return found;
        }
    }
}

fn shown(tgid: i32, path: &str) -> Option<Shown> {
    parse_stat(tgid, &fs::read(path).ok()?)
}

/// proc(5), `/proc/PID/stat`: the name is in parentheses and may hold any byte, the other fields are numbered from 3
/// behind it.
fn parse_stat(tgid: i32, bytes: &[u8]) -> Option<Shown> {
    let open = bytes.iter().position(|&byte| byte == b'(')?;
    let close = bytes.iter().rposition(|&byte| byte == b')')?;
    let tid = std::str::from_utf8(&bytes[..open]).ok()?.trim().parse().ok()?;
    let rest = std::str::from_utf8(bytes.get(close + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<i32>().ok();
    let state = *fields.first()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    // The kernel shows its priority less 100.
    let priority = i16::try_from(number(18)? + 100).ok()?;
    Some(Shown {
        thread: Thread { tid, tgid, priority, followed: true },
        comm: Comm::new(&bytes[open + 1..close]),
        runnable: state == "R",
        cpu: u32::try_from(number(39)?).ok()?,
        parent: number(4)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_the_rest() {
        let fields = "R 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 17 1 0 0";
        let shown = parse_stat(40, format!("42 (a) S (b) {fields}\n").as_bytes()).unwrap();
        assert_eq!(shown.thread, Thread { tid: 42, tgid: 40, priority: 120, followed: true });
        assert_eq!((shown.comm.to_string().as_str(), shown.runnable), ("a) S (b", true));
        assert_eq!((shown.cpu, shown.parent), (1, 7));
        assert_eq!(parse_stat(40, fields.replace('R', "Z").as_bytes()), None);
    }

    #[test]
    fn this_thread_is_there() {
        let me = std::process::id() as i32;
        let tid = unsafe { libc::gettid() };
        let own = threads(me).into_iter().find(|shown| shown.thread.tid == tid).unwrap();
        assert!(own.runnable && own.thread.priority >= 100);
        assert!(with_descendants(&[1]).contains(&me) || with_descendants(&[me]).contains(&me));
    }

    #[test]
    fn descendants_are_found_through_generations() {
        let parents = BTreeMap::from([(5, 9), (9, 2), (2, 1), (3, 1), (7, 5)]);
        assert_eq!(descend(&[2], &parents), BTreeSet::from([2, 5, 7, 9]));
        assert_eq!(descend(&[8], &parents), BTreeSet::from([8]));
    }
}
