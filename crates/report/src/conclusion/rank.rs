//! The candidates in the order of a question, from the best to the worst, and which of them are known to be behind the best.

use super::question::{self, Asked, Question};
use crate::caution::starved;
use crate::comparison::Candidate;
use crate::gap::{Evidence, Gap};
use crate::others::{self, Kind};
use crate::pair::Pair;
use schedlab_model::metric::{Better, Metric, Unit};
use schedlab_model::outcome::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A smaller factor than this makes no policy the best. Repeated runs of one scheduler on a quiet machine differ by up
/// to one per cent, and less than two is no reason to choose a scheduler.
pub const MATTERS: f64 = 1.02;

/// Shorter times are as good as none: a microsecond is what a switch takes.
const LEAST_TIME_NS: f64 = 1_000.0;

/// Smaller fractions, rates per second and ratios are as good as none.
const LEAST_NUMBER: f64 = 0.001;

/// The candidates in the order of a question, for a role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ranking {
    /// The role.
    pub role: String,
    /// What was asked.
    pub question: Question,
    /// The path of the metric in the role that answers it: `response_ns.p99`.
    pub metric: String,
    /// How far the worst is from the best: the logarithm of the ratio. Rankings are in its order.
    pub weight: f64,
    /// The best first. Of a question that has no best the largest value is first.
    pub ranks: Vec<Rank>,
    /// All that in words.
    pub words: String,
}

/// A candidate in a ranking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// The policy as in the comparison.
    pub policy: String,
    /// Its value; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// How it stands to the first.
    pub standing: Standing,
    /// How far it is from the first, and how sure that is; absent for the first and where nothing is to be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
}

/// How a candidate stands to the first of a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is the first.
    First,
    /// The difference is too small to matter.
    Alike,
    /// The difference may be chance: its interval, or its range under small changes, holds none at all.
    Indistinguishable,
    /// The difference may be what others took of the machine.
    Disturbed,
    /// It is behind, as far as is known.
    Behind,
    /// It lets tasks of the role starve, so that its response times show only what ended: it has no rank.
    Starves,
    /// Too few of its requests ended for a tail.
    TooFew,
    /// There is no such number: no request ended, or it was not measured.
    Unknown,
}

/// All rankings of all roles. `random` says whether chance had a part.
pub(crate) fn all(candidates: &[Candidate], random: bool) -> Vec<Ranking> {
    let Some(first) = candidates.first().filter(|_| candidates.len() > 1) else { return Vec::new() };
    let of_role = |role: usize| {
        let ranked = ranked(candidates, role);
        let asked = question::of_role(candidates, role, &ranked).into_iter();
        let ranking = |asked| Inquiry { candidates, role, random, asked, ranked: &ranked }.ranking();
        asked.filter_map(ranking).collect::<Vec<_>>()
    };
    (0..first.result.roles().len()).flat_map(of_role).collect()
}

/// A question that is put to all candidates.
struct Inquiry<'a> {
    candidates: &'a [Candidate<'a>],
    role: usize,
    random: bool,
    asked: Asked,
    /// See [`ranked`].
    ranked: &'a [bool],
}

impl Inquiry<'_> {
    /// None where no policy has a value that can be ranked.
    fn ranking(&self) -> Option<Ranking> {
        let (question, path) = self.asked;
        let metric = question::metric(path);
        let all = 0..self.candidates.len();
        let known = |index: usize| Some((index, self.value(path, index).filter(|_| self.unranked(index).is_none())?));
        let mut order: Vec<(usize, f64)> = all.clone().filter_map(known).collect();
        order.sort_by(|(_, a), (_, b)| match metric.better {
            Better::Lower => a.total_cmp(b),
            Better::Higher | Better::Neither => b.total_cmp(a),
        });
        let (&first, &(_, worst)) = (order.first()?, order.last()?);
        let ranks = order.iter().map(|one| self.rank(first, *one));
        let out = all.filter_map(|index| {
            let (policy, standing) = (self.candidates[index].label.clone(), self.unranked(index)?);
            Some(Rank { policy, value: self.value(path, index), standing, gap: None })
        });
        Some(Ranking {
            role: self.candidates[0].result.roles()[self.role].name.into(),
            question,
            metric: path.into(),
            weight: factor(first.1, worst, metric).ln(),
            ranks: ranks.chain(out).collect(),
            words: String::new(),
        })
    }

    fn value(&self, path: &str, index: usize) -> Option<f64> {
        self.candidates[index].result.roles()[self.role].metrics.get(path)
    }

    /// Why a candidate has no rank; none where it has one.
    fn unranked(&self, index: usize) -> Option<Standing> {
        let (question, path) = self.asked;
        let values = question.sample().and_then(|sample| self.value(sample, index)).unwrap_or(0.0);
        match self.value(path, index) {
            None => Some(Standing::Unknown),
            Some(_) if question.is_of_responses() && !self.ranked[index] => Some(Standing::Starves),
            Some(_) if !question.is_borne(path, values) => Some(Standing::TooFew),
            Some(_) => None,
        }
    }

    /// A candidate next to the first, both with their values.
    fn rank(&self, (first, best): (usize, f64), (index, value): (usize, f64)) -> Rank {
        let Inquiry { candidates, role, random, asked: (_, path), .. } = *self;
        let pair = Pair { baseline: &candidates[first], other: &candidates[index], role, random };
        let gap = (index != first).then(|| pair.gap(path)).flatten();
        let standing = match &gap {
            _ if index == first => Standing::First,
            Some(gap) => Standing::of(factor(best, value, question::metric(path)), gap),
            // They have no run in common.
            None => Standing::Indistinguishable,
        };
        Rank { policy: candidates[index].label.clone(), value: Some(value), standing, gap }
    }
}

