//! What a scheduler's own program did beside a run.

use schedlab_gate::Shown;
use schedlab_guest::{Loaded, LoadedWhat};
use schedlab_model::result::{RunResult, SchedulerProgram};

/// Adds it to a result, where there was one.
pub fn add(result: &mut RunResult, loaded: Option<&Loaded>) {
    let Some(Loaded { what: LoadedWhat::Program(report), .. }) = loaded else { return };
    if !report.ended {
        result
            .cautions
            .push("the scheduler's program did not end within 5 s of SIGINT after the run, and was killed".to_string());
    }
    result.scheduler_program = Some(SchedulerProgram {
        operations: report.operations.clone(),
        ready_ns: report.ready_ns,
        cpu_ns: report.cpu_ns,
        threads: report.threads,
        voluntary: report.voluntary,
        involuntary: report.involuntary,
        printed: report.printed.iter().map(|line| Shown::line(line).into_string()).collect(),
    });
}
