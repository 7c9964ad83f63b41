//! The result of a run: what `--json` prints and what the tables are made of.
//!
//! The comments of the fields define the metrics; [`crate::metric`] has the rest. The results of
//! several runs together are a [`crate::runs::RunsResult`].
//!
//! A result contains only what the inputs determine, so it is the same bytes everywhere. Unknown values are absent: never
//! zero, never NaN. Times are integer nanoseconds in fields that end in `_ns`; fractions end in `_frac`
//! and lie between 0 and 1. Only what happened after the warm-up counts.

mod control_groups;

pub use crate::costs::SchedulerCosts;
pub use control_groups::{ControlGroupKnobs, ControlGroupResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name and version of this form, the first field of every result.
pub const SCHEMA: &str = "schedlab.result/2";

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// Always `schedlab.result/2`.
    pub schema: String,
    /// What was run.
    pub scenario: ScenarioInfo,
    /// Which scheduler decided.
    pub policy: PolicyInfo,
    /// Where it ran: `sim`, `vm` or `host`; `import` for what another tool recorded somewhere.
    pub venue: String,
    /// The seed.
    pub seed: u64,
    /// When the run ended. Earlier than the scenario's duration if no task was left, or if it was stopped.
    pub duration_ns: u64,
    /// Nothing before this instant is counted.
    pub warmup_ns: u64,
    /// What the numbers come from.
    pub provenance: Provenance,
    /// One object for each `[[task]]` of the scenario, in file order.
    pub roles: Vec<RoleResult>,
    /// One object for each control group below the root, parents first; absent in a scenario without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub control_groups: Vec<ControlGroupResult>,
    /// One object for each task instance, in the order of creation; empty when there were more than 256.
    pub tasks: Vec<TaskResult>,
    /// One object for each CPU.
    pub cpus: Vec<CpuResult>,
    /// How many tasks shared a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_distribution: Option<LoadDistribution>,
    /// Jain's index of CPU time divided by weight, over the tasks: 1 if all got their share, 1/n if one got all.
    /// (Σx)² / (n·Σx²), where x is what a task got per nanosecond of its life, divided by its weight. Tasks of the
    /// real-time classes have no weight and do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jain: Option<f64>,
    /// The first instant after which the run-queue lengths stay balanced: the longest and the shortest differ by at most
    /// one, for 5 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_balance_ns: Option<u64>,
    /// How unevenly tasks were distributed over the CPUs. Absent with one CPU, and without tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imbalance: Option<Imbalance>,
    /// CPU time left idle while tasks waited that were allowed on that CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_conservation_violation: Option<WorkConservation>,
    /// CPU time that the system itself used, by kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead_ns: Option<OverheadTimes>,
    /// How many events of each kind there were.
    pub events: EventCounts,
    /// Events that were lost; they may affect every number.
    pub lost: u64,
    /// Whether the run was stopped before its end.
    pub partial: bool,
    /// The calibration of work, in venues where tasks really compute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<CalibrationInfo>,
    /// What the scheduler costs, in venues where time counts instructions and is therefore exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<SchedulerCosts>,
    /// What the scheduler's own program did, if the policy is a program (`exec:`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_program: Option<SchedulerProgram>,
    /// How long all tasks waited for a CPU in the run by the kernel's own counters (`/proc/TID/schedstat`), in addition to
    /// the waits derived from events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_run_delay_ns: Option<u64>,
    /// What others took from the CPUs, in the venue `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Others>,
    /// What could not be measured here, and why: the metrics concerned are absent or zero.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What a reader has to know about how the run was set up, such as a parameter of the policy that was set manually and
    /// contradicts the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
}

