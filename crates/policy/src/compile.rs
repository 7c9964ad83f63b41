//! Compiles a user's policy with clang and keeps the object under the hash of everything that went into it.

use crate::{cache, headers};
use schedlab_boundary::file;
use schedlab_boundary::own::{Folder, Partial};
use schedlab_clang::{Clang, strip};
use schedlab_model::hash::sha256;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What came of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The BPF object.
    pub object: Vec<u8>,
    /// What the compiler said about it; empty when it had no warning.
    pub warnings: String,
}

/// A source file that did not become an object.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The source cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// There is no compiler.
    #[error("cannot compile {path}: {why}", path = path.display())]
    Compiler {
        /// The file.
        path: PathBuf,
        /// What is missing and how to get it.
        why: String,
    },
    /// The compiler refuses it.
    #[error("{path} does not compile:\n{messages}", path = path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What the compiler said.
        messages: String,
    },
    /// There is no place for the headers and objects.
    #[error("cannot compile {path}: neither XDG_CACHE_HOME nor HOME names a folder for the headers", path = path.display())]
    NoCache {
        /// The file.
        path: PathBuf,
    },
    /// The cache cannot be used.
    #[error("cannot write to {folder}: {error}; set XDG_CACHE_HOME to a folder that is writable", folder = folder.display())]
    Cache {
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Compiles a policy. The second time the object comes from the cache, unless it had warnings: those are to be seen.
pub fn compile(source: &Path) -> Result<Compiled, CompileError> {
    let cache = cache::folder().ok_or_else(|| CompileError::NoCache { path: source.into() })?;
    compile_in(source, &cache)
}

/// [`compile`] with a cache of the caller's.
pub(crate) fn compile_in(source: &Path, cache: &Path) -> Result<Compiled, CompileError> {
    file::open(source, file::TEXT_BYTES).map_err(|error| unreadable(source, error))?;
    let clang = Clang::find().map_err(|why| CompileError::Compiler { path: source.into(), why })?;
    let broken = |error| CompileError::Cache { folder: cache.into(), error };
    let headers = headers::folder(cache).map_err(broken)?;
    let job = Job { clang: &clang, source, headers: &headers };

    // The preprocessed text is all that enters an object, except for the compiler and this program.
    let (text, _) = job.run("-E", "i")?;
    let tools = format!("{}\0{}\0", env!("CARGO_PKG_VERSION"), clang.version);
    let key = sha256(&[tools.as_bytes(), &text].concat());
    let target = cache.join(format!("object-{}.bpf.o", &key[..32]));
    if let Ok(object) = file::bytes(&target, file::OBJECT_BYTES) {
        return Ok(Compiled { object, warnings: String::new() });
    }
    let (bytes, warnings) = job.run("-c", "o")?;
    let object = strip(&bytes).map_err(|error| job.refused(error.to_string()))?;
    if warnings.is_empty() {
        fs::create_dir_all(cache).and_then(|()| Partial::keep(&target, &object)).map_err(broken)?;
    }
    Ok(Compiled { object, warnings })
}

fn unreadable(path: &Path, error: io::Error) -> CompileError {
    CompileError::Source { path: path.into(), error }
}

struct Job<'a> {
    clang: &'a Clang,
    source: &'a Path,
    headers: &'a Path,
}

impl Job<'_> {
    /// One run of the compiler: what it wrote and what it said.
    fn run(&self, mode: &str, suffix: &str) -> Result<(Vec<u8>, String), CompileError> {
        let broken = |error| CompileError::Cache { folder: Folder::place(), error };
        let folder = Folder::new().map_err(broken)?;
        let output = folder.path().join(suffix);
        let result = self.clang.run(mode, self.source, self.headers, &output);
        let bytes = file::bytes(&output, file::OBJECT_BYTES);
        let said =
            result.map_err(|error| CompileError::Compiler { path: self.source.into(), why: error.to_string() })?;
        let messages = String::from_utf8_lossy(&said.stderr).trim_end().to_string();
        match bytes {
            Ok(bytes) if said.status.success() => Ok((bytes, messages)),
            // Another code than that of a source with errors is of a compiler that failed itself.
            _ if said.status.code() != Some(1) => {
                let first = messages.lines().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
                let why = format!("clang itself failed ({}): {first}", said.status);
                Err(CompileError::Compiler { path: self.source.into(), why })
            }
            _ => Err(self.refused(messages)),
        }
    }

    fn refused(&self, messages: String) -> CompileError {
        CompileError::Refused { path: self.source.into(), messages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::headers::test_cache;

    /// The program makes from a shipped source the very bytes that the build made.
    #[test]
    fn a_shipped_source_becomes_the_shipped_object() {
        let (folder, cache) = (tempfile::tempdir().unwrap(), test_cache());
        for policy in catalog() {
            let source = folder.path().join(format!("{}.bpf.c", policy.name));
            fs::write(&source, policy.source).unwrap();
            let compiled = compile_in(&source, cache.path()).unwrap();
            assert_eq!(compiled.warnings, "");
            assert!(compiled.object == policy.object, "{}", policy.name);
        }
    }

    #[test]
    fn the_compilers_message_is_shown() {
        let (folder, cache) = (tempfile::tempdir().unwrap(), test_cache());
        let source = folder.path().join("bad.bpf.c");
        fs::write(&source, "#include <schedlab/common.bpf.h>\nint x = nothing;\n").unwrap();
        let error = compile_in(&source, cache.path()).unwrap_err().to_string();
        assert!(error.contains("bad.bpf.c does not compile:\nbad.bpf.c:2:9: error:"), "{error}");
    }

    #[test]
    fn an_object_with_warnings_is_not_kept() {
        let (folder, cache) = (tempfile::tempdir().unwrap(), test_cache());
        let source = folder.path().join("odd.bpf.c");
        fs::write(&source, "static int unused(void) { return 1; }\nint x = 1;\n").unwrap();
        for _ in 0..2 {
            let compiled = compile_in(&source, cache.path()).unwrap();
            assert!(compiled.warnings.contains("unused function"), "{}", compiled.warnings);
        }
    }

    #[test]
    fn a_change_in_an_included_file_is_seen() {
        let (folder, cache) = (tempfile::tempdir().unwrap(), test_cache());
        let (source, header) = (folder.path().join("a.bpf.c"), folder.path().join("a.h"));
        fs::write(&source, "#include \"a.h\"\nint x = X;\n").unwrap();
        let made = |x: u32| {
            fs::write(&header, format!("#define X {x}\n")).unwrap();
            compile_in(&source, cache.path()).unwrap().object
        };
        let (one, two, again) = (made(1), made(2), made(1));
        assert!(one != two && one == again);
    }

    #[test]
    fn a_missing_source_is_named() {
        let error = compile_in(Path::new("no/such.bpf.c"), Path::new("/")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read no/such.bpf.c: "), "{error}");
    }
}
