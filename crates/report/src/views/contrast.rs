//! Two traces next to each other: whose waits changed, where, and why.

use crate::export::Findings;
use crate::{Column, Quantity, Style, Table, Times, wrap};
use schedlab_model::names::Names;
use schedlab_model::result::Interval;
use schedlab_model::time::Time;
use schedlab_model::trace::WakeSource;
use schedlab_views::contrast::{Case, Change, Contrast, Shift, Who};
use std::collections::BTreeMap;

/// How many roles have a row, and how many of them a reason.
const ROWS: usize = 20;
const REASONS: usize = 5;
/// How many parts of a change are named, and what a part is at least of all of it.
const PARTS: usize = 3;
const LEAST_PART: f64 = 0.1;

/// What there is to say about two traces.
pub struct Pair<'a> {
    /// What the traces are called: before, after.
    pub titles: [&'a str; 2],
    /// What changed.
    pub contrast: &'a Contrast,
    /// The worst waits of each, with the names of its tasks.
    pub worst: [(&'a [Case], &'a Names); 2],
}

impl Pair<'_> {
    /// The page.
    pub fn show(&self, style: Style) -> String {
        let mut page = style.bold(&wrap("", 4, &format!("{} against {}", self.titles[1], self.titles[0])));
        page += &wrap("", 0, &self.basis());
        for (_, table) in self.tables() {
            page += &format!("\n{}", table.show(style));
        }
        page += &self.remainder();
        page += "\n";
        for line in self.reasons() {
            page += &wrap("- ", 2, &line);
        }
        for (side, title) in ["before", "after"].into_iter().enumerate() {
            page += &format!("\n{}\n", style.bold(&format!("The longest waits {title}")));
            for line in self.worst_of(side) {
                page += &wrap("- ", 2, &line);
            }
        }
        page
    }

    /// Everything that files have of it.
    pub fn findings(&self, cautions: &[String]) -> Findings {
        let longest = |side: usize| {
            let title = ["The longest waits before", "The longest waits after"][side];
            self.worst_of(side).into_iter().map(move |line| format!("{title}: {line}"))
        };
        let more = Some(self.remainder()).filter(|more| !more.is_empty());
        Findings {
            answer: vec![self.answer(), self.basis()],
            points: self.reasons().into_iter().chain(longest(0)).chain(longest(1)).collect(),
            cautions: cautions.iter().cloned().chain(more).collect(),
            ..Findings::of(self.tables())
        }
    }

    /// In a sentence, what changed.
    pub fn answer(&self) -> String {
        let firm = self.contrast.changes.iter().filter(|change| change.is_firm == Some(true));
        let (longer, shorter): (Vec<_>, Vec<_>) = firm.partition(|change| is_longer(change));
        let names =
            |changes: &[&Change]| changes.iter().take(PARTS).map(|c| c.name.clone()).collect::<Vec<_>>().join(", ");
        let say = |changes: &[&Change], how: &str| {
            let more = changes.len().saturating_sub(PARTS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!(
                "{}{more} {} {how} for a CPU than before",
                names(changes),
                if changes.len() == 1 { "waits" } else { "wait" }
            )
        };
        let parts: Vec<String> = [(&longer, "longer"), (&shorter, "less long")]
            .into_iter()
            .filter(|(changes, _)| !changes.is_empty())
            .map(|(changes, how)| say(changes, how))
            .collect();
        if parts.is_empty() {
            return "No wait changed by more than chance.".into();
        }
        format!("{}.", parts.join("; "))
    }

    /// On what the numbers stand.
    pub fn basis(&self) -> String {
        let Contrast { blocks, block, ends, level, .. } = self.contrast;
        format!(
            "Waits from being runnable to running. Before: {} blocks of {block} ({}); after: {} ({}). Statistics are \
             over blocks. Each interval has a level of {} %, so that all hold together with 95 %.",
            blocks[0],
            ends[0],
            blocks[1],
            ends[1],
            Quantity::with_decimals(2).show(Some(level * 100.0)),
        )
    }

    fn shown(&self) -> &[Change] {
        &self.contrast.changes[..self.contrast.changes.len().min(ROWS)]
    }

    /// A row for each role, the largest change of waited time first: how long its waits are, and how many there are.
    pub fn tables(&self) -> [(&'static str, Table); 2] {
        [("Wait times by program", self.lengths()), ("Number of waits and total wait by program", self.amounts())]
    }

    fn programs(&self) -> Column {
        Column::words("program", self.shown().iter().map(|row| row.name.clone()))
    }

    fn lengths(&self) -> Table {
        let rows = self.shown();
        let means = |side: usize| rows.iter().map(|row| row.mean_ns[side]).collect::<Vec<_>>();
        let ratio = |head: &str, value: &dyn Fn(&Interval) -> f64| {
            let values: Vec<Option<f64>> = rows.iter().map(|row| row.ratio.as_ref().map(value)).collect();
            let shown = values.iter().map(|value| Quantity::with_decimals(2).show(*value)).collect::<Vec<_>>();
            Column::numbers(head, shown)
                .under("after over before")
                .exactly(&format!("{head} after over before"), values)
        };
        Table::new([
            self.programs(),
            Column::times("before", means(0)).under("mean wait"),
            Column::times("after", means(1)).under("mean wait"),
            ratio("ratio", &|interval| interval.estimate),
            ratio("from", &|interval| interval.low),
            ratio("to", &|interval| interval.high),
            Column::words("change", rows.iter().map(|row| verdict(row).to_string())),
        ])
    }

    fn amounts(&self) -> Table {
        let rows = self.shown();
        let per_second = Quantity::with_decimals(1);
        let numbers = |head: &str, side: usize| {
            let values: Vec<Option<f64>> = rows.iter().map(|row| Some(row.waits_per_s[side])).collect();
            let shown = values.iter().map(|value| per_second.show(*value)).collect::<Vec<_>>();
            Column::numbers(head, shown).under("waits per s").exactly(&format!("waits per s {head}"), values)
        };
        let waited = |side: usize| rows.iter().map(|row| Some(row.waited_per_s[side])).collect::<Vec<_>>();
        Table::new([
            self.programs(),
            numbers("before", 0),
            numbers("after", 1),
            Column::times("before", waited(0)).under("waited per s"),
            Column::times("after", waited(1)).under("waited per s"),
        ])
    }

    fn remainder(&self) -> String {
        match self.contrast.changes.len().saturating_sub(ROWS) {
            0 => String::new(),
            more => format!("and {more} more programs, whose waits changed less\n"),
        }
    }

    /// Where and why, for the programs whose waits changed by more than chance.
    pub fn reasons(&self) -> Vec<String> {
        let firm = self.contrast.changes.iter().filter(|change| change.is_firm == Some(true));
        let reasons: Vec<String> = firm.take(REASONS).map(reason).collect();
        if reasons.is_empty() { vec!["No wait changed by more than chance.".into()] } else { reasons }
    }

    /// Of the longest waits of a side, why that CPU and why so long.
    pub fn worst_of(&self, side: usize) -> Vec<String> {
        let (cases, names) = self.worst[side];
        if cases.is_empty() {
            return vec!["Nothing waited.".into()];
        }
        cases.iter().map(|case| evidence(case, names)).collect()
    }
}

fn is_longer(change: &Change) -> bool {
    change.difference.is_some_and(|difference| difference.estimate > 0.0)
}

fn verdict(change: &Change) -> &'static str {
    match change.is_firm {
        Some(true) if is_longer(change) => "longer",
        Some(true) => "shorter",
        Some(false) => "indistinguishable",
        None => match (change.mean_ns, change.in_trace) {
            ([Some(_), Some(_)], _) => "too few blocks",
            ([None, None], _) => "no known wait",
            ([None, _], [false, _]) => "only after",
            ([_, None], [_, false]) => "only before",
            ([None, _], _) => "waits only after",
            ([_, None], _) => "waits only before",
        },
    }
}

