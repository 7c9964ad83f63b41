//! `schedlab check`: a trace file against the laws.

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::output;
use schedlab_venue::replay;

/// Checks a trace file and says what was found.
pub fn run(args: &CheckArgs) -> Result<(), Failure> {
    let replay = replay(&args.trace)?;
    let (report, findings) = (&replay.report, &replay.findings);
    let header = &report.header;
    let mut text = format!(
        "{}: {} trace of {} under {} in {}, {} on {} CPUs, seed {}\n{} events of {} tasks",
        args.trace.display(),
        report.format,
        header.scenario,
        header.policy,
        header.venue,
        header.end,
        header.cpus,
        header.seed,
        findings.events,
        findings.tasks,
    );
    if header.lost > 0 {
        text += &format!(", {} events lost", header.lost);
    }
    if findings.is_lawful() {
        return output::print(&(text + ": no law is broken\n"));
    }
    let plural = if findings.violations == 1 { "" } else { "s" };
    text += &format!(": {} violation{plural}\n", findings.violations);
    for violation in &findings.reported {
        text += &format!("  {violation}\n");
    }
    output::print(&text)?;
    Err(Failure::Failed(format!("{}: the trace cannot have happened; record it again", args.trace.display())))
}
