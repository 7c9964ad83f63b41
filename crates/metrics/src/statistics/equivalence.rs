//! Whether a model agrees with what it is a model of: a bias with its interval, compared with a bound.
//!
//! A model that is right still differs from reality in every single run, since each run is one draw of chance. How far apart
//! draws are is seen from copies of the model in which only chance differs. Under seed s let x_sk be a figure of copy k of K,
//! and y_sm that of real run m of M; figures that are compared by their ratio are taken as logarithms. Then
//!
//! ```text
//! d_s = mean_k x_sk − mean_m y_sm              how far the model is off under this seed
//! v_s = variance of x_sk over k (K − 1)        what chance does to the model
//! w_s = variance of y_sm over m (M − 1)        what chance does to reality; v_s where M = 1
//! b   = mean_s d_s                             the bias
//! se² = Σ_s (v_s / K + w_s / M) / S²           so v_s · (1 + 1/K) where M = 1
//! ```
//!
//! Where M = 1 the real run is taken for one more draw of what the copies are draws of, which is what "the model is right" says;
//! there are S·(K − 1) degrees of freedom. Where M > 1 both variances are measured, and the degrees are those of Welch and
//! Satterthwaite ("An approximate distribution of estimates of variance components", Biometrics Bulletin 2, 1946). The
//! interval is b ± t·se with Student's t at 95 %, so that it has a level of 90 %.
//!
//! Logarithms because both sides then count alike: with x and y drawn from the same distribution, whatever it is, the mean of
//! ln x − ln y is zero, while that of x/y − 1 is about the square of their coefficient of variation.
//!
//! The copies may know less of chance than reality does, or the bias may be another under each seed. Then the d_s differ by more
//! than the v_s explain. Their own variance u with S − 1 degrees of freedom is compared with the mean of v_s/K + w_s/M by an F
//! test at 1 %, and where it is greater, se² is u/S and the degrees are S − 1. So what is not understood widens an interval and
//! never decides.
//!
//! The verdict is that of two one-sided tests at 5 % (Schuirmann, "A comparison of the two one-sided tests procedure and the
//! power approach for assessing the equivalence of average bioavailability", J. Pharmacokinetics and Biopharmaceutics 15,
//! 1987): the model agrees when the whole interval lies within the bounds, is biased when all of it lies outside, and else it is
//! undecided. Where nothing varies the interval is a point and there is always a verdict.
//!
//! Several figures that must all agree need no correction, as each has to pass its own test (Berger, "Multiparameter hypothesis
//! testing and acceptance sampling", Technometrics 24, 1982). That one of n is biased does: of ten noisy figures of a right
//! model one lies outside by chance. So for "biased" each is tested at 5 %/n (Bonferroni), and what passes the one test and not
//! the other is undecided.

use super::{fisher, mean, sample_sd, student};

/// The level of the one-sided tests.
const LEVEL: f64 = 0.05;
/// The level of the test whether the copies explain how seeds differ.
const EXPLAINED_LEVEL: f64 = 0.01;
/// The most seeds that are practical for a decision.
const MOST_SEEDS: u32 = 10_000;

/// How two values of a figure are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// By their ratio less one: +0.05 is 5 % more.
    Ratio,
    /// By their difference.
    Difference,
}

impl Scale {
    /// A value on the scale on which differences are taken; none for a ratio to nothing.
    fn of(self, value: f64) -> Option<f64> {
        match self {
            Scale::Ratio => (value > 0.0).then(|| libm::log(value)),
            Scale::Difference => Some(value),
        }
    }

    /// A deviation on that scale, as the deviation from a bound is: the inverse of [`Scale::bound`].
    fn deviation(self, on_scale: f64) -> f64 {
        match self {
            Scale::Ratio => libm::expm1(on_scale),
            Scale::Difference => on_scale,
        }
    }

