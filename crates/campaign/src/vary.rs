//! What is varied: paths into the scenario or parameters of policies, each with its values, and every combination of them.

use schedlab_model::scenario::{Scenario, ScenarioError, combinations};
use schedlab_model::workload::Workload;
use schedlab_policy::PolicySpec;
use schedlab_venue::{Policy, VenueError};
use std::str::FromStr;
use std::sync::Arc;
use toml::Value;

/// Paths that begin so are parameters of the policies.
const POLICY: &str = "policy.";
/// Seeds are no variants: what is compared shares them.
const SEED: &str = "run.seed";

/// A path and the values that it gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// A path into the scenario, as [`Scenario::with`] takes it, or `policy.PARAMETER`.
    pub path: String,
    /// The values, at least one, each once.
    pub values: Vec<Value>,
}

/// A scenario in which some values are others.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What differs, in the order of the axes; nothing in the scenario as it was.
    pub settings: Vec<(String, Value)>,
    /// The hash of the scenario.
    pub scenario_hash: String,
    /// What the tasks do.
    pub workload: Arc<Workload>,
}

impl Axis {
    /// An axis with these values.
    ///
    /// # Errors
    ///
    /// There are none, one is there twice, or the path cannot be varied.
    pub fn new(path: &str, values: Vec<Value>) -> Result<Axis, String> {
        let twice = |(index, value): &(usize, &Value)| values[..*index].contains(value);
        match values.iter().enumerate().find(twice) {
            _ if path.is_empty() => Err("a path is missing; write PATH=VALUE,VALUE".into()),
            _ if values.is_empty() => Err(format!("`{path}` needs at least one value")),
            _ if path == SEED => {
                Err("seeds are not compared: --runs N repeats each variant under the same seeds".into())
            }
            Some((_, value)) => Err(format!("`{path}`: the value {} is there twice", written(value))),
            None => Ok(Axis { path: path.into(), values }),
        }
    }
}

/// `PATH=VALUE,VALUE`. A comma in brackets or quotes belongs to its value.
impl FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Axis, String> {
        let (path, values) = text.split_once('=').ok_or_else(|| format!("`{text}`: write PATH=VALUE,VALUE"))?;
        let values = parts(values).map_err(|wrong| format!("`{text}`: {wrong}"))?;
        if values.iter().any(|value| value.is_empty()) {
            return Err(format!("`{text}`: a value is missing"));
        }
        Axis::new(path.trim(), values.into_iter().map(value).collect())
    }
}

/// A value as a file would have it; what is none there is a word.
fn value(text: &str) -> Value {
    let file = toml::from_str::<toml::Table>(&format!("value = {text}"));
    let read = file.ok().filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    // What looks like a date is a word too: no value of a scenario is one.
    read.filter(|value| !matches!(value, Value::Datetime(_))).unwrap_or_else(|| Value::String(text.into()))
}

/// A list cut at its commas, except for those in brackets and quotes.
fn parts(list: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut begin, mut open, mut quote) = (Vec::new(), 0, Vec::new(), None);
    for (place, letter) in list.char_indices() {
        match (quote, letter) {
            (Some(own), letter) => quote = Some(own).filter(|own| *own != letter),
            (None, '"' | '\'') => quote = Some(letter),
            (None, '(') => open.push(')'),
            (None, '[') => open.push(']'),
            (None, '{') => open.push('}'),
            (None, ')' | ']' | '}') if open.pop() != Some(letter) => return Err(format!("`{letter}` closes nothing")),
            (None, ',') if open.is_empty() => {
                parts.push(list[begin..place].trim());
                begin = place + 1;
            }
            _ => {}
        }
    }
    match open.pop().or(quote) {
        Some(missing) => Err(format!("`{missing}` is missing")),
        None => {
            parts.push(list[begin..].trim());
            Ok(parts)
        }
    }
}

/// A value as people write it.
pub fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

