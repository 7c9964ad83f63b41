//! Names under which schedulers ask their loader for facts about the machine.
//!
//! A scheduler of others has no declaration tags. Its loader is a program of its own, which fills these globals before
//! the start, so that what the object holds means nothing. The names are those that several schedulers of sched-ext/scx
//! share and that mean the same in all of them: scx_layered, scx_lavd, scx_mitosis, scx_rusty, scx_bpfland, scx_beerland,
//! scx_flash, scx_cosmos, scx_tickless, scx_cake, and the C schedulers of the kernel's `tools/sched_ext`.

use schedlab_model::fact::Fact;

const KNOWN: [(&str, Fact); 29] = [
    ("nr_cpu_ids", Fact::Cpus),
    ("nr_cpus", Fact::Cpus),
    ("nr_cpus_onln", Fact::Cpus),
    ("nr_online_cpus", Fact::Cpus),
    ("nr_possible_cpus", Fact::Cpus),
    ("num_cpus", Fact::Cpus),
    ("num_possible_cpus", Fact::Cpus),
    ("nr_cores", Fact::Cores),
    ("nr_phys_cpus", Fact::Cores),
    ("nr_llc", Fact::Llcs),
    ("nr_llcs", Fact::Llcs),
    ("nr_nodes", Fact::Nodes),
    ("nr_node_ids", Fact::Nodes),
    ("nr_numa_nodes", Fact::Nodes),
    ("smt_enabled", Fact::Smt),
    ("is_smt_active", Fact::Smt),
    ("numa_enabled", Fact::Numa),
    ("numa_disabled", Fact::OneNode),
    ("all_cpus_same_capacity", Fact::Uniform),
    ("has_little_cores", Fact::Hybrid),
    ("has_hybrid_cores", Fact::Hybrid),
    ("cpu_core_id", Fact::CoreOfCpu),
    ("cpu_llc_id", Fact::LlcOfCpu),
    ("cpu_llc_id_map", Fact::LlcOfCpu),
    ("cpu_node_id_map", Fact::NodeOfCpu),
    ("cpu_capacity", Fact::CapacityOfCpu),
    ("llc_numa_id_map", Fact::NodeOfLlc),
    ("all_cpus", Fact::OnlineCpus),
    ("numa_cpumasks", Fact::CpusOfNode),
];

/// The fact that a global of this name holds. Lists are in arrays, all others in a number or a truth value.
pub fn fact(name: &str, is_array: bool) -> Option<Fact> {
    KNOWN.iter().find(|(known, fact)| *known == name && fact.is_list() == is_array).map(|(_, fact)| *fact)
}