/// What a scheduler's own program did during a run. It shares the CPUs with the tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulerProgram {
    /// The name of its operations, as the kernel gives it.
    pub operations: String,
    /// From the start of the scheduler's program until the kernel reported that its policy is in charge.
    pub ready_ns: u64,
    /// CPU time of the threads of the scheduler's program in the run, including the warm-up.
    pub cpu_ns: u64,
    /// Threads of the scheduler's program at the end of the run.
    pub threads: u64,
    /// How often threads of the scheduler's program left a CPU to wait for something, including the warm-up.
    pub voluntary: u64,
    /// How often another task preempted a thread of the scheduler's program, including the warm-up.
    pub involuntary: u64,
    /// The last lines that it printed, at most 40.
    pub printed: Vec<String>,
}

/// What other programs took from the CPUs that the scenario uses, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Others {
    /// Time in which threads outside the run were on the CPUs, as a fraction of CPUs × measured time: other programs, the
    /// kernel's own threads, and the run's supervisor. From the recorded switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs_frac: Option<f64>,
    /// What the kernel counts as busy less the CPU time of the tasks, as a fraction of CPUs × time: a second opinion, and the
    /// only one without a recording. It counts in ticks of 10 ms, and includes interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_frac: Option<f64>,
    /// Time that the hypervisor gave to others while the CPUs had work, as a fraction of CPUs × time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_frac: Option<f64>,
    /// Fraction of the time in which some task of the machine waited for a CPU, including those of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_frac: Option<f64>,
    /// Of the CPU time that the tasks could have had, the part that others took: what others held while a task waited that
    /// was allowed there, and what was stolen, over the same and what the tasks got; more if requests come from outside. It
    /// may make a mean response up to 1/(1 − part) times as long. Without a recording it is an upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_taken: Option<f64>,
}

/// How the work of a real run was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationInfo {
    /// What the tasks compute.
    pub algorithm: String,
    /// Calibration of work, in venues where tasks really compute: CPU time of one piece, in nanoseconds.
    pub ns_per_piece: f64,
    /// Calibration of work: the distance between the quartiles of repeated measurements, as a fraction of their median.
    pub spread_frac: f64,
}

/// The scenario of a run, as far as readers of the result need it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioInfo {
    /// Its name.
    pub name: String,
    /// What it shows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The number of CPUs.
    pub cpus: u32,
    /// Nodes, last-level caches, cores, threads, as in `1n2l4c2t`.
    pub topology: String,
    /// The period of the timer tick; 0 where slices end exactly at their length.
    pub tick_ns: u64,
}

/// The policy of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyInfo {
    /// Its name.
    pub name: String,
    /// Its parameters, including the defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Parameter>,
}

/// The value of a policy's parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a value of a parameter: true or false, a whole number, or a text")]
pub enum Parameter {
    /// On or off.
    Flag(bool),
    /// A number, in the unit the policy documents.
    Unsigned(u64),
    /// A negative number.
    Signed(i64),
    /// A string or bytes.
    Text(String),
}

/// What a result comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The version of schedlab.
    pub version: String,
    /// SHA-256 of the scenario's canonical form; empty for a recording, which has none.
    pub scenario_hash: String,
    /// SHA-256 of the policy's object file; absent for schedulers that have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_hash: Option<String>,
    /// The kernel that ran, or the release which the simulator presents to the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The virtual machine in which it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineInfo>,
}

/// A virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineInfo {
    /// The emulator's name and version.
    pub version: String,
    /// How it counts time.
    pub clock: String,
    /// Whether the same inputs give the same bytes.
    pub repeats: bool,
    /// Virtual time of the boot: from the kernel's first instruction to the scenario's. With several runs it is a metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_ns: Option<u64>,
}

/// A confidence interval. Over runs: percentiles of 10,000 resamples of the runs (Efron and Tibshirani 1993, chapter 13);
/// with few runs it is too narrow (of ten, "95 %" means about 90 %): take 30. Of one run: Student's t over batches of
/// consecutive requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The mean of the runs' values.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability with which such an interval contains the true value, such as 0.95.
    pub level: f64,
}

