/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a parent and its child have in common: the rest of a slice.
 */
#ifndef LINUX_O1_FORK_BPF_H
#define LINUX_O1_FORK_BPF_H

#include <linux-o1/slices.bpf.h>

/*
 * Ticks were counted, or a slice changed, while a task runs: it continues as long as it may now, unless that took it
 * from the place that it had (@key).
 */
static bool goes_on(struct task_struct *p, struct o1_task *t, struct run_queue *rq, u64 key, u64 now)
{
	if (t->key != key || t->array != rq->active)
		return false;
	scx_bpf_task_set_slice(p, time_ahead(p, t, now));
	return true;
}

/*
 * A fork divides what is left of the parent's slice, in whole jiffies, the odd one to the child. A parent that has
 * nothing left then has used up its slice, and gives way when the child wakes: in the midst of a fork a kernel lets no
 * task migrate, and sets up again the task that is to leave its CPU there, which then continues.
 */
static void share_slice(struct o1_task *child, struct task_struct *parent, struct o1_task *of, u64 now)
{
	struct run_queue *rq = queue_of(of->cpu);
	u64 key = of->key;

	if (!rq)
		return;
	count_ticks(parent, of, now);
	child->time_slice = (of->time_slice + 1) / 2;
	child->first_slice = true;
	child->parent = parent->pid;
	of->time_slice /= 2;
	share_sleep_avg(child, of);
	publish_status(parent, of);
	if (!of->time_slice) {
		/* It pays with one tick more, unless it has expired already and is only on its way out. */
		of->time_slice = 1;
		if (of->array == rq->active)
			expire(parent, of, rq, jiffy_of(now));
	}
	of->gives_way = !goes_on(parent, of, rq, key, now);
}

#endif /* LINUX_O1_FORK_BPF_H */
