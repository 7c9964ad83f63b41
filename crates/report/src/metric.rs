//! Columns of metrics: heads, unit and rounding are those of the table of metrics.

use crate::{Column, Percent, Quantity};
use schedlab_model::metric::{Metric, Round, Unit, known};
use schedlab_model::outcome::View;

/// The column of a metric, by its path in its part of a result, for rows of such parts.
///
/// # Panics
///
/// There is no such metric.
pub fn column(rows: &[View], path: &str) -> Column {
    let metric = known(path).metric;
    let values: Vec<Option<f64>> = rows.iter().map(|row| row.get(path)).collect();
    let exact = values.clone();
    let column = match metric.unit {
        Unit::Ns => Column::times(metric.head, values),
        Unit::Fraction => Column::numbers(&format!("{} %", metric.head), values.into_iter().map(Percent::show)),
        Unit::Count | Unit::Ratio | Unit::PerSecond => {
            let quantity = quantity(metric, &values);
            Column::numbers(metric.head, values.into_iter().map(|value| quantity.show(value)))
        }
    };
    column.under(metric.over).about(path).exactly(path, exact)
}

/// How values of a metric without a unit of time are shown.
pub(crate) fn quantity(metric: &Metric, values: &[Option<f64>]) -> Quantity {
    let is_whole = |value: &f64| value.fract() == 0.0;
    match (metric.round, metric.unit) {
        (Round::Decimals(decimals), _) => Quantity::with_decimals(decimals),
        // The mean of counts; a single one is whole.
        (Round::Digits, Unit::Count) if values.iter().flatten().all(|value| is_whole(value) || *value >= 0.05) => {
            Quantity::with_decimals(usize::from(!values.iter().flatten().all(is_whole)))
        }
        (Round::Digits, _) => Quantity::of(values),
    }
}
