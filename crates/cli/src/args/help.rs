//! The help of the program itself: its commands, grouped by what people want to do.

use super::Args;
use clap::{Command, CommandFactory};
use std::fmt::Write as _;

/// The options of the program itself are part of its usage.
const USAGE: &str = "schedlab <COMMAND>; -h or --help, also after a command; -V or --version";

const TEMPLATE: &str = "\
{about}
{usage-heading} {usage}{after-help}";

/// The commands by purpose. Names that do not exist here are skipped.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Run and compare", &["run", "compare", "sweep", "study", "overhead", "quota", "predict"]),
    ("Write policies and scenarios", &["policies", "scenarios", "model", "schema", "search", "score", "tune"]),
    ("Use a real machine", &["record", "import", "load", "calibrate", "venues", "vm"]),
    ("Look at traces and results", &["trace", "check", "report"]),
    ("Check for regressions and accuracy", &["gate", "bisect", "agreement"]),
    ("Set up", &["completions", "man", "help"]),
];

const EXAMPLE: &str = "Example: schedlab compare moderate-load --policy fcfs,rr,mlfq --runs 30";

/// The command line, with its commands grouped.
pub fn command() -> Command {
    let mut command = Args::command();
    command.build();
    let (short, long) = (short(&command), long(&command));
    Args::command().help_template(TEMPLATE).override_usage(USAGE).after_help(short).after_long_help(long)
}

/// The commands of a group that exist, each with its line.
fn group<'a>(command: &'a Command, names: &'a [&str]) -> impl Iterator<Item = (&'a str, String)> {
    names.iter().filter_map(|name| {
        let about = if *name == "help" { Some("Print this help, or that of a command".into()) } else { None };
        let found = command.find_subcommand(name)?;
        Some((*name, about.unwrap_or_else(|| found.get_about().map(ToString::to_string).unwrap_or_default())))
    })
}

/// Names only, so that it fits a small screen.
fn short(command: &Command) -> String {
    let mut text = String::from("Commands; `schedlab help` has a line for each:\n");
    for (title, names) in GROUPS {
        let names: Vec<&str> = group(command, names).map(|(name, _)| name).collect();
        let _ = writeln!(text, "  {title}:\n      {}", names.join(", "));
    }
    text + "\n" + EXAMPLE
}

/// A line for each command.
fn long(command: &Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{title}:");
        for (name, about) in group(command, names) {
            let _ = writeln!(text, "  {name:<12}{about}");
        }
        text.push('\n');
    }
    text + EXAMPLE
        + "\n\nExit codes: 0 done, 1 failed, 2 wrong input, 3 inconclusive, 4 a study needs\n\
           runs that are impossible here, 5 a gate or a search found a fault, 130 Ctrl-C."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_sound_and_the_help_fits_a_screen() {
        command().debug_assert();
        let short = command().render_help().to_string();
        assert!(short.lines().count() <= 24, "{short}");
        let long = command().render_long_help().to_string();
        for help in [&short, &long] {
            assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        }
    }

    #[test]
    fn each_command_is_in_one_group() {
        let command = Args::command();
        for name in command.get_subcommands().map(Command::get_name) {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(groups, 1, "{name}");
        }
    }
}
