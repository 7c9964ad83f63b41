//! The table: a row for each number of a result, in the order of the result.

use super::{Better, Combine, KEY, Level, Metric, Read, Round, Statistic, Unit};
use crate::result::{
    ControlGroupResult, CpuResult, Measures, Others, RatioSummary, RoleResult, RunResult, SchedulerCosts,
    SchedulerProgram, TimeSummary,
};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A row. A summary is a row for all of its statistics, a distribution one for all of its numbers.
#[derive(Clone, Copy)]
struct Row {
    path: &'static str,
    unit: Unit,
    name: &'static str,
    over: &'static str,
    head: &'static str,
    better: Better,
    source: Option<&'static str>,
    combine: Combine,
    round: Round,
    read: Reader,
}

#[derive(Clone, Copy)]
enum Reader {
    One(Read),
    Times(fn(&Measures) -> Option<&TimeSummary>),
    Ratios(fn(&Measures) -> Option<&RatioSummary>),
    ControlGroupTimes(fn(&ControlGroupResult) -> Option<&TimeSummary>),
}

const HAPPE: &str = "Happe et al.";
const DENNING: &str = "Denning and Buzen 1978";
const HARCHOL: &str = "Harchol-Balter 2013, chapter 28";
const LIU: &str = "Liu and Layland 1973";
const JAIN: &str = "Jain, Chiu and Hawe 1984";
const PROC_STAT: &str = "/proc/stat, proc_stat(5)";
const PRESSURE: &str = "`some` of /proc/pressure/cpu, Documentation/accounting/psi.rst of Linux";
const CPU_STAT: &str = "cpu.stat, Documentation/admin-guide/cgroup-v2.rst of Linux";
const PSI: &str = "Documentation/accounting/psi.rst of Linux";
const WATER: &str = "weighted max-min fairness, Bertsekas and Gallager 1992, section 6.5.2";
const BALANCE: &str = "Happe et al., equation Linux.1.a";

