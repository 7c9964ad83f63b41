//! What a scheduler takes for its own work, where that is known exactly.

use crate::result::duration;
use crate::{Column, Table};
use schedlab_model::result::{RunResult, SchedulerCosts};

/// Each of a scheduler's doings that is known: its name, and its time in nanoseconds.
fn known(costs: &SchedulerCosts) -> impl Iterator<Item = (&'static str, f64)> {
    let all = [
        ("switch", costs.switch_thread_ns),
        ("switch of process", costs.switch_process_ns),
        ("hand-over", costs.hand_over_ns),
        ("wakeup", costs.wakeup_ns),
        ("tick", costs.tick_ns),
        ("migration", costs.migration_ns),
        ("fork", costs.fork_ns),
        ("start", costs.start_ns),
        ("exit", costs.exit_ns),
    ];
    all.into_iter().filter_map(|(what, ns)| Some((what, ns?)))
}

/// In time and in instructions.
pub fn line(costs: &SchedulerCosts) -> String {
    let told = known(costs).map(|(what, ns)| {
        format!("{what} {} ({:.0} instructions)", duration(ns.round() as u64), ns / costs.ns_per_instruction)
    });
    told.collect::<Vec<_>>().join(", ")
}

/// The instructions of several schedulers, side by side; none if nobody's are known.
pub fn table(policies: &[String], results: &[RunResult]) -> Option<Table> {
    let rows: Vec<(&String, &SchedulerCosts)> =
        policies.iter().zip(results).filter_map(|(policy, result)| Some((policy, result.costs.as_ref()?))).collect();
    let mut names: Vec<&'static str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|(_, costs)| known(costs)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let cell = |costs: &SchedulerCosts, name: &str| {
        let found = known(costs).find(|(known, _)| *known == name);
        found.map_or("-".into(), |(_, ns)| format!("{:.0}", ns / costs.ns_per_instruction))
    };
    let columns = names.iter().map(|name| {
        Column::numbers(name, rows.iter().map(|(_, costs)| cell(costs, name))).under("exact cost in instructions")
    });
    let policies = Column::words("policy", rows.iter().map(|(policy, _)| policy.to_string()));
    (!rows.is_empty()).then(|| Table::new([policies].into_iter().chain(columns.collect::<Vec<_>>())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_is_told() {
        let costs = SchedulerCosts {
            ns_per_instruction: 8.0,
            switch_thread_ns: None,
            switch_process_ns: None,
            hand_over_ns: Some(23_400.0),
            wakeup_ns: Some(12_544.0),
            tick_ns: None,
            migration_ns: None,
            fork_ns: None,
            start_ns: None,
            exit_ns: None,
        };
        assert_eq!(line(&costs), "hand-over 23.4us (2925 instructions), wakeup 12.544us (1568 instructions)");
    }

    #[test]
    fn there_is_no_table_of_nothing() {
        assert!(table(&[], &[]).is_none());
    }
}
