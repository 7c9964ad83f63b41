/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queues by priority, first in first out in each, as one dispatch queue in the order of its keys.
 *
 * A key is the level, 0 the first to be served, and then the time of arrival. A task that goes to the head of its level
 * gets a key below all arrivals, the later the lower. Dispatch queues compare keys as times that may wrap, so keys may
 * only be half of the numbers apart: 256 levels, and arrivals of 208 days.
 */
#ifndef SCHEDLAB_PRIORITY_QUEUE_BPF_H
#define SCHEDLAB_PRIORITY_QUEUE_BPF_H

#include <schedlab/common.bpf.h>

#define KEY_SHIFT 55
#define KEY_ARRIVALS (1ULL << (KEY_SHIFT - 1))

/* What levels are there. */
#define PRIORITY_LEVELS 256
#define NO_LEVEL PRIORITY_LEVELS

/* The key of a task that comes to the tail of @level, at a time since some beginning. */
static inline u64 key_tail(u32 level, u64 since)
{
	return (u64)level << KEY_SHIFT | (KEY_ARRIVALS + since);
}

/* The key of a task that goes to the head of @level. */
static inline u64 key_head(u32 level, u64 since)
{
	return (u64)level << KEY_SHIFT | (KEY_ARRIVALS - 1 - since);
}

/* The level of a key. */
static inline u32 key_level(u64 key)
{
	return key >> KEY_SHIFT;
}

/* The first level in @dsq with a task that may run on @cpu, or NO_LEVEL. */
static inline u32 first_level(u64 dsq, s32 cpu)
{
	struct task_struct *p;
	u32 level = NO_LEVEL;

	bpf_for_each(scx_dsq, p, dsq, 0) {
		if (bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
			level = key_level(p->scx.dsq_vtime);
			break;
		}
	}
	return level;
}

#endif /* SCHEDLAB_PRIORITY_QUEUE_BPF_H */
