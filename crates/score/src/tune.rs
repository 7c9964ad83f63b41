//! Looks for the parameters with the highest score, and judges them by scenarios that it did not look at.
//!
//! The first trial is the policy as it is. Some trials are then spread evenly over all that the parameters may be, and the
//! others are chosen by a tree-structured Parzen estimator from what is known by then (Bergstra et al., Algorithms for
//! Hyper-Parameter Optimization, 2011). The same seed chooses the same trials, whatever has been kept from before.

use crate::ScoreError;
use crate::examine::{Examiner, Which};
use crate::score::Set;
use crate::space::{Space, with};
use rand::SeedableRng;
use rand::rngs::ChaCha12Rng;
use schedlab_campaign::Runner;
use schedlab_metrics::statistics::{mean, sample_sd, student};
use schedlab_model::rng::Rng;
use schedlab_policy::PolicySpec;
use schedlab_sweep::Axis;
use schedlab_venue::Policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tpe::{TpeOptimizer, categorical_range, histogram_estimator, parzen_estimator, range};

/// The form of what is kept.
const FORM: &str = "schedlab.tune/1";

/// What a score of 0 counts in the eyes of the optimiser: worse than any that is one.
const FAILED: f64 = 20.0;

/// Trials that are spread evenly over the space before the optimiser chooses.
const SPREAD: usize = 10;
/// Further ones for each parameter.
const SPREAD_EACH: usize = 2;

/// How often another draw is made where one was tried before.
const DRAWS: usize = 64;

/// The level of intervals.
const LEVEL: f64 = 0.95;

/// How to look.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many trials.
    pub trials: u32,
    /// The seed of the trials.
    pub seed: u64,
}

/// Settings and their score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// The parameters, each with its value.
    pub settings: Vec<(String, String)>,
    /// The score in the scenarios that make it.
    pub score: f64,
    /// Why it is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What is known, and what follows from it at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tuned {
    schema: String,
    /// Everything that decides a score but the settings: known trials of another subject say nothing.
    subject: String,
    /// The policy, as it was written.
    pub policy: String,
    /// The policy whose score is 1.
    pub reference: String,
    /// The seed of the trials.
    pub seed: u64,
    /// What was tried, in order. The first one has no settings: the policy as it is. At the end come settings that score higher
    /// than the best that the search chose, with one of its parameters back at the default.
    pub trials: Vec<Trial>,
    /// The end of it; absent while it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The best policy, with its settings.
    pub policy: String,
    /// Its score, and that of the policy as it is.
    pub score: f64,
    /// See [`Answer::score`].
    pub score_before: f64,
    /// The same in the scenarios that only check.
    pub held_out: f64,
    /// See [`Answer::held_out`].
    pub held_out_before: f64,
    /// How many times better it is there, scenario by scenario.
    pub gains: Vec<(String, f64)>,
    /// The ends of the 95 % interval of the mean of these, over scenarios; absent where there are too few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<[f64; 2]>,
    /// Whether it is better in the held-out scenarios.
    pub verdict: Verdict,
    /// What each changed parameter contributes: the score with its default, all else as in the best.
    pub back: Vec<Back>,
}

/// Whether what was found is better in scenarios that played no part in finding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No settings score higher than the policy as it is.
    Unchanged,
    /// It is better there, too.
    Better,
    /// It is not: the settings fit the scenarios that they were found in.
    Overfit,
    /// The scenarios that only check leave it open.
    Open,
}

/// The best settings with one parameter back at its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Back {
    /// Which parameter.
    pub parameter: String,
    /// What it is in the best settings.
    pub best: String,
    /// Its default.
    pub default: String,
    /// The score with the default.
    pub score: f64,
}

/// One optimiser for each parameter.
struct Optimiser<'a> {
    space: &'a Space,
    dimensions: Vec<TpeOptimizer>,
    rng: ChaCha12Rng,
    /// The places of the trials that are spread evenly.
    spread: Vec<Vec<f64>>,
}

