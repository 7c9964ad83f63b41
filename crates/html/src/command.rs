//! The command or the call that made a page, for what its reader may do next.

use crate::document::Provenance;
use schedlab_boundary::shell::is_plain;

/// A command as a shell takes it, or a call as Python does.
pub struct Given<'a>(&'a str);

impl<'a> Given<'a> {
    /// The first command of a page.
    pub fn of(provenance: &'a Provenance) -> Given<'a> {
        Given(provenance.commands.first().map_or("", String::as_str))
    }

    /// What it is about, if it is one of these subcommands: a scenario, a trace, a gate, as a shell takes it. None
    /// where flags come first, and of a call where it is no name.
    pub fn subject(&self, subcommands: &[&str]) -> Option<&'a str> {
        match words(self.0)[..] {
            ["schedlab", subcommand, subject, ..] if subcommands.contains(&subcommand) => {
                Some(subject).filter(|subject| !subject.starts_with('-'))
            }
            _ => subcommands.iter().find_map(|function| self.named(function)),
        }
    }

    /// The first argument of a call of this function.
    fn named(&self, function: &str) -> Option<&'a str> {
        let arguments = |line: &'a str| line.strip_prefix("schedlab.")?.strip_prefix(function)?.strip_prefix("('");
        let (name, _) = self.0.lines().find_map(arguments)?.split_once('\'')?;
        Some(name).filter(|name| is_plain(name))
    }
}

/// The words of a command, with their quotation marks.
fn words(command: &str) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let is_between = |letter: char| {
        let is_between = letter == ' ' && !is_quoted && !is_escaped;
        is_quoted ^= letter == '\'' && !is_escaped;
        is_escaped = letter == '\\' && !is_quoted && !is_escaped;
        is_between
    };
    command.split(is_between).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_boundary::shell::quoted;

    fn subject(command: &str, subcommand: &str) -> Option<String> {
        let provenance = Provenance { commands: vec![command.into()], ..Provenance::default() };
        Given::of(&provenance).subject(&[subcommand]).map(String::from)
    }

    #[test]
    fn the_subject_is_the_first_word_behind_the_subcommand() {
        assert_eq!(subject("schedlab run a.toml --policy rr", "run").as_deref(), Some("a.toml"));
        let odd = quoted("my 'own' gate.toml");
        assert_eq!(subject(&format!("schedlab gate {odd} --all"), "gate"), Some(odd));
        let unknown = ["schedlab run --policy rr a.toml", "schedlab compare a.toml --policy rr", "schedlab run", ""];
        assert!(unknown.into_iter().all(|command| subject(command, "run").is_none()));
    }

    #[test]
    fn a_call_may_name_its_subject() {
        let call = "# a.toml is listed below: save it first.\nschedlab.run('a.toml', 'mlfq', seed=3, runs=2)";
        assert_eq!(subject(call, "run").as_deref(), Some("a.toml"));
        assert_eq!(subject("schedlab.run('heavy-load')", "run").as_deref(), Some("heavy-load"));
        for unknown in ["schedlab.run(scenario, 'rr', seed=1)", "schedlab.run('my load', 'rr', seed=1)"] {
            assert_eq!(subject(unknown, "run"), None);
        }
    }
}
