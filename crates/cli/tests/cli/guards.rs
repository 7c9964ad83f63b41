//! Steps that take no time: a scenario with finite steps may do any number; a policy without progress is named.

use crate::lab::Lab;

/// Tasks that yield very often before they compute.
fn yields(tasks: u32, times: u32, machine: &str) -> String {
    format!(
        "name = \"yields\"\n[machine]\n{machine}\n[[task]]\nname = \"polite\"\ncount = {tasks}\n\
         once = [{{ repeat = {times}, steps = [{{ yield = true }}] }}, {{ compute = \"5ms\" }}]\n\
         [run]\nduration = \"10s\"\n"
    )
}

/// Steps that end may be as many as they are, whether they cost time or not.
#[test]
fn a_scenario_may_yield_as_often_as_it_likes() {
    for (tasks, times, machine) in
        [(1, 600_000, "cpus = 1"), (2, 300_000, "cpus = 1"), (2, 300_000, "cpus = 1\ncosts = { switch = \"1us\" }")]
    {
        let lab = Lab::new();
        lab.write("yields.toml", yields(tasks, times, machine));
        for policy in ["rr", "mlfq", "cfs", "sjf"] {
            let result = lab.json(&["run", "yields.toml", "--policy", policy, "--json"]);
            let (role, costs) = (&result["roles"][0], machine.contains("costs"));
            assert_eq!((&role["requests"], &role["cpu_ns"]), (&tasks.into(), &(tasks * 5_000_000).into()), "{policy}");
            // The last one ends when both have computed, and each switch has been paid for.
            let last = result["tasks"].as_array().unwrap().iter().map(|task| task["turnaround_ns"]["max"].as_u64());
            let (computed, last) = (u64::from(tasks) * 5_000_000, last.max().flatten().unwrap());
            match costs && policy == "rr" {
                true => assert!(last > computed + 500_000_000, "{policy}: {last}"),
                false => assert!(last >= computed, "{policy}: {last}"),
            }
        }
    }
}

/// The policy's fault, and not the scenario's, however often that yields.
#[test]
fn a_policy_that_never_lets_time_go_by_is_named() {
    let lab = Lab::new();
    lab.write("yields.toml", yields(2, 600_000, "cpus = 1"));
    for (name, what) in
        [("restless.bpf.c", "its CPUs choose again and again"), ("hasty.bpf.c", "its timer is due again")]
    {
        lab.policy(name);
        let output = lab.run(&["run", "yields.toml", "--policy", &format!("./{name}")]);
        assert_eq!(output.code, Some(1), "{name}: {}", output.err);
        assert!(output.err.contains("the policy failed at ") && output.err.contains(what), "{}", output.err);
    }
}
