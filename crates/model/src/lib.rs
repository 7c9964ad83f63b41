//! The vocabulary of schedlab: time, tasks, CPUs, workloads, traces, results.
//!
//! Everything that two rooms must agree upon stands here, and nothing that computes: the scenario language is read
//! into a [`workload::Workload`], a venue turns that into a stream of [`trace::Event`], and `metrics` turns the stream
//! into a result.

pub mod amount;
pub mod control_group;
pub mod costs;
pub mod count;
pub mod cpuset;
pub mod distribution;
pub mod fact;
pub mod hash;
pub mod ids;
pub mod layout;
pub mod machine;
pub mod metric;
pub mod names;
pub mod outcome;
pub mod recorded;
pub mod release;
pub mod reservation;
pub mod result;
pub mod rng;
pub mod rtapp;
pub mod runs;
pub mod scenario;
pub mod schema;
pub mod selector;
pub mod subject;
pub mod time;
pub mod trace;
pub mod workload;
