/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a task has when it comes and what it leaves with: its lag.
 *
 * A task that leaves with the lag l comes back at V - l, wherever that is. As that moves V, it is put that much farther
 * off that its lag is l when it is there. A task that sleeps with a debt, a lag below 0, leaves only when it would be
 * picked without that; then its lag is 0. One that ends, or is stopped, traced, parked or frozen, leaves at once.
 *
 * The list of debtors is changed by their CPU alone, when it holds its run queue.
 *
 * Example, weights 1024: a task of lag 1 ms joins another one at V = 10 ms. It is put at 8 ms, V becomes 9 ms.
 */
#ifndef SCHEDLAB_EEVDF_LAG_BPF_H
#define SCHEDLAB_EEVDF_LAG_BPF_H

#include <eevdf/membership.bpf.h>

/* __TASK_STOPPED, __TASK_TRACED, TASK_PARKED, TASK_DEAD and TASK_FROZEN (is_special_task_state() of Linux). */
#define SPECIAL_TASK_STATES (0x4 | 0x8 | 0x40 | 0x80 | 0x8000)

/*
 * The largest lag that is kept, either way: two slices or a tick, or since 7.1 the longest slice there is and a
 * tick.
 */
static s64 lag_limit(u64 slice, u64 longest, u64 weight, u32 inverse)
{
	u64 wall = 2 * slice > jiffy ? 2 * slice : jiffy;

	if (version >= LINUX_7_1)
		wall = longest + jiffy;
	return aged(wall, weight, inverse);
}

/* The lag of a task that is counted in the sum of a queue. */
static s64 lag_of(const struct fair_queue *q, u32 number, const struct fair_task *t, u64 now)
{
	const struct task_clock *k = &t->clock;
	u64 longest = version >= LINUX_7_1 ? extreme_slice(number, k->slice, true) : k->slice;
	s64 lag = (s64)(average_vruntime(q, now) - k->vruntime);

	return clamp_lag(lag, lag_limit(k->slice, longest, t->scaled_weight, t->inverse));
}

/* The place of a task with a lag. */
static inline u64 place_of(const struct fair_queue *q, s64 lag, u32 weight, u64 now)
{
	u64 vruntime = average_vruntime(q, now);

	return place_lag ? vruntime - inflated_lag(lag, whole_weight(q), weight) : vruntime;
}

/* Gives a task that comes its place: by its lag, and with the deadline that it had elsewhere, if it was moved. */
static void place(const struct fair_queue *q, struct fair_task *t, bool is_new, u64 now)
{
	struct task_clock *k = &t->clock;
	u64 slice = aged(k->slice, t->scaled_weight, t->inverse);

	k->vruntime = place_of(q, k->lag, t->weight, now);
	if (k->is_relative) {
		k->deadline += k->vruntime;
		k->is_relative = false;
		return;
	}
	k->deadline = k->vruntime + (is_new && place_deadline_initial ? slice / 2 : slice);
}

/* A task that is moved, and does not sleep, keeps its distance to its deadline. */
static inline void keep_distance(struct task_clock *k)
{
	if (!place_rel_deadline)
		return;
	k->deadline -= k->vruntime;
	k->is_relative = true;
}

/* How far from its place the deadline of a waiting task is that is moved. */
static inline u64 deadline_distance(const struct fair_task *t)
{
	if (place_rel_deadline)
		return t->clock.deadline - t->clock.vruntime;
	return aged(t->clock.slice, t->scaled_weight, t->inverse);
}

/* A balancer moves a waiting task, which has the lag there that it has here. */
static u64 order_key_at(const struct fair_task *t, const struct fair_queue *from, const struct fair_queue *to, s32 cpu,
			u64 now)
{
	s64 lag;

	if (has_tree()) {
		from = queue_at(number_of(t));
		to = queue_at(number_on(t, cpu));
		if (!from || !to)
			return t->clock.deadline;
	}
	lag = lag_of(from, number_of(t), t, now);
	return place_of(to, lag, t->weight, now) + deadline_distance(t);
}

