//! The published JSON schemas, generated from the types.

use crate::result::{Measures, RunResult};
use crate::scenario::Scenario;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The schema of a scenario file, read as JSON.
pub fn scenario() -> Value {
    generate::<Scenario>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of a result.
pub fn result() -> Value {
    printed::<RunResult>()
}

/// The schema of what is printed.
pub fn printed<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// What a metric is, by its path in a group, a task or a run: `response_ns.p99`. What stands there of the whole comes
/// before what stands there of its part.
pub fn definition(path: &str) -> Option<String> {
    static SCHEMAS: LazyLock<[Value; 2]> = LazyLock::new(|| [printed::<Measures>(), result()]);
    SCHEMAS.iter().find_map(|root| described(root, path))
}

fn described(root: &Value, path: &str) -> Option<String> {
    let mut here = root;
    let mut words = Vec::new();
    for key in path.split('.') {
        let target = here.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
        here = target.and_then(|target| root.pointer(target)).unwrap_or(here).get("properties")?.get(key)?;
        words.extend(here.get("description").and_then(Value::as_str).map(|text| text.replace('\n', " ")));
    }
    Some(words.join(" "))
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    without_null(&mut schema);
    schema
}

/// The generator lets every optional value be null. TOML has no null, and in a result what cannot be known is absent.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(without_null),
        Value::Object(object) => {
            object.values_mut().for_each(without_null);
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|t| t != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".into(), only);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                choices.retain(|choice| *choice != json!({ "type": "null" }));
                if let [Value::Object(only)] = choices.as_slice() {
                    let only = only.clone();
                    object.remove("anyOf");
                    object.extend(only);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_defined_by_their_paths() {
        let p99 = definition("response_ns.p99").unwrap();
        assert!(p99.starts_with("Request begin to end") && p99.ends_with("99 in a hundred are not above it."), "{p99}");
        assert!(definition("jain").unwrap().starts_with("Jain's index"));
        assert_eq!((definition("nothing"), definition("response_ns.nothing")), (None, None));
    }

    #[test]
    fn nothing_may_be_null_and_every_key_is_described() {
        for schema in [scenario(), result()] {
            assert!(!schema.to_string().contains("\"null\""));
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(property.get("description").is_some(), "{name}");
            }
        }
        assert_eq!(scenario()["$defs"]["Run"]["properties"]["duration"]["$ref"], "#/$defs/Time");
    }
}
