//! What can go wrong with a trace file.

use crate::{format::Format, header::SCHEMA};
use schedlab_boundary::shell::quoted;
use std::{
    io,
    path::{Path, PathBuf},
};

/// What to do with a file of which schedlab did not write the trace.
pub fn of_other_tools(path: &Path) -> String {
    let file = quoted(&path.display().to_string());
    format!("`schedlab import {file}` makes a trace of what another tool recorded")
}

/// A trace file that cannot be written or read. The message is one line: the file, what is wrong, what to try.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name of the file says nothing about its form.
    #[error("{}: unknown kind of trace file; end the name in {}", path.display(), Format::extensions())]
    UnknownExtension {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be made, or writing to it failed. Nothing was left under its name.
    #[error("{}: cannot write the trace: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The writer was closed before the run came to its end. Nothing was left under the file's name.
    #[error("{}: the run did not come to its end, so the trace was not kept", path.display())]
    Unfinished {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be opened or read.
    #[error("{}: cannot read the trace: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A text trace: it has no reader.
    #[error(
        "{}: a text trace is for reading only; schedlab cannot load it: keep the run as .parquet or .pftrace",
        path.display()
    )]
    Text {
        /// The file.
        path: PathBuf,
    },
    /// The file is of another kind, or another program wrote it.
    #[error("{}: not a trace of schedlab: {what}; {}", path.display(), of_other_tools(path))]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Why it is not.
        what: String,
    },
    /// The file has no steps of a model.
    #[error("{}: no recorded steps: {what}; make the model again with `schedlab model`", path.display())]
    Steps {
        /// The file.
        path: PathBuf,
        /// Why it has none.
        what: String,
    },
    /// Another schedlab wrote the file.
    #[error(
        "{}: the trace has the schema {found}, this schedlab reads {SCHEMA}; use the schedlab that wrote it, or make it \
         again with this one", path.display()
    )]
    OtherSchema {
        /// The file.
        path: PathBuf,
        /// The schema of the file.
        found: String,
    },
    /// The end of the file is missing.
    #[error("{}: the trace is cut off{}; copy or record it again", path.display(), at.map(|n| format!(" at byte {n}")).unwrap_or_default())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Where, if that is known.
        at: Option<u64>,
    },
    /// The file is whole, but something in it cannot be.
    #[error("{}: the trace is damaged: {what}; copy or record it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What cannot be.
        what: String,
    },
}
