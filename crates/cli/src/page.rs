//! Pages as files, and what the program knows about where their numbers come from.

use crate::failure::Failure;
use crate::files;
use schedlab_boundary::shell::quoted;
use schedlab_html::{Document, of_comparison};
use schedlab_job::{Done, Job};
use schedlab_report::comparison::Comparison;
use std::path::Path;

/// Writes a page, whole or not at all.
pub fn write(file: &Path, document: &Document) -> Result<(), Failure> {
    files::write(file, document.html().as_bytes())
}

/// Writes the page of what a job came to.
pub fn write_comparison(file: &Path, comparison: &Comparison, job: &Job, done: &Done) -> Result<(), Failure> {
    write(file, &of_comparison(comparison, &done.heard, job.provenance(comparison, command())))
}

/// The command that was given, as a shell takes it.
pub fn command() -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("schedlab".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}
