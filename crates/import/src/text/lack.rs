//! What a line lacks that names a scheduler event and cannot be read, and how to get it.

use super::event::NAMES;
use super::line::{around_cpu, quote};

/// Of a page, or of JSON.
pub const NO_TEXT_WITHIN: &str = "this is HTML or JSON without scheduler events; import the original recording \
                                  instead: the file perf.data, or of Chrome and Perfetto the file in protobuf, \
                                  recorded with the data source linux.ftrace";

/// Whether a line names an event of the scheduler as tools do: with fields behind it, or a CPU in front of it. Prose has neither.
pub fn names_event(text: &str) -> bool {
    let is_named = |name: &&str| {
        text.match_indices(*name).any(|(at, _)| {
            let (before, behind) = (&text[..at], &text[at + name.len()..]);
            let is_begin = before.is_empty() || before.ends_with([' ', '\t', ':']);
            is_begin && behind.starts_with(':') && (has_fields(behind) || around_cpu(before).next().is_some())
        })
    };
    text.contains(':') && NAMES.iter().any(is_named)
}

/// `pid=12`, or `sh:12 [120]`.
fn has_fields(text: &str) -> bool {
    let is_value = |(at, _): (usize, &str)| {
        let (before, behind) = text.split_at(at);
        before.ends_with(|sign: char| sign.is_ascii_alphanumeric() || sign == '_')
            && !behind[1..].starts_with([' ', '='])
    };
    text.match_indices('=').any(is_value) || around_cpu(text).next().is_some()
}

/// What is wrong with a line that names an event. `is_amid`: others before it could be read.
pub fn of(text: &str, is_amid: bool) -> String {
    let quote = quote(text);
    if is_amid {
        return format!("no line like those before it, though it names a scheduler event: {quote}");
    }
    let before = NAMES.iter().filter_map(|name| text.find(name)).min().map_or(text, |at| &text[..at]);
    if before.trim().is_empty() {
        return format!(
            "an event without task, CPU and time; turn on ftrace's option context-info, and record again: {quote}"
        );
    }
    if around_cpu(before).next().is_none() {
        return format!(
            "an event without its CPU; print it, as `perf script -F comm,tid,cpu,time,event,trace --ns` does (`perf record` \
             must have been told `-a`, or `--sample-cpu`): {quote}"
        );
    }
    format!("an event without its time; print it, as `perf script -F comm,tid,cpu,time,event,trace --ns` does: {quote}")
}

/// What is wrong with a line that speaks of a loss and does not say of which CPU.
pub fn of_loss(text: &str) -> String {
    format!("events are missing here, and the line does not say of which CPU as a tool does: {}", quote(text))
}

/// What is wrong with a line where no event came before.
pub fn no_text(text: &str) -> String {
    let is_raw = text.contains(" type: ") && text.split_whitespace().next().is_some_and(is_digits);
    if is_raw {
        return "these are the numbers of ftrace's options raw and hex, without the events' fields; turn the option off, and \
                record again"
            .into();
    }
    format!("no line of perf script, ftrace or trace-cmd report: {}", quote(text))
}

fn is_digits(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_lacks_is_told_with_a_way() {
        assert!(names_event("sh 12 [000] 5.0: sched:sched_switch: a") && names_event("sched_switch: prev_pid=1"));
        assert!(names_event("sched_waking: sh:12 [120] CPU:003"));
        assert!(!names_event("sched_switch: is slow today") && !names_event("Trace of sched_switch: slow = bad"));
        assert!(!names_event("my_sched_switch: a") && !names_event("'sched_switch', f") && !names_event("x"));
        for (text, what) in [
            ("sched_switch: prev_comm=a", "context-info"),
            (
                "sh 12 5.000001: sched:sched_switch: prev_comm=a",
                "an event without its CPU; print it, as `perf script -F",
            ),
            ("sh 12 [000] sched:sched_switch: prev_comm=a", "an event without its time"),
        ] {
            assert!(of(text, false).contains(what), "{}", of(text, false));
        }
        assert!(no_text("6396 0 64512625714161 type: 365").contains("options raw and hex"));
        assert!(no_text("Dear reader,").ends_with("report: \"Dear reader,\""));
    }
}
