//! Standard output and standard error. Nothing else in the program writes to them, and these take what has become [`Shown`].

use crate::args::paths::with_input_named;
use crate::failure::Failure;
use schedlab_boundary::Shown;
use schedlab_report::Style;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};

/// Where a page goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Standard output.
    Output,
    /// Standard error, while another program has standard output.
    Error,
}

impl Channel {
    /// How it shows a page.
    pub fn style(self) -> Style {
        match self {
            Channel::Output => style(),
            Channel::Error => style_of(io::stderr().is_terminal()),
        }
    }

    /// Prints a page at once. What standard error does not take is lost.
    pub fn print(self, text: &str) -> Result<(), Failure> {
        if self == Channel::Output {
            return print(text);
        }
        let _ = io::stderr().write_all(Shown::page(text, self.style().colours).as_str().as_bytes());
        Ok(())
    }
}

/// Prints a page at once.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut lines = Lines::new();
    lines.print(text)?;
    lines.end()
}

/// Prints a text that programs read too, with lines of any length.
pub fn print_document(text: &str) -> Result<(), Failure> {
    print_shown(&Shown::document(text))
}

fn print_shown(text: &Shown) -> Result<(), Failure> {
    let mut lines = Lines::new();
    lines.print_shown(text)?;
    lines.end()
}

/// Standard output for pages that are printed line by line.
pub struct Lines(BufWriter<StdoutLock<'static>>);

impl Lines {
    /// Nothing is printed yet.
    pub fn new() -> Lines {
        Lines(BufWriter::new(io::stdout().lock()))
    }

    /// Prints a part of a page, soon or later.
    pub fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.print_shown(&Shown::page(text, style().colours))
    }

    fn print_shown(&mut self, text: &Shown) -> Result<(), Failure> {
        self.0.write_all(text.as_str().as_bytes()).map_err(unprinted)
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
    print_shown(&Shown::json(&text))
}

/// A remark for the user, in addition to the output. It is lost if standard error is closed.
pub fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "{}", message(text));
}

/// What went wrong, as a remark.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "schedlab: {}", message(text));
}

/// Prints a message on standard error. Continuation lines are indented, so that none of them can pass for another message.
fn message(text: &str) -> String {
    let shown = Shown::message(with_input_named(text.trim_end()).as_str());
    let indented = |line: &str| if line.starts_with("  ") { line.into() } else { format!("  {line}") };
    let mut lines = shown.as_str().split('\n');
    let first = lines.next().unwrap_or_default().to_string();
    std::iter::once(first).chain(lines.map(indented)).collect::<Vec<_>>().join("\n")
}

/// How standard output shows a page.
pub fn style() -> Style {
    style_of(io::stdout().is_terminal())
}

/// Colours on a terminal that shows them, unless the user wants none (`NO_COLOR`).
fn style_of(is_terminal: bool) -> Style {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    Style { colours: is_terminal && !refused && !dumb }
}