impl<'a> Optimiser<'a> {
    fn new(space: &'a Space, options: Options) -> Optimiser<'a> {
        let dimension = |axis: &Axis| match axis {
            Axis::List(values) => {
                TpeOptimizer::new(histogram_estimator(), categorical_range(values.len()).expect("a list has values"))
            }
            Axis::Range(_) => TpeOptimizer::new(parzen_estimator(), range(0.0, 1.0).expect("0 is less than 1")),
        };
        let dimensions = space.parameters.iter().map(|own| dimension(&own.axis)).collect();
        let count = (SPREAD + SPREAD_EACH * space.parameters.len()).min(options.trials as usize / 2).max(1);
        Optimiser {
            space,
            dimensions,
            rng: ChaCha12Rng::seed_from_u64(options.seed),
            spread: spread(space.parameters.len(), count, options.seed),
        }
    }

    /// The next places to try.
    fn ask(&mut self, number: usize) -> Vec<f64> {
        if let Some(places) = self.spread.get(number) {
            return places.clone();
        }
        let rng = &mut self.rng;
        let axes = self.space.parameters.iter().map(|own| &own.axis);
        let ask = |(dimension, axis): (&mut TpeOptimizer, &Axis)| {
            let drawn = dimension.ask(rng).expect("these estimators do not fail");
            match axis {
                Axis::List(values) => drawn / values.len() as f64,
                Axis::Range(_) => drawn,
            }
        };
        self.dimensions.iter_mut().zip(axes).map(ask).map(|place| place.clamp(0.0, 1.0 - f64::EPSILON)).collect()
    }

    /// What settings scored. A parameter with a value on no axis was not chosen by the search, and teaches nothing.
    fn tell(&mut self, settings: &[(String, String)], score: f64) {
        let loss = if score > 0.0 { -score.ln() } else { FAILED };
        for (dimension, own) in self.dimensions.iter_mut().zip(&self.space.parameters) {
            let place = match settings.iter().find(|(key, _)| *key == own.name) {
                Some((_, word)) => own.place(word),
                None => own.default_place,
            };
            let scaled = place.map_or(f64::NAN, |place| match &own.axis {
                Axis::List(values) => (place * values.len() as f64).floor(),
                Axis::Range(_) => place,
            });
            dimension.tell(scaled, loss).expect("places are inside of their ranges");
        }
    }
}

/// Points that cover each axis evenly.
fn spread(dimensions: usize, count: usize, seed: u64) -> Vec<Vec<f64>> {
    let axis = |number: usize| Rng::split(seed, &format!("tune/{number}")).evenly(count);
    let axes: Vec<Vec<f64>> = (0..dimensions).map(axis).collect();
    (0..count).map(|point| axes.iter().map(|axis| axis[point]).collect()).collect()
}

/// A search for better parameters.
struct Search<'a> {
    examiner: &'a Examiner,
    policy: &'a Policy,
    spec: &'a PolicySpec,
    runner: &'a Runner<'a>,
    /// What is known.
    known: Vec<Trial>,
}

impl Search<'_> {
    fn settled(&self, settings: &[(String, String)]) -> Result<Policy, ScoreError> {
        Ok(self.policy.settled(&with(self.spec, settings))?)
    }

    /// The score of settings in the scenarios that make it.
    fn trial(&mut self, settings: &[(String, String)]) -> Result<Trial, ScoreError> {
        if let Some(known) = self.known.iter().find(|known| known.settings == settings) {
            return Ok(known.clone());
        }
        let Set { score, failures, .. } = self.set(settings, Which::Scored)?;
        let failure = failures.first().map(|failure| match &failure.scenario {
            Some(scenario) => format!("{scenario}: {}", failure.why),
            None => failure.why.clone(),
        });
        self.known.push(Trial { settings: settings.to_vec(), score, failure });
        Ok(self.known[self.known.len() - 1].clone())
    }

    fn set(&self, settings: &[(String, String)], which: Which) -> Result<Set, ScoreError> {
        self.examiner.set_of(&self.settled(settings)?, which, self.runner)
    }
}

