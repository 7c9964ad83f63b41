//! What others take of this machine while a scenario runs on it.

use crate::lab::{Lab, is_done, lack_of_recorder};
use crate::skip::skip;
use serde_json::Value;
use std::process::{Child, Command};

/// Programs that never sleep, one for each CPU; they end with this.
struct Neighbours(Vec<Child>);

impl Neighbours {
    fn on_every_cpu() -> Neighbours {
        let spinner = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Neighbours((0..cpus()).map(|_| spinner()).collect())
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().and_then(|()| child.wait()).unwrap();
        }
    }
}

fn cpus() -> usize {
    std::thread::available_parallelism().unwrap().get()
}

/// A task for each CPU that only computes.
fn lab() -> Lab {
    let lab = Lab::new();
    let cpus = cpus();
    let scenario = format!(
        "name = \"busy\"\n[machine]\ncpus = {cpus}\n[[task]]\nname = \"worker\"\ncount = {cpus}\n\
         loop = [{{ compute = \"20ms\" }}]\n[run]\nduration = \"2s\"\nwarmup = \"200ms\"\n"
    );
    lab.write("busy.toml", scenario);
    lab
}

const RUN: [&str; 6] = ["run", "busy.toml", "--policy", "kernel", "--venue", "host"];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// A neighbour with the same right to each CPU has half of it under a fair scheduler; a fifth is left for what else this
/// machine does.
#[test]
fn busy_neighbours_make_a_run_inconclusive() {
    let (lab, _neighbours) = (lab(), Neighbours::on_every_cpu());
    let output = lab.run(&[&RUN[..], &["--json"]].concat());
    assert_eq!(output.code, Some(3), "{}", output.err);
    let told = output.err.lines().last().unwrap();
    assert!(told.starts_with("schedlab: inconclusive: other programs took "), "{}", output.err);
    let result: Value = serde_json::from_str(&output.out).unwrap();
    let others = &result["others"];
    assert!(number(&others["counted_frac"]) > 0.2 && number(&others["part_taken"]) > 0.2, "{others}");
    match lack_of_recorder() {
        Some(lack) => skip(&lack),
        None => {
            assert!(number(&others["programs_frac"]) > 0.2, "{others}");
            for cpu in result["cpus"].as_array().unwrap() {
                let parts = ["busy_frac", "idle_frac", "overhead_frac", "unknown_frac", "others_frac"]
                    .map(|part| number(&cpu[part]));
                assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-9 && parts[4] > 0.2, "{cpu}");
            }
        }
    }
}

#[test]
fn numbers_that_others_touched_are_marked() {
    let (lab, _neighbours) = (lab(), Neighbours::on_every_cpu());
    let output = lab.run(&[&RUN[..], &["--quiet"]].concat());
    assert_eq!((output.code, output.err.lines().count()), (Some(3), 1), "{}", output.err);
    let row = output.out.lines().find(|line| line.starts_with("worker ")).unwrap();
    assert!(row.matches('*').count() >= 6, "{}", output.out);
    let legend = output.out.lines().find(|line| line.starts_with("* Other programs took ")).unwrap();
    assert!(legend.contains("of the CPU time available to the"), "{legend}");
    assert!(output.out.lines().any(|line| line.starts_with("others took   ")), "{}", output.out);
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{}", output.out);
    // A comparison of one is a run; its page has the note, too.
    let args = ["compare", "busy.toml", "--policy", "kernel", "--venue", "host", "--quiet", "--report", "page.html"];
    let output = lab.run(&args);
    assert_eq!(output.code, Some(3), "{}", output.err);
    assert!(output.out.contains("\nBeside kernel others took "), "{}", output.out);
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(
        page.contains("of the CPU time available to the tasks of kernel: times may be up to"),
        "the page has no note"
    );
}

/// Whatever others do meanwhile.
#[test]
fn every_run_on_this_machine_says_what_others_took() {
    let lab = lab();
    let output = lab.run(&[&RUN[..], &["--json"]].concat());
    assert!(is_done(output.code, "host"), "{:?}: {}", output.code, output.err);
    let result: Value = serde_json::from_str(&output.out).unwrap();
    let others = &result["others"];
    for name in ["counted_frac", "steal_frac", "part_taken"] {
        assert!((0.0..=1.0).contains(&number(&others[name])), "{name}: {others}");
    }
    let has_pressure = std::fs::read_to_string("/proc/pressure/cpu").is_ok();
    assert_eq!(others["pressure_frac"].is_number(), has_pressure, "{others}");
    assert_eq!(output.code == Some(3), number(&others["part_taken"]) > 0.05, "{others}");
    let simulated = lab.json(&["run", "busy.toml", "--policy", "rr", "--json"]);
    assert!(simulated.get("others").is_none() && simulated["cpus"][0].get("others_frac").is_none(), "{simulated}");
}
