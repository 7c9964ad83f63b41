//! The scenarios and studies that ship with schedlab, and those in files.

use schedlab_model::scenario::{Scenario, ScenarioError};
use std::path::{Path, PathBuf};

/// What was asked for is not there, or is no scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// Neither a file nor shipped.
    #[error("{0}")]
    Unknown(String),
    /// It is there and cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// A file of the folders `scenarios/` and `studies/`.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its file's name without `.toml`.
    pub name: &'static str,
    /// The text of the file.
    pub text: &'static str,
}

/// All shipped scenarios in order of name.
pub fn scenarios() -> &'static [Shipped] {
    include!(concat!(env!("OUT_DIR"), "/scenarios.rs"))
}

/// All shipped studies in order of name.
pub fn studies() -> &'static [Shipped] {
    include!(concat!(env!("OUT_DIR"), "/studies.rs"))
}

/// The shipped scenario of this name.
///
/// # Errors
///
/// There is none, with the nearest name.
pub fn find_scenario(name: &str) -> Result<Shipped, CatalogueError> {
    find_in(scenarios(), "scenario", name)
}

/// The shipped study of this name.
///
/// # Errors
///
/// There is none, with the nearest name.
pub fn find_study(name: &str) -> Result<Shipped, CatalogueError> {
    find_in(studies(), "study", name)
}

fn find_in(list: &[Shipped], kind: &str, name: &str) -> Result<Shipped, CatalogueError> {
    list.iter().find(|shipped| shipped.name == name).copied().ok_or_else(|| {
        let nearest = list.iter().map(|s| (strsim::damerau_levenshtein(name, s.name), s.name)).min();
        let hint = match nearest {
            Some((distance, near)) if distance <= 1 + near.len() / 4 => format!("did you mean `{near}`?"),
            _ => format!("shipped are {}", list.iter().map(|s| s.name).collect::<Vec<_>>().join(", ")),
        };
        let what = format!("there is no {kind} `{name}`, neither as a file nor among the shipped ones; {hint}");
        CatalogueError::Unknown(what)
    })
}

/// The scenario that a user means: a file, or a shipped one by name.
///
/// # Errors
///
/// There is none, or it cannot be used.
pub fn load(argument: &str) -> Result<Scenario, CatalogueError> {
    load_beside(Path::new(""), argument)
}

/// The same; a file's name counts from `folder`.
///
/// # Errors
///
/// There is none, or it cannot be used.
pub fn load_beside(folder: &Path, argument: &str) -> Result<Scenario, CatalogueError> {
    let path = folder.join(argument);
    if path.exists() || argument.contains('/') || argument.ends_with(".toml") {
        std::fs::metadata(&path).map_err(|error| {
            CatalogueError::Unknown(format!("{}: the file cannot be read: {error}", path.display()))
        })?;
        return Ok(Scenario::from_file(&path)?);
    }
    let Shipped { name, text } = find_scenario(argument)?;
    Ok(Scenario::parse(text, &format!("shipped scenario {name}"))?)
}

/// A study's file.
#[derive(Clone, Debug)]
pub struct StudyFile {
    /// Its text.
    pub text: String,
    /// What errors call it.
    pub origin: String,
    /// Where its scenarios are looked for.
    folder: PathBuf,
}

impl StudyFile {
    /// The study that a user means: a file, or a shipped one by name.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be read.
    pub fn find(argument: &str) -> Result<StudyFile, CatalogueError> {
        let path = Path::new(argument);
        if !(path.exists() || argument.contains('/') || argument.ends_with(".toml")) {
            let Shipped { name, text } = find_study(argument)?;
            return Ok(StudyFile {
                text: text.into(),
                origin: format!("shipped study {name}"),
                folder: PathBuf::new(),
            });
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| CatalogueError::Unknown(format!("{argument}: the file cannot be read: {error}")))?;
        Ok(StudyFile { text, origin: argument.into(), folder: path.parent().map_or_else(PathBuf::new, PathBuf::from) })
    }

    /// A scenario that the study names: a file beside it, or a shipped one.
    ///
    /// # Errors
    ///
    /// What is wrong, in a line.
    pub fn scenario(&self, name: &str) -> Result<Scenario, String> {
        load_beside(&self.folder, name).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_scenarios_are_named_as_their_files_and_compile() {
        for shipped in scenarios() {
            let scenario = load(shipped.name).unwrap_or_else(|failure| panic!("{failure}"));
            assert_eq!(scenario.name, shipped.name);
            assert!(!scenario.about.is_empty(), "{}", shipped.name);
            scenario.compile().unwrap();
        }
    }
}
