use super::*;
use crate::changes::Fragile;
use crate::comparison::Comparison;
use schedlab_metrics::combine::combine;
use schedlab_model::outcome::Outcome;
use schedlab_model::result::{Measures, RoleResult, RunResult, TimeSummary};

/// What a role sees under a policy. Times are in milliseconds.
#[derive(Clone, Copy)]
struct Seen {
    mean: f64,
    tail: f64,
    per_s: f64,
    jain: f64,
    wait: f64,
    requests: u64,
}

const USUAL: Seen = Seen { mean: 100.0, tail: 200.0, per_s: 10.0, jain: 1.0, wait: 50.0, requests: 1000 };

fn times(mean_ms: f64, tail_ms: f64, count: u64) -> TimeSummary {
    let [mean, tail] = [mean_ms, tail_ms].map(|ms| (ms * 1e6) as u64);
    TimeSummary { count, mean, sd: None, cv: None, min: mean, p50: mean, p90: mean, p99: tail, p999: tail, max: tail }
}

fn role(name: &str, seen: Seen) -> RoleResult {
    let measures = Measures {
        requests: seen.requests,
        throughput_per_s: seen.per_s,
        response_ns: (seen.requests > 0).then(|| times(seen.mean, seen.tail, seen.requests)),
        run_delay_ns: Some(times(seen.wait / 10.0, seen.wait, 1000)),
        longest_wait_ns: Some((seen.wait * 1e6) as u64),
        ..Measures::default()
    };
    RoleResult { name: name.into(), count: 7, measures, jain_of_tasks: Some(seen.jain), ..RoleResult::default() }
}

/// A run with a role `worker`, or with the roles of these names.
fn run(seed: u64, roles: &[(&str, Seen)]) -> RunResult {
    let roles = roles.iter().map(|(name, seen)| role(name, *seen)).collect();
    RunResult { seed, duration_ns: 60_000_000_000, roles, ..RunResult::default() }
}

fn alone(seen: Seen) -> Outcome {
    run(1, &[("worker", seen)]).into()
}

/// Runs with a little noise that all policies have in common, and a little of their own.
fn several(seen: Seen, own: f64) -> Outcome {
    let noisy = |seed: u64| {
        let noise = 1.0 + 0.1 * (seed % 5) as f64 + own * (seed * 7 % 4) as f64;
        run(seed, &[("worker", Seen { mean: seen.mean * noise, tail: seen.tail * noise, ..seen })])
    };
    let runs: Vec<RunResult> = (1..=20).map(noisy).collect();
    combine(&runs.iter().collect::<Vec<_>>(), runs.len())
}

fn compared(outcomes: &[(&str, Outcome)]) -> Comparison {
    let candidates = outcomes.iter().map(|(label, result)| Candidate::bare(label, result));
    Comparison::of_results(&candidates.collect::<Vec<_>>())
}

fn concluded(outcomes: &[(&str, Outcome)]) -> Conclusion {
    compared(outcomes).conclusion.unwrap()
}

fn words(conclusion: &Conclusion, question: Question) -> &str {
    &conclusion.rankings.iter().find(|ranking| ranking.question == question).unwrap().words
}

fn standings(conclusion: &Conclusion, question: Question) -> Vec<(&str, Standing)> {
    let ranking = conclusion.rankings.iter().find(|ranking| ranking.question == question).unwrap();
    ranking.ranks.iter().map(|rank| (rank.policy.as_str(), rank.standing)).collect()
}

#[test]
fn where_means_are_alike_the_tail_decides() {
    let slow = Seen { mean: 101.1, tail: 1100.0, ..USUAL };
    let conclusion = concluded(&[("linux", several(slow, 0.0)), ("cfs", several(USUAL, 0.0))]);
    assert_eq!(
        conclusion.headline,
        "cfs is best or tied for best in every question, with the shortest p99 of response (240 ms; linux 1320 ms). No best \
         mean response: cfs and linux are within 1.1 %."
    );
    assert_eq!(conclusion.rankings[0].question, Question::TailResponse);
    assert_eq!(
        words(&conclusion, Question::TailResponse),
        "worker, p99 of response: best cfs 240 ms; then linux 1320 ms (5.50×)"
    );
    assert_eq!(
        words(&conclusion, Question::MeanResponse),
        "worker, mean response: no best, within 1.1 %: cfs 120 ms, linux 121.3 ms (+1.1 %)"
    );
}

