//! Cases of a study that were not run, and why.

use crate::failure::Failure;
use schedlab_study::{Case, CaseOutcome, Experiment, TOO_SHORT};

/// How many cases are named for a reason.
const MOST_NAMED: usize = 6;

/// Each reason why cases were not run, with these cases. `longer` is how their runs are made longer.
///
/// # Errors
///
/// There is a reason.
pub fn none(experiment: &Experiment, outcomes: &[CaseOutcome], longer: &str) -> Result<(), Failure> {
    let all = experiment.cases.iter().zip(outcomes);
    let lines = lines(all.filter_map(|(case, outcome)| Some((name(case), outcome.why_not()?))), outcomes.len(), longer);
    if lines.is_empty() { Ok(()) } else { Err(Failure::Several(lines.into_iter().map(Failure::NotRun).collect())) }
}

fn lines<'a>(missing: impl Iterator<Item = (String, &'a str)>, all: usize, longer: &str) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, why) in missing {
        match reasons.iter_mut().find(|(own, _)| *own == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let line = |(why, mut names): (&str, Vec<String>)| {
        let count = names.len();
        let were = if count == 1 { "was" } else { "were" };
        if count > MOST_NAMED {
            names.truncate(MOST_NAMED - 1);
            names.push(format!("{} more", count - names.len()));
        }
        let remedy = if why == TOO_SHORT { format!("; {longer}") } else { String::new() };
        format!("{count} of {all} cases {were} not run here: {}: {why}{remedy}", names.join(", "))
    };
    reasons.into_iter().map(line).collect()
}

/// The run of a case, its policy, and what is varied.
fn name(case: &Case) -> String {
    let at: Vec<String> = case.at.iter().map(|(path, value)| format!(" with {path} = {value}")).collect();
    format!("{} under {}{}", case.run, case.policy_name, at.join(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_cases() {
        let missing =
            [("a", TOO_SHORT), ("b", "no kernel"), ("c", TOO_SHORT)].map(|(name, why)| (name.to_string(), why));
        let told = lines(missing.into_iter(), 4, "run longer");
        assert_eq!(told[0], format!("2 of 4 cases were not run here: a, c: {TOO_SHORT}; run longer"));
        assert_eq!(told[1], "1 of 4 cases was not run here: b: no kernel");
        let many = (0..9).map(|number| (number.to_string(), "no kernel"));
        assert_eq!(lines(many, 9, ""), ["9 of 9 cases were not run here: 0, 1, 2, 3, 4, 4 more: no kernel"]);
    }
}
