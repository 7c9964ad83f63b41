//! Writes a minimal policy to start from, and a scenario that tests it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const TEMPLATES: [(&str, &str); 2] =
    [(".bpf.c", include_str!("template.bpf.c")), (".toml", include_str!("template.toml"))];

/// A new policy that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// A name that C or the kernel does not take.
    #[error("`{0}` is not a name for a policy: use 1 to 32 lower-case letters, digits and `_`, starting with a letter")]
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

/// Writes `NAME.bpf.c`, a commented policy that runs, and `NAME.toml`, a scenario to test it, into `folder`. Returns their paths.
/// Overwrites nothing.
pub fn new_policy(name: &str, folder: &Path) -> Result<[PathBuf; 2], CreateError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.len() > 32 || !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        return Err(CreateError::Name(name.into()));
    }
    let paths = TEMPLATES.map(|(extension, _)| folder.join(format!("{name}{extension}")));
    if let Some(path) = paths.iter().find(|path| path.exists()) {
        return Err(CreateError::Exists(path.clone()));
    }
    for ((_, template), path) in TEMPLATES.iter().zip(&paths) {
        write(path, &template.replace("NAME", name))?;
    }
    Ok(paths)
}

fn write(path: &Path, text: &str) -> Result<(), CreateError> {
    let file = fs::File::create_new(path);
    file.and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes())).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return CreateError::Exists(path.into());
        }
        let _ = fs::remove_file(path);
        CreateError::Write { path: path.into(), error }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_policy_compiles() {
        let folder = tempfile::tempdir().unwrap();
        let [path, test] = new_policy("my_first", folder.path()).unwrap();
        assert_eq!(path, folder.path().join("my_first.bpf.c"));
        assert!(fs::read_to_string(test).unwrap().contains("name = \"my_first\""));
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
        fs::write(folder.path().join("three.toml"), "").unwrap();
        assert!(matches!(new_policy("three", folder.path()), Err(CreateError::Exists(_))));
        assert!(!folder.path().join("three.bpf.c").exists());
    }
}
