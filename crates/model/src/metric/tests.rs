use super::*;
use crate::runs::RunsResult;
use crate::schema::{metrics, printed, result};
use serde_json::Value;
use std::collections::BTreeSet;

/// Numbers of a result that say what was run, and not what came of it.
const IDENTITY: [&str; 7] =
    ["seed", "warmup_ns", "scenario.cpus", "scenario.tick_ns", "policy.parameters", "id", "knobs"];

/// The paths of all numbers below a place of a schema; of a map the one of its values.
fn numbers(schema: &Value, place: &Value, path: &str, found: &mut BTreeSet<String>) {
    let below = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    if let Some(target) = place["$ref"].as_str().and_then(|target| target.strip_prefix('#')) {
        numbers(schema, schema.pointer(target).unwrap(), path, found);
    }
    if let Some(properties) = place["properties"].as_object() {
        properties.iter().for_each(|(key, property)| numbers(schema, property, &below(key), found));
    }
    if let Some(values) = place["additionalProperties"].as_object() {
        numbers(schema, &Value::Object(values.clone()), &below("K"), found);
    }
    // Numbers as keys are patterns.
    for value in place["patternProperties"].as_object().into_iter().flat_map(|patterns| patterns.values()) {
        numbers(schema, value, &below("K"), found);
    }
    if matches!(place["type"].as_str(), Some("number" | "integer")) {
        found.insert(path.to_string());
    }
}

/// The numbers of a part of a result, without those that say what was run.
fn measured(part: &str) -> BTreeSet<String> {
    let schema = result();
    let mut found = BTreeSet::new();
    numbers(&schema, schema.pointer(part).unwrap(), "", &mut found);
    found.retain(|path| !IDENTITY.iter().any(|identity| path == identity || path.starts_with(&format!("{identity}."))));
    found
}

fn listed(levels: &[Level]) -> BTreeSet<String> {
    all().iter().filter(|metric| levels.contains(&metric.level)).map(|metric| metric.path.clone()).collect()
}

#[test]
fn table_and_schema_of_the_result_have_the_same_numbers() {
    let parts: [(&str, &[Level]); 5] = [
        ("", &[Level::Run]),
        ("/$defs/RoleResult", &[Level::Task, Level::Role]),
        ("/$defs/TaskResult", &[Level::Task]),
        ("/$defs/ControlGroupResult", &[Level::ControlGroup]),
        ("/$defs/CpuResult", &[Level::Cpu]),
    ];
    for (part, levels) in parts {
        let (in_schema, in_table) = (measured(part), listed(levels));
        assert!(in_schema.len() > 3, "{part}: {in_schema:?}");
        let missing: Vec<_> = in_schema.symmetric_difference(&in_table).collect();
        assert!(missing.is_empty(), "{part}: only in the schema or only in the table: {missing:?}");
    }
}

#[test]
fn every_metric_is_found_by_its_path_and_said_in_words() {
    let paths: BTreeSet<&str> = all().iter().map(|metric| metric.path.as_str()).collect();
    assert_eq!(paths.len(), all().len());
    for metric in all() {
        let path = metric.path.replace(KEY, "3");
        let found = find(&path).unwrap();
        assert!(std::ptr::eq(found.metric, metric) && found.path() == path, "{path}");
        assert!(!metric.meaning().is_empty() && !metric.name.is_empty() && !metric.head.is_empty(), "{path}");
        // Units are in names.
        let is_time = path.split(['.', '_']).any(|word| word == "ns");
        let is_plain = [".count", ".cv"].iter().any(|end| path.ends_with(end));
        assert_eq!(metric.unit == Unit::Ns, is_time && !is_plain, "{path}");
    }
    assert_eq!(metrics().as_array().unwrap().len(), all().len());
}

#[test]
fn a_wrong_path_is_told_the_right_one() {
    let told = |path: &str| find(path).unwrap_err().to_string();
    assert_eq!(told("latency"), "there is no metric `latency`: `schedlab schema metrics` lists them all");
    assert_eq!(told("respons_ns.p99"), "there is no metric `respons_ns.p99`: did you mean `response_ns.p99`?");
    assert_eq!(told("slowdown"), "there is no metric `slowdown`: did you mean `slowdown.mean`?");
    assert!(find("load_distribution.true.K").is_err() && find("load_distribution.true").is_err());
}

/// A result of several runs has no place for a number that is not of all of them.
#[test]
fn several_runs_hold_combined_numbers_only() {
    let schema = printed::<RunsResult>();
    let mut found = BTreeSet::new();
    numbers(&schema, &schema, "", &mut found);
    found.retain(|path| !IDENTITY.iter().any(|identity| path == identity || path.starts_with(&format!("{identity}."))));
    // Of the virtual machine only what is the same in all runs is kept; `schedlab_metrics::combine` sees to that.
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["provenance.engine.boot_ns", "runs.count"]);
}

#[test]
fn the_page_of_the_documentation_is_this_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/metrics.md");
    if std::env::var_os("SCHEDLAB_WRITE_DOCS").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page(),
        "docs/reference/metrics.md is not the table; SCHEDLAB_WRITE_DOCS=1 cargo test -p schedlab-model writes it"
    );
}
