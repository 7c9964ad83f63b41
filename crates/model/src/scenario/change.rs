//! A scenario in which some values are others, each named by its path: `run.duration`, `machine.cpus`,
//! `task.worker.count`, `task.worker.loop.0.compute`. In a list the next word is a table's name, or a number from 0 on.

use super::control_group;
use super::error::did_you_mean;
use super::toml_text::from_table;
use super::{Scenario, ScenarioError, Written, read_table};
use toml::{Table, Value};

impl Scenario {
    /// A scenario that stands inside another file, as a table.
    ///
    /// # Errors
    ///
    /// One with the path of the value, as `task[0].count`: the table does not know where it stood.
    pub fn from_table(table: Table, origin: &str) -> Result<Scenario, ScenarioError> {
        let mut scenario: Scenario = read_table(table, origin)?;
        scenario.written = Written { origin: origin.into(), ..Default::default() };
        Ok(scenario)
    }

    /// The same; where the table does not say what it is called, it is called `name`.
    ///
    /// # Errors
    ///
    /// As those of [`Scenario::from_table`].
    pub fn from_table_named(table: &Table, name: &str, origin: &str) -> Result<Scenario, ScenarioError> {
        let mut table = table.clone();
        table.entry("name").or_insert_with(|| Value::String(name.into()));
        Scenario::from_table(table, origin)
    }

    /// As [`Scenario::with`], a text.
    ///
    /// # Errors
    ///
    /// As those of [`Scenario::with`].
    pub fn with_text(&self, path: &str, text: &str) -> Result<Scenario, ScenarioError> {
        self.with(path, &Value::String(text.into()))
    }

    /// As [`Scenario::with`], a whole number.
    ///
    /// # Errors
    ///
    /// As those of [`Scenario::with`].
    pub fn with_number(&self, path: &str, number: u32) -> Result<Scenario, ScenarioError> {
        self.with(path, &Value::Integer(number.into()))
    }

    /// The scenario with a value replaced, or added where its table is there and it is not. What says the same in other
    /// words, as `topology` does next to `cpus`, is taken away.
    ///
    /// # Errors
    ///
    /// The path leads nowhere, or the value does not fit there.
    pub fn with(&self, path: &str, value: &Value) -> Result<Scenario, ScenarioError> {
        let wrong = |message: String| ScenarioError::whole(&self.written.origin, format!("`{path}`: {message}"));
        let mut root = Value::try_from(self).expect("every value of the language has a form in TOML");
        let (way, last) = path.rsplit_once('.').unwrap_or(("", path));
        let mut here = &mut root;
        for word in way.split('.').filter(|word| !word.is_empty()) {
            let known: Vec<String> = names(here).map(String::from).collect();
            let near = || did_you_mean(word, known.iter().map(String::as_str));
            here = enter(here, word).ok_or_else(|| wrong(format!("there is no `{word}`{}", near())))?;
        }
        match here {
            Value::Table(table) => {
                let place = if way.starts_with("control_group.") { "control_group" } else { way };
                if place == "control_group" {
                    control_group::without_runtime(table).map_err(&wrong)?;
                }
                let said = INSTEAD.iter().filter(|(table, keys)| *table == place && keys.contains(&last));
                said.flat_map(|(_, keys)| *keys).for_each(|twin| _ = table.remove(*twin));
                table.insert(last.into(), value.clone());
            }
            _ => return Err(wrong(format!("`{last}` is in no table"))),
        }
        let Value::Table(table) = root else { unreachable!("a scenario is a table") };
        let origin = &self.written.origin;
        let wrong = |(_, why): (String, String)| ScenarioError::whole(origin, format!("`{path} = {value}`: {why}"));
        let mut changed: Scenario = from_table(table).map_err(wrong)?;
        changed.written = Written { origin: origin.clone(), files: self.written.files.clone(), ..Written::default() };
        Ok(changed)
    }
}

/// Keys of a table of which one stands instead of the other.
const INSTEAD: [(&str, &[&str]); 3] =
    [("machine", &["cpus", "topology"]), ("machine", &["hz", "tick"]), ("control_group", &["weight", "nice", "idle"])];

/// The words that lead on from here.
fn names(here: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match here {
        Value::Table(table) => Box::new(table.keys().map(String::as_str)),
        Value::Array(list) => Box::new(list.iter().filter_map(name_of)),
        _ => Box::new(std::iter::empty()),
    }
}

/// What a table of a list is called: a control group by its path, a source after its channel where it has no name.
fn name_of(item: &Value) -> Option<&str> {
    ["name", "path", "channel"].iter().find_map(|key| item.get(key)).and_then(Value::as_str)
}

