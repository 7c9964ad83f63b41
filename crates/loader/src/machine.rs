//! The files by which Linux describes a machine: `/sys/devices/system`, `/proc`, control groups.
//!
//! What a scenario's machine does not have is not there: frequencies, energy models, power states. Sizes of caches are
//! asked for by programs and known to no scenario; they are those of a common server and decide nothing that is simulated.

use crate::tree::Files;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::CpuId;
use schedlab_model::machine::Topology;
use std::fmt::Write;

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";
/// The capacity of a CPU: all are alike (`SCHED_CAPACITY_SCALE`).
const CAPACITY: u32 = 1024;
/// The caches of a CPU: level, kind, size, and whether it is the last level's.
const CACHES: [(u32, &str, &str, bool); 4] = [
    (1, "Data", "32K", false),
    (1, "Instruction", "32K", false),
    (2, "Unified", "1024K", false),
    (3, "Unified", "32768K", true),
];
/// Distance to a node's own memory and to another's, as firmware reports it.
const NEAR: u32 = 10;
const FAR: u32 = 20;

/// Adds what there is on a machine of this form with a kernel of this release and configuration.
pub fn add_machine(files: &mut Files, topology: &Topology, release: &str, configuration: &[(&str, u64)]) {
    add_cpus(files, topology);
    add_nodes(files, topology);
    add_processes(files, topology, release);
    let mut text = String::new();
    for (name, value) in configuration {
        let _ = match value {
            1 => writeln!(text, "{name}=y"),
            value => writeln!(text, "{name}={value}"),
        };
    }
    files.file(format!("/boot/config-{release}"), text);
    files.folder("/sys/fs/bpf");
    files.folder("/sys/kernel/debug");
    files.folder("/sys/kernel/tracing");
    for path in ["/sys/fs/cgroup/cpuset.cpus.effective", "/sys/fs/cgroup/cpuset.cpus"] {
        line(files, path, list(&all(topology)));
    }
    line(files, "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids");
    files.file("/sys/fs/cgroup/cgroup.procs", "1000\n");
}

fn all(topology: &Topology) -> CpuSet {
    (0..topology.cpus()).map(CpuId).collect()
}

fn line(files: &mut Files, path: impl Into<String>, text: impl std::fmt::Display) {
    files.file(path.into(), format!("{text}\n"));
}

/// Numbers as `0-3,8`.
fn list(cpus: &CpuSet) -> String {
    ranges(cpus.iter().map(|cpu| cpu.0))
}

fn ranges(numbers: impl Iterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let shown = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(shown).collect::<Vec<_>>().join(",")
}

fn add_cpus(files: &mut Files, topology: &Topology) {
    let cpus = list(&all(topology));
    for name in ["online", "possible", "present"] {
        line(files, format!("{CPUS}/{name}"), &cpus);
    }
    line(files, format!("{CPUS}/kernel_max"), topology.cpus() - 1);
    line(files, format!("{CPUS}/offline"), "");
    line(files, format!("{CPUS}/isolated"), "");
    line(files, format!("{CPUS}/nohz_full"), "");
    line(files, format!("{CPUS}/smt/active"), u32::from(topology.threads_per_core > 1));
    line(files, format!("{CPUS}/smt/control"), if topology.threads_per_core > 1 { "on" } else { "notsupported" });
    line(files, format!("{CPUS}/cpuidle/current_driver"), "none");
    for cpu in (0..topology.cpus()).map(CpuId) {
        add_cpu(files, topology, cpu);
    }
}

fn add_cpu(files: &mut Files, topology: &Topology, cpu: CpuId) {
    let folder = format!("{CPUS}/cpu{}", cpu.0);
    let [core, llc, node] =
        [Topology::core_of, Topology::llc_of, Topology::node_of].map(|part| topology.sharing(cpu, part));
    let (core, llc, node) = (list(&core), list(&llc), list(&node));
    line(files, format!("{folder}/online"), 1);
    line(files, format!("{folder}/cpu_capacity"), CAPACITY);
    line(files, format!("{folder}/power/pm_qos_resume_latency_us"), 0);
    let about: [(&str, &dyn std::fmt::Display); 8] = [
        ("core_id", &topology.core_of(cpu)),
        ("cluster_id", &topology.core_of(cpu)),
        ("die_id", &0),
        ("physical_package_id", &topology.node_of(cpu)),
        ("thread_siblings_list", &core),
        ("core_cpus_list", &core),
        ("core_siblings_list", &node),
        ("package_cpus_list", &node),
    ];
    for (name, value) in about {
        line(files, format!("{folder}/topology/{name}"), value);
    }
    for (index, (level, kind, size, is_last)) in CACHES.into_iter().enumerate() {
        let cache = format!("{folder}/cache/index{index}");
        let (id, shared) = if is_last { (topology.llc_of(cpu), &llc) } else { (topology.core_of(cpu), &core) };
        line(files, format!("{cache}/id"), id);
        line(files, format!("{cache}/level"), level);
        line(files, format!("{cache}/type"), kind);
        line(files, format!("{cache}/size"), size);
        line(files, format!("{cache}/shared_cpu_list"), shared);
    }
}

