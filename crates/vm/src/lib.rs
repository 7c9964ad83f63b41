//! Virtual machines whose time is counted in instructions: what runs in one repeats bit for bit, whatever else the
//! machine below has to do.
//!
//! A guest is a kernel's [`image`] and an archive with our own program as init ([`initramfs`], [`libraries`]). An
//! [`engine`] starts it; [`run`] watches it and takes what it sends. What a finished guest sent can be kept ([`KeptGuests`]), so
//! that the same one need not run again.

pub mod engine;
mod error;
mod files;
pub mod image;
pub mod initramfs;
mod kept;
pub mod kernels;
pub mod libraries;
mod run;
mod setup;
mod told;
mod watch;

use engine::Engine;

pub use error::VmError;
pub use kept::{KeptGuests, MOST_BYTES};
pub use run::{Finished, Limit, Settings, run};

/// What keeps this machine from running guests in these engines with these kernels, which are fetched if need be. A guest
/// is started in each engine.
pub fn lack(engines: &[&dyn Engine], kernels: &[&str]) -> Option<String> {
    let engine = engines.iter().find_map(|engine| engine.probe().and_then(|_| engine::starts(*engine)).err());
    engine.or_else(|| kernels.iter().find_map(|name| Some(kernels::find(name).err()?.to_string())))
}
