//! What a gate or a score measures: a number of a whole result, or a metric of each role.

use crate::metric::{Found, Level, Metric, find};
use crate::selector::Selector;

/// What is measured.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A number of a result.
    One(String),
    /// A metric of each role.
    EachRole(Found),
}

impl Subject {
    /// Reads a path: that of a [`Selector`], or that of a metric of roles alone.
    ///
    /// # Errors
    ///
    /// There is no such metric.
    pub fn read(path: &str) -> Result<Subject, String> {
        match (Selector::parse(path), find(path)) {
            (Ok(_), _) => Ok(Subject::One(path.into())),
            (Err(_), Ok(found)) if matches!(found.metric.level, Level::Task | Level::Role) => {
                Ok(Subject::EachRole(found))
            }
            // Of two errors the one that looked among more.
            (Err(unknown), _) if path.contains("roles.") || path.starts_with("cpus.") => Err(unknown.to_string()),
            (Err(unknown), Ok(_)) => Err(unknown.to_string()),
            (Err(_), Err(unknown)) => Err(unknown.to_string()),
        }
    }

    /// What it is one of.
    pub fn metric(&self) -> &'static Metric {
        match self {
            Subject::One(path) => Selector::parse(path).expect("it was parsed").metric(),
            Subject::EachRole(found) => found.metric,
        }
    }

    /// As it was written.
    pub fn path(&self) -> String {
        match self {
            Subject::One(path) => path.clone(),
            Subject::EachRole(found) => found.path(),
        }
    }

    /// The paths into a result of a scenario with these roles.
    pub fn paths(&self, roles: &[String]) -> Vec<String> {
        match self {
            Subject::One(path) => vec![path.clone()],
            Subject::EachRole(found) => roles.iter().map(|role| format!("roles.{role}.{}", found.path())).collect(),
        }
    }

    /// The role that it names and that is none of these, if so.
    pub fn unknown_role(&self, roles: &[String]) -> Option<String> {
        let Subject::One(path) = self else { return None };
        let rest = path.strip_prefix("roles.")?;
        let is_known = rest.starts_with("*.") || roles.iter().any(|role| rest.starts_with(&format!("{role}.")));
        (!is_known).then(|| rest.split('.').next().unwrap_or_default().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_without_a_role_is_that_of_each() {
        let roles = ["a".to_string(), "b".to_string()];
        let paths = |path: &str| Subject::read(path).unwrap().paths(&roles);
        assert_eq!(paths("response_ns.p99"), ["roles.a.response_ns.p99", "roles.b.response_ns.p99"]);
        assert_eq!(paths("roles.*.response_ns.p99"), ["roles.*.response_ns.p99"]);
        assert_eq!(paths("jain"), ["jain"]);
        assert!(Subject::read("respons_ns.p99").unwrap_err().contains("did you mean"));
        assert_eq!(Subject::read("roles.c.migrations").unwrap().unknown_role(&roles), Some("c".into()));
        assert_eq!(Subject::read("roles.a.migrations").unwrap().unknown_role(&roles), None);
    }
}
