use super::*;
use crate::scenario::Scenario;

fn parse(groups: &str, task: &str) -> Result<workload::Workload, String> {
    let text = format!(
        "name = \"t\"\n[machine]\ncpus = 4\n[run]\nduration = \"1s\"\n{groups}\n[[task]]\nname = \"x\"\n{task}\n"
    );
    let scenario = Scenario::parse(&text, "t").map_err(|error| error.to_string())?;
    scenario.compile().map_err(|error| error.to_string())
}

const HOG: &str = "loop = [{ compute = \"1ms\" }]";

fn complaint(groups: &str, task: &str) -> String {
    parse(groups, task).unwrap_err()
}

#[test]
fn a_tree_is_made_of_paths() {
    let groups = "[[control_group]]\npath = \"a/b\"\nmax = \"50ms\"\nburst = \"5ms\"\n\
                  [[control_group]]\npath = \"a\"\nnice = -5\ncpus = \"0-2\"\n[[control_group]]\npath = \"c\"\nidle = true";
    let workload = parse(groups, &format!("control_group = \"a/b\"\ncpus = \"2-3\"\n{HOG}")).unwrap();
    let tree = &workload.control_groups;
    let paths: Vec<&str> = tree.iter().map(|(_, group)| group.path.as_str()).collect();
    assert_eq!(paths, ["", "a", "a/b", "c"]);
    let [a, b, c] = ["a", "a/b", "c"].map(|path| tree.find(path).unwrap());
    assert_eq!((tree[b].parent, tree[b].level, tree[b].effective_cpus.to_string().as_str()), (Some(a), 2, "0-2"));
    assert_eq!(tree[b].knobs.bandwidth.cpus(), Some(0.5));
    assert_eq!((tree[a].knobs.weight.as_weight(), tree[c].knobs.weight), (305, Weight::Idle));
    let role = &workload.roles[0];
    assert_eq!((role.control.begin, role.cpus.to_string().as_str()), (b, "2"));
}

#[test]
fn a_weight_is_refused_where_it_is_written() {
    for (key, begin) in [("weight = 20000", "t:9:10: a weight of 20000"), ("nice = -21", "t:9:8: nice -21")] {
        let told = complaint(&format!("[[control_group]]\npath = \"a\"\nmax = \"5ms\"\n{key}"), HOG);
        assert!(told.starts_with(begin), "{told}");
    }
}

#[test]
fn what_no_kernel_takes_is_refused_with_its_place() {
    let group = |rest: &str| format!("[[control_group]]\npath = \"a\"\n{rest}");
    for (groups, task, part) in [
        (group("weight = 0"), HOG, "a weight of 0 does not exist: write 1 to 10000"),
        (group("weight = 5\nidle = true"), HOG, "`weight`, `nice` and `idle` say the same"),
        (group("nice = 20"), HOG, "nice 20 does not exist"),
        (group("max = \"500us\""), HOG, "a quota of 500us is too short"),
        (group("max = \"5ms/2s\""), HOG, "a period of 2s cannot be: write 1ms to 1s"),
        (group("max = \"5ms/100us\""), HOG, "a period of 100us cannot be"),
        (group("max = \"5ms\"\nburst = \"6ms\""), HOG, "a burst of 6ms is more than the quota of 5ms"),
        (group("burst = \"6ms\""), HOG, "a burst saves up a quota, and there is none"),
        (group("max = 5"), HOG, "5 has no unit"),
        (group("cpus = \"4\""), HOG, "CPU 4 is none of those of the control group above"),
        (group("partition = \"root\""), HOG, "a partition needs CPUs of its own"),
        (group("cpus = \"0-3\"\npartition = \"root\""), HOG, "this leaves no CPU to the root"),
        (group("weight = 5\nsystemd = { CPUQuota = \"5%\" }"), HOG, "say what `weight`, `nice`, `idle` and `max` say"),
        (group("systemd = { CPUWeight = 0 }"), HOG, "a weight of 0 does not exist"),
        (group("kubernetes = { limits = \"two\" }"), HOG, "`two` is not an amount of CPUs"),
        (group("[[control_group]]\npath = \"a\""), HOG, "there are two control groups `a`"),
        (group("[[control_group]]\npath = \"a//b\""), HOG, "`a//b` is not a path"),
        (group("[[control_group]]\npath = \"a.b\""), HOG, "`a.b` is not a path"),
        (group("[[control_group]]\npath = \"1/2/3/4/5/6/7/8/9\""), HOG, "9 levels are too many: at most 8"),
        (
            group("cpus = \"0\""),
            "control_group = \"a\"\ncpus = \"1\"\nloop = [{ yield = true }]",
            "of the CPUs 1 none is left",
        ),
        (
            group("[[control_group]]\npath = \"a/b\""),
            "control_group = \"a\"\nloop = [{ yield = true }]",
            "`a/b` is below `a`",
        ),
        (group(""), "control_group = \"b\"\nloop = [{ yield = true }]", "there is no control group `b`"),
        (group(""), "loop = [{ join = \"b\" }]", "there is no control group `b`"),
        (group(""), "loop = [{ adjust = { control_group = \"a\" } }]", "this changes nothing"),
        (group(""), "loop = [{ adjust = { control_group = \"a\", max = \"1us\" } }]", "a quota of 1us is too short"),
        (group("cpus = \"0\""), "cpus = \"1\"\nloop = [{ join = \"a\" }]", "of the CPUs 1 none is left"),
        (
            group("max = \"50ms\""),
            "loop = [{ adjust = { control_group = \"a\", max = \"10ms\", burst = \"11ms\" } }]",
            "a burst of 11ms is more than the quota of 10ms",
        ),
    ] {
        let told = complaint(&groups, task);
        assert!(told.contains(part), "{groups} {task}: {told}");
    }
}

