use super::*;
use crate::report::CellVerdict;

/// A run whose roles have these requests, and times that are all the same.
fn run(roles: &[(u64, f64)]) -> Observed {
    let all: f64 = roles.iter().map(|(_, time)| time).sum();
    let role = |(index, (requests, time)): (usize, &(u64, f64))| RoleObserved {
        name: format!("g{index}"),
        requests: *requests,
        response_ns: (*requests > 0).then_some([*time; 3]),
        share: time / all.max(1.0),
    };
    Observed { roles: roles.iter().enumerate().map(role).collect(), tasks_on_cpus: vec![1], others: 0.0 }
}

/// Three seeds, each with a real run and four copies whose times are `apart` from it and spread by `noise` around that.
fn samples(requests: (u64, u64), apart: f64, noise: f64) -> Vec<Sample> {
    let copies = |time: f64| {
        [-1.5, -0.5, 0.5, 1.5].map(|place| run(&[(requests.1, time * (1.0 + apart) * (1.0 + noise * place))])).to_vec()
    };
    [10e6, 12e6, 9e6].map(|time| Sample { real: vec![run(&[(requests.0, time)])], copies: copies(time) }).to_vec()
}

fn verdicts(samples: &[Sample], is_same_object: bool) -> Vec<Verdict> {
    judged(samples, is_same_object).iter().map(|figure| figure.verdict).collect()
}

#[test]
fn bounds_follow_from_the_figure_and_from_what_is_compared() {
    use Verdict::{Agrees, Biased};
    let at = |apart, same| verdicts(&samples((500, 500), apart, 0.001), same);
    assert_eq!(at(0.04, true), [Agrees, Agrees, Agrees]);
    assert_eq!(at(-0.08, true), [Biased, Biased, Agrees]);
    assert_eq!(at(-0.08, false), [Agrees, Agrees, Agrees]);
    assert_eq!(at(0.25, false), [Biased, Biased, Biased]);
}

#[test]
fn noise_makes_a_figure_undecided_with_what_it_would_take() {
    let figures = judged(&samples((500, 500), 0.03, 0.08), true);
    assert_eq!(figures[0].verdict, Verdict::Undecided, "{:?}", figures[0]);
    let needed = figures[0].seeds_to_decide.unwrap();
    assert!((10..1000).contains(&needed), "{needed}");
    assert!((figures[0].noise.unwrap() - 0.08 * (5.0_f64 / 3.0).sqrt()).abs() < 0.01, "{:?}", figures[0].noise);
}

#[test]
fn constant_figures_are_judged_by_their_value() {
    assert_eq!(verdicts(&samples((500, 500), 0.0499, 0.0), true)[0], Verdict::Agrees);
    assert_eq!(verdicts(&samples((500, 500), 0.0501, 0.0), true)[0], Verdict::Biased);
}

#[test]
fn nothing_is_dropped_for_want_of_requests() {
    use Verdict::{Agrees, Biased, NotJudged};
    let of = |requests| verdicts(&samples(requests, 0.0, 0.001), true);
    assert_eq!(of((500, 500)), [Agrees, Agrees, Agrees]);
    assert_eq!(of((90, 95)), [Agrees, Agrees, NotJudged]);
    assert_eq!(of((12, 14)), [NotJudged; 3]);
    assert_eq!(of((0, 0)), [NotJudged; 3]);
    assert_eq!(of((0, 500)), [Biased; 3], "none ended in the kernel");
    assert_eq!(of((500, 12))[0], Biased);
    let told = judged(&samples((0, 500), 0.0, 0.0), true);
    assert_eq!(told[0].why.as_deref(), Some("0 requests in the kernel and 500 in the simulator"));
    // A run here and there in which none ended is no time of zero.
    let mut some = samples((500, 500), 0.0, 0.001);
    some[0].copies[0] = run(&[(0, 0.0)]);
    assert_eq!(verdicts(&some, true)[0], Verdict::Undecided);
}

#[test]
fn shares_are_compared_in_points_where_there_are_several_roles() {
    let real = || vec![run(&[(500, 3e6), (500, 1e6)])];
    let sample = |second| Sample { real: real(), copies: vec![run(&[(500, 3e6), (500, second)]); 3] };
    let share = |second| judged(&[sample(second), sample(second)], true).remove(3);
    // Of 4 ms 3 are 75 %; of 4.1 they are 73.2, of 4.2 they are 71.4.
    assert_eq!([1.1e6, 1.2e6].map(|second| share(second).verdict), [Verdict::Agrees, Verdict::Biased]);
    assert!((share(1.2e6).bias.unwrap() + 0.0357).abs() < 1e-4);
}

/// A simulator that is faster may be right where others took a fifth of the machine, and one that is slower may not.
#[test]
fn what_others_took_is_no_bias() {
    let beside = |apart: f64, requests| {
        let mut samples = samples(requests, apart, 0.001);
        samples.iter_mut().for_each(|sample| sample.real[0].others = 0.2);
        judged(&samples, true).remove(0)
    };
    assert_eq!(beside(-0.15, (500, 500)).verdict, Verdict::Undecided);
    assert_eq!(beside(0.15, (500, 500)).verdict, Verdict::Biased);
    assert_eq!(beside(-0.4, (500, 500)).verdict, Verdict::Biased);
    assert_eq!(beside(0.0, (5, 500)).verdict, Verdict::Undecided);
    assert!(beside(-0.15, (500, 500)).why.unwrap().contains("other programs took 20.0 %"));
}

/// The rule for a cell: the worst figure, and no agreement about nothing.
#[test]
fn a_cell_is_as_its_worst_figure() {
    let mut report = crate::report::blank();
    for (samples, verdict) in [
        (samples((500, 500), 0.0, 0.001), CellVerdict::Agrees),
        (samples((500, 500), 0.03, 0.08), CellVerdict::Undecided),
        (samples((500, 500), 0.3, 0.001), CellVerdict::Biased),
        (samples((5, 5), 0.0, 0.001), CellVerdict::Undecided),
    ] {
        report.judge(&samples);
        assert_eq!(report.verdict, verdict);
    }
    assert!(report.why.unwrap().contains("enough requests"));
}

#[test]
fn the_deciding_figure_is_the_furthest_off_of_the_worst() {
    let mut report = crate::report::blank();
    report.judge(&samples((500, 500), 0.2, 0.001));
    // 20 % are four bounds of a mean, and not even two of a 99th percentile.
    assert_ne!(report.deciding().unwrap().figure, Figure::P99);
    assert!((report.deciding().unwrap().off() - 4.0).abs() < 0.01);
}
