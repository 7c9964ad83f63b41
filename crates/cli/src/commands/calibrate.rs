//! `schedlab calibrate`: what things cost on this machine.

use crate::args::CalibrateArgs;
use crate::failure::Failure;
use crate::output;
use schedlab_report::{Column, Table};
use schedlab_venue::{Algorithm, Calibration, calibrate, fingerprint};
use serde::Serialize;

#[derive(Serialize)]
struct Page {
    machine: String,
    loads: Vec<Calibration>,
}

/// Measures and prints.
pub fn run(args: CalibrateArgs) -> Result<(), Failure> {
    let algorithms = if args.load.is_empty() { Algorithm::ALL.to_vec() } else { args.load };
    let failed = |error: schedlab_venue::CalibrationError| Failure::Failed(error.to_string());
    let loads = algorithms.into_iter().map(|load| calibrate(load, true).map_err(failed)).collect::<Result<_, _>>()?;
    let page = Page { machine: fingerprint(), loads };
    if args.json { output::print_json(&page) } else { output::print(&show(&page)) }
}

fn show(page: &Page) -> String {
    let all = |show: fn(&Calibration) -> String| page.loads.iter().map(show).collect::<Vec<_>>();
    let percent = |x: f64| format!("{:.2}", 100.0 * x);
    let table = Table::new([
        Column::words("load", all(|load| load.algorithm.clone())),
        Column::numbers("ns per piece", all(|load| format!("{:.2}", load.ns_per_piece))),
        Column::numbers("ns per call", all(|load| format!("{:.0}", load.ns_per_call))),
        Column::numbers("spread %", page.loads.iter().map(|load| percent(load.spread))),
        Column::numbers("off the line %", page.loads.iter().map(|load| percent(load.misfit))),
    ]);
    format!("{}\n\n{}", page.machine, table.show(output::style()))
}
