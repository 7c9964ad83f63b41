//! Writes a policy to start from: a minimal one with a scenario that tests it, or a copy of a shipped one with its headers.

use crate::catalog::{UnknownPolicy, shipped};
use crate::headers;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const TEMPLATES: [(&str, &str); 3] = [
    (".bpf.c", include_str!("template.bpf.c")),
    (".toml", include_str!("template.toml")),
    (".gate.toml", include_str!("template.gate.toml")),
];

/// A new policy that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// A name that C or the kernel does not take.
    #[error("`{0}` is not a name for a policy: use 1 to 32 lower-case letters, digits and `_`, starting with a letter")]
    Name(String),
    /// There is no such policy to copy.
    #[error(transparent)]
    Unknown(#[from] UnknownPolicy),
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

/// Writes `NAME.bpf.c`, a commented policy that runs, `NAME.toml`, a scenario to test it, and `NAME.gate.toml`, a gate, into
/// `folder`. Returns their paths. Overwrites nothing.
pub fn new_policy(name: &str, folder: &Path) -> Result<[PathBuf; 3], CreateError> {
    check_name(name)?;
    let paths = TEMPLATES.map(|(extension, _)| folder.join(format!("{name}{extension}")));
    if let Some(path) = paths.iter().find(|path| path.exists()) {
        return Err(CreateError::Exists(path.clone()));
    }
    for ((_, template), path) in TEMPLATES.iter().zip(&paths) {
        write(path, &template.replace("NAME", name))?;
    }
    Ok(paths)
}

/// Copies the shipped policy `of` into the new folder `NAME` below `folder`: its source as `NAME.bpf.c`, its description, and in
/// `include` those of our headers that it includes, which then come before the program's own. A scenario and a gate come with it, as
/// with [`new_policy`]. Returns the paths of source, scenario and gate.
pub fn copy_of(of: &str, name: &str, folder: &Path) -> Result<[PathBuf; 3], CreateError> {
    check_name(name)?;
    let policy = shipped(of, &[])?;
    let folder = folder.join(name);
    fs::create_dir(&folder).map_err(|error| failed(&folder, error))?;
    let paths = TEMPLATES.map(|(extension, _)| folder.join(format!("{name}{extension}")));
    let written = write_copy(policy.source, of, name, &paths[0])
        .and_then(|()| write(&folder.join("README.md"), &readme_of_copy(policy.readme, of, name)))
        .and_then(|()| {
            let mut templates = TEMPLATES.iter().zip(&paths).skip(1);
            templates.try_for_each(|((_, template), path)| write(path, &template.replace("NAME", name)))
        });
    if let Err(error) = written {
        let _ = fs::remove_dir_all(&folder);
        return Err(error);
    }
    Ok(paths)
}

/// A description with the names of the copy, and scenarios by the names under which they are shipped.
fn readme_of_copy(readme: &str, of: &str, name: &str) -> String {
    let title = format!("# {of}:");
    let readme = match readme.strip_prefix(&title) {
        Some(rest) => format!("# {name}, a copy of {of}:{rest}"),
        None => readme.into(),
    };
    // The source first: its new name may have the old one in it.
    let readme = readme.replace(&format!("{of}.bpf.c"), &format!("{name}.bpf.c"));
    with_shipped_scenarios(&readme.replace(&format!("--policy {of}"), &format!("--policy ./{name}.bpf.c")))
}

/// `scenarios/heavy-load.toml`, which is in our sources alone, becomes `heavy-load`, which is anywhere.
fn with_shipped_scenarios(text: &str) -> String {
    let mut parts = text.split("scenarios/");
    let mut named = parts.next().unwrap_or_default().to_string();
    for part in parts {
        named += &match part.split_once(".toml") {
            Some((name, rest)) if name.chars().all(|c| c.is_ascii_lowercase() || c == '-') => format!("{name}{rest}"),
            _ => format!("scenarios/{part}"),
        };
    }
    named
}

fn write_copy(source: &str, of: &str, name: &str, path: &Path) -> Result<(), CreateError> {
    let include = path.with_file_name("include");
    let ours = headers::texts(&["schedlab", of]).map_err(|error| failed(&include, error))?;
    for (header, text) in included(source, &ours) {
        let place = include.join(header);
        let folder = place.parent().unwrap_or(&include);
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        write(&place, text)?;
    }
    // The name under which a kernel shows it.
    write(path, &source.replace(&format!(".name = \"{of}\""), &format!(".name = \"{name}\"")))
}

/// Those of `ours` that a source includes, and what these include.
fn included<'a>(source: &str, ours: &'a BTreeMap<String, String>) -> BTreeMap<&'a str, &'a str> {
    let mut found = BTreeMap::new();
    let mut texts = vec![source];
    while let Some(text) = texts.pop() {
        let names = text.lines().filter_map(|line| line.strip_prefix("#include <")?.split('>').next());
        for (name, text) in names.filter_map(|name| ours.get_key_value(name)) {
            if found.insert(name.as_str(), text.as_str()).is_none() {
                texts.push(text);
            }
        }
    }
    found
}

