use super::*;
use schedlab_model::rng::Rng;

fn draws(model: &[f64], real: &[f64]) -> Draws {
    Draws { model: model.to_vec(), real: real.to_vec() }
}

fn close(got: f64, wanted: f64) {
    assert!((got - wanted).abs() < 1e-4 * wanted.abs().max(1.0), "{got} for {wanted}");
}

/// Two copies 1 and 3 and a real run of 1: d = 1, v = 2, se² = 2·1.5, one degree of freedom with t = 6.3138.
#[test]
fn one_seed_by_hand() {
    let bias = Bias::of(Scale::Difference, &[draws(&[1.0, 3.0], &[1.0])]).unwrap();
    close(bias.estimate, 1.0);
    close(bias.high - bias.estimate, 6.3138 * 3.0_f64.sqrt());
    close(bias.noise, 2.0_f64.sqrt());
    assert_eq!((bias.degrees, bias.basis, bias.real_noise), (1.0, Basis::Within, None));
    assert_eq!(bias.against(5.0, 1), Equivalence::Undecided);
}

/// Three seeds with v = 2 and K = 2: se² = 3·2·1.5/9 = 1, three degrees of freedom with t = 2.3534.
#[test]
fn seeds_are_pooled() {
    let seed = draws(&[1.0, 3.0], &[1.0]);
    let bias = Bias::of(Scale::Difference, &[seed.clone(), seed.clone(), seed]).unwrap();
    close(bias.low, 1.0 - 2.3534);
    assert_eq!((bias.against(3.4, 1), bias.against(3.3, 1)), (Equivalence::Within, Equivalence::Undecided));
    assert_eq!(bias.degrees, 3.0);
}

/// 10 % more in the model, with copies that differ by 1 %.
#[test]
fn ratios_are_those_of_logarithms() {
    let seeds = [draws(&[110.0, 111.1], &[100.0]), draws(&[220.0, 222.2], &[200.0])];
    let bias = Bias::of(Scale::Ratio, &seeds).unwrap();
    close(bias.estimate, 1.1 * 1.01_f64.sqrt() - 1.0);
    assert!(bias.low > 0.05 && bias.high < 0.2, "{bias:?}");
    let verdicts = [0.05, 0.1, 0.2].map(|bound| bias.against(bound, 1));
    assert_eq!(verdicts, [Equivalence::Outside, Equivalence::Undecided, Equivalence::Within]);
    assert_eq!(Bias::of(Scale::Ratio, &[draws(&[1.0, 0.0], &[1.0])]), None);
}

#[test]
fn what_is_constant_is_a_point() {
    let seeds = [draws(&[5.0, 5.0], &[4.0]), draws(&[7.0, 7.0], &[6.0])];
    let bias = Bias::of(Scale::Difference, &seeds).unwrap();
    assert_eq!((bias.low, bias.estimate, bias.high, bias.noise), (1.0, 1.0, 1.0, 0.0));
    assert_eq!((bias.against(1.0, 1), bias.against(0.9, 1)), (Equivalence::Within, Equivalence::Outside));
}

/// Copies that know nothing of what makes seeds differ: the seeds' own spread decides, -1 and 3 with sd √8.
#[test]
fn what_copies_do_not_explain_widens_the_interval() {
    let seeds = [draws(&[5.0, 5.0], &[6.0]), draws(&[5.0, 5.0], &[2.0])];
    let bias = Bias::of(Scale::Difference, &seeds).unwrap();
    assert_eq!((bias.basis, bias.degrees, bias.estimate), (Basis::Between, 1.0, 1.0));
    close(bias.high, 1.0 + 6.3138 * 2.0);
}

/// Real runs that differ count by themselves: v/K = 2/2, w/M = 8/2, so se² = 5; Welch: 25 / (1/1 + 16/1).
#[test]
fn the_noise_of_reality_is_counted() {
    let bias = Bias::of(Scale::Difference, &[draws(&[1.0, 3.0], &[0.0, 4.0])]).unwrap();
    close(bias.degrees, 25.0 / 17.0);
    close(bias.real_noise.unwrap(), 8.0_f64.sqrt());
    assert_eq!(bias.estimate, 0.0);
}