/// A time, in its unit.
fn time(ns: f64) -> String {
    let values = [Some(ns)];
    let times = Times::of(&values);
    format!("{} {}", times.show(values[0]), times.unit)
}

fn reason(change: &Change) -> String {
    let ratio = change.ratio.map_or(String::new(), |ratio| {
        let show = |value: f64| Quantity::with_decimals(2).show(Some(value));
        format!(" {}× as long (from {} to {})", show(ratio.estimate), show(ratio.low), show(ratio.high))
    });
    let of_second = |ns: f64| format!("{} {}", time(ns.abs()), if ns < 0.0 { "less" } else { "more" });
    let more = change.waited_per_s[1] - change.waited_per_s[0];
    let mut text = format!("{} waits{ratio}; its tasks together wait {} in each second", change.name, of_second(more));
    let places = parts(&change.by_cpu, more);
    if !places.is_empty() {
        text += &format!(". Where: {}", places.join(", "));
    }
    let had = parts(&change.by_had, more);
    if !had.is_empty() {
        text += &format!(". What ran meanwhile: {}", had.join(", "));
    }
    let idle = change.beside_idle_per_s[1] - change.beside_idle_per_s[0];
    if idle.abs() >= LEAST_PART * more.abs() && idle != 0.0 {
        text += &format!(". While another CPU idled they wait {} in each second", of_second(idle));
    }
    text + "."
}

/// The largest parts of a change.
fn parts(shifts: &[Shift], whole: f64) -> Vec<String> {
    let large = shifts.iter().filter(|shift| shift.more().abs() >= LEAST_PART * whole.abs() && shift.more() != 0.0);
    let part = |shift: &Shift| {
        let sign = if shift.more() < 0.0 { "−" } else { "+" };
        format!("{} {sign}{}", shift.what, time(shift.more().abs()))
    };
    large.take(PARTS).map(part).collect()
}

