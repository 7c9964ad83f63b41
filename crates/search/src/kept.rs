//! The folder in which a search is kept: what is in it from before.

use crate::finding::Kind;
use crate::search::{SearchError, State};
use schedlab_boundary::file;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The state's file.
pub const STATE: &str = "search.json";

/// What a folder holds of the search that would begin as `fresh`.
///
/// # Errors
///
/// It holds another one, or files that no search wrote and that this one would replace.
pub fn before(folder: &Path, fresh: &State) -> Result<Option<State>, SearchError> {
    let path = folder.join(STATE);
    let bytes = match file::bytes(&path, file::RESULT_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return nothing(folder),
        Err(error) => return Err(SearchError::Folder { path, error }),
    };
    let Ok(known) = serde_json::from_slice::<State>(&bytes) else {
        return Err(SearchError::Occupied { path, what: "this is not what a search keeps".into() });
    };
    match fresh.difference(&known) {
        Some(what) => Err(SearchError::Occupied { path, what: format!("this folder holds another search ({what})") }),
        None => Ok(Some(known)),
    }
}

/// Nothing, if no file has the name of a finding either.
fn nothing(folder: &Path) -> Result<Option<State>, SearchError> {
    match finding_in(folder) {
        Some(path) => {
            Err(SearchError::Occupied { path, what: "no search wrote this file, and a finding may replace it".into() })
        }
        None => Ok(None),
    }
}

/// A file with the name of a finding.
fn finding_in(folder: &Path) -> Option<PathBuf> {
    let is_of_finding = |path: &PathBuf| {
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        is_toml && path.file_stem().is_some_and(|name| Kind::is_name(&name.to_string_lossy()))
    };
    let paths = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    paths.filter(is_of_finding).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(folder: &Path, fresh: &State) -> String {
        before(folder, fresh).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn another_search_and_files_of_others_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let fresh = State::new("policy rr, idle 5ms, schedlab 1.0".into(), 1);
        assert_eq!(before(&folder.path().join("none"), &fresh).unwrap(), None);
        assert_eq!(before(folder.path(), &fresh).unwrap(), None);
        let stall = folder.path().join("stall.toml");
        fs::write(&stall, "mine").unwrap();
        assert!(refusal(folder.path(), &fresh).starts_with(&format!("{}: no search wrote this", stall.display())));
        let keep = |state: &State| fs::write(folder.path().join(STATE), serde_json::to_vec(state).unwrap()).unwrap();
        keep(&fresh);
        assert_eq!(before(folder.path(), &fresh).unwrap(), Some(fresh.clone()));
        for (subject, seed, what) in [
            ("policy mlfq, idle 5ms, schedlab 1.0", 2, "(policy mlfq, seed 2)"),
            ("policy rr, idle 5ms, schedlab 0.9", 1, "(schedlab 0.9)"),
            ("policy rr, schedlab 1.0", 1, "(no idle 5ms)"),
        ] {
            keep(&State::new(subject.into(), seed));
            let told = refusal(folder.path(), &fresh);
            assert!(told.ends_with(&format!("holds another search {what}; name another folder")), "{told}");
        }
        fs::write(folder.path().join(STATE), "{}").unwrap();
        assert!(refusal(folder.path(), &fresh).contains("not what a search keeps"));
    }
}