fn enter<'a>(here: &'a mut Value, word: &str) -> Option<&'a mut Value> {
    match here {
        Value::Table(table) => table.get_mut(word),
        Value::Array(list) => {
            let is_named = |item: &Value| name_of(item).is_some_and(|name| name == word);
            let place = list.iter().position(is_named).or_else(|| word.parse().ok())?;
            list.get_mut(place)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    const TEXT: &str = "name = \"t\"\n[machine]\ncpus = 1\n[run]\nduration = \"1s\"\n\
                        [[task]]\nname = \"a\"\nloop = [{ compute = \"1ms\" }]\n\
                        [[task]]\nname = \"b\"\nloop = [{ compute = \"1ms\" }]\n";

    #[test]
    fn values_are_found_by_their_paths() {
        let scenario = Scenario::parse(TEXT, "t").unwrap();
        let changed = scenario.with("task.b.count", &Value::Integer(3)).unwrap();
        let changed = changed.with("run.duration", &Value::String("2s".into())).unwrap();
        let workload = changed.compile().unwrap();
        assert_eq!((workload.roles[0].count, workload.roles[1].count), (Some(1), Some(3)));
        assert_eq!(workload.run.duration, Time::from_s(2));
        let changed = scenario.with("task.b.loop.0.compute", &Value::String("2ms".into())).unwrap();
        assert!(changed.with("task.b.loop.1.compute", &Value::String("2ms".into())).is_err());
        assert_ne!(changed.hash(), scenario.hash());
        assert_eq!(scenario.with("machine.cpus", &Value::Integer(1)).unwrap().hash(), scenario.hash());
    }

    #[test]
    fn knobs_stand_instead_of_what_a_runtime_says() {
        let group = |keys: &str| {
            let tables = format!("{TEXT}[[control_group]]\npath = \"pod\"\n{keys}\n");
            Scenario::parse(&tables, "t").unwrap()
        };
        let knobs = |scenario: &Scenario| {
            let tree = scenario.compile().unwrap().control_groups;
            tree[tree.find("pod").unwrap()].knobs
        };
        let pod = group("kubernetes = { requests = \"1\", limits = \"1.5\", conversion = \"old\" }");
        let changed = pod.with("control_group.pod.max", &Value::String("20ms".into())).unwrap();
        assert_eq!(knobs(&changed).weight, knobs(&pod).weight);
        assert_eq!(knobs(&changed).bandwidth.quota, Some(Time::from_ms(20)));
        let changed = pod.with("control_group.pod.weight", &Value::Integer(7)).unwrap();
        assert_eq!((knobs(&changed).weight.as_weight(), knobs(&changed).bandwidth), (7, knobs(&pod).bandwidth));
        let unit = group("systemd = { CPUWeight = \"idle\", CPUQuota = \"8%\" }");
        let changed = unit.with("control_group.pod.burst", &Value::String("1ms".into())).unwrap();
        assert!(knobs(&changed).weight.is_idle() && knobs(&changed).bandwidth.quota == Some(Time::from_ms(8)));
        let nice = group("nice = 5").with("control_group.pod.weight", &Value::Integer(7)).unwrap();
        assert_eq!(knobs(&nice).weight.as_weight(), 7);
    }

    #[test]
    fn what_says_the_same_is_taken_away() {
        let scenario = Scenario::parse(&TEXT.replace("cpus = 1", "topology = \"1n1l2c2t\"\nhz = 250"), "t").unwrap();
        let changed = scenario.with("machine.cpus", &Value::Integer(2)).unwrap();
        let changed = changed.with("machine.tick", &Value::String("1ms".into())).unwrap().compile().unwrap();
        assert_eq!((changed.machine.cpus(), changed.machine.tick), (2, Time::from_ms(1)));
    }

    #[test]
    fn wrong_paths_and_values_are_told() {
        let scenario = Scenario::parse(TEXT, "t").unwrap();
        let error = |path: &str, value: Value| scenario.with(path, &value).unwrap_err().to_string();
        let message = error("task.worke.count", Value::Integer(3));
        assert_eq!(message, "t: `task.worke.count`: there is no `worke`");
        assert_eq!(
            error("tsk.a.count", Value::Integer(3)),
            "t: `tsk.a.count`: there is no `tsk`: did you mean `task`?"
        );
        assert_eq!(error("name.x", Value::Integer(3)), "t: `name.x`: `x` is in no table");
        assert!(error("run.durration", Value::Integer(3)).contains("did you mean `duration`?"));
        assert!(error("machine.cpus", Value::String("x".into())).starts_with("t: `machine.cpus = \"x\"`: "));
    }
}
