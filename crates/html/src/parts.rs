//! What pages of ours are put together from, reports and others: the timeline, the look, and texts inside of scripts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write;

/// The scripts of a timeline, in the order in which they build on one another.
pub const TIMELINE: [&str; 10] = [
    include_str!("../web/timeline-words.js"),
    include_str!("../web/timeline-data.js"),
    include_str!("../web/timeline-picture.js"),
    include_str!("../web/timeline-arrows.js"),
    include_str!("../web/timeline-throttled.js"),
    include_str!("../web/timeline-perfetto.js"),
    include_str!("../web/timeline-input.js"),
    include_str!("../web/timeline-page.js"),
    include_str!("../web/timeline-print.js"),
    include_str!("../web/timeline.js"),
];

/// The look of pages, and of timelines on them.
pub const STYLES: [&str; 2] = [include_str!("../web/page.css"), include_str!("../web/timeline.css")];

/// JSON that can stand inside of a script element, whatever names are in it.
pub fn data_in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Our own text inside of a script element: what would end the element is in strings there, if anywhere.
pub fn in_script(text: &str) -> String {
    text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
}

/// A text as markup: what would be markup in it is shown.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' | '>' | '&' | '"' | '\'' => escaped += &format!("&#{};", u32::from(character)),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Deflated, as base64.
pub fn packed(bytes: &[u8]) -> String {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes everything");
    STANDARD.encode(encoder.finish().expect("memory takes everything"))
}
