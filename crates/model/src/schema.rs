//! The published JSON schemas, generated from the types, and what they say about metrics.

use crate::metric::{self, Combine, Level, Metric};
use crate::result::RunResult;
use crate::runs::RunsResult;
use crate::scenario::Scenario;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The schema of a scenario file, read as JSON.
pub fn scenario() -> Value {
    read::<Scenario>()
}

/// The schema of what is read.
pub fn read<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of the result of one run. Next to what each number means it says its unit, which way it is good, and the
/// source of its formula.
pub fn result() -> Value {
    let mut schema = printed::<RunResult>();
    for metric in metric::all() {
        for root in roots(metric.level) {
            let Some(property) = pointer(&schema, root, metric.property()) else { continue };
            if let Some(Value::Object(property)) = schema.pointer_mut(&property) {
                property.insert("unit".into(), metric.unit.words().into());
                property.extend(metric.source.map(|source| ("source".to_string(), source.into())));
            }
        }
    }
    schema
}

/// The schema of the results of several runs. What their metrics are, [`metrics`] says.
pub fn runs() -> Value {
    printed::<RunsResult>()
}

/// All metrics: path, where it stands, unit, meaning, source, how several runs combine, which way it is good.
pub fn metrics() -> Value {
    let row = |metric: &Metric| {
        let mut row = json!({
            "path": metric.path,
            "of": metric.level.words(),
            "unit": metric.unit.words(),
            "meaning": metric.meaning(),
            "several_runs": match metric.combine { Combine::Mean => "mean", Combine::Sum => "sum" },
        });
        if let Some(better) = metric.better.words() {
            row["better"] = better.into();
        }
        row
    };
    metric::all().iter().map(row).collect()
}

/// The schema of what is printed.
pub fn printed<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// What is at a path of a level in the result of one run: the comment of its field.
pub(crate) fn description(level: Level, path: &str) -> Option<String> {
    static RESULT: LazyLock<Value> = LazyLock::new(printed::<RunResult>);
    let root = roots(level)[0];
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    let places = ends.map(|end| pointer(&RESULT, root, &path[..end])).collect::<Option<Vec<_>>>()?;
    let text = places.iter().rev().find_map(|place| RESULT.pointer(place)?.get("description")?.as_str())?;
    Some(text.replace('\n', " "))
}

/// Where in the schema of a result the parts of a level are described.
fn roots(level: Level) -> &'static [&'static str] {
    match level {
        Level::Task => &["/$defs/RoleResult", "/$defs/TaskResult"],
        Level::Role => &["/$defs/RoleResult"],
        Level::ControlGroup => &["/$defs/ControlGroupResult"],
        Level::Cpu => &["/$defs/CpuResult"],
        Level::Run => &[""],
    }
}

/// Where a schema describes the property at a path.
fn pointer(schema: &Value, root: &str, path: &str) -> Option<String> {
    path.split('.').try_fold(root.to_string(), |here, key| {
        let target = schema.pointer(&here)?.get("$ref").and_then(Value::as_str);
        let object = target.and_then(|target| target.strip_prefix('#')).map_or(here, String::from);
        let property = format!("{object}/properties/{key}");
        schema.pointer(&property).map(|_| property)
    })
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
    fn metrics_are_described_by_the_comments_of_their_fields() {
        let p99 = crate::metric::known("response_ns.p99").metric.meaning();
        assert!(
            p99.starts_with("From the start of a request") && p99.ends_with(" 99 of 100 are not above it."),
            "{p99}"
        );
        assert!(description(Level::Run, "jain").unwrap().starts_with("Jain's index"));
        assert_eq!((description(Level::Run, "nothing"), description(Level::Task, "response_ns.nothing")), (None, None));
    }

    #[test]
    fn a_result_says_the_units_and_sources_of_its_metrics() {
        let schema = result();
        assert_eq!(schema["properties"]["jain"]["source"], "Jain, Chiu and Hawe 1984");
        let role = &schema["$defs"]["RoleResult"]["properties"];
        assert_eq!((&role["response_ns"]["unit"], &role["cpu_share"]["unit"]), (&json!("ns"), &json!("fraction")));
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
