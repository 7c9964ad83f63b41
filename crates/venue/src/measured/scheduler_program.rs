//! What a scheduler's own program did next to a run.

use schedlab_boundary::Shown;
use schedlab_guest::{Loaded, LoadedWhat};
use schedlab_model::result::{RunResult, SchedulerProgram};

/// Adds it to a result, where there was one. What the program printed becomes visible lines.
pub fn add(result: &mut RunResult, loaded: Option<&Loaded>) {
    let Some(Loaded { what: LoadedWhat::Program(report), .. }) = loaded else { return };
    if !report.ended {
        let killed = "the scheduler's program did not end within 5 s of SIGINT after the run, and was killed";
        result.cautions.push(killed.into());
    }
    let printed = report.program.printed.iter().map(|line| Shown::line(line).into_string()).collect();
    result.scheduler_program = Some(SchedulerProgram { printed, ..report.program.clone() });
}
