//! A baseline: what was measured when it was written, as a file of the repository that people read in a diff.

use crate::report::Value;
use schedlab_boundary::{file, shell};
use schedlab_model::scenario::{ScenarioError, read_toml};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The form of the file.
const FORM: &str = "schedlab.baseline/1";

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    /// The version of schedlab that wrote it.
    pub version: String,
    pub(crate) cases: BTreeMap<Key, Known>,
}

/// A scenario under a policy in a venue, as the gate writes them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub scenario: String,
    pub policy: String,
    pub venue: String,
}

/// What is known of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Known {
    /// The hash of all that decides the case but the policy.
    pub setup: String,
    /// The kernel that ran.
    pub kernel: Option<String>,
    /// The values by their paths.
    pub values: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    schema: String,
    schedlab: String,
    #[serde(default)]
    case: Vec<WrittenCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCase {
    scenario: String,
    policy: String,
    venue: String,
    setup: String,
    kernel: Option<String>,
    #[serde(default)]
    value: BTreeMap<String, OneOrEach>,
}

/// A number, or that of each run.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number, or a list of numbers with one for each run")]
enum OneOrEach {
    Whole(i64),
    One(f64),
    Each(Vec<f64>),
}

impl Baseline {
    /// Reads a file; nothing where there is none.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is no baseline.
    pub fn read(path: &Path) -> Result<Option<Baseline>, ScenarioError> {
        let origin = path.display().to_string();
        match path.try_exists() {
            Ok(false) => return Ok(None),
            Ok(true) => {}
            Err(error) => return Err(ScenarioError::whole(&origin, format!("the file cannot be read: {error}"))),
        }
        let unreadable = |error| ScenarioError::whole(&origin, format!("the file cannot be read: {error}"));
        Baseline::parse(&file::text(path).map_err(unreadable)?, &origin).map(Some)
    }

    fn parse(text: &str, origin: &str) -> Result<Baseline, ScenarioError> {
        let written: Written = read_toml(text, origin)?;
        if written.schema != FORM {
            let why = format!("its schema is `{}`; known is `{FORM}`: write it again with --update", written.schema);
            return Err(ScenarioError::at_path(origin, text, "schema", why));
        }
        let mut cases = BTreeMap::new();
        for (index, case) in written.case.into_iter().enumerate() {
            let WrittenCase { scenario, policy, venue, setup, kernel, value } = case;
            let values: BTreeMap<String, Value> = value.into_iter().map(|(path, value)| (path, value.into())).collect();
            let is_none = |value: &Value| !value.runs.iter().flatten().chain([&value.number]).all(|n| n.is_finite());
            if let Some((path, _)) = values.iter().find(|(_, value)| is_none(value)) {
                let why = format!("the value of `{path}` is not a number: write the file again with --update");
                return Err(ScenarioError::at_path(origin, text, &format!("case[{index}]"), why));
            }
            let key = Key { scenario, policy, venue };
            if cases.insert(key, Known { setup, kernel, values }).is_some() {
                return Err(ScenarioError::at_path(
                    origin,
                    text,
                    &format!("case[{index}]"),
                    "this case is there twice",
                ));
            }
        }
        Ok(Baseline { version: written.schedlab, cases })
    }

    /// Its file. `gate` is the file of the gate, as the user writes it.
    pub fn to_toml(&self, gate: &str) -> String {
        let mut text = format!(
            "# What `schedlab gate {}` holds results against; `--update` writes it. Times are in nanoseconds.\n\
             schema = \"{FORM}\"\nschedlab = {}\n",
            shell::quoted(gate),
            quoted(&self.version)
        );
        for (Key { scenario, policy, venue }, known) in &self.cases {
            let [scenario, policy, venue, setup] = [scenario, policy, venue, &known.setup].map(|word| quoted(word));
            let case = format!("scenario = {scenario}\npolicy = {policy}\nvenue = {venue}\nsetup = {setup}\n");
            write!(text, "\n[[case]]\n{case}").expect("a string takes it");
            if let Some(kernel) = &known.kernel {
                writeln!(text, "kernel = {}", quoted(kernel)).expect("a string takes it");
            }
            text += "\n[case.value]\n";
            for (path, value) in &known.values {
                writeln!(text, "{} = {}", quoted(path), numbers(value)).expect("a string takes it");
            }
        }
        text
    }
}

impl From<OneOrEach> for Value {
    fn from(written: OneOrEach) -> Value {
        match written {
            OneOrEach::Whole(number) => Value::exact(number as f64),
            OneOrEach::One(number) => Value::exact(number),
            OneOrEach::Each(values) => Value::of_runs(values),
        }
    }
}

fn quoted(word: &str) -> String {
    toml::Value::String(word.into()).to_string()
}

fn numbers(value: &Value) -> String {
    match &value.runs {
        None => number(value.number),
        Some(runs) => format!("[{}]", runs.iter().map(|value| number(*value)).collect::<Vec<_>>().join(", ")),
    }
}

/// A number that reads back as the same, whole ones in groups of three digits.
fn number(value: f64) -> String {
    /// Larger ones are not whole in every reader.
    const MOST: f64 = (1u64 << 53) as f64;
    if value.fract() != 0.0 || value.abs() >= MOST {
        return toml::Value::Float(value).to_string();
    }
    let digits = format!("{:.0}", value.abs());
    let groups: Vec<&str> = {
        let first = digits.len() % 3;
        let mut groups: Vec<&str> = if first > 0 { vec![&digits[..first]] } else { Vec::new() };
        groups.extend((first..digits.len()).step_by(3).map(|at| &digits[at..at + 3]));
        groups
    };
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", groups.join("_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline() -> Baseline {
        let key =
            |scenario: &str| Key { scenario: scenario.into(), policy: "./mine.bpf.c".into(), venue: "sim".into() };
        let values = BTreeMap::from([
            ("jain".to_string(), Value::exact(0.1 + 0.2)),
            ("roles.a \"b\".response_ns.p99".to_string(), Value::exact(1_250_000_000.0)),
            ("slack".to_string(), Value::exact(-1_000.0)),
        ]);
        let each = BTreeMap::from([("jain".to_string(), Value::of_runs(vec![0.5, 1.0]))]);
        let cases = BTreeMap::from([
            (key("desk"), Known { setup: "ab".into(), kernel: None, values }),
            (key("door"), Known { setup: "cd".into(), kernel: Some("6.12".into()), values: each }),
        ]);
        Baseline { version: "0.1.0".into(), cases }
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let text = baseline().to_toml("desk.gate.toml");
        assert_eq!(Baseline::parse(&text, "f").unwrap(), baseline());
        assert!(text.contains("response_ns.p99' = 1_250_000_000\n"), "{text}");
        assert!(
            text.contains("jain = 0.30000000000000004") || text.contains("\"jain\" = 0.30000000000000004"),
            "{text}"
        );
        assert!(text.contains("= -1_000\n") && text.contains("= [0.5, 1]\n"), "{text}");
    }

    #[test]
    fn another_form_and_a_case_twice_are_refused() {
        let text = baseline().to_toml("g");
        let told = |text: &str| Baseline::parse(text, "f").unwrap_err().to_string();
        assert!(told(&text.replace("baseline/1", "baseline/9")).contains("f:2:10: its schema is"), "{text}");
        assert!(told(&text.replace("\"door\"", "\"desk\"")).contains("this case is there twice"));
        assert_eq!(Baseline::read(Path::new("no/such/file")), Ok(None));
    }
}
