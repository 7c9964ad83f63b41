//! What is wrong with a scenario: one line that names file, line and column, the fault, and the remedy.
//!
//! The types of the language carry no positions. A check that fails knows the *path* of the value, as `task[2].loop[3]`;
//! only then is the text read once more, to find where that value stands. A scenario that no file is behind is
//! located by the path itself.

use std::{borrow::Cow, fmt};
use toml::de::{DeTable, DeValue};

/// A scenario (or an rt-app file) that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// The file, or another name for where the text comes from.
    pub origin: String,
    /// Line and column, from 1, where the text has such a place.
    pub position: Option<(usize, usize)>,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)?;
        if let Some((line, column)) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        // Parsers put a list on lines of its own; an error is one line.
        let lines: Vec<&str> = self.message.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        write!(f, ": {}", lines.join(", "))
    }
}

impl ScenarioError {
    /// An error at a byte of a text.
    pub(crate) fn at_byte(origin: &str, text: &str, byte: usize, message: impl Into<String>) -> ScenarioError {
        let mut byte = byte.min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &text[..byte];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        ScenarioError { origin: origin.into(), position: Some((line, column)), message: message.into() }
    }

    /// An error of the value at a path, as `question[2].run[0].policy`, in a text of TOML.
    pub fn at_path(origin: &str, text: &str, path: &str, message: impl Into<String>) -> ScenarioError {
        let parts = path.split(['.', '[']).filter(|word| !word.is_empty());
        let part = |word: &str| match word.strip_suffix(']').and_then(|index| index.parse().ok()) {
            Some(index) => Part::Index(index),
            None => Part::Key(Cow::Owned(word.to_string())),
        };
        Path(parts.map(part).collect()).fault(message).located(origin, Some(text))
    }

    /// An error of the reader of TOML, in words of ours.
    pub fn of_toml(origin: &str, text: &str, error: &toml::de::Error) -> ScenarioError {
        let span = error.span().unwrap_or_default();
        let message = match text.get(span.clone()).filter(|_| error.message() == "duplicate key") {
            Some(key) => format!("`{key}` is there twice: leave one of them out"),
            None => with_remedy(error.message()),
        };
        ScenarioError::at_byte(origin, text, span.start, message)
    }

    /// An error of a file as a whole.
    pub fn whole(origin: &str, message: impl Into<String>) -> ScenarioError {
        ScenarioError { origin: origin.into(), position: None, message: message.into() }
    }
}

/// The way to a value, as `task[2].loop[3]`.
#[derive(Clone, Debug)]
pub(crate) struct Path(Vec<Part<'static>>);

impl Path {
    /// A fault there.
    pub fn fault(&self, message: impl Into<String>) -> Fault {
        Fault { path: self.clone(), message: message.into() }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut dot = "";
        for part in &self.0 {
            match part {
                Part::Index(index) => write!(f, "[{index}]")?,
                Part::Key(key) => write!(f, "{dot}{key}")?,
            }
            dot = ".";
        }
        Ok(())
    }
}

/// What is wrong with the value at a path.
#[derive(Debug)]
pub(crate) struct Fault {
    path: Path,
    message: String,
}

impl Fault {
    /// Finds the place in the text, if there is one.
    pub fn located(self, origin: &str, text: Option<&str>) -> ScenarioError {
        if let Some(text) = text
            && let Ok(root) = DeTable::parse(text)
        {
            let byte = place(&root, &self.path);
            return ScenarioError::at_byte(origin, text, byte, self.message);
        }
        let place = self.path.to_string();
        let separator = if place.is_empty() { "" } else { ": " };
        ScenarioError::whole(origin, place + separator + &self.message)
    }
}

/// The byte at which the value of a path begins, or the innermost table on the way that exists.
fn place(root: &toml::Spanned<DeTable>, path: &Path) -> usize {
    let mut byte = root.span().start;
    let mut next: Option<&DeValue> = None;
    for part in &path.0 {
        let value = match (part, next) {
            (Part::Key(key), None) => root.get_ref().get(key.as_ref()),
            (Part::Key(key), Some(DeValue::Table(table))) => table.get(key.as_ref()),
            (Part::Index(index), Some(DeValue::Array(array))) => array.get(*index),
            _ => None,
        };
        let Some(value) = value else { break };
        byte = value.span().start;
        next = Some(value.get_ref());
    }
    byte
}

/// One step on the way to a value.
#[derive(Clone, Debug)]
enum Part<'a> {
    Key(Cow<'a, str>),
    Index(usize),
}

/// Where a check is in the scenario: a path kept on the stack, which becomes a [`Fault`] only when one is found.
#[derive(Clone)]
pub(crate) struct At<'a> {
    parent: Option<&'a At<'a>>,
    part: Option<Part<'a>>,
}

