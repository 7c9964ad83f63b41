//! Tables as files, for the commands that compare.

use crate::failure::Failure;
use crate::{files, page};
use schedlab_boundary::Shown;
use schedlab_report::Table;
pub use schedlab_report::export::Form;
use std::path::PathBuf;

/// Whether these files can be written.
pub fn check(exports: &[(Form, PathBuf)]) -> Result<(), Failure> {
    files::check(exports.iter().map(|(_, file)| file.as_path()))
}

/// Writes the tables into each file; in Markdown behind the command that makes them.
pub fn write<T: AsRef<str>>(
    exports: &[(Form, PathBuf)],
    tables: impl Fn(Form) -> Vec<(T, Table)>,
) -> Result<(), Failure> {
    exports.iter().try_for_each(|(form, file)| {
        let source = match form {
            Form::Markdown => format!("    {}\n\n", page::command()),
            Form::Csv => String::new(),
        };
        let text = source + &form.show(&tables(*form));
        files::write(file, Shown::document(&text).as_str().as_bytes())
    })
}
