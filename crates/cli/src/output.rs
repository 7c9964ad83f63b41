//! Standard output and what is known about it.

use crate::failure::Failure;
use schedlab_report::Style;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};

/// Prints everything at once.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut lines = Lines::new();
    lines.print(text)?;
    lines.end()
}

/// Standard output for pages that are printed line by line.
pub struct Lines(BufWriter<StdoutLock<'static>>);

impl Lines {
    /// Nothing is printed yet.
    pub fn new() -> Lines {
        Lines(BufWriter::new(io::stdout().lock()))
    }

    /// Prints text, soon or later.
    pub fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.0.write_all(text.as_bytes()).map_err(unprinted)
    }

    /// Prints what is not yet printed.
    pub fn end(mut self) -> Result<(), Failure> {
        self.0.flush().map_err(unprinted)
    }
}

fn unprinted(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::NobodyListens,
        _ => Failure::Failed(format!("cannot write to standard output: {error}")),
    }
}

/// Prints a value as JSON.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).expect("every result has a form in JSON");
    text.push('\n');
    print(&text)
}

/// A remark for the user, beside the output. When standard error is closed there is nobody to tell.
pub fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "{}", text.trim_end());
}

/// Colours on a terminal that shows them, unless the user wants none (`NO_COLOR`).
pub fn style() -> Style {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    Style { colours: io::stdout().is_terminal() && !refused && !dumb }
}
