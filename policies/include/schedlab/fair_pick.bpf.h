/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which waiting task of a CPU runs next under CFS: the one with the smallest virtual time, with some regard to buddies.
 * With task groups queues are asked in turn (group_pick.bpf.h).
 *
 * Example: A is due at virtual time 10, B at 10.5 is the next buddy. B is picked, as it is not behind A by more than
 * the wakeup granularity of 1 ms.
 *
 * Source: Linux 4.9 and 6.1, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_FAIR_PICK_BPF_H
#define SCHEDLAB_FAIR_PICK_BPF_H

#include <schedlab/fair_queue.bpf.h>

/* Takes a waiting task by its pid, if it is not behind @limit; of pid 0 the first that is not @but. */
static __noinline bool take(u64 dsq, s32 pid, s32 but, u64 limit)
{
	struct task_struct *p;
	bool taken = false;

	bpf_for_each(scx_dsq, p, dsq, 0) {
		if (time_after(p->scx.dsq_vtime, limit))
			break;
		if (pid ? p->pid == pid : p->pid != but) {
			taken = scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0);
			break;
		}
	}
	return taken;
}

/*
 * Picks with regard to buddies: the next, else the last one if it is not far behind the due one, else the due one,
 * unless that yielded and the second is not far behind. False: nothing was taken, so the running task continues, if
 * there is one.
 */
static bool pick_buddy(struct fair_queue *q, const struct buddies *b, u64 dsq, struct task_struct *first, bool runs)
{
	bool running_is_due = runs && (!first || time_before(q->clock.vruntime, first->scx.dsq_vtime));
	struct fair_task *t = first ? task_of(first) : NULL;
	s32 due = running_is_due ? q->running : first ? first->pid : 0;
	u64 limit;

	if (running_is_due)
		limit = q->clock.vruntime + wakeup_lead(q->running_weight, q->running_inverse);
	else if (t)
		limit = t->clock.vruntime + wakeup_lead(t->weight, t->inverse);
	else
		return false;
	if (b->next && (b->next != q->running || !runs) && take(dsq, b->next, 0, limit))
		return true;
	if (b->last && (b->last != q->running || !runs) && take(dsq, b->last, 0, limit))
		return true;
	if (b->skip == due) {
		if (!running_is_due && runs && !time_after(q->clock.vruntime, limit))
			return false;
		if (take(dsq, 0, due, limit))
			return true;
	}
	return !running_is_due && take(dsq, 0, 0, limit);
}

/* Gives the CPU to the task of a queue that is due. False: no other task got it. */
static bool pick_from(struct fair_queue *q, const struct buddies *b, u64 dsq, bool runs)
{
	struct task_struct *first = __COMPAT_scx_bpf_dsq_peek(dsq);

	if (!first)
		return false;
	if (b->next || b->last || b->skip)
		return pick_buddy(q, b, dsq, first, runs);
	if (runs && time_before(q->clock.vruntime, first->scx.dsq_vtime))
		return false;
	return scx_bpf_dsq_move_to_local(dsq, 0);
}

#ifdef FAIR_TASK_GROUPS
#include <schedlab/group_pick.bpf.h>
#endif

static inline bool pick(struct fair_queue *q, s32 cpu, bool runs)
{
	return has_groups() ? pick_in_tree(cpu, runs) : pick_from(q, &q->clock.buddies, cpu, runs);
}

/* Gives the CPU a task that was just brought to it. */
static inline bool take_what_came(struct fair_queue *q, s32 cpu)
{
	return has_groups() ? pick_in_tree(cpu, false) : scx_bpf_dsq_move_to_local(cpu, 0);
}

#endif /* SCHEDLAB_FAIR_PICK_BPF_H */
