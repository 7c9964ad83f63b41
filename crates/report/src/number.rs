//! Numbers as people read them: one unit and one number of decimals for a whole column.

/// What stands where there is no value.
const ABSENT: &str = "-";

/// Units of time, the longest first: where a column changes to it, its name, its nanoseconds.
const UNITS: [(f64, &str, f64); 4] = [(1e10, "s", 1e9), (1e6, "ms", 1e6), (1e3, "us", 1e3), (0.0, "ns", 1.0)];

/// How a column of times is shown. The largest value decides on the unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// The unit's name.
    pub unit: &'static str,
    ns_per_unit: f64,
    quantity: Quantity,
}

impl Times {
    /// For a column with these values, in nanoseconds.
    pub fn of(values: &[Option<f64>]) -> Times {
        let largest = values.iter().flatten().fold(0.0, |a: f64, b| a.max(b.abs()));
        // Nothing, and no time at all, are shown in the most usual unit.
        let large_enough = |(from, ..): &&(f64, _, _)| largest >= *from;
        let (_, unit, ns_per_unit) = *UNITS.iter().find(large_enough).filter(|_| largest > 0.0).unwrap_or(&UNITS[1]);
        let scaled: Vec<_> = values.iter().map(|value| value.map(|ns| ns / ns_per_unit)).collect();
        Times { unit, ns_per_unit, quantity: Quantity::of(&scaled) }
    }

    /// A value of the column, without its unit.
    pub fn show(&self, ns: Option<f64>) -> String {
        self.quantity.show(ns.map(|ns| ns / self.ns_per_unit))
    }
}

/// How a column of plain numbers is shown: with as many decimals as give the smallest four digits that mean something,
/// but at most three, and no more than leave the largest six digits in all. Whole numbers have none.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    decimals: usize,
}

impl Quantity {
    /// For a column with these values.
    pub fn of(values: &[Option<f64>]) -> Quantity {
        let sizes: Vec<f64> = values.iter().flatten().map(|value| value.abs()).filter(|size| *size > 0.0).collect();
        if sizes.iter().all(|size| size.fract() == 0.0) {
            return Quantity { decimals: 0 };
        }
        let smallest = sizes.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let digits = |size: f64| 1 + size.log10().floor() as i32;
        let decimals = (4 - digits(smallest)).min(6 - digits(largest)).clamp(0, 3);
        Quantity { decimals: decimals as usize }
    }

    /// With so many decimals.
    pub fn with_decimals(decimals: usize) -> Quantity {
        Quantity { decimals }
    }

    /// A value of the column.
    pub fn show(&self, value: Option<f64>) -> String {
        value.map_or(ABSENT.into(), |value| format!("{value:.*}", self.decimals))
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
    fn what_is_not_known_is_a_dash() {
        assert_eq!(Times::of(&[None]).show(None), "-");
        assert_eq!(Percent::show(Some(0.5)), "50.0");
        assert_eq!(Quantity::of(&[Some(8.0), Some(0.25)]).show(Some(8.0)), "8.000");
    }
}
