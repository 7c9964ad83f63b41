//! Standard output and what is known about it.

use crate::failure::Failure;
use schedlab_report::Style;
use std::io::{self, ErrorKind, IsTerminal, Write};

/// Prints everything at once.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::NobodyListens,
        _ => Failure::Failed(format!("cannot write to standard output: {error}")),
    })
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
