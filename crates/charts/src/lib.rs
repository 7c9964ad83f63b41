//! Charts: specifications in the grammar of Vega-Lite, rows for them, and drawings without a browser.
//!
//! Every file of `specs/` whose name ends in `.vl.json` is a whole specification except for its data, which it calls
//! `rows`; any tool that reads Vega-Lite takes it as it is. A [`Chart`] completes one with rows, titles and colours.

mod chart;
mod colour;
mod draw;
mod kind;
mod results;
mod ring;
mod theme;
mod verdict;

pub use chart::{Axes, Chart, Look, Row, is_wide, row};
pub use colour::colours;
pub use draw::{DrawError, png, svg, svgs};
pub use kind::Kind;
pub use results::of_results;
pub use ring::{Arrow, Node, ring};

/// The program that draws specifications in a browser, or wherever else there is JavaScript: two scripts, in the order
/// in which they must run. They define `vega` and `vegaLite`.
pub const RUNTIME: [&str; 2] = [
    include_str!("../web/node_modules/vega/build/vega.min.js"),
    include_str!("../web/node_modules/vega-lite/build/vega-lite.min.js"),
];
