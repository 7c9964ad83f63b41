/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who runs next: of those that are eligible the one with the earliest deadline, unless the running one is protected.
 */
#ifndef SCHEDLAB_EEVDF_PICK_BPF_H
#define SCHEDLAB_EEVDF_PICK_BPF_H

#include "eevdf_queue.bpf.h"

/* A task sleeps with a debt: it keeps its place in the sum. False: there are too many such. */
static bool become_debtor(struct fair_queue *q, struct fair_task *t, s32 pid)
{
	u32 slot;

	bpf_for(slot, 0, MAX_DEBTORS) {
		struct debtor *debtor = ELEMENT(q->clock.debtors, slot);

		if (!debtor || debtor->pid)
			continue;
		*debtor = (struct debtor){ pid, t->weight, t->clock.vruntime, t->clock.deadline };
		t->clock.is_debtor = true;
		t->clock.debtor_slot = slot;
		q->clock.nr_debtors++;
		return true;
	}
	return false;
}

static void forget_debtor(struct fair_queue *q, struct debtor *debtor)
{
	sum_take(&q->clock, debtor->vruntime, debtor->weight);
	debtor->pid = 0;
	q->clock.nr_debtors--;
}

/* The debt of a task in a queue, NULL when it is paid. */
static struct debtor *debt_of(struct fair_queue *q, const struct fair_task *t, s32 pid)
{
	struct debtor *debtor = t->clock.is_debtor ? ELEMENT(q->clock.debtors, t->clock.debtor_slot) : NULL;

	return debtor && debtor->pid == pid ? debtor : NULL;
}

/* The eligible debtor with the earliest deadline before @deadline, if any is to be looked at. */
static struct debtor *first_debtor(struct fair_queue *q, bool any, u64 deadline)
{
	struct debtor *first = NULL;
	u32 slot;

	if (!q->clock.nr_debtors)
		return NULL;
	bpf_for(slot, 0, MAX_DEBTORS) {
		struct debtor *debtor = ELEMENT(q->clock.debtors, slot);

		if (!debtor || !debtor->pid || !is_eligible(q, debtor->vruntime))
			continue;
		if (!any && !time_before(debtor->deadline, deadline))
			continue;
		any = false;
		deadline = debtor->deadline;
		first = debtor;
	}
	return first;
}

/* Who would be picked next has paid by then and is gone: it left with no lag. */
static void settle_debts(struct fair_queue *q, bool any, u64 deadline)
{
	u32 step;

	bpf_for(step, 0, MAX_DEBTORS) {
		struct debtor *debtor = first_debtor(q, any, deadline);

		if (!debtor)
			break;
		forget_debtor(q, debtor);
	}
}

/* Whether the running task is protected from those who do not ask for less. */
static bool is_protected(const struct fair_queue *q)
{
	const struct queue_clock *c = &q->clock;

	if (version == LINUX_6_12)
		return run_to_parity && c->is_protected && c->deadline == c->picked_deadline;
	return time_before(c->vruntime, c->protected_until);
}

/* The shortest slice of the running and the waiting tasks. */
static u64 shortest_slice(const struct fair_queue *q, s32 cpu)
{
	u64 shortest = q->clock.slice;
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct fair_task *t = task_of(p);

		if (t && t->clock.slice < shortest)
			shortest = t->clock.slice;
	}
	return shortest;
}

/* Where the protection of a task with this request ends: after the shortest slice there is, at its deadline at the latest. */
static u64 protection_end(const struct fair_queue *q, s32 cpu)
{
	const struct queue_clock *c = &q->clock;
	u64 least = run_to_parity ? shortest_slice(q, cpu) : base_slice, end = c->deadline;

	if (least < c->slice) {
		u64 by_slice = deadline_after(c->vruntime, least, q->running_weight, q->running_inverse);

		if (time_before(by_slice, end))
			end = by_slice;
	}
	return end;
}

/* The running task was picked. */
static void protect(struct fair_queue *q, s32 cpu)
{
	struct queue_clock *c = &q->clock;

	c->is_protected = true;
	c->picked_deadline = c->deadline;
	if (version != LINUX_6_12)
		c->protected_until = protection_end(q, cpu);
}

