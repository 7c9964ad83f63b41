//! A recording as a page of tables: what each program got, and how much of what happened is known.

use crate::caution::{gaps, texts, warnings};
use crate::result::{cpus, duration, events, facts};
use crate::{Column, Percent, Style, Table, column, wrap};
use schedlab_model::count::{counted, numbered};
use schedlab_model::metric::Part;
use schedlab_model::outcome::{Outcome, View};
use schedlab_model::result::{RoleResult, RunResult};

/// The number of programs with a row of their own: those that used less CPU time share one.
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
    /// Tasks that were there and had not been announced.
    pub adopted: u64,
    /// Time of CPUs, in nanoseconds, that the kernel's accounts gave to tasks where switches were missing.
    pub mended_ns: u64,
    /// What the recording says in addition to what the trace shows.
    pub passed_over: u64,
}

/// The page: what was recorded, the programs by CPU time, the CPUs, the events, and what to beware of.
pub fn show(result: &RunResult, wholeness: &Wholeness, style: Style) -> String {
    let mut roles: Vec<&RoleResult> = result.roles.iter().collect();
    roles.sort_by(|a, b| b.measures.cpu_ns.cmp(&a.measures.cpu_ns).then_with(|| a.name.cmp(&b.name)));
    let others = roles.split_off(roles.len().min(PROGRAMS));
    let mut page = heading(result, style);
    page += "\n";
    page += &programs(&roles, result).show_in_parts(style);
    page += &remainder(&others);
    page += "\n";
    let outcome = Outcome::from(result.clone());
    page += &cpus(&outcome.cpus(), style);
    page += "\n";
    page += &facts(&[("events", events(outcome.whole())), ("records", records(wholeness))]);
    let repaired = (wholeness.repaired > 0).then(|| {
        format!(
            "{} missing, and inserted where that was noticed. What a CPU did until then counts as unknown, and a wait that \
             begins with such a step is not counted.",
            numbered(wholeness.repaired, "switch or wake-up was", "switches and wake-ups were")
        )
    });
    let mended = (wholeness.mended_ns > 0).then(|| {
        format!(
            "{} of CPU time between missing switches is known from sched_stat_runtime alone, to some microseconds.",
            duration(wholeness.mended_ns)
        )
    });
    let gaps = gaps(&outcome);
    page + &warnings(texts(&gaps).chain(repaired.as_deref()).chain(mended.as_deref()), style)
}

/// What was recorded, where and for how long.
fn heading(result: &RunResult, style: Style) -> String {
    let name = &result.scenario.name;
    let cpus = counted(result.scenario.cpus, "CPU");
    let kernel = result.provenance.kernel.as_ref().map_or(String::new(), |kernel| format!(" under {kernel}"));
    let facts = format!("{} on {cpus}{kernel}", duration(result.duration_ns));
    // A command can be longer than a line.
    wrap("", 4, &format!("{name}: {facts}")).replacen(name, &style.bold(name), 1)
}

/// The time of all CPUs during which it is not known what had them.
fn unknown_ns(result: &RunResult) -> f64 {
    let unknown: f64 = result.cpus.iter().filter_map(|cpu| cpu.unknown_frac).sum();
    unknown * result.duration_ns as f64
}

/// A program may have had what is unknown, too: the most that it can have had is printed in addition to what it is known to have had.
fn at_most(roles: &[&RoleResult], unknown_ns: f64) -> Option<Column> {
    let most = |role: &&RoleResult| Some(role.measures.cpu_ns as f64 + unknown_ns);
    (unknown_ns > 0.0).then(|| Column::times("at most", roles.iter().map(most)).under("CPU"))
}

