//! Control groups as a user meets them: tables, JSON, the search for a limit, real kernels.

use crate::lab::{Lab, may_virtualize};
use crate::vm::NEW;
use serde_json::Value;

const SHARED: &str = "name = \"shared\"\n[machine]\ncpus = 1\nhz = 250\n[run]\nduration = \"2s\"\n\
                      [[control_group]]\npath = \"web\"\nweight = 300\n[[control_group]]\npath = \"batch\"\n\
                      [[task]]\nname = \"server\"\ncontrol_group = \"web\"\nloop = [{ compute = \"5ms\" }]\n\
                      [[task]]\nname = \"job\"\ncontrol_group = \"batch\"\nloop = [{ compute = \"5ms\" }]\n";

const LIMITED: &str = "name = \"limited\"\n[machine]\ncpus = 1\nhz = 1000\n[run]\nduration = \"2s\"\n\
                       [[control_group]]\npath = \"web\"\nmax = \"50ms/100ms\"\n\
                       [[task]]\nname = \"server\"\ncontrol_group = \"web\"\nloop = [{ compute = \"12ms\" }, { sleep = \"8ms\" }]\n";

fn group<'a>(result: &'a Value, path: &str) -> &'a Value {
    result["control_groups"].as_array().unwrap().iter().find(|group| group["path"] == path).unwrap()
}

#[test]
fn tables_say_what_groups_are_given_and_got() {
    let lab = Lab::new();
    lab.write("limited.toml", LIMITED);
    let page = lab.out(&["run", "limited.toml", "--policy", "eevdf:version=7.3", "--quiet"]);
    let line = page.lines().find(|line| line.trim_start().starts_with("web")).unwrap();
    assert!(line.contains("50ms/100ms") && line.contains("100"), "{page}");
    let compared =
        lab.out(&["compare", "limited.toml", "--policy", "eevdf:version=7.3,rr", "--quiet", "--perturb", "0"]);
    let words = compared.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("rr has no cgroup_set_bandwidth: it does not heed the limits of control groups"),
        "{compared}"
    );
    let result = lab.json(&["run", "limited.toml", "--policy", "eevdf:version=7.3", "--json", "--quiet"]);
    let web = group(&result, "web");
    // A quota of 50 ms for 60 ms of work in each 100 ms.
    assert!(web["nr_throttled"].as_u64().unwrap() >= 18, "{web}");
    assert!(web["response_throttled_ns"]["max"].as_u64().unwrap() > 10_000_000, "{web}");
}

/// 12 ms of work in each 20 ms: 60 ms in 100 ms, so with a quota of a little more no response is throttled.
#[test]
fn the_least_limit_that_keeps_a_target_is_found() {
    let lab = Lab::new();
    lab.write("limited.toml", LIMITED);
    let answer = lab.json(&["quota", "limited.toml", "--target", "max=12ms", "--json"]);
    let curve = &answer["policies"][0];
    let least = curve["least_quota_ns"].as_u64().unwrap();
    assert!((58_000_000..=66_000_000).contains(&least), "{curve}");
    let points = curve["points"].as_array().unwrap();
    for point in points {
        assert_eq!(point["meets"], point["value_ns"].as_f64().unwrap() <= 12e6, "{point}");
        assert!(point["quota_ns"].as_u64().unwrap() < least || point["meets"] == true, "{point}");
    }
    let text = lab.out(&["quota", "limited.toml", "--target", "max=12ms"]);
    assert!(text.contains("max ≤ 12ms needs a limit of"), "{text}");
    let never = lab.out(&["quota", "limited.toml", "--target", "p99=11ms"]);
    assert!(never.contains("is not met even without a limit: 12 ms"), "{never}");
    for (flags, part) in [
        (&["--target", "p98=1ms"][..], "`p98` is none of mean, p50"),
        (&["--target", "p99=1ms", "--control-group", "job"], "there is no control group `job`: web"),
        (&["--target", "p99=1ms", "--control-group", "wbe"], "there is no control group `wbe`: did you mean `web`?"),
        (&["--target", "p99=1ms", "--role", "sever"], "there is no task `sever`: did you mean `server`?"),
        (
            &["--target", "p99=1ms", "--burst", "2"],
            "the burst is a part of the quota: write a number from 0 to 1, not 2",
        ),
    ] {
        let output = lab.run(&[&["quota", "limited.toml"], flags].concat());
        assert!(output.code == Some(2) && output.err.contains(part), "{flags:?}: {}", output.err);
    }
}

