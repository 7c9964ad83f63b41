/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The look of a CPU at all others in 2.6.3: from which one it takes tasks, and how many.
 *
 * A busy CPU takes half of the difference, if that is at least a quarter of what the busiest has; an idle one takes one
 * task. Because loads may be about to change, a busy CPU believes the lower of what it sees and what it saw at its last
 * look, of itself the higher.
 *
 * A policy says in flat_tasks_on() how many tasks are on a CPU, the one that runs included.
 *
 * Source: find_busiest_queue() of kernel/sched.c, Linux 2.6.3.
 */
#ifndef SCHEDLAB_FLAT_LOOK_BPF_H
#define SCHEDLAB_FLAT_LOOK_BPF_H

#include <schedlab/common.bpf.h>

#define FLAT_MAX_CPUS 256

/* What each CPU saw of each at its last look: the tasks there. */
static u32 seen_tasks[FLAT_MAX_CPUS * FLAT_MAX_CPUS];

static inline u32 flat_tasks_on(u32 cpu);

static inline u32 *seen_by(u32 cpu, u32 other)
{
	return ELEMENT(seen_tasks, cpu * FLAT_MAX_CPUS + other);
}

/* What @cpu believes the number of tasks on @other to be. */
static inline u32 believed(u32 cpu, u32 other, bool idle)
{
	u32 *seen = seen_by(cpu, other), tasks = flat_tasks_on(other), before;

	if (!seen)
		return 0;
	before = *seen;
	*seen = tasks;
	if (idle)
		return tasks;
	if (cpu == other)
		return tasks > before ? tasks : before;
	return tasks < before ? tasks : before;
}

/* How many tasks @cpu takes, and from which CPU; @of_one where half of the difference is less than a task. */
static inline u32 flat_imbalance(u32 cpu, u32 cpus, bool idle, u32 of_one, u32 *from)
{
	u32 own = believed(cpu, cpu, idle), most = 1, difference, other;

	*from = cpu;
	bpf_for(other, 0, cpus) {
		u32 tasks = other == cpu ? 0 : believed(cpu, other, idle);

		if (tasks > most) {
			most = tasks;
			*from = other;
		}
	}
	if (*from == cpu || most <= own || flat_tasks_on(*from) <= own)
		return 0;
	difference = most - own;
	if (idle)
		return 1;
	if (difference * 4 < most)
		return 0;
	return difference / 2 ?: of_one;
}

#endif /* SCHEDLAB_FLAT_LOOK_BPF_H */
