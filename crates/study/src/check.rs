//! What can be wrong with a study beyond single keys: names that stand for nothing, and keys that do not go together.

use crate::claim::{Difference, NumberSpec, Published, ValueSpec};
use crate::language::{Column, Metric, OverheadSpec, Question, Study, TableSpec};
use crate::words;
use schedlab_boundary::FileName;
use schedlab_model::metric::Unit;
use schedlab_model::selector::Selector;
use toml::Value;

impl Study {
    /// What is wrong with it beyond single keys, and where.
    pub(crate) fn fault(&self) -> Option<(String, String)> {
        if let Err(wrong) = FileName::check(&self.name) {
            return Some(("name".into(), format!("`{}` is not a name of a study: {wrong}", self.name)));
        }
        for (q, question) in self.questions.iter().enumerate() {
            let here = format!("question[{q}]");
            for (r, run) in question.runs.iter().enumerate() {
                let at = |key: &str| format!("{here}.run[{r}].{key}");
                if self.run_named(&run.name).is_some_and(|first| !std::ptr::eq(first, run)) {
                    return Some((
                        at("name"),
                        format!("there is another run `{}`: give it a name of its own", run.name),
                    ));
                }
                let wrong = run.over.iter().find(|(_, list)| list.as_array().is_none_or(Vec::is_empty));
                if let Some((path, _)) = wrong {
                    return Some((at("over"), format!("`{path}` needs a list of values")));
                }
            }
            let of_table = |(t, table): (usize, &TableSpec)| {
                let path = format!("{here}.table[{t}].run");
                table.run.all().iter().map(|name| (path.clone(), name.clone())).collect::<Vec<_>>()
            };
            let tables = question.tables.iter().enumerate().flat_map(of_table);
            for (t, table) in question.tables.iter().enumerate() {
                if let Some(message) = self.fault_of_table(table) {
                    return Some((format!("{here}.table[{t}]"), message));
                }
            }
            for (o, overhead) in question.overheads.iter().enumerate() {
                if let Some((key, message)) = self.fault_of_overhead(overhead) {
                    return Some((format!("{here}.overhead[{o}].{key}"), message));
                }
            }
            let is_empty = |value: &ValueSpec| value.published.is_none() && value.own.is_none();
            if let Some(v) = question.values.iter().position(is_empty) {
                let message = "a value needs `published`, what the source prints, or `own` with its `derivation`";
                return Some((format!("{here}.value[{v}]"), message.into()));
            }
            let values = question.values.iter().enumerate().filter(|(_, value)| value.not_comparable.is_none());
            let of_values = values.clone().map(|(v, value)| (format!("{here}.value[{v}].run"), value.run.clone()));
            for (path, name) in tables.chain(of_values) {
                if self.run_named(&name).is_none() {
                    return Some((path, self.no_run(&name)));
                }
            }
            for (v, value) in values {
                if let Some(message) = self.fault_of_value(value) {
                    return Some((format!("{here}.value[{v}]"), message));
                }
            }
            if let Some((place, message)) = self.fault_of_shown(question) {
                return Some((format!("{here}{place}"), message));
            }
        }
        self.fault_of_items()
    }

    /// What is wrong with the pictures, numbers, words and judgements of a question, and where in it.
    fn fault_of_shown(&self, question: &Question) -> Option<(String, String)> {
        for (c, chart) in question.charts.iter().enumerate() {
            if let Some(name) = chart.run.all().iter().find(|name| self.run_named(name).is_none()) {
                return Some((format!(".chart[{c}].run"), self.no_run(name)));
            }
            if let Some((key, message)) = chart.fault() {
                return Some((format!(".chart[{c}].{key}"), message));
            }
            if let Some(message) = chart.columns.iter().find_map(fault_of_column) {
                return Some((format!(".chart[{c}]"), message));
            }
        }
        for (name, number) in &question.numbers {
            if let Some(message) = self.fault_of_number(number) {
                return Some((format!(".number.{name}"), message));
            }
        }
        for (v, value) in question.values.iter().enumerate() {
            if let Some(message) = self.fault_of_judgement(question, value) {
                return Some((format!(".value[{v}]"), message));
            }
        }
        fault_of_words(question, &question.answer).map(|message| (".answer".into(), message))
    }

    fn fault_of_number(&self, number: &NumberSpec) -> Option<String> {
        let missing = number.run.all().iter().find(|name| self.run_named(name).is_none());
        match (missing, number.asks()) {
            (Some(name), _) => Some(self.no_run(name)),
            (None, None) => Some("a number needs `metric`, `share` or `status`, one of them".into()),
            (None, Some(Metric::Path(path))) => fault_of_metric(path, &number.unit),
            (None, Some(_)) => None,
        }
    }

    /// What is wrong with how a value is judged: what it is compared with, where that comes from, what shows a reason.
    fn fault_of_judgement(&self, question: &Question, value: &ValueSpec) -> Option<String> {
        if value.own.is_some() != value.derivation.is_some() {
            return Some("`own` and `derivation` belong together: where does the number come from?".into());
        }
        let texts = [value.differs.as_ref().map(Difference::why), value.not_comparable.as_deref()];
        let texts = texts.into_iter().chain([value.derivation.as_deref()]).flatten();
        if let Some(message) = texts.into_iter().find_map(|text| fault_of_words(question, text)) {
            return Some(message);
        }
        let proof = value.differs.as_ref().and_then(Difference::proof)?;
        let there = proof.of(value);
        let Some(run) = self.run_named(&there.run) else { return Some(self.no_run(&there.run)) };
        if there.policy.as_ref().is_some_and(|policy| !run.policy.all().contains(policy)) {
            return Some(format!("the run `{}` has no such policy; it has {}", run.name, run.policy.all().join(", ")));
        }
        if proof.middle.is_some() && !matches!(value.judged_by(), Published::Number(_)) {
            return Some("`middle` needs a published number: does it lie there?".into());
        }
        if there.asks().is_none() {
            return Some("a reason shows in one of `metric`, `share` and `status`".into());
        }
        let is_elsewhere = [proof.run.is_some(), proof.policy.is_some(), !proof.at.is_empty(), proof.per.is_some()];
        if proof.expect.is_none() && proof.metric.is_some() {
            return Some("another metric needs `expect`: what has to be seen?".into());
        }
        if proof.expect.is_none() && !proof.asks_anew() && !is_elsewhere.contains(&true) {
            return Some("a reason has to show somewhere else: `run`, `policy` or `at`".into());
        }
        let unit = if there.per.is_some() { "" } else { &there.unit };
        proof.metric.as_deref().and_then(|path| fault_of_metric(path, unit))
    }