/// Of one wait: why this CPU, why so long.
fn evidence(case: &Case, names: &Names) -> String {
    let wait = &case.wait;
    let cause = match (wait.was_preempted, wait.waker) {
        (true, _) => "preempted there".into(),
        (false, Some(waker)) => format!("woken by {}", names.show(waker)),
        (false, None) if matches!(wait.source, WakeSource::Unknown | WakeSource::Untold) => {
            "woken by an interrupt or an unknown task".into()
        }
        (false, None) => format!("woken by {}", super::source(wait.source)),
    };
    let place = match (wait.was_preempted, case.ran_last) {
        (true, _) | (false, None) => String::new(),
        (false, Some(last)) if last == wait.cpu => ", where it had run last".into(),
        (false, Some(last)) => format!(", having run last on cpu{last}"),
    };
    let moved: String = case.places[1..].iter().take(PARTS).map(|cpu| format!(", moved to cpu{cpu}")).collect();
    let had = by_program(case, names);
    let lasted = |of: Time| time(of.ns() as f64);
    let told: Vec<String> = had.iter().take(PARTS).map(|(who, ns)| format!("{who} {}", time(*ns as f64))).collect();
    let rest = if had.len() > PARTS { format!(" and {} more", had.len() - PARTS) } else { String::new() };
    let idle = case.idled.iter().take(PARTS).map(|(cpu, time)| format!("cpu{cpu} {}", lasted(*time)));
    let idle: Vec<String> = idle.collect();
    let beside = if idle.is_empty() { "No other CPU idled".into() } else { format!("Idle CPUs: {}", idle.join(", ")) };
    let task = names.show(wait.task);
    format!(
        "{task} waited {} on cpu{}{place} ({cause}){moved}, from {} on. What ran meanwhile: {}{rest}. {beside}.",
        lasted(wait.length()),
        wait.cpu,
        lasted(wait.from),
        told.join(", "),
    )
}

/// What ran on the CPU, tasks of one program together, the longest first.
pub(super) fn by_program(case: &Case, names: &Names) -> Vec<(String, u64)> {
    let mut programs: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
    for (who, time) in &case.had {
        let (program, task) = match who {
            Who::Task(label) => (super::role_of(*label, names), names.show(*label)),
            Who::Idle => ("nothing (idle)".into(), "nothing (idle)".into()),
            Who::Untraced => ("what was not recorded".into(), "what was not recorded".into()),
        };
        let (sum, tasks) = programs.entry(program).or_default();
        *sum += time.ns();
        tasks.push(task);
    }
    let name = |(program, (ns, tasks)): (String, (u64, Vec<String>))| match tasks.as_slice() {
        [only] => (only.clone(), ns),
        tasks => (format!("{program} (of {} tasks)", tasks.len()), ns),
    };
    let mut had: Vec<(String, u64)> = programs.into_iter().map(name).collect();
    had.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    had
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, ratio: Option<[f64; 3]>, is_firm: Option<bool>) -> Change {
        let interval = |of: [f64; 3]| Interval { estimate: of[0], low: of[1], high: of[2], level: 0.95 };
        let shift = |what: &str, before: f64, after: f64| Shift { what: what.into(), before, after };
        Change {
            in_trace: [true; 2],
            name: name.into(),
            waits_per_s: [10.0, 12.0],
            mean_ns: [Some(1e6), Some(3e6)],
            difference: ratio.map(|of| interval([of[0] - 1.0, of[1] - 1.0, of[2] - 1.0])),
            ratio: ratio.map(interval),
            is_firm,
            waited_per_s: [10e6, 36e6],
            beside_idle_per_s: [0.0, 5e6],
            by_cpu: vec![shift("cpu1", 1e6, 25e6), shift("cpu0", 9e6, 11e6)],
            by_had: vec![shift("hog", 0.0, 26e6)],
        }
    }

    fn contrast(changes: Vec<Change>) -> Contrast {
        let ends = [Time::from_ms(1000), Time::from_ms(2000)];
        Contrast { changes, blocks: [20, 40], block: Time::from_ms(50), ends, level: 0.975 }
    }

    #[test]
    fn what_changed_has_a_place_and_a_reason() {
        let contrast = contrast(vec![
            change("web", Some([3.0, 2.5, 3.5]), Some(true)),
            change("db", Some([1.1, 0.8, 1.4]), Some(false)),
            change("cron", None, None),
        ]);
        let names = Names::new([]);
        let worst = [(&[][..], &names), (&[][..], &names)];
        let pair = Pair { titles: ["old.parquet", "new.parquet"], contrast: &contrast, worst };
        assert_eq!(pair.answer(), "web waits longer for a CPU than before.");
        assert_eq!(
            pair.reasons(),
            [
                "web waits 3.00× as long (from 2.50 to 3.50); its tasks together wait 26 ms more in each second. Where: cpu1 \
                 +24 ms. What ran meanwhile: hog +26 ms. While another CPU idled they wait 5 ms more in each second."
            ]
        );
        let page = pair.show(Style::PLAIN);
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("indistinguishable") && words.contains("too few blocks"), "{page}");
        assert!(words.contains("20 blocks of 50ms (1s); after: 40 (2s)."), "{page}");
    }
}
