//! What a command comes to, as files: the same for every command that has `--export`.

use crate::failure::Failure;
use crate::{files, page};
use schedlab_boundary::Shown;
use schedlab_report::export::Findings;
pub use schedlab_report::export::Form;
use std::path::PathBuf;

/// Whether these files can be written.
pub fn check(exports: &[(Form, PathBuf)]) -> Result<(), Failure> {
    files::check(exports.iter().map(|(_, file)| file.as_path()))
}

/// Writes the findings into each file; in Markdown behind the command that makes them.
pub fn write(exports: &[(Form, PathBuf)], findings: &Findings) -> Result<(), Failure> {
    exports.iter().try_for_each(|(form, file)| {
        let source = match form {
            Form::Markdown => format!("    {}\n\n", page::command()),
            Form::Csv => String::new(),
        };
        let text = source + &form.show(findings);
        files::write(file, Shown::document(&text).as_str().as_bytes())
    })
}