    fn fault_of_value(&self, value: &ValueSpec) -> Option<String> {
        let run = self.run_named(&value.run)?;
        let known = |policy: &String| run.policy.all().contains(policy);
        if value.asks().is_none() {
            return Some("a value needs `metric`, `share`, `status` or `overhead`, one of them".into());
        }
        let per = value.per.as_ref();
        let paths = [value.metric.as_ref(), per.and_then(|per| per.metric.as_ref())].into_iter().flatten();
        // A ratio of two metrics has no unit of theirs.
        let unit = if per.is_some() { "" } else { &value.unit };
        if let Some(message) = paths.into_iter().find_map(|path| fault_of_metric(path, unit)) {
            return Some(message);
        }
        if value.overhead.is_some() && self.asked_beyond(&run.name).overhead.is_none() {
            return Some(format!("there is no [[question.overhead]] of the run `{}`", run.name));
        }
        if value.policy.as_ref().is_some_and(|policy| !known(policy)) {
            return Some(format!("the run `{}` has no such policy; it has {}", run.name, run.policy.all().join(", ")));
        }
        if let Some(nothing) = value.bound_at_no_effect() {
            return Some(format!("`own` ends at {nothing}, which is no effect at all: ask for less or for more"));
        }
        let judged_by = value.judged_by();
        let listed = matches!(judged_by, Published::List(_));
        match (&value.along, judged_by) {
            (None, Published::List(_)) => return Some("a list of published values needs `along`".into()),
            (Some(path), Published::List(list)) => {
                let axis = run.over.get(path).and_then(Value::as_array);
                let Some(axis) = axis else { return Some(format!("the run `{}` does not vary `{path}`", run.name)) };
                if axis.len() != list.len() {
                    return Some(format!("{} values were published and `{path}` has {}", list.len(), axis.len()));
                }
            }
            _ => {}
        }
        let bounded = matches!(judged_by, Published::Bound(_));
        if !bounded && value.within.is_none() && value.within_units.is_none() {
            return Some("`within` or `within_units` is missing: how far off may it be?".into());
        }
        (!listed && value.along.is_some()).then(|| "`along` needs a list of published values".into())
    }

    fn fault_of_table(&self, table: &TableSpec) -> Option<String> {
        if let Some(message) = table.columns.iter().find_map(fault_of_column) {
            return Some(message);
        }
        let path = table.across.as_ref()?;
        if table.columns.len() != 1 {
            return Some("with `across` there is one column".into());
        }
        let mut runs = table.run.all().iter().filter_map(|name| self.run_named(name));
        runs.find(|run| !run.over.contains_key(path))
            .map(|run| format!("the run `{}` does not vary `{path}`", run.name))
    }

    fn fault_of_overhead(&self, overhead: &OverheadSpec) -> Option<(&'static str, String)> {
        for name in overhead.run.all() {
            let Some(run) = self.run_named(name) else { return Some(("run", self.no_run(name))) };
            let axis = run.over.get(&overhead.count).and_then(Value::as_array);
            if run.over.len() != 1 || axis.is_none_or(|axis| axis.first().and_then(Value::as_integer) != Some(1)) {
                let message = format!("the run `{name}` has to vary `{}` alone, from 1 on", overhead.count);
                return Some(("count", message));
            }
        }
        (overhead.computations <= 0.0).then(|| ("computations", "has to be above zero".into()))
    }

    fn no_run(&self, name: &str) -> String {
        let known: Vec<&str> = self.runs().map(|run| run.name.as_str()).collect();
        format!("there is no run `{name}`; there are {}", known.join(", "))
    }
}

/// What is wrong with a column of a table or a picture.
fn fault_of_column(column: &Column) -> Option<String> {
    match column.asks() {
        None => Some("a column needs `metric`, `share` or `status`, one of them".into()),
        Some(Metric::Path(path)) => fault_of_metric(path, &column.unit),
        Some(_) => None,
    }
}

/// A text that speaks of a number that there is not.
fn fault_of_words(question: &Question, text: &str) -> Option<String> {
    let unknown = words::names(text).find(|name| !question.numbers.contains_key(*name))?;
    Some(format!("there is no [question.number.{unknown}] of which `{{{unknown}}}` could speak"))
}

/// What is wrong with a metric that is asked for in a unit.
fn fault_of_metric(path: &str, unit: &str) -> Option<String> {
    let selector = match Selector::parse(path) {
        Ok(selector) => selector,
        Err(unknown) => return Some(unknown.to_string()),
    };
    let fits = match unit {
        "s" | "ms" | "us" | "ns" => selector.unit() == Unit::Ns,
        "%" => matches!(selector.unit(), Unit::Fraction | Unit::Ratio),
        _ => true,
    };
    (!fits).then(|| format!("`{path}` is not a number in `{unit}`: its unit is {}", selector.unit().words()))
}
