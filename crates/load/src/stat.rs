//! What the kernel shows of a process or a thread in its file `stat` (proc(5)).

use std::fs;
use std::path::Path;

/// The first fields of a process or thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its name. May hold any character, parentheses too.
    pub name: String,
    /// `R`, `S`, `D`, `Z`, `X` and so on.
    pub state: char,
    /// The process number of its parent.
    pub parent: i32,
}

impl Stat {
    /// That of a folder in `/proc`; none when the process is gone.
    pub fn of(folder: &Path) -> Option<Stat> {
        Stat::parse(&String::from_utf8_lossy(&fs::read(folder.join("stat")).ok()?))
    }

    /// Whether it has ended, and only its parent does not know yet.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    fn parse(text: &str) -> Option<Stat> {
        let (before, after) = text.rsplit_once(')')?;
        let mut fields = after.split_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        Some(Stat { name: before.split_once('(')?.1.to_string(), state, parent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = Stat::parse("9 (kworker/0:0-(a) b) I 2 0 0\n").expect("it is one");
        assert_eq!(stat, Stat { name: "kworker/0:0-(a) b".into(), state: 'I', parent: 2 });
        assert!(!stat.has_ended());
        assert!(Stat::parse("9 (sh) Z 1 9 9\n").expect("it is one").has_ended());
        assert_eq!([Stat::parse("9 bash"), Stat::parse("9 (bash)"), Stat::parse("")], [None, None, None]);
    }

    #[test]
    fn this_process_runs() {
        let stat = Stat::of(Path::new("/proc/self")).expect("it is there");
        // SAFETY: it takes nothing.
        assert_eq!((stat.parent, stat.has_ended()), (unsafe { libc::getppid() }, false));
    }
}