/* Whether a tick asks for another pick of a task that is not alone. */
static bool tick_is_due(const struct fair_queue *q)
{
	const struct queue_clock *c = &q->clock;

	if (version != LINUX_6_12)
		return !time_before(c->vruntime, c->protected_until);
	return preempt_short && !is_protected(q) && !is_eligible(q, c->vruntime);
}

/* The tick at which the running task has to be looked at, if nothing changes. */
static u64 slice_end(const struct fair_queue *q)
{
	const struct queue_clock *c = &q->clock;
	u64 end = c->deadline;

	if (!c->nr_queued)
		return q->charged_at + ALONE_SLICE;
	if (version != LINUX_6_12 && time_before(c->protected_until, end))
		end = c->protected_until;
	/* In 6.12 who has lost its protection is looked at when it stops being eligible; V moves, so that is each tick. */
	if (version == LINUX_6_12 && preempt_short && !is_protected(q))
		end = c->vruntime;
	return tick_at(q, end);
}

/*
 * Takes the eligible task with the earliest deadline to the CPU. False: the running one, if @runs, is to go on; or nobody
 * waits.
 */
static bool pick(struct fair_queue *q, s32 cpu, bool runs, bool with_protection)
{
	struct queue_clock *c = &q->clock;
	bool candidate = runs && is_eligible(q, c->vruntime), taken = false;
	struct task_struct *p;

	if (candidate && with_protection && is_protected(q))
		return false;
	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct fair_task *t = task_of(p);

		if (!t || !is_eligible(q, t->clock.vruntime))
			continue;
		if (candidate && time_before(c->deadline, t->clock.deadline))
			break;
		settle_debts(q, false, t->clock.deadline);
		/* Without them V may be elsewhere. */
		if (!is_eligible(q, t->clock.vruntime))
			continue;
		taken = scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0);
		if (taken)
			break;
	}
	if (taken || runs)
		return taken;
	/* Only debtors are eligible: they go first, and then whoever waits is. */
	settle_debts(q, true, 0);
	return scx_bpf_dsq_move_to_local(cpu, 0);
}

/* Whether a task that comes to wait would be picked. */
static bool would_win(struct fair_queue *q, s32 cpu, const struct fair_task *t, bool with_protection)
{
	struct queue_clock *c = &q->clock;
	bool candidate = is_eligible(q, c->vruntime);
	struct task_struct *p;
	bool wins = is_eligible(q, t->clock.vruntime);

	if (candidate && ((with_protection && is_protected(q)) || time_before(c->deadline, t->clock.deadline)))
		return false;
	if (!wins)
		return false;
	if (first_debtor(q, false, t->clock.deadline))
		return false;
	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct fair_task *other = task_of(p);

		if (!other || other == t)
			continue;
		if (time_after(other->clock.deadline, t->clock.deadline))
			break;
		if (is_eligible(q, other->clock.vruntime)) {
			wins = false;
			break;
		}
	}
	return wins;
}

/* Takes from the running task what is more than the shortest slice of its protection. */
static void shrink_protection(struct fair_queue *q, s32 cpu)
{
	u64 end = protection_end(q, cpu);

	if (time_before(end, q->clock.protected_until))
		q->clock.protected_until = end;
}

/* Whether a task that comes preempts the running one, by its class, its slice and its deadline. */
static bool preempts(struct fair_queue *q, s32 cpu, const struct fair_task *t, bool was_debtor, bool is_new)
{
	struct queue_clock *c = &q->clock;
	bool is_short = preempt_short && t->clock.slice < c->slice;

	if (q->running_class == CLASS_IDLE && t->class != CLASS_IDLE)
		return true;
	if (t->class != CLASS_NORMAL)
		return false;
	if (version == LINUX_6_12) {
		if (is_short && is_eligible(q, t->clock.vruntime) &&
		    (time_before(t->clock.deadline, c->deadline) || !is_eligible(q, c->vruntime)))
			c->is_protected = false;
		return would_win(q, cpu, t, true);
	}
	if (version == LINUX_7_1 && !is_short && (was_debtor || is_new))
		return false;
	if (would_win(q, cpu, t, !is_short)) {
		if (is_short)
			c->protected_until = c->vruntime;
		return true;
	}
	if (is_short || version == LINUX_7_1)
		shrink_protection(q, cpu);
	return false;
}

#endif /* SCHEDLAB_EEVDF_PICK_BPF_H */