/// Tunes a policy. `before` is what is kept of the same search; `keep` gets all that is known after each trial.
///
/// # Errors
///
/// What says nothing about the policy, or what `keep` reports.
pub fn tune(
    examiner: &Examiner,
    (policy, spec): (&Policy, &PolicySpec),
    space: &Space,
    options: Options,
    runner: &Runner,
    before: Option<Tuned>,
    keep: &mut dyn FnMut(&Tuned) -> Result<(), ScoreError>,
) -> Result<Tuned, ScoreError> {
    let mut tuned = Tuned::new(examiner, (policy, spec), options);
    let same = before.filter(|before| tuned.difference(before).is_none());
    let known = same.map_or(Vec::new(), |before| before.trials);
    let mut search = Search { examiner, policy, spec, runner, known };
    let mut optimiser = Optimiser::new(space, options);
    let mut drawn = 0;
    while tuned.trials.len() < options.trials as usize {
        let settings = match tuned.trials.len() {
            0 => Some(Vec::new()),
            _ => next(&mut optimiser, &mut drawn, &tuned.trials, space),
        };
        let Some(settings) = settings else { break };
        let trial = search.trial(&settings)?;
        optimiser.tell(&settings, trial.score);
        tuned.trials.push(trial);
        keep(&tuned)?;
    }
    // What is known beyond these, of a search for more trials or of an earlier answer, stays known.
    let is_new = |known: &&Trial| tuned.trials.iter().all(|trial| trial.settings != known.settings);
    let rest: Vec<Trial> = search.known.iter().filter(is_new).cloned().collect();
    tuned.trials.extend(rest);
    let best = settle(&mut tuned.trials, &mut |settings| search.trial(settings))?;
    tuned.answer = Some(answer(&search, space, &tuned.trials[0], best)?);
    keep(&tuned)?;
    Ok(tuned)
}

/// Settings that were not tried; none where all were, or nearly.
fn next(
    optimiser: &mut Optimiser,
    drawn: &mut usize,
    trials: &[Trial],
    space: &Space,
) -> Option<Vec<(String, String)>> {
    for _ in 0..DRAWS {
        let places = optimiser.ask(*drawn);
        *drawn += 1;
        let settings = space.changed(&space.settings(&places));
        if trials.iter().all(|trial| trial.settings != settings) {
            return Some(settings);
        }
        if space.combinations().is_some_and(|all| trials.len() >= all) {
            break;
        }
    }
    None
}

impl Tuned {
    fn new(examiner: &Examiner, (policy, spec): (&Policy, &PolicySpec), options: Options) -> Tuned {
        Tuned {
            schema: FORM.into(),
            subject: format!("{}, score {:.16}", policy.described(), examiner.identity()),
            policy: spec.to_string(),
            reference: examiner.set.reference.to_string(),
            seed: options.seed,
            trials: Vec::new(),
            answer: None,
        }
    }

    /// What this has that the search does not continue which is asked for; nothing if it continues it.
    pub fn is_another(
        &self,
        examiner: &Examiner,
        (policy, spec): (&Policy, &PolicySpec),
        options: Options,
    ) -> Option<String> {
        Tuned::new(examiner, (policy, spec), options).difference(self)
    }

