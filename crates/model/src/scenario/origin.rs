//! Where a file's values come from, for the errors about them.

use super::{OneOrMany, ScenarioError};

/// A file's name and text.
#[derive(Clone, Debug)]
pub struct Origin {
    /// What errors call it.
    pub name: String,
    /// All of it, in TOML.
    pub text: String,
}

impl Origin {
    /// An error of the value at a path, as `check[1].metric`, with line and column.
    pub fn wrong(&self, path: &str, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at_path(&self.name, &self.text, path, message)
    }

    /// The words of a list at a path.
    ///
    /// # Errors
    ///
    /// There are none, or one is there twice.
    pub fn list(&self, words: &OneOrMany, path: &str) -> Result<Vec<String>, ScenarioError> {
        let all = words.all();
        if all.is_empty() {
            return Err(self.wrong(path, "the list is empty"));
        }
        match all.iter().enumerate().find(|(index, word)| all[..*index].contains(word)) {
            Some((index, word)) => Err(self.wrong(&format!("{path}[{index}]"), format!("`{word}` is there twice"))),
            None => Ok(all.to_vec()),
        }
    }
}
