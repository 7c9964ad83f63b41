//! The language of gate files. `docs/reference/gate.md` explains it to users.

use crate::bound::Tolerance;
use schedlab_campaign::Place;
use schedlab_model::amount::limit;
use schedlab_model::metric::{Better, Unit};
use schedlab_model::scenario::{OneOrMany, Origin, ScenarioError, Text, did_you_mean, read_toml, unfit_name};
use schedlab_model::subject::Subject;
use schedlab_model::time::Time;
use schedlab_policy::PolicySpec;
use schedlab_venue::VenueName;
use serde::Deserialize;
use std::path::Path;
use toml::Value;

/// A gate as its file has it.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Its name.
    pub name: String,
    /// What it guards.
    pub about: String,
    /// The scenarios, policies and venues of which checks choose, as they are written.
    pub(crate) scenarios: Vec<String>,
    pub(crate) policies: Vec<String>,
    pub(crate) venues: Vec<VenueName>,
    kernel: Option<String>,
    engine: Option<String>,
    pub(crate) seed: Option<u64>,
    pub(crate) runs: u32,
    pub(crate) duration: Option<Time>,
    /// The baseline's file, counted from the folder of the gate.
    pub(crate) baseline: String,
    /// The folder of the history, counted from the folder of the gate.
    pub history: Option<String>,
    pub(crate) checks: Vec<Check>,
    pub(crate) origin: Origin,
}

/// A check, for each of its metrics in each of its cases.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    /// What is measured, each with its bounds.
    pub metrics: Vec<(Subject, Bounds)>,
    /// Which scenarios and policies, by their places in the gate, and which venues.
    pub scenarios: Vec<usize>,
    pub policies: Vec<usize>,
    pub venues: Vec<VenueName>,
    /// Whether it names its policies: then each of them has to run there.
    pub names_policies: bool,
    pub against: Against,
}

/// What values are held against where a check has a relative bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Against {
    /// The file next to the gate.
    Baseline,
    /// The policy as it was at a revision.
    Revision(String),
    /// Another policy, by its place in the gate.
    Policy(usize),
}

/// What holds for a value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bounds {
    pub max: Option<f64>,
    pub min: Option<f64>,
    /// By how much it may be worse.
    pub worse: Option<Tolerance>,
    /// By how much it may differ, either way.
    pub differs: Option<Tolerance>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    name: Option<String>,
    #[serde(default)]
    about: String,
    scenario: OneOrMany,
    policy: OneOrMany,
    venue: Option<OneOrMany>,
    kernel: Option<String>,
    engine: Option<String>,
    seed: Option<u64>,
    #[serde(default = "one")]
    runs: u32,
    duration: Option<Text<Time>>,
    baseline: Option<String>,
    history: Option<String>,
    #[serde(default)]
    check: Vec<CheckSpec>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckSpec {
    metric: OneOrMany,
    scenario: Option<OneOrMany>,
    policy: Option<OneOrMany>,
    venue: Option<OneOrMany>,
    max: Option<Value>,
    min: Option<Value>,
    worse: Option<Value>,
    differs: Option<Value>,
    against: Option<String>,
}

fn one() -> u32 {
    1
}

/// How few runs in real time are not enough for an interval.
pub(crate) const LEAST_REAL_RUNS: u32 = 5;