fn programs(roles: &[&RoleResult], result: &RunResult) -> Table {
    let rows: Vec<View> = roles.iter().map(|role| View::One(Part::Role(role))).collect();
    let own = |path: &str| column(&rows, path);
    // Where no CPU is known, or there was no switch, no task's time and switches were measured.
    let has_cpus = result.cpus.iter().any(|cpu| cpu.unknown_frac.is_none_or(|share| share < 1.0));
    let of_cpus = |column: Column| column.unmeasured(&vec![!has_cpus; roles.len()]);
    let of_switches = |column: Column| column.unmeasured(&vec![result.events.switches == 0; roles.len()]);
    let name = Column::words("program", roles.iter().map(|role| role.name.clone()));
    let first = [name, own("count"), of_cpus(own("cpu_ns"))];
    let rest = [
        of_cpus(own("cpu_share").headed("CPU", "%")),
        own("run_delay_ns.mean").under("wait for a CPU"),
        own("run_delay_ns.p99").under("wait for a CPU"),
        own("longest_wait_ns").under("wait for a CPU"),
        of_switches(own("switches.voluntary")),
        of_switches(own("switches.involuntary")),
        own("migrations"),
    ];
    Table::new(first.into_iter().chain(at_most(roles, unknown_ns(result))).chain(rest))
}

/// The programs that have no row of their own.
fn remainder(others: &[&RoleResult]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let tasks: u64 = others.iter().map(|role| role.count).sum();
    let share: f64 = others.iter().map(|role| role.measures.cpu_share).sum();
    let (programs, tasks) = (counted(others.len() as u64, "more program"), counted(tasks, "task"));
    format!("and {programs}, {tasks}, with {} % of CPU time\n", Percent::show(Some(share)))
}

fn records(wholeness: &Wholeness) -> String {
    let lost = wholeness.lost.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>();
    let lost = if lost.is_empty() { "none lost".into() } else { format!("lost: {}", lost.join(", ")) };
    let mut text = format!("{}, {lost}, {} repaired", wholeness.records, counted(wholeness.repaired, "step"));
    if wholeness.adopted > 0 {
        text += &format!(", {} first seen without a fork", counted(wholeness.adopted, "task"));
    }
    if wholeness.passed_over > 0 {
        text += &format!(", {} passed over", counted(wholeness.passed_over, "other"));
    }
    text
}

/// What was passed over, by kind: how many, and where the first is.
pub fn passed_over<'a>(kinds: impl Iterator<Item = (&'a str, u64, &'a str)>, style: Style) -> String {
    let kinds: Vec<_> = kinds.collect();
    if kinds.is_empty() {
        return "Nothing was passed over.\n".into();
    }
    let table = Table::new([
        Column::words("passed over", kinds.iter().map(|(kind, ..)| (*kind).to_string())),
        Column::words("how many", kinds.iter().map(|(_, count, _)| count.to_string())),
        Column::words("first", kinds.iter().map(|(.., first)| (*first).to_string())),
    ]);
    table.show(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Wholeness = Wholeness { records: 9, lost: &[], repaired: 0, adopted: 0, mended_ns: 0, passed_over: 0 };

    #[test]
    fn what_is_missing_stands_beside_what_is_there() {
        assert_eq!(records(&WHOLE), "9, none lost, 0 steps repaired");
        let lost = [("switch".to_string(), 3), ("fork".to_string(), 1)];
        let torn = Wholeness { lost: &lost, repaired: 2, adopted: 4, passed_over: 7, ..WHOLE };
        let expected =
            "9, lost: 3 switch, 1 fork, 2 steps repaired, 4 tasks first seen without a fork, 7 others passed over";
        assert_eq!(records(&torn), expected);
    }

    #[test]
    fn what_nobody_knows_may_have_been_anybodys() {
        let role = small_role(0.5);
        assert!(at_most(&[&role], 0.0).is_none());
        let table = Table::new([at_most(&[&role], 2e6).unwrap()]).show(Style::PLAIN);
        assert!(table.contains("at most ms\n") && table.trim_end().ends_with(" 2"), "{table}");
    }

    #[test]
    fn small_programs_are_told_together() {
        let role = |share: f64| small_role(share);
        let roles = [role(0.25), role(0.5)];
        let all: Vec<&RoleResult> = roles.iter().collect();
        assert_eq!(remainder(&all), "and 2 more programs, 4 tasks, with 75.0 % of CPU time\n");
        assert_eq!(remainder(&[]), "");
    }

    fn small_role(share: f64) -> RoleResult {
        let measures = schedlab_model::result::Measures { cpu_share: share, ..Default::default() };
        RoleResult { name: "x".into(), count: 2, measures, cv_of_task_means: None, jain_of_tasks: None, starved: None }
    }
}
