//! Which kind of file a text is: people pass a gate where a scenario is wanted.

use crate::CatalogueError;
use schedlab_boundary::file;
use schedlab_boundary::shell::quoted;
use std::io::{self, Read as _};
use std::path::Path;

/// A kind of file: what it is called, the table that only it has, the command that takes it, and what else that needs.
struct Kind {
    name: &'static str,
    table: &'static str,
    command: &'static str,
    more: &'static str,
    /// Whether the command reads it from standard input too: some look for files next to it.
    is_piped: bool,
}

const KINDS: [Kind; 5] = [
    Kind { name: "a scenario", table: "[[task]]", command: "run", more: " --policy rr", is_piped: true },
    Kind { name: "a gate", table: "[[check]]", command: "gate", more: "", is_piped: false },
    Kind { name: "a score's file", table: "[[part]]", command: "score", more: " --policy rr", is_piped: false },
    Kind { name: "a sweep", table: "[axis]", command: "sweep", more: " -o table", is_piped: true },
    Kind { name: "a study", table: "[[question]]", command: "study", more: "", is_piped: true },
];

/// Files of other kinds, by their extension, and what to do with them.
const OTHERS: [(&str, &str); 7] = [
    (".steps.parquet", "these are the recorded steps of a model: name its scenario, which reads them"),
    (".txt", "this is a text: `schedlab import FILE` reads what other tools record as text"),
    (".data", "this is a recording: `schedlab import FILE` makes a trace of it"),
    (".dat", "this is a recording: `schedlab import FILE` makes a trace of it"),
    (".bpf.c", "this is a policy: name a scenario, and pass this as `--policy FILE`"),
    (".bpf.o", "this is a policy: name a scenario, and pass this as `--policy FILE`"),
    (".html", "this is a page: open it in a browser"),
];

/// How traces begin, by their extensions.
const TRACES: [(&str, &[u8]); 3] = [(".parquet", PARQUET), (".pftrace", b"\n"), (".perfetto-trace", b"\n")];
/// No text begins so.
const PARQUET: &[u8] = b"PAR1";

/// The policy in an example where the user named none.
pub const EXAMPLE: &str = "eevdf";

/// What messages call a file that a user names so.
pub fn shown(file: &str) -> &str {
    if file == "-" { "standard input" } else { file }
}

/// What to do with a trace where a scenario is wanted; `policies` are those that were named.
pub fn of_trace(file: &str, policies: &str) -> String {
    let (name, file, policies) = (shown(file), quoted(file), quoted(policies));
    format!(
        "{name}: this is a trace: `schedlab model {file}` makes a scenario of it, \
         `schedlab predict {file} --policy {policies}` predicts from it, `schedlab trace {file}` shows it; `schedlab report {file}` makes a page"
    )
}

/// Whether a name says that it is that of a file which is none of ours in TOML.
pub fn is_named_otherwise(file: &str) -> bool {
    by_name(file).is_some() || TRACES.iter().any(|(extension, _)| file.ends_with(extension))
}

/// What to do with a file of which the name says that it is none of ours in TOML, and no trace.
pub fn by_name(file: &str) -> Option<String> {
    let (_, what) = OTHERS.iter().find(|(extension, _)| file.ends_with(extension))?;
    Some(format!("{}: {}", shown(file), what.replace("FILE", &quoted(file))))
}

/// What a file is of which the name or the first bytes say that it is none of ours in TOML; `file` is what the user
/// calls it.
pub fn of_file(path: &Path, file: &str) -> Option<CatalogueError> {
    if let Some(what) = by_name(file).filter(|_| path.exists()) {
        return Some(CatalogueError::Unknown(what));
    }
    let mut start = Vec::new();
    let opened = file::open(path, file::ANY_BYTES);
    opened.and_then(|opened| opened.take(PARQUET.len() as u64).read_to_end(&mut start)).ok()?;
    of_start(&start, file)
}

/// The same of bytes that are there.
fn of_start(start: &[u8], file: &str) -> Option<CatalogueError> {
    let named = TRACES.iter().find(|(extension, _)| file.ends_with(extension));
    match named {
        _ if start.starts_with(PARQUET) => Some(CatalogueError::Trace(file.into())),
        Some((_, magic)) if start.starts_with(magic) => Some(CatalogueError::Trace(file.into())),
        Some((extension, _)) => {
            let why = if start.is_empty() { "it is empty" } else { "it does not begin as one" };
            let what = format!("no trace, though its name ends in {extension}: {why}; copy or record it again");
            Some(CatalogueError::Unknown(format!("{}: this is {what}", shown(file))))
        }
        None => None,
    }
}

/// The text of a file of ours in TOML, or what standard input has if it is called `-`.
///
/// # Errors
///
/// It cannot be read, or is no text.
pub fn text_of(path: &Path, file: &str) -> Result<String, CatalogueError> {
    let unreadable = |error: io::Error| match file {
        "-" => CatalogueError::Unknown(format!("{} cannot be read: {error}", shown(file))),
        _ => CatalogueError::Unknown(format!("{file}: the file cannot be read: {error}")),
    };
    let bytes = file::bytes_or_input(path, file::TEXT_BYTES)
        .map_err(|error| of_file(path, file).unwrap_or_else(|| unreadable(error)))?;
    let start: Vec<u8> = bytes.iter().take(PARQUET.len()).copied().collect();
    file::in_utf8(bytes).map_err(|error| {
        by_name(file)
            .map(CatalogueError::Unknown)
            .or_else(|| of_start(&start, file))
            .unwrap_or_else(|| unreadable(error))
    })
}

