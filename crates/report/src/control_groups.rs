//! Control groups as tables: what each is given, what it got, how often and how long it was throttled.

use crate::{Column, Style, Table, column};
use schedlab_model::outcome::{ControlGroupView, Outcome, View};
use schedlab_model::result::ControlGroupKnobs;
use schedlab_model::time::Time;

/// With more control groups than this those are shown that used most.
const MOST: usize = 24;

/// What is shown of each, where some knows it.
const USAGE: [&str; 4] = ["tasks", "usage_share", "sibling_share", "entitled_share"];
const LIMIT: [&str; 5] =
    ["nr_periods", "nr_throttled", "throttled_ns", "throttled_wait_ns.max", "response_throttled_ns.mean"];
const PRESSURE: [&str; 2] = ["pressure_some_ns", "pressure_full_ns"];

/// The tables of a result; empty where there are no control groups.
pub(crate) fn control_groups(result: &Outcome, style: Style) -> String {
    let mut groups = result.control_groups();
    if groups.is_empty() {
        return String::new();
    }
    let all = groups.len();
    let used = |group: &ControlGroupView| group.metrics.get("usage_ns").unwrap_or(0.0);
    if all > MOST {
        groups.sort_by(|a, b| used(b).total_cmp(&used(a)));
        groups.truncate(MOST);
    }
    let rows: Vec<View> = groups.iter().map(|group| group.metrics).collect();
    let known = |paths: &[&'static str]| -> Vec<&'static str> {
        paths.iter().copied().filter(|path| rows.iter().any(|row| row.get(path).is_some())).collect()
    };
    let mut columns = names(&groups);
    columns.push(Column::words("weight", groups.iter().map(|group| weight(group.knobs))));
    columns.push(Column::words("limit", groups.iter().map(|group| limit(group.knobs))));
    columns.extend(known(&USAGE).into_iter().map(|path| column(&rows, path)));
    let mut text = Table::new(columns).show(style);
    let more = [known(&LIMIT), known(&PRESSURE)].concat();
    if !more.is_empty() {
        let mut columns = names(&groups);
        columns.extend(more.into_iter().map(|path| column(&rows, path)));
        text += "\n";
        text += &Table::new(columns).show(style);
    }
    if all > MOST {
        text += &format!("{MOST} of {all} control groups, those that used most.\n");
    }
    text + "\n"
}

/// What is shown of each next to the others.
const COMPARED: [&str; 6] = [
    "usage_share",
    "sibling_share",
    "entitled_share",
    "nr_throttled",
    "throttled_wait_ns.max",
    "response_throttled_ns.mean",
];

/// A row for each control group of each result, of many the first ones.
pub(crate) fn compared(what: &str, policies: &[String], results: &[Outcome]) -> Option<Table> {
    let groups: Vec<Vec<ControlGroupView>> =
        results.iter().map(|result| result.control_groups().into_iter().take(MOST).collect()).collect();
    let rows: Vec<View> = groups.iter().flatten().map(|group| group.metrics).collect();
    if rows.is_empty() {
        return None;
    }
    let name = |(policy, groups): (&String, &Vec<ControlGroupView>)| {
        (0..groups.len()).map(|row| if row == 0 { policy.clone() } else { String::new() }).collect::<Vec<_>>()
    };
    let mut columns = vec![Column::words(what, policies.iter().zip(&groups).flat_map(name))];
    columns.extend(names(&groups.iter().flatten().copied().collect::<Vec<_>>()));
    columns.push(Column::words("limit", groups.iter().flatten().map(|group| limit(group.knobs))));
    let known = COMPARED.iter().filter(|path| rows.iter().any(|row| row.get(path).is_some()));
    columns.extend(known.map(|path| column(&rows, path)));
    Some(Table::new(columns))
}

fn names(groups: &[ControlGroupView]) -> Vec<Column> {
    vec![Column::words("control group", groups.iter().map(|group| group.path.to_string()))]
}

fn weight(knobs: &ControlGroupKnobs) -> String {
    if knobs.idle { "idle".into() } else { knobs.weight.to_string() }
}

/// As the scenario writes it.
fn limit(knobs: &ControlGroupKnobs) -> String {
    let Some(quota) = knobs.quota_ns else { return "-".into() };
    let burst = if knobs.burst_ns > 0 { format!(" +{}", Time(knobs.burst_ns)) } else { String::new() };
    format!("{}/{}{burst}", Time(quota), Time(knobs.period_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::result::{ControlGroupResult, RunResult};

    #[test]
    fn what_nobody_knows_has_no_column() {
        let group = |path: &str, quota_ns: Option<u64>| ControlGroupResult {
            path: path.into(),
            knobs: ControlGroupKnobs { weight: 100, quota_ns, period_ns: 100_000_000, ..Default::default() },
            usage_share: 0.5,
            nr_periods: quota_ns.map(|_| 10),
            ..ControlGroupResult::default()
        };
        let result = |groups| Outcome::from(RunResult { control_groups: groups, ..RunResult::default() });
        assert_eq!(control_groups(&result(Vec::new()), Style::PLAIN), "");
        let text = control_groups(&result(vec![group("a", Some(50_000_000)), group("b", None)]), Style::PLAIN);
        assert!(text.contains("50ms/100ms") && text.contains("periods") && !text.contains("throttled"), "{text}");
        let plain = control_groups(&result(vec![group("b", None)]), Style::PLAIN);
        assert!(!plain.contains("periods"), "{plain}");
        let many = (0..30).map(|number| group(&format!("g{number}"), None)).collect();
        assert!(control_groups(&result(many), Style::PLAIN).contains("24 of 30 control groups"));
    }
}
