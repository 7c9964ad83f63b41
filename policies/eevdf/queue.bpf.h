/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The queue of a CPU: waiting tasks in the order of their deadlines, in a dispatch queue; the running one next to it;
 * and those that sleep but still owe, next to both.
 *
 * V, the average virtual time by weight, comes from a sum of weight * (v - zero) with a reference point near V, so that
 * the sum stays small. A task is eligible if its virtual time is not beyond V.
 *
 * A task that goes to sleep while it is not eligible would lose its debt. It stays in the sum, as one of the `debtors`,
 * until it would be picked, or wakes where it was.
 *
 * Example: A of weight 1024 is at 1000 and B of weight 335 at 5000. V = (1024 * 1000 + 335 * 5000) / 1359 = 1986, so A
 * is eligible and B is not.
 */
#ifndef SCHEDLAB_EEVDF_QUEUE_BPF_H
#define SCHEDLAB_EEVDF_QUEUE_BPF_H

#include <eevdf/virtual_deadline.bpf.h>

PARAMETER(bool, place_lag, true, "about=Whether a task comes back with the lag that it had when it left.");
PARAMETER(bool, place_deadline_initial, true,
	  "about=Whether the first request of a new task is half a slice instead of a whole one.");
PARAMETER(bool, place_rel_deadline, true, "about=Whether a task that migrates keeps its distance to its deadline.");
PARAMETER(bool, run_to_parity, true,
	  "about=Whether a picked task is protected until its deadline, or since 6.18 for the shortest slice in the "
	  "queue.");
PARAMETER(bool, preempt_short, true, "about=Whether a task with a shorter slice may preempt a protected one.");
PARAMETER(bool, delay_dequeue, true,
	  "about=Whether a task that sleeps with a debt (negative lag) counts in the average until the debt is paid.");

/* More tasks of one CPU that sleep with a debt lose it. */
#define MAX_DEBTORS 64
/* So far V may be from the reference point. */
#define ZERO_DISTANCE (1LL << 35)

struct task_clock {
	u64 vruntime;
	u64 deadline;	   /* of its request; relative to `vruntime` while `is_relative` */
	s64 lag;	   /* V - vruntime, kept while it is in no queue */
	u64 slice;	   /* the length of its requests */
	s32 waker;	   /* on which CPU it was woken, -1 when that was not said */
	bool is_relative;
	bool is_debtor;	   /* went to sleep with a debt that it may still have */
	bool was_new;	   /* when it last became runnable */
	bool was_debtor;   /* the same */
};

struct debtor {
	s32 pid;
	u32 weight;
	u32 own_weight;	   /* before its control groups take their part */
	u32 control_slot;
	u64 vruntime;
	u64 deadline;
	u64 slice;
};

struct queue_clock {
	u32 cpu;	     /* whose it is */
	u64 zero;	     /* the reference point of the sum */
	s64 sum;	     /* weight * (vruntime - zero) of the waiting ones and the debtors */
	u64 weight;	     /* theirs */
	u32 nr_queued;	     /* how many these are */
	u32 nr_custom;	     /* how many of them have a slice of their own */
	u64 vruntime;	     /* of the running task, at `charged_at` */
	u64 deadline;
	u64 slice;
	u64 protected_until; /* 6.18 and later: up to this virtual time it is protected */
	u64 picked_deadline; /* 6.12: it is as long as this is its deadline */
	u64 lazy_until;	     /* when the CPU heeds `resched`, if that is not at once */
	u64 hrtick_at;	     /* when the timer goes off at which the request of the running one ends */
	u32 picked;	     /* before 7.3: the queue of the group that ran here last, 0 for a task */
	u32 first_group;     /* the first queue of the groups that are queued here, or 0 */
	bool is_stale;	     /* of a CPU: tasks went to or from its groups, and these do not know yet */
	bool has_next;	     /* of a CPU: the next task has been picked */
	bool brought_back;   /* the running one was not picked, the core gave it the CPU again */
	bool shortened;	     /* the CPU was told only that the slice of the running one ends earlier */
	struct debtor debtors[MAX_DEBTORS];
	u32 nr_debtors;
};

#define FAIR_TASK_STATE                                                                                            \
	u64 scaled_weight; /* what it ages by: what its control groups leave of its weight */                  \
	u32 own_weight;	  /* by its nice value; `weight` is a whole number near `scaled_weight` */             \
	u32 control_slot; /* its control group */                                                              \
	bool aside	  /* it waits for the limit of a control group, counted nowhere */
#define FAIR_QUEUE_STATE                                                                                           \
	u64 running_scaled; /* what the running task ages by */                                                \
	u32 running_slot; /* the control group of the running task */                                          \
	u32 released	  /* the first group whose tasks it is to take back, plus one */

#include <schedlab/fair_state.bpf.h>

