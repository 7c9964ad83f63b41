//! Evidence as one self-contained page: it opens from disk, asks no network for anything, and answers before it shows why.
//!
//! A [`Document`] says what is on the page. It is made of a comparison ([`of_comparison`]), of a study
//! ([`of_study`]), of two traces ([`of_contrast`]), of a search for a limit ([`of_quota`]), of a sweep ([`of_sweep`]), of an
//! agreement ([`of_agreement`]), of a gate ([`of_gate`]) or of its history ([`of_history`]), and [`Document::html`] writes it. The page's charts are specifications of the grammar that
//! `schedlab_charts` keeps; its runtime is inside of the page, and every untrusted name is text.

mod agreement;
mod answer;
mod command;
mod comparison;
mod contrast;
mod document;
mod evidence;
mod gate;
mod history;
pub mod parts;
mod picture;
mod pieces;
mod quota;
mod render;
mod sentence;
mod study;
mod sweep;

pub use agreement::of_agreement;
pub use comparison::of_comparison;
pub use contrast::of_contrast;
pub use document::{Document, Listing, Provenance, Section, TableView, TimelineView};
pub use evidence::{Evidence, Heard, Story};
pub use gate::of_gate;
pub use history::of_history;
pub use pieces::distribution;
pub use quota::of_quota;
pub use study::of_study;
pub use sweep::of_sweep;
