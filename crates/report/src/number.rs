//! Numbers as people read them: one unit for all times that stand together, and digits that mean something.

use std::borrow::Cow;

/// What stands where there is no value.
const ABSENT: &str = "-";

/// A number as people read it: with a minus sign, and not with the hyphen that programs write. Anything else stays as
/// it is.
pub fn with_minus(number: &str) -> Cow<'_, str> {
    match number.strip_prefix('-') {
        Some(rest) if rest.starts_with(|first: char| first.is_ascii_digit()) => Cow::Owned(format!("−{rest}")),
        _ => Cow::Borrowed(number),
    }
}

/// Times in nanoseconds that stand in one sentence, each with the unit that they have in common: `16.50 ms`.
pub(crate) fn times_alike<const N: usize>(values: [f64; N]) -> [String; N] {
    let all = values.map(Some);
    let times = Times::of(&all);
    all.map(|value| format!("{} {}", times.show(value), times.unit))
}

/// Units of time, the longest first: where the largest of some times changes to it, its name, its nanoseconds.
const UNITS: [(f64, &str, f64); 4] = [(1e10, "s", 1e9), (1e6, "ms", 1e6), (1e3, "us", 1e3), (0.0, "ns", 1.0)];

/// Times of which some are shorter than this are not shown in seconds.
const LEAST_IN_SECONDS: f64 = 1e8;

/// How some of the times that stand together are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// The unit's name.
    pub unit: &'static str,
    ns_per_unit: f64,
    quantity: Quantity,
}

impl Times {
    /// For these values, in nanoseconds, that stand alone.
    pub fn of(values: &[Option<f64>]) -> Times {
        Times::among(values, values)
    }

    /// For values shown among others: all have the same unit, so that none is misread.
    pub fn among(all: &[Option<f64>], values: &[Option<f64>]) -> Times {
        let sizes = || all.iter().flatten().map(|value| value.abs()).filter(|size| *size > 0.0);
        let (least, greatest) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
        let fits =
            |(from, unit, _): &&(f64, &str, f64)| greatest >= *from && (*unit != "s" || least >= LEAST_IN_SECONDS);
        // Nothing, and no time at all, are shown in the most usual unit.
        let (_, unit, ns_per_unit) = *UNITS.iter().find(fits).filter(|_| greatest > 0.0).unwrap_or(&UNITS[1]);
        let scaled: Vec<_> = values.iter().map(|value| value.map(|ns| ns / ns_per_unit)).collect();
        Times { unit, ns_per_unit, quantity: Quantity::of(&scaled) }
    }

    /// A value, without its unit.
    pub fn show(&self, ns: Option<f64>) -> String {
        self.quantity.show(ns.map(|ns| ns / self.ns_per_unit))
    }
}

/// How a column of plain numbers is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// How many decimals all values have; absent where each has as many as it needs.
    decimals: Option<usize>,
}

/// That many digits of a number mean something.
const DIGITS: i32 = 4;

/// The fewest that are shown.
const FEWEST_DIGITS: i32 = 3;

/// The digits before the point of a number above zero; none or fewer for one below 1.
fn digits_before_point(size: f64) -> i32 {
    1 + size.log10().floor() as i32
}

impl Quantity {
    /// For a column with these values: as many decimals as give the smallest four digits that mean something, but at most
    /// three, and no more than leave the largest six digits in all. Whole numbers have none. Where that would leave a value
    /// less than three digits, since another is that much larger, each value has four digits of its own.
    pub fn of(values: &[Option<f64>]) -> Quantity {
        let sizes = values.iter().flatten().map(|value| value.abs());
        let sizes: Vec<f64> = sizes.filter(|size| *size > 0.0 && size.is_finite()).collect();
        if sizes.iter().all(|size| size.fract() == 0.0) {
            return Quantity::with_decimals(0);
        }
        let smallest = sizes.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let decimals = (DIGITS - digits_before_point(smallest)).min(6 - digits_before_point(largest)).clamp(0, 3);
        let shown = |size: &f64| size * 10f64.powi(decimals);
        let has_digits = |size: &f64| shown(size) >= 10f64.powi(FEWEST_DIGITS - 1);
        let is_exact = |size: &f64| (shown(size) - shown(size).round()).abs() < 1e-6 * shown(size);
        let are_apart = sizes.iter().any(has_digits) && !sizes.iter().all(|size| has_digits(size) || is_exact(size));
        Quantity { decimals: (!are_apart).then_some(decimals as usize) }
    }

