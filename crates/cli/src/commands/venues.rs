//! `schedlab venues`: what this machine can hold.

use crate::failure::Failure;
use crate::output;
use schedlab_report::wrap;
use schedlab_venue::{Support, survey};

/// The width of the column of properties.
const PROPERTIES: usize = 12;

/// Prints a paragraph for each venue and engine.
pub fn run() -> Result<(), Failure> {
    let paragraphs: Vec<String> = survey().iter().map(paragraph).collect();
    output::print(&paragraphs.join("\n"))
}

fn paragraph(place: &Support) -> String {
    let name = place
        .engine
        .map_or(format!("--venue {}", place.venue), |engine| format!("--venue {} --engine {engine}", place.venue));
    let line = |what: &str, text: &str| wrap(&format!("  {what:<PROPERTIES$}"), PROPERTIES + 2, text);
    let works = match &place.works {
        Ok(what) => line("works", what),
        Err(why) => line("does not", why),
    };
    let holds: String = place.holds.iter().map(|(what, text)| line(what, text)).collect();
    format!("{name}\n{works}{holds}")
}
