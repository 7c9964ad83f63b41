//! The views of a trace.

use crate::lab::Lab;

/// A lab with the trace of two workers and a sleeper on one CPU.
fn lab() -> Lab {
    let lab = Lab::with_small();
    lab.out(&["run", "small.toml", "--policy", "mlfq", "--quiet", "--trace", "t.parquet"]);
    lab
}

#[test]
fn without_a_view_the_trace_is_summed_up() {
    let page = lab().out(&["trace", "t.parquet"]);
    assert!(page.starts_with("small under mlfq in sim: 2s on 1 CPU, seed "), "{page}");
    assert!(page.contains("worker      2") && page.contains("  timeline  which task ran where?"), "{page}");
}

/// The document shows commands and what they print. Each must print just that.
#[test]
fn the_view_and_the_result_have_the_same_latencies() {
    let lab = Lab::with_small();
    let args = ["run", "small.toml", "--policy", "rr", "--quiet", "--json", "--trace", "t.parquet"];
    let result = lab.json(&args);
    let role = &result["roles"][0]["wakeup_latency_ns"];
    let of = |key: &str| role[key].as_f64().unwrap_or_else(|| panic!("no {key} in {role}"));
    let page = lab.out(&["trace", "t.parquet", "latency"]);
    let row = page.lines().find(|line| line.starts_with("worker  ")).unwrap();
    let row: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(row[1].parse::<f64>().unwrap(), of("count"), "{page}");
    let list = lab.out(&["trace", "t.parquet", "latency", "--list"]);
    let ran = list.lines().skip(1).filter(|line| !line.contains(" never ")).count();
    assert_eq!(ran as f64, of("count"), "{list}");
}

#[test]
fn the_longest_wait_is_in_the_list_and_explained() {
    let lab = lab();
    let page = lab.out(&["trace", "t.parquet", "queue"]);
    let first = page.lines().next().unwrap();
    let from = first.split(" from ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let length = first.split(" waited for ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let list = lab.out(&["trace", "t.parquet", "latency", "--list"]);
    let row = list.lines().find(|line| line.trim_start().starts_with(&format!("{from} "))).unwrap();
    assert!(row.ends_with(&format!(" {length}")), "{first}\n{row}");
    assert_eq!(lab.out(&["trace", "t.parquet", "queue", "--at", from]), page);
}

#[test]
fn the_status_of_tasks_is_that_of_the_trace() {
    let lab = lab();
    let list = lab.out(&["trace", "t.parquet", "status", "--list"]);
    let page = lab.out(&["trace", "t.parquet", "status"]);
    let row: Vec<&str> = page.lines().find(|line| line.starts_with("worker ")).unwrap().split_whitespace().collect();
    assert_eq!(row[1].parse::<usize>().unwrap(), list.lines().count() - 1, "{page}\n{list}");
    let summary = lab.out(&["trace", "t.parquet"]);
    assert!(summary.contains("changes of status"), "{summary}");
    assert!(lab.out(&["trace", "t.parquet", "status", "--tasks"]).contains("\nworker/1: "));
}

#[test]
fn wrong_questions_are_one_line() {
    let lab = lab();
    let cases: &[(&[&str], &str)] = &[
        (&["latency", "--task", "9"], "t.parquet: there is no task 9; the tasks are 0 to 1"),
        (&["status", "--task", "9"], "t.parquet: there is no task 9; the tasks are 0 to 1"),
        (&["queue", "--role", "worke"], "t.parquet: there is no role `worke`; did you mean `worker`?"),
        (&["queue", "--at", "3s"], "t.parquet: none of the tasks that were asked for was woken from 3s on"),
        (&["timeline", "--from", "1s", "--to", "1s"], "there is no time from 1s to 1s"),
        (&["latency", "--from", "5s"], "there is nothing from 5s on; the run ends at 2s"),
        (&["queue", "--limit", "0"], "0 is not between 1 and 10000"),
        (&["queue", "--at", "1s", "--from", "1s"], "cannot be used with"),
    ];
    for (view, part) in cases {
        let output = lab.run(&[&["trace", "t.parquet"], *view].concat());
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{view:?}: {}", output.err);
        assert!(output.err.lines().count() == 1 && output.err.contains(part), "{view:?}: {}", output.err);
    }
    lab.write("broken.parquet", "PAR1");
    let output = lab.run(&["trace", "broken.parquet", "latency"]);
    assert_eq!((output.code, output.err.lines().count()), (Some(2), 1), "{}", output.err);
}

#[test]
fn a_timeline_is_written_in_other_forms() {
    let lab = lab();
    lab.out(&["trace", "t.parquet", "timeline", "--output", "t.pftrace"]);
    lab.out(&["trace", "t.pftrace", "timeline", "--output", "back.parquet"]);
    let picture = |file| lab.out(&["trace", file, "timeline", "--width", "60"]);
    assert_eq!(picture("back.parquet"), picture("t.parquet"));
}