impl Variant {
    /// Every combination of the axes, the last one fastest; the scenario itself where there are none.
    ///
    /// # Errors
    ///
    /// A path that is varied twice or leads nowhere, a value that does not fit there, or tasks that are others.
    pub fn all(scenario: &Scenario, axes: &[Axis]) -> Result<Vec<Variant>, ScenarioError> {
        let is_repeated = |(index, axis): &(usize, &Axis)| axes[..*index].iter().any(|other| other.path == axis.path);
        if let Some((_, Axis { path, .. })) = axes.iter().enumerate().find(is_repeated) {
            let why = format!("`{path}` is varied twice: name it once, with all its values");
            return Err(ScenarioError::whole(&scenario.name, why));
        }
        let pairs = |axis: &Axis| axis.values.iter().map(|value| (axis.path.clone(), value.clone())).collect();
        let axes: Vec<Vec<(String, Value)>> = axes.iter().map(pairs).collect();
        let names = |workload: &Workload| workload.roles.iter().map(|role| role.name.clone()).collect::<Vec<_>>();
        let all = combinations(&axes).into_iter().map(|settings| Variant::new(scenario, settings));
        let all: Vec<Variant> = all.collect::<Result<_, _>>()?;
        match all.iter().find(|variant| names(&variant.workload) != names(&all[0].workload)) {
            Some(other) => Err(ScenarioError::whole(
                &scenario.name,
                format!("`{}` has other tasks: their names have to be the same", other.name()),
            )),
            None => Ok(all),
        }
    }

    fn new(scenario: &Scenario, settings: Vec<(String, Value)>) -> Result<Variant, ScenarioError> {
        let of_scenario = settings.iter().filter(|(path, _)| !path.starts_with(POLICY));
        let scenario =
            of_scenario.clone().try_fold(scenario.clone(), |scenario, (path, value)| scenario.with(path, value))?;
        let compiled = scenario.compile().map_err(|error| {
            let settings: Vec<String> =
                of_scenario.map(|(path, value)| format!("{path} = {}", written(value))).collect();
            ScenarioError { message: format!("with {}: {}", settings.join(", "), error.message), ..error }
        });
        let compiled = if settings.is_empty() { scenario.compile() } else { compiled };
        Ok(Variant { scenario_hash: scenario.hash(), workload: Arc::new(compiled?), settings })
    }

    /// A policy with the parameters of this variant.
    ///
    /// # Errors
    ///
    /// It has no such parameter, or that has no such value.
    pub fn policy(&self, policy: &Policy) -> Result<Policy, VenueError> {
        let parameters = self.settings.iter().filter_map(|(path, value)| Some((path.strip_prefix(POLICY)?, value)));
        let parameters: Vec<(&str, &Value)> = parameters.collect();
        if parameters.is_empty() {
            return Ok(policy.clone());
        }
        let mut spec = PolicySpec::parse(&policy.label)?;
        for (key, value) in parameters {
            spec.settings.retain(|(own, _)| own != key);
            spec.settings.push((key.into(), written(value)));
        }
        policy.settled(&spec)
    }

    /// What differs in the scenario, in short: `nice=5 cpus=2`. The parameters of a policy are in its own name.
    pub fn name(&self) -> String {
        let paths: Vec<&str> = self.of_scenario().map(|(path, _)| path.as_str()).collect();
        let heads = short_paths(&paths);
        let named = heads.iter().zip(self.of_scenario()).map(|(head, (_, value))| format!("{head}={}", written(value)));
        named.collect::<Vec<_>>().join(" ")
    }

    fn of_scenario(&self) -> impl Iterator<Item = &(String, Value)> {
        self.settings.iter().filter(|(path, _)| !path.starts_with(POLICY))
    }
}

