//! The language of score files. `docs/reference/score.md` explains it to users.

use schedlab_model::amount::limit;
use schedlab_model::metric::Better;
use schedlab_model::scenario::{OneOrMany, Origin, ScenarioError, Text, did_you_mean, read_toml, unfit_name};
use schedlab_model::subject::Subject;
use schedlab_model::time::Time;
use schedlab_policy::PolicySpec;
use schedlab_sweep::Axis;
use serde::Deserialize;
use std::path::Path;
use toml::{Table, Value};

/// A set of scenarios with what counts in them, as its file has it.
#[derive(Clone, Debug)]
pub struct ScoreSet {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub about: String,
    /// The scenarios that make the score.
    pub(crate) scenarios: Vec<String>,
    /// Those that only check whether something better is better elsewhere, too.
    pub(crate) held_out: Vec<String>,
    /// The policy whose score is 1.
    pub(crate) reference: PolicySpec,
    pub(crate) seed: Option<u64>,
    pub(crate) runs: u32,
    pub(crate) duration: Option<Time>,
    pub(crate) parts: Vec<Weighed>,
    /// What `tune` varies, by parameter.
    pub(crate) tuned: Vec<(String, Axis)>,
    pub(crate) origin: Origin,
}

/// A metric with what it counts.
#[derive(Clone, Debug)]
pub(crate) struct Weighed {
    pub subject: Subject,
    pub weight: f64,
    /// Values below this count as this.
    pub floor: f64,
    /// Beyond these the score is 0.
    pub max: Option<f64>,
    pub min: Option<f64>,
    /// The scenarios where it counts; all where none is named.
    pub scenarios: Option<Vec<String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    name: Option<String>,
    #[serde(default)]
    about: String,
    scenario: OneOrMany,
    held_out: Option<OneOrMany>,
    reference: String,
    seed: Option<u64>,
    #[serde(default = "one")]
    runs: u32,
    duration: Option<Text<Time>>,
    #[serde(default)]
    part: Vec<PartSpec>,
    #[serde(default)]
    tune: Table,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartSpec {
    metric: String,
    weight: Option<f64>,
    floor: Option<Value>,
    max: Option<Value>,
    min: Option<Value>,
    scenario: Option<OneOrMany>,
}

fn one() -> u32 {
    1
}

impl ScoreSet {
    /// Reads a file's text. `file` is its path, as the user writes it.
    ///
    /// # Errors
    ///
    /// What is wrong, with line and column.
    pub fn parse(text: &str, file: &Path) -> Result<ScoreSet, ScenarioError> {
        let name = file.display().to_string();
        if text.trim().is_empty() {
            let keys = "the file is empty: a score has `scenario`, `reference` and [[part]]";
            return Err(ScenarioError::whole(&name, keys));
        }
        let spec: Spec = read_toml(text, &name)?;
        ScoreSet::new(Origin { name, text: text.into() }, spec, file)
    }

    fn new(origin: Origin, spec: Spec, file: &Path) -> Result<ScoreSet, ScenarioError> {
        let stem = file.file_name().unwrap_or_default().to_string_lossy();
        let stem = stem.strip_suffix(".toml").unwrap_or(&stem);
        let name = spec.name.unwrap_or_else(|| stem.strip_suffix(".score").unwrap_or(stem).into());
        if let Some(why) = unfit_name(&name) {
            return Err(origin.wrong("name", why));
        }
        let scenarios = origin.list(&spec.scenario, "scenario")?;
        let held_out = spec.held_out.as_ref().map_or(Ok(Vec::new()), |words| origin.list(words, "held_out"))?;
        if let Some(index) = held_out.iter().position(|name| scenarios.contains(name)) {
            let why =
                format!("`{}` is in `scenario`, too: a scenario that makes the score cannot check it", held_out[index]);
            return Err(origin.wrong(&format!("held_out[{index}]"), why));
        }
        let reference =
            PolicySpec::parse(&spec.reference).map_err(|error| origin.wrong("reference", error.to_string()))?;
        if spec.runs == 0 {
            return Err(origin.wrong("runs", "there is at least one run"));
        }
        let all: Vec<&String> = scenarios.iter().chain(&held_out).collect();
        let part = |(number, part): (usize, &PartSpec)| Weighed::new(part, &origin, &format!("part[{number}]"), &all);
        let parts: Vec<Weighed> = spec.part.iter().enumerate().map(part).collect::<Result<_, _>>()?;
        if !parts.iter().any(|part| part.weight > 0.0) {
            return Err(ScenarioError::whole(&origin.name, "nothing counts: add a [[part]] with `metric`"));
        }
        let axis = |(key, value): (&String, &Value)| match Axis::read(value) {
            Ok(axis) => Ok((key.clone(), axis)),
            Err(why) => Err(origin.wrong(&format!("tune.{key}"), why)),
        };
        let tuned = spec.tune.iter().map(axis).collect::<Result<_, _>>()?;
        let (about, seed, runs, duration) = (spec.about, spec.seed, spec.runs, spec.duration.map(|text| text.0));
        Ok(ScoreSet { name, about, scenarios, held_out, reference, seed, runs, duration, parts, tuned, origin })
    }