/// Of each candidate whether its response times of a role can be ranked: where tasks starve they show only what ended. If
/// tasks starve under all, all are ranked.
fn ranked(candidates: &[Candidate], role: usize) -> Vec<bool> {
    let starves = |candidate: &Candidate| starved(&candidate.result.roles()[role], &candidate.label).is_some();
    let starving: Vec<bool> = candidates.iter().map(starves).collect();
    let all = starving.iter().all(|starves| *starves);
    starving.into_iter().map(|starves| all || !starves).collect()
}

impl Ranking {
    /// The metric that answers its question.
    pub fn metric(&self) -> &'static Metric {
        question::metric(&self.metric)
    }

    /// Whether there is a best to its question.
    pub fn has_best(&self) -> bool {
        self.metric().better != Better::Neither
    }

    /// Whether a policy is behind the first.
    pub fn is_decided(&self) -> bool {
        self.ranks.iter().any(|rank| rank.standing == Standing::Behind)
    }

    /// The policies that none is known to beat: the first, and those alike or indistinguishable from it.
    pub fn leaders(&self) -> impl Iterator<Item = &Rank> {
        self.ranks.iter().filter(|rank| rank.standing.leads())
    }

    /// The policies behind the first.
    pub fn behind(&self) -> impl Iterator<Item = &Rank> {
        self.ranks.iter().filter(|rank| rank.standing == Standing::Behind)
    }

    /// Whether a policy is among the leaders.
    pub fn is_led_by(&self, policy: &str) -> bool {
        self.leaders().any(|rank| rank.policy == policy)
    }

    /// Whether a policy is known to be behind, or has no rank.
    pub(super) fn lags(&self, policy: &str) -> bool {
        !self.is_led_by(policy)
    }

    /// Takes back what other tasks on the machine may explain: policies behind the first by no more than those took.
    /// Gives the reasons.
    pub(crate) fn doubt<'a>(&mut self, result: impl Fn(&str) -> Option<&'a Outcome>) -> Vec<String> {
        let (metric, role) = (self.metric(), self.role.clone());
        let kind = Kind { better: metric.better, is_extreme: self.question.is_of_extremes() };
        let Some((first, ranks)) = self.ranks.split_first_mut().filter(|_| metric.better != Better::Neither) else {
            return Vec::new();
        };
        let mut reasons = Vec::new();
        let is_claimed = |rank: &&mut Rank| matches!(rank.standing, Standing::Behind | Standing::Disturbed);
        for rank in ranks.iter_mut().filter(is_claimed) {
            let sides = [(&first.policy, result(&first.policy)), (&rank.policy, result(&rank.policy))];
            let [(baseline, Some(one)), (policy, Some(other))] = sides else { continue };
            let reason = rank.gap.as_ref().and_then(|gap| others::doubt(gap, kind, [(baseline, one), (policy, other)]));
            if let Some(reason) = reason {
                rank.standing = Standing::Disturbed;
                reasons.push(format!("{role}, {}: {reason}", metric.name));
            }
        }
        reasons
    }

    /// What its gaps rest on.
    pub(crate) fn evidence(&self) -> impl Iterator<Item = Evidence> {
        self.ranks.iter().filter_map(|rank| Some(rank.gap.as_ref()?.evidence))
    }

    /// Takes over better known gaps between its first and others.
    pub(crate) fn take_over(&mut self, known: impl Fn(&Ranking, &str, &str) -> Option<Gap>) {
        let first = &self.ranks[0];
        let better: Vec<Option<Gap>> = self.ranks.iter().map(|rank| known(self, &first.policy, &rank.policy)).collect();
        let (best, metric) = (first.value, self.metric());
        for (rank, gap) in self.ranks.iter_mut().zip(better) {
            if let (Some(gap), Some(own), Some(best), Some(value)) = (gap, &rank.gap, best, rank.value)
                && own.evidence == Evidence::Single
            {
                (rank.standing, rank.gap) = (Standing::of(factor(best, value, metric), &gap), Some(gap));
            }
        }
    }
}

impl Standing {
    /// The standing of a candidate with a value that is away by a factor of at least one.
    fn of(factor: f64, gap: &Gap) -> Standing {
        let is_wide = || gap.range().is_none_or(|(low, high)| low < 1.0 / MATTERS || high > MATTERS);
        match (factor < MATTERS, gap.is_more_than_chance()) {
            (true, Some(false)) if factor > 1.0 && is_wide() => Standing::Indistinguishable,
            (true, _) => Standing::Alike,
            (false, Some(false)) => Standing::Indistinguishable,
            (false, _) => Standing::Behind,
        }
    }

    /// Whether no policy is known to be better.
    fn leads(self) -> bool {
        matches!(self, Standing::First | Standing::Alike | Standing::Indistinguishable | Standing::Disturbed)
    }
}

/// By which factor of at least one two values are apart; less than what is as good as nothing counts as that.
fn factor(one: f64, other: f64, metric: &Metric) -> f64 {
    let least = least(metric);
    let (one, other) = (one.max(least), other.max(least));
    (one / other).max(other / one)
}

/// What is as good as nothing.
fn least(metric: &Metric) -> f64 {
    match metric.unit {
        Unit::Ns => LEAST_TIME_NS,
        Unit::Count => 1.0,
        Unit::Fraction | Unit::PerSecond | Unit::Ratio => LEAST_NUMBER,
    }
}
