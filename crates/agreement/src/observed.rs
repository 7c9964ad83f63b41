//! What is compared of a run, and nothing else: hundreds of cells have thousands of runs.

use schedlab_model::result::{CpuResult, RunResult};

/// What is compared of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// Each role, in the scenario's order.
    pub roles: Vec<RoleObserved>,
    /// How many tasks were on each CPU for the longest time, in ascending order.
    pub tasks_on_cpus: Vec<u32>,
    /// The part that others took of the CPU time that the tasks could have had.
    pub others: f64,
}

/// What is compared of a role.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RoleObserved {
    pub name: String,
    /// Requests that ended.
    pub requests: u64,
    /// Mean, median and 99th percentile of their response times in nanoseconds; none where no request ended.
    pub response_ns: Option<[f64; 3]>,
    /// The part of the CPU time that all roles got.
    pub share: f64,
}

impl Observed {
    /// That of a result.
    pub fn of(result: &RunResult) -> Observed {
        let all: u64 = result.roles.iter().map(|role| role.measures.cpu_ns).sum();
        let roles = result.roles.iter().map(|role| {
            let response = role.measures.response_ns.as_ref();
            RoleObserved {
                name: role.name.clone(),
                requests: response.map_or(0, |response| response.count),
                response_ns: response.map(|of| [of.mean as f64, of.p50 as f64, of.p99 as f64]),
                share: role.measures.cpu_ns as f64 / all.max(1) as f64,
            }
        });
        let others = result.others.as_ref().and_then(|others| others.part_taken).unwrap_or(0.0);
        Observed { roles: roles.collect(), tasks_on_cpus: usual(&result.cpus), others }
    }
}

fn usual(cpus: &[CpuResult]) -> Vec<u32> {
    let longest =
        |cpu: &CpuResult| cpu.runnable.iter().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(tasks, _)| *tasks);
    let mut tasks: Vec<u32> = cpus.iter().map(longest).collect();
    tasks.sort_unstable();
    tasks
}