#[test]
fn intervals_decide_who_is_behind() {
    let slow = Seen { mean: 110.0, tail: 220.0, ..USUAL };
    let near = concluded(&[("a", several(USUAL, 0.3)), ("b", several(slow, 0.0))]);
    assert_eq!(
        standings(&near, Question::MeanResponse),
        [("b", Standing::First), ("a", Standing::Behind)],
        "the noise of its own makes a the slower one"
    );
    let said = words(&near, Question::MeanResponse);
    assert!(
        said.starts_with("worker, mean response: best b 132 ms; then a ") && said.contains("95 % interval"),
        "{said}"
    );
    let noisy = Seen { mean: 90.0, ..USUAL };
    let open = concluded(&[("a", several(noisy, 0.2)), ("b", several(Seen { mean: 112.0, ..USUAL }, 0.02))]);
    let ranking = open.rankings.iter().find(|ranking| ranking.question == Question::MeanResponse).unwrap();
    let gap = ranking.ranks[1].gap.as_ref().unwrap();
    assert_eq!(
        (ranking.ranks[1].standing, gap.is_more_than_chance()),
        (Standing::Indistinguishable, Some(false)),
        "{gap:?}"
    );
    assert!(words(&open, Question::MeanResponse).starts_with("worker, mean response: no best, indistinguishable: "));
}

#[test]
fn small_changes_decide_where_nothing_is_random() {
    let (fast, slow) = (run(1, &[("worker", USUAL)]), run(1, &[("worker", Seen { mean: 130.0, ..USUAL })]));
    let (one, other) = (Outcome::from(fast.clone()), Outcome::from(slow.clone()));
    let concluded = |copies: &[RunResult]| {
        let with = |label, result, copies: Vec<_>| Candidate { copies, ..Candidate::bare(label, result) };
        let own = copies.iter().map(|_| &fast).collect();
        let candidates = [with("a", &one, own), with("b", &other, copies.iter().collect())];
        let comparison = Comparison::new(&candidates, &[], false);
        (comparison.basis().unwrap(), comparison.conclusion.unwrap())
    };
    let copy = |mean: f64| run(1, &[("worker", Seen { mean, ..USUAL })]);
    let (basis, firm) = concluded(&[copy(120.0), copy(150.0)]);
    assert_eq!(
        words(&firm, Question::MeanResponse),
        "worker, mean response: best a 100 ms; then b 130 ms (1.30×, 1.20× to 1.50× under small changes)"
    );
    assert!(basis.contains("the ranges are those of 2 copies"), "{basis}");
    let (_, open) = concluded(&[copy(90.0), copy(150.0)]);
    assert_eq!(standings(&open, Question::MeanResponse)[1], ("b", Standing::Indistinguishable));
    assert_eq!(open.headline, "These runs cannot tell a and b apart.");
    let (basis, untried) = concluded(&[]);
    assert_eq!(standings(&untried, Question::MeanResponse)[1], ("b", Standing::Behind));
    assert!(basis.contains("--perturb 10 tries small changes"), "{basis}");
}

#[test]
fn a_zero_is_the_best_and_no_ratio() {
    let none = Seen { wait: 0.0, ..USUAL };
    let conclusion = concluded(&[("rr", alone(USUAL)), ("cfs", alone(none))]);
    let said = words(&conclusion, Question::LongestWait);
    assert_eq!(said, "worker, longest wait for a CPU: best cfs 0; then rr 50 ms");
    assert!(conclusion.rankings[0].weight.is_finite());
    let idle = concluded(&[("rr", alone(USUAL)), ("off", alone(Seen { per_s: 0.0, requests: 0, ..USUAL }))]);
    assert_eq!(words(&idle, Question::Throughput), "worker, throughput: best rr 10 per s; then off 0 per s");
    assert_eq!(words(&idle, Question::MeanResponse), "worker, mean response: rr 100 ms; no value under off");
    // Less than a microsecond is as good as nothing.
    let hardly = Seen { wait: 0.0005, ..USUAL };
    let conclusion = concluded(&[("rr", alone(hardly)), ("cfs", alone(none))]);
    assert_eq!(words(&conclusion, Question::LongestWait), "worker, longest wait for a CPU: no best: cfs 0, rr 500 ns");
}

#[test]
fn equal_candidates_have_no_best() {
    let conclusion = concluded(&[("a", alone(USUAL)), ("b", alone(USUAL)), ("c", alone(USUAL))]);
    assert_eq!(conclusion.headline, "a, b and c are alike: no question shows a difference of 2 % or more.");
    assert_eq!(
        words(&conclusion, Question::MeanResponse),
        "worker, mean response: no best, the same: a 100 ms, b 100 ms, c 100 ms"
    );
    let page = conclusion.show(Style::PLAIN);
    assert!(!page.contains("- ") && !page.contains("0.0 %"), "{page}");
    assert!(page.contains("No clear best: worker, mean response (the same);"), "{page}");
}

