//! Which source lines of a policy a search reached: what it cannot have found a fault in.

use crate::judge::LOOKS;
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_venue::{Control, Coverage, Policy, SourceLine, VenueError, coverage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A source file with the lines that have instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct File {
    /// Its name.
    pub file: String,
    /// The lines that were executed, in order.
    pub reached: Vec<u32>,
    /// The others.
    pub missed: Vec<u32>,
}

/// Ends a run after as many looks as the search itself takes.
struct Looks(u64);

impl Control for Looks {
    fn go_on(&mut self, _: Time) -> bool {
        self.0 += 1;
        self.0 < LOOKS
    }
}

/// The lines that a policy executes in a scenario; none where that cannot run.
///
/// # Errors
///
/// The policy has no source lines.
pub(crate) fn lines(scenario: &Scenario, policy: &Policy) -> Result<Coverage, VenueError> {
    let Ok(workload) = scenario.compile() else { return Ok(Coverage::new()) };
    coverage(&workload, policy, workload.run.seed, &mut Looks(0))
}

/// Adds lines to those that are known.
pub(crate) fn add(all: &mut Coverage, more: Coverage) {
    for (line, is_reached) in more {
        *all.entry(line).or_default() |= is_reached;
    }
}

/// All lines, file by file.
pub(crate) fn files(all: &Coverage) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for (SourceLine { file, line }, is_reached) in all {
        if files.last().is_none_or(|last| last.file != *file) {
            files.push(File { file: file.clone(), reached: Vec::new(), missed: Vec::new() });
        }
        let own = files.last_mut().expect("there is one");
        if *is_reached { own.reached.push(*line) } else { own.missed.push(*line) }
    }
    files
}

/// The lines of files, to go on from.
pub(crate) fn of_files(files: &[File]) -> Coverage {
    let mut all = Coverage::new();
    for own in files {
        let line = |line: &u32| SourceLine { file: own.file.clone(), line: *line };
        all.extend(own.reached.iter().map(|number| (line(number), true)));
        all.extend(own.missed.iter().map(|number| (line(number), false)));
    }
    all
}

impl File {
    /// The missed lines, as `12, 40 to 43`.
    pub fn missed_words(&self) -> String {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        let all = self.reached.iter().map(|line| (*line, true)).chain(self.missed.iter().map(|line| (*line, false)));
        let mut all: Vec<(u32, bool)> = all.collect();
        all.sort_unstable();
        let mut is_open = false;
        for (line, is_reached) in all {
            match ranges.last_mut().filter(|_| is_open && !is_reached) {
                Some(range) => range.1 = line,
                None if !is_reached => ranges.push((line, line)),
                None => {}
            }
            is_open = !is_reached;
        }
        let words =
            ranges.iter().map(|(from, to)| if from == to { from.to_string() } else { format!("{from} to {to}") });
        words.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_policy::PolicySpec;

    #[test]
    fn lines_add_up_and_are_told_in_ranges() {
        let line = |number| SourceLine { file: "a.bpf.c".into(), line: number };
        let mut all = Coverage::from([(line(3), true), (line(5), false), (line(8), false), (line(9), true)]);
        add(&mut all, Coverage::from([(line(9), false), (line(12), false)]));
        let files = files(&all);
        assert_eq!((files[0].reached.as_slice(), files[0].missed.as_slice()), (&[3, 9][..], &[5, 8, 12][..]));
        assert_eq!(files[0].missed_words(), "5 to 8, 12");
        assert_eq!(of_files(&files), all);
    }

    /// Round robin in a scenario of its own executes its enqueue, and a search reaches nearly all of it.
    #[test]
    fn a_search_reaches_the_lines_of_a_policy() {
        let policy = Policy::find(&PolicySpec::parse("rr").unwrap()).unwrap();
        let mut all = Coverage::new();
        for seed in 1..9 {
            add(&mut all, lines(&crate::draw(seed), &policy).unwrap());
        }
        let own = files(&all).into_iter().find(|own| own.file == "rr.bpf.c").unwrap();
        assert!(own.reached.len() > 3 * own.missed.len(), "{own:?}");
    }
}
