//! Which form a trace file has.

use std::{fmt, path::Path};

/// The form of a trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Columns, for data frames.
    Parquet,
    /// Protobuf, for the Perfetto UI.
    Perfetto,
    /// Lines, for people.
    Text,
}

/// The known extensions.
const EXTENSIONS: [(&str, Format); 4] = [
    ("parquet", Format::Parquet),
    ("pftrace", Format::Perfetto),
    ("perfetto-trace", Format::Perfetto),
    ("txt", Format::Text),
];

impl Format {
    /// The form that the file's name asks for.
    pub fn of_name(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?;
        EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|&(_, format)| format)
    }

    /// The form that the first bytes of a file show.
    pub(crate) fn of_content(start: &[u8]) -> Option<Format> {
        match start {
            [b'P', b'A', b'R', b'1', ..] => Some(Format::Parquet),
            // Field 1, length-delimited: the first packet.
            [0x0a, ..] => Some(Format::Perfetto),
            _ if start.starts_with(b"# schedlab.trace/") => Some(Format::Text),
            _ => None,
        }
    }

    /// The known extensions, for messages.
    pub(crate) fn extensions() -> String {
        let (last, rest) = EXTENSIONS.split_last().expect("there are some");
        let rest: Vec<_> = rest.iter().map(|(extension, _)| format!(".{extension}")).collect();
        format!("{} or .{}", rest.join(", "), last.0)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Format::Parquet => "Parquet",
            Format::Perfetto => "Perfetto",
            Format::Text => "text",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_names_the_form() {
        assert_eq!(Format::of_name(Path::new("a/b.parquet")), Some(Format::Parquet));
        assert_eq!(Format::of_name(Path::new("b.perfetto-trace")), Some(Format::Perfetto));
        assert_eq!(Format::of_name(Path::new("b.json")), None);
        assert_eq!(Format::of_name(Path::new("parquet")), None);
        assert_eq!(Format::extensions(), ".parquet, .pftrace, .perfetto-trace or .txt");
    }
}
