//! What git knows: revisions, and files as they were.

use schedlab_boundary::own::Folder;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A repository of the user's.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The top of the work tree.
    pub top: PathBuf,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its whole hash.
    pub hash: String,
    /// When it was committed, in seconds since 1970.
    pub time: i64,
    /// How many commits it rests on, itself included.
    pub ancestors: u64,
    /// The first line of its message.
    pub subject: String,
}

/// Git did not do what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("git cannot be started: {0}")]
    Start(io::Error),
    /// It refused.
    #[error("git {what}: {why}")]
    Refused {
        /// What it was asked for.
        what: String,
        /// What it said.
        why: String,
    },
    /// It knows no such commit.
    #[error(
        "there is no revision `{name}` in the repository of {}: name a commit, a branch or a tag; `git log` lists commits",
        top.display()
    )]
    NoRevision {
        /// What the user wrote.
        name: String,
        /// The top of the work tree.
        top: PathBuf,
    },
    /// There is no place for files.
    #[error("files of a revision cannot be written: {0}")]
    Place(io::Error),
}

/// The files of a revision, in a folder that goes away with it.
pub struct Tree {
    folder: Folder,
}

impl Commit {
    /// As much of its hash as people read.
    pub fn short(&self) -> &str {
        &self.hash[..self.hash.len().min(12)]
    }
}

impl Tree {
    /// The top of the files.
    pub fn top(&self) -> PathBuf {
        self.folder.path().join("tree")
    }
}

impl Repository {
    /// The one to which a folder belongs; none where it belongs to none, or there is no git.
    pub fn of(folder: &Path) -> Option<Repository> {
        Repository::find(folder).ok()
    }

    /// The same.
    ///
    /// # Errors
    ///
    /// There is none, or git does not read it: it may belong to another user.
    pub fn find(folder: &Path) -> Result<Repository, GitError> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let top = git(folder, &["rev-parse", "--show-toplevel"], &[])?;
        Ok(Repository { top: PathBuf::from(top) })
    }

    /// The commit that a user means.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn commit(&self, revision: &str) -> Result<Commit, GitError> {
        let end_of_flags = format!("{revision}^{{commit}}");
        let hash = match self.git(&["rev-parse", "--verify", "--end-of-options", &end_of_flags]) {
            Err(GitError::Refused { .. }) => {
                return Err(GitError::NoRevision { name: revision.into(), top: self.top.clone() });
            }
            hash => hash?,
        };
        let told = self.git(&["log", "-1", "--format=%ct%x00%s", &hash])?;
        let (time, subject) = told.split_once('\0').unwrap_or(("0", ""));
        let ancestors = self.git(&["rev-list", "--count", &hash])?;
        Ok(Commit {
            time: time.parse().unwrap_or(0),
            ancestors: ancestors.parse().unwrap_or(0),
            subject: subject.into(),
            hash,
        })
    }

    /// The last commit that changed a file; none where it was never committed.
    ///
    /// # Errors
    ///
    /// Git cannot tell.
    pub fn last_change(&self, file: &Path) -> Result<Option<String>, GitError> {
        let path = file.display().to_string();
        Ok(Some(self.git(&["log", "-1", "--format=%H", "--", &path])?).filter(|hash| !hash.is_empty()))
    }

    /// Whether a file is as it was committed.
    ///
    /// # Errors
    ///
    /// Git cannot tell.
    pub fn is_committed(&self, file: &Path) -> Result<bool, GitError> {
        let path = file.display().to_string();
        Ok(self.git(&["status", "--porcelain", "--", &path])?.is_empty())
    }

    /// Whether no file that git knows differs from what was committed.
    ///
    /// # Errors
    ///
    /// Git cannot tell.
    pub fn is_clean(&self) -> Result<bool, GitError> {
        Ok(self.git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty())
    }

    /// The files of a revision. Nothing changes in the repository.
    ///
    /// # Errors
    ///
    /// There is no such revision, or no place for them.
    pub fn tree(&self, revision: &str) -> Result<Tree, GitError> {
        let hash = self.commit(revision)?.hash;
        let tree = Tree { folder: Folder::new().map_err(GitError::Place)? };
        let index = tree.folder.path().join("index");
        let prefix = format!("--prefix={}/", tree.top().display());
        let own_index = [("GIT_INDEX_FILE", index.as_os_str())];
        git(&self.top, &["read-tree", &hash], &own_index)?;
        git(&self.top, &["checkout-index", "--all", &prefix], &own_index)?;
        Ok(tree)
    }

    /// Runs git here; what it prints, without the end of the last line.
    ///
    /// # Errors
    ///
    /// It refuses.
    pub fn git(&self, words: &[&str]) -> Result<String, GitError> {
        git(&self.top, words, &[])
    }
}