    /// With `decimals` decimals.
    pub fn with_decimals(decimals: usize) -> Quantity {
        Quantity { decimals: Some(decimals) }
    }

    /// A value of the column.
    pub fn show(&self, value: Option<f64>) -> String {
        let Some(value) = value else { return ABSENT.into() };
        let own = || match value == 0.0 || !value.is_finite() {
            true => 0,
            false => (DIGITS - digits_before_point(value.abs())).clamp(0, 9) as usize,
        };
        format!("{value:.*}", self.decimals.unwrap_or_else(own))
    }
}

/// Fractions as percentages with one decimal.
#[derive(Clone, Copy, Debug)]
pub struct Percent;

impl Percent {
    /// A fraction between 0 and 1.
    pub fn show(fraction: Option<f64>) -> String {
        fraction.map_or(ABSENT.into(), |fraction| format!("{:.1}", 100.0 * fraction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_role_does_not_take_the_digits_of_the_others() {
        let shown = |values: &[f64]| {
            let values: Vec<_> = values.iter().copied().map(Some).collect();
            let times = Times::of(&values);
            values.into_iter().map(|value| times.show(value) + times.unit).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(&[1_234_567.0, 12_940_123_456.0]), "1.235ms 12940ms");
        assert_eq!(shown(&[1_234.0, 900e6, 0.0]), "0.001234ms 900.0ms 0ms");
        // Where all are long there are seconds.
        assert_eq!(shown(&[250e6, 12_940e6]), "0.250s 12.940s");
        // A small value alone is shown as it always was; and a ratio to zero is no defect.
        assert_eq!(Quantity::of(&[Some(0.02353)]).show(Some(0.02353)), "0.024");
        assert_eq!(Quantity::of(&[Some(f64::INFINITY), Some(1.5)]).show(Some(f64::INFINITY)), "inf");
        let quantity = Quantity::of(&[Some(0.5), Some(123_456.7)]);
        assert_eq!([0.5, 123_456.7].map(|value| quantity.show(Some(value))), ["0.5000", "123457"]);
    }

    #[test]
    fn the_largest_value_decides_on_the_unit() {
        let shown = |values: &[f64]| {
            let values: Vec<_> = values.iter().copied().map(Some).collect();
            let times = Times::of(&values);
            values.into_iter().map(|value| times.show(value) + times.unit).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(&[865e6, 1000e6]), "865ms 1000ms");
        assert_eq!(shown(&[865.25e6, 1000e6]), "865.2ms 1000.0ms");
        assert_eq!(shown(&[17.0, 250.0]), "17ns 250ns");
        assert_eq!(shown(&[50e3, 900e6]), "0.050ms 900.000ms");
        assert_eq!(shown(&[12.345678e9]), "12.35s");
        assert_eq!(shown(&[1.5e3]), "1.500us");
        assert_eq!(shown(&[0.0]), "0ms");
    }

    #[test]
    fn a_minus_is_none_of_a_hyphen() {
        assert_eq!(["-27.3 %", "+3.1", "-", "-x", "0"].map(with_minus), ["−27.3 %", "+3.1", "-", "-x", "0"]);
        assert_eq!(times_alike([16.5e6, 9.19e6, 23.81e6]), ["16.500 ms", "9.190 ms", "23.810 ms"]);
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        assert_eq!(Times::of(&[None]).show(None), "-");
        assert_eq!(Percent::show(Some(0.5)), "50.0");
        assert_eq!(Quantity::of(&[Some(8.0), Some(0.25)]).show(Some(8.0)), "8.000");
    }
}
