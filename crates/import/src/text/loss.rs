//! Lines that say that events are missing: `CPU:1 [LOST 12 EVENTS]` of the kernel, `CPU:1 [12 EVENTS DROPPED]` of trace-cmd,
//! without the number where it is not known, and behind the name of an instance.

use super::line::number;

/// What a line says of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// This many of this CPU's: one at least.
    Of(u32, u64),
    /// It speaks of a loss, and not as any tool does.
    Unread,
}

/// What a line says of losses, if it speaks of any. `text` has no prefix.
pub fn of(text: &str) -> Option<Loss> {
    let text = text.trim();
    let known = known(text).map(|(cpu, count)| Loss::Of(cpu, count));
    known.or_else(|| speaks_of_loss(text).then_some(Loss::Unread))
}

fn known(text: &str) -> Option<(u32, u64)> {
    let (cpu, inside) = text.strip_prefix("CPU:")?.split_once(" [")?;
    let cpu = number(cpu).filter(|_| !cpu.is_empty())?;
    let (mut is_loss, mut count) = (false, None);
    for word in inside.strip_suffix(']')?.split_whitespace() {
        match word {
            "LOST" | "DROPPED" => is_loss = true,
            "EVENTS" => {}
            _ if count.is_none() => count = Some(number::<u64>(word)?),
            _ => return None,
        }
    }
    is_loss.then_some((cpu, count.unwrap_or(1).max(1)))
}

fn speaks_of_loss(text: &str) -> bool {
    let is_of_cpu = text.strip_prefix("CPU:").is_some_and(|rest| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && rest[digits..].starts_with(" [")
    });
    let mut words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let is_named = words.clone().any(|word| matches!(word, "LOST" | "DROPPED")) && words.any(|word| word == "EVENTS");
    is_of_cpu || is_named || text.contains("PERF_RECORD_LOST")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_read_with_their_number_or_without() {
        for (text, cpu, count) in [
            ("CPU:1 [LOST 12 EVENTS]", 1, 12),
            ("CPU:0 [LOST EVENTS]", 0, 1),
            ("CPU:0 [12 EVENTS DROPPED]", 0, 12),
            ("  CPU:30 [EVENTS DROPPED]", 30, 1),
            ("CPU:1 [LOST 0 EVENTS]", 1, 1),
        ] {
            assert_eq!(of(text), Some(Loss::Of(cpu, count)), "{text}");
        }
    }

    #[test]
    fn a_loss_in_other_words_is_no_line_to_pass_over() {
        for text in [
            "CPU:0 [x EVENTS DROPPED]",
            "CPU:x [12 EVENTS DROPPED]",
            "CPU:1 [gone]",
            "[LOST 9 EVENTS]",
            "CPU:1 [LOST 1 2 EVENTS]",
            "PERF_RECORD_LOST lost 3",
        ] {
            assert_eq!(of(text), Some(Loss::Unread), "{text}");
        }
        for text in ["CPU:1 is odd", "we LOST the game", "CPU 1 is empty", "# EVENTS", ""] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
