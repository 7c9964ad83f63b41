//! The language of sweep files. `docs/reference/sweep.md` explains it to users.

use crate::axis::Axis;
use schedlab_model::metric::{Level, find};
use schedlab_model::scenario::{OneOrMany, ScenarioError, read_table, read_toml};
use schedlab_venue::VenueName;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The measures of a sweep that names none.
const MEASURES: [&str; 10] = [
    "throughput_per_s",
    "response_ns.mean",
    "response_ns.p50",
    "response_ns.p99",
    "response_ns.max",
    "run_delay_ns.mean",
    "wakeup_latency_ns.p99",
    "cpu_share",
    "migrations",
    "jain",
];

/// Values of TOML by key, as the schema describes them.
type Values = BTreeMap<String, serde_json::Value>;

/// The schema of a sweep file, read as JSON.
pub fn schema() -> serde_json::Value {
    schedlab_model::schema::read::<Spec>()
}

/// A sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Everything but the axes.
    pub(crate) spec: Spec,
    /// The axes of the grid: key and values.
    pub(crate) grid: Vec<(String, Vec<Value>)>,
    /// The axes that are sampled together.
    pub(crate) sampled: Vec<(String, Axis)>,
    origin: Origin,
}

/// Where a sweep comes from, for errors.
#[derive(Clone, Debug)]
struct Origin {
    name: String,
    /// Of a file.
    text: Option<String>,
}

/// A sweep file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    /// A short name, also for a nameless scenario in the sweep.
    #[serde(default = "nameless")]
    pub name: String,
    /// Its purpose.
    #[serde(default)]
    pub about: String,
    /// A shipped scenario, a file next to the sweep, or the scenario itself.
    pub scenario: NameOrTable,
    /// One policy or several, as on the command line.
    pub policy: OneOrMany,
    /// The venue.
    #[serde(default)]
    #[schemars(with = "String")]
    pub venue: VenueName,
    /// The kernel of a virtual machine.
    #[serde(default)]
    pub kernel: Option<String>,
    /// The emulator of a virtual machine.
    #[serde(default)]
    pub engine: Option<String>,
    /// The first seed; by default that of the scenario.
    #[serde(default)]
    pub seed: Option<u64>,
    /// How many seeds.
    #[serde(default = "one")]
    pub runs: u32,
    /// Scenario values to change, by path.
    #[serde(default)]
    #[schemars(with = "Values")]
    pub set: Table,
    /// What varies, by path.
    #[serde(default)]
    #[schemars(with = "Values")]
    axis: Table,
    /// What varies together, at random points.
    #[serde(default)]
    pub sample: Option<Sample>,
    /// The measures to keep, by path.
    #[serde(default)]
    pub measures: Vec<String>,
}

/// Axes whose values are drawn.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sample {
    /// How many points.
    pub points: u32,
    /// How they are chosen.
    #[serde(default)]
    pub method: Method,
    /// The seed of the points.
    #[serde(default)]
    pub seed: u64,
    /// What varies, by path.
    #[schemars(with = "Values")]
    axis: Table,
}

/// How points are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// Divides each axis into as many parts as there are points, with one point in each (McKay, Beckman, Conover 1979).
    #[default]
    LatinHypercube,
    /// Each independent of the others.
    Random,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected the name of a scenario, or a table as a scenario file has")]
pub(crate) enum NameOrTable {
    Name(String),
    Table(#[schemars(with = "Values")] Table),
}

fn nameless() -> String {
    "sweep".into()
}

fn one() -> u32 {
    1
}

impl Sweep {
    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// What is wrong, with line and column.
    pub fn parse(text: &str, origin: &str) -> Result<Sweep, ScenarioError> {
        let spec: Spec = read_toml(text, origin)?;
        Sweep::checked(spec, Origin { name: origin.into(), text: Some(text.into()) })
    }

    /// Reads a table that is not in a file.
    ///
    /// # Errors
    ///
    /// What is wrong, with the key.
    pub fn from_table(table: Table, origin: &str) -> Result<Sweep, ScenarioError> {
        let spec: Spec = read_table(table, origin)?;
        Sweep::checked(spec, Origin { name: origin.into(), text: None })
    }