/// The metrics of one `[[task]]` role over all its task instances.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleResult {
    /// Its name.
    pub name: String,
    /// How many task instances there were.
    pub count: u64,
    /// The metrics.
    #[serde(flatten)]
    pub measures: Measures,
    /// How much the tasks' mean response times differ: standard deviation over mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cv_of_task_means: Option<TaskMeansCv>,
    /// Jain's index of CPU time over its tasks: 1 if all got the same, 1/n if one got all. (Σx)² / (n·Σx²), where x is
    /// what a task got per nanosecond of its life. Absent with fewer than two tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jain_of_tasks: Option<f64>,
    /// How many of its tasks waited for a CPU and got no CPU time at all. Absent if waits are not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starved: Option<u64>,
}

/// The metrics of one task instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskResult {
    /// Its number, in the order of creation.
    pub id: u32,
    /// Its role's name.
    pub role: String,
    /// The metrics.
    #[serde(flatten)]
    pub measures: Measures,
}

/// The metrics of a task or a role. `Default` has nothing in it: counts of zero and no summaries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measures {
    /// Requests that ended. A request is one pass of a `loop` or the whole of a `once`, without think time, or what a
    /// worker takes from others and answers.
    pub requests: u64,
    /// Requests that had begun and not ended when the run ended, including those that waited for a worker. Only
    /// `open_age_ns` contains their times.
    pub requests_open: u64,
    /// Requests that began later than intended, in venues that can be late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_late: Option<u64>,
    /// Requests that were due and never began, in venues that can drop them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_dropped: Option<u64>,
    /// CPU time received.
    pub cpu_ns: u64,
    /// CPU time received, as a fraction of the whole machine's: CPUs × measured time.
    pub cpu_share: f64,
    /// Ended requests per second of measured time. An observation counts at the instant at which it ends.
    pub throughput_per_s: f64,
    /// From the start of a request to its end; in an open workload from the intended arrival, across all tasks that had it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_ns: Option<TimeSummary>,
    /// From the first time on a CPU after the request began to its end: what a program with a clock measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_from_first_run_ns: Option<TimeSummary>,
    /// Of the response time: waiting for a free worker, in channels and semaphores that carry requests; absent if none
    /// comes from there. The four parts add up to the response time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_worker_wait_ns: Option<TimeSummary>,
    /// Of the response time: runnable and not on a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_cpu_wait_ns: Option<TimeSummary>,
    /// Of the response time: on a CPU, including the system's costs there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_running_ns: Option<TimeSummary>,
    /// Of the response time: a worker had it and was blocked, in a sleep, a device, a lock, a full channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_blocked_ns: Option<TimeSummary>,
    /// Age of the requests that were still open at the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_age_ns: Option<TimeSummary>,
    /// From runnable to the first run, for each wake-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakeup_latency_ns: Option<TimeSummary>,
    /// From leaving the CPU while still runnable to running again, for each such wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempt_wait_ns: Option<TimeSummary>,
    /// Every wait for a CPU: wake-up latency and preempt wait together, the kernel's `run_delay` as single waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_delay_ns: Option<TimeSummary>,
    /// From fork to exit, for each task that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turnaround_ns: Option<TimeSummary>,
    /// Response time over the CPU work of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<RatioSummary>,
    /// Completed jobs of periodic tasks: each is what a task does from a release to its next `period` step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u64>,
    /// Jobs that were completed after their deadline, and those past it when the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_misses: Option<u64>,
    /// The part of the jobs that missed their deadline, including those past it when the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_miss_frac: Option<f64>,
    /// Releases without a job, because the previous job was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub releases_skipped: Option<u64>,
    /// How long before its deadline a job was done, for jobs that met it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack_ns: Option<TimeSummary>,
    /// How long after its deadline a job was done, for jobs that missed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness_ns: Option<TimeSummary>,
    /// The longest single wait for a CPU, including waits that were not over at the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_wait_ns: Option<u64>,
    /// Migrations to another CPU.
    pub migrations: u64,
    /// How often the task left its CPU.
    pub switches: SwitchCounts,
}

/// A summary of times in nanoseconds.
pub type TimeSummary = Summary<u64>;

/// A summary of ratios.
pub type RatioSummary = Summary<f64>;