/// The service needs 1.2 CPUs. Under less its requests pile up, and no response time of a short run shows how long they take.
#[test]
fn a_limit_under_which_requests_pile_up_meets_no_target() {
    let lab = Lab::new();
    for target in ["p99=1s", "p99=1000s"] {
        let args = ["quota", "container-limit", "--control-group", "service", "--target", target, "--duration", "3s"];
        let answer = lab.json(&[&args[..], &["--json", "--quiet"]].concat());
        let curve = &answer["policies"][0];
        let need = 1e8 * curve["loosest"]["used_cpus"].as_f64().unwrap();
        let least = curve["least_quota_ns"].as_u64().unwrap();
        assert!(least as f64 >= need && least as f64 <= 1.1 * need, "{target}: {least} for {need}");
        for point in curve["points"].as_array().unwrap() {
            let is_enough = point["quota_ns"].as_u64().unwrap() as f64 >= need;
            assert_eq!(point["overloaded"], !is_enough, "{target}: {point}");
        }
        let words = lab.out(&args).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("is too little in the long run: requests come faster than they end."), "{words}");
        assert!(words.contains(" overloaded "), "{words}");
    }
}

/// The least weight that keeps a target is one from which on all do, and a burst of nothing is enough for a loose one.
#[test]
fn the_least_weight_and_the_least_burst_are_found() {
    let lab = Lab::new();
    lab.write("shared.toml", SHARED);
    lab.write("limited.toml", LIMITED);
    let search = |file: &str, knob: &str, target: &str| {
        lab.json(&["quota", file, "--control-group", "web", "--search", knob, "--target", target, "--json"])
    };
    // Next to a job of the same weight a request of 5 ms takes 10: three quarters of the CPU make it 6.7.
    let answer = search("shared.toml", "weight", "mean=6700us");
    let least = answer["policies"][0]["least_weight"].as_u64().unwrap();
    assert!((285..=315).contains(&least), "{answer}");
    for point in answer["policies"][0]["points"].as_array().unwrap() {
        assert!(point["weight"].as_u64().unwrap() < least || point["meets"] == true, "{point}");
    }
    let burst = search("limited.toml", "burst", "mean=30ms");
    assert_eq!((&burst["search"], &burst["policies"][0]["least_burst_ns"]), (&"burst".into(), &0.into()), "{burst}");
    let never = lab.out(&["quota", "limited.toml", "--search", "burst", "--target", "p99=11ms"]);
    assert!(never.contains("is not met even with a burst of 50ms"), "{never}");
    let with_limit = ["--search", "burst", "--limit", "61ms/100ms", "--target", "p99=30ms", "--json"];
    let limited = lab.json(&[&["quota", "limited.toml"], &with_limit[..]].concat());
    assert_eq!(limited["policies"][0]["loosest"]["quota_ns"], 61_000_000, "{limited}");
    for (file, flags, part) in [
        ("limited.toml", &["--limit", "50ms/100ms"][..], "a limit is what a search for a weight or a burst keeps"),
        ("shared.toml", &["--search", "burst"], "`web` has no limit whose burst could be searched for"),
        ("limited.toml", &["--search", "burst", "--period", "5ms"], "a period and a burst are the form of the limits"),
        ("limited.toml", &["--venue", "sim,vm"], "a search runs in one venue"),
    ] {
        let output = lab.run(&[&["quota", file, "--control-group", "web", "--target", "p99=1ms"], flags].concat());
        assert!(output.code == Some(2) && output.err.contains(part), "{flags:?}: {}", output.err);
    }
}

/// The page has the curve and the target, the files have a row for each limit, and the schema holds.
#[test]
fn the_answer_becomes_a_page_and_files() {
    let lab = Lab::new();
    lab.write("limited.toml", LIMITED);
    let flags = ["quota", "limited.toml", "--target", "max=12ms", "--policy", "eevdf:version=7.3,eevdf", "--json"];
    let files = ["--report", "quota.html", "--export", "quota.md", "--export", "quota.csv"];
    let answer = lab.json(&[&flags[..], &files].concat());
    let schema = lab.json(&["schema", "quota"]);
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&answer), "{answer}");
    let read = |name: &str| std::fs::read_to_string(lab.path(name)).unwrap();
    let page = read("quota.html");
    for part in ["Response times by limit", "\"target\":12.0", "eevdf:version=7.3", "schedlab quota limited.toml"] {
        assert!(page.contains(part), "{part}");
    }
    let points: usize =
        answer["policies"].as_array().unwrap().iter().map(|it| it["points"].as_array().unwrap().len() + 1).sum();
    assert_eq!(read("quota.md").lines().filter(|line| line.starts_with("| eevdf")).count(), points);
    let (rows, tables) = (read("quota.csv"), read("quota.md"));
    let head = "table,scenario,policy,venue,control group,role,quota_ns,period_ns,limit_cpus,max ns,";
    assert!(rows.starts_with(head), "{rows}");
    let unlimited = rows.lines().find(|line| line.contains(",eevdf,sim,") && line.contains(",,,,12"));
    assert!(unlimited.is_some_and(|line| line.ends_with(",yes,")), "{rows}");
    assert!(tables.contains("max ≤ 12ms") && rows.contains("\nanswer,"), "{tables}");
}

