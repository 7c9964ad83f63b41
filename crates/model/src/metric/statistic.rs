//! What a sample is summed up by.

use super::{Better, Unit};
use crate::result::Summary;
use std::borrow::Cow;

/// A number of a [`Summary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// How many values.
    Count,
    /// Their mean.
    Mean,
    /// Their standard deviation.
    Sd,
    /// Standard deviation over mean.
    Cv,
    /// The smallest.
    Min,
    /// The median.
    P50,
    /// The quantile of nine in ten.
    P90,
    /// The quantile of 99 in a hundred.
    P99,
    /// The quantile of 999 in a thousand.
    P999,
    /// The largest.
    Max,
}

impl Statistic {
    /// All, in the order of a summary.
    pub const ALL: [Statistic; 10] = [
        Statistic::Count,
        Statistic::Mean,
        Statistic::Sd,
        Statistic::Cv,
        Statistic::Min,
        Statistic::P50,
        Statistic::P90,
        Statistic::P99,
        Statistic::P999,
        Statistic::Max,
    ];

    /// Its key in a summary, which is also its head.
    pub fn key(self) -> &'static str {
        match self {
            Statistic::Count => "count",
            Statistic::Mean => "mean",
            Statistic::Sd => "sd",
            Statistic::Cv => "cv",
            Statistic::Min => "min",
            Statistic::P50 => "p50",
            Statistic::P90 => "p90",
            Statistic::P99 => "p99",
            Statistic::P999 => "p999",
            Statistic::Max => "max",
        }
    }

    /// Its name in a sentence, of what is called `noun`.
    pub(super) fn name(self, noun: &str) -> Cow<'static, str> {
        Cow::Owned(match self {
            Statistic::Count => format!("number of values of {noun}"),
            Statistic::Mean => format!("mean {noun}"),
            Statistic::Sd => format!("standard deviation of {noun}"),
            Statistic::Cv => format!("variation of {noun}"),
            Statistic::Min => format!("least {noun}"),
            Statistic::P50 => format!("median {noun}"),
            Statistic::P90 => format!("p90 of {noun}"),
            Statistic::P99 => format!("p99 of {noun}"),
            Statistic::P999 => format!("p99.9 of {noun}"),
            Statistic::Max => format!("greatest {noun}"),
        })
    }

    /// Its unit, where the values have the unit `of_values`.
    pub(super) fn unit(self, of_values: Unit) -> Unit {
        match self {
            Statistic::Count => Unit::Count,
            Statistic::Cv => Unit::Ratio,
            _ => of_values,
        }
    }

    /// Which way it is good, where the values are good in the way `of_values`: how many there are and how far apart they
    /// are is neither.
    pub(super) fn better(self, of_values: Better) -> Better {
        match self {
            Statistic::Count | Statistic::Sd | Statistic::Cv => Better::Neither,
            _ => of_values,
        }
    }

    /// Its value; none where the summary does not have it.
    pub(super) fn of<V: Copy>(self, summary: &Summary<V>, number: impl Fn(V) -> f64) -> Option<f64> {
        Some(match self {
            Statistic::Count => summary.count as f64,
            Statistic::Mean => number(summary.mean),
            Statistic::Sd => number(summary.sd?),
            Statistic::Cv => summary.cv?,
            Statistic::Min => number(summary.min),
            Statistic::P50 => number(summary.p50),
            Statistic::P90 => number(summary.p90),
            Statistic::P99 => number(summary.p99),
            Statistic::P999 => number(summary.p999),
            Statistic::Max => number(summary.max),
        })
    }
}
