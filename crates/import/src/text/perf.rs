//! Lines of `perf script`: `comm  pid [cpu] time: system:event: fields`, with `pid/tid` and `misc` when they were asked for.

use super::line::{Line, around_cpu, number, time_and_event};

/// Reads an event's line.
pub fn line(text: &str) -> Option<Line<'_>> {
    around_cpu(text).find_map(|(task, cpu, rest)| {
        let (_, numbers) = task.trim_end().rsplit_once(char::is_whitespace)?;
        let (tgid, tid) = numbers.split_once('/').map_or((None, numbers), |(tgid, tid)| (Some(tgid), tid));
        let (sign, digits) = tid.strip_prefix('-').map_or((1, tid), |digits| (-1, digits));
        let tid = sign * number::<i32>(digits).filter(|_| !digits.is_empty())?;
        let tgid = tgid.map(|tgid| number(tgid).ok_or(())).transpose().ok()?;
        let (time, event, fields) = time_and_event(rest)?;
        Some(Line { tid, tgid, cpu, in_interrupt: None, time, event, fields })
    })
}

/// How many events perf says it lost, as `PERF_RECORD_LOST lost 12`.
pub fn lost(line: &Line) -> Option<u64> {
    if !line.event.starts_with("PERF_RECORD_LOST") {
        return None;
    }
    let mut words = line.fields.split_whitespace();
    words.find(|word| *word == "lost")?;
    number(words.next()?)
}

#[cfg(test)]
mod tests {
    use super::super::line::Stamp;
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
        for wrong in ["", "x-58 ", "58 ", "x 1/2/3 ", "x y "] {
            assert_eq!(line(&format!("{wrong}{tail}")), None, "{wrong}");
        }
    }

    #[test]
    fn losses_are_known() {
        let of = |text| lost(&line(text).unwrap());
        assert_eq!(of("sh 5 [001] 1.000000: PERF_RECORD_LOST lost 12"), Some(12));
        assert_eq!(of("sh 5 [001] 1.000000: sched:sched_switch: lost 12"), None);
    }
}
