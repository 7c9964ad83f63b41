//! `schedlab venues`: where schedlab can run here.

use crate::args::VenuesArgs;
use crate::failure::Failure;
use crate::output;
use schedlab_report::wrap;
use schedlab_venue::{Support, survey};
use serde_json::{Value, json};

/// The width of the column of properties.
const PROPERTIES: usize = 12;

/// Prints a paragraph for each venue and engine.
pub fn run(args: &VenuesArgs) -> Result<(), Failure> {
    if args.json {
        let places: Vec<Value> = survey().iter().map(object).collect();
        return output::print_json(&json!({ "schema": "schedlab.venues/1", "venues": places }));
    }
    let paragraphs: Vec<String> = survey().iter().map(paragraph).collect();
    output::print(&paragraphs.join("\n"))
}

fn object(place: &Support) -> Value {
    let (works, what) = match &place.works {
        Ok(what) => (true, what),
        Err(why) => (false, why),
    };
    let holds: serde_json::Map<String, Value> =
        place.holds.iter().map(|(name, text)| (name.to_string(), text.as_str().into())).collect();
    let mut object = json!({ "venue": place.venue, "works": works, "about": what, "holds": holds });
    if let Some(engine) = place.engine {
        object["engine"] = engine.into();
    }
    object
}

fn paragraph(place: &Support) -> String {
    let name = place
        .engine
        .map_or(format!("--venue {}", place.venue), |engine| format!("--venue {} --engine {engine}", place.venue));
    let line = |what: &str, text: &str| wrap(&format!("  {what:<PROPERTIES$}"), PROPERTIES + 2, text);
    let works = match &place.works {
        Ok(what) => line("works", what),
        Err(why) => line("not working", why),
    };
    let holds: String = place.holds.iter().map(|(what, text)| line(what, text)).collect();
    format!("{name}\n{works}{holds}")
}
