//! Writes a minimal policy for a user to start from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const TEMPLATE: &str = include_str!("template.bpf.c");

/// A new policy that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// A name that C or the kernel does not take.
    #[error("`{0}` is no name for a policy: use 1 to 32 lower-case letters, digits and `_`, a letter first")]
    Name(String),
    /// There is one.
    #[error("{path} exists; choose another name or remove it", path = .0.display())]
    Exists(PathBuf),
    /// The file cannot be written.
    #[error("cannot write {path}: {error}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Writes `NAME.bpf.c`, a commented policy that runs, into `folder` and returns its path. Nothing is overwritten.
pub fn new_policy(name: &str, folder: &Path) -> Result<PathBuf, CreateError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.len() > 32 || !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        return Err(CreateError::Name(name.into()));
    }
    let path = folder.join(format!("{name}.bpf.c"));
    let file = fs::File::create_new(&path);
    match file.and_then(|mut file| io::Write::write_all(&mut file, TEMPLATE.replace("NAME", name).as_bytes())) {
        Ok(()) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(CreateError::Exists(path)),
        Err(error) => Err(CreateError::Write { path, error }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_policy_compiles() {
        let folder = tempfile::tempdir().unwrap();
        let path = new_policy("my_first", folder.path()).unwrap();
        assert_eq!(path, folder.path().join("my_first.bpf.c"));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("my_first_enqueue") && !text.contains("NAME"));
        let compiled = crate::compile::compile_in(&path, crate::headers::test_cache().path()).unwrap();
        assert_eq!(compiled.warnings, "");
    }

    #[test]
    fn nothing_is_overwritten_and_names_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        new_policy("one", folder.path()).unwrap();
        assert!(matches!(new_policy("one", folder.path()), Err(CreateError::Exists(_))));
        for name in ["", "1st", "Mine", "a b", "../up", "a-b", &"x".repeat(33)] {
            assert!(matches!(new_policy(name, folder.path()), Err(CreateError::Name(_))), "{name}");
        }
        assert!(matches!(new_policy("two", &folder.path().join("none")), Err(CreateError::Write { .. })));
    }
}