    fn checked(mut spec: Spec, origin: Origin) -> Result<Sweep, ScenarioError> {
        let mut grid = Vec::new();
        for (key, axis) in origin.axes(&spec.axis, "axis")? {
            let values = axis.values().map_err(|message| origin.wrong_axis("axis", &key, message))?;
            grid.push((key, values));
        }
        let mut sampled = Vec::new();
        if let Some(sample) = &spec.sample {
            sampled = origin.axes(&sample.axis, "sample.axis")?;
            if sample.points == 0 || sampled.is_empty() {
                return Err(origin.wrong("sample", "a sample needs `points` above 0 and at least one axis"));
            }
        }
        if let Some((key, _)) = sampled.iter().find(|(key, _)| grid.iter().any(|(other, _)| other == key)) {
            return Err(origin.wrong("sample.axis", format!("`{key}` is an axis of the grid already")));
        }
        if spec.measures.is_empty() {
            spec.measures = MEASURES.map(String::from).to_vec();
        }
        let sweep = Sweep { spec, grid, sampled, origin };
        sweep.check_seeds()?;
        sweep.check_measures()?;
        Ok(sweep)
    }

    fn check_seeds(&self) -> Result<(), ScenarioError> {
        let Spec { runs, seed, .. } = &self.spec;
        let has_axis = self.keys().any(|key| key == "seed");
        if *runs == 0 || has_axis && (*runs > 1 || seed.is_some()) {
            return Err(
                self.wrong("runs", "there is at least one run, and no `runs` or `seed` together with an axis `seed`")
            );
        }
        Ok(())
    }

    fn check_measures(&self) -> Result<(), ScenarioError> {
        let measures = &self.spec.measures;
        for (index, measure) in measures.iter().enumerate() {
            let wrong = |message: String| Err(self.wrong(&format!("measures[{index}]"), message));
            if measures[..index].contains(measure) {
                return wrong(format!("`{measure}` is there twice"));
            }
            match find(measure) {
                Err(unknown) => return wrong(unknown.to_string()),
                Ok(found) if found.metric.level == Level::Cpu => {
                    return wrong(format!("`{measure}` is one of each CPU; a row is about a role, or the whole run"));
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Its name and what it is for, in a line.
    pub fn title(&self) -> String {
        let Spec { name, about, .. } = &self.spec;
        if about.is_empty() { name.clone() } else { format!("{name}: {about}") }
    }

    /// The keys of all axes, sampled ones last.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        let grid = self.grid.iter().map(|(key, _)| key.as_str());
        grid.chain(self.sampled.iter().map(|(key, _)| key.as_str()))
    }

    /// An error of the value at a path.
    pub(crate) fn wrong(&self, path: &str, message: impl Into<String>) -> ScenarioError {
        self.origin.wrong(path, message)
    }
}

impl Origin {
    fn wrong(&self, path: &str, message: impl Into<String>) -> ScenarioError {
        match &self.text {
            Some(text) => ScenarioError::at_path(&self.name, text, path, message),
            None => ScenarioError::whole(&self.name, format!("{path}: {}", message.into())),
        }
    }

    fn wrong_axis(&self, place: &str, key: &str, message: String) -> ScenarioError {
        self.wrong(&format!("{place}.{key}"), format!("`{key}`: {message}"))
    }

    /// The axes of a table. Paths without quotes are tables in tables.
    fn axes(&self, table: &Table, place: &str) -> Result<Vec<(String, Axis)>, ScenarioError> {
        let mut axes = Vec::new();
        for (key, value) in table {
            self.axis(key, value, place, &mut axes)?;
        }
        Ok(axes)
    }

    fn axis(
        &self,
        path: &str,
        value: &Value,
        place: &str,
        axes: &mut Vec<(String, Axis)>,
    ) -> Result<(), ScenarioError> {
        match value {
            Value::Table(table) if !table.is_empty() && !Axis::is_range(table) => {
                table.iter().try_for_each(|(key, value)| self.axis(&format!("{path}.{key}"), value, place, axes))
            }
            value => {
                let axis = Axis::read(value).map_err(|message| self.wrong_axis(place, path, message))?;
                axes.push((path.to_string(), axis));
                Ok(())
            }
        }
    }
}
