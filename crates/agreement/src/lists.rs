//! Sentences about cells and figures, the same on a terminal and on a page.

use crate::figure::Figure;
use crate::report::{Agreement, CellReport, CellVerdict, Counts, FigureReport, Verdict};
use schedlab_model::count::counted;
use std::collections::BTreeMap;

impl Figure {
    pub(crate) fn unit(self) -> &'static str {
        if self == Figure::Share { "pt" } else { "%" }
    }
}

/// A fraction in percent, with its sign.
fn signed(value: f64) -> String {
    format!("{:+.1}", 100.0 * value).replace('-', "−")
}

impl FigureReport {
    /// Which it is: `p99 of worker`.
    pub fn name(&self) -> String {
        format!("{} of {}", self.figure.word(), self.role)
    }

    /// How far it is off, and within what.
    pub fn deviation(&self) -> String {
        let figure = self.figure;
        let bound = format!("bound {} {}", 100.0 * self.bound, figure.unit());
        let why = self.why.as_deref().map_or(String::new(), |why| format!("; {why}"));
        match (self.bias, self.low, self.high) {
            (Some(bias), Some(low), Some(high)) => {
                let [bias, low, high] = [bias, low, high].map(signed);
                format!("{bias} {} ({low} to {high}, {bound}{why})", figure.unit())
            }
            _ => self.why.as_deref().map_or(String::new(), |why| format!("({why})")),
        }
    }
}

impl CellVerdict {
    /// In a word or two.
    pub fn word(self) -> &'static str {
        match self {
            CellVerdict::Agrees => "agrees",
            CellVerdict::Undecided => "undecided",
            CellVerdict::Biased => "biased",
            CellVerdict::Failed => "failed",
            CellVerdict::NotRun => "not run",
        }
    }
}

impl CellReport {
    /// Which it is.
    pub fn name(&self) -> String {
        let kernel = if self.same_object { format!(" in {}", self.kernel) } else { String::new() };
        format!("{} under {}{kernel}, {}", self.scenario, self.policy, counted(self.cpus, "CPU"))
    }

    /// Which it is and what is concluded, in a line.
    pub fn line(&self) -> String {
        let why = self.why.as_deref().map_or(String::new(), |why| format!(" ({})", why.replace('\n', " ")));
        format!("{}: {}{why}", self.name(), self.verdict.word())
    }

    /// Its figures of a verdict, the furthest off first.
    fn figures_of(&self, verdict: Verdict) -> Vec<&FigureReport> {
        let mut figures: Vec<&FigureReport> = self.figures.iter().filter(|figure| figure.verdict == verdict).collect();
        figures.sort_by(|a, b| b.off().total_cmp(&a.off()));
        figures
    }

    fn told(&self, verdict: Verdict) -> String {
        let told = |figure: &&FigureReport| format!("{} {}", figure.name(), figure.deviation());
        self.figures_of(verdict).iter().map(told).collect::<Vec<_>>().join("; ")
    }

    /// What it would take to decide.
    fn remedy(&self) -> String {
        let known = self.seeds.len() as f64;
        match self.seeds_to_decide() {
            _ if self.why.is_some() => self.why.clone().unwrap_or_default(),
            Some(seeds) => format!(
                "{} would decide, or runs {:.1} times as long",
                counted(seeds, "seed"),
                f64::from(seeds) / known
            ),
            None => "no number of seeds up to 10,000 would decide".into(),
        }
    }
}

/// A list below the table.
pub struct List {
    /// What the cells have in common.
    pub head: &'static str,
    /// What is to be said, and the names of the cells of which it is.
    lines: Vec<(Vec<String>, String)>,
}

impl List {
    /// With one line for all cells of which the same is to be said.
    fn new(head: &'static str, cells: impl Iterator<Item = (String, String)>) -> List {
        let mut lines: Vec<(Vec<String>, String)> = Vec::new();
        for (cell, told) in cells {
            match lines.iter_mut().find(|(_, other)| *other == told) {
                Some((cells, _)) => cells.push(cell),
                None => lines.push((vec![cell], told)),
            }
        }
        List { head, lines }
    }

    /// How many cells are in it.
    pub fn cells(&self) -> usize {
        self.lines.iter().map(|(cells, _)| cells.len()).sum()
    }

    /// Each line: the names of its cells, and what is to be said of them.
    pub fn lines(&self) -> impl Iterator<Item = (String, &str)> {
        self.lines.iter().map(|(cells, told)| (cells.join("; "), told.as_str()))
    }
}

/// The head of the list of cells in which a run failed.
pub(crate) const FAILED: &str = "Failed";

/// The head of the list of figures that say nothing about their cells.
pub(crate) const NOT_JUDGED: &str = "Not judged";

impl Agreement {
    /// What is to be known of cells that do not agree, and of figures that were not judged.
    pub fn lists(&self) -> Vec<List> {
        let of = |head, verdict: CellVerdict, told: &dyn Fn(&CellReport) -> String| {
            let cells = self.cells.iter().filter(|cell| cell.verdict == verdict);
            List::new(head, cells.map(|cell| (self.name_of(cell), told(cell))))
        };
        let undecided = |cell: &CellReport| {
            let told = cell.told(Verdict::Undecided);
            let gap = if told.is_empty() { "" } else { ": " };
            format!("{}{gap}{told}", cell.remedy())
        };
        let failed = |cell: &CellReport| cell.why.as_deref().unwrap_or_default().replace('\n', " ");
        let not_judged = self.cells.iter().map(|cell| (self.name_of(cell), cell.told(Verdict::NotJudged)));
        let lists = [
            of("Biased", CellVerdict::Biased, &|cell| cell.told(Verdict::Biased)),
            of("Undecided", CellVerdict::Undecided, &undecided),
            of(FAILED, CellVerdict::Failed, &failed),
            List::new(NOT_JUDGED, not_judged.filter(|(_, told)| !told.is_empty())),
        ];
        lists.into_iter().filter(|list| !list.lines.is_empty()).collect()
    }

    /// How many cells came to which verdict: in all, for each family and for each policy, where there are several.
    pub(crate) fn summary(&self) -> Vec<(String, Counts)> {
        let mut rows = vec![("all".to_string(), self.counts)];
        let families = self.counted(|cell| cell.family.as_deref().map(|family| format!("family {family}")));
        let policies = self.counted(|cell| Some(cell.policy.clone()));
        rows.extend(families);
        rows.extend(Some(policies).filter(|policies| policies.len() > 1).into_iter().flatten());
        rows
    }

    fn counted(&self, name: impl Fn(&CellReport) -> Option<String>) -> Vec<(String, Counts)> {
        let mut roles: BTreeMap<String, Vec<&CellReport>> = BTreeMap::new();
        let mut order: Vec<String> = Vec::new();
        for cell in &self.cells {
            let Some(name) = name(cell) else { continue };
            if !roles.contains_key(&name) {
                order.push(name.clone());
            }
            roles.entry(name).or_default().push(cell);
        }
        let counts = |name: String| (name.clone(), Counts::of(roles[&name].iter().copied()));
        order.into_iter().map(counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_of_several_cells_is_one_line() {
        let cells = [("a", "x"), ("b", "y"), ("c", "x")].map(|(cell, told)| (cell.into(), told.into()));
        let list = List::new("Biased", cells.into_iter());
        assert_eq!(list.lines().collect::<Vec<_>>(), [("a; c".into(), "x"), ("b".into(), "y")]);
        assert_eq!(list.cells(), 3);
    }
}
