//! Searching for faults.

use crate::lab::{Lab, may_virtualize};
use crate::vm::NEW;
use std::fs;

/// The drawn scenarios have what no ideal discipline knows, so nothing is drawn.
#[test]
fn ideal_disciplines_are_not_searched() {
    let lab = Lab::new();
    for args in [&["--policy", "ps"][..], &["--policy", "rr", "--against", "ps"]] {
        let output = lab.run(&[&["search", "--scenarios", "1"], args].concat());
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{args:?}: {}", output.err);
        assert!(output.err.starts_with("schedlab: policy ps: an ideal discipline knows no "), "{}", output.err);
    }
}

/// A task with a nice value that may run on one CPU only is lost: the search finds it, and a kernel shows it.
#[test]
fn a_kernel_confirms_what_was_found() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let lab = Lab::new();
    let source = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies/rr/rr.bpf.c")).unwrap();
    let insert = "\tscx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);";
    assert!(source.contains(insert));
    let lost = format!("\tif (p->nr_cpus_allowed == 1 && p->static_prio > 120)\n\t\treturn;\n{insert}");
    lab.write("bad.bpf.c", source.replace(insert, &lost));
    let args = ["search", "--policy", "./bad.bpf.c", "--scenarios", "32", "--kernel", NEW, "-o", "found"];
    let mut command = lab.command(&args);
    // Kernels are kept where users keep them, so that they are fetched once.
    let output = command.env_remove("XDG_CACHE_HOME").output().unwrap();
    let (page, errors) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(5), "{page}{errors}");
    assert!(page.contains(&format!("{NEW} shows it, too: ")) && page.contains("runnable task stall"), "{page}");
    let state: serde_json::Value = serde_json::from_slice(&fs::read(lab.path("found/search.json")).unwrap()).unwrap();
    assert_eq!(state["found"][0]["kernel"]["verdict"], "same");
}

#[test]
fn another_search_does_not_take_the_place_of_one() {
    let lab = Lab::new();
    let search = |policy: &str, seed: &str| {
        lab.run(&["search", "--policy", policy, "--scenarios", "2", "--seed", seed, "-o", "found", "--quiet"])
    };
    let first = search("fcfs", "1");
    assert!(matches!(first.code, Some(0 | 5)), "{}", first.err);
    let kept = || fs::read(lab.path("found/search.json")).unwrap();
    let before = kept();
    for (policy, seed, what) in [("fcfs", "2", "(seed 1)"), ("rr", "1", "(policy fcfs, object ")] {
        let output = search(policy, seed);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
        let told = format!("found/search.json: this folder holds another search {what}");
        assert!(output.err.contains(&told) && output.err.ends_with("; name another folder\n"), "{}", output.err);
    }
    assert!(kept() == before);
    assert_eq!(search("fcfs", "1").code, first.code);
}
