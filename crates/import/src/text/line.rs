//! What the lines of all tools have in common.

use super::event::NAMES;

/// A line that reports an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The task that was on the CPU; 0 is idle, negative is not known.
    pub tid: i32,
    /// Its process, where the tool says.
    pub tgid: Option<i32>,
    pub cpu: u32,
    /// Whether an interrupt was on top of the task, where the tool says.
    pub in_interrupt: Option<bool>,
    pub time: Stamp,
    /// The event's name, without that of its system.
    pub event: &'a str,
    pub fields: &'a str,
}

/// A time as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// In nanoseconds.
    Ns(u64),
    /// In counts of a clock that counts something else.
    Counts(u64),
}

impl Stamp {
    /// In nanoseconds, or in counts.
    pub fn ns(self) -> u64 {
        match self {
            Stamp::Ns(number) | Stamp::Counts(number) => number,
        }
    }
}

/// A line that reports no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    Nothing,
    Cpus(u32),
    /// Events of this CPU are missing here: how many, where the tool knows.
    Lost(u32, u64),
    /// Here begins what is known of a CPU.
    Started(u32),
    /// Of the buffer: how many events were overwritten, and how many CPUs there are.
    Buffer(u64, u32),
}

/// What every tool may write between events.
pub fn note(text: &str) -> Option<Note> {
    text.trim().is_empty().then_some(Note::Nothing)
}

/// The parts of a line around `[CPU]`, wherever it may be: names of tasks can hold brackets.
pub fn around_cpu(text: &str) -> impl Iterator<Item = (&str, u32, &str)> {
    text.match_indices('[').filter_map(|(open, _)| {
        let (inside, rest) = text[open + 1..].split_once(']')?;
        Some((&text[..open], number(inside)?, rest))
    })
}

/// A whole number of nothing but digits.
pub fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A number of seconds, with six digits behind the point or nine, in nanoseconds; or counts of another clock.
fn stamp(text: &str) -> Option<Stamp> {
    match text.split_once('.') {
        Some((whole, fraction)) => decimal(whole, fraction, 9).map(Stamp::Ns),
        None => number(text).filter(|_| !text.is_empty()).map(Stamp::Counts),
    }
}

/// A decimal number in units of this many digits behind the point.
pub fn decimal(whole: &str, fraction: &str, digits: u32) -> Option<u64> {
    if whole.is_empty() || fraction.is_empty() {
        return None;
    }
    let scale = 10_u64.checked_pow(digits.checked_sub(u32::try_from(fraction.len()).ok()?)?)?;
    let (whole, fraction): (u64, u64) = (number(whole)?, number(fraction)?);
    whole.checked_mul(10_u64.pow(digits))?.checked_add(fraction * scale)
}

/// The time, the event's name and its fields, as in `1.5: sched_switch: prev_comm=…`. perf's `misc` letters may be before
/// the time.
pub fn time_and_event(text: &str) -> Option<(Stamp, &str, &str)> {
    let (before, rest) = text.trim_start().split_once(':')?;
    let mut words = before.split_ascii_whitespace();
    let (first, second, none) = (words.next()?, words.next(), words.next());
    let time = match (second, none) {
        (None, _) => stamp(first)?,
        (Some(time), None) if is_misc(first) => stamp(time)?,
        _ => return None,
    };
    let (event, fields) = event_and_fields(rest)?;
    Some((time, event, fields))
}

/// The event's name and its fields, with what tools put before the name: the period of a sample, or how long after the event
/// before this one came.
pub fn event_and_fields(text: &str) -> Option<(&str, &str)> {
    let (mut name, mut fields) = first_word(text);
    let is_difference = name.starts_with("(+") && name.ends_with(')');
    if is_difference || number::<u64>(name).is_some() {
        (name, fields) = first_word(fields);
    }
    let name = name.strip_suffix(':').unwrap_or(name);
    let name = match name.rsplit_once(':') {
        // A probe may have the name of a scheduler event, and has another system.
        Some((system, own)) if NAMES.contains(&own) && !matches!(system, "sched" | "task") => name,
        Some((_, own)) => own,
        None => name,
    };
    (!name.is_empty()).then_some((name, fields))
}

/// The letters of `perf script -F +misc`.
fn is_misc(word: &str) -> bool {
    word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

/// The beginning of a line, for a message.
pub fn quote(text: &str) -> String {
    const LENGTH: usize = 60;
    let clean = |text: &str| text.escape_debug().to_string();
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("\"{}…\"", clean(&text[..end])),
        None => format!("\"{}\"", clean(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(stamp("17664.077820"), Some(Stamp::Ns(17_664_077_820_000)));
        assert_eq!(
            (stamp("0.000000001"), stamp("167481028195691")),
            (Some(Stamp::Ns(1)), Some(Stamp::Counts(167_481_028_195_691)))
        );
        for wrong in ["", "1.", ".5", "-1.5", "1.0000000001", "99999999999999999999.0", "1.5.5", "1.+5", "+1"] {
            assert_eq!(stamp(wrong), None, "{wrong}");
        }
        assert_eq!(crate::read::seconds(1_000_000_042), "1.000000042");
    }

    #[test]
    fn a_name_may_have_a_system_a_period_letters_and_a_difference() {
        let event = (Stamp::Ns(1_500_000_000), "sched_switch", "a b");
        for text in [
            " 1.5: sched_switch: a b",
            "1.5:  1 sched:sched_switch:  a b ",
            " K     1.5: sched:sched_switch: a b",
            "Sp 1.5: sched:sched_switch: a b",
            "1.5: (+201)   sched_switch:   a b",
        ] {
            assert_eq!(time_and_event(text), Some(event), "{text}");
        }
        let probe = (Stamp::Ns(1_500_000_000), "probe:sched_switch", "(ffffffff810a1234)");
        assert_eq!(time_and_event("1.5: probe:sched_switch: (ffffffff810a1234)"), Some(probe));
        for wrong in ["1.5: ", "1.5 sched_switch: a", "K K 1.5: a", "K: a", "/. 1.5: a"] {
            assert_eq!(time_and_event(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn messages_stay_short_and_harmless() {
        assert_eq!(quote("\u{1b}[2J"), "\"\\u{1b}[2J\"");
        assert_eq!(quote(&"x".repeat(100)).chars().count(), 63);
    }
}
