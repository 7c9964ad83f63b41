/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * told - one queue, and globals under the names by which schedulers learn about the machine. It gives up when they
 * contradict one another or the kernel. For tests.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define MAX_CPUS 64
#define NO_NUMBER 77

const volatile u32 nr_cpu_ids = NO_NUMBER;
const volatile u64 nr_llcs = NO_NUMBER;
const volatile u32 nr_nodes = NO_NUMBER;
const volatile u32 nr_phys_cpus = NO_NUMBER;
const volatile bool smt_enabled;
const volatile bool numa_enabled;
const volatile bool all_cpus_same_capacity;
const volatile u32 cpu_llc_id_map[MAX_CPUS];
const volatile u64 cpu_capacity[MAX_CPUS];
const volatile unsigned char all_cpus[MAX_CPUS / 8];
const volatile u64 numa_cpumasks[MAX_CPUS][MAX_CPUS / 64];

/* What is counted stands here and not in a loop's variable, which a verifier would count along. */
static u32 cpus, in_nodes, caches, slow;

static void count(void)
{
	u32 cpu, node;

	bpf_for(cpu, 0, MAX_CPUS) {
		if (!(all_cpus[cpu / 8 & 7] & 1 << cpu % 8))
			continue;
		cpus++;
		slow += cpu_capacity[cpu & 63] != 1024;
		if (cpu_llc_id_map[cpu & 63] == caches)
			caches++;
		bpf_for(node, 0, MAX_CPUS)
			in_nodes += numa_cpumasks[node & 63][0] >> cpu & 1;
	}
}

static bool is_wrong(void)
{
	count();
	return nr_cpu_ids != scx_bpf_nr_cpu_ids() || cpus != nr_cpu_ids || in_nodes != nr_cpu_ids || caches != nr_llcs ||
	       slow || !all_cpus_same_capacity || smt_enabled != (nr_phys_cpus < nr_cpu_ids) ||
	       numa_enabled != (nr_nodes > 1);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(told_init)
{
	if (is_wrong())
		scx_bpf_error("%u CPUs, %llu caches, %u nodes, %u cores", nr_cpu_ids, nr_llcs, nr_nodes, nr_phys_cpus);
	return 0;
}

SCX_OPS_DEFINE(told_ops, .init = (void *)told_init, .name = "told");
