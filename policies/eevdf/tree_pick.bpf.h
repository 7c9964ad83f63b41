/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The next task where queues are in each other (tree.bpf.h): the queue of the CPU is asked first; where a group is due,
 * its queue is asked next. A task that comes meets the running one in the first queue in which both, or groups of
 * theirs, are.
 *
 * Source: Linux 6.12 and 7.1, kernel/sched/fair.c pick_task_fair(), pick_eevdf(), wakeup_preempt_fair().
 */
#ifndef SCHEDLAB_EEVDF_TREE_PICK_BPF_H
#define SCHEDLAB_EEVDF_TREE_PICK_BPF_H

#include <eevdf/tree.bpf.h>

/*
 * Of the groups that wait in a queue the eligible one with the earliest deadline, except for @but: the number of its
 * queue, 0 if there is none.
 */
static __noinline u32 first_group(u32 number, u32 but, u64 now)
{
	const struct fair_queue *q = queue_at(number);
	u32 step, own, chosen = 0;
	u64 deadline = 0, average;

	if (!q || !q->clock.first_group)
		return 0;
	average = average_vruntime(q, now);
	own = q->clock.first_group;
	bpf_for(step, 0, MAX_CONTROL_GROUPS) {
		const struct group_node *node = node_at(own);
		u32 this = own;

		if (!node)
			break;
		own = node->next;
		if (node->is_running || this == but || time_after(node->entity.clock.vruntime, average))
			continue;
		if (chosen && !time_before(node->entity.clock.deadline, deadline))
			continue;
		chosen = this;
		deadline = node->entity.clock.deadline;
	}
	return chosen;
}

/* Whether a group that waits in a queue goes before that deadline. */
static __noinline bool is_preceded_by_group(u32 number, s32 pid, u64 deadline, u64 now)
{
	const struct group_node *first;

	first = node_at(first_group(number, pid < 0 ? -pid : 0, now));
	return first && !time_after(first->entity.clock.deadline, deadline);
}

#define PICK_NONE ~0U
#define PICK_TAKEN (~0U - 1)
#define PICK_AGAIN (~0U - 2)
#define PICK_GOES_ON (~0U - 3)

/* Takes the first eligible task of a queue to the CPU, if it has no later deadline than that. */
static __noinline bool take_before(u32 number, bool is_bounded, u64 deadline, u64 now)
{
	const struct fair_queue *q = queue_at(number);
	struct task_struct *p;
	bool taken = false;
	u64 average;

	if (!q)
		return false;
	average = average_vruntime(q, now);
	bpf_for_each(scx_dsq, p, number, 0) {
		struct fair_task *t = task_of(p);

		if (!t || time_after(t->clock.vruntime, average))
			continue;
		if (is_bounded && time_after(t->clock.deadline, deadline))
			break;
		taken = scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0);
		if (taken)
			break;
	}
	return taken;
}

/* What ran in a queue, and may go on there. */
struct last {
	bool may_go_on;
	bool runs;	/* it is not in the sum of those that wait */
	u64 vruntime;
	u64 deadline;
};

/*
 * @runs: the running task may continue. A group may also if another of its tasks can: for a kernel it is the running
 * one until another is picked, and keeps its protection when its task sleeps, or is held back.
 */
static inline struct last last_of(const struct fair_queue *q, bool runs)
{
	const struct group_node *node = node_at(q->clock.picked);
	struct last last = { .may_go_on = runs && q->running, .runs = true };

	last.vruntime = q->clock.vruntime;
	last.deadline = q->clock.deadline;
	if (!node)
		return last;
	last.may_go_on = node->is_queued && (runs || node->queue.clock.nr_queued);
	last.runs = node->is_running;
	if (!last.runs) {
		last.vruntime = node->entity.clock.vruntime;
		last.deadline = node->entity.clock.deadline;
	}
	return last;
}

static inline u32 go_on(const struct fair_queue *q, const struct last *last)
{
	if (!last->may_go_on)
		return PICK_NONE;
	return q->clock.picked ?: PICK_GOES_ON;
}

/* What is due in a queue: a task, which is taken; what runs there; or the queue of a group, by its number. */
static __noinline u32 pick_in(u32 number, bool runs, u64 now)
{
	struct fair_queue *q = queue_at(number);
	const struct group_node *node;
	struct debtor *debtor;
	struct last last;
	bool bounded;
	u64 deadline;
	u32 group;

	if (!q)
		return PICK_NONE;
	if (!q->clock.nr_queued && !q->running && number >= MAX_CPUS) {
		/* Its last debtor left when a task came elsewhere. */
		leave_groups_above(number, false, now);
		return PICK_AGAIN;
	}
	last = last_of(q, runs);
	bounded = last.may_go_on && is_eligible(q, last.vruntime, now);
	if (!q->clock.nr_queued || (bounded && is_protected_at(&q->clock, last.vruntime, last.deadline)))
		return go_on(q, &last);
	deadline = last.deadline;
	/* One that waits is one of the others. */
	bounded &= last.runs;
	last.may_go_on &= last.runs;
	group = first_group(number, 0, now);
	node = node_at(group);
	if (node && (!bounded || !time_before(deadline, node->entity.clock.deadline))) {
		bounded = true;
		deadline = node->entity.clock.deadline;
	} else {
		group = bounded ? go_on(q, &last) : PICK_NONE;
	}
	debtor = first_debtor(q, !bounded, deadline, now);
	if (debtor) {
		bounded = true;
		deadline = debtor->deadline;
	}
	if (take_before(number, bounded, deadline, now))
		return PICK_TAKEN;
	if (debtor) {
		leave_for_good(q, debtor, number, now);
		leave_groups_above(number, false, now);
		return PICK_AGAIN;
	}
	return group == PICK_NONE ? go_on(q, &last) : group;
}

/* As pick(), from queue to queue. */
static __noinline bool pick_in_tree(u32 cpu, bool runs, u64 now)
{
	u32 number = cpu, step;
	bool runs_here = runs;

	settle_groups(cpu, now);
	bpf_for(step, 0, MAX_DEBTORS + MAX_CONTROL_DEPTH) {
		const struct group_node *node;
		u32 due = pick_in(number, runs_here, now);

		if (due == PICK_TAKEN)
			return true;
		if (due == PICK_GOES_ON)
			return false;
		if (due == PICK_NONE)
			break;
		node = node_at(due);
		number = node ? due : cpu;
		runs_here = runs && (!node || node->is_running);
	}
	return !runs && take_any(cpu);
}

/* Whether a task that came preempts the running one, in the queue where they meet. */
static __noinline bool preempts_in_tree(const struct fair_task *t, s32 pid, u32 cpu, u64 now)
{
	struct meeting meeting = meeting_of(t, cpu);
	struct fair_queue *q = queue_at(meeting.number);
	struct group_node *node = node_at(meeting.group);

	if (!q)
		return false;
	if (node) {
		/* Places are those of groups, but the policy is the task's, and what it was before. */
		node->entity.class = is_idle_group(meeting.group) ? CLASS_IDLE : t->class ? CLASS_BATCH : CLASS_NORMAL;
		node->entity.clock.was_new = t->clock.was_new;
		node->entity.clock.was_debtor = t->clock.was_debtor;
		return preempts(q, meeting.number, -(s32)meeting.group, &node->entity, true, now);
	}
	return preempts(q, meeting.number, pid, t, true, now);
}

#endif /* SCHEDLAB_EEVDF_TREE_PICK_BPF_H */
