//! The names that completions offer: shipped policies, scenarios, families and studies. A file may stand where the program takes
//! one, too.

use crate::args::Shell;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use schedlab_catalogue::{self as catalogue, families};
use schedlab_policy::catalog;
use schedlab_venue::{Discipline, ideal_name};
use std::fmt::Write as _;

/// Stands among the names of an argument that takes files too, until the script is finished.
const FILES: &str = "__files__";

/// As [`FILES`], where the argument is a list: names come after a comma, too.
const LIST: &str = "__list__";

/// The completions of a shell.
pub fn completions(shell: Shell, command: Command) -> String {
    let hidden = hidden(&command);
    let mut command = named(command);
    let mut text = Vec::new();
    clap_complete::generate(shell.generator(), &mut command, "schedlab", &mut text);
    let text = String::from_utf8_lossy(&text);
    match shell {
        Shell::Bash => bash(&text, &hidden),
        Shell::Zsh => zsh(&text, &hidden),
        Shell::Fish => fish(&text, &hidden) + &fish_positionals(&command),
    }
}

/// Options that no help shows.
fn hidden(command: &Command) -> Vec<String> {
    let own = command.get_arguments().filter(|arg| arg.is_hide_set()).filter_map(Arg::get_long);
    let own: Vec<String> = own.map(|long| format!("--{long}")).collect();
    own.into_iter().chain(command.get_subcommands().flat_map(hidden)).collect()
}

/// The command with the names that its arguments take.
fn named(command: Command) -> Command {
    let name = command.get_name().to_string();
    let with_names = |arg: Arg| match names(&name, arg.get_id().as_str()) {
        // Completions only offer words: no value is read, and a default need not be one of them.
        Some(names) => {
            let mark = takes_list(&arg).then_some(LIST);
            let words = PossibleValuesParser::new(names.into_iter().chain(mark));
            arg.default_value(None::<&'static str>).value_parser(words)
        }
        None => arg,
    };
    command.mut_args(with_names).mut_subcommands(named)
}

/// Whether an argument takes several names with commas between them: its help then calls them so.
fn takes_list(arg: &Arg) -> bool {
    arg.get_value_names().is_some_and(|names| names.iter().any(|name| ["POLICIES", "NAMES"].contains(&name.as_str())))
}

/// What an argument of a command is called by.
fn names(command: &str, argument: &str) -> Option<Vec<&'static str>> {
    let scenarios = || catalogue::scenarios().iter().map(|shipped| shipped.name);
    let studies = || catalogue::studies().iter().map(|shipped| shipped.name);
    let families = || families::all().iter().map(|family| family.name);
    let shipped = || catalog().iter().map(|policy| policy.name);
    Some(match (command, argument) {
        ("new", "from") => shipped().collect(),
        (_, "policy") | ("search", "against") => shipped().chain(ideal()).chain([FILES]).collect(),
        ("scenarios", "name") => scenarios().collect(),
        (_, "scenario") => scenarios().chain([FILES]).collect(),
        (_, "family") => families().chain(["all"]).collect(),
        ("show", "name") => studies().collect(),
        ("study", "study") => studies().chain([FILES]).collect(),
        _ => return None,
    })
}

/// The ideal disciplines. Their names are made, and clap's are as old as the program.
fn ideal() -> impl Iterator<Item = &'static str> {
    Discipline::ALL.into_iter().map(|discipline| &*ideal_name(discipline).leak())
}

/// A line without the names of hidden options and without marks.
fn without(line: &str, hidden: &[String]) -> String {
    let plain = [FILES, LIST].iter().fold(line.to_string(), |line, mark| line.replace(&format!(" {mark}"), ""));
    hidden.iter().fold(plain, |line, option| line.replace(&format!(" {option} "), " "))
}

/// Bash has a line for the words of a command, and one for those of each option.
fn bash(text: &str, hidden: &[String]) -> String {
    let (mut takes_files, mut script) = (false, String::new());
    for line in text.lines() {
        let is_of_command = line.trim_start().starts_with("opts=\"");
        let is_marked = line.contains(FILES);
        if is_of_command {
            takes_files = is_marked;
        }
        let is_reply = line.contains("compgen -W ");
        let offers_files = is_reply && (is_marked || takes_files && line.contains("${opts}"));
        let is_list = is_reply && line.contains(LIST);
        let line = without(line, hidden);
        let line = match is_list {
            // What comes before the last comma is there already.
            true => line
                .replace("compgen -W ", "compgen -P \"${cur%\"${cur##*,}\"}\" -W ")
                .replace("-- \"${cur}\"", "-- \"${cur##*,}\""),
            false => line,
        };
        let line = match offers_files {
            // Folders get a slash, and names with spaces quotes.
            true => line
                .replace("COMPREPLY=(", "compopt -o filenames 2>/dev/null; COMPREPLY=(")
                .replace("$(compgen ", "$(compgen -f "),
            false => line,
        };
        let _ = writeln!(script, "{line}");
    }
    script
}

