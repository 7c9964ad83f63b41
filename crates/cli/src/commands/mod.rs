//! The commands, one file each.

pub mod agreement;
pub mod bisect;
pub mod calibrate;
pub mod check;
pub mod compare;
pub mod gate;
pub mod import;
pub mod load;
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

use crate::failure::Failure;
use schedlab_catalogue::kinds::for_another_command;
use std::path::Path;

/// What a file's text says to this command. Where that is nothing, it may be meant for another one.
fn parsed<T, E: Into<Failure>>(parsed: Result<T, E>, (text, file): (&str, &Path), command: &str) -> Result<T, Failure> {
    let meant = || for_another_command(text, &file.display().to_string(), command);
    parsed.map_err(|error| meant().map_or_else(|| error.into(), Failure::Input))
}
