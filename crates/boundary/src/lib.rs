//! The boundary between schedlab and untrusted input.
//!
//! | what crosses | which way | type or function |
//! |---|---|---|
//! | text that a person will read on a terminal | out | [`Shown`], which only its checks make |
//! | a word of a command that a user may paste | out | [`shell::quoted`] |
//! | text in Markdown | out | [`markdown::text`], [`markdown::line`], [`markdown::block`] |
//! | a file that another person wrote | in | [`file::open`], [`file::bytes`], [`file::text`] |
//! | standard input, where a file is wanted | in | [`own::standard_input`], [`file::bytes_or_input`] |
//! | a word of a file that becomes the name of a file of ours | in | [`FileName`], which only its check makes |
//! | a damaged file, to a library that panics | in | [`library::guarded`] |
//! | a process that works on what another person wrote | in | [`confine::Confinement`] |
//! | a file that a call writes, which must not be one that it reads | out | [`touched::Touched`] |
//! | a file of ours in a folder that others can write to | out | [`own::unnamed`], [`own::Partial`], [`own::Folder`] |
//!
//! Nothing else prints, and nothing else opens what a user names: `make lint` looks for calls that go past it.
//!
//! A WebAssembly module of a page has no files: there, [`file`] refuses and the makers of ours are missing.

#[cfg(target_os = "linux")]
pub mod confine;
pub mod file;
mod file_name;
#[cfg(unix)]
mod folder;
pub mod library;
pub mod markdown;
#[cfg(unix)]
pub mod own;
#[cfg(unix)]
mod partial;
pub mod shell;
mod shown;
#[cfg(unix)]
pub mod touched;

pub use file_name::{FileName, WrongName};
pub use shown::{NAME_LETTERS, Shown, is_hidden};