#[rustfmt::skip]
const TABLE: &[Row] = &[
    // Of a role.
    role("count", Unit::Count, "tasks", |role| Some(role.count as f64)),

    // Of a task, and of all tasks of a role together.
    task("requests", Unit::Count, "requests", |m| count(m.requests)).heads("requests", "done"),
    task("requests_open", Unit::Count, "open requests", |m| count(m.requests_open)).heads("requests", "open"),
    task("requests_late", Unit::Count, "late requests", |m| m.requests_late.and_then(count)).heads("requests", "late"),
    task("requests_dropped", Unit::Count, "dropped requests", |m| m.requests_dropped.and_then(count)).heads("requests", "dropped"),
    task("cpu_ns", Unit::Ns, "CPU time", |m| count(m.cpu_ns)).heads("CPU", "time"),
    task("cpu_share", Unit::Fraction, "CPU share", |m| Some(m.cpu_share)).heads("", "CPU"),
    task("throughput_per_s", Unit::PerSecond, "throughput", |m| Some(m.throughput_per_s)).heads("requests", "per s").better(Better::Higher).from(DENNING),
    times("response_ns", "response", "response", |m| m.response_ns.as_ref()),
    times("response_from_first_run_ns", "response from first run", "from first run", |m| m.response_from_first_run_ns.as_ref()).from(HAPPE),
    times("response_worker_wait_ns", "part of the response that waits for a worker", "waits for a worker", |m| m.response_worker_wait_ns.as_ref()),
    times("response_cpu_wait_ns", "part of the response that waits for a CPU", "waits for a CPU", |m| m.response_cpu_wait_ns.as_ref()),
    times("response_running_ns", "part of the response that runs", "runs", |m| m.response_running_ns.as_ref()),
    times("response_blocked_ns", "part of the response that is blocked", "is blocked", |m| m.response_blocked_ns.as_ref()),
    times("open_age_ns", "age of open requests", "open requests", |m| m.open_age_ns.as_ref()),
    times("wakeup_latency_ns", "wake-up latency", "wake-up", |m| m.wakeup_latency_ns.as_ref()),
    times("preempt_wait_ns", "wait after preemption", "preempted", |m| m.preempt_wait_ns.as_ref()),
    times("run_delay_ns", "wait for a CPU", "run delay", |m| m.run_delay_ns.as_ref()),
    times("turnaround_ns", "turnaround", "turnaround", |m| m.turnaround_ns.as_ref()),
    ratios("slowdown", "slowdown", "slowdown", |m| m.slowdown.as_ref()).from(HARCHOL),
    task("jobs", Unit::Count, "jobs", |m| m.jobs.and_then(count)).heads("jobs", "done"),
    task("deadline_misses", Unit::Count, "deadline misses", |m| m.deadline_misses.and_then(count)).heads("jobs", "missed").better(Better::Lower).from(LIU),
    task("deadline_miss_frac", Unit::Fraction, "part of the jobs that missed their deadline", |m| m.deadline_miss_frac).heads("jobs", "missed part").better(Better::Lower).from(LIU),
    task("releases_skipped", Unit::Count, "releases without a job", |m| m.releases_skipped.and_then(count)).heads("jobs", "skipped").better(Better::Lower),
    times("slack_ns", "slack", "slack", |m| m.slack_ns.as_ref()).better(Better::Higher),
    times("lateness_ns", "lateness", "lateness", |m| m.lateness_ns.as_ref()),
    task("longest_wait_ns", Unit::Ns, "longest wait for a CPU", |m| m.longest_wait_ns.and_then(count)).heads("run delay", "longest").better(Better::Lower),
    task("migrations", Unit::Count, "migrations", |m| count(m.migrations)).heads("", "migr"),
    task("switches.voluntary", Unit::Count, "voluntary switches", |m| count(m.switches.voluntary)).heads("switches", "vol"),
    task("switches.involuntary", Unit::Count, "involuntary switches", |m| count(m.switches.involuntary)).heads("switches", "invol"),

    // Of a role again.
    role("cv_of_task_means.population", Unit::Ratio, "variation of the tasks' means", |role| Some(role.cv_of_task_means?.population)).heads("", "task cv").better(Better::Lower),
    role("cv_of_task_means.sample", Unit::Ratio, "variation of the tasks' means, as a sample", |role| role.cv_of_task_means?.sample).heads("sample", "task cv").better(Better::Lower),
    role("jain_of_tasks", Unit::Ratio, "Jain index of its tasks", |role| role.jain_of_tasks).heads("", "task Jain").better(Better::Higher).decimals(4).from(JAIN),
    role("starved", Unit::Count, "tasks that got no CPU", |role| role.starved.and_then(count)).heads("", "starved").better(Better::Lower),

    // Of a control group.
    control_group("tasks", Unit::Count, "tasks in the control group", |group| count(group.tasks)).heads("", "tasks"),
    control_group("usage_ns", Unit::Ns, "CPU time of the control group", |group| count(group.usage_ns)).heads("CPU", "time"),
    control_group("usage_share", Unit::Fraction, "CPU share of the control group", |group| Some(group.usage_share)).heads("CPU", "share"),
    control_group("sibling_share", Unit::Fraction, "share among its siblings", |group| group.sibling_share).heads("among siblings", "got"),
    control_group("entitled_share", Unit::Fraction, "share that it is entitled to", |group| group.entitled_share).heads("among siblings", "entitled").from(WATER),
    control_group("nr_periods", Unit::Count, "periods", |group| group.nr_periods.and_then(count)).heads("periods", "all").from(CPU_STAT),
    control_group("nr_throttled", Unit::Count, "throttled periods", |group| group.nr_throttled.and_then(count)).heads("periods", "throttled").better(Better::Lower).from(CPU_STAT),
    control_group("throttled_ns", Unit::Ns, "throttled time", |group| group.throttled_ns.and_then(count)).heads("throttled", "time").better(Better::Lower).from(CPU_STAT),
    control_group("nr_bursts", Unit::Count, "bursts", |group| group.nr_bursts.and_then(count)).heads("bursts", "number").from(CPU_STAT),
    control_group("burst_ns", Unit::Ns, "burst time", |group| group.burst_ns.and_then(count)).heads("bursts", "time").from(CPU_STAT),
    control_group_times("throttled_wait_ns", "wait while throttled", "throttled waits", |group| group.throttled_wait_ns.as_ref()),
    control_group_times("response_throttled_ns", "part of the response that is throttled", "throttled in responses", |group| group.response_throttled_ns.as_ref()),
    control_group("pressure_some_ns", Unit::Ns, "pressure on some", |group| group.pressure_some_ns.and_then(count)).heads("pressure", "some").better(Better::Lower).from(PSI),
    control_group("pressure_full_ns", Unit::Ns, "pressure on all", |group| group.pressure_full_ns.and_then(count)).heads("pressure", "full").better(Better::Lower).from(PSI),
    control_group("kernel_usage_ns", Unit::Ns, "CPU time by the kernel's count", |group| group.kernel_usage_ns.and_then(count)).heads("by the kernel", "CPU").from(CPU_STAT),
    control_group("kernel_pressure_some_ns", Unit::Ns, "pressure on some by the kernel's count", |group| group.kernel_pressure_some_ns.and_then(count)).heads("by the kernel", "some").better(Better::Lower).from(PSI),
    control_group("kernel_pressure_full_ns", Unit::Ns, "pressure on all by the kernel's count", |group| group.kernel_pressure_full_ns.and_then(count)).heads("by the kernel", "full").better(Better::Lower).from(PSI),

    // Of a CPU.
    cpu("busy_frac", "busy", |cpu| Some(cpu.busy_frac)),
    cpu("idle_frac", "idle", |cpu| Some(cpu.idle_frac)),
    cpu("overhead_frac", "system", |cpu| Some(cpu.overhead_frac)).better(Better::Lower),
    cpu("others_frac", "others", |cpu| cpu.others_frac).better(Better::Lower),
    cpu("unknown_frac", "unknown", |cpu| cpu.unknown_frac).better(Better::Lower),
    cpu("steal_frac", "steal", |cpu| cpu.steal_frac).better(Better::Lower).from(PROC_STAT),
    cpu_load("runnable", "tasks there", |cpu| &cpu.runnable),

    // Of the run.
    run("duration_ns", Unit::Ns, "length of the run", |run| count(run.duration_ns)).heads("", "length"),
    load("load_distribution.estimated", "tasks on a CPU, as requests see it", |run| Some(&run.load_distribution.as_ref()?.estimated).filter(|loads| !loads.is_empty())).from(HAPPE),
    load("load_distribution.true", "tasks on a CPU", |run| run.load_distribution.as_ref()?.actual.as_ref()),
    run("jain", Unit::Ratio, "Jain index", |run| run.jain).heads("", "Jain").better(Better::Higher).decimals(4).from(JAIN),
    run("time_to_balance_ns", Unit::Ns, "time to balance", |run| run.time_to_balance_ns.and_then(count)).heads("", "balanced after").better(Better::Lower).from(BALANCE),
    run("imbalance.tasks", Unit::Ratio, "imbalance of the CPUs by tasks", |run| Some(run.imbalance?.tasks)).heads("imbalance", "tasks").better(Better::Lower).decimals(4),
    run("imbalance.weight", Unit::Ratio, "imbalance of the CPUs by weight", |run| run.imbalance?.weight).heads("imbalance", "weight").better(Better::Lower).decimals(4),
    run("work_conservation_violation.ns", Unit::Ns, "idle time despite work", |run| count(run.work_conservation_violation?.ns)).heads("idle despite work", "time").better(Better::Lower),
    run("work_conservation_violation.frac", Unit::Fraction, "idle despite work", |run| Some(run.work_conservation_violation?.frac)).heads("", "idle despite work").better(Better::Lower),
    run("overhead_ns.switch", Unit::Ns, "system time for switches", |run| count(run.overhead_ns?.switch)).heads("system time", "switch").better(Better::Lower),
    run("overhead_ns.wakeup", Unit::Ns, "system time for wake-ups", |run| count(run.overhead_ns?.wakeup)).heads("system time", "wake-up").better(Better::Lower),
    run("overhead_ns.migration", Unit::Ns, "system time for migrations", |run| count(run.overhead_ns?.migration)).heads("system time", "migration").better(Better::Lower),
    run("overhead_ns.tick", Unit::Ns, "system time for ticks", |run| count(run.overhead_ns?.tick)).heads("system time", "tick").better(Better::Lower),
    run("overhead_ns.policy", Unit::Ns, "system time for the policy", |run| count(run.overhead_ns?.policy)).heads("system time", "policy").better(Better::Lower),
    run("events.switches", Unit::Count, "switches", |run| count(run.events.switches)).heads("events", "switches"),
    run("events.wakeups", Unit::Count, "wake-ups", |run| count(run.events.wakeups)).heads("events", "wake-ups"),
    run("events.migrations", Unit::Count, "migrations", |run| count(run.events.migrations)).heads("events", "migrations"),
    run("events.ticks", Unit::Count, "ticks", |run| count(run.events.ticks)).heads("events", "ticks"),
    run("events.forks", Unit::Count, "forks", |run| count(run.events.forks)).heads("events", "forks"),
    run("events.exits", Unit::Count, "exits", |run| count(run.events.exits)).heads("events", "exits"),
    run("lost", Unit::Count, "lost events", |run| count(run.lost)).better(Better::Lower).sum(),
    run("calibration.ns_per_piece", Unit::Ns, "a piece of work", |run| Some(run.calibration.as_ref()?.ns_per_piece)).heads("calibration", "piece"),
    run("calibration.spread_frac", Unit::Fraction, "spread of a piece of work", |run| Some(run.calibration.as_ref()?.spread_frac)).heads("calibration", "spread"),
    cost("costs.ns_per_instruction", "instruction", |costs| Some(costs.ns_per_instruction)),
    cost("costs.switch_thread_ns", "switch", |costs| costs.switch_thread_ns),
    cost("costs.switch_process_ns", "switch of process", |costs| costs.switch_process_ns),
    cost("costs.hand_over_ns", "hand-over", |costs| costs.hand_over_ns),
    cost("costs.switch_wait_ns", "switch from a sleeper", |costs| costs.switch_wait_ns),
    cost("costs.idle_exit_ns", "exit from idleness", |costs| costs.idle_exit_ns),
    cost("costs.preempt_ns", "preemption", |costs| costs.preempt_ns),
    cost("costs.wakeup_ns", "wake-up", |costs| costs.wakeup_ns),
    cost("costs.wakeup_remote_ns", "wake-up, other CPU", |costs| costs.wakeup_remote_ns),
    cost("costs.wakeup_select_ns", "wake-up, choice of CPU", |costs| costs.wakeup_select_ns),
    cost("costs.tick_ns", "tick", |costs| costs.tick_ns),
    cost("costs.migration_ns", "migration", |costs| costs.migration_ns),
    cost("costs.fork_ns", "fork", |costs| costs.fork_ns),
    cost("costs.start_ns", "start", |costs| costs.start_ns),
    cost("costs.exit_ns", "exit", |costs| costs.exit_ns),
    call("costs.timer_ns", "timer", |costs| costs.timer_ns),
    call("costs.process_fork_ns", "fork of a process", |costs| costs.process_fork_ns),
    call("costs.process_fork_thread_ns", "fork of a process, each thread", |costs| costs.process_fork_thread_ns),
    call("costs.process_return_ns", "return from the fork of a process", |costs| costs.process_return_ns),
    call("costs.process_copy_ns", "copies for processes", |costs| costs.process_copy_ns),
    call("costs.process_start_ns", "start of a process", |costs| costs.process_start_ns),
    call("costs.process_start_shared_ns", "start of a process, shared", |costs| costs.process_start_shared_ns),
    call("costs.process_start_first_ns", "start of a process, first", |costs| costs.process_start_first_ns),
    call("costs.process_start_thread_ns", "start of a process, each thread", |costs| costs.process_start_thread_ns),
    call("costs.process_exit_ns", "exit of a process", |costs| costs.process_exit_ns),
    call("costs.process_exit_thread_ns", "exit of a process, each thread", |costs| costs.process_exit_thread_ns),
    call("costs.arrival_ns", "arrival", |costs| costs.arrival_ns),
    call("costs.process_arrival_ns", "arrival of a process", |costs| costs.process_arrival_ns),
    call("costs.grace_period_ns", "grace period", |costs| costs.grace_period_ns),
    call("costs.reclaim_ns", "reclaim", |costs| costs.reclaim_ns),
    call("costs.statistics_ns", "statistics of a CPU", |costs| costs.statistics_ns),
    call("costs.sleep_ns", "sleep", |costs| costs.sleep_ns),
    call("costs.resume_ns", "resume", |costs| costs.resume_ns),
    call("costs.io_ns", "io", |costs| costs.io_ns),
    call("costs.futex_wait_ns", "futex wait", |costs| costs.futex_wait_ns),
    call("costs.futex_wake_ns", "futex wake", |costs| costs.futex_wake_ns),
    call("costs.semaphore_ns", "semaphore", |costs| costs.semaphore_ns),
    call("costs.request_ns", "request", |costs| costs.request_ns),
    call("costs.request_send_ns", "request, sent on", |costs| costs.request_send_ns),
    call("costs.request_recv_ns", "request, taken over", |costs| costs.request_recv_ns),
    call("costs.pipe_send_ns", "pipe send", |costs| costs.pipe_send_ns),
    call("costs.pipe_recv_ns", "pipe recv", |costs| costs.pipe_recv_ns),
    call("costs.pipe_alloc_ns", "pipe page, new", |costs| costs.pipe_alloc_ns),
    call("costs.pipe_free_ns", "pipe page, freed", |costs| costs.pipe_free_ns),
    call("costs.pipe_wait_ns", "pipe wait", |costs| costs.pipe_wait_ns),
    call("costs.pipe_resume_ns", "pipe resume", |costs| costs.pipe_resume_ns),
    call("costs.socket_send_ns", "socket send", |costs| costs.socket_send_ns),
    call("costs.socket_recv_ns", "socket recv", |costs| costs.socket_recv_ns),
    call("costs.socket_wait_ns", "socket wait", |costs| costs.socket_wait_ns),
    call("costs.socket_resume_ns", "socket resume", |costs| costs.socket_resume_ns),
    run("kernel_run_delay_ns", Unit::Ns, "wait for a CPU by the kernel's counters", |run| run.kernel_run_delay_ns.and_then(count)).heads("kernel", "run delay"),
    others("others.programs_frac", "CPU time of other programs", "programs", |others| others.programs_frac),
    others("others.counted_frac", "busy time that is not of the run", "counted", |others| others.counted_frac).from(PROC_STAT),
    others("others.steal_frac", "time that the hypervisor took", "steal", |others| others.steal_frac).from(PROC_STAT),
    others("others.pressure_frac", "time in which tasks waited for a CPU", "pressure", |others| others.pressure_frac).from(PRESSURE),
    others("others.part_taken", "part that others took", "part taken", |others| others.part_taken),
    program("scheduler_program.ready_ns", Unit::Ns, "start of the scheduler's program", |program| program.ready_ns).heads("program", "ready"),
    program("scheduler_program.cpu_ns", Unit::Ns, "CPU time of the scheduler's program", |program| program.cpu_ns).heads("program", "CPU"),
    program("scheduler_program.threads", Unit::Count, "threads of the scheduler's program", |program| program.threads).heads("program", "threads"),
    program("scheduler_program.voluntary", Unit::Count, "voluntary switches of the scheduler's program", |program| program.voluntary).heads("program", "voluntary"),
    program("scheduler_program.involuntary", Unit::Count, "involuntary switches of the scheduler's program", |program| program.involuntary).heads("program", "involuntary"),
    run("provenance.engine.boot_ns", Unit::Ns, "boot of the virtual machine", |run| run.provenance.engine.as_ref()?.boot_ns.and_then(count)).heads("engine", "boot"),
];

