//! What a dark page changes about the colours of a chart.

use crate::Look;
use crate::chart::each_encoding;
use crate::colour::on_dark;
use serde_json::{Map, Value, json};

/// Gives a chart the colours of its look. One for a light page says in `usermeta.dark` which colours are others on a
/// dark page, so that the page can change them.
pub(crate) fn apply(whole: &mut Value, look: Look) {
    let mut dark = Map::new();
    each_range(whole, &mut |colour| {
        if let Some(light) = colour.as_str().filter(|text| text.starts_with('#')) {
            dark.insert(light.into(), on_dark(light).into());
        }
    });
    match look {
        Look::Light => whole["usermeta"] = json!({ "dark": dark }),
        Look::Dark => each_range(whole, &mut |colour| {
            if let Some(other) = colour.as_str().and_then(|light| dark.get(light)) {
                *colour = other.clone();
            }
        }),
        Look::Paper => {}
    }
}

/// Does something with each value of the ranges of scales.
fn each_range(whole: &mut Value, act: &mut dyn FnMut(&mut Value)) {
    each_encoding(whole, &mut |encoding| {
        let scales = encoding.values_mut().filter_map(|definition| definition.get_mut("scale"));
        let ranges = scales.filter_map(|scale| scale.get_mut("range")?.as_array_mut());
        ranges.flatten().for_each(&mut *act);
    });
}
