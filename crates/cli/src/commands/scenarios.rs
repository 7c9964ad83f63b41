//! `schedlab scenarios`.

use crate::args::paths::shown;
use crate::args::{ScenariosArgs, ScenariosCommand};
use crate::failure::Failure;
use crate::{files, output};
use schedlab_boundary::FileName;
use schedlab_catalogue as catalogue;
use schedlab_catalogue::families::{self, Address};
use schedlab_model::rtapp;
use schedlab_model::scenario::{Scenario, read_text};
use schedlab_report::wrap;
use serde_json::{Value, json};
use std::path::Path;

/// The width of the column of names.
const NAMES: usize = 20;

/// Lists, prints, draws or translates.
pub fn run(args: ScenariosArgs) -> Result<(), Failure> {
    match (&args.command, &args.name, &args.family) {
        (Some(ScenariosCommand::Import { file }), ..) => import(file),
        (Some(ScenariosCommand::Export { scenario }), ..) => {
            output::print_document(&rtapp::export(&catalogue::load(scenario)?)?)
        }
        (None, Some(name), _) => match Address::read(name)? {
            Some(Address { family, seed, cpus }) => output::print_document(&family.text(seed, cpus)),
            None => super::print_shipped(catalogue::find_scenario(name), name, "scenario"),
        },
        (None, None, Some(family)) => draw(family, &args),
        (None, None, None) if args.json => output::print_json(&object()?),
        (None, None, None) => list(),
    }
}

fn object() -> Result<Value, Failure> {
    let shipped = |shipped: &catalogue::Shipped| -> Result<Value, Failure> {
        Ok(json!({ "name": shipped.name, "about": Scenario::parse(shipped.text, shipped.name)?.about }))
    };
    let shipped: Vec<Value> = catalogue::scenarios().iter().map(shipped).collect::<Result<_, Failure>>()?;
    let family = |family: &families::Family| json!({ "name": family.name, "about": family.about });
    let families: Vec<Value> = families::all().iter().map(family).collect();
    Ok(json!({ "schema": "schedlab.scenarios/1", "shipped": shipped, "families": families }))
}

fn list() -> Result<(), Failure> {
    let mut text = String::new();
    for shipped in catalogue::scenarios() {
        let about = Scenario::parse(shipped.text, shipped.name)?.about;
        text += &wrap(&format!("{:<NAMES$}", shipped.name), NAMES, &about);
    }
    text += "\n`schedlab scenarios NAME` prints one, to be copied and changed.\n\nFamilies, of which each seed is a scenario:\n";
    for family in families::all() {
        text += &wrap(&format!("{:<NAMES$}", family.name), NAMES, family.about);
    }
    text += "\n`schedlab scenarios --family NAME --seed 7 --cpus 2` draws one;\n`family:NAME:7` names it in other commands.\n";
    output::print(&text)
}

/// Prints a scenario of a family, or writes several.
fn draw(family: &str, args: &ScenariosArgs) -> Result<(), Failure> {
    let one;
    let families = match family {
        "all" => families::all(),
        name => {
            one = [*families::find(name)?];
            &one
        }
    };
    let addresses = families
        .iter()
        .flat_map(|&family| args.seed.clone().map(move |seed| Address { family, seed, cpus: args.cpus }));
    let Some(folder) = &args.write else {
        let mut addresses = addresses;
        let (Some(Address { family, seed, cpus }), None) = (addresses.next(), addresses.next()) else {
            return Err(Failure::Input("several scenarios need a folder: add --write FOLDER".into()));
        };
        return output::print_document(&family.text(seed, cpus));
    };
    files::check_folder(folder)?;
    for address in addresses {
        let text = address.family.text(address.seed, address.cpus);
        files::write_in(folder, &FileName::made_of(&address.scenario_name()), ".toml", text.as_bytes())?;
    }
    Ok(())
}

fn import(file: &Path) -> Result<(), Failure> {
    let origin = shown(file);
    let scenario = rtapp::import(&read_text(file, &origin)?, &origin)?;
    scenario.remarks().iter().for_each(|remark| output::remark(remark));
    output::print_document(&scenario.to_toml())
}
