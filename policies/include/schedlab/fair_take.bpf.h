/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which waiting tasks a CPU pulls from the busiest queue that it has found.
 *
 * It looks at some tasks and takes those that may come and whose caches are cold, until the imbalance is made up for.
 * With task groups a task counts by its part of its group's part of the CPU's load.
 *
 * Example: an imbalance of 1536 and tasks of load 1024: two are taken, the second as 1024 / 2 <= 512.
 *
 * Source: Linux 4.9 and 6.1, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_FAIR_TAKE_BPF_H
#define SCHEDLAB_FAIR_TAKE_BPF_H

#include <schedlab/fair_balance.bpf.h>
#include <schedlab/fair_move.bpf.h>

/*
 * Whether a task's cache is still warm, which keeps it where it is until the balancer has failed some times. That of a
 * task of SCHED_IDLE does not matter.
 */
static bool is_hot(const struct attempt *a, const struct fair_queue *from, const struct fair_queue *to,
		   const struct fair_task *t, s32 pid)
{
	if (t->class == CLASS_IDLE || a->failures > cache_tries(a->level) || (!is_4_9() && a->level == LEVEL_SMT))
		return false;
	if (to->nr_running && is_buddy(from, t, pid))
		return true;
	return a->now - t->ran_until < migration_cost && t->ran_until;
}

/* What moving a task takes off the imbalance, 0 when that is too much. */
static u64 worth(const struct attempt *a, const struct fair_task *t, const struct fair_queue *from)
{
	u64 load = hierarchical_load(t, from), limit = a->imbalance;

	if (a->unit == MOVE_TASKS)
		return 1;
	if (a->unit == MOVE_UTIL)
		return t->average.util <= limit ? t->average.util ?: 1 : 0;
	if (is_4_9())
		return load / 2 <= limit ? load ?: 1 : 0;
	load = load ?: 1;
	return load >> (a->failures < 63 ? a->failures : 63) <= limit ? load : 0;
}

/* Whether the attempt ends before it looks at another task. */
static inline bool is_enough(const struct attempt *a, const struct fair_queue *from)
{
	return a->imbalance <= 0 || from->nr_running <= 1 || (a->kind == BALANCE_NEW_IDLE && a->moved);
}

/*
 * Pulls tasks that wait in a dispatch queue, into the other CPU's. 4.9 begins with the last to come into the queue,
 * later kernels with the one that waits longest; in the order of the queue these are its end and its beginning.
 */
static void pull_from(struct attempt *a, struct fair_queue *from, struct fair_queue *to, u64 dsq, u64 to_dsq)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, dsq, is_4_9() ? SCX_DSQ_ITER_REV : 0) {
		struct fair_task *t;
		u64 worth_of_it;

		if (is_enough(a, from) || a->looks++ >= nr_migrate)
			break;
		t = task_of(p);
		if (!t || is_barred(t, a->cpu) || gains_nothing(from, to, t, a->cpu, a->failures, a->now))
			continue;
		if (!may_go(p, a->cpu)) {
			a->pinned = true;
			continue;
		}
		a->movable = true;
		worth_of_it = worth(a, t, from);
		if (!worth_of_it || is_hot(a, from, to, t, p->pid))
			continue;
		if (!move_waiting(BPF_FOR_EACH_ITER, p, t, from, to, a->cpu, to_dsq, a->now))
			continue;
		a->imbalance -= worth_of_it;
		a->moved++;
	}
}

/* Pulls from the busiest queue; with groups from those of all groups. */
static void pull_tasks(struct attempt *a)
{
	struct fair_queue *from = queue_of(a->source), *to = queue_of(a->cpu);
	u32 count = nr_waiting_dsqs(), begin, step;

	if (!from || !to || from->nr_running <= 1)
		return;
	begin = first_to_pull(from);
	bpf_rcu_read_lock();
	bpf_for(step, 0, count) {
		u32 number = (begin + step) % (count ?: 1);

		pull_from(a, from, to, waiting_dsq_at(number, a->source), waiting_dsq_at(number, a->cpu));
	}
	bpf_rcu_read_unlock();
}

#endif /* SCHEDLAB_FAIR_TAKE_BPF_H */
