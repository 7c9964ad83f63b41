//! Files that flags name.

use clap::builder::{PathBufValueParser, TypedValueParser};
use schedlab_boundary::own::standard_input;
use std::path::{Path, PathBuf};

/// Where copies of standard input are.
const COPIES: &str = "/proc/self/fd";
const INPUT: &str = "standard input";

/// A file to read, or `-` for standard input, of which a copy is kept until the program ends.
pub fn to_read() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        let Some("-") = path.to_str() else { return Ok(path) };
        standard_input().map_err(|error| format!("standard input cannot be read: {error}"))
    })
}

/// A file whose folder matters.
pub fn with_neighbours() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.to_str() {
        Some("-") => Err("standard input has no folder, and files are looked for next to this one: save it first"),
        _ => Ok(path),
    })
}

/// A page for browsers.
pub fn page() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| check_page(&path).map(|()| path))
}

/// Whether the name of a page says that it is one.
pub fn check_page(path: &Path) -> Result<(), &'static str> {
    ends_in(path, &["html", "htm"], "name a file that ends in .html")
}

/// A scenario that is written.
pub fn scenario() -> impl TypedValueParser<Value = PathBuf> {
    let check = |path: &Path| ends_in(path, &["toml"], "name a file that ends in .toml");
    PathBufValueParser::new().try_map(move |path| check(&path).map(|()| path))
}

fn ends_in(path: &Path, extensions: &[&str], otherwise: &'static str) -> Result<(), &'static str> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let is_one = extension.is_some_and(|extension| extensions.contains(&extension));
    if is_one || is_no_file(path) { Ok(()) } else { Err(otherwise) }
}

/// What is refused with better words when it is about to be written.
fn is_no_file(path: &Path) -> bool {
    path.is_dir() || path.starts_with("/dev")
}

/// What a file that is read is called.
pub fn shown(path: &Path) -> String {
    if path.starts_with(COPIES) { INPUT.into() } else { path.display().to_string() }
}

/// The same as an argument of a command.
pub fn argument(path: &Path) -> String {
    if path.starts_with(COPIES) { "-".into() } else { path.display().to_string() }
}

/// A message in which the copy of standard input has its name; a command between backticks takes it as `-`.
pub fn with_input_named(message: &str) -> String {
    let mut parts = message.split(COPIES);
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| {
        let is_in_command = text.matches('`').count() % 2 == 1;
        let name = if is_in_command { "-" } else { INPUT };
        text + name + part.trim_start_matches('/').trim_start_matches(|c: char| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_of_standard_input_is_called_so() {
        assert_eq!(with_input_named("/proc/self/fd/12: it is empty"), "standard input: it is empty");
        let command = with_input_named("/proc/self/fd/3: no trace; `schedlab import /proc/self/fd/3` makes one");
        assert_eq!(command, "standard input: no trace; `schedlab import -` makes one");
        assert_eq!(with_input_named("a: b"), "a: b");
        assert_eq!([argument(Path::new("/proc/self/fd/3")), argument(Path::new("a b"))], ["-", "a b"]);
        assert_eq!([shown(Path::new("/proc/self/fd/3")), shown(Path::new("a/b"))], ["standard input", "a/b"]);
    }
}