    /// A deviation from no difference on the scale.
    fn bound(self, deviation: f64) -> f64 {
        match self {
            Scale::Ratio => libm::log1p(deviation),
            Scale::Difference => deviation,
        }
    }
}

/// A figure under one seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draws {
    /// In each copy of the model; at least two.
    pub model: Vec<f64>,
    /// In each real run; at least one.
    pub real: Vec<f64>,
}

/// What an interval is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// How copies differ under one seed.
    Within,
    /// How seeds differ, which is more than copies explain.
    Between,
}

/// How far a model is off.
#[derive(Clone, Debug, PartialEq)]
pub struct Bias {
    /// b, as a ratio less one or as a difference.
    pub estimate: f64,
    /// The lower end of its interval of 90 %.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// √(mean v_s): what chance does to the model in one run. On the scale of logarithms, where it is a coefficient of
    /// variation as long as it is small.
    pub noise: f64,
    /// √(mean w_s): what chance does to reality in one run, where that was measured.
    pub real_noise: Option<f64>,
    /// What the interval is made of.
    pub basis: Basis,
    /// Degrees of freedom.
    pub degrees: f64,
    scale: Scale,
    /// b and se on the scale.
    on_scale: (f64, f64),
    /// How much further below and above the truth may lie for another reason than chance, on the scale.
    doubt: (f64, f64),
    seeds: usize,
}

/// What an interval says about a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equivalence {
    /// The whole interval lies within.
    Within,
    /// The whole interval lies outside.
    Outside,
    /// It lies on the bound.
    Undecided,
}

impl Bias {
    /// The bias over all seeds; none where a seed has too few values, or a ratio is one to nothing.
    pub fn of(scale: Scale, seeds: &[Draws]) -> Option<Bias> {
        let on_scale = |values: &[f64]| values.iter().map(|value| scale.of(*value)).collect::<Option<Vec<f64>>>();
        let parts = seeds.iter().map(|seed| Part::of(&on_scale(&seed.model)?, &on_scale(&seed.real)?));
        let parts: Vec<Part> = parts.collect::<Option<_>>()?;
        let of = |value: fn(&Part) -> f64| mean(&parts.iter().map(value).collect::<Vec<_>>());
        let (estimate, count) = (of(|part| part.apart)?, parts.len() as f64);
        let (model, real) = (of(|part| part.model / part.copies)?, of(|part| part.real / part.runs)?);
        let within = model + real;
        let is_measured = parts.iter().all(|part| part.runs > 1.0);
        let degrees = match is_measured {
            true => {
                welch(&[(model, of(|part| part.copies - 1.0)? * count), (real, of(|part| part.runs - 1.0)? * count)])
            }
            false => of(|part| part.copies - 1.0)? * count,
        };
        let between = sample_sd(&parts.iter().map(|part| part.apart).collect::<Vec<_>>()).map(|sd| sd * sd);
        let unexplained = between.filter(|between| is_unexplained(*between, within, (count - 1.0, degrees)));
        let (variance, degrees, basis) = match unexplained {
            Some(between) => (between, count - 1.0, Basis::Between),
            None => (within, degrees, Basis::Within),
        };
        let error = (variance / count).sqrt();
        let bias = Bias {
            estimate: scale.deviation(estimate),
            low: 0.0,
            high: 0.0,
            noise: of(|part| part.model)?.sqrt(),
            real_noise: of(|part| part.real).filter(|_| is_measured).map(f64::sqrt),
            basis,
            degrees,
            scale,
            on_scale: (estimate, error),
            doubt: (0.0, 0.0),
            seeds: parts.len(),
        };
        Some(bias.doubting(0.0, 0.0))
    }

    /// The same where the bias may be lower and higher by that much, for a reason that no number of runs takes away. Both are
    /// deviations of its scale: +0.1 above is a ratio that may be a tenth greater.
    pub fn doubting(mut self, below: f64, above: f64) -> Bias {
        self.doubt = (-self.scale.bound(-below), self.scale.bound(above));
        (self.low, self.high) = self.interval(LEVEL);
        self
    }