PARAMETER(u32, groups, 0,
	  "choices=control,none about=Whether control groups have weights and limits, where there are any, or are "
	  "ignored.");
enum { GROUPS_CONTROL, GROUPS_NONE };

static inline bool wants_control_groups(void)
{
	return groups == GROUPS_CONTROL;
}

static inline bool counts_group_tasks(void)
{
	return version >= LINUX_7_3;
}

#define FIRST_RUNTIME (version >= LINUX_6_18)
#include <schedlab/group_weights.bpf.h>
#include <schedlab/bandwidth.bpf.h>
#include <eevdf/places.bpf.h>

/* The term of the sum for a task. */
static inline s64 term(const struct queue_clock *c, u64 vruntime, u64 weight)
{
	return (s64)(vruntime - c->zero) * (s64)weight;
}

/*
 * The three fields, for a balancer on another CPU changes them too. Should that happen while the reference point moves,
 * V is wrong until no task waits; that is some nanoseconds in half a minute. A task in the sum is always counted.
 */
static inline void sum_add(struct queue_clock *c, u64 vruntime, u32 weight, bool custom)
{
	__sync_fetch_and_add(&c->nr_queued, 1);
	__sync_fetch_and_add(&c->weight, weight);
	__sync_fetch_and_add(&c->sum, term(c, vruntime, weight));
	if (custom)
		__sync_fetch_and_add(&c->nr_custom, 1);
}

static inline void sum_take(struct queue_clock *c, u64 vruntime, u32 weight, bool custom)
{
	__sync_fetch_and_add(&c->sum, -term(c, vruntime, weight));
	__sync_fetch_and_add(&c->weight, -(u64)weight);
	__sync_fetch_and_add(&c->nr_queued, -1);
	if (custom)
		__sync_fetch_and_add(&c->nr_custom, -1);
}

/*
 * No task waits any more, and something is left in the sum: another CPU moved a task when it was taken, or when the
 * reference point moved. V would be wrong for ever.
 */
static inline void clear_rest(struct queue_clock *c)
{
	u32 nr_before = READ_ONCE(c->nr_queued);
	s64 rest = READ_ONCE(c->sum);

	if (rest && !nr_before && !READ_ONCE(c->nr_queued))
		__sync_fetch_and_add(&c->sum, -rest);
}

static inline bool is_custom(u64 slice)
{
	return slice != request_slice(0, nr_cpus);
}

static inline void enter_tree(struct fair_queue *q, struct fair_task *t)
{
	sum_add(&q->clock, t->clock.vruntime, t->weight, is_custom(t->clock.slice));
}

static inline void leave_tree(struct fair_queue *q, struct fair_task *t)
{
	sum_take(&q->clock, t->clock.vruntime, t->weight, is_custom(t->clock.slice));
}

/* A debtor that weighs more than one of SCHED_IDLE. */
static inline bool keeps_sleeper(const struct fair_queue *q)
{
	u64 whole = q->clock.weight + (q->running ? q->running_weight : 0);

	return q->clock.nr_debtors && whole > q->weight + q->clock.nr_debtors * IDLE_WEIGHT;
}

static inline bool is_in_idle_group(const struct fair_task *t)
{
	return has_control_groups() && is_below_idle(t->control_slot);
}

static inline bool idle_class_is_as_others(void)
{
	return version < LINUX_7_1;
}

/* Where the running task is now, without charging it: other CPUs may ask. */
static inline u64 running_vruntime(const struct fair_queue *q, u64 now)
{
	if (!time_after(now, q->charged_at))
		return q->clock.vruntime;
	return q->clock.vruntime + aged(now - q->charged_at, q->running_scaled, q->running_inverse);
}

/* The weight of all, and V. Not static, so that a verifier looks at it once, like others below. */
static inline u64 whole_weight(const struct fair_queue *q)
{
	return q->clock.weight + (q->running ? q->running_weight : 0);
}

static inline s64 whole_sum(const struct fair_queue *q, u64 now)
{
	s64 running = q->running ? term(&q->clock, running_vruntime(q, now), q->running_weight) : 0;

	return q->clock.sum + running;
}

__noinline u64 average_vruntime(const struct fair_queue *q, u64 now)
{
	return q ? q->clock.zero + floor_div(whole_sum(q, now), whole_weight(q)) : 0;
}

/* Whether a task at @vruntime is not ahead of V. That V is rounded down makes no difference. */
static inline bool is_eligible(const struct fair_queue *q, u64 vruntime, u64 now)
{
	return term(&q->clock, vruntime, whole_weight(q)) <= whole_sum(q, now);
}

