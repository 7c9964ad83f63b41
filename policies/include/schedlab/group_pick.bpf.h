/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The next task where queues are in each other (group_order.bpf.h): the queue of the CPU is asked first; where a
 * group is due, its queue is asked next.
 *
 * In each queue what has the smallest virtual time is due, a task, a group, or what runs there. The next buddy comes
 * before it, else the last one, if that is not far behind; and one that yielded comes after the second.
 *
 * Source: Linux 4.9 and 6.1, kernel/sched/fair.c pick_next_task_fair(), pick_next_entity().
 */
#ifndef SCHEDLAB_GROUP_PICK_BPF_H
#define SCHEDLAB_GROUP_PICK_BPF_H

#include <schedlab/fair_queue.bpf.h>

/* What is next in a queue: the number of a group's queue, or one of these. */
enum { PICK_NONE, PICK_TAKEN, PICK_GOES_ON };

/* What is due in a queue. */
struct due {
	s32 name; /* 0 if there is nothing */
	u64 vruntime;
	u64 limit; /* as far as a buddy may be behind it */
};

static inline void offer(struct due *due, s32 name, u64 vruntime, u32 weight)
{
	if (due->name && !time_before(vruntime, due->vruntime))
		return;
	due->name = name;
	due->vruntime = vruntime;
	due->limit = vruntime + wakeup_lead(weight, inverse_of_sum(weight));
}

/* Of what waits in a queue, and runs there if it may go on. */
static __noinline bool find_due(u32 number, bool runs, struct due *due)
{
	const struct fair_queue *q = queue_at(number);
	const struct group_node *node;
	struct task_struct *first;
	struct fair_task *t;
	u32 group;

	if (!q || !due)
		return false;
	group = first_group(number, runs ? q->running_group : 0, 0);
	node = node_at(group);
	if (node)
		offer(due, name_of(group), entity_vruntime(node, group), entity_weight(node, group));
	first = __COMPAT_scx_bpf_dsq_peek(number);
	t = first ? task_of(first) : NULL;
	if (t)
		offer(due, first->pid, first->scx.dsq_vtime, t->weight);
	if (runs)
		offer(due, running_name(q), q->clock.vruntime, q->running_weight);
	return due->name;
}

/* Goes on with what runs in a queue. */
static inline u32 go_on(const struct fair_queue *q)
{
	return q->running_group ?: PICK_GOES_ON;
}

/* What is called @name, if it is not behind @limit; 0 stands for the first task but @but. */
static __noinline u32 take_named(u32 number, s32 name, s32 but, bool runs, u64 limit)
{
	const struct fair_queue *q = queue_at(number);
	const struct group_node *node = name < 0 ? node_at(-name) : NULL;

	if (!q)
		return PICK_NONE;
	if (runs && name && name == running_name(q))
		return time_after(q->clock.vruntime, limit) ? PICK_NONE : go_on(q);
	if (node)
		return group_waits(node) && !time_after(entity_vruntime(node, -name), limit) ? -name : PICK_NONE;
	return take(number, name, but, limit) ? PICK_TAKEN : PICK_NONE;
}

/* What comes after one that is due and has yielded. */
static __noinline u32 take_second(u32 number, s32 due, bool runs, u64 limit)
{
	const struct fair_queue *q = queue_at(number);
	const struct group_node *node;
	u64 bound = limit;
	u32 group;

	if (!q)
		return PICK_NONE;
	if (runs && due != running_name(q) && !time_after(q->clock.vruntime, limit))
		return go_on(q);
	group = first_group(number, runs ? q->running_group : 0, due < 0 ? -due : 0);
	node = node_at(group);
	if (node && time_before(entity_vruntime(node, group), bound))
		bound = entity_vruntime(node, group);
	if (take(number, 0, due, bound))
		return PICK_TAKEN;
	return node && !time_after(entity_vruntime(node, group), limit) ? group : PICK_NONE;
}

/* @runs: what runs in a queue may go on. */
static __noinline u32 pick_in(u32 number, bool runs)
{
	const struct fair_queue *q = queue_at(number);
	struct due due = {};
	u32 picked = PICK_NONE;

	if (!q || !find_due(number, runs, &due))
		return PICK_NONE;
	if (q->clock.buddies.next)
		picked = take_named(number, q->clock.buddies.next, 0, runs, due.limit);
	if (!picked && q->clock.buddies.last)
		picked = take_named(number, q->clock.buddies.last, 0, runs, due.limit);
	if (!picked && q->clock.buddies.skip == due.name)
		picked = take_second(number, due.name, runs, due.limit);
	return picked ?: take_named(number, due.name, 0, runs, due.limit);
}

/* Gives the CPU to the task that is due. False: no other task got it. */
static __noinline bool pick_in_tree(u32 cpu, bool runs)
{
	u32 number = cpu, step;
	bool runs_here = runs;

	bpf_for(step, 0, MAX_CONTROL_DEPTH) {
		const struct fair_queue *q = queue_at(number);
		u32 due;

		if (!q)
			break;
		due = pick_in(number, runs_here && q->running);
		if (due == PICK_TAKEN)
			return true;
		if (due == PICK_GOES_ON)
			return false;
		if (due == PICK_NONE)
			break;
		runs_here = runs_here && q->running_group == due;
		number = due;
	}
	return !runs && take_any(cpu);
}

#endif /* SCHEDLAB_GROUP_PICK_BPF_H */
