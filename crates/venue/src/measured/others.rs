//! What others took of this machine during a run: what the recorder saw, what the kernel counts, and what follows for the
//! numbers.

use schedlab_kernel::Used;
use schedlab_metrics::others::{OthersWatch, Shares};
use schedlab_model::result::{Others, RoleResult, RunResult};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, Sink};
use schedlab_model::workload::{Role, Workload};

/// How long a run wanted CPUs that others held, while its events happened: see [`OthersWatch::wanted_ns`].
pub fn wanted_ns(workload: &Workload, events: &[Event], end: Time) -> u64 {
    let mut watch = OthersWatch::new(workload);
    watch.events(events);
    watch.finish(end);
    watch.wanted_ns()
}

/// Adds to the result of a recorded run what others took.
pub fn add_held(result: &mut RunResult, workload: &Workload, used: &Used, wanted_ns: u64) {
    let window_ns = result.duration_ns.saturating_sub(result.warmup_ns);
    for cpu in &mut result.cpus {
        // Nothing told of them: they were not there.
        cpu.others_frac.get_or_insert(0.0);
        cpu.unknown_frac.get_or_insert(0.0);
    }
    let cpus = result.cpus.len() as u64;
    let held: f64 = result.cpus.iter().filter_map(|cpu| cpu.others_frac).sum();
    add_counted(result, used);
    let Some(others) = &mut result.others else { return };
    others.programs_frac = (window_ns > 0).then(|| held / cpus as f64);
    let all = Shares { wanted_ns, ..shares(others, workload, &result.roles, cpus * window_ns) };
    others.part_taken = all.part_taken();
}

/// The same for a run of which only the kernel's counters tell, from its start on: the tasks know their CPU time as a whole.
/// Others took no more from the tasks than they had, and no more than the tasks waited.
pub fn add_bound(result: &mut RunResult, workload: &Workload, used: &Used) {
    add_counted(result, used);
    let (waited_ns, cpus) = (result.kernel_run_delay_ns, result.cpus.len() as u64);
    let Some(others) = &mut result.others else { return };
    let all = shares(others, workload, &result.roles, cpus * used.length_ns);
    let waited_ns = waited_ns.filter(|_| others.counted_frac.is_some());
    let part = |waited_ns: u64| Shares { wanted_ns: waited_ns.min(all.held_ns), ..all }.part_taken();
    others.part_taken = waited_ns.and_then(part);
}

/// What the kernel counted: busy and stolen time in parts of the CPUs' time, waits in parts of the time.
fn add_counted(result: &mut RunResult, used: &Used) {
    for (cpu, steal_ns) in result.cpus.iter_mut().zip(&used.steal_ns) {
        cpu.steal_frac = steal_ns.and_then(|ns| fraction(ns, used.length_ns));
    }
    let all_ns = result.cpus.len() as u64 * used.length_ns;
    let got_ns = got_ns(&result.roles);
    result.others = Some(Others {
        programs_frac: None,
        counted_frac: used.busy_in_all_ns().and_then(|busy| fraction(busy.saturating_sub(got_ns), all_ns)),
        steal_frac: used.stolen_in_all_ns().and_then(|stolen| fraction(stolen, all_ns)),
        pressure_frac: used.pressure_ns.and_then(|ns| fraction(ns, used.length_ns)),
        part_taken: None,
    });
}

/// What tasks and others had of all CPU time, of which all may have been wanted. Nothing is stolen where no hypervisor says
/// of it.
fn shares(others: &Others, workload: &Workload, roles: &[RoleResult], all_ns: u64) -> Shares {
    let ns = |part: Option<f64>| (part.unwrap_or(0.0) * all_ns as f64) as u64;
    let held_ns = ns(others.programs_frac.or(others.counted_frac));
    let arrives = |role: &Role| role.birth.arrives();
    let is_open = !workload.sources.is_empty() || workload.roles.iter().any(arrives);
    Shares {
        got_ns: got_ns(roles),
        held_ns,
        wanted_ns: held_ns,
        stolen_ns: ns(others.steal_frac),
        open_ns: is_open.then_some(all_ns),
    }
}

/// CPU time that the tasks got.
fn got_ns(roles: &[RoleResult]) -> u64 {
    roles.iter().map(|role| role.measures.cpu_ns).sum()
}