/* When the running task, which has been charged, will have come to @vruntime. Virtual time is rounded down. */
static u64 reaches_at(const struct fair_queue *q, u64 vruntime)
{
	s64 missing = (s64)(vruntime - q->clock.vruntime);
	u64 wall = missing > 0 ? ((u64)missing * q->running_scaled + SCALED_NICE_0 - 1) / SCALED_NICE_0 : 0;
	u64 at = q->charged_at + wall;

	return time_before(running_vruntime(q, at), vruntime) ? at + q->running_weight / NICE_0_WEIGHT + 1 : at;
}

/* The first tick after the last charge at which it has. */
static u64 tick_at(const struct fair_queue *q, u64 vruntime)
{
	u64 at = reaches_at(q, vruntime);

	return tick_from(q, at == q->charged_at ? at + 1 : at);
}

/* The running task's request is used up: it asks for the next one. */
static inline void renew_request(struct fair_queue *q)
{
	struct queue_clock *c = &q->clock;

	c->deadline = deadline_after(c->vruntime, c->slice, q->running_scaled, q->running_inverse);
	if (c->nr_queued)
		q->resched = true;
}

/*
 * The running task gives up what is left of its request, unless it is ahead of V: then it is not picked again anyhow.
 */
static inline void give_up(struct fair_queue *q, u64 now)
{
	if (!is_eligible(q, q->clock.vruntime, now))
		return;
	q->clock.vruntime = q->clock.deadline;
	renew_request(q);
}

static inline void advance(struct fair_queue *q, u64 until)
{
	if (has_control_groups() && q->running_slot &&
	    charge_limits(q->running_slot, q->clock.cpu, until - q->charged_at, until))
		q->resched = true;
	q->clock.vruntime = running_vruntime(q, until);
	q->charged_at = until;
}

/*
 * Charges the running task up to now. A kernel does so at each tick, and looks then whether the request is used up; so
 * requests end at the ticks between the last charge and now. A lone task may have used up any number of them.
 */
static void charge(struct fair_queue *q, u64 now)
{
	struct queue_clock *c = &q->clock;
	u64 tick, period;

	if (time_before(running_vruntime(q, now), c->deadline)) {
		advance(q, now);
		return;
	}
	tick = tick_at(q, c->deadline);
	if (!time_after(tick, now)) {
		advance(q, tick);
		renew_request(q);
		tick = tick_at(q, c->deadline);
		if (!time_after(tick, now)) {
			period = tick - q->charged_at;
			advance(q, q->charged_at + (now - q->charged_at) / period * period);
			renew_request(q);
		}
	}
	advance(q, now);
	if (!time_before(c->vruntime, c->deadline))
		renew_request(q);
}

/* Brings the reference point to V when that is far away. */
static inline void follow_average(struct fair_queue *q, u64 now)
{
	struct queue_clock *c = &q->clock;
	s64 distance = (s64)(c->vruntime - c->zero);

	if (distance < ZERO_DISTANCE && distance > -ZERO_DISTANCE)
		return;
	distance = (s64)(average_vruntime(q, now) - c->zero);
	__sync_fetch_and_add(&c->sum, -distance * (s64)c->weight);
	c->zero += distance;
}

static inline u64 extreme(u64 one, u64 two, bool longest)
{
	return (one < two) == longest ? two : one;
}

/* The same of @slice and of the groups that wait in a queue. */
static inline u64 extreme_slice_of_groups(const struct fair_queue *q, u64 slice, bool longest)
{
	u32 number = q->clock.first_group, step;

	bpf_for(step, 0, MAX_CONTROL_GROUPS) {
		const struct group_node *node = node_at(number);

		if (!node)
			break;
		if (!node->is_running)
			slice = extreme(slice, node->entity.clock.slice, longest);
		number = node->next;
	}
	return slice;
}

/*
 * The shortest or the longest of @slice and of what runs and is queued. Few queues have other slices than the
 * default.
 */
__noinline u64 extreme_slice(u32 number, u64 slice, bool longest)
{
	struct fair_queue *q = queue_at(number);
	struct task_struct *p;
	u32 slot;

	if (!q)
		return slice;
	if (q->running)
		slice = extreme(slice, q->clock.slice, longest);
	if (q->clock.nr_custom < q->clock.nr_queued)
		slice = extreme(slice, request_slice(0, nr_cpus), longest);
	if (!q->clock.nr_custom)
		return slice;
	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, number, 0) {
		struct fair_task *t = task_of(p);

		if (t)
			slice = extreme(slice, t->clock.slice, longest);
	}
	bpf_rcu_read_unlock();
	bpf_for(slot, 0, q->clock.nr_debtors) {
		const struct debtor *debtor = ELEMENT(q->clock.debtors, slot);

		if (debtor)
			slice = extreme(slice, debtor->slice, longest);
	}
	return extreme_slice_of_groups(q, slice, longest);
}

#endif /* SCHEDLAB_EEVDF_QUEUE_BPF_H */