/// What to do with JSON where a file of ours in TOML is wanted.
pub fn of_json(text: &str, file: &str) -> Option<String> {
    let of_rt_app = || {
        format!("{}: this is JSON, as of rt-app: `schedlab run {} --policy rr` takes that", shown(file), quoted(file))
    };
    for_another_reader(text, file).or_else(|| text.trim_start().starts_with('{').then(of_rt_app))
}

/// What to do with a text that `command` cannot use, if another command takes it: `this is a gate: `schedlab gate FILE` takes it`.
pub fn for_another_command(text: &str, file: &str, command: &str) -> Option<String> {
    let has = |kind: &&Kind| text.lines().any(|line| line.trim() == kind.table);
    let kind = KINDS.iter().find(has).filter(|kind| kind.command != command)?;
    let (name, argument) = (shown(file), quoted(file));
    let Kind { name: what, command, more, .. } = kind;
    Some(match file == "-" && !kind.is_piped {
        true => format!("{name}: this is {what}: save it as a file, and `schedlab {command} FILE{more}` takes it"),
        false => format!("{name}: this is {what}: `schedlab {command} {argument}{more}` takes it"),
    })
}

/// The same for JSON, where a scenario of rt-app is wanted.
pub fn for_another_reader(text: &str, file: &str) -> Option<String> {
    let is_ours = text.trim_start().starts_with('{') && text.contains("\"schema\": \"schedlab.");
    let remedy = || {
        let (name, file) = (shown(file), quoted(file));
        format!("{name}: this is a result: `schedlab report {file}` makes a page of it")
    };
    is_ours.then(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_no_scenario() {
        let gate = "about = \"x\"\n[[check]]\nmetric = \"y\"\n";
        let told = |text, file, command| for_another_command(text, file, command).unwrap_or_default();
        assert_eq!(told(gate, "x.toml", "run"), "x.toml: this is a gate: `schedlab gate x.toml` takes it");
        assert_eq!(told(gate, "my x.toml", "run"), "my x.toml: this is a gate: `schedlab gate 'my x.toml'` takes it");
        let piped = "standard input: this is a gate: save it as a file, and `schedlab gate FILE` takes it";
        assert_eq!(told(gate, "-", "run"), piped);
        let scenario = told("[[task]]\n", "-", "trace");
        assert_eq!(scenario, "standard input: this is a scenario: `schedlab run - --policy rr` takes it");
        assert_eq!(for_another_command(gate, "x.toml", "gate"), None);
        assert_eq!(for_another_command("name = \"x\"\n", "x.toml", "run"), None);
    }

    #[test]
    fn names_and_braces_say_what_a_file_is() {
        assert!(by_name("a/b.bpf.c").is_some_and(|told| told.starts_with("a/b.bpf.c: this is a policy: ")));
        assert!(by_name("m.steps.parquet").is_some_and(|told| told.contains("recorded steps")));
        assert!(by_name("my a.dat").is_some_and(|told| told.contains("`schedlab import 'my a.dat'`")));
        assert_eq!(by_name("a.toml"), None);
        assert_eq!(
            of_json("{ \"tasks\": {} }", "r").as_deref(),
            Some("r: this is JSON, as of rt-app: `schedlab run r --policy rr` takes that")
        );
        assert_eq!(of_json("name = \"x\"", "r"), None);
    }

    #[test]
    fn a_trace_begins_as_one() {
        let told = |start: &[u8], file| of_start(start, file).map(|what| what.to_string()).unwrap_or_default();
        for (start, file) in [(b"PAR1", "t.parquet"), (b"PAR1", "t.toml"), (b"\nabc", "t.pftrace"), (b"PAR1", "-")] {
            assert!(told(start, file).contains(": this is a trace: `schedlab model "), "{file}");
        }
        assert!(told(b"PAR1", "-").starts_with("standard input: ") && told(b"PAR1", "-").contains("schedlab model -`"));
        assert!(told(b"", "t.parquet").starts_with("t.parquet: this is no trace, ") && told(b"", "t.toml").is_empty());
        assert!(told(b"", "t.parquet").contains(".parquet: it is empty;"));
        assert!(told(b"xyzt", "t.perfetto-trace").contains("it does not begin as one"));
        assert_eq!(of_trace("a.parquet", "rr,cfs").matches("predict a.parquet --policy rr,cfs`").count(), 1);
    }

    #[test]
    fn a_result_is_no_scenario() {
        let told = for_another_reader("{\n  \"schema\": \"schedlab.result/2\"}", "r.json");
        assert_eq!(told.as_deref(), Some("r.json: this is a result: `schedlab report r.json` makes a page of it"));
        assert_eq!(for_another_reader("{\"tasks\": {}}", "r.json"), None);
    }
}
