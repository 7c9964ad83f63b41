/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The queue of a CPU: waiting tasks in the order of their deadlines, in a dispatch queue; the running one beside it; and
 * those that sleep but still owe, beside both.
 *
 * V, the average virtual time by weight, is kept as a sum of weight * (v - zero) with a reference point near V, so that
 * the sum stays small. A task is eligible if its virtual time is not beyond V; that is asked without a division.
 *
 * A task that goes to sleep while it is not eligible would lose its debt. It stays in the sum, as one of the `debtors`,
 * until it would be picked, or wakes where it was.
 */
#ifndef SCHEDLAB_EEVDF_QUEUE_BPF_H
#define SCHEDLAB_EEVDF_QUEUE_BPF_H

#include "virtual_deadline.bpf.h"

PARAMETER(bool, place_lag, true, "about=A task comes back with the lag with which it left.");
PARAMETER(bool, place_deadline_initial, true, "about=The first request of a new task is half a slice.");
PARAMETER(bool, run_to_parity, true, "about=Who was picked runs to its deadline, or for the shortest slice there is.");
PARAMETER(bool, preempt_short, true, "about=A task with a shorter slice may preempt before that.");
PARAMETER(bool, delay_dequeue, true, "about=A task that sleeps with a debt stays in the queue until it is paid.");
PARAMETER(bool, delay_zero, true, "about=While it does, it cannot gain.");

#define MAX_DEBTORS 64

/* What a task wants of its queue's time. */
struct task_clock {
	u64 vruntime;
	u64 deadline;	       /* of its request; relative to `vruntime` while `is_relative` */
	s64 lag;	       /* V - vruntime, kept while it is in no queue */
	u64 slice;	       /* the length of its requests */
	bool is_relative;
	bool in_tree;	       /* counted in the sum as waiting */
	bool is_debtor;
	u32 debtor_slot;
};

struct debtor {
	s32 pid;	       /* 0: free */
	u32 weight;
	u64 vruntime;
	u64 deadline;
};

struct queue_clock {
	u64 zero;	       /* the reference point of the sum */
	s64 sum;	       /* weight * (vruntime - zero) of the waiting ones and the debtors */
	u64 weight;	       /* theirs */
	u32 nr_queued;	       /* they, and the running one */
	u64 vruntime;	       /* of the running task, at `charged_at` */
	u64 deadline;
	u64 slice;
	u64 protected_until;   /* up to this virtual time nobody of the same slice preempts it */
	bool is_protected;     /* 6.12: to its deadline, if that is still the one of the pick */
	u64 picked_deadline;
	struct debtor debtors[MAX_DEBTORS];
	u32 nr_debtors;
};

#include <schedlab/fair_state.bpf.h>

/* The weight of a term of the sum. */
static inline s64 term(u64 vruntime, u32 weight, const struct queue_clock *c)
{
	return (s64)(vruntime - c->zero) * weight;
}

static inline void sum_add(struct queue_clock *c, u64 vruntime, u32 weight)
{
	c->sum += term(vruntime, weight, c);
	c->weight += weight;
	c->nr_queued++;
}

static inline void sum_take(struct queue_clock *c, u64 vruntime, u32 weight)
{
	c->sum -= term(vruntime, weight, c);
	c->weight -= weight;
	c->nr_queued--;
}

/* The whole sum and the whole weight, the running task's included. */
static inline s64 whole_sum(const struct fair_queue *q, u64 *weight)
{
	const struct queue_clock *c = &q->clock;

	*weight = c->weight + (q->running ? q->running_weight : 0);
	return c->sum + (q->running ? term(c->vruntime, q->running_weight, c) : 0);
}

/* V. */
static u64 average_vruntime(const struct fair_queue *q)
{
	u64 weight;
	s64 sum = whole_sum(q, &weight);

	return q->clock.zero + floor_div(sum, weight);
}

/* Whether who stands at @vruntime is not ahead of V. */
static inline bool is_eligible(const struct fair_queue *q, u64 vruntime)
{
	u64 weight;
	s64 sum = whole_sum(q, &weight);

	return sum >= (s64)(vruntime - q->clock.zero) * (s64)weight;
}

/* Brings the reference point to V. */
static void move_zero(struct fair_queue *q)
{
	struct queue_clock *c = &q->clock;
	u64 average = average_vruntime(q);

	c->sum -= (s64)(average - c->zero) * (s64)c->weight;
	c->zero = average;
}