/// A git that looks at this folder, whatever called us.
fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"] {
        command.env_remove(variable);
    }
    command
}

fn git(folder: &Path, words: &[&str], variables: &[(&str, &std::ffi::OsStr)]) -> Result<String, GitError> {
    let mut command = command(folder);
    command.args(words).envs(variables.iter().copied());
    let Output { status, stdout, stderr } = command.output().map_err(GitError::Start)?;
    match status.success() {
        true => Ok(String::from_utf8_lossy(&stdout).trim_end().to_string()),
        false => Err(GitError::Refused { what: words[0].into(), why: said(&stdout, &stderr) }),
    }
}

/// What git said, in a line.
fn said(stdout: &[u8], stderr: &[u8]) -> String {
    let text = if stderr.is_empty() { stdout } else { stderr };
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().map(|line| line.trim_start_matches("fatal: ").trim()).collect();
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Runs what a user gave to build a policy, in a folder.
///
/// # Errors
///
/// What it said last, where it fails.
pub fn build(line: &str, folder: &Path) -> Result<(), String> {
    let output = Command::new("sh").args(["-c", line]).current_dir(folder).output();
    let output = output.map_err(|error| format!("`{line}` cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = if output.stderr.is_empty() { output.stdout } else { output.stderr };
    let said = String::from_utf8_lossy(&said);
    let mut last: Vec<&str> = said.lines().rev().take(8).collect();
    last.reverse();
    let ended = format!("`{line}` failed ({})", output.status);
    match last.is_empty() {
        true => Err(format!("{ended} and printed nothing: let it say what is wrong")),
        false => Err(format!("{ended}:\n{}", last.join("\n"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn repository() -> (tempfile::TempDir, Repository) {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "--quiet"], &[]).unwrap();
        let repository = Repository::of(folder.path()).unwrap();
        (folder, repository)
    }

    fn commit(repository: &Repository, file: &str, text: &str) -> String {
        fs::write(repository.top.join(file), text).unwrap();
        repository.git(&["add", "--all"]).unwrap();
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        let words = [&who[..], &["commit", "--quiet", "-m", text]].concat();
        repository.git(&words).unwrap();
        repository.git(&["rev-parse", "HEAD"]).unwrap()
    }

    #[test]
    fn files_are_had_as_they_were() {
        let (_folder, repository) = repository();
        let first = commit(&repository, "a", "one");
        let second = commit(&repository, "a", "two");
        commit(&repository, "b", "three");
        assert!(repository.is_clean().unwrap());
        let tree = repository.tree("HEAD~2").unwrap();
        assert_eq!(fs::read_to_string(tree.top().join("a")).unwrap(), "one");
        assert!(!tree.top().join("b").exists() && repository.is_clean().unwrap());
        let known = repository.commit("HEAD~1").unwrap();
        assert_eq!((known.hash.as_str(), known.subject.as_str(), known.ancestors), (second.as_str(), "two", 2));
        assert_eq!(repository.commit(&first[..10]).unwrap().hash, first);
        assert_eq!(repository.last_change(Path::new("a")).unwrap(), Some(second));
        assert_eq!(repository.last_change(Path::new("none")).unwrap(), None);
        fs::write(repository.top.join("a"), "dirty").unwrap();
        assert!(!repository.is_clean().unwrap() && !repository.is_committed(Path::new("a")).unwrap());
    }

    #[test]
    fn a_revision_that_is_none_is_told() {
        let (_folder, repository) = repository();
        commit(&repository, "a", "one");
        let error = repository.commit("no-such").unwrap_err().to_string();
        assert!(error.starts_with("there is no revision `no-such` in the repository of "), "{error}");
        assert!(error.ends_with("name a commit, a branch or a tag; `git log` lists commits"), "{error}");
        assert!(Repository::of(Path::new("/")).is_none());
    }

    #[test]
    fn a_build_that_fails_says_so() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(build("touch made", folder.path()), Ok(()));
        assert!(folder.path().join("made").exists());
        let why = build("echo no such rule >&2; exit 3", folder.path()).unwrap_err();
        assert!(why.contains("no such rule") && why.contains("exit status: 3"), "{why}");
        let why = build("exit 3", folder.path()).unwrap_err();
        assert!(why.ends_with("(exit status: 3) and printed nothing: let it say what is wrong"), "{why}");
    }
}
