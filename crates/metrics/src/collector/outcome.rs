//! What a run measured, in the form of the result.

use super::measures::{Observations, Totals};
use super::{Collector, cpu};
use crate::curve::RoleCurves;
use crate::statistics::BatchMeans;
use schedlab_model::ids::{RoleId, TaskId};
use schedlab_model::result::{
    CalibrationInfo, ControlGroupResult, CpuResult, EventCounts, Imbalance, LoadDistribution, OverheadTimes,
    PolicyInfo, Provenance, RoleResult, RunResult, SCHEMA, ScenarioInfo, TaskResult, WorkConservation,
};
use std::collections::BTreeMap;

/// All that the collector knows at the end of a run.
#[derive(Clone, Debug)]
pub struct RunMeasures {
    /// When the run ended.
    pub duration_ns: u64,
    /// Since when it was measured; at most the duration.
    pub warmup_ns: u64,
    /// One for each role of the workload.
    pub roles: Vec<RoleResult>,
    /// One for each control group below the root.
    pub control_groups: Vec<ControlGroupResult>,
    /// One for each task instance; empty when there were more than [`super::MAX_TASKS_IN_DETAIL`].
    pub tasks: Vec<TaskResult>,
    /// One for each CPU.
    pub cpus: Vec<CpuResult>,
    /// See [`RunResult`].
    pub load_distribution: Option<LoadDistribution>,
    /// See [`super::Collector`].
    pub jain: Option<f64>,
    /// See [`RunResult`].
    pub time_to_balance_ns: Option<u64>,
    /// See [`RunResult`]; absent for fluid disciplines.
    pub imbalance: Option<Imbalance>,
    /// See [`RunResult`]; absent for fluid disciplines.
    pub work_conservation_violation: Option<WorkConservation>,
    /// Over all CPUs.
    pub overhead_ns: OverheadTimes,
    /// Events after the warm-up.
    pub events: EventCounts,
    /// For each role, response times (ns) in the order in which the requests ended, in batches: intervals for the mean
    /// of a single long run. Not part of the result.
    pub response_batches: Vec<BatchMeans>,
    /// For each role, how its times are distributed. Not part of the result.
    pub curves: Vec<RoleCurves>,
}

/// What a venue knows about a run, and the collector does not.
#[derive(Clone, Debug)]
pub struct RunIdentity {
    /// What was run.
    pub scenario: ScenarioInfo,
    /// Which scheduler decided.
    pub policy: PolicyInfo,
    /// Where.
    pub venue: String,
    /// From which seed.
    pub seed: u64,
    /// What the numbers come from.
    pub provenance: Provenance,
    /// Events that were lost.
    pub lost: u64,
    /// Whether the run was stopped before its end.
    pub partial: bool,
    /// How work was measured, where tasks really compute.
    pub calibration: Option<CalibrationInfo>,
    /// Waits as the kernel counted them.
    pub kernel_run_delay_ns: Option<u64>,
    /// What could not be measured, and why.
    pub missing: Vec<String>,
    /// What a reader has to know of how it was set up.
    pub cautions: Vec<String>,
}

impl RunMeasures {
    /// The result of a run.
    pub fn into_result(self, identity: RunIdentity) -> RunResult {
        RunResult {
            schema: SCHEMA.into(),
            scenario: identity.scenario,
            policy: identity.policy,
            venue: identity.venue,
            seed: identity.seed,
            duration_ns: self.duration_ns,
            warmup_ns: self.warmup_ns,
            provenance: identity.provenance,
            roles: self.roles,
            control_groups: self.control_groups,
            tasks: self.tasks,
            cpus: self.cpus,
            load_distribution: self.load_distribution,
            jain: self.jain,
            time_to_balance_ns: self.time_to_balance_ns,
            imbalance: self.imbalance,
            work_conservation_violation: self.work_conservation_violation,
            overhead_ns: Some(self.overhead_ns),
            events: self.events,
            lost: identity.lost,
            partial: identity.partial,
            calibration: identity.calibration,
            costs: None,
            scheduler_program: None,
            kernel_run_delay_ns: identity.kernel_run_delay_ns,
            others: None,
            missing: identity.missing,
            cautions: identity.cautions,
        }
    }
}

impl Collector {
    /// The numbers. The run must be over.
    pub fn into_measures(mut self) -> RunMeasures {
        assert!(self.finished, "the measures of a run that is not over");
        let window_ns = self.now - self.window_from;
        let cpus = self.cpus.len() as u32;
        let tasks = self.task_results(window_ns);
        self.join_details();
        let overhead_ns = self.overhead_times();
        let control_groups = self.control_groups.take().map_or_else(Vec::new, |groups| groups.results(cpus));
        RunMeasures {
            control_groups,
            duration_ns: self.now,
            warmup_ns: self.window_from,
            tasks,
            cpus: self.cpu_results(window_ns),
            load_distribution: self.load_distribution(window_ns),
            jain: self.jain.index(),
            time_to_balance_ns: self.cpus.balance.as_ref().and_then(|balance| balance.found()),
            imbalance: self.cpus.imbalance.as_mut().and_then(|imbalance| imbalance.over(window_ns)),
            work_conservation_violation: self.idle_watch.as_ref().map(|watch| WorkConservation {
                ns: watch.violation_ns(),
                frac: fraction(watch.violation_ns(), window_ns * u64::from(cpus)),
            }),
            overhead_ns,
            events: self.events,
            roles: self
                .roles
                .iter()
                .zip(&mut self.observations)
                .map(|(role, observations)| RoleResult {
                    name: role.name.clone(),
                    count: role.count,
                    measures: role.totals.measures(observations, window_ns, cpus),
                    cv_of_task_means: role.task_means.cv(),
                    starved: (!self.fluid).then_some(role.starved),
                    jain_of_tasks: role.jain.index().filter(|_| role.jain.count() > 1),
                })
                .collect(),
            curves: self.observations.iter_mut().map(Observations::curves).collect(),
            response_batches: self.roles.into_iter().map(|role| role.response_batches).collect(),
        }
    }

