//! The kernel's log.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// What the kernel says from some moment on.
pub struct Log {
    file: Option<File>,
    /// What has been read of it.
    said: RefCell<Vec<String>>,
}

impl Log {
    /// From now on; nothing, when this process may not read it.
    pub fn from_now() -> Log {
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg");
        let file = file.ok().and_then(|mut file| file.seek(SeekFrom::End(0)).ok().map(|_| file));
        Log { file, said: RefCell::default() }
    }

    /// Why sched_ext ended a policy, in a line; below it, where the kernel was when that happened.
    pub fn of_sched_ext(&self) -> String {
        let Some(mut file) = self.file.as_ref() else { return "its log cannot be read".into() };
        let (mut said, mut record) = (self.said.borrow_mut(), [0; 8192]);
        // Each read gives one record.
        while let Ok(length) = file.read(&mut record) {
            said.extend(text(&String::from_utf8_lossy(&record[..length])));
        }
        reason(&said)
    }
}

/// A record is numbers, a semicolon, the text, and lines about the device.
fn text(record: &str) -> Option<String> {
    Some(record.split_once(';')?.1.lines().next()?.to_string())
}

/// The log has at most this many calls.
const CALLS: usize = 8;

/// The kernel says first which policy ended and for what kind of reason, then the reason, then the calls that led to it.
fn reason(said: &[String]) -> String {
    let ours = |line: &String| line.strip_prefix("sched_ext: ").map(str::to_string);
    let begin = said.iter().position(|line| ours(line).is_some_and(|line| line.contains("\" disabled (")));
    let said = &said[begin.unwrap_or(0)..];
    let words: Vec<String> = said.iter().filter_map(ours).collect();
    let calls = said.iter().rposition(|line| ours(line).is_some()).map_or(said.len(), |last| last + 1);
    let calls = said[calls..].iter().take_while(|line| line.starts_with(' ')).take(CALLS);
    let calls = calls.map(|line| format!("\n  kernel: {}", line.trim()));
    if words.is_empty() { "it did not say why".into() } else { words.join("; ") + &calls.collect::<String>() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| line.to_string()).collect()
    }

    #[test]
    fn a_record_is_its_text() {
        assert_eq!(text("6,339,5140900,-;sched_ext: a; b\n SUBSYSTEM=x\n").as_deref(), Some("sched_ext: a; b"));
        assert_eq!(text("no record"), None);
    }

    #[test]
    fn the_reason_is_one_line_with_the_calls_below_it() {
        let said = lines(&[
            "sched_ext: BPF scheduler \"bad\" enabled",
            "e1000: link is up",
            "sched_ext: BPF scheduler \"bad\" disabled (runtime error)",
            "sched_ext: bad: invalid DSQ ID 0x9",
            "   find_dsq+0x5/0x90",
            "e1000: link is down",
            "   unrelated",
        ]);
        let told =
            "BPF scheduler \"bad\" disabled (runtime error); bad: invalid DSQ ID 0x9\n  kernel: find_dsq+0x5/0x90";
        assert_eq!(reason(&said), told);
        assert_eq!(reason(&lines(&["e1000: link is up"])), "it did not say why");
    }
}
