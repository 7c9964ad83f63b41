//! What a policy learns about the machine and of the kernel on which it runs.

use crate::lab::{Lab, may_virtualize};
use crate::vm::NEW;
use serde_json::{Value, json};

/// A task that computes for moments waits for the slices of two that never sleep.
const SLICES: &str = r#"
name = "slices"

[machine]
cpus = 1

[[task]]
name = "moment"
loop = [{ compute = "2ms" }, { sleep = "exp(10ms)" }]

[[task]]
name = "hog"
count = 2
loop = [{ compute = "1s" }]

[run]
duration = "2s"
"#;

/// Four tasks on four cores of two threads.
const CORES: &str = r#"
name = "cores"

[machine]
topology = "1n1l4c2t"

[[task]]
name = "t"
count = 4
loop = [{ compute = "100ms" }]

[run]
duration = "500ms"
"#;

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("slices.toml", SLICES);
    lab.write("cores.toml", CORES);
    lab.policy("upstream.bpf.c");
    lab.policy("told.bpf.c");
    lab
}

/// A result of a guest, whose kernel is kept where users keep kernels.
fn in_guest(lab: &Lab, args: &[&str]) -> Value {
    let common = ["run", "slices.toml", "--venue", "vm", "--kernel", NEW, "--no-costs", "--quiet", "--json"];
    let output = lab.command(&[&common, args].concat()).env_remove("XDG_CACHE_HOME").output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn mean_response_ms(result: &Value) -> f64 {
    result["roles"][0]["response_ns"]["mean"].as_f64().unwrap_or_else(|| panic!("{result}")) / 1e6
}

/// The CPUs that were busy.
fn busy_cpus(result: &Value) -> Vec<usize> {
    let busy = |cpu: &Value| cpu["busy_frac"].as_f64().unwrap() > 0.5;
    result["cpus"].as_array().unwrap().iter().enumerate().filter(|(_, cpu)| busy(cpu)).map(|(cpu, _)| cpu).collect()
}

#[test]
fn policies_are_told_of_the_scenarios_cores() {
    let lab = lab();
    let run = |policy: &str| lab.json(&["run", "cores.toml", "--json", "--policy", policy]);
    let told = run("cfs");
    assert_eq!(busy_cpus(&told), [0, 2, 4, 6]);
    let shape = ["threads_per_core", "cores_per_llc", "llcs_per_node"].map(|name| &told["policy"]["parameters"][name]);
    assert_eq!(shape, [&json!(2), &json!(4), &json!(1)]);
    assert_eq!(told.get("cautions"), None);
}

#[test]
fn a_value_that_contradicts_the_machine_is_obeyed_and_said() {
    let lab = lab();
    let policy = ["run", "cores.toml", "--policy", "cfs:threads_per_core=1"];
    let result = lab.json(&[&policy[..], &["--json"]].concat());
    let caution = "threads_per_core is set to 1 and the machine has 2: the policy follows 1";
    assert_eq!(result["cautions"], json!([caution]));
    assert_eq!(result["policy"]["parameters"]["threads_per_core"], 1);
    assert_eq!(busy_cpus(&result), [0, 1, 2, 3]);
    let page = lab.out(&policy).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(&format!("Under cfs, {caution}.")), "{page}");
}

#[test]
fn schedulers_of_others_are_told_under_the_names_they_use() {
    let lab = lab();
    for (topology, cores, caches, nodes) in [("1n1l4c2t", 4, 1, 1), ("2n2l3c1t", 12, 4, 2), ("3n1l1c2t", 3, 3, 3)] {
        lab.write("cores.toml", CORES.replace("1n1l4c2t", topology));
        let told = lab.json(&["run", "cores.toml", "--json", "--policy", "./told.bpf.c"]);
        let parameters = &told["policy"]["parameters"];
        let counts = ["nr_phys_cpus", "nr_llcs", "nr_nodes"].map(|name| parameters[name].as_u64().unwrap());
        assert_eq!(counts, [cores, caches, nodes], "{topology}");
        assert_eq!(parameters["nr_cpu_ids"], told["scenario"]["cpus"]);
    }
}

/// Upstream's headers make variables of the kernel's enumerators, which are 0 until a loader fills them. With slices of 20 ms
/// a task that computes for moments waits for two of them; with slices of 0 it would wait for ticks.
#[test]
fn upstreams_constants_are_the_simulated_kernels() {
    let lab = lab();
    for global in ["false", "true"] {
        let policy = format!("./upstream.bpf.c:global={global}");
        let mean = mean_response_ms(&lab.json(&["run", "slices.toml", "--json", "--policy", &policy]));
        assert!((30.0..42.0).contains(&mean), "{global}: {mean}");
    }
}

#[test]
fn upstreams_constants_are_those_of_a_real_kernel() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let lab = lab();
    for global in ["false", "true"] {
        let policy = format!("./upstream.bpf.c:global={global}");
        let mean = mean_response_ms(&in_guest(&lab, &["--policy", &policy]));
        assert!((30.0..42.0).contains(&mean), "{global}: {mean}");
    }
}

#[test]
fn a_real_kernel_tells_policies_of_its_cpus() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let lab = lab();
    let told = in_guest(&lab, &["--cpus", "2", "--duration", "100ms", "--policy", "./told.bpf.c"]);
    assert_eq!(told["policy"]["parameters"]["nr_cpu_ids"], 2);
}

/// A verifier looks at what the parameters leave of a program. `make soak` asks about each rule and each shape.
#[test]
fn policies_for_machines_of_any_shape_are_taken_by_a_real_kernel() {
    if !may_virtualize(&[NEW]) {
        return;
    }
    let lab = lab();
    let shapes = ["threads_per_core=2,cores_per_llc=4,llcs_per_node=1", "cores_per_llc=8,llcs_per_node=1"];
    let rules = ["cfs:", "eevdf:", "ule:mode=freebsd,", "alb:domain=cache,", "linux-o1:"];
    for (rule, shape) in rules.iter().zip(shapes.iter().cycle()) {
        let result = in_guest(&lab, &["--duration", "100ms", "--policy", &format!("{rule}{shape}")]);
        assert!(result["events"]["switches"].as_u64() > Some(0), "{rule}{shape}: {result}");
    }
}