/// A summary of a sample. An empty sample has none. Quantiles are by the nearest rank (Hyndman and Fan 1996,
/// definition 1), from a histogram that keeps them within 1/256 of the true value; everything else is exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary<V> {
    /// How many values.
    pub count: u64,
    /// Their arithmetic mean; times to the nearest nanosecond.
    pub mean: V,
    /// Their standard deviation (of a sample, n − 1); absent for a single value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sd: Option<V>,
    /// Standard deviation over mean; absent for a single value and for a mean of zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cv: Option<f64>,
    /// The minimum.
    pub min: V,
    /// The median.
    pub p50: V,
    /// 90 of 100 are not above it.
    pub p90: V,
    /// 99 of 100 are not above it.
    pub p99: V,
    /// 999 of 1000 are not above it.
    pub p999: V,
    /// The maximum.
    pub max: V,
}

/// Switches away from a task, voluntary or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchCounts {
    /// How often a task left its CPU because it slept, waited, yielded or ended.
    pub voluntary: u64,
    /// How often a task left its CPU because its slice was over or another task preempted it.
    pub involuntary: u64,
}

/// The coefficient of variation of the tasks' mean response times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskMeansCv {
    /// How much the tasks' mean response times differ: the standard deviation of a population (divided by n) over the mean.
    pub population: f64,
    /// How much the tasks' mean response times differ: the standard deviation of a sample (divided by n − 1) over the mean; absent for a single task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<f64>,
}

/// One CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuResult {
    /// Its number.
    pub id: u32,
    /// Fraction of the measured time in which it ran tasks.
    pub busy_frac: f64,
    /// Fraction of the measured time in which it was idle. Includes what others took, where that is not known.
    pub idle_frac: f64,
    /// Fraction of the measured time that the system took. With `busy_frac`, `idle_frac`, and `others_frac` and
    /// `unknown_frac` if present, it adds up to one.
    pub overhead_frac: f64,
    /// Fraction of the measured time in which it ran programs that were not recorded; absent if nothing reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_frac: Option<f64>,
    /// Fraction of the measured time with missing records, in which the running task is unknown; absent if nothing reports
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_frac: Option<f64>,
    /// Fraction of the time that the hypervisor gave to others while this CPU had work; part of the fractions above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_frac: Option<f64>,
    /// Fraction of the measured time with k runnable tasks here (running and queued), for each k that occurred.
    pub runnable: BTreeMap<u32, f64>,
}

/// How many tasks shared a CPU, measured in two ways.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadDistribution {
    /// Share of requests by the estimated number of tasks that shared their CPU: the k with
    /// (k − ½)·demand ≤ response < (k + ½)·demand. It needs no access to the scheduler. Empty if no request has a known demand.
    pub estimated: BTreeMap<u32, f64>,
    /// Fraction of CPU time with k runnable tasks on a CPU, from the run queues themselves; absent if they are
    /// not observed.
    #[serde(rename = "true", skip_serializing_if = "Option::is_none")]
    pub actual: Option<BTreeMap<u32, f64>>,
}

/// How unevenly tasks were distributed over the CPUs: 0 if each CPU always had as much as the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Imbalance {
    /// How unevenly tasks were distributed over the CPUs: the standard deviation of the number of tasks that run or wait on a
    /// CPU, from the mean of all CPUs at that instant, over all CPUs and the measured time, as a fraction of the mean over that
    /// time. Absent with one CPU, and without tasks.
    pub tasks: f64,
    /// How unevenly weight was distributed over the CPUs: like `imbalance.tasks`, but each task counts by the weight of the
    /// nice value with which it starts. Absent if no task has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

/// CPU time left idle while a task waited that was allowed on that CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkConservation {
    /// CPU time left idle while a task waited that was allowed on that CPU, summed over the CPUs.
    pub ns: u64,
    /// CPU time left idle while a task waited that was allowed on that CPU, as a fraction of CPUs × measured time.
    pub frac: f64,
}