impl<'a> At<'a> {
    /// The scenario itself.
    pub fn root() -> At<'static> {
        At { parent: None, part: None }
    }

    /// A key of the table here.
    pub fn key<'b>(&'b self, key: &'b str) -> At<'b> {
        At { parent: Some(self), part: Some(Part::Key(key.into())) }
    }

    /// An element of the list here.
    pub fn index(&self, index: usize) -> At<'_> {
        At { parent: Some(self), part: Some(Part::Index(index)) }
    }

    /// A fault here.
    pub fn fault(&self, message: impl Into<String>) -> Fault {
        self.path().fault(message)
    }

    /// The path to here.
    pub fn path(&self) -> Path {
        let mut path = Vec::new();
        let mut here = Some(self);
        while let Some(at) = here {
            path.extend(at.part.as_ref().map(|part| match part {
                Part::Key(key) => Part::Key(Cow::Owned(key.to_string())),
                Part::Index(index) => Part::Index(*index),
            }));
            here = at.parent;
        }
        path.reverse();
        Path(path)
    }
}

/// `: did you mean …?` when one of the known words is close to the wrong one, else nothing.
pub fn did_you_mean<'k>(wrong: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let distance = |word: &str| strsim::damerau_levenshtein(&wrong.to_lowercase(), &word.to_lowercase());
    let length = wrong.chars().count();
    let best = known.into_iter().map(|word| (distance(word), word)).min();
    match best {
        Some((d, word)) if d <= (length / 3).max(1) && d < length => format!(": did you mean `{word}`?"),
        _ => String::new(),
    }
}

/// The message of the TOML reader with a remedy added where there is one.
pub(crate) fn with_remedy(message: &str) -> String {
    if let Some((wrong, expected)) = message.strip_prefix("unknown field `").and_then(|m| m.split_once('`')) {
        // The names stand between backquotes: every second piece.
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        let remedy = match did_you_mean(wrong, known.iter().copied()) {
            empty if empty.is_empty() => format!(": the keys here are {}", known.join(", ")),
            remedy => remedy,
        };
        return format!("unknown key `{wrong}`{remedy}");
    }
    if let Some(name) = message.strip_prefix("missing field `").and_then(|m| m.strip_suffix('`')) {
        return format!("the key `{name}` is missing: add it");
    }
    if let Some((wrong, expected)) = message.strip_prefix("unknown variant `").and_then(|m| m.split_once('`')) {
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        return format!("`{wrong}` is not known here: write {}", known.join(" or "));
    }
    for (rust, plain) in
        [("u32", "a whole number from 0 to 4294967295"), ("u64", "a whole number from 0"), ("i64", "a whole number")]
    {
        if let Some(found) = message.strip_suffix(rust).and_then(|m| m.strip_suffix(", expected ")) {
            return format!("{} does not fit here: write {plain}", found_here(found));
        }
    }
    // Readers of tables also take a list of their values in order, which nobody writes.
    if message.starts_with("invalid length ") && message.contains("expected struct ") {
        return with_remedy("invalid type: sequence, expected a map");
    }
    match message.strip_prefix("invalid type: ").and_then(|m| m.rsplit_once(", expected ")) {
        Some(("map", "a sequence")) => {
            "this is one table where several can be: write its name in two pairs of brackets, as in [[task]]".into()
        }
        Some((found, expected)) => format!("{} does not fit here: write {}", found_here(found), wanted(expected)),
        None => message.into(),
    }
}

