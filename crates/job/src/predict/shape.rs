//! How the times of roles are distributed, next to their figures.

use schedlab_infer::Report;
use schedlab_metrics::curve::RoleCurves;
use schedlab_model::result::RunResult;
use std::collections::BTreeMap;

/// The curves of roles by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape(BTreeMap<String, RoleCurves>);

impl Shape {
    /// Those of a run, whose curves are in the order of its roles.
    pub fn of(result: &RunResult, curves: &[RoleCurves]) -> Shape {
        let names = result.roles.iter().map(|role| role.name.clone());
        Shape(names.zip(curves.iter().cloned()).collect())
    }

    /// Those of a model by the roles of the recording: of one that is several in the model there are none.
    pub fn by_recorded_role(self, report: &Report) -> Shape {
        let recorded = |name: String| match report.roles.iter().find(|role| role.name == name) {
            None => Some(name),
            Some(role) => {
                let parts = report.roles.iter().filter(|other| other.recorded == role.recorded).count();
                (parts == 1).then(|| role.recorded.clone())
            }
        };
        Shape(self.0.into_iter().filter_map(|(name, curves)| Some((recorded(name)?, curves))).collect())
    }

    /// The curves of these roles; empty ones where there are none.
    pub fn curves(&self, roles: &[String]) -> Vec<RoleCurves> {
        roles.iter().map(|role| self.0.get(role).cloned().unwrap_or_default()).collect()
    }
}