    /// The ends of an interval whose sides each have this level, with all doubt.
    fn interval(&self, level: f64) -> (f64, f64) {
        let ((estimate, error), (below, above)) = (self.on_scale, self.doubt);
        let half = student::quantile(1.0 - level, self.degrees) * error;
        (self.scale.deviation(estimate - half - below), self.scale.deviation(estimate + half + above))
    }

    /// What is known about a bound, the same on both sides, for one of `figures` that are judged together.
    pub fn against(&self, bound: f64, figures: usize) -> Equivalence {
        let (low, high) = self.interval(LEVEL / figures.max(1) as f64);
        match () {
            () if self.low >= -bound && self.high <= bound => Equivalence::Within,
            () if low > bound || high < -bound => Equivalence::Outside,
            () => Equivalence::Undecided,
        }
    }

    /// How many seeds it would take to decide, in all, when the bias and the noise are what they seem to be; none where
    /// that is out of reach. The variance of a figure falls about as a run grows, so runs that are as many times longer
    /// do as well as as many times more seeds.
    pub fn seeds_to_decide(&self, bound: f64, figures: usize) -> Option<u32> {
        let ((estimate, error), (below, above)) = (self.on_scale, self.doubt);
        let [least, most] = [-bound, bound].map(|bound| self.scale.bound(bound));
        let inside = (most - estimate - above).min(estimate - below - least);
        let outside = (estimate - below - most).max(least - estimate - above);
        let margin = inside.max(outside);
        let level = if self.estimate.abs() <= bound { LEVEL } else { LEVEL / figures.max(1) as f64 };
        let one = error * (self.seeds as f64).sqrt();
        let decides = |seeds: &u32| {
            let seeds = f64::from(*seeds);
            let degrees = match self.basis {
                Basis::Within => self.degrees * seeds / self.seeds as f64,
                Basis::Between => seeds - 1.0,
            };
            student::quantile(1.0 - level, degrees) * one / seeds.sqrt() <= margin
        };
        first(u32::try_from(self.seeds).ok()?, MOST_SEEDS, decides)
    }
}

/// The first number of a range for which something holds that holds for all later ones, too.
fn first(from: u32, until: u32, holds: impl Fn(&u32) -> bool) -> Option<u32> {
    let (mut low, mut high) = (from, until);
    if low > high || !holds(&high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(&middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

/// What one seed says.
struct Part {
    apart: f64,
    /// v_s, and K.
    model: f64,
    copies: f64,
    /// w_s, and M.
    real: f64,
    runs: f64,
}

impl Part {
    fn of(model: &[f64], real: &[f64]) -> Option<Part> {
        let variance = |values: &[f64]| sample_sd(values).map(|sd| sd * sd);
        let of_model = variance(model)?;
        Some(Part {
            apart: mean(model)? - mean(real)?,
            model: of_model,
            copies: model.len() as f64,
            real: variance(real).unwrap_or(of_model),
            runs: real.len() as f64,
        })
    }
}

/// Whether seeds differ by more than what is seen under each of them.
fn is_unexplained(between: f64, within: f64, degrees: (f64, f64)) -> bool {
    // What is left of a difference of equal numbers.
    const ROUNDING: f64 = 1e-24;
    between > ROUNDING && fisher::upper_tail(between / within, degrees.0, degrees.1) < EXPLAINED_LEVEL
}

/// The degrees of freedom of a sum of variances, each with its own.
fn welch(parts: &[(f64, f64)]) -> f64 {
    let sum: f64 = parts.iter().map(|(variance, _)| variance).sum();
    let all = parts.iter().map(|(_, degrees)| degrees).sum();
    if sum == 0.0 {
        all
    } else {
        sum * sum / parts.iter().map(|(variance, degrees)| variance * variance / degrees).sum::<f64>()
    }
}

#[cfg(test)]
#[path = "equivalence_tests.rs"]
mod tests;
