//! What others took of the machine on which something ran, and whether what is said about it can bear that.

use crate::gap::Gap;
use crate::{Percent, wrap};
use schedlab_metrics::others::bound;
use schedlab_model::metric::Better;
use schedlab_model::outcome::Outcome;

/// A result alone bears that others took this part of what its tasks could have had: times may be longer by a twentieth then,
/// which is also how far the work of a run may be off its calibration before a machine is refused.
pub const BEARABLE: f64 = 0.05;

/// The part of what its tasks could have had that others took; zero where there are no others.
fn part_taken(result: &Outcome) -> f64 {
    result.whole().get("others.part_taken").unwrap_or(0.0)
}

/// Whether others took more of a result than its numbers alone bear.
pub fn is_disturbed(result: &Outcome) -> bool {
    part_taken(result) > BEARABLE
}

/// What others took from a result that is shown alone, where it is more than that bears: the reason why it is inconclusive.
pub fn inconclusive(result: &Outcome) -> Option<String> {
    is_disturbed(result).then(|| {
        format!(
            "other programs took {} % of the CPU time available to the tasks; the limit for a single run is {} %; run \
             it again when the machine is quiet",
            Percent::show(Some(part_taken(result))),
            100.0 * BEARABLE
        )
    })
}

/// What others took, in figures: `0.7 % of the 2 CPUs (CPU 1 most: 0.9 %), the hypervisor 0.0 %; 1.1 % of the CPU time
/// available to the tasks`. None where there are no others, or nothing is known of them.
pub fn figure(result: &Outcome) -> Option<String> {
    let whole = result.whole();
    let percent = |path: &str| whole.get(path).map(|part| format!("{} %", Percent::show(Some(part))));
    let cpus = result.scenario().cpus;
    let machine = if cpus == 1 { "the CPU".to_string() } else { format!("the {cpus} CPUs") };
    let seen = percent("others.programs_frac").map(|programs| format!("{programs} of {machine}{}", most(result)));
    let counted = || percent("others.counted_frac").map(|counted| format!("about {counted} of {machine}"));
    let steal = percent("others.steal_frac").map(|steal| format!("the hypervisor {steal}"));
    let parts: Vec<String> = seen.or_else(counted).into_iter().chain(steal).collect();
    let at_most = if whole.get("others.programs_frac").is_some() { "" } else { "at most " };
    let part =
        percent("others.part_taken").map(|part| format!("; {at_most}{part} of the CPU time available to the tasks"));
    (!parts.is_empty()).then(|| parts.join(", ") + &part.unwrap_or_default())
}

/// The figures of results side by side, a paragraph each.
pub(crate) fn figures<'a>(candidates: impl Iterator<Item = (&'a String, &'a Outcome)>) -> String {
    let text: String = figure_lines(candidates).iter().map(|line| wrap("", 0, line)).collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// The same, a sentence for each result of which something is known.
pub(crate) fn figure_lines<'a>(candidates: impl Iterator<Item = (&'a String, &'a Outcome)>) -> Vec<String> {
    let line =
        |(policy, result): (&String, &Outcome)| Some(format!("Beside {policy} others took {}.", figure(result)?));
    candidates.filter_map(line).collect()
}

/// The CPU of which they took most, where there are several.
fn most(result: &Outcome) -> String {
    let cpus = result.cpus();
    let taken = cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.metrics.get("others_frac")?)));
    match taken.max_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((id, part)) if cpus.len() > 1 => format!(" (CPU {id} most: {} %)", Percent::show(Some(part))),
        _ => String::new(),
    }
}

/// What the marks at the numbers of a disturbed result mean.
pub fn legend(result: &Outcome, policy: &str) -> Option<String> {
    let part = part_taken(result);
    let at_most = if bound(part).is_finite() {
        format!("times may be up to {:.2}× too long, and throughput as much too small", bound(part))
    } else {
        "the numbers say nothing about them".to_string()
    };
    let percent = Percent::show(Some(part));
    is_disturbed(result).then(|| {
        format!("Other programs took {percent} % of the CPU time available to the tasks of {policy}: {at_most}.")
    })
}

