//! Pages as files, and what the program knows about where their numbers come from.

use crate::failure::Failure;
use crate::job::Job;
use schedlab_html::{Document, Heard, Listing, Provenance, of_comparison};
use schedlab_model::scenario::Scenario;
use schedlab_model::workload::Workload;
use schedlab_policy::{PolicySpec, Reference, catalog};
use schedlab_report::comparison::Comparison;
use std::path::Path;

/// Writes a page, whole or not at all.
pub fn write(file: &Path, document: &Document) -> Result<(), Failure> {
    let fresh = file.with_extension("html.new");
    let written = std::fs::write(&fresh, document.html()).and_then(|()| std::fs::rename(&fresh, file));
    written.map_err(|error| Failure::Failed(format!("cannot write {}: {error}", file.display())))
}

/// Writes the page of what a job came to.
pub fn write_comparison(
    file: &Path,
    comparison: &Comparison,
    heard: &[Heard],
    (job, policies): (&Job, &[PolicySpec]),
) -> Result<(), Failure> {
    write(file, &of_comparison(comparison, heard, provenance(&job.scenario, &job.workload, policies)))
}

/// What gives the same again: the command, the scenario and the policies' sources.
fn provenance(scenario: &Scenario, workload: &Workload, policies: &[PolicySpec]) -> Provenance {
    let nice = workload.groups.iter().map(|group| (group.name.clone(), group.nice.into())).collect();
    let scenario = Listing::file(&format!("{}.toml", scenario.name), &scenario.to_toml());
    let mut files = vec![scenario];
    for spec in policies {
        if let Some(source) = source(spec).filter(|source| !files.iter().any(|known| known.title == source.title)) {
            files.push(source);
        }
    }
    Provenance { commands: vec![command()], files, nice, ..Provenance::default() }
}

/// The source of a policy, where there is one: a shipped one, or the user's file.
fn source(spec: &PolicySpec) -> Option<Listing> {
    match &spec.reference {
        Reference::Name(name) => {
            let shipped = catalog().iter().find(|shipped| shipped.name == *name)?;
            Some(Listing::file(&format!("{name}.bpf.c"), shipped.source))
        }
        Reference::Object(_) => None,
        Reference::Source(path) => {
            let text = std::fs::read_to_string(path).ok()?;
            Some(Listing::file(&path.file_name()?.to_string_lossy(), &text))
        }
    }
}

/// The command that was given, as a shell takes it.
pub fn command() -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("schedlab".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./,:=@+%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted("rr:quantum=5ms,cfs"), "rr:quantum=5ms,cfs");
        assert_eq!([quoted("a b"), quoted("it's"), quoted("")], ["'a b'", "'it'\\''s'", "''"]);
    }
}