/// Zsh has the words of an argument in brackets; where there are marks they are a function.
fn zsh(text: &str, hidden: &[String]) -> String {
    let (mut functions, mut script) = (String::new(), String::new());
    for (number, line) in text.lines().enumerate() {
        if hidden.iter().any(|option| line.starts_with(&format!("'{option}["))) {
            continue;
        }
        let (is_list, takes_files) = (line.contains(LIST), line.contains(FILES));
        let plain = without(line, &[]);
        let parts = plain.rsplit_once(":(").and_then(|(before, rest)| Some((before, rest.rsplit_once(')')?)));
        let (true, Some((before, (words, after)))) = (is_list || takes_files, parts) else {
            let _ = writeln!(script, "{line}");
            continue;
        };
        let name = format!("_schedlab_names_{number}");
        let list = if is_list { "compset -P '*,'; " } else { "" };
        let files = if takes_files { " 'files:file:_files'" } else { "" };
        let _ = writeln!(functions, "{name}() {{ {list}_alternative 'names:name:({words})'{files} }}");
        let _ = writeln!(script, "{before}:{name}{after}");
    }
    // The first call of the script comes at its end.
    let (head, rest) = script.split_once("\n\n").unwrap_or(("", script.as_str()));
    format!("{head}\n\n{functions}\n{rest}")
}

/// Fish has a line for each word of an option, the last of them with the quote that ends them.
fn fish(text: &str, hidden: &[String]) -> String {
    let mut script: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_hidden = |option: &String| line.contains(&format!(" -l {} ", option.trim_start_matches('-')));
        if hidden.iter().any(is_hidden) {
            continue;
        }
        let mark = [FILES, LIST].into_iter().find(|mark| line.starts_with(mark));
        let (Some(mark), Some((_, end))) = (mark, line.split_once("\\t''")) else {
            script.push(line.into());
            continue;
        };
        // What comes before it is the last word, and the line with the option is above all words.
        if let Some(last) = script.last_mut() {
            last.push_str(end);
        }
        let Some(option) = script.iter().rposition(|line| line.contains(" -a \"")) else { continue };
        match mark {
            FILES => script[option] = script[option].replace(" -r -f -a \"", " -r -F -a \""),
            _ => fish_list(&mut script, option),
        }
    }
    script.join("\n") + "\n"
}

/// Makes the words of an option from this line on what a list takes: fish has a function for it.
fn fish_list(script: &mut Vec<String>, option: usize) {
    let words = script.drain(option..).collect::<Vec<_>>().join("\n");
    let Some((head, words)) = words.split_once(" -a \"") else { return script.push(words) };
    let words: Vec<&str> = words.lines().filter_map(|line| Some(line.split_once("\\t''")?.0)).collect();
    script.push(format!("{head} -a \"(__fish_complete_list , 'printf %s\\\\n {}')\"", words.join(" ")));
}

/// What the library leaves out in fish: the words of arguments that are no options.
fn fish_positionals(command: &Command) -> String {
    let mut text = String::new();
    for verb in command.get_subcommands() {
        let below = verb.get_subcommands().map(|inner| (format!("{} {}", verb.get_name(), inner.get_name()), inner));
        for (path, command) in [(verb.get_name().to_string(), verb)].into_iter().chain(below) {
            for names in command.get_positionals().filter_map(|arg| names(command.get_name(), arg.get_id().as_str())) {
                let files = if names.contains(&FILES) { "-F" } else { "-f" };
                let words: Vec<&str> = names.into_iter().filter(|name| *name != FILES).collect();
                let condition = conditions(&path);
                let _ = writeln!(text, "complete -c schedlab -n \"{condition}\" {files} -a \"{}\"", words.join(" "));
            }
        }
    }
    text
}

/// When a command and one below it are on the line.
fn conditions(path: &str) -> String {
    match path.split_once(' ') {
        Some((verb, inner)) => {
            format!("__fish_schedlab_using_subcommand {verb}; and __fish_seen_subcommand_from {inner}")
        }
        None => format!("__fish_schedlab_using_subcommand {path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    fn script(shell: Shell) -> String {
        completions(shell, args::command())
    }

    #[test]
    fn no_script_has_a_mark_or_a_hidden_option() {
        let hidden = hidden(&args::command());
        assert_eq!(hidden, ["--confined"]);
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = script(shell);
            assert!(![FILES, LIST, "confined"].iter().any(|word| text.contains(word)), "{shell:?}");
            assert!(text.contains("heavy-load") && text.contains("mlfq"), "{shell:?}");
        }
    }

    #[test]
    fn zsh_and_fish_offer_names_and_files() {
        let zsh = script(Shell::Zsh);
        let function =
            zsh.lines().find(|line| line.starts_with("_schedlab_names_") && line.contains(" mlfq ")).unwrap();
        let (name, _) = function.split_once("()").unwrap();
        assert!(function.contains("'files:file:_files'") && zsh.contains(&format!(":POLICY:{name}' \\")), "{function}");
        assert!(zsh.find(function) < zsh.find("_schedlab() {"), "it is known before the first call");
        let fish = script(Shell::Fish);
        let policy = fish.lines().find(|line| line.contains("using_subcommand run\" -l policy")).unwrap();
        assert!(policy.contains(" -r -F -a \""), "{policy}");
        let scenario = "complete -c schedlab -n \"__fish_schedlab_using_subcommand run\" -F -a \"";
        assert!(fish.lines().any(|line| line.starts_with(scenario) && line.contains("heavy-load")), "{fish}");
    }
}