/// Why the gap between two policies, the baseline and another, is none to build on, where what others took may be all of it.
pub(crate) fn doubt(gap: &Gap, kind: Kind, sides: [(&String, &Outcome); 2]) -> Option<String> {
    let parts = sides.map(|(_, result)| part_taken(result));
    let low = gap.ratio_interval.map(|interval| interval.low).or(gap.ratio)?;
    let high = gap.ratio_interval.map(|interval| interval.high).or(gap.ratio)?;
    if bears((low, high), kind, parts) {
        return None;
    }
    let touched: Vec<(&str, f64)> =
        sides.into_iter().zip(parts).filter(|(_, part)| *part > 0.0).map(|((name, _), part)| (&**name, part)).collect();
    let names: Vec<&str> = touched.iter().map(|(name, _)| *name).collect();
    let parts: Vec<String> = touched.iter().map(|(_, part)| Percent::show(Some(*part))).collect();
    Some(format!(
        "no conclusion, since other programs took {} % of the CPU time available to the tasks of {}, which may be all of \
         the difference.",
        parts.join(" and "),
        names.join(" and ")
    ))
}

/// What a number is, for how far others can have moved it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// Which way is better.
    pub better: Better,
    /// Whether a few values make it, as a tail or a longest wait.
    pub is_extreme: bool,
}

impl Kind {
    /// By which factor others can have made it worse that took this part. A few values can all be theirs, so that there is no
    /// bound once a run is disturbed.
    fn bound(self, part: f64) -> f64 {
        if self.is_extreme && part > BEARABLE { f64::INFINITY } else { bound(part) }
    }
}

