//! `schedlab completions` and `schedlab man`: both made from the flags.

use crate::args::{self, CompletionsArgs, ManArgs};
use crate::failure::Failure;
use crate::{files, output};
use clap_mangen::Man;
use schedlab_boundary::FileName;
use std::path::Path;

/// Prints the completions of a shell.
pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell.generator(), &mut args::command(), "schedlab", &mut text);
    output::print_document(&String::from_utf8_lossy(&text))
}

/// Prints the manual page of the program, or writes one page for each command.
pub fn man(args: &ManArgs) -> Result<(), Failure> {
    let mut command = args::command();
    command.build();
    let Some(folder) = &args.folder else { return output::print_document(&page(command)) };
    files::check_folder(folder)?;
    let count = write(&command, folder)?;
    output::print(&format!("{count} manual pages are in {}\n", folder.display()))
}

/// Writes the pages of a command and of those below it, and counts them.
fn write(command: &clap::Command, folder: &Path) -> Result<usize, Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_string();
    let file = FileName::check(&name).expect("names of commands are letters and hyphens");
    files::write_in(folder, &file, ".1", page(command.clone()).as_bytes())?;
    let below = command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set());
    let counts = below.map(|inner| write(inner, folder)).collect::<Result<Vec<_>, _>>()?;
    Ok(1 + counts.iter().sum::<usize>())
}

fn page(command: clap::Command) -> String {
    let mut text = Vec::new();
    Man::new(command).render(&mut text).expect("memory takes everything");
    String::from_utf8_lossy(&text).into_owned()
}
