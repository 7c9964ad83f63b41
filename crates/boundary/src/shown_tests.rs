//! What becomes visible, and what stays as it is.

use super::*;
use proptest::prelude::*;

/// What terminals and readers were deceived with, and how it is shown.
const ATTACKS: [(&str, &str, &str); 48] = [
    ("a colour", "\x1b[31mred", r"\u{1b}[31mred"),
    ("a title", "\x1b]0;mine\x07", r"\u{1b}]0;mine\u{7}"),
    ("a link", "\x1b]8;;http://x\x1b\\y", r"\u{1b}]8;;http://x\u{1b}\y"),
    ("the clipboard", "\x1b]52;c;AAAA\x07", r"\u{1b}]52;c;AAAA\u{7}"),
    ("an answer on standard input", "\x1b[6n\x1b[c", r"\u{1b}[6n\u{1b}[c"),
    ("C1 instead of ESC [", "\u{9b}2J", r"\u{9b}2J"),
    ("C1 instead of ESC ]", "\u{9d}0;t\u{9c}", r"\u{9d}0;t\u{9c}"),
    ("backspaces", "good\x08\x08bad", r"good\u{8}\u{8}bad"),
    ("the line again", "bad\rgood", r"bad\rgood"),
    ("a line of its own", "a\nschedlab: done", r"a\nschedlab: done"),
    ("a vertical tab", "a\x0bb\x0cc", r"a\u{b}b\u{c}c"),
    ("NUL and DEL", "a\0b\x7f", r"a\u{0}b\u{7f}"),
    ("right to left", "a\u{202e}b", r"a\u{202e}b"),
    ("isolates", "\u{2066}a\u{2069}", r"\u{2066}a\u{2069}"),
    ("an Arabic mark", "\u{61c}a", r"\u{61c}a"),
    ("no width", "r\u{200b}r", r"r\u{200b}r"),
    ("a byte order mark", "\u{feff}rr", r"\u{feff}rr"),
    ("tags", "a\u{e0041}", r"a\u{e0041}"),
    ("separators", "a\u{2028}b\u{2029}", r"a\u{2028}b\u{2029}"),
    ("a filler", "\u{3164}", r"\u{3164}"),
    ("a shift of the alphabet", "\x0e\x0f", r"\u{e}\u{f}"),
    ("many marks", "a\u{300}\u{301}\u{302}\u{303}\u{304}", "a\u{300}\u{301}\u{302}\u{303}\\u{304}"),
    ("a noncharacter", "\u{fdd0}\u{10ffff}", r"\u{fdd0}\u{10ffff}"),
    ("another's emphasis", "\x1b[1mbold", r"\u{1b}[1mbold"),
    ("five Arabic marks", "\u{628}\u{64b}\u{64b}\u{64b}\u{64b}\u{64b}", "\u{628}\u{64b}\u{64b}\u{64b}\u{64b}\\u{64b}"),
    ("five Hebrew points", "\u{5d0}\u{5b0}\u{5b0}\u{5b0}\u{5b0}\u{5b0}", "\u{5d0}\u{5b0}\u{5b0}\u{5b0}\u{5b0}\\u{5b0}"),
    ("five Thai tones", "\u{e01}\u{e49}\u{e49}\u{e49}\u{e49}\u{e49}", "\u{e01}\u{e49}\u{e49}\u{e49}\u{e49}\\u{e49}"),
    ("five Indian marks", "\u{905}\u{901}\u{901}\u{901}\u{901}\u{901}", "\u{905}\u{901}\u{901}\u{901}\u{901}\\u{901}"),
    ("five circles", "a\u{20dd}\u{20dd}\u{20dd}\u{20dd}\u{20dd}", "a\u{20dd}\u{20dd}\u{20dd}\u{20dd}\\u{20dd}"),
    ("dots that are not there", "a\u{2800}b", r"a\u{2800}b"),
    ("another filler", "a\u{16fe4}b", r"a\u{16fe4}b"),
    ("a note without a head", "a\u{1d159}b", r"a\u{1d159}b"),
    ("a picture", "\x1bPq#0~\x1b\\", r"\u{1b}Pq#0~\u{1b}\"),
    ("C1 instead of ESC P", "\u{90}q#0~\u{9c}", r"\u{90}q#0~\u{9c}"),
    ("a word to the program", "\x1b_G\x1b\\\x1b^x", r"\u{1b}_G\u{1b}\\u{1b}^x"),
    ("a reset", "\x1bc", r"\u{1b}c"),
    ("a file", "\x1b]1337;File=:AAAA\x07", r"\u{1b}]1337;File=:AAAA\u{7}"),
    ("a pasted command", "\x1b[200~rm\x1b[201~", r"\u{1b}[200~rm\u{1b}[201~"),
    ("another screen", "\x1b[?1049h", r"\u{1b}[?1049h"),
    ("who are you", "\x05", r"\u{5}"),
    ("a next line", "a\u{85}schedlab: done", r"a\u{85}schedlab: done"),
    ("notes between lines", "\u{fff9}a\u{fffa}b\u{fffb}", r"\u{fff9}a\u{fffa}b\u{fffb}"),
    ("beams and slurs", "\u{1d173}\u{1d17a}", r"\u{1d173}\u{1d17a}"),
    ("shorthand", "\u{1bca0}a", r"\u{1bca0}a"),
    ("joined hieroglyphs", "\u{13430}\u{1343f}", r"\u{13430}\u{1343f}"),
    ("variants", "a\u{fe0f}\u{e0100}", r"a\u{fe0f}\u{e0100}"),
    ("private letters", "\u{e000}\u{f0000}", r"\u{e000}\u{f0000}"),
    ("old format characters", "\u{206a}a\u{180e}", r"\u{206a}a\u{180e}"),
];

#[test]
fn what_would_be_obeyed_is_shown() {
    for (what, text, shown) in ATTACKS {
        assert_eq!(Shown::line(text).as_str(), shown, "{what}");
        assert_eq!(Shown::name(text).as_str(), shown, "{what}");
    }
}

#[test]
fn what_people_write_stays() {
    for text in ["", "rr: quantum = 5 ms", "Müller’s µs – 20 %", "調度器", "پردازش", "e\u{301}", "→ ∞ │ █▁", "🦀"]
    {
        assert_eq!(Shown::line(text).as_str(), text);
    }
}

/// Long enough to be cut, and for Miri short.
const LONG: usize = if cfg!(miri) { 2_000 } else { 1_000_000 };

#[test]
fn long_texts_are_cut_and_say_so() {
    let name = Shown::name(&"n".repeat(LONG));
    assert_eq!(name.as_str(), format!("{}… ({} more bytes)", "n".repeat(NAME_LETTERS), LONG - NAME_LETTERS));
    assert_eq!(Shown::document(&"d".repeat(LONG)).as_str().len(), LONG);
}

#[test]
#[cfg_attr(miri, ignore = "tens of thousands of letters")]
fn long_messages_and_lines_of_pages_are_cut() {
    let message = Shown::message(&"m\n".repeat(LONG));
    assert!(message.as_str().len() < 33_000 && message.as_str().ends_with("more bytes)"));
    let page = Shown::page(&format!("{}\nend\n", "µ".repeat(10_000)), true);
    assert_eq!(page.as_str(), format!("{}… (16000 more bytes)\nend\n", "µ".repeat(LINE_LETTERS)));
}

#[test]
fn a_page_keeps_its_own_emphasis_and_closes_it() {
    let page = "\x1b[1mhead\x1b[0m a\x1b[31m\n\x1b[33mopen\nnext\n";
    let shown = Shown::page(page, true);
    assert_eq!(shown.as_str(), "\x1b[1mhead\x1b[0m a\\u{1b}[31m\n\x1b[33mopen\x1b[0m\nnext\n");
    assert!(!Shown::page(page, false).as_str().contains('\x1b'));
}

#[test]
fn a_document_keeps_its_tabs_and_json_says_the_same() {
    assert_eq!(Shown::document("\tif (x)\n\t\treturn;\u{1b}\n").as_str(), "\tif (x)\n\t\treturn;\\u{1b}\n");
    assert_eq!(
        Shown::json("{\n  \"a\": \"\u{202e}\u{7f}\u{e0041}\"\n}").as_str(),
        "{\n  \"a\": \"\\u202e\\u007f\\udb40\\udc41\"\n}"
    );
}

proptest! {
    #[test]
    fn nothing_hidden_passes(text: String) {
        for shown in [Shown::name(&text), Shown::line(&text), Shown::json(&text)] {
            prop_assert!(!shown.as_str().replace('\n', "").chars().any(is_hidden));
        }
        for shown in [Shown::message(&text), Shown::page(&text, false), Shown::document(&text)] {
            prop_assert!(!shown.as_str().replace(['\n', '\t'], "").chars().any(is_hidden));
            prop_assert_eq!(shown.as_str().matches('\n').count(), text.matches('\n').count());
        }
        prop_assert_eq!(Shown::line(Shown::line(&text).as_str()), Shown::line(&text));
    }

    #[test]
    fn only_our_emphasis_passes(text in "[\\x1b\\[0123;mKa\u{9b}\n]{0,40}") {
        let mut shown = Shown::page(&text, true).into_string();
        for code in EMPHASIS {
            shown = shown.replace(code, "");
        }
        prop_assert!(!shown.replace('\n', "").chars().any(is_hidden));
    }
}
