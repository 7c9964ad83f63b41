//! Puts the module, the shipped scenarios and what the browser does with them into one file.
//!
//! `schedlab-playground MODULE.wasm PAGE.html`; `tools/playground` builds the module first.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use schedlab_boundary::{file, own::Partial};
use schedlab_catalogue::scenarios;
use schedlab_playground::policies;
use std::io::Write;
use std::path::Path;

const TEMPLATE: &str = include_str!("../web/page.html");

/// The timeline is that of reports.
const SCRIPTS: [&str; 9] = [
    include_str!("../../html/web/timeline-words.js"),
    include_str!("../../html/web/timeline-data.js"),
    include_str!("../../html/web/timeline-picture.js"),
    include_str!("../../html/web/timeline-arrows.js"),
    include_str!("../../html/web/timeline-perfetto.js"),
    include_str!("../../html/web/timeline-input.js"),
    include_str!("../../html/web/timeline-page.js"),
    include_str!("../../html/web/timeline.js"),
    include_str!("../web/stage.js"),
];
const PLAY: [&str; 4] = [
    include_str!("../web/player.js"),
    include_str!("../web/form.js"),
    include_str!("../web/simulator.js"),
    include_str!("../web/playground.js"),
];
const STYLES: [&str; 3] = [
    include_str!("../../html/web/page.css"),
    include_str!("../../html/web/timeline.css"),
    include_str!("../web/playground.css"),
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
    let scripts = SCRIPTS.iter().chain(&PLAY).map(|script| format!("<script>{}</script>\n", in_script(script)));
    let texts: Vec<_> = scenarios().iter().map(|scenario| (scenario.name, scenario.text)).collect();
    let mut page = String::new();
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{ ") {
        let (name, after) = after.split_once(" }}").expect("the template closes what it opens");
        page += before;
        page += &match name {
            "version" => env!("CARGO_PKG_VERSION").to_string(),
            "css" => STYLES.concat(),
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

/// JSON that can stand inside of a script element.
fn data_in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Our own text inside of a script element: what would end the element is in strings there, if anywhere.
fn in_script(text: &str) -> String {
    text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
}

/// Deflated, as base64.
fn packed(bytes: &[u8]) -> String {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes everything");
    STANDARD.encode(encoder.finish().expect("memory takes everything"))
}
