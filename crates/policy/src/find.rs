//! From a name or a file to the bytes of an object.

use crate::catalog::{Shipped, UnknownPolicy, shipped};
use crate::compile::{CompileError, compile};
use crate::spec::{PolicySpec, Reference};
use schedlab_boundary::file;
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

/// A policy that was found: an object and where it comes from.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name: the shipped one's, or the file's without its ending.
    pub name: String,
    /// The BPF object.
    pub object: Cow<'static, [u8]>,
    /// The shipped policy, when it is one: it has passed a kernel's verifier, a user's file has not.
    pub shipped: Option<&'static Shipped>,
    /// What the compiler said, when it said something.
    pub warnings: String,
}

/// No policy was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// No policy has that name.
    #[error(transparent)]
    Unknown(#[from] UnknownPolicy),
    /// The object cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    Object {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A program, which keeps its object to itself.
    #[error("`{0}` is a whole scheduler, a program that loads its own object; name the object's file")]
    Program(PolicySpec),
    /// The source does not become an object.
    #[error(transparent)]
    Compile(#[from] CompileError),
}

/// Finds a policy: shipped, from a source (which is compiled) or from an object. `others` are names that are not in the
/// catalogue and that the caller knows, for the hint only.
pub fn find(spec: &PolicySpec, others: &[&str]) -> Result<Policy, FindError> {
    let name = spec.name();
    let found = |object, warnings| Policy { name: name.clone(), object: Cow::Owned(object), shipped: None, warnings };
    match &spec.reference {
        Reference::Name(_) => {
            let shipped = shipped(&name, others)?;
            let object = Cow::Borrowed(shipped.object);
            Ok(Policy { name, object, shipped: Some(shipped), warnings: String::new() })
        }
        Reference::Source(path) => {
            let compiled = compile(path)?;
            Ok(found(compiled.object, compiled.warnings))
        }
        Reference::Program(_) | Reference::ProgramOnce(_) => Err(FindError::Program(spec.clone())),
        Reference::Object(path) => match file::bytes(path, file::OBJECT_BYTES) {
            Ok(object) => Ok(found(object, String::new())),
            Err(error) => Err(FindError::Object { path: path.clone(), error }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn find_text(text: &str) -> Result<Policy, FindError> {
        find(&PolicySpec::parse(text).unwrap(), &["ps", "srpt"])
    }

    #[test]
    fn shipped_policies_are_found_by_name() {
        let rr = find_text("rr:quantum=5ms").unwrap();
        assert_eq!((rr.name.as_str(), rr.shipped.map(|shipped| shipped.name)), ("rr", Some("rr")));
        assert!(rr.object.starts_with(b"\x7fELF"));
    }

    #[test]
    fn objects_are_read_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("their.bpf.o");
        fs::write(&path, "anything").unwrap();
        let their = find_text(path.to_str().unwrap()).unwrap();
        assert_eq!((their.name.as_str(), &*their.object), ("their", b"anything".as_slice()));
        assert!(their.shipped.is_none());
    }

    #[test]
    fn an_unknown_name_gets_a_hint() {
        for (text, part) in [
            ("mflq", "did you mean `mlfq`?"),
            ("srtp", "did you mean `srpt`?"),
            ("completely-fair", "there are: alb, cfs, eevdf, fcfs, linux-o1, mlfq, rr, ule, windows, ps, srpt"),
            ("./none.bpf.o", "cannot read ./none.bpf.o: "),
        ] {
            let error = find_text(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