static inline u64 deadline_after(u64 vruntime, u64 slice, u32 weight, u32 inverse)
{
	return vruntime + virtual_time(slice, weight, inverse);
}

/* The running task's request is used up: it asks for the next one. */
static inline void renew_request(struct fair_queue *q)
{
	struct queue_clock *c = &q->clock;

	c->deadline = deadline_after(c->vruntime, c->slice, q->running_weight, q->running_inverse);
	if (c->nr_queued > 0)
		q->resched = true;
}

static inline void advance(struct fair_queue *q, u64 until)
{
	q->clock.vruntime += virtual_time(until - q->charged_at, q->running_weight, q->running_inverse);
	q->charged_at = until;
}

/* The first tick, after the last charge, at which the running task's virtual time is at least @vruntime. */
static u64 tick_at(const struct fair_queue *q, u64 vruntime)
{
	s64 missing = (s64)(vruntime - q->clock.vruntime);
	u64 wall = missing > 0 ? ((u64)missing * q->running_weight + NICE_0_WEIGHT - 1) / NICE_0_WEIGHT : 0;
	u64 at = q->charged_at + (wall ?: 1);

	return (at + jiffy - 1) / jiffy * jiffy;
}

/*
 * Charges the running task up to now. A kernel does so at each tick, and looks then whether the request is used up; so
 * requests end at the ticks between the last charge and now. Who is alone may have used up any number of them.
 */
static void charge(struct fair_queue *q, u64 now)
{
	struct queue_clock *c = &q->clock;
	u64 tick, period;

	if (!q->running || !time_after(now, q->charged_at))
		return;
	tick = tick_at(q, c->deadline);
	if (!time_after(tick, now)) {
		advance(q, tick);
		renew_request(q);
		tick = tick_at(q, c->deadline);
		period = tick - q->charged_at;
		if (!time_after(tick, now)) {
			advance(q, q->charged_at + (now - q->charged_at) / period * period);
			renew_request(q);
		}
	}
	advance(q, now);
	if (!time_before(c->vruntime, c->deadline))
		renew_request(q);
}

/* Charges, and keeps the reference point near V. */
static void update_queue(struct fair_queue *q, s32 cpu, u64 now)
{
	charge(q, now);
	move_zero(q);
}

/* The greatest lag that is kept, either way. */
static s64 lag_limit(const struct fair_queue *q, const struct fair_task *t)
{
	u64 longest = t->clock.slice > q->clock.slice ? t->clock.slice : q->clock.slice;
	u64 wall = 2 * t->clock.slice > jiffy ? 2 * t->clock.slice : jiffy;

	if (version == LINUX_7_1)
		wall = (longest > t->clock.slice ? longest : t->clock.slice) + jiffy;
	return virtual_time(wall, t->weight, t->inverse);
}

/* The lag of a task that is counted in the sum. */
static s64 lag_of(const struct fair_queue *q, const struct fair_task *t)
{
	return clamp_lag((s64)(average_vruntime(q) - t->clock.vruntime), lag_limit(q, t));
}

/* Gives a task that comes its place: by its lag, or with the deadline that it had elsewhere. */
static void place(struct fair_queue *q, struct fair_task *t, bool is_new)
{
	struct task_clock *k = &t->clock;
	u64 others, slice = virtual_time(k->slice, t->weight, t->inverse);
	s64 lag = 0;

	whole_sum(q, &others);
	if (place_lag && others)
		lag = inflated_lag(k->lag, others, t->weight);
	k->vruntime = average_vruntime(q) - lag;
	if (k->is_relative) {
		k->deadline += k->vruntime;
		k->is_relative = false;
		return;
	}
	k->deadline = k->vruntime + (is_new && place_deadline_initial ? slice / 2 : slice);
}

static inline void enter_tree(struct fair_queue *q, struct fair_task *t)
{
	sum_add(&q->clock, t->clock.vruntime, t->weight);
	t->clock.in_tree = true;
}

static inline void leave_tree(struct fair_queue *q, struct fair_task *t)
{
	sum_take(&q->clock, t->clock.vruntime, t->weight);
	t->clock.in_tree = false;
}

#endif /* SCHEDLAB_EEVDF_QUEUE_BPF_H */