/// Whether a range of ratios that excludes 1 still does when each side is put right by what others took from it, in the
/// direction that speaks against the difference. Others make times longer and amounts smaller, by 1 / (1 − part) at most.
fn bears((low, high): (f64, f64), kind: Kind, parts: [f64; 2]) -> bool {
    let [baseline, other] = parts.map(|part| kind.bound(part));
    let (least, most) = match kind.better {
        Better::Lower => (low / other, high * baseline),
        Better::Higher | Better::Neither => (low / baseline, high * other),
    };
    (low <= 1.0 || least > 1.0) && (high >= 1.0 || most < 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;
    use crate::comparison::{Candidate, Comparison};
    use schedlab_model::result::{CpuResult, Measures, Others, RoleResult, RunResult, ScenarioInfo, Summary};

    fn result(others: Option<Others>, by_cpu: &[f64]) -> Outcome {
        let cpu =
            |(id, part): (usize, &f64)| CpuResult { id: id as u32, others_frac: Some(*part), ..CpuResult::default() };
        RunResult {
            scenario: ScenarioInfo { cpus: by_cpu.len() as u32, ..ScenarioInfo::default() },
            cpus: by_cpu.iter().enumerate().map(cpu).collect(),
            others,
            ..RunResult::default()
        }
        .into()
    }

    fn taking(part: f64) -> Option<Others> {
        Some(Others { part_taken: Some(part), programs_frac: Some(part / 2.0), ..Others::default() })
    }

    #[test]
    fn figures_say_what_is_known() {
        let of = |others| figure(&result(others, &[0.1, 0.3]));
        let seen =
            Others { programs_frac: Some(0.2), steal_frac: Some(0.01), part_taken: Some(0.25), ..Others::default() };
        let expected = "20.0 % of the 2 CPUs (CPU 1 most: 30.0 %), the hypervisor 1.0 %; 25.0 % of the CPU time \
             available to the tasks";
        assert_eq!(of(Some(seen.clone())).unwrap(), expected);
        let counted = Others { programs_frac: None, counted_frac: Some(0.2), ..seen };
        let expected =
            "about 20.0 % of the 2 CPUs, the hypervisor 1.0 %; at most 25.0 % of the CPU time available to the tasks";
        assert_eq!(of(Some(counted)).unwrap(), expected);
        assert_eq!((of(None), of(Some(Others::default()))), (None, None));
        let alone = figure(&result(taking(0.5), &[0.25])).unwrap();
        assert_eq!(alone, "25.0 % of the CPU; 50.0 % of the CPU time available to the tasks");
    }

    #[test]
    fn a_run_alone_bears_a_twentieth() {
        let of = |part| result(taking(part), &[part]);
        assert_eq!((inconclusive(&of(0.05)), legend(&of(0.05), "p")), (None, None));
        assert!(inconclusive(&of(0.051)).unwrap().starts_with("other programs took 5.1 % of the CPU"));
        assert!(
            legend(&of(0.2), "p")
                .unwrap()
                .ends_with("to the tasks of p: times may be up to 1.25× too long, and throughput as much too small.")
        );
        assert!(legend(&of(1.0), "p").unwrap().ends_with(": the numbers say nothing about them."));
        assert_eq!(inconclusive(&result(None, &[0.0])), None);
    }

    /// A result in which a request takes so long.
    fn answering(venue: &str, mean_ns: u64, others: Option<Others>) -> Outcome {
        let times = Summary {
            count: 1,
            mean: mean_ns,
            sd: None,
            cv: None,
            min: mean_ns,
            p50: mean_ns,
            p90: mean_ns,
            p99: mean_ns,
            p999: mean_ns,
            max: mean_ns,
        };
        let measures = Measures { requests: 1, response_ns: Some(times), ..Measures::default() };
        let roles = vec![RoleResult { name: "worker".into(), count: 1, measures, ..RoleResult::default() }];
        RunResult { venue: venue.into(), roles, others, ..RunResult::default() }.into()
    }

    fn comparison(sim_ns: u64, host_ns: u64, part: f64) -> Comparison {
        let results = [answering("sim", sim_ns, None), answering("host", host_ns, taking(part))];
        let named = ["rr@sim", "kernel@host"].into_iter().zip(&results);
        Comparison::of_results(&named.map(|(label, result)| Candidate::bare(label, result)).collect::<Vec<_>>())
    }

    #[test]
    fn a_comparison_names_the_differences_that_may_be_what_others_took() {
        let doubtful = comparison(100_000_000, 110_000_000, 0.12);
        let why = "worker, mean response: no conclusion, since other programs took 12.0 % of the CPU time available to the \
                   tasks of kernel@host, which may be all of the difference.";
        assert_eq!(doubtful.inconclusive, [why]);
        assert!(doubtful.cautions().contains(&why.to_string()));
        assert!(
            doubtful
                .why_inconclusive()
                .unwrap()
                .ends_with("all of the difference; run it again when the machine is quiet")
        );
        let page = doubtful.show(Style::PLAIN);
        assert!(
            page.contains(" 110*") && !page.contains(" 100*") && page.contains("\n* Other programs took 12.0 % of"),
            "{page}"
        );
        assert!(page.contains("\nBeside kernel@host others took 6.0 % of the"), "{page}");
        assert_eq!(page.matches("be up to 1.14×").count(), 1, "{page}");
        // The conclusion stays, and so do the marks.
        let clear = comparison(100_000_000, 300_000_000, 0.12);
        assert_eq!((clear.why_inconclusive(), clear.show(Style::PLAIN).contains(" 300*")), (None, true));
        // Too little to change anything, or to be marked.
        let quiet = comparison(100_000_000, 110_000_000, 0.01);
        assert_eq!((quiet.why_inconclusive(), quiet.show(Style::PLAIN).contains('*')), (None, false));
    }

    #[test]
    fn a_difference_bears_less_than_itself() {
        use Better::{Higher, Lower};
        // The other is twice as slow. A tenth taken from it makes it 1.8 times, and half of it nothing.
        let mean = |better| Kind { better, is_extreme: false };
        let (lower, higher) = (mean(Lower), mean(Higher));
        let times = |parts| bears((2.0, 2.0), lower, parts);
        assert_eq!([times([0.0, 0.1]), times([0.0, 0.5]), times([0.9, 0.0])], [true, false, true]);
        // As twice as fast it falls to what was taken from the baseline.
        let times = |parts| bears((0.5, 0.5), lower, parts);
        assert_eq!([times([0.1, 0.0]), times([0.5, 0.0]), times([0.0, 0.9])], [true, false, true]);
        // Of amounts it is the other way round.
        let amounts = |parts| bears((2.0, 2.0), higher, parts);
        assert_eq!([amounts([0.1, 0.9]), amounts([0.5, 0.0])], [true, false]);
        // An interval is as good as its end that is nearer to 1; one that holds 1 claims nothing.
        assert!(!bears((1.05, 3.0), lower, [0.0, 0.1]) && bears((0.9, 3.0), lower, [0.9, 0.9]));
        assert!(bears((1.05, 3.0), lower, [0.0, 0.0]) && bears((1.0, 1.0), lower, [0.5, 0.5]));
        // A tail that others touched may be theirs; one that is better all the same is better.
        let tail = |parts| bears((9.0, 9.0), Kind { better: Lower, is_extreme: true }, parts);
        assert_eq!([tail([0.0, 0.04]), tail([0.0, 0.06]), tail([0.06, 0.0])], [true, false, true]);
    }
}