/// The last words of paths, where they differ; the paths otherwise.
pub fn short_paths(paths: &[&str]) -> Vec<String> {
    let last = |path: &&str| path.rsplit('.').next().unwrap_or(path).to_string();
    let mut words: Vec<String> = paths.iter().map(last).collect();
    words.sort();
    words.dedup();
    let are_different = words.len() == paths.len();
    paths.iter().map(|path| if are_different { last(path) } else { (*path).to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(text: &str) -> Axis {
        text.parse().unwrap()
    }

    #[test]
    fn commas_in_brackets_and_quotes_belong_to_their_value() {
        let values = |text: &str| axis(text).values.iter().map(Value::to_string).collect::<Vec<_>>();
        assert_eq!(values("task.a.nice=0,5,-3"), ["0", "5", "-3"]);
        assert_eq!(values("task.a.loop.0.compute=2ms, uniform(1ms, 3ms)"), ["\"2ms\"", "\"uniform(1ms, 3ms)\""]);
        assert_eq!(values("task.a.cpus=[0, 1],[2]"), ["[0, 1]", "[2]"]);
        assert_eq!(values("x.y={ a = 1, b = [2, 3] },\"a,b\",'c,d'"), ["{ a = 1, b = [2, 3] }", "\"a,b\"", "\"c,d\""]);
        assert_eq!(values("machine.topology=1n1l2c2t,1n2l2c1t"), ["\"1n1l2c2t\"", "\"1n2l2c1t\""]);
        assert_eq!(values("a.b=choice(1ms: 0.5, 2ms: 0.5),true"), ["\"choice(1ms: 0.5, 2ms: 0.5)\"", "true"]);
    }

    #[test]
    fn what_is_no_axis_is_told() {
        let wrong = |text: &str| text.parse::<Axis>().unwrap_err();
        assert_eq!(wrong("task.a.nice"), "`task.a.nice`: write PATH=VALUE,VALUE");
        assert_eq!(wrong("a=1,,2"), "`a=1,,2`: a value is missing");
        assert_eq!(wrong("a=uniform(1ms,3ms"), "`a=uniform(1ms,3ms`: `)` is missing");
        assert_eq!(wrong("a=1)"), "`a=1)`: `)` closes nothing");
        assert_eq!(wrong("a=1,2,1"), "`a`: the value 1 is there twice");
        assert!(wrong("run.seed=1,2").contains("--runs"));
        assert!(wrong("=1").contains("a path is missing"));
    }

    const TEXT: &str = "name = \"t\"\n[machine]\ncpus = 1\n[run]\nduration = \"1s\"\n\
                        [[task]]\nname = \"a\"\nloop = [{ compute = \"1ms\" }]\n";

    #[test]
    fn every_combination_is_a_variant() {
        let scenario = Scenario::parse(TEXT, "t").unwrap();
        let axes = [axis("task.a.nice=0,5"), axis("machine.cpus=1,2"), axis("policy.quantum=1ms,2ms")];
        let all = Variant::all(&scenario, &axes).unwrap();
        assert_eq!(all.len(), 8);
        assert_eq!((all[0].name(), all[7].name()), ("nice=0 cpus=1".into(), "nice=5 cpus=2".into()));
        assert_eq!((all[7].workload.roles[0].nice, all[7].workload.machine.cpus()), (5, 2));
        assert_ne!(all[0].scenario_hash, all[7].scenario_hash);
        let rr = Policy::find(&PolicySpec::parse("rr").unwrap()).unwrap();
        assert_eq!(all[1].policy(&rr).unwrap().label, "rr:quantum=2ms");
        let twice = Variant::all(&scenario, &[axis("machine.cpus=2,4"), axis("machine.cpus=1,2")]).unwrap_err();
        assert!(twice.to_string().contains("`machine.cpus` is varied twice: name it once"), "{twice}");
        let none = Variant::all(&scenario, &[]).unwrap();
        assert!(none.len() == 1 && none[0].name().is_empty());
    }

    #[test]
    fn wrong_paths_are_told_with_what_was_meant() {
        let scenario = Scenario::parse(TEXT, "t.toml").unwrap();
        let wrong = |text: &str| Variant::all(&scenario, &[axis(text)]).unwrap_err().to_string();
        assert!(wrong("task.a.nize=1").contains("did you mean `nice`?"), "{}", wrong("task.a.nize=1"));
        assert!(wrong("tsk.a.nice=1").contains("there is no `tsk`: did you mean `task`?"));
        assert!(wrong("task.a.nice=50").starts_with("t.toml"), "{}", wrong("task.a.nice=50"));
    }

    #[test]
    fn paths_are_short_as_long_as_they_differ() {
        assert_eq!(short_paths(&["task.a.loop.0.compute", "task.a.count"]), ["compute", "count"]);
        assert_eq!(short_paths(&["task.a.count", "task.b.count"]), ["task.a.count", "task.b.count"]);
    }
}
