//! The figures of a result that are compared, and the verdict about each.

use crate::observed::{Observed, RoleObserved};
use crate::report::{FigureReport, Verdict};
use schedlab_metrics::statistics::equivalence::{Basis, Bias, Draws, Equivalence, Scale};
use schedlab_metrics::statistics::mean;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure that is compared, of each role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The mean response time.
    Mean,
    /// The median response time.
    P50,
    /// The 99th percentile of the response times.
    P99,
    /// The role's part of the CPU time that all roles got.
    Share,
}

impl Figure {
    /// All of them.
    pub const ALL: [Figure; 4] = [Figure::Mean, Figure::P50, Figure::P99, Figure::Share];

    /// As tables name it.
    pub fn word(self) -> &'static str {
        match self {
            Figure::Mean => "mean",
            Figure::P50 => "p50",
            Figure::P99 => "p99",
            Figure::Share => "CPU share",
        }
    }

    /// How far the simulator may be off, as a ratio less one or, of shares, as a difference. The same object in both must agree
    /// better than two schedulers of one name.
    pub fn bound(self, is_same_object: bool) -> f64 {
        match (self, is_same_object) {
            (Figure::Mean | Figure::P50, true) => 0.05,
            (Figure::Mean | Figure::P50, false) => 0.10,
            (Figure::P99, true) => 0.15,
            (Figure::P99, false) => 0.20,
            (Figure::Share, _) => 0.02,
        }
    }

    /// With fewer requests it is not judged. A run counts the requests that ended, so one at its end is there or not by
    /// chance: of 20 it is as much as the bound of 5 %. Of fewer than 100 the 99th percentile by the nearest rank is the
    /// largest, and no percentile.
    pub fn least_requests(self) -> u64 {
        match self {
            Figure::Mean | Figure::P50 => 20,
            Figure::P99 => 100,
            Figure::Share => 0,
        }
    }

    /// How two values are compared with each other.
    pub fn scale(self) -> Scale {
        if self == Figure::Share { Scale::Difference } else { Scale::Ratio }
    }

    fn value(self, role: &RoleObserved) -> Option<f64> {
        match self {
            Figure::Mean => Some(role.response_ns?[0]),
            Figure::P50 => Some(role.response_ns?[1]),
            Figure::P99 => Some(role.response_ns?[2]),
            Figure::Share => Some(role.share),
        }
    }
}

/// What was seen of a cell under one seed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// The real runs.
    pub real: Vec<Observed>,
    /// The copies of the simulation.
    pub copies: Vec<Observed>,
}

/// The real runs of a sample, or its copies.
type Runs = fn(&Sample) -> &Vec<Observed>;

/// From this part on it is no wonder when few requests end.
const MUCH: f64 = 0.1;

/// What others took of the real runs: with them a response may take 1/(1 − part) times as long, and a role may have got that much
/// less or more of the CPU time.
fn taken(samples: &[Sample]) -> f64 {
    let parts: Vec<f64> = samples.iter().flat_map(|sample| &sample.real).map(|run| run.others).collect();
    mean(&parts).unwrap_or(0.0).clamp(0.0, 0.99)
}

/// What is to be said of that where it leaves something undecided.
fn told_of_others(part: f64) -> String {
    format!("other programs took {:.1} % of the CPU time available to the tasks", 100.0 * part)
}

/// What is known of a figure before it is judged.
enum Found {
    /// How far the simulator is off.
    Bias(Bias),
    /// A verdict without it.
    Said(Verdict, String),
}

/// All figures of all roles, judged together.
pub(crate) fn judged(samples: &[Sample], is_same_object: bool) -> Vec<FigureReport> {
    let Some(first) = samples.first().and_then(|sample| sample.real.first()) else { return Vec::new() };
    let has_share = first.roles.len() > 1;
    let figures = || Figure::ALL.into_iter().filter(move |figure| has_share || *figure != Figure::Share);
    let all = (0..first.roles.len()).flat_map(|role| figures().map(move |figure| (role, figure)));
    let found: Vec<(usize, Figure, Found)> =
        all.map(|(role, figure)| (role, figure, found(samples, role, figure))).collect();
    let count = found.iter().filter(|(.., found)| matches!(found, Found::Bias(_))).count();
    let report = |(role, figure, found): (usize, Figure, Found)| {
        let bound = figure.bound(is_same_object);
        let mut report = of_means(samples, role, figure, bound);
        match found {
            Found::Said(verdict, why) => (report.verdict, report.why) = (verdict, Some(why)),
            Found::Bias(bias) => tell(&mut report, &bias, (bound, count), taken(samples)),
        }
        report
    };
    found.into_iter().map(report).collect()
}

