//! Compiles BPF: finds clang, gathers the headers, removes from an object what depends on the machine. Build scripts use
//! it for what we ship, the program for a user's policy: both make the same bytes from the same source.

mod canonical;
mod clang;
#[cfg(feature = "headers")]
pub mod headers;
mod limits;
mod strip;

pub use clang::{Clang, OLDEST, REMEDY};
pub use strip::strip;