/// CPU time that the system itself used, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverheadTimes {
    /// CPU time that the system used for context switches.
    pub switch: u64,
    /// CPU time that the system used for wake-ups.
    pub wakeup: u64,
    /// CPU time lost to cold caches after migrations.
    pub migration: u64,
    /// CPU time that the system used for timer ticks.
    pub tick: u64,
    /// CPU time that the instructions of the policy used.
    pub policy: u64,
}

/// How many events of each kind there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventCounts {
    /// Switches from one task to another, or to and from idle.
    pub switches: u64,
    /// Wake-ups: how often a task became runnable.
    pub wakeups: u64,
    /// Migrations to another CPU.
    pub migrations: u64,
    /// Timer ticks.
    pub ticks: u64,
    /// Tasks that were created.
    pub forks: u64,
    /// Tasks that ended.
    pub exits: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> RunResult {
        let response =
            Summary { count: 1, mean: 5, sd: None, cv: None, min: 5, p50: 5, p90: 5, p99: 5, p999: 5, max: 5 };
        let measures = Measures { requests: 1, response_ns: Some(response), ..Measures::default() };
        RunResult {
            control_groups: Vec::new(),
            schema: SCHEMA.into(),
            scenario: ScenarioInfo {
                name: "s".into(),
                about: String::new(),
                cpus: 1,
                topology: "1n1l1c1t".into(),
                tick_ns: 0,
            },
            policy: PolicyInfo {
                name: "rr".into(),
                parameters: BTreeMap::from([
                    ("boost".into(), Parameter::Flag(true)),
                    ("quantum".into(), Parameter::Unsigned(u64::MAX)),
                    ("shift".into(), Parameter::Signed(-1)),
                ]),
            },
            venue: "sim".into(),
            seed: 1,
            duration_ns: 10,
            warmup_ns: 0,
            provenance: Provenance {
                version: "0.1.0".into(),
                scenario_hash: "00".into(),
                policy_hash: None,
                engine: None,
                kernel: None,
            },
            roles: vec![RoleResult {
                name: "g".into(),
                count: 1,
                measures: measures.clone(),
                cv_of_task_means: None,
                jain_of_tasks: Some(1.0),
                starved: Some(0),
            }],
            tasks: vec![TaskResult { id: 0, role: "g".into(), measures }],
            cpus: vec![CpuResult {
                id: 0,
                busy_frac: 0.5,
                idle_frac: 0.5,
                overhead_frac: 0.0,
                others_frac: Some(0.1),
                unknown_frac: None,
                runnable: BTreeMap::from([(0, 0.5), (1, 0.5)]),
                ..CpuResult::default()
            }],
            load_distribution: Some(LoadDistribution {
                estimated: BTreeMap::from([(1, 1.0)]),
                actual: Some(BTreeMap::from([(10, 0.25)])),
            }),
            jain: None,
            time_to_balance_ns: None,
            imbalance: Some(Imbalance { tasks: 0.5, weight: None }),
            work_conservation_violation: None,
            overhead_ns: None,
            events: EventCounts::default(),
            lost: 0,
            calibration: None,
            costs: None,
            scheduler_program: None,
            kernel_run_delay_ns: None,
            others: None,
            missing: Vec::new(),
            cautions: Vec::new(),
            partial: false,
        }
    }

    #[test]
    fn comes_back_from_json_as_it_was() {
        let text = serde_json::to_string(&example()).unwrap();
        assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap(), example());
    }

    #[test]
    fn absent_is_not_written_and_metrics_are_in_the_object_itself() {
        let value = serde_json::to_value(example()).unwrap();
        assert_eq!(value["roles"][0]["response_ns"]["p50"], 5);
        assert_eq!(value["tasks"][0]["id"], 0);
        assert_eq!(value["cpus"][0]["runnable"]["1"], 0.5);
        assert_eq!(value["load_distribution"]["true"]["10"], 0.25);
        assert!(value["roles"][0]["response_ns"].get("sd").is_none());
        assert!(!value.to_string().contains("null"), "{value}");
    }
}
