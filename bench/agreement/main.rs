//! How far the simulator is from a kernel: the same scenario and the same policy in both, as a table.
//!
//!     schedlab-agreement [--only SCENARIO] [--keep FOLDER] PAIR...
//!
//! A pair is a policy (`mlfq`: the same object in the simulator and in Linux 7.x) or `POLICY@KERNEL` (`cfs@debian:12`: the
//! policy in the simulator beside that kernel's own scheduler). Each cell has its scenario from `bench/agreement/scenarios/`.
//! The kernel runs in deterministic virtual time, so the table is the same whenever the same build makes it. The
//! simulator is given what that very run measured of the kernel: switch, wakeup, tick, migration and fork, and the kernel's tick.
//! `--keep` leaves the traces of both in a folder, so that a cell that fails can be looked into.

mod cell;
mod pair;

use cell::Cell;
use pair::Pair;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str| match arguments.iter().position(|word| word == name) {
        Some(at) if at + 1 < arguments.len() => arguments.drain(at..at + 2).nth(1),
        _ => None,
    };
    let (only, keep) = (option("--only"), option("--keep"));
    if arguments.is_empty() {
        eprintln!("usage: schedlab-agreement [--only SCENARIO] [--keep FOLDER] POLICY[@KERNEL]...");
        return ExitCode::from(2);
    }
    match table(&arguments, only.as_deref(), keep.as_deref().map(Path::new)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("schedlab-agreement: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a row as soon as it is known.
fn table(pairs: &[String], only: Option<&str>, keep: Option<&Path>) -> Result<(), String> {
    let (mut agreed, mut all) = (0, 0);
    println!("{}", Cell::HEAD);
    for text in pairs {
        let pair = Pair::find(text)?;
        for scenario in scenarios(only)? {
            let row = pair.cell(&scenario, keep);
            all += 1;
            agreed += usize::from(row.as_ref().is_ok_and(|cell| cell.agrees(pair.tolerance())));
            match row {
                Ok(cell) => println!("{}", cell.row(pair.tolerance())),
                Err(error) => println!("| {text} | {} | {} |", name(&scenario), error.replace('\n', " ")),
            }
        }
    }
    println!("\n{agreed} of {all} agree.");
    Ok(())
}

/// The scenarios, in the order of their names.
fn scenarios(only: Option<&str>) -> Result<Vec<PathBuf>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("agreement/scenarios");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| only.is_none_or(|only| name(file) == only));
    files.sort();
    if files.is_empty() { Err("there is no such scenario".into()) } else { Ok(files) }
}

fn name(file: &Path) -> String {
    file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
