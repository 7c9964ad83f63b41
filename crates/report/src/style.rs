//! Emphasis on terminals.

/// Whether text is emphasised by escape sequences, or left as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether there is a terminal that shows colours.
    pub colours: bool,
}

impl Style {
    /// No emphasis.
    pub const PLAIN: Style = Style { colours: false };

    /// For heads.
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    /// For what may be overlooked.
    pub fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    /// For what must not be overlooked.
    pub fn warning(self, text: &str) -> String {
        self.with("33", text)
    }

    /// Each line by itself, so that a part of the text may be shown alone.
    fn with(self, code: &str, text: &str) -> String {
        let emphasised = |line: &str| match line {
            "" => String::new(),
            line => format!("\x1b[{code}m{line}\x1b[0m"),
        };
        if self.colours { text.split('\n').map(emphasised).collect::<Vec<_>>().join("\n") } else { text.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_emphasised_one_by_one_and_only_on_a_terminal() {
        let style = Style { colours: true };
        assert_eq!(style.bold("a\nb\n"), "\x1b[1ma\x1b[0m\n\x1b[1mb\x1b[0m\n");
        assert_eq!(Style::PLAIN.warning("a\n"), "a\n");
    }
}
