//! Lines of ftrace's file `trace` and of `trace-cmd report`: `comm-pid [cpu] flags time: event: fields`, with `(tgid)` when it
//! was asked for, and the comments above and between them.

use super::line::{Line, Note, around_cpu, number, time_and_event};

/// Reads an event's line, with flags or without, as older versions and `trace-cmd report` write it.
pub fn line(text: &str) -> Option<Line<'_>> {
    around_cpu(text).find_map(|(task, cpu, rest)| {
        let (task, tgid) = without_process(task.trim_end());
        let (_, tid) = task.rsplit_once('-')?;
        let tid = number(tid).filter(|_| !tid.is_empty())?;
        let rest = rest.trim_start();
        let (first, behind) = rest.split_once(char::is_whitespace)?;
        let (in_interrupt, rest) = if is_flags(first) { (is_interrupt(first), behind) } else { (None, rest) };
        let (time, event, fields) = time_and_event(rest)?;
        Some(Line { tid, tgid, cpu, in_interrupt, time, event, fields })
    })
}

/// Without the column of processes, as in `sh-12 (  10)` or `sh-12 (-----)`, and what it says.
fn without_process(task: &str) -> (&str, Option<i32>) {
    let split = task.strip_suffix(')').and_then(|task| task.rsplit_once('('));
    match split {
        Some((before, inside)) if inside.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b' ' | b'-')) => {
            let tgid = inside.trim();
            (before.trim_end(), number(tgid).filter(|_| !tgid.is_empty()))
        }
        _ => (task, None),
    }
}

/// Four to six signs: interrupts, need to reschedule, kind of interrupt, depths.
pub fn is_flags(word: &str) -> bool {
    (4..=8).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'#')
}

/// The third sign: `h`, `H`, `s`, `z`, `Z` for the kinds of interrupt, a dot for none.
pub fn is_interrupt(flags: &str) -> Option<bool> {
    flags.as_bytes().get(2).map(|&kind| kind != b'.')
}

/// Reads a line that reports no event.
pub fn note(text: &str) -> Option<Note> {
    text.strip_prefix('#').map(|comment| comment_of(comment).unwrap_or(Note::Nothing))
}

/// `entries-in-buffer/entries-written: 89/120   #P:2`, `latency: 0 us, #51/51, CPU#0 | (M:desktop VP:0, KP:0 #P:2)`, or `##### CPU 1 buffer started ####`, which the kernel writes when
/// any buffer was overwritten.
fn comment_of(comment: &str) -> Option<Note> {
    let words = comment.trim_matches(['#', ' ']);
    if let Some(cpu) = words.strip_prefix("CPU ").and_then(|words| words.strip_suffix(" buffer started")) {
        return number(cpu).map(Note::Started);
    }
    if let Some(facts) = comment.trim().strip_prefix("latency: ") {
        let (counts, cpus) = facts.split_once(", #")?.1.split_once("#P:")?;
        let (kept, written) = counts.split_once(',')?.0.split_once('/')?;
        let overwritten = number::<u64>(written)?.checked_sub(number(kept)?)?;
        return Some(Note::Buffer(overwritten, number(cpus.trim_end_matches(')'))?));
    }
    let (counts, cpus) = comment.trim().strip_prefix("entries-in-buffer/entries-written:")?.split_once("#P:")?;
    let (kept, written) = counts.trim().split_once('/')?;
    let overwritten = number::<u64>(written)?.checked_sub(number(kept)?)?;
    Some(Note::Buffer(overwritten, number(cpus.trim())?))
}

#[cfg(test)]
mod tests {
    use super::super::line::Stamp;
    use super::*;

    #[test]
    fn lines_are_read_in_every_version() {
        let expected = Line {
            tid: 3780,
            tgid: None,
            cpu: 1,
            in_interrupt: Some(false),
            time: Stamp::Ns(17_928_488_232_000),
            event: "sched_switch",
            fields: "prev_comm=x",
        };
        let tail = "17928.488232: sched_switch: prev_comm=x";
        for head in
            ["lto cgu.02-3780    [001] d..2. ", "buffer:  a-b-3780  [001] dN.2 ", "a [3]-3780 (-----) [001] .....  "]
        {
            assert_eq!(line(&format!("{head}{tail}")), Some(expected), "{head}");
        }
        let of_process = Line { tgid: Some(795), ..expected };
        assert_eq!(line(&format!("  a-b-3780 (    795) [001] dN.2 {tail}")), Some(of_process));
        let counted = Line { time: Stamp::Counts(42), ..expected };
        assert_eq!(line("x-3780  [001] d..2.   42: sched_switch: prev_comm=x"), Some(counted));
        let bare = Line { in_interrupt: None, ..expected };
        assert_eq!(line(&format!("x-3780  [001]  {tail}")), Some(bare));
        let interrupt = Line { tid: 0, in_interrupt: Some(true), ..expected };
        assert_eq!(line(&format!("<idle>-0  [001] d.h4. {tail}")), Some(interrupt));
        for wrong in ["x 3780 [001] d..2. ", "x- [001] d..2. ", "x-3780 [a] d..2. ", "x-3780 [001] d/.2. "] {
            assert_eq!(line(&format!("{wrong}{tail}")), None, "{wrong}");
        }
    }

    #[test]
    fn comments_tell_of_cpus_and_of_what_is_missing() {
        assert_eq!(note("# entries-in-buffer/entries-written: 89/89   #P:2"), Some(Note::Buffer(0, 2)));
        assert_eq!(note("# entries-in-buffer/entries-written: 89/99   #P:2"), Some(Note::Buffer(10, 2)));
        let latency = "# latency: 0 us, #51/60, CPU#0 | (M:PREEMPT_(full) VP:0, KP:0, SP:0 HP:0 #P:2)";
        assert_eq!(note(latency), Some(Note::Buffer(9, 2)));
        assert_eq!(note("##### CPU 1 buffer started ####"), Some(Note::Started(1)));
        assert_eq!(note("##### CPU x buffer started ####"), Some(Note::Nothing));
        assert_eq!(note("CPU:1 is odd"), None);
    }
}