    /// Whether there are scenarios that only check.
    pub fn has_held_out(&self) -> bool {
        !self.held_out.is_empty()
    }
}

impl Weighed {
    fn new(spec: &PartSpec, origin: &Origin, path: &str, all: &[&String]) -> Result<Weighed, ScenarioError> {
        let wrong = |key: &str, why: String| origin.wrong(&format!("{path}.{key}"), why);
        let subject = Subject::read(&spec.metric).map_err(|why| wrong("metric", why))?;
        let metric = subject.metric();
        let weight = spec.weight.unwrap_or(1.0);
        if !weight.is_finite() || weight < 0.0 {
            return Err(wrong("weight", format!("{weight} is not a weight: write 0 or more")));
        }
        if metric.better == Better::Neither && weight > 0.0 {
            let why = format!(
                "more of `{}` is neither better nor worse: give it `max` or `min`, and `weight = 0`",
                spec.metric
            );
            return Err(wrong("metric", why));
        }
        let amount = |value: &Option<Value>, key: &str| {
            value.as_ref().map(|value| limit(value, metric.unit)).transpose().map_err(|why| wrong(key, why))
        };
        let (floor, max, min) = (amount(&spec.floor, "floor")?, amount(&spec.max, "max")?, amount(&spec.min, "min")?);
        if floor.is_some_and(|floor| floor < 0.0) {
            return Err(wrong("floor", "it is 0 or more".into()));
        }
        if weight == 0.0 && max.is_none() && min.is_none() {
            return Err(wrong("weight", "a part without a weight needs `max` or `min`, or it says nothing".into()));
        }
        let scenarios =
            spec.scenario.as_ref().map(|words| origin.list(words, &format!("{path}.scenario"))).transpose()?;
        if let Some(unknown) = scenarios.iter().flatten().find(|name| !all.contains(name)) {
            let hint = match did_you_mean(unknown, all.iter().map(|name| name.as_str())) {
                hint if hint.is_empty() => ": add it to `scenario` or `held_out` above".to_string(),
                hint => hint,
            };
            return Err(wrong("scenario", format!("this score has no scenario `{unknown}`{hint}")));
        }
        Ok(Weighed { subject, weight, floor: floor.unwrap_or(0.0), max, min, scenarios })
    }

    /// Whether it counts in a scenario.
    pub fn is_in(&self, scenario: &String) -> bool {
        self.scenarios.as_ref().is_none_or(|all| all.contains(scenario))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ScoreSet, String> {
        ScoreSet::parse(text, Path::new("desk.score.toml")).map_err(|error| error.to_string())
    }

    const HEAD: &str = "scenario = [\"heavy-load\"]\nheld_out = \"service\"\nreference = \"rr\"\n";

    #[test]
    fn a_short_file_is_enough() {
        let set = parse(&format!("{HEAD}[[part]]\nmetric = \"response_ns.p99\"\nfloor = \"1ms\"\n")).unwrap();
        assert_eq!((set.name.as_str(), set.runs, set.has_held_out()), ("desk", 1, true));
        assert_eq!((set.parts[0].weight, set.parts[0].floor), (1.0, 1e6));
        assert!(set.parts[0].is_in(&"service".into()));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_a_remedy() {
        for (keys, told) in [
            ("metric = \"respons_ns.p99\"", "5:10: there is no metric `respons_ns.p99`: did you mean"),
            ("metric = \"migrations\"", "5:10: more of `migrations` is neither better nor worse: give it `max`"),
            ("metric = \"jain\"\nweight = -1.0", "6:10: -1 is not a weight"),
            ("metric = \"jain\"\nweight = 0.0", "6:10: a part without a weight needs `max` or `min`"),
            ("metric = \"response_ns.p99\"\nmax = 20", "6:7: 20 has no unit"),
            (
                "metric = \"jain\"\nscenario = \"servce\"",
                "6:12: this score has no scenario `servce`: did you mean `service`?",
            ),
            ("metric = \"jain\"\n[tune]\nquantum = 3", "7:11: an axis is a list of values"),
        ] {
            let error = parse(&format!("{HEAD}[[part]]\n{keys}\n")).unwrap_err();
            assert!(error.starts_with(&format!("desk.score.toml:{told}")), "{keys}: {error}");
        }
        for (text, told) in [
            ("", "desk.score.toml: the file is empty: a score has `scenario`, `reference` and [[part]]"),
            (HEAD, "desk.score.toml: nothing counts: add a [[part]]"),
            (
                "scenario = \"a\"\nheld_out = \"a\"\nreference = \"rr\"\n",
                "desk.score.toml:2:12: `a` is in `scenario`, too",
            ),
            ("scenario = \"a\"\nreference = \"a b\"", "desk.score.toml:2:13: policy `a b`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(told), "{text}: {error}");
        }
    }
}
