//! Results for people and for programs: tables, verdicts in words, comparisons with each other and with theory.
//!
//! A table is plain text of at most [`WIDTH`] columns where names allow it; colours are the caller's choice.

mod caution;
mod changes;
pub mod comparison;
pub mod conclusion;
mod control_groups;
mod costs;
pub mod export;
mod gap;
mod metric;
mod number;
pub mod others;
mod pair;
pub mod quota;
mod ratio;
pub mod recording;
pub mod result;
pub mod sketch;
mod style;
mod table;
mod text;
pub mod theory;
pub mod views;

pub use caution::{FEWEST_RUNS, few_runs};
pub use changes::{Change, ChangedDifference, Fragile};
pub use gap::{Evidence, Gap};
pub use metric::column;
pub use number::{Percent, Quantity, Times, with_minus};
pub use ratio::amount;
pub use style::Style;
pub use table::{Column, Table};
pub use text::{columns_of, wrap};

/// The width that tables and texts keep to.
pub const WIDTH: usize = 80;