/// What the TOML reader has found, in the words of TOML.
fn found_here(found: &str) -> String {
    let found = found.trim_start_matches("invalid value: ").trim_start_matches("invalid type: ");
    match found.split_once('`').and_then(|(kind, value)| Some((kind, value.strip_suffix('`')?))) {
        // A number in all its digits is longer than what somebody wrote.
        Some(("floating point ", value)) if value.len() > LONGEST_NUMBER => {
            value.parse::<f64>().map_or_else(|_| found.into(), |value| format!("`{value:e}`"))
        }
        Some((_, value)) => format!("`{value}`"),
        None => match found {
            "map" => "a table".into(),
            "sequence" => "a list".into(),
            _ => found.trim_start_matches("string ").into(),
        },
    }
}

/// The same of what it expects.
fn wanted(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list, as in [1, 2]",
        "a map" => "a table, as in { key = 1 }",
        "a boolean" => "true or false",
        "a string" => "a text in quotes",
        _ if expected.starts_with("struct ") => "a table, as in { key = 1 }",
        _ => expected,
    }
}

/// The most digits of a number that is shown as it is.
const LONGEST_NUMBER: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let error = |byte| ScenarioError::at_byte("f", "ab\nµx\n", byte, "m").to_string();
        assert_eq!(error(0), "f:1:1: m");
        assert_eq!(error(5), "f:2:2: m");
        assert_eq!(error(4), "f:2:1: m"); // inside the two bytes of µ
        assert_eq!(error(99), "f:3:1: m");
    }

    #[test]
    fn a_fault_is_found_by_its_path() {
        let text = "[run]\nseed = 1\n[[task]]\nx = 1\n[[task]]\nloop = [\n  { compute = 1 },\n]\n";
        let root = At::root();
        let task = root.key("task");
        let second = task.index(1);
        let steps = second.key("loop");
        let step = steps.index(0);
        assert_eq!(step.key("compute").fault("m").located("f", Some(text)).position, Some((7, 15)));
        assert_eq!(second.key("absent").fault("m").located("f", Some(text)).position, Some((5, 1)));
        assert_eq!(step.fault("m").located("f", None).to_string(), "f: task[1].loop[0]: m");
        assert_eq!(root.fault("m").located("f", None).to_string(), "f: m");
        assert_eq!(ScenarioError::at_path("f", text, "task[1].loop[0].compute", "m").position, Some((7, 15)));
    }

    #[test]
    fn a_key_that_is_there_twice_is_named() {
        for text in ["name = \"x\"\nname = \"y\"\n", "[run]\nseed = 1\nname = 2\nname = 3\n"] {
            let error = toml::from_str::<toml::Table>(text).unwrap_err();
            let told = ScenarioError::of_toml("f", text, &error).to_string();
            assert!(told.ends_with(": `name` is there twice: leave one of them out"), "{told}");
        }
    }

    #[test]
    fn near_words_are_suggested_and_far_ones_listed() {
        let unknown = |key| with_remedy(&format!("unknown field `{key}`, expected one of `duration`, `seed`"));
        assert_eq!(unknown("durration"), "unknown key `durration`: did you mean `duration`?");
        assert_eq!(unknown("colour"), "unknown key `colour`: the keys here are duration, seed");
        assert_eq!(did_you_mean("b", ["a"]), "");
        assert_eq!(with_remedy("unknown variant `x`, expected `a` or `b`"), "`x` is not known here: write a or b");
        assert_eq!(
            with_remedy("invalid value: integer `-1`, expected u32"),
            "`-1` does not fit here: write a whole number from 0 to 4294967295"
        );
        for (message, told) in [
            ("invalid type: map, expected a sequence", "write its name in two pairs of brackets"),
            ("invalid type: string \"5ms\", expected struct Io", "\"5ms\" does not fit here: write a table"),
            ("invalid type: string \"5\", expected a sequence", "\"5\" does not fit here: write a list"),
            ("invalid type: integer `1`, expected a boolean", "`1` does not fit here: write true or false"),
            ("invalid type: floating point `100000000000000000000000.0`, expected u64", "`1e23` does not fit here"),
        ] {
            assert!(with_remedy(message).contains(told), "{}", with_remedy(message));
        }
        assert_eq!(with_remedy("missing field `name`"), "the key `name` is missing: add it");
    }
}
