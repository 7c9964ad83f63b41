//! A value compared with what was seen: the verdict, how firm it is, and whether a reason shows.

use crate::case::{Beside, Experiment};
use crate::claim::{Difference, Proof, Published, ValueSpec};
use crate::overhead::Missing;
use crate::page::{number, with_unit};
use crate::runner::CaseOutcome;
use crate::seen::{Look, in_each_run, middle, seen};
use crate::verdict::{Firmness, LEFT_OUT, Proved, Verdict, is_claimed, is_near, plain};
use crate::words::Words;
use toml::Table;

/// Where a value is compared with what was seen.
pub(crate) struct Judge<'a> {
    pub value: &'a ValueSpec,
    pub experiment: &'a Experiment,
    pub outcomes: &'a [CaseOutcome],
    pub words: &'a Words,
}

impl Judge<'_> {
    /// What was seen, what is to be said about it, and how firm that is.
    pub fn held(&self, published: &Published, at: &Table) -> (Option<f64>, Verdict, Option<Firmness>) {
        let Judge { value, experiment, outcomes, .. } = *self;
        let own = match seen(value, at, (experiment, outcomes), Look::Together) {
            Err(Missing::NotRun(reason)) => return (None, Verdict::NotRun { reason }, None),
            Err(Missing::Refused(reason)) => return (None, Verdict::CannotTell { reason }, None),
            Ok(own) => own,
        };
        let verdict = self.verdict(published, at, own);
        let looks = self.looks(value, at, own);
        let is_same = |seen: &&f64| self.verdict(published, at, **seen).words() == verdict.words();
        let firmness = looks.map(|(looks, beside)| Firmness {
            same: looks.iter().filter(is_same).count() as u32,
            of: looks.len() as u32,
            beside,
            low: looks.iter().copied().fold(own, f64::min),
            high: looks.iter().copied().fold(own, f64::max),
        });
        (Some(own), verdict, firmness)
    }

    /// A value as often as it was seen, itself among them: under other seeds, with small changes, or else in each of its runs
    /// alone. Nothing where it was seen once only.
    fn looks(&self, value: &ValueSpec, at: &Table, own: f64) -> Option<(Vec<f64>, Beside)> {
        let all = |look: fn(usize) -> Look| -> Vec<f64> {
            let seen = |index| seen(value, at, (self.experiment, self.outcomes), look(index)).ok();
            (0..).map_while(seen).collect()
        };
        let further = all(Look::Further);
        let (looks, beside) = match further.is_empty() {
            true => (all(Look::Run), Beside::Runs),
            false => {
                let case = self.experiment.cases.iter().find(|case| case.is(&value.run, value.policy.as_ref(), at))?;
                (std::iter::once(own).chain(further).collect(), case.beside)
            }
        };
        (looks.len() > 1).then_some((looks, beside))
    }

    /// What is to be said about a value that was seen.
    fn verdict(&self, published: &Published, at: &Table, seen: f64) -> Verdict {
        let value = self.value;
        if !is_near(value, published, seen) {
            return self.differs(published, at);
        }
        if let Some(reason) = &value.fit {
            return Verdict::Fitted { reason: self.words.fill_or_keep(reason) };
        }
        match value
            .no_effect()
            .filter(|nothing| is_near(value, published, *nothing) && !is_claimed(published, *nothing))
        {
            Some(nothing) => {
                let reason = format!("the accepted range includes {nothing}, which is no effect at all");
                Verdict::CannotTell { reason }
            }
            None => Verdict::Holds,
        }
    }

    /// A difference without a reason says nothing where the quick version makes a run smaller: it is of another run.
    fn differs(&self, published: &Published, at: &Table) -> Verdict {
        let smaller = self.value.runs().find(|run| self.experiment.smaller.contains(run));
        match (self.explained(published, at), smaller) {
            (Verdict::Differs { reason: None, .. }, Some(run)) => {
                let reason = format!("the quick version makes the run `{run}` smaller; the whole one decides");
                Verdict::RunSmaller { reason }
            }
            (verdict, _) => verdict,
        }
    }

    /// The reason for a difference stands where nothing has to show it, or what has to does.
    fn explained(&self, published: &Published, at: &Table) -> Verdict {
        let difference = self.value.differs.as_ref();
        let why = difference.map(|difference| self.words.fill_or_keep(difference.why()));
        match difference.and_then(Difference::proof).and_then(|proof| self.prove(proof, published, at)) {
            Some(proof) => Verdict::Differs { reason: why.filter(|_| proof.holds), proof: Some(proof) },
            None => Verdict::Differs { reason: why, proof: None },
        }
    }

    /// Looks whether a reason shows; nothing where the quick version leaves out where it would.
    fn prove(&self, proof: &Proof, published: &Published, at: &Table) -> Option<Proved> {
        let there = proof.of(self.value);
        let mut at = at.clone();
        at.extend(proof.at.clone());
        let place = there.policy.as_ref().map_or(String::new(), |policy| format!(" under `{policy}`"));
        let varied: String = proof.at.iter().map(|(path, value)| format!(", {path} = {}", plain(value))).collect();
        let place = format!("`{}`{place}{varied}", there.run);
        match seen(&there, &at, (self.experiment, self.outcomes), Look::Together) {
            Err(Missing::NotRun(why)) if why == LEFT_OUT => None,
            Err(Missing::NotRun(why)) => Some(Proved { holds: false, seen: format!("{place} was not run: {why}") }),
            Err(Missing::Refused(why)) => Some(Proved { holds: false, seen: format!("{place} does not tell: {why}") }),
            Ok(_) if proof.middle.is_some() => self.prove_by_middle(proof, published, (&there, &at, &place)),
            Ok(seen) => {
                let shows = |seen: f64| match &proof.expect {
                    Some(bound) => bound.holds(seen),
                    None => is_near(&there, published, seen),
                };
                let firm = self.looks(&there, &at, seen).map_or(String::new(), |(looks, beside)| {
                    let same = looks.iter().filter(|look| shows(**look)).count();
                    format!(" ({same} of {} {})", looks.len(), beside.words())
                });
                let metric = proof.metric.as_ref().map_or(String::new(), |path| format!("`{path}` "));
                let told = with_unit(&number(seen), &there.unit);
                Some(Proved { holds: shows(seen), seen: format!("{place} has {metric}{told}{firm}") })
            }
        }
    }

    /// Whether what was published lies in the middle of the runs, each alone.
    fn prove_by_middle(
        &self,
        proof: &Proof,
        published: &Published,
        (there, at, place): (&ValueSpec, &Table, &str),
    ) -> Option<Proved> {
        let (part, Published::Number(number_there)) = (proof.middle?, published) else { return None };
        let runs = in_each_run(there, at, (self.experiment, self.outcomes));
        let (count, what) = (runs.len(), if there.per.is_some() { "pairs of runs" } else { "runs" });
        let [low, high] = middle(runs, part)?;
        let percent = number(100.0 * part);
        let ends = with_unit(&format!("{} to {}", number(low), number(high)), &there.unit);
        let seen = format!("the middle {percent} % of {count} {what} of {place}, each alone, are {ends}");
        Some(Proved { holds: (low..=high).contains(number_there), seen })
    }
}
