//! The scenarios inside the program, and those in files.

use crate::failure::Failure;
use schedlab_model::scenario::Scenario;
use std::path::Path;

/// A scenario of the folder `scenarios/`.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its file's name without `.toml`.
    pub name: &'static str,
    /// The text of the file.
    pub text: &'static str,
}

/// All shipped scenarios in order of name.
pub fn shipped() -> &'static [Shipped] {
    include!(concat!(env!("OUT_DIR"), "/scenarios.rs"))
}

/// The shipped scenario of this name.
pub fn find(name: &str) -> Result<Shipped, Failure> {
    shipped().iter().find(|shipped| shipped.name == name).copied().ok_or_else(|| {
        let nearest = shipped().iter().map(|s| (strsim::damerau_levenshtein(name, s.name), s.name)).min();
        let hint = match nearest {
            Some((distance, near)) if distance <= 1 + near.len() / 4 => format!("did you mean `{near}`?"),
            _ => format!("shipped are {}", shipped().iter().map(|s| s.name).collect::<Vec<_>>().join(", ")),
        };
        Failure::Input(format!("there is no scenario `{name}`, neither as a file nor among the shipped ones; {hint}"))
    })
}

/// The scenario that a user means: a file, or a shipped one by name.
pub fn load(argument: &str) -> Result<Scenario, Failure> {
    let path = Path::new(argument);
    if path.exists() || argument.contains('/') || argument.ends_with(".toml") {
        return Ok(Scenario::from_file(path)?);
    }
    let Shipped { name, text } = find(argument)?;
    Ok(Scenario::parse(text, &format!("shipped scenario {name}"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_scenarios_are_named_as_their_files_and_compile() {
        for shipped in shipped() {
            let scenario = load(shipped.name).unwrap_or_else(|failure| panic!("{failure:?}"));
            assert_eq!(scenario.name, shipped.name);
            assert!(!scenario.about.is_empty(), "{}", shipped.name);
            scenario.compile().unwrap();
        }
    }
}
