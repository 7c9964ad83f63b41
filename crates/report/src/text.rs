//! Lines of text.

use crate::WIDTH;

/// The columns that a text takes on a terminal, one for each character.
pub fn columns_of(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a text at its spaces into lines of at most [`WIDTH`] columns. `first` stands before the first line; the
/// others are indented by as much as `indent` says. Several spaces in a row stay where no line ends.
pub fn wrap(first: &str, indent: usize, text: &str) -> String {
    let mut lines = vec![first.to_string()];
    let mut gap = "";
    for word in text.replace('\n', " ").split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !gap.is_empty() && !word.is_empty() && columns_of(line) + 1 + columns_of(word) > WIDTH {
            line.truncate(line.trim_end().len());
            lines.push(" ".repeat(indent) + word);
        } else {
            line.push_str(gap);
            line.push_str(word);
        }
        gap = " ";
    }
    lines.join("\n") + "\n"
}

/// A text of at most so many columns, with `…` for what is missing.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        return text.to_string();
    }
    let mut short: String = text.chars().take(columns.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_broken_at_spaces() {
        let text = wrap("- ", 2, &"word ".repeat(30));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines.len(), columns_of(lines[0])), (2, 2 + 15 * 5 - 1));
        assert!(lines[1].starts_with("  word"));
        assert_eq!(wrap("", 0, "a\nb  c"), "a b  c\n");
        assert_eq!(wrap("a: ", 0, ""), "a: \n");
        assert_eq!(shorten("schedule", 5), "sche…");
    }
}