fn check_name(name: &str) -> Result<(), CreateError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.len() > 32 || !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        return Err(CreateError::Name(name.into()));
    }
    Ok(())
}

fn failed(path: &Path, error: io::Error) -> CreateError {
    match error.kind() {
        io::ErrorKind::AlreadyExists => CreateError::Exists(path.into()),
        _ => CreateError::Write { path: path.into(), error },
    }
}

fn write(path: &Path, text: &str) -> Result<(), CreateError> {
    let file = fs::File::create_new(path);
    file.and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes())).map_err(|error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            let _ = fs::remove_file(path);
        }
        failed(path, error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_policy_compiles() {
        let folder = tempfile::tempdir().unwrap();
        let [path, test, gate] = new_policy("my_first", folder.path()).unwrap();
        assert_eq!(path, folder.path().join("my_first.bpf.c"));
        assert!(fs::read_to_string(test).unwrap().contains("name = \"my_first\""));
        assert!(fs::read_to_string(gate).unwrap().contains("policy = \"./my_first.bpf.c\""));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("my_first_enqueue") && !text.contains("NAME"));
        let compiled = crate::compile::compile_in(&path, crate::headers::test_cache().path()).unwrap();
        assert_eq!(compiled.warnings, "");
    }

    /// A copy has all that it includes, and what is changed in one of its headers changes it.
    #[test]
    fn a_copy_of_a_shipped_policy_is_compiled_with_its_own_headers() {
        let (folder, cache) = (tempfile::tempdir().unwrap(), crate::headers::test_cache());
        let compiled = |path: &Path| crate::compile::compile_in(path, cache.path()).unwrap();
        for policy in crate::catalog().iter().filter(|policy| check_name(policy.name).is_ok()) {
            let copy = compiled(&copy_of(policy.name, policy.name, folder.path()).unwrap()[0]);
            assert_eq!(copy.warnings, "", "{}", policy.name);
        }
        let [path, test, gate] = copy_of("ule", "mine", folder.path()).unwrap();
        let text = |path: &Path| fs::read_to_string(path).unwrap();
        assert!(text(&test).contains("name = \"mine\"") && text(&gate).contains("policy = \"./mine.bpf.c\""));
        let readme = text(&folder.path().join("mine/README.md"));
        assert!(readme.starts_with("# mine, a copy of ule: "), "{readme}");
        assert!(
            readme.contains("    schedlab run interactive --policy ./mine.bpf.c:mode=freebsd,status=score\n"),
            "{readme}"
        );
        assert!(!readme.contains("scenarios/") && !readme.contains("ule.bpf.c"), "{readme}");
        let (before, header) = (compiled(&path).object, folder.path().join("mine/include/ule/run_queue.bpf.h"));
        fs::write(&header, text(&header).replace("#define TICKS_MAX 1024", "#define TICKS_MAX 512")).unwrap();
        assert!(compiled(&path).object != before);
        assert!(matches!(copy_of("ule", "mine", folder.path()), Err(CreateError::Exists(_))));
        assert!(matches!(copy_of("uel", "other", folder.path()), Err(CreateError::Unknown(_))));
        assert!(!folder.path().join("other").exists());
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
