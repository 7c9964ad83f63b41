//! What a scheduler takes for its own work, where that is known exactly.

use crate::result::duration;
use crate::{Column, Table};
use schedlab_model::metric;
use schedlab_model::outcome::{Outcome, View};

/// Virtual time of an instruction.
const INSTRUCTION: &str = "costs.ns_per_instruction";

/// Each of a scheduler's doings that is known: its name, its time in nanoseconds, and its instructions.
fn known(whole: View<'_>) -> Vec<(&'static str, f64, f64)> {
    let Some(ns_per_instruction) = whole.get(INSTRUCTION) else { return Vec::new() };
    let costs = metric::all().iter().filter(|metric| metric.over == "costs" && metric.path != INSTRUCTION);
    let told = costs.filter_map(|metric| Some((metric.head, whole.get(&metric.path)?)));
    told.map(|(what, ns)| (what, ns, ns / ns_per_instruction)).collect()
}

/// In time and in instructions; none where nothing is known.
pub fn line(whole: View) -> Option<String> {
    let told = known(whole).into_iter().map(|(what, ns, instructions)| {
        format!("{what} {} ({instructions:.0} instructions)", duration(ns.round() as u64))
    });
    Some(told.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
}

/// The instructions of several schedulers, side by side; none if all are unknown.
pub fn table(policies: &[String], results: &[Outcome]) -> Option<Table> {
    let rows = policies.iter().zip(results).map(|(policy, result)| (policy, known(result.whole())));
    let rows: Vec<_> = rows.filter(|(_, costs)| !costs.is_empty()).collect();
    let mut names: Vec<&'static str> = Vec::new();
    for (name, ..) in rows.iter().flat_map(|(_, costs)| costs) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let instructions = |costs: &[(&str, f64, f64)], name: &str| {
        costs.iter().find(|(known, ..)| *known == name).map(|(.., instructions)| *instructions)
    };
    let columns = names.iter().map(|name| {
        let values: Vec<Option<f64>> = rows.iter().map(|(_, costs)| instructions(costs, name)).collect();
        let cells = values.iter().map(|value| value.map_or("-".into(), |value| format!("{value:.0}")));
        let column = Column::numbers(name, cells.collect::<Vec<_>>()).under("exact cost in instructions");
        column.exactly(&format!("{name} instructions"), values)
    });
    let policies = Column::words("policy", rows.iter().map(|(policy, _)| policy.to_string()));
    (!rows.is_empty()).then(|| Table::new([policies].into_iter().chain(columns.collect::<Vec<_>>())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::result::{RunResult, SchedulerCosts};

    #[test]
    fn only_what_is_known_is_told() {
        let costs = SchedulerCosts {
            ns_per_instruction: 8.0,
            hand_over_ns: Some(23_400.0),
            wakeup_ns: Some(12_544.0),
            ..SchedulerCosts::default()
        };
        let result = Outcome::from(RunResult { costs: Some(costs), ..RunResult::default() });
        assert_eq!(
            line(result.whole()).unwrap(),
            "hand-over 23.4us (2925 instructions), wake-up 12.544us (1568 instructions)"
        );
    }

    #[test]
    fn there_is_no_table_of_nothing() {
        assert!(table(&[], &[]).is_none());
    }
}
