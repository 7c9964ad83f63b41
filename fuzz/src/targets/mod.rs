//! The doors, by what comes in.

pub mod languages;
pub mod machines;
pub mod recordings;