/// The means over all runs, and no verdict yet.
fn of_means(samples: &[Sample], role: usize, figure: Figure, bound: f64) -> FigureReport {
    let over = |of: Runs, value: &dyn Fn(&RoleObserved) -> Option<f64>| {
        let runs = samples.iter().flat_map(of).map(|run| &run.roles[role]);
        mean(&runs.filter_map(value).collect::<Vec<f64>>())
    };
    let (real, model): (Runs, Runs) = (|sample| &sample.real, |sample| &sample.copies);
    let (value, requests) = (|run: &RoleObserved| figure.value(run), |run: &RoleObserved| Some(run.requests as f64));
    FigureReport {
        role: samples[0].real[0].roles[role].name.clone(),
        figure,
        verdict: Verdict::NotJudged,
        why: None,
        real: over(real, &value),
        simulated: over(model, &value),
        requests_real: over(real, &requests).unwrap_or(0.0),
        requests_simulated: over(model, &requests).unwrap_or(0.0),
        bound,
        bias: None,
        low: None,
        high: None,
        noise: None,
        real_noise: None,
        is_between_seeds: false,
        seeds_to_decide: None,
    }
}

/// How far the simulator is off in one figure, or why that is not known.
fn found(samples: &[Sample], role: usize, figure: Figure) -> Found {
    let requests = |runs: Runs| {
        let counts = samples.iter().flat_map(runs).map(|run| run.roles[role].requests as f64);
        mean(&counts.collect::<Vec<f64>>()).unwrap_or(0.0)
    };
    let (real, model) = (requests(|sample| &sample.real), requests(|sample| &sample.copies));
    let part = taken(samples);
    if let Some((verdict, why)) = too_few(figure, real, model) {
        if verdict == Verdict::Biased && part >= MUCH {
            return Found::Said(Verdict::Undecided, format!("{why}; {}", told_of_others(part)));
        }
        return Found::Said(verdict, why);
    }
    let values =
        |runs: &[Observed]| runs.iter().map(|run| figure.value(&run.roles[role])).collect::<Option<Vec<f64>>>();
    let draws =
        samples.iter().map(|sample| Some(Draws { model: values(&sample.copies)?, real: values(&sample.real)? }));
    let Some(draws) = draws.collect::<Option<Vec<Draws>>>() else {
        return Found::Said(Verdict::Undecided, "in some runs no request ended".into());
    };
    match Bias::of(figure.scale(), &draws) {
        Some(bias) if figure == Figure::Share => Found::Bias(bias.doubting(part, part)),
        Some(bias) => Found::Bias(bias.doubting(0.0, 1.0 / (1.0 - part) - 1.0)),
        None => Found::Said(Verdict::Undecided, "there is no ratio to a time of zero".into()),
    }
}

/// The verdict that the numbers of requests alone decide, on average over the runs. Where one of the two has enough and
/// the other has hardly any, that is a difference and no lack.
fn too_few(figure: Figure, real: f64, simulated: f64) -> Option<(Verdict, String)> {
    let least = figure.least_requests() as f64;
    let (fewer, more) = (real.min(simulated), real.max(simulated));
    let told = format!("{real:.0} requests in the kernel and {simulated:.0} in the simulator");
    match () {
        () if fewer >= least => None,
        () if more == 0.0 => Some((Verdict::NotJudged, "no request ended".into())),
        () if more >= 2.0 * least || (fewer == 0.0 && more >= least) => Some((Verdict::Biased, told)),
        () => Some((Verdict::NotJudged, format!("{told}, fewer than {least}"))),
    }
}

/// Adds what the interval says, of one of the cell's figures, where others took a part of the real runs.
fn tell(report: &mut FigureReport, bias: &Bias, (bound, figures): (f64, usize), part: f64) {
    (report.bias, report.low, report.high) = (Some(bias.estimate), Some(bias.low), Some(bias.high));
    (report.noise, report.real_noise) = (Some(bias.noise), bias.real_noise);
    report.is_between_seeds = bias.basis == Basis::Between;
    report.verdict = match bias.against(bound, figures) {
        Equivalence::Within => Verdict::Agrees,
        Equivalence::Outside => Verdict::Biased,
        Equivalence::Undecided => Verdict::Undecided,
    };
    if report.verdict == Verdict::Undecided {
        report.seeds_to_decide = bias.seeds_to_decide(bound, figures);
        report.why = match bias.against(bound, 1) {
            Equivalence::Outside => Some(format!("of {figures} figures one is so far out by chance")),
            _ => (part > 0.0).then(|| told_of_others(part)),
        };
    }
}

#[cfg(test)]
#[path = "figure_tests.rs"]
mod tests;
