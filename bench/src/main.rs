//! How fast the simulator is: context switches per second of CPU time, per case.
//!
//! Every case runs in a process of its own, so that its memory is its own, and each figure is the median of several
//! runs that take turns over the cases, so that a machine that slows down slows all of them. Nothing here passes or
//! fails: the numbers are for people, next to those of the interpreter and of the smaller cases.

mod case;
mod measure;

use case::{COMPARED, Case, cases};
use measure::{Mode, Sample};
use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--one", name, mode] => one(name, mode, None),
        ["--one", name, mode, seconds] => one(name, mode, seconds.parse().ok()),
        ["--rounds", rounds] if rounds.parse::<usize>().is_ok_and(|n| n > 0) => all(rounds.parse().unwrap_or(1)),
        [] => all(5),
        _ => {
            eprintln!("usage: bench [--rounds N]");
            ExitCode::from(2)
        }
    }
}

/// Measures one case in this process and prints the figures for the parent.
fn one(name: &str, mode: &str, seconds: Option<u64>) -> ExitCode {
    let mode = Mode::ALL.into_iter().find(|m| m.name() == mode).ok_or_else(|| format!("there is no mode {mode}"));
    let case = cases().into_iter().find(|c| c.name == name).ok_or_else(|| format!("there is no case {name}"));
    match mode.and_then(|mode| measure::measure(&case?, mode, seconds)) {
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

/// Fewer switches do not show what one costs: under `fcfs` a task that computes never leaves.
const FEW: u64 = 100_000;

/// Samples by case and mode.
type Samples = BTreeMap<(usize, Mode), Vec<Sample>>;

/// Measures all cases in turns and prints the table.
fn all(rounds: usize) -> ExitCode {
    let cases = cases();
    let mut samples = Samples::new();
    for round in 0..rounds {
        for (index, case) in cases.iter().enumerate() {
            for mode in Mode::ALL.into_iter().filter(|&m| m != Mode::Interpreted || case.interpreted) {
                eprint!("\rround {} of {rounds}: {:<30}", round + 1, case.name);
                match child(case, mode) {
                    Ok(sample) => samples.entry((index, mode)).or_default().push(sample),
                    Err(message) => {
                        eprintln!("\nbench: {}: {message}", case.name);
                        return ExitCode::FAILURE;
                    }
                }
            }
        }
    }
    eprintln!();
    print_table(&cases, &samples);
    println!();
    print_policies(&cases, &samples);
    ExitCode::SUCCESS
}

fn child(case: &Case, mode: Mode) -> Result<Sample, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new(program).args(["--one", &case.name, mode.name()]).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
    }
    Sample::from_line(&String::from_utf8_lossy(&output.stdout))
}

fn print_table(cases: &[Case], samples: &Samples) {
    println!("Rates in million switches per CPU-second: least, **median**, greatest of the rounds.");
    println!();
    println!(
        "| case | policy | switches | with metrics | ns per switch | machine alone | times interpreter | peak MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (index, case) in cases.iter().enumerate() {
        let full = &samples[&(index, Mode::Full)];
        let (full_rates, bare_rates) = (rates(full), rates(&samples[&(index, Mode::Bare)]));
        let against = samples.get(&(index, Mode::Interpreted)).map(|slow| median(&full_rates) / median(&rates(slow)));
        println!(
            "| {} | {} | {} | {} | {:.0} | {} | {} | {} |",
            case.name,
            case.policy,
            full[0].switches,
            spread(&full_rates),
            1e9 / median(&full_rates),
            spread(&bare_rates),
            against.map_or("-".into(), |ratio| format!("{ratio:.1}")),
            full.iter().map(|s| s.peak_kib).max().unwrap_or(0) / 1024,
        );
    }
}

/// What a policy costs: the case under it against the same under `rr`, round by round.
fn print_policies(cases: &[Case], samples: &Samples) {
    let of = |index: usize| &samples[&(index, Mode::Full)];
    let Some(rr) = cases.iter().position(|case| case.name == COMPARED) else { return };
    println!(
        "What a policy costs the simulator in `{COMPARED}`, as times `rr`: least, **median**, greatest of the rounds."
    );
    println!();
    println!("| policy | switches per simulated second | CPU time per simulated second | CPU time per switch |");
    println!("|---|---|---|---|");
    for (index, case) in cases.iter().enumerate().filter(|(_, case)| case.name.starts_with(COMPARED)) {
        let per_second = |sample: &Sample, case: &Case| sample.cpu_ns as f64 / case.duration.as_s();
        let rounds = || of(index).iter().zip(of(rr));
        let run = sorted(rounds().map(|(own, base)| per_second(own, case) / per_second(base, &cases[rr])));
        let switch = sorted(rounds().map(|(own, base)| base.switches_per_s() / own.switches_per_s()));
        let switches = of(index)[0].switches;
        let per_switch = if switches < FEW { "too few".into() } else { times(&switch) };
        let per_second = switches as f64 / case.duration.as_s();
        println!("| {} | {per_second:.2} | {} | {per_switch} |", case.policy, times(&run));
    }
}

fn times(sorted: &[f64]) -> String {
    format!("{:.1}, **{:.1}**, {:.1}", sorted[0], median(sorted), sorted[sorted.len() - 1])
}

/// Rates in ascending order.
fn rates(samples: &[Sample]) -> Vec<f64> {
    sorted(samples.iter().map(Sample::switches_per_s))
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

fn spread(sorted: &[f64]) -> String {
    let [least, middle, greatest] = [sorted[0], median(sorted), sorted[sorted.len() - 1]].map(|rate| rate / 1e6);
    format!("{least:.2}, **{middle:.2}**, {greatest:.2}")
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}
