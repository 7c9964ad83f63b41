//! A whole scheduler: the program that its authors ship, with its arguments. It loads its own object into a kernel.

use schedlab_boundary::file;
use schedlab_guest::ProgramJob;
use schedlab_load::find_program;
use schedlab_model::hash::sha256;
use schedlab_model::result::Parameter;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The most bytes of a program.
const MOST_BYTES: u64 = 512 << 20;

/// Why a kernel does not take a program that is to be stopped.
pub(crate) const GOES_ON: &str = "a program goes on working in a kernel";

/// What to do about it.
pub(crate) const NOT_ONCE: &str = "use exec:, or --venue sim";

/// A program that puts a policy in charge of a kernel.
#[derive(Clone, Debug)]
pub struct Program {
    job: ProgramJob,
    /// Whether it does nothing after it has loaded its object.
    once: bool,
    /// SHA-256 of the program, of its libraries, of its arguments and of the files that they name.
    hash: String,
    /// SHA-256 of the program's file, as it is and as a guest gets it.
    files: [String; 2],
}

impl Program {
    /// Finds a program, which is looked for where a shell would, and the files that its arguments name.
    pub(crate) fn find(words: &[String], once: bool) -> Result<Program, String> {
        let program = find_program(&words[0]).map_err(|error| error.to_string())?;
        let whole = |path: &Path| {
            let path = std::path::absolute(path).map_err(|error| format!("cannot find the working folder: {error}"))?;
            text_of(path)
        };
        let path = whole(&program)?;
        let bytes =
            file::bytes(Path::new(&path), MOST_BYTES).map_err(|error| format!("cannot read {path}: {error}"))?;
        if !bytes.starts_with(b"\x7fELF") {
            return Err(format!("{path} is not a program for this machine; scripts are not taken"));
        }
        let mut hashed = format!("{}{}\n", sha256(&bytes), if once { " once" } else { "" });
        // Of a library that is not found the venue speaks that needs it.
        for (library, content) in schedlab_vm::libraries::of(Path::new(&path)).unwrap_or_default() {
            let _ = writeln!(hashed, "{library:?} {}", sha256(&content));
        }
        let mut files = Vec::new();
        for argument in &words[1..] {
            let _ = writeln!(hashed, "{argument:?}");
            if let Some(named) = file_named(argument) {
                let named = whole(&named)?;
                let content = file::bytes(Path::new(&named), ProgramJob::MOST_FILE_BYTES);
                let content = content.map_err(|error| format!("cannot read {named}: {error}"))?;
                let _ = writeln!(hashed, "{named:?} {}", sha256(&content));
                files.push(named);
            }
        }
        let folder = std::env::current_dir().map_err(|error| format!("cannot find the working folder: {error}"))?;
        let words = [path].into_iter().chain(words[1..].iter().cloned()).collect();
        let own = sha256(&bytes);
        let stripped = sha256(&schedlab_vm::libraries::without_sections(bytes));
        let job = ProgramJob { words, folder: text_of(folder)?, files };
        Ok(Program { job, once, hash: sha256(hashed.as_bytes()), files: [own, stripped] })
    }

    /// What a kernel's side has to know.
    pub(crate) fn job(&self) -> &ProgramJob {
        &self.job
    }

    /// Whether what it does after it has loaded its object is left out.
    pub(crate) fn once(&self) -> bool {
        self.once
    }

    /// SHA-256 of all that decides what it does.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    /// Whether a file that ran, by its SHA-256, is this program's.
    pub(crate) fn is(&self, hash: &str) -> bool {
        self.files.iter().any(|own| own == hash)
    }

    /// Its arguments, as results show them.
    pub(crate) fn parameters(&self) -> BTreeMap<String, Parameter> {
        let arguments = &self.job.words[1..];
        let shown = || schedlab_policy::joined(arguments).map(|text| ("arguments".to_string(), Parameter::Text(text)));
        if arguments.is_empty() { BTreeMap::new() } else { shown().into_iter().collect() }
    }
}

/// The file that an argument names, if it is there: all of it is its path, or what is behind a `=`, `:` or `@`.
fn file_named(argument: &str) -> Option<PathBuf> {
    let ends = argument.match_indices(['=', ':', '@']).map(|(at, _)| &argument[at + 1..]);
    [argument].into_iter().chain(ends).map(PathBuf::from).find(|path| path.is_file())
}

fn text_of(path: PathBuf) -> Result<String, String> {
    path.into_os_string().into_string().map_err(|path| format!("{path:?} is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| word.to_string()).collect()
    }

    #[test]
    fn a_program_is_known_by_its_bytes_its_arguments_and_the_files_that_they_name() {
        let folder = tempfile::tempdir().unwrap();
        let layers = folder.path().join("layers.json");
        std::fs::write(&layers, "[]").unwrap();
        let argument = format!("f:{}", layers.display());
        let find = |text: &[&str]| Program::find(&words(text), false).unwrap();
        let [plain, with] = [find(&["true"]), find(&["true", "-v", &argument])];
        assert!(plain.job.words[0].ends_with("/true") && plain.job.words[0].starts_with('/'));
        assert_eq!((plain.job.files.len(), with.job.files.as_slice()), (0, &[layers.display().to_string()][..]));
        assert_eq!(with.parameters()["arguments"], Parameter::Text(format!("-v {argument}")));
        std::fs::write(&layers, "[1]").unwrap();
        let changed = find(&["true", "-v", &argument]);
        assert!(plain.hash() != with.hash() && with.hash() != changed.hash() && with.files == changed.files);
        assert!(plain.is(&sha256(&std::fs::read(&plain.job.words[0]).unwrap())) && !plain.is(plain.hash()));
    }

    #[test]
    fn what_is_no_program_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let error = |text: &str| Program::find(&words(&[text]), false).unwrap_err();
        assert!(error(script.to_str().unwrap()).contains("scripts are not taken"));
        assert!(error("./no-such-scheduler").contains("no-such-scheduler"));
    }
}
