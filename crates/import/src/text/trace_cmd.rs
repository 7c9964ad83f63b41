//! What `trace-cmd report` writes in addition to events; an event's line is that of ftrace.

use super::line::{Note, number};

/// Reads a line that reports no event: `cpus=2`, `CPU 1 is empty`, `CPU:0 [12 EVENTS DROPPED]`.
pub fn note(text: &str) -> Option<Note> {
    let text = text.trim();
    if let Some(cpus) = text.strip_prefix("cpus=") {
        return Some(Note::Cpus(number(cpus)?));
    }
    if let Some(version) = text.strip_prefix("version = ") {
        return number::<u32>(version).map(|_| Note::Nothing);
    }
    if let Some(cpu) = text.strip_prefix("CPU ").and_then(|text| text.strip_suffix(" is empty")) {
        return number::<u32>(cpu).map(|_| Note::Nothing);
    }
    let (cpu, inside) = text.strip_prefix("CPU:")?.split_once(" [")?;
    let dropped = inside.strip_suffix("EVENTS DROPPED]")?.trim();
    // It does not always know how many; one at least.
    Some(Note::Lost(number(cpu)?, if dropped.is_empty() { 1 } else { number(dropped)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read() {
        assert_eq!(note("cpus=2"), Some(Note::Cpus(2)));
        assert_eq!(note("CPU 1 is empty"), Some(Note::Nothing));
        assert_eq!(note("version = 7"), Some(Note::Nothing));
        assert_eq!(note("CPU:0 [12 EVENTS DROPPED]"), Some(Note::Lost(0, 12)));
        assert_eq!(note("CPU:0 [EVENTS DROPPED]"), Some(Note::Lost(0, 1)));
        for wrong in ["cpus=x", "CPU one is empty", "hello", "CPU:0 [x EVENTS DROPPED]", "CPU:x [12 EVENTS DROPPED]"] {
            assert_eq!(note(wrong), None, "{wrong}");
        }
    }
}
