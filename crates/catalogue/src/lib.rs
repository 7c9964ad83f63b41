//! The scenarios and studies that ship with schedlab, those in files, and families that make scenarios.

pub mod families;
pub mod kinds;

use kinds::{EXAMPLE, for_another_command, for_another_reader, is_named_otherwise, of_file, of_trace, shown, text_of};
use schedlab_boundary::file;
use schedlab_model::scenario::{Scenario, ScenarioError};
use std::path::{Path, PathBuf};

/// What was asked for is not there, or is no scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// Neither a file nor shipped.
    #[error("{0}")]
    Unknown(String),
    /// It is a trace, with the name that the user gave it.
    #[error("{}", of_trace(.0, EXAMPLE))]
    Trace(String),
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
        let hint = nearest(name, list.iter().map(|shipped| shipped.name), "shipped are");
        let what = format!("there is no {kind} `{name}`, neither as a file nor among the shipped ones; {hint}");
        CatalogueError::Unknown(what)
    })
}

/// The name that was probably meant, or after `all_are` those that there are.
fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str> + Clone, all_are: &str) -> String {
    let nearest = known.clone().map(|near| (strsim::damerau_levenshtein(name, near), near)).min();
    match nearest {
        Some((distance, near)) if distance <= 1 + near.len() / 4 => format!("did you mean `{near}`?"),
        _ => format!("{all_are} {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// The scenario that a user means: a file, a shipped one by name, or one of a family as in `family:locks:7`.
///
/// # Errors
///
/// There is none, or it cannot be used.
pub fn load(argument: &str) -> Result<Scenario, CatalogueError> {
    load_beside(Path::new(""), argument)
}

/// The same; a scenario of a family is drawn for `cpus`, if given.
///
/// # Errors
///
/// There is none, or it cannot be used.
pub fn load_on(argument: &str, cpus: Option<u32>) -> Result<Scenario, CatalogueError> {
    match (families::Address::read(argument)?, cpus) {
        (Some(address), Some(cpus)) => Ok(address.on(cpus)?.scenario()),
        _ => load(argument),
    }
}

/// The same; a file's name counts from `folder`.
///
/// # Errors
///
/// There is none, or it cannot be used.
pub fn load_beside(folder: &Path, argument: &str) -> Result<Scenario, CatalogueError> {
    if argument == "-" {
        let text = text_of(Path::new("-"), argument)?;
        return Scenario::of_text(&text, shown(argument)).map_err(|error| of_another_kind(&text, argument, error));
    }
    let path = folder.join(argument);
    if let Some(what) = of_file(&path, argument) {
        return Err(what);
    }
    if path.exists() || is_path(argument) {
        std::fs::metadata(&path).map_err(|error| {
            CatalogueError::Unknown(format!("{}: the file cannot be read: {error}", path.display()))
        })?;
        let scenario = Scenario::from_file(&path)
            .map_err(|error| of_another_kind(&file::text(&path).unwrap_or_default(), argument, error))?;
        return with_steps(scenario, &path);
    }
    if let Some(address) = families::Address::read(argument)? {
        return Ok(address.scenario());
    }
    let Shipped { name, text } = find_scenario(argument)?;
    Ok(Scenario::parse(text, &format!("shipped scenario {name}"))?)
}

/// Whether a word names a file, be it there or not: names of what ships have neither folders nor extensions.
fn is_path(argument: &str) -> bool {
    argument.contains('/') || argument.ends_with(".toml") || argument.ends_with(".json") || is_named_otherwise(argument)
}

/// What is wrong with a scenario's text: it may be of a file of another kind.
fn of_another_kind(text: &str, argument: &str, error: ScenarioError) -> CatalogueError {
    let other = for_another_command(text, argument, "run").or_else(|| for_another_reader(text, argument));
    other.map_or(CatalogueError::Scenario(error), CatalogueError::Unknown)
}

/// A scenario with the files of steps that it names. They lie in its folder.
fn with_steps(mut scenario: Scenario, path: &Path) -> Result<Scenario, CatalogueError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let names: Vec<String> = scenario.step_files().into_iter().map(String::from).collect();
    for name in names {
        let file = schedlab_trace::read_steps(&folder.join(&name));
        scenario.attach(&name, file.map_err(|error| CatalogueError::Unknown(error.to_string()))?);
    }
    Ok(scenario)
}

/// A study and maybe one of its questions: `gpos:priorities`. A file may have a colon in its name.
pub fn of_question(study: &str) -> (&str, Option<&str>) {
    match study.rsplit_once(':') {
        Some((name, id)) if !id.contains(['/', '.']) && !Path::new(study).exists() => (name, Some(id)),
        _ => (study, None),
    }
}

/// A study's file.
#[derive(Clone, Debug)]
pub struct StudyFile {
    /// Its text.
    pub text: String,
    /// What errors call it.
    pub origin: String,
    /// Where its scenarios and files of policies are looked for.
    pub folder: PathBuf,
}

impl StudyFile {
    /// The study that a user means: a file, or a shipped one by name.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be read.
    pub fn find(argument: &str) -> Result<StudyFile, CatalogueError> {
        let path = Path::new(argument);
        let text = || text_of(path, argument);
        if argument == "-" {
            return Ok(StudyFile { text: text()?, origin: shown(argument).into(), folder: PathBuf::new() });
        }
        if !(path.exists() || is_path(argument)) {
            let Shipped { name, text } = find_study(argument)?;
            return Ok(StudyFile {
                text: text.into(),
                origin: format!("shipped study {name}"),
                folder: PathBuf::new(),
            });
        }
        let text = text()?;
        Ok(StudyFile { text, origin: argument.into(), folder: path.parent().map_or_else(PathBuf::new, PathBuf::from) })
    }

    /// A scenario that the study names: a file next to it, or a shipped one.
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
