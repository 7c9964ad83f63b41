//! `schedlab completions` and `schedlab man`: both made from the flags.

mod names;

use crate::args::{self, CompletionsArgs, ManArgs};
use crate::failure::Failure;
use crate::{files, output};
use clap_mangen::Man;
use schedlab_boundary::FileName;
use schedlab_model::count::numbered;
use std::path::Path;

/// The heading of the section that says how to write a command.
const SYNOPSIS: &str = ".SH SYNOPSIS\n";

/// Prints the completions of a shell.
pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    output::print_document(&names::completions(args.shell, args::command()))
}

/// Prints the manual page of the program or of a command, or writes one page for each command.
pub fn man(args: &ManArgs) -> Result<(), Failure> {
    let command = documented();
    let words: Vec<String> = args.of.iter().map(|word| word.display().to_string()).collect();
    let is_command = words.first().is_none_or(|word| command.find_subcommand(word).is_some());
    match args.of.as_slice() {
        [folder] if !is_command => write_all(&command, folder),
        _ => output::print_document(&page(inner(command, &words)?)),
    }
}

/// The command of these words.
fn inner(command: clap::Command, words: &[String]) -> Result<clap::Command, Failure> {
    words.iter().try_fold(command, |command, word| match command.find_subcommand(word) {
        Some(inner) => Ok(inner.clone()),
        None => {
            let name = command.get_display_name().unwrap_or(command.get_name()).replace('-', " ");
            Err(Failure::Input(format!(
                "man: `{name}` has no command `{word}`; `{name} --help` lists those that there are"
            )))
        }
    })
}

fn write_all(command: &clap::Command, folder: &Path) -> Result<(), Failure> {
    files::check_folder(folder)?;
    let count = write(command, folder)?;
    output::print(&format!(
        "{} in {}\n",
        numbered(count as u64, "manual page is", "manual pages are"),
        folder.display()
    ))
}

/// The commands that have a page: help has none.
fn documented() -> clap::Command {
    fn without_help(command: clap::Command) -> clap::Command {
        command.disable_help_subcommand(true).mut_subcommands(without_help)
    }
    let mut command = without_help(args::command());
    command.build();
    command
}

/// Writes the pages of a command and of those below it, and counts them.
fn write(command: &clap::Command, folder: &Path) -> Result<usize, Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_string();
    let file = FileName::check(&name).expect("names of commands are letters and hyphens");
    files::write_in(folder, &file, ".1", page(command.clone()).as_bytes())?;
    let below = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    let counts = below.map(|inner| write(inner, folder)).collect::<Result<Vec<_>, _>>()?;
    Ok(1 + counts.iter().sum::<usize>())
}

fn page(mut command: clap::Command) -> String {
    let synopsis = synopsis(&mut command);
    // Without it the footer of a page has the command's last word.
    let name = command.get_display_name().unwrap_or(command.get_name()).to_string();
    let mut text = Vec::new();
    let man = Man::new(command).source(format!("{name} {}", env!("CARGO_PKG_VERSION")));
    man.render(&mut text).expect("memory takes everything");
    with_synopsis(&String::from_utf8_lossy(&text), &synopsis)
}

/// A page with another synopsis: the library's lacks the values of flags and what comes before a nested command.
fn with_synopsis(page: &str, synopsis: &str) -> String {
    let Some((before, rest)) = page.split_once(SYNOPSIS) else { return page.into() };
    let after = rest.find("\n.SH ").map_or("", |next| &rest[next + 1..]);
    format!("{before}{SYNOPSIS}{synopsis}{after}")
}

/// How to write the command, as its help says it.
fn synopsis(command: &mut clap::Command) -> String {
    let usage = command.render_usage().to_string();
    let plain = |line: &str| line.trim().trim_start_matches("Usage: ").replace('\\', "\\e").replace('-', "\\-");
    let lines: Vec<String> = usage.lines().map(plain).filter(|line| !line.is_empty()).collect();
    lines.join("\n.br\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_by_its_words() {
        let found = |words: &[&str]| {
            inner(documented(), &words.iter().map(ToString::to_string).collect::<Vec<_>>())
                .map(|found| found.get_name().to_string())
        };
        assert_eq!(found(&["trace", "queue"]).unwrap(), "queue");
        let Err(Failure::Input(why)) = found(&["trace", "quue"]) else { panic!("there is none") };
        assert!(why.starts_with("man: `schedlab trace` has no command `quue`; `schedlab trace --help`"), "{why}");
    }

    #[test]
    fn a_page_says_how_to_write_its_command() {
        let command = documented();
        let trace = command.find_subcommand("trace").unwrap().find_subcommand("queue").unwrap().clone();
        let text = page(trace);
        let (_, synopsis) = text.split_once(SYNOPSIS).unwrap();
        assert!(synopsis.starts_with("schedlab trace <FILE> queue [OPTIONS]\n.SH DESCRIPTION\n"), "{synopsis}");
        assert!(text.contains("schedlab\\-trace\\-queue "), "{text}");
        let all = page(command.clone());
        assert!(all.contains("schedlab\\-run(1)") && !all.contains("help(1)"), "{all}");
        let run = page(command.find_subcommand("run").unwrap().clone());
        assert!(run.contains("schedlab run [OPTIONS] \\-\\-policy <POLICY> <SCENARIO>\n.SH "), "{run}");
    }
}