#[test]
fn who_ties_with_the_best_is_named_with_it() {
    let second = Seen { mean: 100.5, tail: 201.0, ..USUAL };
    let third = Seen { mean: 300.0, tail: 800.0, wait: 500.0, ..USUAL };
    let conclusion = concluded(&[("c", alone(third)), ("a", alone(USUAL)), ("b", alone(second))]);
    assert_eq!(
        conclusion.headline,
        "In one run each, a and b tie for best in every question, with the shortest p99 of response \
         (200 ms; c 800 ms) and the shortest worst-case wait for a CPU (50 ms; c 500 ms)."
    );
    assert_eq!(
        words(&conclusion, Question::MeanResponse),
        "worker, mean response: no best, within 0.5 %: a 100 ms, b 100.5 ms (+0.5 %); then c 300 ms (3.00×)"
    );
}

#[test]
fn a_trade_off_says_who_is_best_at_what() {
    let batch = Seen { mean: 50.0, tail: 900.0, ..USUAL };
    let conclusion = concluded(&[("cfs", alone(USUAL)), ("srpt", alone(batch))]);
    assert_eq!(
        conclusion.headline,
        "In one run each, no policy is best at everything: cfs has the shortest p99 of response (200 ms; srpt 900 ms); srpt has \
         the shortest mean response (50 ms; cfs 100 ms)."
    );
    // Tasks that come and go are owed nothing the same.
    let mut coming = run(1, &[("job", USUAL)]);
    coming.roles[0].measures.turnaround_ns = Some(times(10.0, 20.0, 9));
    let conclusion = concluded(&[("a", coming.clone().into()), ("b", coming.into())]);
    assert!(conclusion.rankings.iter().all(|ranking| ranking.question != Question::Fairness));
}

#[test]
fn roles_are_named_where_there_are_several() {
    let batch = Seen { mean: 50.0, tail: 900.0, ..USUAL };
    let roles = |a: Seen, b: Seen| -> Outcome { run(1, &[("editor", a), ("hog", b)]).into() };
    let conclusion = concluded(&[("cfs", roles(USUAL, batch)), ("rr", roles(batch, USUAL))]);
    assert!(conclusion.headline.contains("p99 of response of hog (200 ms; cfs 900 ms)"), "{}", conclusion.headline);
}

#[test]
fn who_starves_tasks_has_no_rank_by_response() {
    let starving = Seen { mean: 25.0, tail: 25.0, wait: 60_000.0, jain: 0.2857, ..USUAL };
    let conclusion = concluded(&[("fcfs", alone(starving)), ("rr", alone(USUAL)), ("mlfq", alone(USUAL))]);
    assert_eq!(
        standings(&conclusion, Question::MeanResponse),
        [("rr", Standing::First), ("mlfq", Standing::Alike), ("fcfs", Standing::Starves)]
    );
    assert_eq!(
        words(&conclusion, Question::MeanResponse),
        "worker, mean response: no best, the same: rr 100 ms, mlfq 100 ms; not ranked (starves tasks): fcfs 25 ms"
    );
    assert!(conclusion.headline.ends_with("fcfs starves tasks of worker, so its response times are not ranked."));
    assert!(conclusion.headline.contains("rr and mlfq tie"), "{}", conclusion.headline);
    // Where all starve tasks none is left out, and the headline says so.
    let slower = Seen { mean: 50.0, tail: 50.0, ..starving };
    let all = concluded(&[("fcfs", alone(starving)), ("lifo", alone(slower))]);
    assert_eq!(standings(&all, Question::MeanResponse), [("fcfs", Standing::First), ("lifo", Standing::Behind)]);
    assert!(
        all.headline.ends_with("All of them starve tasks of worker: response times cover only requests that ended.")
    );
}

#[test]
fn recordings_are_asked_how_long_tasks_wait() {
    let none = Seen { requests: 0, per_s: 0.0, ..USUAL };
    let conclusion = concluded(&[("before", alone(none)), ("after", alone(Seen { wait: 150.0, ..none }))]);
    assert!(conclusion.headline.starts_with("In one recording each, before is best "), "{}", conclusion.headline);
    assert!(conclusion.rankings.iter().all(|ranking| !ranking.question.is_of_responses()));
    let last = conclusion.rankings.last().unwrap();
    assert!(last.question == Question::CpuShare && !last.has_best(), "{}", last.words);
    assert_eq!(
        words(&conclusion, Question::MeanWait),
        "worker, mean wait for a CPU: best before 5 ms; then after 15 ms (3.00×)"
    );
}