/// A page shows what a limited group used against its limit, and the timeline when its tasks were throttled.
#[test]
fn pages_show_use_and_throttled_waits() {
    let lab = Lab::new();
    lab.write("limited.toml", LIMITED);
    lab.out(&[
        "run",
        "limited.toml",
        "--policy",
        "eevdf:version=7.3",
        "--quiet",
        "--report",
        "page.html",
        "--trace",
        "t.pftrace",
    ]);
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.contains("CPUs that control groups used over time") && page.contains("throttled tasks"));
    let header = page.split("\"throttled\":").nth(1).unwrap();
    let count: u32 = header.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().unwrap();
    assert!((18..=20).contains(&count), "{count} throttled waits in 20 periods");
    lab.out(&["check", "t.pftrace"]);
}

/// A hundred services on a large machine: there is room for a queue of each on each CPU, unless the user says otherwise.
#[test]
fn large_machines_have_many_groups() {
    let lab = Lab::new();
    let mut text = "name = \"services\"\n[machine]\ncpus = 64\n[run]\nduration = \"100ms\"\n".to_string();
    for number in 0..100 {
        text += &format!(
            "[[control_group]]\npath = \"services/{number}\"\n[[task]]\nname = \"task-{number}\"\n\
             control_group = \"services/{number}\"\nloop = [{{ compute = \"1ms\" }}, {{ sleep = \"2ms\" }}]\n"
        );
    }
    lab.write("services.toml", &text);
    for policy in ["cfs", "eevdf:version=6.12", "eevdf:version=7.3"] {
        let result = lab.json(&["run", "services.toml", "--policy", policy, "--json", "--quiet"]);
        assert_eq!(result["control_groups"].as_array().unwrap().len(), 101, "{policy}");
    }
    let output = lab.run(&["run", "services.toml", "--policy", "cfs:group_queues=4096", "--quiet"]);
    assert!(output.code == Some(1), "{}", output.err);
    assert!(output.err.contains("there is room for 63 groups with queues of their own on 64 CPUs: set group_queues"));
}

/// A kernel's own scheduler, and ours in its place, share and limit as the simulator does.
#[test]
fn kernels_do_what_the_simulator_does() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let lab = Lab::new();
    let short = |text: &str| text.replace("duration = \"2s\"", "duration = \"1s\"");
    lab.write("shared.toml", short(SHARED));
    lab.write("limited.toml", short(LIMITED).replace("hz = 1000", "hz = 250"));
    let run = |scenario: &str, flags: &[&str]| lab.json(&[&["run", scenario, "--json", "--quiet"], flags].concat());
    let kernel: &[&str] = &["--venue", "vm", "--no-costs", "--policy", "kernel", "--kernel", NEW];
    let share = |result: &Value| group(result, "web")["sibling_share"].as_f64().unwrap();
    let simulated = run("shared.toml", &["--policy", "eevdf:version=7.3"]);
    assert!((share(&simulated) - 0.75).abs() < 0.005, "{}", share(&simulated));
    let real = run("shared.toml", kernel);
    assert!((share(&real) - 0.75).abs() < 0.005, "{}", share(&real));
    let web = group(&real, "web");
    let number = |name: &str| web[name].as_f64().unwrap();
    // What the kernel itself counts of CPU time and pressure.
    assert!((number("usage_ns") / number("kernel_usage_ns") - 1.0).abs() < 0.01, "{web}");
    assert!((number("pressure_some_ns") / number("kernel_pressure_some_ns") - 1.0).abs() < 0.02, "{web}");
    // The groups come when the policy already has tasks.
    for policy in ["eevdf:version=7.3", "eevdf:version=6.12", "cfs"] {
        let ours = run("shared.toml", &["--venue", "vm", "--no-costs", "--policy", policy, "--kernel", NEW]);
        assert!((share(&ours) - 0.75).abs() < 0.005, "{policy}: {}", share(&ours));
    }
    let limited = run("limited.toml", kernel);
    let web = group(&limited, "web");
    let (throttled, usage) = (web["nr_throttled"].as_u64().unwrap(), web["usage_share"].as_f64().unwrap());
    assert!((8..=11).contains(&throttled) && (0.49..0.53).contains(&usage), "{web}");
}
