//! The commands, one file each.

pub mod agreement;
pub mod bisect;
pub mod calibrate;
pub mod check;
pub mod compare;
pub mod gate;
pub mod import;
pub mod load;
mod missing;
pub mod model;
pub mod overhead;
pub mod policies;
pub mod predict;
pub mod quota;
pub mod record;
pub mod report;
pub mod run;
pub mod scenarios;
pub mod schema;
pub mod score;
pub mod search;
pub mod shell;
pub mod study;
pub mod sweep;
pub mod trace;
pub mod tune;
pub mod venues;
pub mod verify;
pub mod vm;

use crate::args::paths::argument;
use crate::failure::Failure;
use crate::output;
use schedlab_boundary::file;
use schedlab_catalogue::kinds::{self, by_name, for_another_command, of_json};
use schedlab_catalogue::{CatalogueError, Shipped};
use schedlab_policy::PolicySpec;
use schedlab_venue::{Policy, SimVenue, Venue as _, VenueError};
use std::path::Path;

/// Policies that are to be simulated.
///
/// # Errors
///
/// All that is wrong with any of them.
fn simulated<'a>(specs: impl IntoIterator<Item = &'a PolicySpec>) -> Result<Vec<Policy>, Failure> {
    let policies = Policy::find_each(specs)?;
    VenueError::all(policies.iter().filter_map(|policy| SimVenue.accepts(policy).err()).collect())?;
    Ok(policies)
}

/// The text of a file of ours in TOML.
fn text_of(path: &Path) -> Result<String, Failure> {
    Ok(kinds::text_of(path, &argument(path))?)
}

/// What a file's text says to this command. Where that is nothing, it may be meant for another one.
fn parsed<T, E: Into<Failure>>(parsed: Result<T, E>, (text, file): (&str, &Path), command: &str) -> Result<T, Failure> {
    let name = argument(file);
    let of_kind = || by_name(&name).or_else(|| of_json(text, &name));
    let meant = || for_another_command(text, &name, command).or_else(of_kind);
    parsed.map_err(|error| meant().map_or_else(|| error.into(), Failure::Input))
}

/// What is wrong with a file in which no trace was found: it may be a file of ours of another kind.
fn not_a_trace<E: Into<Failure>>(path: &Path) -> impl FnOnce(E) -> Failure {
    move |error| {
        let text = file::text(path).ok();
        let meant = text.and_then(|text| for_another_command(&text, &argument(path), "trace"));
        meant.map_or_else(|| error.into(), Failure::Input)
    }
}

/// Prints the file of something that ships. Where the name is that of another file, it says what to do with that.
fn print_shipped(found: Result<Shipped, CatalogueError>, name: &str, kind: &str) -> Result<(), Failure> {
    let path = Path::new(name);
    let error = match found {
        Ok(shipped) => return output::print_document(shipped.text),
        Err(error) => error,
    };
    if let Some(error) = kinds::of_file(path, name) {
        return Err(error.into());
    }
    let Ok(text) = file::text(path) else { return Err(error.into()) };
    let meant = for_another_command(&text, name, "").or_else(|| of_json(&text, name));
    Err(Failure::Input(meant.unwrap_or_else(|| format!("{name}: this is a file, and no {kind} that ships"))))
}
