//! `schedlab vm`: what virtual machines need.

use crate::args::VmCommand;
use crate::failure::Failure;
use crate::output;
use schedlab_report::{Column, Table};
use schedlab_venue::{VenueError, kernels};
use std::path::PathBuf;

/// Lists kernels, or fetches one.
pub fn run(command: &VmCommand) -> Result<(), Failure> {
    match command {
        VmCommand::Kernels { fetch: None } => list(),
        VmCommand::Kernels { fetch: Some(name) } => fetch(name),
    }
}

fn list() -> Result<(), Failure> {
    let mut cached = Vec::new();
    for known in kernels::KNOWN {
        cached.push(kernels::cached(&known).map_err(VenueError::from)?.map_or("-".into(), |path| file_name(&path)));
    }
    let table = Table::new([
        Column::words("--kernel", kernels::KNOWN.iter().map(|known| known.name.into())),
        Column::words("what", kernels::KNOWN.iter().map(|known| known.about.into())),
        Column::words("in the cache", cached),
    ]);
    let folder = kernels::cache().map_err(VenueError::from)?;
    output::print(&format!(
        "{}\nThe cache is {}. What is not there is fetched when a run needs it.\n\
         host stands for the running kernel's image; a path with a / for any other.\n",
        table.show(output::style()),
        folder.display()
    ))
}

fn file_name(path: &std::path::Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

fn fetch(name: &str) -> Result<(), Failure> {
    let path: PathBuf = kernels::find(name).map_err(VenueError::from)?;
    output::print(&format!("{}\n", path.display()))
}
