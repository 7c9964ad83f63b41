//! `schedlab vm`: what virtual machines need.

use crate::args::VmCommand;
use crate::failure::Failure;
use crate::output;
use schedlab_report::wrap;
use schedlab_venue::{VenueError, kernels};
use std::path::PathBuf;

/// The width of the column of names.
const NAMES: usize = 21;

/// Lists kernels, or fetches one.
pub fn run(command: &VmCommand) -> Result<(), Failure> {
    match command {
        VmCommand::Kernels { fetch: None } => list(),
        VmCommand::Kernels { fetch: Some(name) } => fetch(name),
    }
}

fn list() -> Result<(), Failure> {
    let mut text = String::new();
    for known in kernels::KNOWN {
        let cached = kernels::cached(&known).map_err(VenueError::from)?;
        let cached = cached.map_or("not in the cache".into(), |path| format!("in the cache: {}", file_name(&path)));
        text += &wrap(&format!("{:<NAMES$}", known.name), NAMES, &format!("{}; {cached}", known.about));
    }
    let folder = kernels::cache().map_err(VenueError::from)?;
    let about = format!(
        "The cache is {}. What is not there is fetched when a run needs it. host stands for the running kernel's image; \
         a path with a / for any other.",
        folder.display()
    );
    output::print(&(text + "\n" + &wrap("", 0, &about)))
}

fn file_name(path: &std::path::Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

fn fetch(name: &str) -> Result<(), Failure> {
    let path: PathBuf = kernels::find(name).map_err(VenueError::from)?;
    output::print(&format!("{}\n", path.display()))
}
