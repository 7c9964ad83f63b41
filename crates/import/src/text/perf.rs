//! Lines of `perf script`: `comm  pid [cpu] time: system:event: fields`, with `pid/tid` and `misc` when they were asked for,
//! without the name or the thread when they were not, and with the CPU bare between both in its latency format.

use super::line::{Line, Stamp, around_cpu, number, time_and_event};

/// Reads an event's line.
pub fn line(text: &str) -> Option<Line<'_>> {
    around_cpu(text).find_map(|(task, cpu, rest)| {
        let (tgid, tid) = thread(task)?;
        let (time, event, fields) = time_and_event(rest)?;
        Some(Line { tid, tgid, cpu, in_interrupt: None, time, event, fields })
    })
}

/// The process, where it is there, and the thread at the end of what is in front of the CPU. A task that is gone has -1.
fn thread(task: &str) -> Option<(Option<i32>, i32)> {
    let numbers = task.split_whitespace().next_back()?;
    let (tgid, tid) = numbers.split_once('/').map_or((None, numbers), |(tgid, tid)| (Some(tgid), tid));
    Some((tgid.map(signed).map_or(Some(None), |tgid| tgid.map(Some))?, signed(tid)?))
}

fn signed(text: &str) -> Option<i32> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    Some(sign * number::<i32>(digits).filter(|_| !digits.is_empty())?)
}

/// Reads an event's line of `perf script -L`: `comm  pid cpu time: system:event: fields`.
pub fn latency_line(text: &str) -> Option<Line<'_>> {
    text.match_indices(": ").find_map(|(end, _)| {
        let (before, time) = text[..end].rsplit_once(char::is_whitespace)?;
        let (task, cpu) = before.trim_end().rsplit_once(char::is_whitespace)?;
        let (cpu, (tgid, tid)) = (number(cpu)?, thread(task)?);
        let (time, event, fields) = event_of_system(&text[end - time.len()..])?;
        Some(Line { tid, tgid, cpu, in_interrupt: None, time, event, fields })
    })
}

/// Reads an event's line that does not say the thread: `comm  [cpu] time: system:event: fields`.
pub fn line_without_thread(text: &str) -> Option<Line<'_>> {
    around_cpu(text).find_map(|(_, cpu, rest)| {
        let (time, event, fields) = event_of_system(rest)?;
        Some(Line { tid: -1, tgid: None, cpu, in_interrupt: None, time, event, fields })
    })
}

/// As perf writes it, with the event's system.
fn event_of_system(text: &str) -> Option<(Stamp, &str, &str)> {
    let (_, behind) = text.split_once(": ")?;
    let has_system =
        behind.split_whitespace().find(|word| number::<u64>(word).is_none())?.trim_end_matches(':').contains(':');
    time_and_event(text).filter(|_| has_system)
}

/// How many events perf says it lost, as `PERF_RECORD_LOST lost 12`.
pub fn lost(line: &Line) -> Option<u64> {
    if !line.event.starts_with("PERF_RECORD_LOST") {
        return None;
    }
    let mut words = line.fields.split_whitespace();
    let count = words.find(|word| *word == "lost").and_then(|_| number(words.next()?));
    // One at least.
    Some(count.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_all_their_oddities() {
        let expected = Line {
            tid: 58,
            tgid: None,
            cpu: 0,
            in_interrupt: None,
            time: Stamp::Ns(17_664_092_499_000),
            event: "sched_switch",
            fields: "prev_comm=x",
        };
        let tail = "[000] 17664.092499:       sched:sched_switch: prev_comm=x";
        for head in ["kworker/0:1H-kb    58 ", " a [7] b 58 "] {
            assert_eq!(line(&format!("{head}{tail}")), Some(expected), "{head}");
        }
        assert_eq!(line(&format!("x 57/58    {tail}")), Some(Line { tgid: Some(57), ..expected }));
        assert_eq!(line(&format!("     :-1    -1 {tail}")), Some(Line { tid: -1, ..expected }));
        assert_eq!(line(&format!("     :-1    -1/-1 {tail}")), Some(Line { tid: -1, tgid: Some(-1), ..expected }));
        for head in ["58 ", "   58    "] {
            assert_eq!(line(&format!("{head}{tail}")), Some(expected), "{head}");
        }
        let latency = "a 7: b    58   0 17664.092499:       sched:sched_switch: prev_comm=x";
        assert_eq!(latency_line(latency), Some(expected));
        assert_eq!(line_without_thread(&format!("a b {tail}")), Some(Line { tid: -1, ..expected }));
        for wrong in
            ["a [000] 1.5: sched_switch: x", "a 58 000 1.5: sched_switch: x", "a 58 1.5: sched:sched_switch: x"]
        {
            assert_eq!((latency_line(wrong), line_without_thread(wrong)), (None, None), "{wrong}");
        }
        for wrong in ["", "x-58 ", "x 1/2/3 ", "x y "] {
            assert_eq!(line(&format!("{wrong}{tail}")), None, "{wrong}");
        }
    }

    #[test]
    fn losses_are_known() {
        let of = |text| lost(&line(text).unwrap());
        assert_eq!(of("sh 5 [001] 1.000000: PERF_RECORD_LOST lost 12"), Some(12));
        assert_eq!(of("sh 5 [001] 1.000000: PERF_RECORD_LOST_SAMPLES"), Some(1));
        assert_eq!(of("sh 5 [001] 1.000000: sched:sched_switch: lost 12"), None);
    }
}
