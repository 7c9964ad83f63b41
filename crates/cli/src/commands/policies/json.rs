//! `schedlab policies --json`.

use schedlab_policy::{Parameter, catalog};
use schedlab_venue::{Discipline, Need, Needs, ideal_name};
use serde_json::{Map, Value, json};

/// All policies by name.
pub fn list() -> Value {
    let shipped = catalog().iter().map(|policy| json!({ "name": policy.name, "about": policy.about() }));
    let ideal = Discipline::ALL.iter().map(|kind| json!({ "name": ideal_name(*kind), "about": kind.about() }));
    json!({
        "schema": "schedlab.policies/1",
        "shipped": shipped.collect::<Vec<_>>(),
        "ideal": ideal.collect::<Vec<_>>(),
    })
}

/// One policy; `needs` is absent where there is no object.
pub fn details(label: &str, needs: Option<&Needs>) -> Value {
    let mut object = json!({ "schema": "schedlab.policy/1", "policy": label });
    let Some(needs) = needs else { return object };
    let settings: Map<String, Value> =
        needs.settings.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let maps = needs.maps.iter().map(|map| {
        json!({
            "name": map.name, "kind": map.kind.to_string(), "key_bytes": map.key_size, "value_bytes": map.value_size,
            "entries": map.max_entries,
        })
    });
    let more = json!({
        "licence": needs.license,
        "not_simulated": needs.missing,
        "operations": needs.operations,
        "never_called": needs.never_called,
        "settings": settings,
        "parameters": needs.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "maps": maps.collect::<Vec<_>>(),
        "other_programs": needs.other_programs,
        "kernel_functions": needs.kernel_functions.iter().map(need).collect::<Vec<_>>(),
        "kernel_variables": needs.kernel_variables.iter().map(need).collect::<Vec<_>>(),
        "helpers": needs.helpers,
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut object, more) {
        all.extend(more);
    }
    object
}

fn need(need: &Need) -> Value {
    json!({ "name": need.name, "is_optional": need.weak })
}

fn parameter(parameter: &Parameter) -> Value {
    let mut object = json!({
        "name": parameter.name,
        "type": parameter.c_type,
        "about": parameter.about,
        "is_from_the_machine": parameter.machine.is_some(),
    });
    if parameter.machine.is_none() {
        object["default"] = parameter.show(parameter.default).into();
    }
    if let Some((least, most)) = parameter.range {
        object["range"] = json!([parameter.show(least), parameter.show(most)]);
    }
    if !parameter.choices.is_empty() {
        object["choices"] = parameter.choices.iter().map(|choice| choice.word.as_str()).collect::<Vec<_>>().into();
    }
    object
}