const fn row(path: &'static str, unit: Unit, name: &'static str, read: Reader) -> Row {
    let (better, combine) = (Better::Neither, Combine::Mean);
    Row { path, unit, name, over: "", head: name, better, source: None, combine, round: Round::Digits, read }
}

const fn task(path: &'static str, unit: Unit, name: &'static str, read: fn(&Measures) -> Option<f64>) -> Row {
    row(path, unit, name, Reader::One(Read::Task(read)))
}

/// A sample of times: the shorter the better.
const fn times(
    path: &'static str,
    name: &'static str,
    over: &'static str,
    read: fn(&Measures) -> Option<&TimeSummary>,
) -> Row {
    row(path, Unit::Ns, name, Reader::Times(read)).heads(over, "").better(Better::Lower)
}

/// A sample of ratios: the smaller the better.
const fn ratios(
    path: &'static str,
    name: &'static str,
    over: &'static str,
    read: fn(&Measures) -> Option<&RatioSummary>,
) -> Row {
    row(path, Unit::Ratio, name, Reader::Ratios(read)).heads(over, "").better(Better::Lower)
}

const fn role(path: &'static str, unit: Unit, name: &'static str, read: fn(&RoleResult) -> Option<f64>) -> Row {
    row(path, unit, name, Reader::One(Read::Role(read)))
}

