/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every policy of schedlab starts with: upstream's sched_ext headers, and parameters.
 *
 * Everything here is ordinary BPF. An object that uses it loads with libbpf alone.
 */
#ifndef SCHEDLAB_COMMON_BPF_H
#define SCHEDLAB_COMMON_BPF_H

/*
 * Upstream's enums.bpf.h replaces SCX_DSQ_LOCAL, SCX_SLICE_INF and the like by variables that only upstream's own
 * loader fills; with any other loader they are 0. Its guard keeps it out, so those names are the enumerators of
 * vmlinux.h. cid.bpf.h stays out because it brings functions on arenas, which none of our policies calls.
 */
#define __SCX_ENUMS_BPF_H
#define __SCX_CID_BPF_H
#include <scx/common.bpf.h>

/*
 * The numbers of almost all enumerators are the same in every kernel. These two follow the scheduler core's own flags
 * and have moved; a relocation takes them from the kernel that loads the object.
 */
#define SCX_ENQ_HEAD bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_HEAD)
#define SCX_ENQ_CPU_SELECTED bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_CPU_SELECTED)

/*
 * A number that the user of a policy may set before it starts: `--policy rr:quantum=5ms`. The text becomes a
 * declaration tag in the object's BTF, where `schedlab policies` reads it. It is a list of key=value:
 *
 *	unit=ns            the user writes 5ms or 2s, the program sees nanoseconds; without it the value is a plain number
 *	range=1us..10s     the smallest and the largest value that make sense, both allowed
 *	choices=a,b,c      the user writes a word, the program sees its place in the list, from 0; "b(other)" also takes
 *	                   an argument, as in b(5ms), and sets the parameter `other` to it
 *	machine=cpus       a fact about the machine, filled from the one on which the policy runs unless the user sets it:
 *	                   cpus, cores, llcs, nodes, threads_per_core, cores_per_llc, llcs_per_node, smt, ...; of arrays
 *	                   core_of_cpu, llc_of_cpu, node_of_cpu, ...; docs/reference/policy.md has them all
 *	about=...          what it is; the last key, to the end of the text
 */
#define PARAMETER(type, name, value, text) \
	const volatile type name __attribute__((btf_decl_tag("parameter " text))) = (value)

/* The same for an array, which only the machine fills. */
#define PARAMETER_LIST(type, name, length, text) \
	const volatile type name[length] __attribute__((btf_decl_tag("parameter " text)))

/*
 * How many entries a map has that needs one for each control group on each CPU. schedlab reads the second tag: it gives
 * the map more entries where there are more groups, unless the user sets the number, and the program sees how many.
 */
#define ENTRIES_FOR_GROUPS(name, map, value, text)                                                                 \
	const volatile u32 name __attribute__((btf_decl_tag("entries for groups " #map)))                         \
	__attribute__((btf_decl_tag("parameter " text))) = (value)

/*
 * Which Linux a policy follows that stands for a kernel's own fair scheduler; the user sets it like any parameter. A
 * kernel that loads the object has its own real-time class above the policy. The simulator reads a second tag and
 * simulates that of the release: how it keeps real-time tasks from starving the policy's.
 */
#define LINUX_RELEASE(name, releases)                                                                             \
	const volatile u32 name __attribute__((btf_decl_tag("linux " releases)))                                  \
	__attribute__((btf_decl_tag("parameter choices=" releases " about=The Linux release whose rules apply."))) = 0

/* Of task_struct's field policy; include/uapi/linux/sched.h. */
#define SCHED_BATCH 3
#define SCHED_IDLE 5

/* Nanoseconds in a millisecond and in a second. */
#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

/*
 * The element of an array, or NULL beyond its end. A verifier follows a register: without the first empty assembly the
 * compiler checks one and indexes with another, without the second it computes the address before it checks, and a
 * kernel refuses the program.
 */
#define ELEMENT(array, index)                                                      \
	({                                                                         \
		u64 __index = (index);                                             \
		__typeof__(&(array)[0]) __element = NULL;                          \
		asm volatile("" : "+r"(__index));                                  \
		if (__index < sizeof(array) / sizeof((array)[0])) {                \
			asm volatile("" : "+r"(__index));                          \
			__element = &(array)[__index];                             \
		}                                                                  \
		__element;                                                         \
	})

/* How many CPUs there are; if a policy has not room for that many, an error, which is said. */
static inline s32 count_cpus(u32 most)
{
	u32 cpus = scx_bpf_nr_cpu_ids();

	if (cpus <= most)
		return cpus;
	scx_bpf_error("%u CPUs, at most %u are supported", cpus, most);
	return -E2BIG;
}

/* Makes the dispatch queues 0 to @count - 1. */
static inline s32 create_dsqs(u32 count)
{
	u32 dsq;

	bpf_for(dsq, 0, count) {
		s32 error = scx_bpf_create_dsq(dsq, NUMA_NO_NODE);

		if (error)
			return error;
	}
	return 0;
}

/*
 * Some kernels hold functions that a timer calls against the rules of programs that sleep: there a dispatch queue may
 * only be looked through between bpf_rcu_read_lock() and bpf_rcu_read_unlock().
 */

/* Whether @p, handed to dispatch() as the task that ran last, wants to continue: it is there and did not block. */
static inline bool still_runnable(const struct task_struct *p)
{
	return p && (p->scx.flags & SCX_TASK_QUEUED);
}

/*
 * When a higher class of schedulers wants a CPU, the core takes it from a task and brings that task back afterwards, as
 * long as it has a slice, without a word to dispatch(): a better one may have come. stopping() sees this by
 * is_interrupted(), and running() of such a task has the CPU choose again. One that enqueue() gets goes elsewhere.
 */
static inline bool is_interrupted(const struct task_struct *p, bool runnable)
{
	return runnable && p->scx.slice;
}

/*
 * Nor does dispatch() hear of a change of the task that runs: the core takes it out of its queue and puts it back
 * (stopping, quiescent, runnable, running). A slice that was over then still is, so running() must not give another
 * one without a choice. A chosen task always has a slice.
 */
static inline bool must_choose_anew(const struct task_struct *p, bool interrupted)
{
	return interrupted || !p->scx.slice;
}

static inline void choose_anew(s32 cpu)
{
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* So much before a tick of the kernel's a policy has its own: what ends there is over when the kernel looks. */
#define TICK_LEAD (100 * 1000ULL)

/*
 * The core takes the CPU from a task whose slice is over at a tick of its own, of which a policy knows no more than how
 * often it comes. Whether that was later than at @end, where the policy had a tick: then it should move its own.
 */
static inline bool ended_late(const struct task_struct *p, u64 end, u64 now)
{
	return !p->scx.slice && time_after(now, end + 2 * TICK_LEAD);
}

/* The nice value of a task. */
static inline s32 nice_of(const struct task_struct *p)
{
	return p->static_prio - 120;
}

/* Has an idle CPU of @cpus, if there is one, look for work. For tasks that wait and were not placed by select_cpu(). */
static inline void kick_idle_cpu(const struct cpumask *cpus)
{
	s32 cpu = scx_bpf_pick_idle_cpu(cpus, 0);

	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

#endif /* SCHEDLAB_COMMON_BPF_H */
