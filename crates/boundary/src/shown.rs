//! Text that may be on a terminal.

use std::fmt::{self, Write};

/// The longest name, in characters. No kernel, file system or scenario of ours has longer ones.
pub const NAME_LETTERS: usize = 120;
/// The longest line of a page or a message, in characters.
const LINE_LETTERS: usize = 2000;
/// The longest message.
const MESSAGE_LETTERS: usize = 32_000;
/// Marks that may be above one letter. No living script stacks more.
const MARKS: usize = 4;

/// What [`Shown::page`] lets through: the emphasis of `report::Style`, which can be neither left open nor combined.
const EMPHASIS: [&str; 4] = ["\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[0m"];
const RESET: &str = EMPHASIS[3];

/// Text that a terminal shows as it is: no escape sequence, no control character, nothing that reorders or hides what
/// is next to it. Anything else appears as an escape, such as `\u{202e}`.
///
/// There is no other way to make one than these functions, so code that takes a `Shown` need not check it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shown(String);

impl Shown {
    /// A name: one line of at most [`NAME_LETTERS`] characters.
    pub fn name(text: &str) -> Shown {
        Shown::of_line(text, NAME_LETTERS)
    }

    /// A sentence: one line.
    pub fn line(text: &str) -> Shown {
        Shown::of_line(text, LINE_LETTERS)
    }

    /// Several lines that tell something, as of a compiler; not too many.
    pub fn message(text: &str) -> Shown {
        let (kept, rest) = cut(text, MESSAGE_LETTERS);
        let mut shown = lines(kept, |line| Shown::line(line).0);
        tell_rest(&mut shown, rest);
        Shown(shown)
    }

    /// A page of ours. With `colours` its emphasis stays; emphasis left open at the end of a line is closed.
    pub fn page(text: &str, colours: bool) -> Shown {
        Shown(lines(text, |line| if colours { emphasised(line) } else { Shown::line(line).0 }))
    }

    /// A text that a program may parse: all of it, with lines of any length and with tabs.
    pub fn document(text: &str) -> Shown {
        Shown(lines(text, |line| {
            let mut shown = String::with_capacity(line.len());
            push_visible(&mut shown, line, |letter| letter == '\t');
            shown
        }))
    }

    /// JSON. Hidden characters can only occur in its strings. They become JSON escapes, which parse to the same text.
    pub fn json(text: &str) -> Shown {
        let mut shown = String::with_capacity(text.len());
        for letter in text.chars() {
            match letter {
                '\n' => shown.push(letter),
                _ if is_hidden(letter) => {
                    let mut units = [0; 2];
                    for unit in letter.encode_utf16(&mut units) {
                        write!(shown, "\\u{unit:04x}").expect("a string takes everything");
                    }
                }
                _ => shown.push(letter),
            }
        }
        Shown(shown)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, as a value of its own.
    pub fn into_string(self) -> String {
        self.0
    }

    fn of_line(text: &str, letters: usize) -> Shown {
        let (kept, rest) = cut(text, letters);
        let mut shown = String::with_capacity(kept.len());
        push_visible(&mut shown, kept, |_| false);
        tell_rest(&mut shown, rest);
        Shown(shown)
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Whether a terminal would do something else with a character than to show it: control characters, what changes the
/// direction of writing, what takes no place, and what no text contains.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control() || HIDDEN.iter().any(|&(first, last)| (first..=last).contains(&letter)) || is_none(letter)
}

/// The format characters (category Cf), separators of lines, and letters without a picture, of Unicode 16.
const HIDDEN: [(char, char); 28] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{16fe4}', '\u{16fe4}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d159}', '\u{1d159}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Noncharacters and private characters, which each terminal shows as it likes.
fn is_none(letter: char) -> bool {
    let code = u32::from(letter);
    code & 0xfffe == 0xfffe
        || matches!(code, 0xfdd0..=0xfdef | 0xe000..=0xf8ff | 0xf_0000..=0xf_fffd | 0x10_0000..=0x10_fffd)
}

/// What is above or below the letter before it.
fn is_mark(letter: char) -> bool {
    use unicode_general_category::{GeneralCategory, get_general_category};
    matches!(get_general_category(letter), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark)
}

/// Adds a text with everything in it visible, except for what is let through.
fn push_visible(shown: &mut String, text: &str, lets_through: impl Fn(char) -> bool) {
    let mut marks = 0;
    for letter in text.chars() {
        marks = if is_mark(letter) { marks + 1 } else { 0 };
        match letter {
            _ if lets_through(letter) => shown.push(letter),
            '\n' | '\r' | '\t' => shown.extend(letter.escape_default()),
            _ if is_hidden(letter) || marks > MARKS => shown.extend(letter.escape_unicode()),
            _ => shown.push(letter),
        }
    }
}

/// A line of a page whose emphasis is known to be ours.
fn emphasised(line: &str) -> String {
    let (kept, rest) = cut(line, LINE_LETTERS);
    let mut shown = String::with_capacity(kept.len());
    let (mut left, mut open) = (kept, false);
    while let Some(at) = left.find('\x1b') {
        push_visible(&mut shown, &left[..at], |_| false);
        let code = EMPHASIS.into_iter().find(|code| left[at..].starts_with(code)).unwrap_or("\x1b");
        match code {
            "\x1b" => push_visible(&mut shown, code, |_| false),
            _ => {
                shown.push_str(code);
                open = code != RESET;
            }
        }
        left = &left[at + code.len()..];
    }
    push_visible(&mut shown, left, |_| false);
    shown.push_str(if open { RESET } else { "" });
    tell_rest(&mut shown, rest);
    shown
}

/// Each line by itself.
fn lines(text: &str, each: impl Fn(&str) -> String) -> String {
    text.split('\n').map(each).collect::<Vec<_>>().join("\n")
}

/// The first characters of a text, and how many bytes there are beyond.
fn cut(text: &str, letters: usize) -> (&str, usize) {
    let end = text.char_indices().nth(letters).map_or(text.len(), |(at, _)| at);
    (&text[..end], text.len() - end)
}

fn tell_rest(shown: &mut String, rest: usize) {
    if rest > 0 {
        write!(shown, "… ({rest} more bytes)").expect("a string takes everything");
    }
}

#[cfg(test)]
#[path = "shown_tests.rs"]
mod tests;
