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
    PathBufValueParser::new().try_map(|path| match path.extension().and_then(|extension| extension.to_str()) {
        Some("html" | "htm") => Ok(path),
        _ if is_no_file(&path) => Ok(path),
        _ => Err("name a file that ends in .html"),
    })
}

/// What is refused with better words when it is about to be written.
fn is_no_file(path: &Path) -> bool {
    path.is_dir() || path.starts_with("/dev")
}

/// What a file that is read is called.
pub fn shown(path: &Path) -> String {
    if path.starts_with(COPIES) { INPUT.into() } else { path.display().to_string() }
}

/// A message in which the copy of standard input has its name.
pub fn with_input_named(message: &str) -> String {
    let mut parts = message.split(COPIES);
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| {
        text + INPUT + part.trim_start_matches('/').trim_start_matches(|c: char| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_of_standard_input_is_called_so() {
        assert_eq!(with_input_named("/proc/self/fd/12: it is empty"), "standard input: it is empty");
        assert_eq!(with_input_named("a: b"), "a: b");
        assert_eq!([shown(Path::new("/proc/self/fd/3")), shown(Path::new("a/b"))], ["standard input", "a/b"]);
    }
}
