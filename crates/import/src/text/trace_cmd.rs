//! What `trace-cmd report` writes in addition to events; an event's line is that of ftrace.

use super::line::{Note, number};

/// Reads a line that reports no event: `cpus=2`, `CPU 1 is empty`.
pub fn note(text: &str) -> Option<Note> {
    let text = text.trim();
    if let Some(cpus) = text.strip_prefix("cpus=") {
        return Some(Note::Cpus(number(cpus)?));
    }
    if let Some(version) = text.strip_prefix("version = ") {
        return number::<u32>(version).map(|_| Note::Nothing);
    }
    let cpu = text.strip_prefix("CPU ")?.strip_suffix(" is empty")?;
    number::<u32>(cpu).map(|_| Note::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read() {
        assert_eq!(note("cpus=2"), Some(Note::Cpus(2)));
        assert_eq!(note("CPU 1 is empty"), Some(Note::Nothing));
        assert_eq!(note("version = 7"), Some(Note::Nothing));
        for wrong in ["cpus=x", "CPU one is empty", "hello"] {
            assert_eq!(note(wrong), None, "{wrong}");
        }
    }
}
