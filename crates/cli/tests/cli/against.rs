//! Two traces next to each other.

use crate::lab::Lab;

/// A worker is woken each millisecond and waits for `wait_us` microseconds, while another has the CPU.
fn recording(rounds: u64, wait_us: u64) -> String {
    let mut text = String::new();
    let mut add = |us: u64, tid: u32, event: &str| {
        text += &format!("  x    {tid} [000] {}.{:06}: sched:{event}\n", 5 + us / 1_000_000, us % 1_000_000);
    };
    let switch = |from: (&str, u32), state: &str, to: (&str, u32)| {
        format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={state} ==> next_comm={} next_pid={} next_prio=120",
            from.0, from.1, to.0, to.1
        )
    };
    let (hog, web) = (("hog", 7), ("web", 8));
    add(0, 0, &switch(("swapper/0", 0), "R", hog));
    for round in 0..rounds {
        let woken = round * 1000 + 100;
        let came = woken + wait_us + round % 5;
        add(woken, 7, "sched_wakeup: comm=web pid=8 prio=120 target_cpu=000");
        add(came, 7, &switch(hog, "R", web));
        add(came + 20, 8, &switch(web, "S", hog));
    }
    text
}

fn lab() -> Lab {
    let lab = Lab::new();
    for (name, rounds, wait) in [("old", 100, 100), ("new", 230, 300)] {
        lab.write(&format!("{name}.txt"), recording(rounds, wait));
        lab.out(&["import", &format!("{name}.txt")]);
    }
    lab
}

#[test]
fn what_waits_longer_is_told_with_place_and_reason() {
    let lab = lab();
    let page = lab.out(&["trace", "new.parquet", "--against", "old.parquet"]);
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.starts_with("new.parquet against old.parquet Waits from being runnable to running."), "{page}");
    let web = page.lines().find(|line| line.starts_with("web ")).unwrap();
    assert!(web.ends_with("longer"), "{page}");
    assert!(words.contains("web waits 2.9") && words.contains("Where: cpu0 +"), "{page}");
    assert!(words.contains("What ran meanwhile: hog +"), "{page}");
    // Why this CPU, why so long.
    assert!(
        words.contains("web/0 waited 304 us on cpu") && words.contains("What ran meanwhile: hog/0 304 us"),
        "{page}"
    );
    // The same both ways, and of a trace against itself nothing.
    let back = lab.out(&["trace", "old.parquet", "--against", "new.parquet"]);
    assert!(back.lines().any(|line| line.starts_with("web ") && line.ends_with("shorter")), "{back}");
    let same = lab.out(&["trace", "old.parquet", "--against", "old.parquet"]);
    assert!(same.contains("No wait changed by more than chance."), "{same}");
}

#[test]
fn the_comparison_is_json_too() {
    let lab = lab();
    let told = lab.json(&["trace", "new.parquet", "--against", "old.parquet", "--json"]);
    assert_eq!(told["schema"], "schedlab.contrast/1");
    assert_eq!(told["titles"], serde_json::json!(["old.parquet", "new.parquet"]));
    let changes = told["changes"].as_array().unwrap();
    let web = changes.iter().find(|change| change["name"] == "web").unwrap();
    assert!(web["is_firm"] == true && web["ratio"]["low"].as_f64().unwrap() > 2.0, "{web}");
    let means = [0, 1].map(|side| web["mean_ns"][side].as_f64().unwrap());
    assert!((web["difference_ns"]["estimate"].as_f64().unwrap() - (means[1] - means[0])).abs() < 1.0, "{web}");
    let more = |shift: &serde_json::Value| {
        shift["after_ns_per_s"].as_f64().unwrap() - shift["before_ns_per_s"].as_f64().unwrap()
    };
    let waited = [0, 1].map(|side| web["waited_ns_per_s"][side].as_f64().unwrap());
    let by_had: f64 = web["by_had"].as_array().unwrap().iter().map(more).sum();
    assert!((by_had - (waited[1] - waited[0])).abs() < 1.0, "{web}");
    let worst = &told["longest_waits"][1][0];
    assert_eq!((&worst["task"], &worst["length_ns"]), (&"web/0".into(), &304_000.into()));
    assert_eq!(worst["had_the_cpu"][0], serde_json::json!({ "what": "hog/0", "ns": 304_000 }));
    assert_eq!(told["cautions"], serde_json::json!([]));
    lab.assert_described("trace", &told);
}

#[test]
fn the_comparison_is_a_page_too() {
    let lab = lab();
    let exports = ["--export", "t.md", "--export", "t.csv"];
    let command = ["trace", "new.parquet", "--against", "old.parquet", "--report", "page.html"];
    lab.out(&[&command[..], &exports].concat());
    let tables = std::fs::read_to_string(lab.path("t.md")).unwrap();
    assert!(tables.contains("## Wait times by program") && tables.contains("| web |"), "{tables}");
    assert!(tables.contains("\n\nweb waits longer for a CPU than before"), "{tables}");
    let rows = std::fs::read_to_string(lab.path("t.csv")).unwrap();
    assert!(rows.starts_with("table,program,mean wait before ns,mean wait after ns,"), "{rows}");
    assert!(rows.contains("\nanswer,"), "{rows}");
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.contains("<title>new.parquet against old.parquet</title>"));
    assert!(page.contains("web waits longer for a CPU than before"));
}

#[test]
fn unlike_runs_have_a_caution_that_names_what_differs() {
    let lab = Lab::with_small();
    let run = |name: &str, flags: &[&str]| {
        let args = ["run", "small.toml", "--policy", "rr", "--quiet", "--trace", name];
        lab.out(&[&args[..], flags].concat());
    };
    run("one.parquet", &[]);
    run("two.parquet", &["--cpus", "2", "--seed", "7", "--duration", "1s"]);
    let against = |before: &str| {
        let page = lab.out(&["trace", "one.parquet", "--against", before]);
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let page = against("two.parquet");
    let differs = "a change may come from what differs: the number of CPUs (2 and 1), the seed (7 and 1), the length (1s and 2s).";
    assert!(page.contains(differs), "{page}");
    assert!(!against("one.parquet").contains("unlike runs"));
    assert!(page.contains("woken by its birth") && !page.contains("an unknown task"), "{page}");
}

#[test]
fn what_does_not_fit_is_one_line() {
    let lab = lab();
    for (args, part) in [
        (&["trace", "new.parquet", "--against", "none.parquet"][..], "none.parquet"),
        (&["trace", "new.parquet", "--against", "old.txt"], "old.txt"),
        (&["trace", "new.parquet", "--against", "old.parquet", "latency"], "leave the view out"),
        (&["trace", "new.parquet", "--report", "page.html"], "--against"),
        (&["trace", "new.parquet", "--export", "t.md"], "--against"),
    ] {
        let output = lab.run(args);
        assert_eq!(output.code, Some(2), "{args:?}: {}", output.err);
        assert!(output.err.contains(part), "{args:?}: {}", output.err);
    }
}