fn fraction(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::result::{CpuResult, Measures};
    use schedlab_model::scenario::Scenario;

    const MS: u64 = 1_000_000;

    /// A run of 100 ms on two CPUs whose tasks got 60 ms.
    fn result() -> RunResult {
        let measures = Measures { cpu_ns: 60 * MS, ..Measures::default() };
        let cpu = |id, idle_frac| CpuResult { id, idle_frac, busy_frac: 1.0 - idle_frac, ..CpuResult::default() };
        RunResult {
            duration_ns: 120 * MS,
            warmup_ns: 20 * MS,
            roles: vec![RoleResult { measures, ..RoleResult::default() }],
            cpus: vec![cpu(0, 0.5), cpu(1, 0.9)],
            ..RunResult::default()
        }
    }

    fn used(busy_ms: [Option<u64>; 2], steal_ms: [Option<u64>; 2], pressure_ms: Option<u64>) -> Used {
        let ns = |list: [Option<u64>; 2]| list.map(|ms| ms.map(|ms| ms * MS)).to_vec();
        Used {
            length_ns: 100 * MS,
            busy_ns: ns(busy_ms),
            steal_ns: ns(steal_ms),
            pressure_ns: pressure_ms.map(|ms| ms * MS),
        }
    }

    /// Of tasks that begin again when they are through, or of those that come from outside.
    fn workload(birth: &str) -> Workload {
        let text = format!(
            "name = \"t\"\n[machine]\ncpus = 2\n[[task]]\nname = \"a\"\n{birth}once = [{{ compute = \"1ms\" }}]\n[run]\n\
             duration = \"1s\"\n"
        );
        Scenario::parse(&text, "test").unwrap().compile().unwrap()
    }

    #[test]
    fn what_is_counted_beyond_the_tasks_is_of_others() {
        let mut result = result();
        add_counted(&mut result, &used([Some(60), Some(20)], [Some(10), Some(0)], Some(30)));
        let others = result.others.unwrap();
        assert_eq!((others.counted_frac, others.steal_frac), (Some(0.1), Some(0.05)));
        assert_eq!((others.pressure_frac, others.programs_frac), (Some(0.3), None));
        let steal: Vec<_> = result.cpus.iter().map(|cpu| cpu.steal_frac).collect();
        assert_eq!(steal, [Some(0.1), Some(0.0)]);
    }

    #[test]
    fn what_the_kernel_does_not_tell_is_absent() {
        let mut result = result();
        add_counted(&mut result, &used([Some(60), None], [None, None], None));
        assert_eq!(result.others.unwrap(), Others::default());
        // Coarse ticks may count less than the tasks had.
        let mut coarse = self::result();
        add_counted(&mut coarse, &used([Some(50), Some(0)], [Some(0), Some(0)], None));
        assert_eq!(coarse.others.unwrap().counted_frac, Some(0.0));
    }

    #[test]
    fn what_is_seen_of_others_says_how_far_they_were_wanted() {
        let mut result = result();
        result.cpus[0].others_frac = Some(0.3);
        add_held(&mut result, &workload(""), &used([Some(90), Some(0)], [Some(0), Some(0)], None), 15 * MS);
        assert_eq!([0, 1].map(|cpu| result.cpus[cpu].others_frac), [Some(0.3), Some(0.0)]);
        assert_eq!([0, 1].map(|cpu| result.cpus[cpu].idle_frac), [0.5, 0.9]);
        let others = result.others.unwrap();
        assert_eq!((others.programs_frac, others.part_taken), (Some(0.15), Some(15.0 / 75.0)));
        // 140 of 200 ms were left to answer requests, whenever they come.
        let mut open = self::result();
        let (all, arrivals) = (used([None; 2], [None; 2], None), workload("arrivals = \"exp(10ms)\"\n"));
        open.cpus[0].others_frac = Some(0.9);
        add_held(&mut open, &arrivals, &all, 90 * MS);
        assert_eq!(open.others.unwrap().part_taken, Some(90.0 / 140.0));
    }

    #[test]
    fn without_a_recording_the_waits_bound_what_was_taken() {
        let used = used([Some(100), Some(60)], [Some(0), Some(0)], None);
        let part = |run_delay_ns| {
            let mut result = RunResult { kernel_run_delay_ns: run_delay_ns, ..result() };
            add_bound(&mut result, &workload(""), &used);
            result.others.unwrap().part_taken
        };
        // Others had 100 ms: tasks that waited less have lost less, and no more than that is lost.
        assert_eq!([part(Some(20 * MS)), part(Some(900 * MS))], [Some(20.0 / 80.0), Some(100.0 / 160.0)]);
        assert_eq!([part(Some(0)), part(None)], [Some(0.0), None]);
    }
}
