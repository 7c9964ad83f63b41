//! `schedlab vm`: what virtual machines need.

use crate::args::VmCommand;
use crate::failure::Failure;
use crate::output;
use schedlab_report::wrap;
use schedlab_venue::{VenueError, kernels};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The width of the column of names.
const NAMES: usize = 21;

/// Lists kernels, or fetches one.
pub fn run(command: &VmCommand) -> Result<(), Failure> {
    match command {
        VmCommand::Kernels { fetch: None, json: true } => output::print_json(&object()?),
        VmCommand::Kernels { fetch: None, json: false } => list(),
        VmCommand::Kernels { fetch: Some(name), .. } => fetch(name),
    }
}

/// The files of the known kernels that are in the cache.
fn cached() -> Result<Vec<Option<PathBuf>>, Failure> {
    let file = |known| -> Result<_, Failure> { Ok(kernels::cached(known).map_err(VenueError::from)?) };
    kernels::KNOWN.iter().map(file).collect()
}

fn object() -> Result<Value, Failure> {
    let kernel = |(known, file): (&kernels::Known, Option<PathBuf>)| {
        let mut kernel = json!({ "name": known.name, "about": known.about });
        if let Some(file) = file {
            kernel["file"] = file.to_string_lossy().into();
        }
        kernel
    };
    let kernels: Vec<Value> = kernels::KNOWN.iter().zip(cached()?).map(kernel).collect();
    let folder = kernels::cache().map_err(VenueError::from)?;
    Ok(json!({ "schema": "schedlab.kernels/1", "cache": folder.to_string_lossy(), "kernels": kernels }))
}

fn list() -> Result<(), Failure> {
    let mut text = String::new();
    for (known, cached) in kernels::KNOWN.iter().zip(cached()?) {
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
