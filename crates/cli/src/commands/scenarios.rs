//! `schedlab scenarios`.

use crate::args::{ScenariosArgs, ScenariosCommand};
use crate::failure::Failure;
use crate::output;
use schedlab_catalogue as catalogue;
use schedlab_model::rtapp;
use schedlab_model::scenario::Scenario;
use schedlab_report::wrap;
use std::path::Path;

/// The width of the column of names.
const NAMES: usize = 20;

/// Lists, prints or translates.
pub fn run(args: ScenariosArgs) -> Result<(), Failure> {
    match (args.command, args.name) {
        (Some(ScenariosCommand::Import { file }), _) => import(&file),
        (Some(ScenariosCommand::Export { scenario }), _) => {
            output::print(&rtapp::export(&catalogue::load(&scenario)?)?)
        }
        (None, Some(name)) => output::print(catalogue::find_scenario(&name)?.text),
        (None, None) => list(),
    }
}

fn list() -> Result<(), Failure> {
    let mut text = String::new();
    for shipped in catalogue::scenarios() {
        let about = Scenario::parse(shipped.text, shipped.name)?.about;
        text += &wrap(&format!("{:<NAMES$}", shipped.name), NAMES, &about);
    }
    text += "\n`schedlab scenarios NAME` prints one, to be copied and changed.\n";
    output::print(&text)
}

fn import(file: &Path) -> Result<(), Failure> {
    let origin = file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::Input(format!("{origin}: the file cannot be read: {error}")))?;
    output::print(&rtapp::import(&text, &origin)?.to_toml())
}