#[test]
fn resources_of_a_container_and_of_a_unit_are_knobs() {
    let groups = "[[control_group]]\npath = \"pod\"\nkubernetes = { requests = \"1\", limits = \"1.5\", conversion = \"old\" }\n\
                  [[control_group]]\npath = \"unit\"\nsystemd = { CPUWeight = \"idle\", CPUQuota = \"8%\" }";
    let tree = parse(groups, HOG).unwrap().control_groups;
    let knobs = |path: &str| tree[tree.find(path).unwrap()].knobs;
    assert_eq!((knobs("pod").weight, knobs("pod").bandwidth.cpus()), (Weight::Weight(39), Some(1.5)));
    assert_eq!((knobs("unit").weight, knobs("unit").bandwidth.cpus()), (Weight::Idle, Some(0.08)));
}

#[test]
fn a_partition_takes_its_cpus_from_all_others() {
    let groups =
        "[[control_group]]\npath = \"a\"\n[[control_group]]\npath = \"p\"\ncpus = \"2-3\"\npartition = \"root\"";
    let tree = parse(groups, HOG).unwrap().control_groups;
    let cpus = |path: &str| tree[tree.find(path).unwrap()].effective_cpus.to_string();
    assert_eq!((cpus("a").as_str(), cpus("p").as_str(), cpus("").as_str()), ("0-1", "2-3", "0-1"));
}

/// Joined groups, and those of a parent, say on which CPUs a task may be later.
#[test]
fn later_cpus_are_known_before_the_run() {
    let groups = "[[control_group]]\npath = \"a\"\ncpus = \"0-1\"\n[[control_group]]\npath = \"b\"\ncpus = \"1-2\"";
    let task = "control_group = \"a\"\nloop = [{ compute = \"1ms\" }, { join = \"b\" }, { spawn = \"y\" }, { join = \"a\" }]\n\
                [[task]]\nname = \"y\"\nspawned = true\nonce = [{ compute = \"1ms\" }]";
    let workload = parse(groups, task).unwrap();
    let sets = |index: usize| -> Vec<String> { workload.roles[index].all_cpus().map(|set| set.to_string()).collect() };
    assert_eq!(sets(0), ["0-1", "1-2", "0-1"]);
    assert!(workload.roles[1].control.inherits);
    assert_eq!(sets(1), ["0-3", "0-3", "0-1", "1-2"]);
}

#[test]
fn what_was_read_is_written_again() {
    let text = "name = \"t\"\n[machine]\ncpus = 4\n[run]\nduration = \"1s\"\nperiod_phase = \"random\"\n\
                [[control_group]]\npath = \"a\"\nmax = \"50ms/100ms\"\npartition = \"member\"\n\
                [[task]]\nname = \"x\"\ncontrol_group = \"a\"\nloop = [{ compute = \"1ms\" }, { join = \"a\" }]\n";
    let scenario = Scenario::parse(text, "t").unwrap();
    assert_eq!(Scenario::parse(&scenario.to_toml(), "again").unwrap(), scenario);
}

#[test]
fn a_limit_above_its_parents_is_remarked() {
    let groups = "[[control_group]]\npath = \"a\"\nmax = \"50ms/100ms\"\n[[control_group]]\npath = \"a/b\"\nmax = \"80ms\"\n\
                  [[control_group]]\npath = \"a/c\"\nmax = \"5ms/10ms\"";
    let remarks = parse(groups, HOG).unwrap().control_groups.remarks();
    assert_eq!(remarks, ["the control group a/b may use 0.800 CPUs and a above it 0.500: both limits hold"]);
}