impl Gate {
    /// What it names that may be a file, counted from its folder: scenarios, policies and its baseline.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.scenarios.iter().chain(&self.policies).chain([&self.baseline]).map(String::as_str)
    }

    /// Reads a file's text. `file` is its path, as the user writes it.
    ///
    /// # Errors
    ///
    /// What is wrong, with line and column.
    pub fn parse(text: &str, file: &Path) -> Result<Gate, ScenarioError> {
        let name = file.display().to_string();
        if text.trim().is_empty() {
            return Err(ScenarioError::whole(
                &name,
                "the file is empty: a gate has `scenario`, `policy` and [[check]]",
            ));
        }
        let spec: Spec = read_toml(text, &name)?;
        Gate::new(Origin { name, text: text.into() }, spec, file)
    }

    /// A place where it runs.
    ///
    /// # Errors
    ///
    /// There is no such emulator.
    pub(crate) fn place(&self, venue: VenueName) -> Result<Place, ScenarioError> {
        let place = Place::read(venue, self.kernel.as_deref(), self.engine.as_deref());
        place.map_err(|error| self.origin.wrong("engine", error.to_string()))
    }

    fn new(origin: Origin, spec: Spec, file: &Path) -> Result<Gate, ScenarioError> {
        let stem = file.file_name().unwrap_or_default().to_string_lossy();
        let stem = stem.strip_suffix(".toml").unwrap_or(&stem).to_string();
        let short = stem.strip_suffix(".gate").unwrap_or(&stem);
        let name = spec.name.clone().unwrap_or_else(|| short.into());
        if let Some(why) = unfit_name(&name) {
            return Err(origin.wrong("name", why));
        }
        let scenarios = origin.list(&spec.scenario, "scenario")?;
        let policies = origin.list(&spec.policy, "policy")?;
        for (index, policy) in policies.iter().enumerate() {
            let path = if policies.len() == 1 { "policy".into() } else { format!("policy[{index}]") };
            PolicySpec::parse(policy).map_err(|error| origin.wrong(&path, error.to_string()))?;
        }
        let venues =
            spec.venue.as_ref().map_or(Ok(vec![VenueName::Sim]), |venues| venues_of(&origin, venues, "venue"))?;
        let about_guests = Place::check_words(&venues, spec.kernel.as_deref(), spec.engine.as_deref());
        about_guests.map_err(|(key, why)| origin.wrong(key, why))?;
        if spec.runs == 0 {
            return Err(origin.wrong("runs", "there is at least one run"));
        }
        if spec.check.is_empty() {
            return Err(ScenarioError::whole(
                &origin.name,
                "it checks nothing: add a [[check]] with `metric` and a bound",
            ));
        }
        let mut gate = Gate {
            name,
            about: spec.about,
            scenarios,
            policies,
            venues,
            kernel: spec.kernel,
            engine: spec.engine,
            seed: spec.seed,
            runs: spec.runs,
            duration: spec.duration.map(|text| text.0),
            baseline: spec.baseline.unwrap_or_else(|| format!("{short}.baseline.toml")),
            history: spec.history,
            checks: Vec::new(),
            origin,
        };
        for (number, check) in spec.check.iter().enumerate() {
            let check = gate.check(check, &format!("check[{number}]"))?;
            gate.checks.push(check);
        }
        Ok(gate)
    }
}

impl Gate {
    fn check(&self, spec: &CheckSpec, path: &str) -> Result<Check, ScenarioError> {
        let wrong = |key: &str, message: String| Err(self.origin.wrong(&format!("{path}.{key}"), message));
        let mut metrics = Vec::new();
        for metric in spec.metric.all() {
            let unknown = |message| self.origin.wrong(&format!("{path}.metric"), message);
            let subject = Subject::read(metric).map_err(unknown)?;
            let bounds = self.bounds(spec, &subject, path)?;
            metrics.push((subject, bounds));
        }
        if metrics.is_empty() {
            return wrong("metric", "the list is empty".into());
        }
        let (is_bare, is_relative) = (spec.max.is_none() && spec.min.is_none(), spec.is_relative());
        if is_bare && !is_relative {
            let all = "`max` or `min`, or `worse` or `differs` to hold it against the baseline";
            return Err(self.origin.wrong(path, format!("this check has no bound: add {all}")));
        }
        if let (Some(_), false) = (&spec.against, is_relative) {
            return wrong("against", "nothing here is held against anything: add `worse` or `differs`".into());
        }
        let venues = match &spec.venue {
            None => self.venues.clone(),
            Some(words) => {
                let venues = venues_of(&self.origin, words, &format!("{path}.venue"))?;
                if let Some(other) = venues.iter().find(|venue| !self.venues.contains(venue)) {
                    return wrong(
                        "venue",
                        format!("`{}` is not a venue of this gate: add it to `venue` above", other.name()),
                    );
                }
                venues
            }
        };
        Ok(Check {
            metrics,
            scenarios: self.chosen(spec.scenario.as_ref(), &self.scenarios, "scenario", path)?,
            policies: self.chosen(spec.policy.as_ref(), &self.policies, "policy", path)?,
            venues,
            names_policies: spec.policy.is_some(),
            against: self.against(spec.against.as_deref(), path)?,
        })
    }

