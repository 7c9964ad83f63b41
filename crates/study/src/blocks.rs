//! Blocks that are added where an estimate of overhead does not differ from zero, or a variance is not known.

use crate::case::{Case, Experiment};
use crate::overhead;
use crate::runner::{CaseOutcome, Observed, together, whole};
use schedlab_campaign::{self as campaign, Errors, Runner, Seen, seeds};
use std::collections::BTreeMap;

/// The runs of the cases to which blocks may be added, by their place. A block is one run of each case of a system: the
/// same scheduler in the same place, with each number of tasks.
#[derive(Default)]
pub(crate) struct Blocks(BTreeMap<usize, Vec<Seen>>);

impl Blocks {
    /// Keeps the runs of a case that may need more.
    pub fn note(&mut self, index: usize, case: &Case, seen: &[Seen]) {
        if case.asked.overhead.as_ref().is_some_and(|overhead| overhead.blocks.is_some()) {
            self.0.insert(index, seen.to_vec());
        }
    }

    /// Makes the blocks that are lacking, as many as the spread so far asks for. Whether there may be more to make.
    pub fn add(&mut self, experiment: &Experiment, runner: &Runner, outcomes: &mut [CaseOutcome]) -> bool {
        let wanted = self.wanted(experiment, outcomes);
        let more: Vec<campaign::Case> =
            wanted.iter().map(|&(index, blocks)| self.more(experiment, index, blocks)).collect();
        let made = runner.carry_out(&more, Errors::EndCases).expect("an error ends its own case only");
        let mut goes_on = !wanted.is_empty();
        for (((index, _), runs), made) in wanted.into_iter().zip(&more).zip(made) {
            let Ok(more) = whole(runs.seeds.len(), made) else {
                goes_on = false;
                continue;
            };
            let seen = self.0.entry(index).or_default();
            seen.extend(more);
            if let (Ok(own), CaseOutcome::Ran(known)) =
                (together(&experiment.cases[index], seen.clone()), &outcomes[index])
            {
                outcomes[index] = CaseOutcome::Ran(Box::new(Observed { further: known.further.clone(), ..own }));
            }
        }
        goes_on
    }

    /// Cases that lack blocks, with how many they shall have in all.
    fn wanted(&self, experiment: &Experiment, outcomes: &[CaseOutcome]) -> Vec<(usize, u32)> {
        let mut systems: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for index in self.0.keys() {
            let case = &experiment.cases[*index];
            systems.entry((&case.run, &case.policy_name)).or_default().push(*index);
        }
        let of_system = |indices: Vec<usize>| {
            let cases: Vec<_> = indices.iter().map(|index| (&experiment.cases[*index], &outcomes[*index])).collect();
            let spec = cases.first().and_then(|(case, _)| case.asked.overhead.as_ref());
            let blocks = spec.and_then(|spec| overhead::blocks_wanted(spec, &cases));
            blocks.map_or(Vec::new(), |blocks| indices.into_iter().map(|index| (index, blocks)).collect())
        };
        systems.into_values().flat_map(of_system).collect()
    }

    /// The runs that a case lacks to have this many blocks.
    fn more(&self, experiment: &Experiment, index: usize, blocks: u32) -> campaign::Case {
        let runs = &experiment.cases[index].runs;
        let seeds = seeds(runs.seeds[0], blocks).into_iter().skip(self.0[&index].len()).collect();
        campaign::Case { seeds, ..runs.clone() }
    }
}
