//! A number of a whole result, by its path: `roles.worker.response_ns.p99`, `cpus.0.busy_frac`, `jain`.

use crate::metric::{Combine, Found, Level, Metric, Part, Unit, Unknown, find};
use crate::outcome::{Outcome, Value, View};

/// A metric, and what it is of.
#[derive(Clone, Debug)]
pub struct Selector {
    whose: Whose,
    found: Found,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Whose {
    Run,
    Roles(Pick),
    Tasks(Pick),
    Cpus(Pick),
    ControlGroups(Pick),
}

/// Which of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pick {
    /// Of all: the largest value.
    All,
    /// The one of this name or number.
    One(String),
}

impl Pick {
    fn takes(&self, name: &str) -> bool {
        match self {
            Pick::All => true,
            Pick::One(own) => own == name,
        }
    }
}

/// A list of a result: the prefix of paths into it, whose metrics it holds, and their levels.
type List = (&'static str, fn(Pick) -> Whose, &'static [Level]);

const LISTS: [List; 4] = [
    ("roles.", Whose::Roles, &[Level::Task, Level::Role]),
    ("tasks.", Whose::Tasks, &[Level::Task]),
    ("cpus.", Whose::Cpus, &[Level::Cpu]),
    ("control_groups.", Whose::ControlGroups, &[Level::ControlGroup]),
];

impl Selector {
    /// Reads a path. `roles`, `tasks`, `cpus` and `control_groups` are followed by a name or number, or by `*` for the largest of all; a
    /// metric of the run stands alone.
    ///
    /// # Errors
    ///
    /// There is no such metric.
    pub fn parse(path: &str) -> Result<Selector, Unknown> {
        for (prefix, whose, levels) in LISTS {
            let Some(rest) = path.strip_prefix(prefix) else { continue };
            // The name of a role may have dots: the longest metric after one is meant.
            let mut dots = rest.match_indices('.').map(|(at, _)| at);
            let known = dots.find_map(|at| Some((&rest[..at], find(&rest[at + 1..]).ok()?)));
            let here = known.filter(|(_, found)| levels.contains(&found.metric.level));
            return match (here, rest.split_once('.')) {
                (Some((name, found)), _) => {
                    let pick = if name == "*" { Pick::All } else { Pick::One(name.into()) };
                    Ok(Selector { whose: whose(pick), found })
                }
                (None, rest) => Err(Unknown::of_levels(rest.map_or("", |(_, metric)| metric), levels)),
            };
        }
        let found = find(path).ok().filter(|found| found.metric.level == Level::Run);
        found.map(|found| Selector { whose: Whose::Run, found }).ok_or_else(|| Unknown::of_levels(path, &[Level::Run]))
    }

