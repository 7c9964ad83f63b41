//! The verdicts as a section of a page whose other parts are written by hand.

use crate::report::Agreement;
use schedlab_boundary::{file, markdown};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A section of a page, as the user names it: `docs/agreement.md#objects`. In the file it stands between two marks,
/// `<!-- schedlab agreement: objects -->` and `<!-- /schedlab agreement: objects -->`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The page.
    pub file: PathBuf,
    /// The section's name.
    section: String,
}

/// Why a section cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    /// It has no name.
    #[error("`{0}` names no section of a page: write FILE#NAME, as in docs/agreement.md#objects")]
    NoName(String),
    /// The page cannot be read.
    #[error("{file}: the page cannot be read: {error}")]
    Unreadable {
        /// The page.
        file: String,
        /// What the system says.
        error: String,
    },
    /// A mark is not there exactly once, or the two are in the wrong order.
    #[error("{file}: the section is to stand between one line `{begin}` and one line `{end}` below it")]
    Marks {
        /// The page.
        file: String,
        /// The mark above the section.
        begin: String,
        /// The mark below it.
        end: String,
    },
}

impl FromStr for Target {
    type Err = SectionError;

    fn from_str(text: &str) -> Result<Target, SectionError> {
        let is_name =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let parts = text.rsplit_once('#').filter(|(file, name)| !file.is_empty() && is_name(name));
        let (file, section) = parts.ok_or_else(|| SectionError::NoName(text.into()))?;
        Ok(Target { file: file.into(), section: section.into() })
    }
}

impl Target {
    fn marks(&self) -> [String; 2] {
        ["", "/"].map(|slash| format!("<!-- {slash}schedlab agreement: {} -->", self.section))
    }

    /// The page as it is, before and behind the section.
    ///
    /// # Errors
    ///
    /// It cannot be read, or the section is not there.
    pub fn read(&self) -> Result<(String, String), SectionError> {
        let name = || self.file.display().to_string();
        let text = file::text(&self.file)
            .map_err(|error| SectionError::Unreadable { file: name(), error: error.to_string() })?;
        let [begin, end] = self.marks();
        let once = |mark: &str| Some(text.find(mark)?).filter(|_| text.matches(mark).count() == 1);
        let places = once(&begin).zip(once(&end)).filter(|(begin, end)| begin < end);
        let (at, until) = places.ok_or_else(|| SectionError::Marks { file: name(), begin: begin.clone(), end })?;
        Ok((text[..at + begin.len()].to_string(), text[until..].to_string()))
    }

    /// The page with this in its section; nothing else of it is touched.
    ///
    /// # Errors
    ///
    /// As [`Target::read`].
    pub fn filled(&self, section: &str) -> Result<String, SectionError> {
        let (before, behind) = self.read()?;
        Ok(format!("{before}\n\n{}\n\n{behind}", section.trim_matches('\n')))
    }

    /// The page.
    pub fn path(&self) -> &Path {
        &self.file
    }
}

impl Agreement {
    /// The section of a page: the command that makes it, how many cells came to which verdict, each cell, and what is open.
    pub fn markdown(&self, command: &str) -> String {
        let tables = [self.summary_table(), self.table()].map(|table| table.markdown());
        let mut text = format!("    {command}\n\n{}.\n\n{}\n{}\n", self.title(), tables.join("\n"), self.legend());
        for list in self.lists() {
            text += &format!("\n{}:\n\n", list.head);
            for (cells, told) in list.lines() {
                text += &format!("- **{}**: {}\n", markdown::text(&cells), markdown::text(told));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> (tempfile::TempDir, Target) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("page.md"), text).unwrap();
        let target = format!("{}#one", folder.path().join("page.md").display()).parse().unwrap();
        (folder, target)
    }

    #[test]
    fn only_the_section_is_touched() {
        let text = "before\n\n<!-- schedlab agreement: one -->\n\nold\n\n<!-- /schedlab agreement: one -->\nbehind\n";
        let (_folder, target) = page(text);
        assert_eq!(target.filled("\nold\n").unwrap(), text);
        assert_eq!(target.filled("    new").unwrap(), text.replace("old", "    new"));
    }

    #[test]
    fn a_section_that_is_not_there_is_told_with_its_marks() {
        for text in [
            "",
            "<!-- schedlab agreement: one -->",
            "<!-- /schedlab agreement: one -->\n<!-- schedlab agreement: one -->",
            "<!-- schedlab agreement: two -->\n<!-- /schedlab agreement: two -->",
        ] {
            let error = page(text).1.read().unwrap_err().to_string();
            assert!(error.contains("one line `<!-- schedlab agreement: one -->`"), "{text}: {error}");
        }
        let error = |text: &str| text.parse::<Target>().unwrap_err().to_string();
        assert!([error("page.md"), error("#one"), error("page.md#a b")].iter().all(|e| e.contains("write FILE#NAME")));
    }
}
