//! A recording as a page of tables: what each program got, and how much of what happened is known.

use crate::caution::{gaps, texts, warnings};
use crate::result::{cpus, duration, events, facts};
use crate::{Column, Percent, Style, Table, column, wrap};
use schedlab_model::metric::Part;
use schedlab_model::outcome::{Outcome, View};
use schedlab_model::result::{GroupResult, RunResult};

/// Programs that used less CPU time than so many others are told together.
const PROGRAMS: usize = 20;

/// How much of what happened was recorded.
#[derive(Clone, Copy, Debug)]
pub struct Wholeness<'a> {
    /// What the kernel told.
    pub records: u64,
    /// What it could not tell, by kind.
    pub lost: &'a [(String, u64)],
    /// Steps that must have been and were not told, so that they were put in.
    pub repaired: u64,
    /// Tasks that were there and nobody had announced.
    pub adopted: u64,
}

/// The page: what was recorded, the programs by CPU time, the CPUs, the events, and what to beware of.
pub fn show(result: &RunResult, wholeness: &Wholeness, style: Style) -> String {
    let mut groups: Vec<&GroupResult> = result.groups.iter().collect();
    groups.sort_by(|a, b| b.measures.cpu_ns.cmp(&a.measures.cpu_ns).then_with(|| a.name.cmp(&b.name)));
    let others = groups.split_off(groups.len().min(PROGRAMS));
    let mut page = heading(result, style);
    page += "\n";
    page += &programs(&groups).show(style);
    page += &remainder(&others);
    page += "\n";
    let outcome = Outcome::from(result.clone());
    page += &cpus(&outcome.cpus(), style);
    page += "\n";
    page += &facts(&[("events", events(outcome.whole())), ("records", records(wholeness))]);
    let repaired = (wholeness.repaired > 0).then(|| {
        format!(
            "{} steps (switches, wakeups) were not told; they were put in where they were missed. What a CPU did until \
             then counts as unknown, and a wait that begins with such a step is not counted.",
            wholeness.repaired
        )
    });
    let gaps = gaps(&outcome);
    page + &warnings(texts(&gaps).chain(repaired.as_deref()), style)
}

/// What was recorded, where and for how long.
fn heading(result: &RunResult, style: Style) -> String {
    let name = &result.scenario.name;
    let cpus = if result.scenario.cpus == 1 { "1 CPU".into() } else { format!("{} CPUs", result.scenario.cpus) };
    let kernel = result.provenance.kernel.as_ref().map_or(String::new(), |kernel| format!(" under {kernel}"));
    let facts = format!("{} on {cpus}{kernel}", duration(result.duration_ns));
    // A command can be longer than a line.
    wrap("", 4, &format!("{name}: {facts}")).replacen(name, &style.bold(name), 1)
}

fn programs(groups: &[&GroupResult]) -> Table {
    let rows: Vec<View> = groups.iter().map(|group| View::One(Part::Group(group))).collect();
    let own = |path: &str| column(&rows, path);
    Table::new([
        Column::words("program", groups.iter().map(|group| group.name.clone())),
        own("count"),
        own("cpu_ns"),
        own("cpu_share").headed("CPU", "%"),
        own("run_delay_ns.mean").under("wait for a CPU"),
        own("run_delay_ns.p99").under("wait for a CPU"),
        own("longest_wait_ns").under("wait for a CPU"),
        own("switches.voluntary"),
        own("switches.involuntary"),
        own("migrations"),
    ])
}

/// The programs that have no row of their own.
fn remainder(others: &[&GroupResult]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let tasks: u64 = others.iter().map(|group| group.count).sum();
    let share: f64 = others.iter().map(|group| group.measures.cpu_share).sum();
    format!("and {} more programs, {tasks} tasks, with {} % of CPU time\n", others.len(), Percent::show(Some(share)))
}

fn records(wholeness: &Wholeness) -> String {
    let lost = wholeness.lost.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>();
    let lost = if lost.is_empty() { "none lost".into() } else { format!("lost: {}", lost.join(", ")) };
    let mut text = format!("{}, {lost}, {} steps repaired", wholeness.records, wholeness.repaired);
    if wholeness.adopted > 0 {
        text += &format!(", {} tasks first seen without a fork", wholeness.adopted);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Wholeness = Wholeness { records: 9, lost: &[], repaired: 0, adopted: 0 };

    #[test]
    fn what_is_missing_stands_beside_what_is_there() {
        assert_eq!(records(&WHOLE), "9, none lost, 0 steps repaired");
        let lost = [("switch".to_string(), 3), ("fork".to_string(), 1)];
        let torn = Wholeness { lost: &lost, repaired: 2, adopted: 4, ..WHOLE };
        assert_eq!(records(&torn), "9, lost: 3 switch, 1 fork, 2 steps repaired, 4 tasks first seen without a fork");
    }

    #[test]
    fn small_programs_are_told_together() {
        let group = |share: f64| {
            let measures = schedlab_model::result::Measures { cpu_share: share, ..Default::default() };
            GroupResult {
                name: "x".into(),
                count: 2,
                measures,
                cv_of_task_means: None,
                jain_of_tasks: None,
                starved: None,
            }
        };
        let groups = [group(0.25), group(0.5)];
        let all: Vec<&GroupResult> = groups.iter().collect();
        assert_eq!(remainder(&all), "and 2 more programs, 4 tasks, with 75.0 % of CPU time\n");
        assert_eq!(remainder(&[]), "");
    }
}