const fn control_group(
    path: &'static str,
    unit: Unit,
    name: &'static str,
    read: fn(&ControlGroupResult) -> Option<f64>,
) -> Row {
    row(path, unit, name, Reader::One(Read::ControlGroup(read)))
}

const fn control_group_times(
    path: &'static str,
    name: &'static str,
    over: &'static str,
    read: fn(&ControlGroupResult) -> Option<&TimeSummary>,
) -> Row {
    row(path, Unit::Ns, name, Reader::ControlGroupTimes(read)).heads(over, "").better(Better::Lower)
}

const fn cpu(path: &'static str, name: &'static str, read: fn(&CpuResult) -> Option<f64>) -> Row {
    row(path, Unit::Fraction, name, Reader::One(Read::Cpu(read)))
}

const fn cpu_load(path: &'static str, name: &'static str, read: fn(&CpuResult) -> &BTreeMap<u32, f64>) -> Row {
    row(path, Unit::Fraction, name, Reader::One(Read::CpuLoad(read)))
}

const fn run(path: &'static str, unit: Unit, name: &'static str, read: fn(&RunResult) -> Option<f64>) -> Row {
    row(path, unit, name, Reader::One(Read::Run(read)))
}

const fn load(path: &'static str, name: &'static str, read: fn(&RunResult) -> Option<&BTreeMap<u32, f64>>) -> Row {
    row(path, Unit::Fraction, name, Reader::One(Read::RunLoad(read)))
}

