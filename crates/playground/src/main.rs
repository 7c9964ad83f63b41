//! Puts the module, the shipped scenarios and what the browser does with them into one file.
//!
//! `schedlab-playground MODULE.wasm PAGE.html`; `tools/playground` builds the module first.

use schedlab_boundary::{file, own::Partial};
use schedlab_catalogue::scenarios;
use schedlab_html::parts::{STYLES, TIMELINE, data_in_script, in_script, packed};
use schedlab_playground::policies;
use std::path::Path;

const TEMPLATE: &str = include_str!("../web/page.html");

/// What the browser does with it, after the timeline, which is that of reports.
const SCRIPTS: [&str; 5] = [
    include_str!("../web/stage.js"),
    include_str!("../web/player.js"),
    include_str!("../web/form.js"),
    include_str!("../web/simulator.js"),
    include_str!("../web/playground.js"),
];

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, page] = arguments.as_slice() else { return Err("schedlab-playground MODULE.wasm PAGE.html".into()) };
    let bytes = file::bytes(Path::new(module), file::OBJECT_BYTES);
    let bytes = bytes.map_err(|error| format!("cannot read {module}: {error}"))?;
    Partial::write(Path::new(page), html(&bytes).as_bytes()).map_err(|error| format!("cannot write {page}: {error}"))
}

/// The page.
fn html(module: &[u8]) -> String {
    let scripts = TIMELINE.iter().chain(&SCRIPTS).map(|script| format!("<script>{}</script>\n", in_script(script)));
    let texts: Vec<_> = scenarios().iter().map(|scenario| (scenario.name, scenario.text)).collect();
    let mut page = String::new();
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{ ") {
        let (name, after) = after.split_once(" }}").expect("the template closes what it opens");
        page += before;
        page += &match name {
            "version" => env!("CARGO_PKG_VERSION").to_string(),
            "css" => STYLES.concat() + include_str!("../web/playground.css"),
            "scripts" => scripts.clone().collect(),
            "worker" => in_script(include_str!("../web/worker.js")),
            "scenarios" => data_in_script(&json(&texts)),
            "policies" => data_in_script(&json(&policies())),
            "module" => packed(module),
            _ => unreachable!("the template names nothing else"),
        };
        rest = after;
    }
    page + rest
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("texts have a form in JSON")
}