    /// The places of those that a check chooses.
    fn chosen(
        &self,
        words: Option<&OneOrMany>,
        all: &[String],
        what: &str,
        path: &str,
    ) -> Result<Vec<usize>, ScenarioError> {
        let Some(words) = words else { return Ok((0..all.len()).collect()) };
        let path = format!("{path}.{what}");
        let place = |word: &String| {
            all.iter().position(|known| known == word).ok_or_else(|| {
                let hint = match did_you_mean(word, all.iter().map(String::as_str)) {
                    hint if hint.is_empty() => format!(": it has {}", all.join(", ")),
                    hint => hint,
                };
                self.origin.wrong(&path, format!("this gate has no {what} `{word}`{hint}"))
            })
        };
        self.origin.list(words, &path)?.iter().map(place).collect()
    }

    fn against(&self, text: Option<&str>, path: &str) -> Result<Against, ScenarioError> {
        let wrong = |message: String| Err(self.origin.wrong(&format!("{path}.against"), message));
        match text {
            None | Some("baseline") => Ok(Against::Baseline),
            Some(text) => match text.split_once(':') {
                Some(("git", "")) => wrong("`git:` needs a revision, as in \"git:v1.0\" or \"git:HEAD~1\"".into()),
                // A revision that looks like a flag would be one to git.
                Some(("git", revision)) if revision.starts_with('-') => {
                    wrong(format!("`{revision}` is not a revision"))
                }
                Some(("git", revision)) => Ok(Against::Revision(revision.into())),
                Some(("policy", name)) => match self.policies.iter().position(|policy| policy == name) {
                    Some(place) => Ok(Against::Policy(place)),
                    None => wrong(format!("this gate has no policy `{name}`: add it to `policy` above")),
                },
                _ => wrong(format!(
                    "`{text}` is nothing to hold values against: write \"baseline\", \"git:REVISION\" or \"policy:NAME\""
                )),
            },
        }
    }

    fn bounds(&self, spec: &CheckSpec, subject: &Subject, path: &str) -> Result<Bounds, ScenarioError> {
        let metric = subject.metric();
        let at = |key: &str| format!("{path}.{key}");
        let wrong = |key: &str, message: String| self.origin.wrong(&at(key), message);
        let absolute = |value: &Option<Value>, key: &str| {
            value.as_ref().map(|value| limit(value, metric.unit)).transpose().map_err(|why| wrong(key, why))
        };
        let relative = |value: &Option<Value>, key: &str| {
            value.as_ref().map(|value| Tolerance::read(value, metric.unit)).transpose().map_err(|why| wrong(key, why))
        };
        let bounds = Bounds {
            max: absolute(&spec.max, "max")?,
            min: absolute(&spec.min, "min")?,
            worse: relative(&spec.worse, "worse")?,
            differs: relative(&spec.differs, "differs")?,
        };
        if bounds.worse.is_some() && metric.better == Better::Neither {
            let why = format!("more of `{}` is neither better nor worse: write `differs` instead", subject.path());
            return Err(wrong("worse", why));
        }
        let is_below_zero = |bound: Option<f64>| metric.unit == Unit::Ns && bound.is_some_and(|bound| bound < 0.0);
        if let Some(key) = [("max", bounds.max), ("min", bounds.min)].iter().find(|(_, bound)| is_below_zero(*bound)) {
            return Err(wrong(key.0, "a time is not below zero".into()));
        }
        match (bounds.min, bounds.max) {
            (Some(min), Some(max)) if min > max => Err(wrong("min", "it is above `max`: nothing can be both".into())),
            _ => Ok(bounds),
        }
    }
}

/// The venues of a list.
fn venues_of(origin: &Origin, words: &OneOrMany, path: &str) -> Result<Vec<VenueName>, ScenarioError> {
    let venue = |word: &String| {
        VenueName::ALL.into_iter().find(|venue| venue.name() == word).ok_or_else(|| {
            let names = VenueName::ALL.map(VenueName::name);
            let hint = match did_you_mean(word, names) {
                hint if hint.is_empty() => format!(": there are {}", names.join(", ")),
                hint => hint,
            };
            origin.wrong(path, format!("there is no venue `{word}`{hint}"))
        })
    };
    origin.list(words, path)?.iter().map(venue).collect()
}

impl CheckSpec {
    fn is_relative(&self) -> bool {
        self.worse.is_some() || self.differs.is_some()
    }
}

