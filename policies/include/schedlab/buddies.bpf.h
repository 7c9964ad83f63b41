/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buddies: tasks that are picked before others, or after them, although it is not in the order of virtual times.
 *
 * The next one has preempted by waking up, the last one was preempted by that; both keep a cache warm. The one to skip
 * has yielded. Each is a number, of a task its pid, and 0 is none.
 *
 * Source: Linux 4.9 and 6.1, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_BUDDIES_BPF_H
#define SCHEDLAB_BUDDIES_BPF_H

#include <schedlab/common.bpf.h>

struct buddies {
	s32 next, last, skip;
};

static inline void forget(struct buddies *b, s32 who)
{
	if (b->next == who)
		b->next = 0;
	if (b->last == who)
		b->last = 0;
	if (b->skip == who)
		b->skip = 0;
}

#endif /* SCHEDLAB_BUDDIES_BPF_H */
