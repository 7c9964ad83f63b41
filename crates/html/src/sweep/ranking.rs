//! Which places of a sweep are best, as far as their intervals tell.

use super::{Measure, distinct, place, shown};
use crate::document::TableView;
use schedlab_metrics::statistics::{mean, mean_interval};
use schedlab_model::metric::Better;
use schedlab_report::{Column, Table, amount};
use schedlab_sweep::{Measured, Point};

/// The level of the intervals over the runs of a place.
pub(super) const LEVEL: f64 = 0.95;

/// How many places the first screen shows.
const ROWS: usize = 5;

/// A measure of a role at all places, the best first.
pub(super) struct Ranking<'a> {
    measure: &'a Measure,
    role: &'a str,
    /// Never empty.
    places: Vec<Seen<'a>>,
}

/// What was measured at a place.
pub(super) struct Seen<'a> {
    pub point: &'a Point,
    pub mean: f64,
    /// The interval over its runs; none of one run, or of runs that are the same.
    interval: Option<(f64, f64)>,
}

impl Seen<'_> {
    /// Whether two places cannot be told apart: their intervals overlap. Without any interval there is nothing to say.
    fn is_like(&self, other: &Seen) -> bool {
        let ends = |seen: &Seen| seen.interval.unwrap_or((seen.mean, seen.mean));
        let ((low, high), (other_low, other_high)) = (ends(self), ends(other));
        low <= other_high && other_low <= high
    }
}

impl<'a> Ranking<'a> {
    /// Of a measure of a role; none where nothing was measured.
    pub fn new(measure: &'a Measure, role: &'a str, measured: &'a Measured) -> Option<Ranking<'a>> {
        let seen = |point: &'a Point| {
            let values = point.values.get(measure.index)?;
            let interval = mean_interval(values, LEVEL).map(|interval| (interval.low, interval.high));
            Some(Seen { point, mean: mean(values)?, interval })
        };
        let own = measured.points.iter().filter(|point| point.role == role);
        let mut places: Vec<Seen> = own.filter_map(seen).collect();
        places.sort_by(|a, b| match measure.found.metric.better {
            Better::Higher => b.mean.total_cmp(&a.mean),
            Better::Lower | Better::Neither => a.mean.total_cmp(&b.mean),
        });
        (!places.is_empty()).then_some(Ranking { measure, role, places })
    }

    /// The place with the lowest mean, and the one with the highest.
    pub fn ends(&self) -> [&Seen<'a>; 2] {
        let ends = [&self.places[0], &self.places[self.places.len() - 1]];
        if ends[0].mean <= ends[1].mean { ends } else { [ends[1], ends[0]] }
    }

    /// In a table, what is to be said about its lowest and its highest.
    pub fn difference(&self) -> String {
        let [lowest, highest] = self.ends();
        match lowest.interval.or(highest.interval) {
            None => "-".into(),
            Some(_) if lowest.is_like(highest) => "indistinguishable".into(),
            Some(_) => "more than chance".into(),
        }
    }

    /// What it is called.
    pub fn name(&self) -> String {
        self.measure.name(self.role)
    }

    /// A value of the measure.
    pub fn amount(&self, value: f64) -> String {
        amount(self.measure.found.metric, value)
    }

    /// In a sentence or two, where it is best and where worst, and from which places the best cannot be told apart.
    pub fn answer(&self, measured: &Measured) -> String {
        let (first, last) = (&self.places[0], &self.places[self.places.len() - 1]);
        let name = capital(self.name());
        let others = &self.places[1..];
        let alike = others.iter().filter(|other| other.is_like(first)).count();
        let told = |seen: &Seen| format!("{} ({})", place(seen.point, measured), self.amount(seen.mean));
        let (best, worst) = match self.measure.found.metric.better {
            Better::Higher => ("highest", "lowest"),
            Better::Lower | Better::Neither => ("lowest", "highest"),
        };
        match (first.mean == last.mean, alike) {
            (true, _) => format!("{name} is {} everywhere.", self.amount(first.mean)),
            (_, 0) => format!("{name} is {best} {} and {worst} {}.", told(first), told(last)),
            (_, alike) if alike == others.len() => {
                let ends = self.ends().map(|seen| self.amount(seen.mean));
                let count = self.places.len();
                format!("{name}: the {count} places cannot be told apart ({} to {}).", ends[0], ends[1])
            }
            (_, alike) => {
                let all = others.len();
                let end = match last.is_like(first) {
                    true => String::new(),
                    false => format!(" It is {worst} {}.", told(last)),
                };
                format!(
                    "{name} is {best} {}; {alike} of the other {all} places cannot be told apart from it, since their intervals \
                     overlap.{end}",
                    told(first)
                )
            }
        }
    }

    /// The first places as a table, each with what it is next to the first.
    pub fn table(&self, measured: &Measured) -> TableView {
        let rows = &self.places[..self.places.len().min(ROWS)];
        let words = |head: &str, of: &dyn Fn(&Seen) -> String| Column::words(head, rows.iter().map(of));
        let numbers = |head: &str, of: &dyn Fn(&Seen) -> String| Column::numbers(head, rows.iter().map(of));
        let end = |pick: fn((f64, f64)) -> f64| {
            move |seen: &Seen| seen.interval.map_or("-".into(), |interval| self.amount(pick(interval)))
        };
        let mut columns = Vec::new();
        if measured.points.iter().any(|point| point.policy != measured.points[0].policy) {
            columns.push(words("policy", &|seen| seen.point.policy.clone()));
        }
        for (index, axis) in measured.axes.iter().enumerate().filter(|(index, _)| distinct(measured, *index) > 1) {
            columns.push(words(&axis.key, &|seen| shown(axis, &seen.point.places[index])));
        }
        columns.push(numbers("mean", &|seen| self.amount(seen.mean)));
        if rows.iter().any(|seen| seen.interval.is_some()) {
            columns.push(numbers("95 % from", &end(|(low, _)| low)));
            columns.push(numbers("to", &end(|(_, high)| high)));
            let first = &self.places[0];
            columns.push(words("next to the first", &|seen| match (std::ptr::eq(seen, first), seen.is_like(first)) {
                (true, _) => "-".into(),
                (false, true) => "indistinguishable".into(),
                (false, false) => "behind".into(),
            }));
        }
        TableView::of(&format!("Best places by {}", self.name()), &Table::new(columns))
    }
}

/// With a capital.
fn capital(mut text: String) -> String {
    if let Some(first) = text.get(..1).map(str::to_uppercase) {
        text.replace_range(..1, &first);
    }
    text
}