#[test]
fn too_few_values_give_nothing() {
    assert_eq!(Bias::of(Scale::Difference, &[]), None);
    assert_eq!(Bias::of(Scale::Difference, &[draws(&[1.0], &[1.0])]), None);
    assert_eq!(Bias::of(Scale::Difference, &[draws(&[1.0, 2.0], &[])]), None);
}

/// se for one seed √3: decided once t·√(3/n) is at most 4, the distance of the bias of 1 from the bound of 5. Two seeds have two
/// degrees and 2.92·1.22 = 3.58.
#[test]
fn more_seeds_decide_what_one_does_not() {
    let bias = Bias::of(Scale::Difference, &[draws(&[1.0, 3.0], &[1.0])]).unwrap();
    assert_eq!(bias.seeds_to_decide(5.0, 1), Some(2));
    assert_eq!(bias.seeds_to_decide(1.0, 1), None, "a bias on the bound is never decided");
}

/// An interval that is outside by itself is not where it is one of many: d = 1, t at 0.95 is 2.92, at 0.99 it is 6.965.
#[test]
fn one_of_many_figures_needs_more_to_be_outside() {
    let bias = Bias::of(Scale::Difference, &[draws(&[2.0, 2.1, 1.9], &[1.0])]).unwrap();
    close(bias.low, 1.0 - 2.92 * 0.1 * (4.0_f64 / 3.0).sqrt());
    let verdicts = [1, 5].map(|figures| bias.against(0.5, figures));
    assert_eq!(verdicts, [Equivalence::Outside, Equivalence::Undecided]);
    assert_eq!((bias.seeds_to_decide(0.5, 1), bias.seeds_to_decide(0.5, 5)), (Some(1), Some(2)));
}

/// A doubt that no run takes away widens the interval and decides nothing: 3 above, 1 below.
#[test]
fn doubt_widens_the_interval() {
    let bias = Bias::of(Scale::Difference, &[draws(&[7.0, 7.0], &[6.0]), draws(&[7.0, 7.0], &[6.0])]).unwrap();
    assert_eq!(bias.against(0.5, 1), Equivalence::Outside);
    let doubted = bias.doubting(1.0, 3.0);
    assert_eq!((doubted.low, doubted.estimate, doubted.high), (0.0, 1.0, 4.0));
    let verdicts = [0.5, 3.9, 4.0].map(|bound| doubted.against(bound, 1));
    assert_eq!(verdicts, [Equivalence::Undecided, Equivalence::Undecided, Equivalence::Within]);
    assert_eq!((doubted.seeds_to_decide(0.5, 1), doubted.seeds_to_decide(5.0, 1)), (None, Some(2)));
}

/// A model that is right: the interval holds zero in about 90 of 100 experiments, even where a figure has two values, and of
/// ten such figures hardly one is found outside.
#[test]
fn a_right_model_is_found_right() {
    let mut rng = Rng::split(1, "equivalence");
    for two_values in [false, true] {
        let mut value = || match two_values {
            true if rng.unit() < 0.5 => 70.0,
            true => 240.0,
            false => 100.0 * (1.0 + 0.1 * (rng.unit() - 0.5)),
        };
        let mut experiment = || {
            let mut seed = || draws(&[(); 8].map(|()| value()), &[value()]);
            Bias::of(Scale::Ratio, &[seed(), seed(), seed()]).unwrap()
        };
        let biases: Vec<Bias> = (0..1000).map(|_| experiment()).collect();
        let holds = biases.iter().filter(|bias| bias.low <= 0.0 && bias.high >= 0.0).count();
        let outside = biases.iter().filter(|bias| bias.against(0.05, 10) == Equivalence::Outside).count();
        assert!((860..=960).contains(&holds), "{two_values}: {holds}");
        assert!(outside <= 5, "{two_values}: {outside}");
    }
}