    /// The same of what is kept from before.
    fn difference(&self, before: &Tuned) -> Option<String> {
        let is_other = (&self.schema, &self.subject) != (&before.schema, &before.subject);
        let named = [("policy", &self.policy, &before.policy), ("reference", &self.reference, &before.reference)];
        let named = named.into_iter().filter(|(_, own, other)| is_other && own != other);
        let mut parts: Vec<String> = named.map(|(what, _, other)| format!("the {what} {other}")).collect();
        if is_other && parts.is_empty() {
            parts.push("another score's file, scenario, build of the policy, or version of schedlab".into());
        }
        if self.seed != before.seed {
            parts.push(format!("seed {}", before.seed));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// The trial with the highest score; of several the first.
    pub fn best(&self) -> &Trial {
        best(&self.trials)
    }
}

fn best(trials: &[Trial]) -> &Trial {
    trials.iter().reduce(|best, trial| if trial.score > best.score { trial } else { best }).expect("there is one trial")
}

/// Gives the trial of some settings.
type Try<'a> = dyn FnMut(&[(String, String)]) -> Result<Trial, ScoreError> + 'a;

/// The best settings, and what they score with each parameter back at its default. Where that scores higher it becomes
/// a trial and the best one, until no default does.
fn settle(trials: &mut Vec<Trial>, trial: &mut Try<'_>) -> Result<(Trial, Vec<Trial>), ScoreError> {
    loop {
        let best = best(trials).clone();
        let without = |(key, _): &(String, String)| {
            let others: Vec<_> = best.settings.iter().filter(|(other, _)| other != key).cloned().collect();
            trial(&others)
        };
        let back = best.settings.iter().map(without).collect::<Result<Vec<_>, _>>()?;
        let higher = back.iter().filter(|back| back.score > best.score);
        match higher.reduce(|most, back| if back.score > most.score { back } else { most }) {
            Some(better) => trials.push(better.clone()),
            None => return Ok((best, back)),
        }
    }
}

/// What follows from the trials.
fn answer(
    search: &Search,
    space: &Space,
    before: &Trial,
    (best, back): (Trial, Vec<Trial>),
) -> Result<Answer, ScoreError> {
    let back = best.settings.iter().zip(back).map(|((key, word), Trial { score, .. })| {
        let default =
            space.parameters.iter().find(|own| own.name == *key).map_or(String::new(), |own| own.default.clone());
        Back { parameter: key.clone(), best: word.clone(), default, score }
    });
    let back = back.collect();
    let score_before = before.score;
    let (now, before) = (search.set(&best.settings, Which::HeldOut)?, search.set(&[], Which::HeldOut)?);
    let gains = gains(&now, &before);
    let logs: Vec<f64> = gains.iter().map(|(_, gain)| gain.ln()).collect();
    let gain = interval(&logs);
    Ok(Answer {
        policy: with(search.spec, &best.settings).to_string(),
        score: best.score,
        score_before,
        held_out: now.score,
        held_out_before: before.score,
        verdict: verdict(!best.settings.is_empty(), &now, &before, gain),
        gains,
        gain: gain.map(|ends| ends.map(f64::exp)),
        back,
    })
}

/// How many times better one is than the other, in each scenario that both have.
fn gains(now: &Set, before: &Set) -> Vec<(String, f64)> {
    let of = |name: &String| before.by_scenario.iter().find(|(own, _)| own == name).map(|(_, log)| *log);
    now.by_scenario.iter().filter_map(|(name, log)| Some((name.clone(), (log - of(name)?).exp()))).collect()
}

/// The ends of the interval of a mean, by Student's t.
fn interval(values: &[f64]) -> Option<[f64; 2]> {
    let (mean, sd) = (mean(values)?, sample_sd(values)?);
    let n = values.len() as f64;
    let half = student::quantile(0.5 + LEVEL / 2.0, n - 1.0) * sd / n.sqrt();
    Some([mean - half, mean + half])
}

fn verdict(is_changed: bool, now: &Set, before: &Set, gain: Option<[f64; 2]>) -> Verdict {
    match gain {
        _ if !is_changed => Verdict::Unchanged,
        _ if now.score == 0.0 && before.score > 0.0 => Verdict::Overfit,
        _ if now.score > 0.0 && before.score == 0.0 => Verdict::Better,
        Some([low, _]) if low > 0.0 => Verdict::Better,
        Some([_, high]) if high < 0.0 => Verdict::Overfit,
        _ => Verdict::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_spread_evenly() {
        let points = spread(3, 20, 7);
        for axis in 0..3 {
            let mut parts: Vec<usize> = points.iter().map(|point| (point[axis] * 20.0) as usize).collect();
            parts.sort_unstable();
            assert_eq!(parts, (0..20).collect::<Vec<_>>());
        }
        assert_eq!(points, spread(3, 20, 7));
        assert_ne!(points, spread(3, 20, 8));
    }

    /// Of `a=2,b=3,c=1` each parameter but `a` makes the score worse: without them it is the best.
    #[test]
    fn defaults_that_score_higher_are_taken() {
        let trial = |settings: &[(String, String)]| {
            let of = |key: &str| if settings.iter().any(|(own, _)| own == key) { 1.0 } else { 0.0 };
            Ok(Trial {
                settings: settings.to_vec(),
                score: 1.0 + of("a") - 0.5 * of("b") - 0.25 * of("c"),
                failure: None,
            })
        };
        let all = [("a", "2"), ("b", "3"), ("c", "1")].map(|(key, word)| (key.to_string(), word.to_string()));
        let mut trials = vec![trial(&[]).unwrap(), trial(&all).unwrap()];
        let (best, back) = settle(&mut trials, &mut |settings| trial(settings)).unwrap();
        assert_eq!((best.settings.as_slice(), best.score), (&all[..1], 2.0));
        assert_eq!(back.iter().map(|back| back.score).collect::<Vec<_>>(), [1.0]);
        assert_eq!(trials.iter().map(|trial| trial.score).collect::<Vec<_>>(), [1.0, 1.25, 1.75, 2.0]);
    }

    #[test]
    fn another_search_says_what_differs() {
        let own = Tuned {
            schema: FORM.into(),
            subject: "a".into(),
            policy: "rr".into(),
            reference: "cfs".into(),
            seed: 1,
            trials: vec![Trial { settings: Vec::new(), score: 1.0, failure: None }],
            answer: None,
        };
        assert_eq!(own.difference(&own.clone()), None);
        let told = |other: Tuned| own.difference(&other).unwrap_or_default();
        let other = Tuned { subject: "b".into(), policy: "mlfq".into(), seed: 4, ..own.clone() };
        assert_eq!(told(other), "the policy mlfq, seed 4");
        assert!(told(Tuned { subject: "b".into(), ..own.clone() }).starts_with("another score's file, "));
    }

    /// t with two degrees of freedom is 4.303: mean 2, standard deviation 1, three values.
    #[test]
    fn an_interval_is_that_of_student() {
        let [low, high] = interval(&[1.0, 2.0, 3.0]).unwrap();
        assert!((low - (2.0 - 4.302_65 / 3_f64.sqrt())).abs() < 1e-4 && (high + low - 4.0).abs() < 1e-12);
        assert_eq!(interval(&[1.0]), None);
    }

    #[test]
    fn scenarios_that_played_no_part_decide() {
        let set = |score| Set { score, ..Set::failed(String::new()) };
        let judged = |now, before, gain| verdict(true, &set(now), &set(before), gain);
        assert_eq!(judged(1.2, 1.0, Some([0.1, 0.3])), Verdict::Better);
        assert_eq!(judged(1.2, 1.0, Some([-0.1, 0.3])), Verdict::Open);
        assert_eq!(judged(0.8, 1.0, Some([-0.4, -0.1])), Verdict::Overfit);
        assert_eq!(judged(1.2, 1.0, None), Verdict::Open);
        assert_eq!(judged(0.0, 1.0, None), Verdict::Overfit);
        assert_eq!(judged(1.0, 0.0, None), Verdict::Better);
        assert_eq!(verdict(false, &set(1.0), &set(1.0), None), Verdict::Unchanged);
    }
}