/* A task sleeps with a debt: what it was in the sum stays there. False: there is no place for one more. */
static bool become_debtor(struct fair_queue *q, struct fair_task *t, s32 pid)
{
	struct queue_clock *c = &q->clock;
	struct debtor *debtor = ELEMENT(c->debtors, c->nr_debtors);

	if (!debtor)
		return false;
	debtor->pid = pid;
	debtor->weight = t->weight;
	debtor->own_weight = t->own_weight;
	debtor->control_slot = t->control_slot;
	debtor->vruntime = t->clock.vruntime;
	debtor->deadline = t->clock.deadline;
	debtor->slice = t->clock.slice;
	c->nr_debtors++;
	t->clock.is_debtor = true;
	sum_add(c, debtor->vruntime, debtor->weight, is_custom(debtor->slice));
	return true;
}

/* The last one takes its slot. */
static void forget_debtor(struct fair_queue *q, struct debtor *debtor)
{
	struct queue_clock *c = &q->clock;
	struct debtor *last = ELEMENT(c->debtors, c->nr_debtors - 1);

	sum_take(c, debtor->vruntime, debtor->weight, is_custom(debtor->slice));
	if (!last)
		return;
	*debtor = *last;
	c->nr_debtors--;
}

/* A debtor's debt is paid: it is in no queue any more. */
static __noinline void leave_for_good(struct fair_queue *q, struct debtor *debtor, u32 number, u64 now)
{
	clear_from_groups(debtor->control_slot, debtor->own_weight, cpu_at(number), now);
	forget_debtor(q, debtor);
}

/* The debt of a task in a queue, NULL when it is paid. */
static struct debtor *debt_of(struct fair_queue *q, const struct fair_task *t, s32 pid)
{
	u32 slot;

	if (!t->clock.is_debtor)
		return NULL;
	bpf_for(slot, 0, q->clock.nr_debtors) {
		struct debtor *debtor = ELEMENT(q->clock.debtors, slot);

		if (debtor && debtor->pid == pid)
			return debtor;
	}
	return NULL;
}

/*
 * The place of the debtor that is eligible and has the earliest deadline: of all if @any, else of those before
 * @deadline. MAX_DEBTORS if there is none.
 */
static __always_inline u32 debtor_slot(struct fair_queue *q, bool any, u64 deadline, u64 now)
{
	u32 first = MAX_DEBTORS, slot;
	u64 average;

	if (!q->clock.nr_debtors)
		return first;
	average = average_vruntime(q, now);
	bpf_for(slot, 0, q->clock.nr_debtors) {
		struct debtor *debtor = ELEMENT(q->clock.debtors, slot);

		if (!debtor || time_after(debtor->vruntime, average))
			continue;
		if (!any && !time_before(debtor->deadline, deadline))
			continue;
		any = false;
		deadline = debtor->deadline;
		first = slot;
	}
	return first;
}

static __noinline struct debtor *first_debtor(struct fair_queue *q, bool any, u64 deadline, u64 now)
{
	u32 slot = debtor_slot(q, any, deadline, now);

	return ELEMENT(q->clock.debtors, slot);
}

/* The lag that a debtor has by now: none above 0, and since 7.1 no less than it left with. */
static inline s64 lag_of_debtor(s64 lag, s64 at_first)
{
	if (version >= LINUX_7_1 && lag < at_first)
		lag = at_first;
	return lag > 0 ? 0 : lag;
}

/* How a task comes back: from a usual sleep, or to its queue, which it never left. */
enum comeback { ANEW, TO_ITS_QUEUE, TO_ITS_PLACE };

/*
 * A task that slept leaves its debt, to stay or to go elsewhere. It has its place again if it is where it was, and its
 * lag is as it was: its virtual time and its deadline have not changed. Elsewhere what it was stays in the average
 * until it would be picked.
 */
static enum comeback return_from_debt(struct fair_queue *q, struct fair_task *t, s32 pid, bool stays, u64 now)
{
	struct debtor *debtor = debt_of(q, t, pid);
	s64 before = t->clock.lag, lag;

	t->clock.is_debtor = false;
	if (!debtor) {
		t->clock.lag = 0;
		return ANEW;
	}
	lag = lag_of(q, number_of(t), t, now);
	t->clock.lag = lag_of_debtor(lag, before);
	if (!stays)
		return ANEW;
	forget_debtor(q, debtor);
	return (version >= LINUX_7_1 ? t->clock.lag == before : lag <= 0) ? TO_ITS_PLACE : TO_ITS_QUEUE;
}

#endif /* SCHEDLAB_EEVDF_LAG_BPF_H */