impl Row {
    const fn heads(self, over: &'static str, head: &'static str) -> Row {
        Row { over, head, ..self }
    }

    const fn better(self, better: Better) -> Row {
        Row { better, ..self }
    }

    const fn from(self, source: &'static str) -> Row {
        Row { source: Some(source), ..self }
    }

    const fn sum(self) -> Row {
        Row { combine: Combine::Sum, ..self }
    }

    const fn decimals(self, decimals: usize) -> Row {
        Row { round: Round::Decimals(decimals), ..self }
    }

    /// The metrics of this row.
    fn metrics(self) -> Vec<Metric> {
        match self.read {
            Reader::One(read) => {
                let is_load = matches!(read, Read::CpuLoad(_) | Read::RunLoad(_));
                let path = if is_load { format!("{}.{KEY}", self.path) } else { self.path.into() };
                vec![self.metric(path, read)]
            }
            Reader::Times(read) => self.statistics(|statistic| Read::Times(read, statistic)),
            Reader::Ratios(read) => self.statistics(|statistic| Read::Ratios(read, statistic)),
            Reader::ControlGroupTimes(read) => self.statistics(|statistic| Read::ControlGroupTimes(read, statistic)),
        }
    }

    fn statistics(self, read: impl Fn(Statistic) -> Read) -> Vec<Metric> {
        let metric = |statistic: Statistic| Metric {
            unit: statistic.unit(self.unit),
            better: statistic.better(self.better),
            name: statistic.name(self.name),
            head: statistic.key(),
            ..self.metric(format!("{}.{}", self.path, statistic.key()), read(statistic))
        };
        Statistic::ALL.map(metric).into()
    }

