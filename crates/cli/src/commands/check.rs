//! `schedlab check`: a trace file compared with what holds in every correct trace.

use super::trace::json::headed;
use crate::args::CheckArgs;
use crate::args::paths::shown;
use crate::failure::Failure;
use crate::output;
use schedlab_model::count::counted;
use schedlab_venue::replay;
use serde_json::json;

/// Checks a trace file and says what was found.
pub fn run(args: &CheckArgs) -> Result<(), Failure> {
    let replay = replay(&args.trace).map_err(super::not_a_trace(&args.trace))?;
    let (report, findings) = (&replay.report, &replay.findings);
    let header = &report.header;
    if args.json {
        let content = json!({
            "file": shown(&args.trace),
            "format": report.format.to_string(),
            "events": findings.events,
            "tasks": findings.tasks,
            "is_lawful": findings.is_lawful(),
            "violations": findings.violations,
            "reported": findings.reported.iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        output::print_json(&headed("schedlab.check/1", header, content))?;
        return ended(args, findings.is_lawful());
    }
    let mut text = format!(
        "{}: {} trace of {} under {} in {}, {} on {}, seed {}\n{} of {}",
        shown(&args.trace),
        report.format,
        header.scenario,
        header.policy,
        header.venue,
        header.end,
        counted(header.cpus, "CPU"),
        header.seed,
        counted(findings.events, "event"),
        counted(findings.tasks, "task"),
    );
    if header.lost > 0 {
        text += &format!(", {} lost", counted(header.lost, "event"));
    }
    if findings.is_lawful() {
        return output::print(&(text + ": no invariant is violated\n"));
    }
    text += &format!(": {}\n", counted(findings.violations, "violation"));
    for violation in &findings.reported {
        text += &format!("  {violation}\n");
    }
    output::print(&text)?;
    ended(args, false)
}

fn ended(args: &CheckArgs, is_lawful: bool) -> Result<(), Failure> {
    if is_lawful {
        return Ok(());
    }
    Err(Failure::Failed(format!("{}: the trace cannot have happened; record it again", shown(&args.trace))))
}
