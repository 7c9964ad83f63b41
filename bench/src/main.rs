//! How fast the simulator is: context switches per second of CPU time, per case.
//!
//! Every case runs in a process of its own, so that its memory is its own, and each figure is the median of several
//! runs that take turns over the cases, so that a machine that slows down slows all of them. Nothing here passes or
//! fails: the numbers are for people, beside those of the interpreter and of the smaller cases.

mod case;
mod measure;

use case::{CASES, Case};
use measure::Sample;
use schedlab_bpf::Executor;
use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--one", name, executor] => one(name, executor),
        ["--rounds", rounds] if rounds.parse::<usize>().is_ok_and(|n| n > 0) => all(rounds.parse().unwrap_or(1)),
        [] => all(5),
        _ => {
            eprintln!("usage: bench [--rounds N]");
            ExitCode::from(2)
        }
    }
}

/// Measures one case in this process and prints the figures for the parent.
fn one(name: &str, executor: &str) -> ExitCode {
    let executor = if executor == "interpreter" { Executor::Interpreter } else { Executor::Machine };
    let found = CASES.iter().find(|c| c.name == name).ok_or_else(|| format!("there is no case {name}"));
    match found.and_then(|case| measure::measure(case, executor)) {
        Ok(sample) => {
            println!("{}", sample.to_line());
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Measures all cases in turns and prints the table.
fn all(rounds: usize) -> ExitCode {
    let mut samples: BTreeMap<(usize, bool), Vec<Sample>> = BTreeMap::new();
    for round in 0..rounds {
        for (index, case) in CASES.iter().enumerate() {
            for interpreted in [false, true] {
                if interpreted && !case.interpreted {
                    continue;
                }
                eprint!("\rround {} of {rounds}: {:<30}", round + 1, case.name);
                match child(case, interpreted) {
                    Ok(sample) => samples.entry((index, interpreted)).or_default().push(sample),
                    Err(message) => {
                        eprintln!("\nbench: {}: {message}", case.name);
                        return ExitCode::FAILURE;
                    }
                }
            }
        }
    }
    eprintln!();
    print_table(&samples);
    ExitCode::SUCCESS
}

fn child(case: &Case, interpreted: bool) -> Result<Sample, String> {
    let executor = if interpreted { "interpreter" } else { "machine" };
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new(program).args(["--one", case.name, executor]).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
    }
    Sample::from_line(&String::from_utf8_lossy(&output.stdout))
}

fn print_table(samples: &BTreeMap<(usize, bool), Vec<Sample>>) {
    println!(
        "| case | policy | switches | M switches per CPU-second (min, median, max) | ns per switch | times interpreter | peak MiB |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (index, case) in CASES.iter().enumerate() {
        let machine = &samples[&(index, false)];
        let rates = sorted(machine.iter().map(Sample::switches_per_s));
        let median = rates[rates.len() / 2];
        let against = samples.get(&(index, true)).map(|interpreted| {
            let slow = sorted(interpreted.iter().map(Sample::switches_per_s));
            format!("{:.1}", median / slow[slow.len() / 2])
        });
        println!(
            "| {} | {} | {} | {:.2}, **{:.2}**, {:.2} | {:.0} | {} | {} |",
            case.name,
            case.policy,
            machine[0].switches,
            rates[0] / 1e6,
            median / 1e6,
            rates[rates.len() - 1] / 1e6,
            1e9 / median,
            against.unwrap_or_else(|| "-".into()),
            machine.iter().map(|s| s.peak_kib).max().unwrap_or(0) / 1024,
        );
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}
