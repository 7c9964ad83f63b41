//! Two policies side by side: how they differ in a metric of a role, and what that rests on.

use crate::changes::{ChangedDifference, of_difference};
use crate::comparison::{Candidate, Difference};
use crate::gap::{Evidence, Gap, verdict};
use schedlab_metrics::combine::LEVEL;
use schedlab_metrics::statistics::{BatchMeans, Comparison as Effect, compare, compare_paired, is_repeated};
use schedlab_model::metric::{self, Part};
use schedlab_model::result::RunResult;

/// With fewer batches of requests than this a single run has no interval.
const LEAST_BATCHES: usize = 10;

/// Two policies and a role.
pub(crate) struct Pair<'a> {
    pub baseline: &'a Candidate<'a>,
    pub other: &'a Candidate<'a>,
    pub role: usize,
    pub random: bool,
}

impl Pair<'_> {
    /// How the other differs from the baseline in a metric; none where one of them does not know it.
    pub fn difference(&self, path: &str) -> Option<Difference> {
        let (gap, effect) = self.measure(path)?;
        let role = self.baseline.result.roles()[self.role].name;
        let metric = metric::known(path).metric;
        let words = verdict(&gap, &effect, (&self.baseline.label, &self.other.label), metric);
        Some(Difference {
            role: role.into(),
            metric: path.to_string(),
            baseline: self.baseline.label.clone(),
            policy: self.other.label.clone(),
            gap,
            cliffs_delta: effect.cliffs_delta,
            verdict: format!("{role}, {}: {words}", metric.name),
            caution: None,
        })
    }

    /// How far the other is from the baseline in a metric; none where one of them does not know it.
    pub fn gap(&self, path: &str) -> Option<Gap> {
        self.measure(path).map(|(gap, _)| gap)
    }

    fn measure(&self, path: &str) -> Option<(Gap, Effect)> {
        let values = |candidate: &Candidate| -> Vec<(u64, Option<f64>)> {
            let each = candidate.result.roles()[self.role].metrics.each(path);
            candidate.result.seeds().iter().copied().zip(each).collect()
        };
        let (first, second) = (values(self.baseline), values(self.other));
        let same_seed = |(seed, value): &(u64, Option<f64>)| {
            let other = second.iter().find(|(other, _)| other == seed)?;
            Some((value.as_ref().copied()?, other.1?))
        };
        let pairs: Vec<(f64, f64)> = first.iter().filter_map(same_seed).collect();
        let (evidence, effect) = match (pairs.as_slice(), self.batches(path)) {
            ([], _) => return None,
            ([pair], batches) if !self.random || batches.as_ref().is_some_and(are_repeated) => {
                (Evidence::Exact, compare(&[pair.0], &[pair.1], LEVEL)?)
            }
            ([pair, _, ..], _) if are_repeated(&pairs.iter().copied().unzip()) => {
                (Evidence::Exact, compare(&[pair.0], &[pair.1], LEVEL)?)
            }
            // With the same seed the batches hold the same requests, except for few at their ends.
            ([_], Some((a, b))) if a.len() == b.len() => {
                let batches: Vec<_> = a.into_iter().zip(b).collect();
                (Evidence::Batches, compare_paired(&batches, LEVEL)?)
            }
            ([_], Some((a, b))) => (Evidence::Batches, compare(&a, &b, LEVEL)?),
            ([(a, b)], None) => (Evidence::Single, compare(&[*a], &[*b], LEVEL)?),
            (pairs, _) => (Evidence::Runs, compare_paired(pairs, LEVEL)?),
        };
        let under_changes = (evidence == Evidence::Exact).then(|| self.under_changes(path, &effect)).flatten();
        Some((Gap::new(evidence, &effect, under_changes), effect))
    }

    /// What small changes do to a difference that repeats exactly.
    fn under_changes(&self, path: &str, effect: &Effect) -> Option<ChangedDifference> {
        let value = |run: &RunResult| metric::known(path).of(Part::Role(&run.roles[self.role]));
        let copies = self.baseline.copies.iter().zip(&self.other.copies);
        let pairs: Option<Vec<(f64, f64)>> = copies.map(|(one, other)| value(one).zip(value(other))).collect();
        of_difference(effect, &pairs?)
    }

    /// The batches of both sides, where the metric is one that is kept in batches and there are enough.
    fn batches(&self, path: &str) -> Option<(Vec<f64>, Vec<f64>)> {
        let of = |candidate: &Candidate| candidate.batches.get(self.role).map_or(Vec::new(), BatchMeans::means);
        let (a, b) = (of(self.baseline), of(self.other));
        (path == "response_ns.mean" && a.len().min(b.len()) >= LEAST_BATCHES).then_some((a, b))
    }
}

/// Whether both sides repeat one number each.
fn are_repeated((one, other): &(Vec<f64>, Vec<f64>)) -> bool {
    is_repeated(one) && is_repeated(other)
}

impl Candidate<'_> {
    /// Whether a mean response time repeats exactly where it might not: from run to run, or within the only run. Then
    /// chance has not touched it, and its repeating says nothing about what chance would do.
    pub fn repeats_exactly(&self) -> bool {
        self.result.roles().iter().enumerate().any(|(index, role)| match self.result.runs() {
            1 => {
                let means = self.batches.get(index).map_or(Vec::new(), BatchMeans::means);
                means.len() >= LEAST_BATCHES && is_repeated(&means)
            }
            _ => {
                let means: Option<Vec<f64>> = role.metrics.each("response_ns.mean").into_iter().collect();
                means.is_some_and(|means| means.len() > 1 && is_repeated(&means))
            }
        })
    }
}
