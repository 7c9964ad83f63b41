//! Lines of text.

use crate::WIDTH;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The columns that a text takes on a terminal (Unicode Standard Annex 11): two for most letters of Chinese, Japanese and Korean,
/// none for an accent of the letter before it.
pub fn columns_of(text: &str) -> usize {
    text.width()
}

/// A text with spaces behind it, or before it, up to that many columns.
pub(crate) fn padded(text: &str, columns: usize, is_left: bool) -> String {
    let gap = " ".repeat(columns.saturating_sub(columns_of(text)));
    if is_left { format!("{text}{gap}") } else { format!("{gap}{text}") }
}

/// As much of the beginning of some letters as fits.
fn begin(letters: impl Iterator<Item = char>, columns: usize) -> Vec<char> {
    let mut room = columns;
    let fits = |letter: &char| {
        let width = letter.width().unwrap_or(0);
        let fits = width <= room;
        room = room.saturating_sub(width);
        fits
    };
    letters.take_while(fits).collect()
}

/// Breaks a text at its spaces into lines of at most [`WIDTH`] columns. `first` is before the first line; the
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

/// A text of at most `columns` columns, with `…` for what is missing.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        return text.to_string();
    }
    begin(text.chars(), columns.saturating_sub(1)).into_iter().chain(['…']).collect()
}

/// Texts of at most `columns` columns. Where their beginnings are the same, what is missing is left out in the middle.
pub(crate) fn shorten_all(texts: &[String], columns: usize) -> Vec<String> {
    let short: Vec<String> = texts.iter().map(|text| shorten(text, columns)).collect();
    let is_same = |a: usize, b: usize| short[a] == short[b] && texts[a] != texts[b];
    if (0..texts.len()).any(|a| (0..a).any(|b| is_same(a, b))) {
        return texts.iter().map(|text| shorten_within(text, columns)).collect();
    }
    short
}

/// A text of at most `columns` columns, with `…` for what is missing in the middle.
fn shorten_within(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        return text.to_string();
    }
    let half = columns.saturating_sub(1) / 2;
    let end = begin(text.chars().rev(), columns.saturating_sub(1 + half));
    begin(text.chars(), half).into_iter().chain(['…']).chain(end.into_iter().rev()).collect()
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
        let all = |texts: &[&str]| shorten_all(&texts.iter().map(|text| text.to_string()).collect::<Vec<_>>(), 7);
        assert_eq!(all(&["scheduler-a", "scheduler-b"]), ["sch…r-a", "sch…r-b"]);
        assert_eq!(all(&["scheduler-a", "role-number-b"]), ["schedu…", "role-n…"]);
    }

    #[test]
    fn wide_letters_take_two_columns_and_accents_none() {
        assert_eq!([columns_of("調整"), columns_of("e\u{301}"), columns_of("a")], [4, 1, 1]);
        assert_eq!([padded("調整", 6, true), padded("調整", 6, false)], ["調整  ", "  調整"]);
        assert_eq!(
            [shorten("調整係り", 5), shorten("調整係り", 4), shorten("調整係り", 8)],
            ["調整…", "調…", "調整係り"]
        );
        assert_eq!(shorten_within("調整係りの作業", 8), "調…作業");
    }
}