fn add_nodes(files: &mut Files, topology: &Topology) {
    let nodes = ranges(0..topology.nodes);
    for name in ["online", "possible", "has_cpu", "has_memory"] {
        line(files, format!("{NODES}/{name}"), &nodes);
    }
    for node in 0..topology.nodes {
        let folder = format!("{NODES}/node{node}");
        let cpus: CpuSet = all(topology).iter().filter(|cpu| topology.node_of(*cpu) == node).collect();
        line(files, format!("{folder}/cpulist"), list(&cpus));
        let distance = |other| if other == node { NEAR } else { FAR }.to_string();
        line(files, format!("{folder}/distance"), (0..topology.nodes).map(distance).collect::<Vec<_>>().join(" "));
        cpus.iter().for_each(|cpu| files.folder(format!("{folder}/cpu{}", cpu.0)));
    }
}

fn add_processes(files: &mut Files, topology: &Topology, release: &str) {
    let mut stat = "cpu  0 0 0 0 0 0 0 0 0 0\n".to_string();
    (0..topology.cpus()).for_each(|cpu| _ = writeln!(stat, "cpu{cpu} 0 0 0 0 0 0 0 0 0 0"));
    files
        .file("/proc/stat", stat + "intr 0\nctxt 0\nbtime 1767225600\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n");
    line(files, "/proc/loadavg", "0.00 0.00 0.00 1/1 1000");
    line(files, "/proc/uptime", "1.00 1.00");
    line(files, "/proc/version", format!("Linux version {release}"));
    line(files, "/proc/sys/kernel/osrelease", release);
    line(files, "/proc/sys/kernel/ftrace_enabled", 1);
    line(files, "/proc/sys/kernel/pid_max", 4_194_304);
    line(files, "/proc/sys/kernel/bpf_stats_enabled", 0);
    line(files, "/proc/sys/vm/compact_unevictable_allowed", 1);
    line(files, "/proc/sys/vm/overcommit_memory", 0);
    files.file(
        "/proc/meminfo",
        "MemTotal:        8388608 kB\nMemFree:         4194304 kB\nMemAvailable:    4194304 kB\n",
    );
    let mounts = "proc /proc proc rw 0 0\nsysfs /sys sysfs rw 0 0\nbpf /sys/fs/bpf bpf rw 0 0\n\
                  debugfs /sys/kernel/debug debugfs rw 0 0\ntracefs /sys/kernel/tracing tracefs rw 0 0\n\
                  cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n";
    files.file("/proc/mounts", mounts);
    for (name, text) in
        [("mounts", mounts), ("cgroup", "0::/\n"), ("status", "Name:\tscheduler\nPid:\t1000\nTgid:\t1000\n")]
    {
        files.file(format!("/proc/of-itself/{name}"), text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_listed_as_a_kernel_does() {
        assert_eq!(ranges([0, 1, 2, 5, 7, 8].into_iter()), "0-2,5,7-8");
        assert_eq!(ranges([].into_iter()), "");
    }

    #[test]
    fn a_machine_is_described_by_its_topology() {
        let topology = Topology { nodes: 2, llcs_per_node: 1, cores_per_llc: 2, threads_per_core: 2 };
        let mut files = Files::default();
        add_machine(&mut files, &topology, "7.2.0", &[("CONFIG_HZ", 1000), ("CONFIG_SMP", 1)]);
        let text = |path: &str| files.text(path).unwrap_or_else(|| panic!("no {path}"));
        assert_eq!(text("/sys/devices/system/cpu/online"), "0-7\n");
        assert_eq!(text("/sys/devices/system/cpu/cpu5/topology/thread_siblings_list"), "4-5\n");
        assert_eq!(text("/sys/devices/system/cpu/cpu5/cache/index3/shared_cpu_list"), "4-7\n");
        assert_eq!(text("/sys/devices/system/node/node1/distance"), "20 10\n");
        assert_eq!(text("/boot/config-7.2.0"), "CONFIG_HZ=1000\nCONFIG_SMP=y\n");
    }
}
