//! `schedlab-fuzz [--seconds N] [--seed N] [TARGET…]`: attacks each target for a time and says what was found.

use schedlab_fuzz::{Target, all, drive, signals};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !schedlab_boundary::library::is_guarded() {
            report(info);
        }
    }));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--inside", name, seed, millis, notes] => {
            let length = Duration::from_millis(number(millis));
            drive::inside(find(name), number(seed), length, Path::new(notes), &home()).expect("inputs can be noted");
            ExitCode::SUCCESS
        }
        ["--one", name, file] => {
            drive::limit_memory();
            (find(name).run)(&std::fs::read(file).expect("the input can be read"));
            ExitCode::SUCCESS
        }
        words => attack(words),
    }
}

fn attack(words: &[&str]) -> ExitCode {
    let (mut seconds, mut seed, mut names) = (60, 1, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--seconds" => seconds = number(words.next().expect("--seconds N")),
            "--seed" => seed = number(words.next().expect("--seed N")),
            name => names.push(name),
        }
    }
    let targets: Vec<Target> = if names.is_empty() { all() } else { names.into_iter().map(find).collect() };
    signals::watch();
    println!("seed {seed}, {seconds} s for each of {} targets", targets.len());
    let mut is_clean = true;
    for target in targets {
        let tell = &mut |tried| println!("{:<14} {tried:>10} inputs so far", target.name);
        let attack = drive::attack(&target, Duration::from_secs(seconds), seed, &home(), tell);
        let attack = attack.expect("a process can be started");
        println!("{:<14} {:>10} inputs, {} findings", target.name, attack.tried, attack.found.len());
        for finding in attack.found {
            is_clean = false;
            println!("  {}: {}", finding.file.display(), finding.how);
            println!("  again: cargo run -p schedlab-fuzz -- --one {} {}", target.name, finding.file.display());
        }
        if let Some(signal) = attack.ended_by {
            println!("ended by {signal} before its time");
            return ExitCode::FAILURE;
        }
    }
    if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn find(name: &str) -> Target {
    let known = || all().iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    all()
        .into_iter()
        .find(|target| target.name == name)
        .unwrap_or_else(|| panic!("no target {name}; there are {}", known()))
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("{word} is no number"))
}

/// Where corpus and findings are.
fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