    fn metric(self, path: String, read: Read) -> Metric {
        let level = match read {
            Read::Task(_) | Read::Times(..) | Read::Ratios(..) => Level::Task,
            Read::Role(_) => Level::Role,
            Read::ControlGroup(_) | Read::ControlGroupTimes(..) => Level::ControlGroup,
            Read::Cpu(_) | Read::CpuLoad(_) => Level::Cpu,
            Read::Run(_) | Read::RunLoad(_) | Read::Cost(_) | Read::Others(_) | Read::Program(_) => Level::Run,
        };
        let Row { unit, combine, better, source, name, over, head, round, .. } = self;
        Metric { path, level, unit, combine, better, source, name: Cow::Borrowed(name), over, head, round, read }
    }
}

/// What a scheduler takes for itself.
const fn cost(path: &'static str, name: &'static str, read: fn(&SchedulerCosts) -> Option<f64>) -> Row {
    row(path, Unit::Ns, name, Reader::One(Read::Cost(read))).heads("costs", name).better(Better::Lower)
}

/// What tasks take in addition to their steps.
const fn call(path: &'static str, name: &'static str, read: fn(&SchedulerCosts) -> Option<f64>) -> Row {
    row(path, Unit::Ns, name, Reader::One(Read::Cost(read))).heads("calls", name).better(Better::Lower)
}

/// What others took of the CPUs.
const fn others(path: &'static str, name: &'static str, head: &'static str, read: fn(&Others) -> Option<f64>) -> Row {
    row(path, Unit::Fraction, name, Reader::One(Read::Others(read))).heads("others", head).better(Better::Lower)
}

fn count(number: u64) -> Option<f64> {
    Some(number as f64)
}

/// All metrics.
pub(super) fn metrics() -> Vec<Metric> {
    TABLE.iter().flat_map(|row| row.metrics()).collect()
}

/// What a scheduler's own program did.
const fn program(path: &'static str, unit: Unit, name: &'static str, read: fn(&SchedulerProgram) -> u64) -> Row {
    row(path, unit, name, Reader::One(Read::Program(read)))
}