    /// The metric.
    pub fn metric(&self) -> &'static Metric {
        self.found.metric
    }

    /// What it is measured in.
    pub fn unit(&self) -> Unit {
        self.found.metric.unit
    }

    /// Its value; of several runs their mean. Of all of a list it is the largest of each run.
    ///
    /// # Errors
    ///
    /// The result does not have it: why.
    pub fn of(&self, outcome: &Outcome) -> Result<Value, String> {
        let path = self.found.path();
        let views = self.views(outcome)?;
        let value = match views.as_slice() {
            [] => None,
            [only] if !self.is_greatest() => only.of(self.found),
            _ => self.greatest(outcome),
        };
        value.ok_or_else(|| format!("the result has no `{path}`{}", self.owner()))
    }

    /// What each run says, in the order of the seeds; nothing of a run that does not know it, and none where the result does
    /// not have it. Of all of a list it is the largest of the run.
    pub fn each(&self, outcome: &Outcome) -> Vec<Option<f64>> {
        let path = self.found.path();
        let views = self.views(outcome).unwrap_or_default();
        let each: Vec<Vec<Option<f64>>> = views.iter().map(|view| view.each(&path)).collect();
        let of_run = |run: usize| each.iter().filter_map(|values| *values.get(run)?).reduce(f64::max);
        (0..outcome.runs() as usize).map(of_run).collect()
    }

    fn is_greatest(&self) -> bool {
        match &self.whose {
            Whose::Run => false,
            Whose::Roles(pick) | Whose::Tasks(pick) | Whose::Cpus(pick) | Whose::ControlGroups(pick) => {
                *pick == Pick::All
            }
        }
    }

    /// Its owner, in words.
    fn owner(&self) -> String {
        match &self.whose {
            Whose::Roles(Pick::One(name)) => format!(" of role `{name}`"),
            Whose::Tasks(Pick::One(id)) => format!(" of task {id}"),
            Whose::Cpus(Pick::One(id)) => format!(" of CPU {id}"),
            Whose::ControlGroups(Pick::One(path)) => format!(" of control group `{path}`"),
            _ => String::new(),
        }
    }

    /// Where it is looked up.
    fn views<'a>(&self, outcome: &'a Outcome) -> Result<Vec<View<'a>>, String> {
        Ok(match &self.whose {
            Whose::Run => vec![outcome.whole()],
            Whose::Roles(pick) => {
                let roles = outcome.roles().into_iter().filter(|role| pick.takes(role.name));
                roles.map(|role| role.metrics).collect()
            }
            Whose::ControlGroups(pick) => {
                let groups = outcome.control_groups().into_iter().filter(|group| pick.takes(group.path));
                groups.map(|group| group.metrics).collect()
            }
            Whose::Cpus(pick) => {
                let cpus = outcome.cpus().into_iter().filter(|cpu| pick.takes(&cpu.id.to_string()));
                cpus.map(|cpu| cpu.metrics).collect()
            }
            Whose::Tasks(pick) => {
                let Some(result) = outcome.as_one() else {
                    return Err("several runs have no tasks in common: ask for a role, or for one run".into());
                };
                let tasks = result.tasks.iter().filter(|task| pick.takes(&task.id.to_string()));
                tasks.map(|task| View::One(Part::Task(&task.measures))).collect()
            }
        })
    }

    /// The largest of each run, and of those the mean.
    fn greatest(&self, outcome: &Outcome) -> Option<Value> {
        let values: Vec<f64> = self.each(outcome).into_iter().flatten().collect();
        let sum: f64 = values.iter().sum();
        let number = match self.found.metric.combine {
            Combine::Mean => sum / values.len() as f64,
            Combine::Sum => sum,
        };
        (!values.is_empty()).then_some(Value { number, interval: None, n: values.len() as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{CpuResult, Measures, RoleResult, RunResult, Summary};
    use std::collections::BTreeMap;

    fn outcome() -> Outcome {
        let response =
            Summary { count: 1, mean: 5, sd: None, cv: None, min: 5, p50: 7, p90: 5, p99: 5, p999: 5, max: 5 };
        let role = |name: &str, migrations| RoleResult {
            name: name.into(),
            measures: Measures { response_ns: Some(response), migrations, ..Measures::default() },
            ..RoleResult::default()
        };
        let cpu = CpuResult { runnable: BTreeMap::from([(4, 0.5)]), ..CpuResult::default() };
        let roles = vec![role("a", 3), role("b.c", 8)];
        RunResult { roles, cpus: vec![cpu], jain: Some(0.5), ..RunResult::default() }.into()
    }

    fn number(path: &str) -> Result<f64, String> {
        let selector = Selector::parse(path).map_err(|unknown| unknown.to_string())?;
        Ok(selector.of(&outcome())?.number)
    }

    #[test]
    fn numbers_are_found_by_name_and_number() {
        assert_eq!(number("roles.a.response_ns.p50"), Ok(7.0));
        assert_eq!(number("roles.b.c.migrations"), Ok(8.0));
        assert_eq!(number("roles.*.migrations"), Ok(8.0));
        assert_eq!((number("cpus.0.runnable.4"), number("cpus.0.runnable.5")), (Ok(0.5), Ok(0.0)));
        assert_eq!(number("jain"), Ok(0.5));
    }

    #[test]
    fn what_is_not_there_is_told_with_a_remedy() {
        let told = |path: &str| number(path).unwrap_err();
        assert_eq!(
            told("roles.a.response_ns.p98"),
            "there is no metric `response_ns.p98`: did you mean `response_ns.p90`?"
        );
        assert_eq!(told("roles.a.response_ns"), "there is no metric `response_ns`: did you mean `response_ns.mean`?");
        assert!(told("jian").contains("did you mean `jain`?"), "{}", told("jian"));
        // A metric of the run is none of a role, and one of a role none of the run.
        assert_eq!(told("roles.a.jain"), "there is no metric `jain` here, it is one of the whole run: `jain` alone");
        assert!(told("response_ns.p50").contains("`roles.NAME.response_ns.p50`"), "{}", told("response_ns.p50"));
        assert_eq!(told("roles.x.response_ns.p50"), "the result has no `response_ns.p50` of role `x`");
        assert_eq!(told("roles.a.turnaround_ns.max"), "the result has no `turnaround_ns.max` of role `a`");
    }
}
