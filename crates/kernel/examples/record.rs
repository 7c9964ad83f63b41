//! `record COMMAND…`: runs a command, says what it did to the scheduler and what watching it has cost.

use schedlab_kernel::{Converter, Filter, Recorder};
use schedlab_model::ids::RoleId;
use schedlab_model::trace::{Event, EventKind, Sink};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

#[derive(Default)]
struct Counts {
    switches: u64,
    wakeups: u64,
    migrations: u64,
}

impl Sink for Counts {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Switch { .. } => self.switches += 1,
            EventKind::Wakeup { .. } => self.wakeups += 1,
            EventKind::Migrate { .. } => self.migrations += 1,
            _ => {}
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("which command?");
        return ExitCode::FAILURE;
    };
    // This process is followed, so the command is from its first instant.
    let filter = Filter { tgids: vec![std::process::id() as i32], ..Filter::default() };
    let mut recorder = match Recorder::start(&filter, 16 << 20) {
        Ok(recorder) => recorder,
        Err(lack) => {
            eprintln!("{lack}");
            return ExitCode::FAILURE;
        }
    };
    let ids: Vec<String> = recorder.costs().iter().map(|cost| cost.id.to_string()).collect();
    eprintln!("programs: {}", ids.join(" "));
    if let Err(error) = recorder.measure_costs() {
        eprintln!("costs are not measured: {error}");
    }
    let mut command = Command::new(program);
    let mut child = match command.args(arguments).process_group(0).spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("{}: {error}", command.get_program().display());
            return ExitCode::FAILURE;
        }
    };
    eprintln!("command: {}", child.id());
    let mut counts = Counts::default();
    let mut converter = Converter::new(recorder.started_ns(), |_, _| Some(RoleId(0)));
    while let Ok(None) = child.try_wait() {
        recorder.relieve(Duration::from_millis(50), u64::MAX).expect("memory takes them");
    }
    for cost in recorder.costs().iter().filter(|cost| cost.runs > 0) {
        eprintln!("{:20} {:9} runs, {:5} ns each", cost.program, cost.runs, cost.time_ns / cost.runs);
    }
    let stats = recorder.stop(&mut |record| converter.record(&record, &mut counts)).expect("memory gives them");
    let summary = converter.finish(stats.ended_ns, &mut counts);
    eprintln!(
        "{} tasks, {} switches, {} wakeups, {} migrations; {} records, {} lost, {} repaired",
        summary.tasks.len(),
        counts.switches,
        counts.wakeups,
        counts.migrations,
        stats.delivered,
        stats.lost.total(),
        summary.repaired
    );
    ExitCode::SUCCESS
}
