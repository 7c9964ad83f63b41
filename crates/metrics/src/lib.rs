//! Estimators and statistics: events and numbers in, numbers out. Knows no venue, no file and no format.
//!
//! [`collector::Collector`] turns the events of a run into a result while they stream by; [`validator::Validator`]
//! checks that they can have happened. Everything else is pure functions.

pub mod collector;
pub mod combine;
mod control_groups;
pub mod curve;
pub mod fairness;
pub mod histogram;
pub mod load;
pub mod others;
pub mod overhead;
pub mod served;
pub mod statistics;
#[cfg(test)]
mod test_helpers;
pub mod theory;
pub mod validator;
