//! Finds, compiles and lists policies. The shipped objects, their sources and the headers are inside the program.
//!
//! A user names a policy in three ways: a shipped one by name (`mlfq`), a source file (`./mine.bpf.c`) or an object
//! (`./their.bpf.o`), each with settings after a colon (`mlfq:levels=20,step=10ms`). [`PolicySpec`] is that text,
//! `find` turns it into the bytes of an object, [`settle`] turns its settings into values of the object's parameters. Where
//! there are no files and no compiler, as in a page, there are the shipped ones.

#[cfg(unix)]
mod cache;
mod catalog;
#[cfg(unix)]
mod compile;
#[cfg(unix)]
mod create;
#[cfg(unix)]
mod find;
#[cfg(unix)]
mod headers;
mod known;
#[cfg(unix)]
mod native;
mod parameter;
mod settings;
mod spec;
mod value;

pub use catalog::{Shipped, UnknownPolicy, catalog, shipped};
#[cfg(unix)]
pub use compile::{CompileError, Compiled, compile};
#[cfg(unix)]
pub use create::{CreateError, copy_of, new_policy};
#[cfg(unix)]
pub use find::{FindError, Policy, find};
#[cfg(unix)]
pub use native::NATIVE_OBJECT;
pub use parameter::{Choice, Declaration, Kind, Parameter, ParameterError, Unit, parameters};
pub use settings::{Assignment, settle};
pub use spec::{PolicySpec, Reference, SpecError, joined};

/// The one of `known` that the user probably meant by `word`, as ` (did you mean ...?)`, or nothing.
fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    known
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|&(distance, name)| distance <= 1 + name.len() / 4)
        .min()
        .map_or(String::new(), |(_, name)| format!("; did you mean `{name}`?"))
}
