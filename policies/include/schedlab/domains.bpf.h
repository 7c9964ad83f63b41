/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scheduling domains: how CPUs hang together, for balancers that look near before they look far.
 *
 * A domain of level 1 is a core with its hardware threads, of level 2 the cores on a last-level cache, of level 3
 * the caches of a node, of level 4 all nodes. Its groups are the domains one level below (single CPUs for level 1).
 * CPUs are numbered thread by thread, core by core, cache by cache, node by node. Levels that add nothing do not
 * exist: a machine without hardware threads and with one cache has one domain, with one group for each CPU.
 *
 * The three parameters are those of the machine on which the policy runs, unless the user sets them. A machine whose
 * cores, caches or nodes are no such ranges of CPUs, all of one length, is described without that level.
 */
#ifndef SCHEDLAB_DOMAINS_BPF_H
#define SCHEDLAB_DOMAINS_BPF_H

#include <schedlab/common.bpf.h>

PARAMETER(u32, threads_per_core, 1,
	  "machine=threads_per_core range=1..1024 about=Hardware threads of a core, as the balancer sees the machine.");
PARAMETER(u32, cores_per_llc, 0,
	  "machine=cores_per_llc range=0..4096 about=Cores that share a last-level cache. 0 means all cores.");
PARAMETER(u32, llcs_per_node, 0,
	  "machine=llcs_per_node range=0..4096 about=Last-level caches of a NUMA node. 0 means all of them.");

#define MAX_DOMAIN_LEVEL 4

struct domain {
	u32 first;      /* its first CPU */
	u32 end;        /* the one after its last */
	u32 group_size; /* CPUs in each of its groups */
};

/*
 * CPUs in a full domain of each level. They are kept, and not computed from the parameters where they are needed: a
 * verifier knows the parameters and would look at the longer programs once for each value that follows from them, until
 * it gives up.
 */
static u32 domain_sizes[MAX_DOMAIN_LEVEL + 1];

/* Before anything else of this header is used. */
static inline void init_domains(u32 nr_cpus)
{
	u32 core = threads_per_core, cache = cores_per_llc ? core * cores_per_llc : nr_cpus;
	u64 node = llcs_per_node ? (u64)cache * llcs_per_node : nr_cpus;

	domain_sizes[0] = 1;
	domain_sizes[1] = core < nr_cpus ? core : nr_cpus;
	domain_sizes[2] = cache < nr_cpus ? cache : nr_cpus;
	domain_sizes[3] = node < nr_cpus ? node : nr_cpus;
	domain_sizes[MAX_DOMAIN_LEVEL] = nr_cpus;
}

/* CPUs in a full domain of a level, at most @nr_cpus. */
static inline u32 domain_size(u32 level, u32 nr_cpus)
{
	const u32 *size = ELEMENT(domain_sizes, level);

	return size ? *size : nr_cpus;
}

/* The domain of a level (1 to MAX_DOMAIN_LEVEL) in which @cpu is; false when the machine has no such level. */
static inline bool domain_of(u32 level, u32 cpu, u32 nr_cpus, struct domain *domain)
{
	u32 size = domain_size(level, nr_cpus), group_size = domain_size(level - 1, nr_cpus);

	if (size <= group_size)
		return false;
	domain->first = cpu - cpu % size;
	domain->end = domain->first + size < nr_cpus ? domain->first + size : nr_cpus;
	domain->group_size = group_size;
	return true;
}

#endif /* SCHEDLAB_DOMAINS_BPF_H */