impl Bounds {
    /// Whether there is something to hold it against.
    pub fn is_relative(&self) -> bool {
        self.worse.is_some() || self.differs.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Gate, String> {
        Gate::parse(text, Path::new("desk.gate.toml")).map_err(|error| error.to_string())
    }

    const HEAD: &str = "scenario = [\"heavy-load\", \"service\"]\npolicy = [\"rr\", \"./mine.bpf.c\"]\n";

    fn check(keys: &str) -> Result<Gate, String> {
        parse(&format!("{HEAD}[[check]]\n{keys}\n"))
    }

    #[test]
    fn a_short_gate_is_enough() {
        let gate = check("metric = \"response_ns.p99\"\nworse = \"1 %\"").unwrap();
        assert_eq!((gate.name.as_str(), gate.baseline.as_str()), ("desk", "desk.baseline.toml"));
        assert_eq!((gate.venues.as_slice(), gate.runs), (&[VenueName::Sim][..], 1));
        let check = &gate.checks[0];
        assert_eq!((check.scenarios.len(), check.policies.len(), &check.against), (2, 2, &Against::Baseline));
        let roles = ["a".to_string(), "b".to_string()];
        assert_eq!(check.metrics[0].0.paths(&roles), ["roles.a.response_ns.p99", "roles.b.response_ns.p99"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_a_remedy() {
        for (keys, told) in [
            (
                "metric = \"respons_ns.p99\"\nmax = \"1ms\"",
                "4:10: there is no metric `respons_ns.p99`: did you mean `response_ns.p99`?",
            ),
            ("metric = \"roles.*.jian\"\nmax = 1", "4:10: there is no metric `jian`"),
            ("metric = \"response_ns.p99\"\nmax = \"-5ms\"", "5:7: a time is not below zero"),
            ("metric = \"jain\"", "3:1: this check has no bound: add `max` or `min`, or `worse`"),
            ("metric = \"response_ns.p99\"\nmax = 20", "5:7: 20 has no unit: write a time as in \"20ms\""),
            (
                "metric = \"migrations\"\nworse = \"1 %\"",
                "5:9: more of `migrations` is neither better nor worse: write `differs`",
            ),
            ("metric = \"jain\"\nmin = 2\nmax = 1", "5:7: it is above `max`"),
            (
                "metric = \"jain\"\nmin = 1\nscenario = \"heavy-lod\"",
                "6:12: this gate has no scenario `heavy-lod`: did you mean `heavy-load`?",
            ),
            ("metric = \"jain\"\nmin = 1\npolicy = \"cfs\"", "6:10: this gate has no policy `cfs`"),
            (
                "metric = \"jain\"\nmin = 1\nvenue = \"vm\"",
                "6:9: `vm` is not a venue of this gate: add it to `venue` above",
            ),
            ("metric = \"jain\"\nmin = 1\nvenue = \"simm\"", "6:9: there is no venue `simm`: did you mean `sim`?"),
            ("metric = \"jain\"\nmin = 1\nagainst = \"baseline\"", "6:11: nothing here is held against anything"),
            ("metric = \"jain\"\nworse = 0.1\nagainst = \"git:\"", "6:11: `git:` needs a revision"),
            ("metric = \"jain\"\nworse = 0.1\nagainst = \"git:--all\"", "6:11: `--all` is not a revision"),
            ("metric = \"jain\"\nworse = 0.1\nagainst = \"v1\"", "6:11: `v1` is nothing to hold values against"),
            ("metric = \"jain\"\nworse = 0.1\nagainst = \"policy:cfs\"", "6:11: this gate has no policy `cfs`"),
            ("metric = \"jain\"\nmxa = 1", "5:1: unknown key `mxa`: did you mean `max`?"),
            ("metric = []\nmax = 1", "4:10: the list is empty"),
        ] {
            let error = check(keys).unwrap_err();
            assert!(error.starts_with(&format!("desk.gate.toml:{told}")), "{keys}: {error}");
        }
        for (text, told) in [
            ("", "desk.gate.toml: the file is empty: a gate has `scenario`, `policy` and [[check]]"),
            (HEAD, "desk.gate.toml: it checks nothing: add a [[check]]"),
            ("scenario = []\npolicy = \"rr\"", "desk.gate.toml:1:12: the list is empty"),
            ("scenario = \"a\"\npolicy = [\"rr\", \"rr\"]", "desk.gate.toml:2:17: `rr` is there twice"),
            ("scenario = \"a\"\npolicy = \"a b\"", "desk.gate.toml:2:10: policy `a b`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(told), "{text}: {error}");
        }
    }
}
