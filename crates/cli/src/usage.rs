//! What is wrong with a command line, in one line, and which help to read.

use crate::args;
use crate::output::{self, complain};
use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use schedlab_model::scenario::did_you_mean;

/// What to write instead of something that is missing: the command, what it lacks, the alternative.
const ALTERNATIVES: [(&str, &str, &str); 3] = [
    ("schedlab agreement", "<SCENARIO>...", "--family <NAMES>"),
    ("schedlab record", "--seconds <TIME>", "a command to record, behind --"),
    ("schedlab sweep", "--output <DIR>", "--plan"),
];

/// Tells a user what is wrong.
pub fn tell(error: &clap::Error) {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return output::remark(&error.render().to_string());
    }
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    complain(&line(error, &words));
}

/// What is wrong with these words, and what to do.
fn line(error: &clap::Error, words: &[String]) -> String {
    let (command, path) = meant(words);
    let what = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let wrong = context(error, ContextKind::InvalidSubcommand).join(" ");
            let names = command.get_subcommands().map(Command::get_name);
            format!("there is no command `{wrong}`{}", did_you_mean(&wrong, names))
        }
        ErrorKind::UnknownArgument => unknown(error, words),
        ErrorKind::MissingRequiredArgument => missing(&context(error, ContextKind::InvalidArg), &path),
        _ => in_plain_words(&error.render().to_string()),
    };
    if what.ends_with('?') { what } else { format!("{what}; see `{path} --help`") }
}

/// The command that the words name, down to the innermost, and how to write it.
fn meant(words: &[String]) -> (Command, String) {
    let (mut command, mut path) = (args::command(), String::from("schedlab"));
    for (place, word) in words.iter().enumerate() {
        match command.find_subcommand(word).cloned() {
            Some(inner) => {
                path = format!("{path} {word}");
                command = inner;
            }
            // What follows something else is no command of the program.
            None if place == 0 => break,
            None => {}
        }
    }
    (command, path)
}

/// The texts that clap keeps about an error.
fn context(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// A word that is not known here: a negative number behind an option, another option, or one word too many.
fn unknown(error: &clap::Error, words: &[String]) -> String {
    let wrong = context(error, ContextKind::InvalidArg).join(" ");
    let digit = wrong.strip_prefix('-').and_then(|rest| rest.chars().next());
    if digit.is_some_and(|first| first.is_ascii_digit()) {
        let place = words.iter().position(|word| word.starts_with(&wrong)).unwrap_or_default();
        let option = place.checked_sub(1).map(|before| &words[before]).filter(|word| word.starts_with('-'));
        return match option {
            Some(option) => format!("{option} takes no negative value, as `{}`", words[place]),
            None => format!("no negative value, as `{wrong}`, is possible here"),
        };
    }
    // An option of another command has no similar one here.
    let commands = args::command();
    let mut options = commands.get_subcommands().flat_map(Command::get_arguments).filter_map(clap::Arg::get_long);
    let is_elsewhere = options.any(|long| wrong.strip_prefix("--") == Some(long));
    match context(error, ContextKind::SuggestedArg).first().filter(|_| !is_elsewhere) {
        Some(near) => format!("there is no option `{wrong}`: did you mean `{near}`?"),
        None if wrong.starts_with('-') => format!("there is no option `{wrong}`"),
        None => format!("`{wrong}` is a word too many"),
    }
}

fn missing(lacking: &[String], path: &str) -> String {
    let with_alternative = |lack: &String| {
        let other = ALTERNATIVES.iter().find(|(command, what, _)| *command == path && what == lack);
        other.map_or_else(|| lack.clone(), |(_, _, other)| format!("{lack}, or {other}"))
    };
    let all: Vec<String> = lacking.iter().map(with_alternative).collect();
    format!("the command lacks {}", all.join(" and "))
}

/// The first paragraph of what clap says, with what the standard library says of numbers.
fn in_plain_words(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let message = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = message
        .trim_start_matches("error: ")
        .replace("the argument '", "'")
        .replace("invalid digit found in string", "not a whole number")
        .replace("number too large to fit in target type", "too large a number");
    match message.split_once(" is not in ").and_then(|(before, range)| Some((before, range.split_once("..=")?))) {
        Some((before, (least, most))) if !least.contains(' ') => {
            let (most, rest) = most.split_at(most.find(|c: char| !c.is_ascii_digit()).unwrap_or(most.len()));
            format!("{before} is not between {least} and {most}{rest}")
        }
        _ => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a command line that is wrong.
    fn told(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(String::from).collect();
        let all = std::iter::once("schedlab").chain(line.split(' '));
        super::line(&args::command().try_get_matches_from(all).unwrap_err(), &words)
    }

    #[test]
    fn numbers_are_refused_in_plain_words() {
        let run = |more: &str| told(&format!("run x --policy rr {more}"));
        let help = "; see `schedlab run --help`";
        assert_eq!(run("--runs 0"), format!("invalid value '0' for '--runs <N>': 0 is not between 1 and 100000{help}"));
        assert!(run("--seed 99999999999999999999").ends_with(&format!("'--seed <N>': too large a number{help}")));
        assert!(run("--seed=x").ends_with(&format!("'--seed <N>': not a whole number{help}")));
        assert_eq!(run("--seed -1"), format!("--seed takes no negative value, as `-1`{help}"));
        assert_eq!(run("--duration -5ms"), format!("--duration takes no negative value, as `-5ms`{help}"));
    }

    #[test]
    fn what_is_not_known_is_named_with_what_was_probably_meant() {
        assert_eq!(told("comapre x"), "there is no command `comapre`: did you mean `compare`?");
        assert_eq!(told("xyzzy"), "there is no command `xyzzy`; see `schedlab --help`");
        assert_eq!(told("trace t.parquet latncy"), "there is no command `latncy`: did you mean `latency`?");
        assert_eq!(told("run x --polcy rr"), "there is no option `--polcy`: did you mean `--policy`?");
        assert_eq!(told("record --seed 1 -- true"), "there is no option `--seed`; see `schedlab record --help`");
        assert_eq!(told("run x y --policy rr"), "`y` is a word too many; see `schedlab run --help`");
        assert_eq!(
            told("run x --policy rr --json --tasks"),
            "'--json' cannot be used with '--tasks'; see `schedlab run --help`"
        );
    }

    #[test]
    fn the_help_of_the_innermost_command_is_named() {
        assert_eq!(told("policies new"), "the command lacks <NAME>; see `schedlab policies new --help`");
        assert_eq!(
            told("trace t.parquet latency --nope"),
            "there is no option `--nope`; see `schedlab trace latency --help`"
        );
    }

    #[test]
    fn what_is_missing_comes_with_its_alternative() {
        let told = |line: &str| told(line).split("; see").next().unwrap_or_default().to_string();
        assert_eq!(told("run x"), "the command lacks --policy <POLICY>");
        assert_eq!(told("agreement --policy rr"), "the command lacks <SCENARIO>..., or --family <NAMES>");
        assert_eq!(told("record"), "the command lacks --seconds <TIME>, or a command to record, behind --");
        assert_eq!(told("sweep s.toml"), "the command lacks --output <DIR>, or --plan");
    }
}
