//! What the lines of all tools have in common.

use schedlab_model::machine::MAX_CPUS;

/// A line that tells of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The task that was on the CPU; 0 is idle, negative is not known.
    pub tid: i32,
    pub cpu: u32,
    /// Whether an interrupt was on top of the task, where the tool tells.
    pub in_interrupt: Option<bool>,
    pub time_ns: u64,
    /// The event's name, without that of its system.
    pub event: &'a str,
    pub fields: &'a str,
}

/// A line that tells of no event.
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

/// `17664.077820` in nanoseconds; tools write six digits or nine.
pub fn time_ns(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let scale = 10_u64.checked_pow(9_u32.checked_sub(u32::try_from(fraction.len()).ok()?)?)?;
    let (seconds, fraction): (u64, u64) = (number(seconds)?, number(fraction)?);
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction * scale)
}

/// A time as the tools write it.
pub fn seconds(time_ns: u64) -> String {
    format!("{}.{:09}", time_ns / 1_000_000_000, time_ns % 1_000_000_000)
}

/// The time, the event's name and its fields, as in `1.5: sched_switch: prev_comm=…`.
pub fn time_and_event(text: &str) -> Option<(u64, &str, &str)> {
    let (time, rest) = text.trim_start().split_once(':')?;
    let time_ns = time_ns(time)?;
    let (mut name, mut fields) = first_word(rest);
    // perf can show the period of a sample before its name.
    if number::<u64>(name).is_some() {
        (name, fields) = first_word(fields);
    }
    let name = name.strip_suffix(':').unwrap_or(name);
    let name = name.rsplit_once(':').map_or(name, |(_, name)| name);
    (!name.is_empty()).then_some((time_ns, name, fields))
}

fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

/// No machine has so many CPUs.
pub fn check_cpu(cpu: u32) -> Result<(), String> {
    if cpu < MAX_CPUS { Ok(()) } else { Err(format!("there is no CPU {cpu}; schedlab knows {MAX_CPUS}")) }
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
        assert_eq!(time_ns("17664.077820"), Some(17_664_077_820_000));
        assert_eq!(time_ns("0.000000001"), Some(1));
        for wrong in ["1", "1.", ".5", "-1.5", "1.0000000001", "99999999999999999999.0", "1.5.5", "1.+5"] {
            assert_eq!(time_ns(wrong), None, "{wrong}");
        }
        assert_eq!(seconds(1_000_000_042), "1.000000042");
    }

    #[test]
    fn a_name_may_have_a_system_and_a_period() {
        let event = (1_500_000_000, "sched_switch", "a b");
        for text in [" 1.5: sched_switch: a b", "1.5:  1 sched:sched_switch:  a b "] {
            assert_eq!(time_and_event(text), Some(event), "{text}");
        }
        assert_eq!(time_and_event("1.5: "), None);
        assert_eq!(time_and_event("1.5 sched_switch: a"), None);
    }

    #[test]
    fn messages_stay_short_and_harmless() {
        assert_eq!(quote("\u{1b}[2J"), "\"\\u{1b}[2J\"");
        assert_eq!(quote(&"x".repeat(100)).chars().count(), 63);
    }
}