    fn task_results(&mut self, window_ns: u64) -> Vec<TaskResult> {
        let cpus = self.cpus.len() as u32;
        let detailed = self.details.iter().zip(&mut self.observations[self.roles.len()..]);
        let mut tasks: Vec<TaskResult> = detailed
            .filter(|(detail, _)| detail.measured)
            .map(|(detail, observations)| TaskResult {
                id: detail.id.0,
                role: self.roles[detail.role.index()].name.clone(),
                measures: detail.totals.measures(observations, window_ns, cpus),
            })
            .collect();
        tasks.sort_by_key(|task| task.id);
        tasks
    }

    fn cpu_results(&self, window_ns: u64) -> Vec<CpuResult> {
        // A fluid discipline gives work to the machine as a whole; each CPU bears an equal part.
        let fluid_part = fraction(self.fluid_ns, window_ns * self.cpus.len() as u64);
        self.cpus
            .iter()
            .enumerate()
            .map(|(id, cpu)| {
                let overhead_frac = fraction(cpu::total(&cpu.overhead.times(self.now)), window_ns);
                let idle_frac = fraction(cpu.idle_ns, window_ns) - fluid_part;
                let others_frac = fraction(cpu.others_ns, window_ns);
                let unknown_frac = fraction(cpu.unknown_ns, window_ns);
                let busy_frac = 1.0 - idle_frac - overhead_frac - others_frac - unknown_frac;
                CpuResult {
                    id: id as u32,
                    busy_frac: if window_ns > 0 { busy_frac.clamp(0.0, 1.0) } else { 0.0 },
                    idle_frac: idle_frac.max(0.0),
                    overhead_frac,
                    others_frac: self.tells_of_others.then_some(others_frac),
                    unknown_frac: self.tells_of_others.then_some(unknown_frac),
                    steal_frac: None,
                    runnable: if self.fluid { BTreeMap::new() } else { fractions(&cpu.time_at_load, window_ns) },
                }
            })
            .collect()
    }

    fn load_distribution(&self, window_ns: u64) -> Option<LoadDistribution> {
        let requests: u64 = self.estimated_load.iter().sum();
        let estimated = fractions(&self.estimated_load, requests);
        let actual = (!self.fluid && window_ns > 0).then(|| {
            let mut time_at_load = Vec::new();
            for cpu in self.cpus.iter() {
                time_at_load.resize(time_at_load.len().max(cpu.time_at_load.len()), 0);
                time_at_load.iter_mut().zip(&cpu.time_at_load).for_each(|(sum, time)| *sum += time);
            }
            fractions(&time_at_load, window_ns * self.cpus.len() as u64)
        });
        (actual.is_some() || !estimated.is_empty()).then_some(LoadDistribution { estimated, actual })
    }

    pub(super) fn overhead_times(&self) -> OverheadTimes {
        let mut sum = OverheadTimes::default();
        for times in self.cpus.iter().map(|cpu| cpu.overhead.times(self.now)) {
            sum.switch += times.switch;
            sum.wakeup += times.wakeup;
            sum.migration += times.migration;
            sum.tick += times.tick;
            sum.policy += times.policy;
        }
        sum
    }

    /// Lets the observations of single tasks flow into those of their roles, and forgets the tasks.
    pub(super) fn join_details(&mut self) {
        let (roles, details) = self.observations.split_at_mut(self.roles.len());
        for (detail, observations) in self.details.iter().zip(details) {
            roles[detail.role.index()].merge(observations);
        }
        self.observations.truncate(self.roles.len());
        self.details.clear();
    }
}

/// A task whose numbers are kept apart; its observations are behind those of the roles, in the same order.
#[derive(Debug)]
pub(super) struct Detail {
    pub id: TaskId,
    pub role: RoleId,
    /// Set when the task has ended, or the run.
    pub totals: Totals,
    /// Whether it lived after the warm-up.
    pub measured: bool,
}

/// Adds a task to those kept apart.
pub(super) fn keep_apart(details: &mut Vec<Detail>, observations: &mut Vec<Observations>, detail: Detail) -> u32 {
    details.push(detail);
    observations.push(Observations::default());
    (observations.len() - 1) as u32
}

fn fraction(part: u64, whole: u64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}

/// The parts that are not zero, as fractions of the whole, by their index.
fn fractions(parts: &[u64], whole: u64) -> BTreeMap<u32, f64> {
    let present = parts.iter().enumerate().filter(|&(_, &part)| part > 0);
    present.map(|(index, &part)| (index as u32, fraction(part, whole))).collect()
}
