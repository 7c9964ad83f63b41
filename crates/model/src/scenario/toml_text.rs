//! TOML that another person wrote: read at one place, where no word passes that a terminal would obey instead of showing.

use super::ScenarioError;
use super::error::with_remedy;
use schedlab_boundary::{NAME_LETTERS, is_hidden};
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// The longest text of a file, in characters.
const TEXT_LETTERS: usize = 20_000;
/// The longest key, in characters: it may be a path with names in it.
const KEY_LETTERS: usize = 4 * NAME_LETTERS;

/// Reads a text of TOML; `origin` names it in errors.
///
/// # Errors
///
/// It is no TOML, has other keys, or a word of it has characters that cannot be seen, with line and column.
pub fn read_toml<T: DeserializeOwned>(text: &str, origin: &str) -> Result<T, ScenarioError> {
    // Text that is not TOML at all is reported by the reader below.
    if let Ok(root) = DeTable::parse(text)
        && let Some((byte, message)) = unfit_table(root.get_ref())
    {
        return Err(ScenarioError::at_byte(origin, text, byte, message));
    }
    toml::from_str(text).map_err(|error| ScenarioError::of_toml(origin, text, &error))
}

/// Reads a table that is in no text; `origin` names it in errors.
///
/// # Errors
///
/// What does not fit, with its path from the table, as `task[0].count`.
pub fn read_table<T: DeserializeOwned>(table: Table, origin: &str) -> Result<T, ScenarioError> {
    from_table(table).map_err(|(path, told)| {
        let message = if path == "." { told } else { format!("{path}: {told}") };
        ScenarioError::whole(origin, message)
    })
}

/// The same; an error is the path of what does not fit, `.` for the table itself, and why.
pub(super) fn from_table<T: DeserializeOwned>(table: Table) -> Result<T, (String, String)> {
    serde_path_to_error::deserialize(Value::Table(table))
        .map_err(|error| (error.path().to_string(), with_remedy(error.inner().message().trim())))
}

/// What is wrong with a name, if anything is: it is in tables, pages, traces and file names.
pub fn unfit_name(name: &str) -> Option<String> {
    unfit_line(name, NAME_LETTERS)
}

fn unfit_line(name: &str, most: usize) -> Option<String> {
    match (name.chars().find(|&letter| is_hidden(letter)), name.chars().count()) {
        _ if name.trim().is_empty() => Some("the name is empty: write one".into()),
        (Some(letter), _) => {
            Some(format!("the name has an invisible character, {}: leave it out", letter.escape_unicode()))
        }
        (None, letters) if letters > most => {
            Some(format!("a name of {letters} characters is too long: at most {most} fit"))
        }
        _ => None,
    }
}

/// What is wrong with a text, if anything is. It may have several lines.
pub(crate) fn unfit_text(text: &str) -> Option<String> {
    let is_layout = |letter| matches!(letter, '\n' | '\t');
    let hidden = text.chars().find(|&letter| is_hidden(letter) && !is_layout(letter) && letter != '\r');
    // A line may end as on other systems, but a return alone would write over it.
    let returns = text.replace("\r\n", "\n").contains('\r').then_some('\r');
    match (hidden.or(returns), text.chars().count()) {
        (Some(letter), _) => {
            let letter = letter.escape_unicode();
            Some(format!("this text has a character that cannot be seen, {letter}: leave it out"))
        }
        (None, letters) if letters > TEXT_LETTERS => {
            Some(format!("a text of {letters} characters is too long: at most {TEXT_LETTERS} fit"))
        }
        _ => None,
    }
}

/// The first unfit word of a table: where it begins, and what is wrong.
fn unfit_table(table: &DeTable) -> Option<(usize, String)> {
    table.iter().find_map(|(key, value)| {
        let wrong = unfit_line(key.get_ref(), KEY_LETTERS).filter(|_| !key.get_ref().trim().is_empty());
        wrong.map(|message| (key.span().start, message)).or_else(|| unfit_value(value))
    })
}

fn unfit_value(value: &toml::Spanned<DeValue>) -> Option<(usize, String)> {
    match value.get_ref() {
        DeValue::String(text) => unfit_text(text).map(|message| (value.span().start, message)),
        DeValue::Array(values) => values.iter().find_map(unfit_value),
        DeValue::Table(table) => unfit_table(table),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        read_toml::<toml::Table>(text, "f.toml").unwrap_err().to_string()
    }

    #[test]
    fn words_that_cannot_be_seen_are_refused_wherever_they_stand() {
        for (text, place) in [
            ("name = \"\\u001b[31mred\"", "f.toml:1:8: this text has a character that cannot be seen, \\u{1b}"),
            ("a = 1\nb = [1, [\"\\u202Ex\"]]", "f.toml:2:10: this text"),
            ("[[t]]\n[[t]]\nx = { y = \"\\u200b\" }", "f.toml:3:11: this text"),
            ("\"\\u202Ekey\" = 1", "f.toml:1:1: the name has an invisible character, \\u{202e}: leave it out"),
            ("[a.\"b\\u0007\"]\nx = 1", "f.toml:1:4: the name has an invisible character"),
            ("x = '\u{9b}31m'", "f.toml:1:5: this text has a character that cannot be seen, \\u{9b}"),
            ("x = \"one\\rtwo\"", "f.toml:1:5: this text has a character that cannot be seen, \\u{d}"),
        ] {
            assert!(refused(text).starts_with(place), "{text:?}: {}", refused(text));
        }
        assert!(refused(&format!("x = \"{}\"", "a".repeat(20_001))).contains("at most 20000 fit"));
        assert!(refused(&format!("{} = 1", "k".repeat(481))).contains("at most 480 fit"));
        assert!(read_toml::<toml::Table>(&format!("\"roles.{}.response_ns.p99\" = 1", "k".repeat(120)), "f").is_ok());
    }

    #[test]
    fn what_does_not_fit_in_a_table_has_its_path() {
        let wrong = |text: &str| {
            let table: Table = toml::from_str(text).unwrap();
            read_table::<super::super::Scenario>(table, "scenario").unwrap_err().to_string()
        };
        for (text, told) in [
            ("machine.cpus = \"two\"", "scenario: machine.cpus: \"two\" does not fit here: write a whole number"),
            ("machine = []", "scenario: machine: a list does not fit here: write a table"),
            (
                "task = [{ name = \"w\", loop = [{ computte = \"1ms\" }] }]",
                "scenario: task[0].loop[0].computte: unknown",
            ),
            ("task = [{ name = \"w\" }, { nicee = 1 }]", "scenario: task[1].nicee: unknown key `nicee`"),
            ("name = \"x\"", "scenario: the key `machine` is missing: add it"),
        ] {
            assert!(wrong(text).starts_with(told), "{}", wrong(text));
        }
    }

    #[test]
    fn texts_of_several_lines_are_fit() {
        for text in [
            "x = \"\"\"\none\n\ttwo\r\nthree\"\"\"",
            "# \u{202e} in a comment nobody reads\nx = \"µ → 調\"",
            "x = \"\"",
        ] {
            assert!(read_toml::<toml::Table>(text, "f").is_ok(), "{text:?}");
        }
    }

    #[test]
    fn names_are_one_visible_line() {
        for name in ["rr", "heavy load", "größe", "a/b", "7"] {
            assert_eq!(unfit_name(name), None, "{name}");
        }
        for name in ["", "  ", "a\nb", "a\u{1b}", "\u{200f}", &"n".repeat(121)] {
            assert!(unfit_name(name).is_some(), "{name:?}");
        }
    }
}