#[test]
fn few_requests_have_a_nearer_tail_or_none() {
    let few = |requests| concluded(&[("a", alone(USUAL)), ("b", alone(Seen { requests, ..USUAL }))]);
    let one = concluded(&[("a", alone(USUAL)), ("b", alone(USUAL)), ("c", alone(Seen { requests: 10, ..USUAL }))]);
    assert_eq!(
        words(&one, Question::TailResponse),
        "worker, p99 of response: no best, the same: a 200 ms, b 200 ms; too few requests under c"
    );
    let tail = |conclusion: &Conclusion| {
        let tail = conclusion.rankings.iter().find(|ranking| ranking.question == Question::TailResponse);
        tail.map(|ranking| ranking.metric.clone())
    };
    assert_eq!(tail(&few(300)).as_deref(), Some("response_ns.p99"));
    assert_eq!(tail(&few(299)).as_deref(), Some("response_ns.p90"));
    assert_eq!(tail(&few(5)), None);
}

#[test]
fn failures_and_fragile_leaders_are_said() {
    let slow = Seen { mean: 300.0, tail: 900.0, ..USUAL };
    let comparison = compared(&[("rr", alone(USUAL)), ("cfs", alone(slow))]);
    let fragile = Fragile { policy: "rr".into(), failed: 2, copies: 10, error: "it stalls".into() };
    let absent = Absent { failed: &["x".into()], not_run: &["kernel".into()] };
    let comparison = comparison.with_failures(vec!["policy x: it is broken".into()], absent, &[fragile]);
    let headline = comparison.conclusion.unwrap().headline;
    assert!(
        headline.ends_with("But rr fails under small changes. x failed and has no rank. kernel was not run."),
        "{headline}"
    );
    assert_eq!(comparison.fragile.len(), 1);
}

#[test]
fn what_is_known_better_is_taken_over() {
    let slow = Seen { mean: 130.0, ..USUAL };
    let (mut known, own) = (
        compared(&[("rr", alone(USUAL)), ("cfs", alone(slow))]),
        compared(&[("rr", alone(USUAL)), ("cfs", alone(slow)), ("fcfs", alone(slow))]),
    );
    let gap = |conclusion: &mut Option<Conclusion>| {
        let rankings = &mut conclusion.as_mut().unwrap().rankings;
        let mean = rankings.iter_mut().find(|ranking| ranking.question == Question::MeanResponse).unwrap();
        let rank = mean.ranks.iter_mut().find(|rank| rank.policy == "cfs").unwrap();
        rank.gap.clone().unwrap()
    };
    assert_eq!(gap(&mut known.conclusion).evidence, Evidence::Single);
    let difference = known.differences.iter_mut().find(|one| one.metric == "response_ns.mean").unwrap();
    difference.gap.evidence = Evidence::Batches;
    known.conclusion = None;
    // A comparison that an older version wrote concludes from what it holds.
    let results: Vec<Outcome> = known.results.clone();
    let candidates: Vec<Candidate> =
        known.policies.iter().zip(&results).map(|(label, result)| Candidate::bare(label, result)).collect();
    let mut concluded = known.clone().concluded(&candidates);
    assert_eq!(gap(&mut concluded.conclusion).evidence, Evidence::Batches);
    let mut taken = own.take_over(&known);
    assert_eq!(gap(&mut taken.conclusion).evidence, Evidence::Batches);
}

#[test]
fn a_terminal_shows_the_greatest_differences_and_counts_the_rest() {
    let names = ["a", "b", "c", "d"];
    let roles = |seen: Seen| -> Outcome { run(1, &names.map(|name| (name, seen))).into() };
    let slow = Seen { mean: 300.0, tail: 900.0, wait: 500.0, ..USUAL };
    let page = concluded(&[("rr", roles(USUAL)), ("cfs", roles(slow))]).show(Style::PLAIN);
    assert_eq!(page.matches("\n- ").count(), MOST_SHOWN, "{page}");
    assert!(page.contains("… and 6 smaller differences\n"), "{page}");
    assert!(page.split_whitespace().collect::<Vec<_>>().join(" ").contains("; and 4 more."), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= crate::WIDTH), "{page}");
}
