//! What a sweep measured, place by place, for charts and tables.

use crate::axis::{Kind, as_number, as_word};
use crate::dataset::{Dataset, DatasetError};
use crate::plan::{Plan, Run};
use std::collections::BTreeMap;

/// What was measured. Runs that differ by their seed alone are together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The axes, without those of policies and seeds.
    pub axes: Vec<AxisView>,
    /// The paths of the measures.
    pub measures: Vec<String>,
    /// A point for each place, policy and role, in the order of the plan.
    pub points: Vec<Point>,
    /// How many runs there are.
    pub runs: usize,
    /// How many of them failed: they are in no point.
    pub failed: usize,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisView {
    /// Its path, as the sweep writes it.
    pub key: String,
    /// Whether its values are times, in nanoseconds.
    pub is_time: bool,
    /// Whether its values are random places, not those of a grid.
    pub is_sampled: bool,
}

/// A value on an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A number; a time is in nanoseconds.
    Number(f64),
    /// A word.
    Word(String),
}

/// The measurements of a role under a policy at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The policy, as the sweep writes it.
    pub policy: String,
    /// The role.
    pub role: String,
    /// The value on each axis.
    pub places: Vec<Place>,
    /// For each measure what each run gave; a run without a value has none.
    pub values: Vec<Vec<f64>>,
}

impl Dataset {
    /// What was measured.
    ///
    /// # Errors
    ///
    /// A part cannot be read.
    pub fn measured(&self, plan: &Plan) -> Result<Measured, DatasetError> {
        let axes: Vec<AxisView> = plan.own_axes().map(|column| plan.view(column)).collect();
        let mut rows = self.rows(plan)?;
        rows.sort_by_key(|row| row.run);
        let mut points: Vec<Point> = Vec::new();
        let mut known: BTreeMap<(String, String, Vec<String>), usize> = BTreeMap::new();
        for row in &rows {
            let Some(role) = &row.role else { continue };
            let (run, policy) = (&plan.runs[row.run], plan.policy_name(&plan.runs[row.run]).to_string());
            let words = plan.own_axes().map(|column| plan.value(run, column).to_string()).collect();
            let place = *known.entry((policy.clone(), role.clone(), words)).or_insert_with(|| {
                let values = vec![Vec::new(); plan.measures.len()];
                points.push(Point { policy, role: role.clone(), places: plan.places(run), values });
                points.len() - 1
            });
            for (values, value) in points[place].values.iter_mut().zip(&row.values) {
                values.extend(value);
            }
        }
        let failed = rows.iter().filter(|row| row.role.is_none()).count();
        Ok(Measured { axes, measures: plan.measures.clone(), points, runs: self.count(), failed })
    }
}

impl Plan {
    /// Where a run is on each axis.
    fn places(&self, run: &Run) -> Vec<Place> {
        let place = |column| {
            let value = self.value(run, column);
            let number = Some(as_number(value)).filter(|_| column.kind != Kind::Word).flatten();
            number.map_or_else(|| Place::Word(as_word(value)), Place::Number)
        };
        self.own_axes().map(place).collect()
    }
}
