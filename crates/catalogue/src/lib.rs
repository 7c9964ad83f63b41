//! The scenarios and studies that ship with schedlab, those in files, and families that make scenarios.

pub mod families;
pub mod kinds;

use kinds::{by_extension, for_another_command, for_another_reader};
use schedlab_boundary::file;
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
        let text = input("a scenario")?;
        return Ok(Scenario::of_text(&text, INPUT)?);
    }
    let path = folder.join(argument);
    let other = by_extension(argument);
    if let Some(what) = other.as_ref().filter(|_| path.exists()) {
        return Err(CatalogueError::Unknown(what.clone()));
    }
    if path.exists()
        || argument.contains('/')
        || argument.ends_with(".toml")
        || argument.ends_with(".json")
        || other.is_some()
    {
        std::fs::metadata(&path).map_err(|error| {
            CatalogueError::Unknown(format!("{}: the file cannot be read: {error}", path.display()))
        })?;
        return with_steps(Scenario::from_file(&path).map_err(|error| of_another_kind(&path, argument, error))?, &path);
    }
    if let Some(address) = families::Address::read(argument)? {
        return Ok(address.scenario());
    }
    let Shipped { name, text } = find_scenario(argument)?;
    Ok(Scenario::parse(text, &format!("shipped scenario {name}"))?)
}

/// What is wrong with a scenario's file: it may be a file of another kind.
fn of_another_kind(path: &Path, argument: &str, error: ScenarioError) -> CatalogueError {
    let other =
        |text: String| for_another_command(&text, argument, "run").or_else(|| for_another_reader(&text, argument));
    file::text(path).ok().and_then(other).map_or(CatalogueError::Scenario(error), CatalogueError::Unknown)
}

/// What errors call standard input.
const INPUT: &str = "standard input";

/// What standard input has.
fn input(what: &str) -> Result<String, CatalogueError> {
    file::text_or_input(Path::new("-"))
        .map_err(|error| CatalogueError::Unknown(format!("cannot read {what} from standard input: {error}")))
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
        if argument == "-" {
            return Ok(StudyFile { text: input("a study")?, origin: INPUT.into(), folder: PathBuf::new() });
        }
        let path = Path::new(argument);
        if !(path.exists() || argument.contains('/') || argument.ends_with(".toml")) {
            let Shipped { name, text } = find_study(argument)?;
            return Ok(StudyFile {
                text: text.into(),
                origin: format!("shipped study {name}"),
                folder: PathBuf::new(),
            });
        }
        let text = file::text(path)
            .map_err(|error| CatalogueError::Unknown(format!("{argument}: the file cannot be read: {error}")))?;
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
