/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The run queue of a CPU under CFS: waiting tasks in the order of their virtual times, in a dispatch queue, and the
 * running one next to it.
 *
 * `min_vruntime` never falls and follows the smallest virtual time of the running and the waiting tasks. It is what a
 * task's virtual time is relative to: a task that comes from another CPU keeps its distance to it, a new one begins a
 * slice behind it, and one that slept comes back at most half a period before it.
 *
 * Source: Linux 4.9, 6.1 and 6.5, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_FAIR_QUEUE_BPF_H
#define SCHEDLAB_FAIR_QUEUE_BPF_H

#include <schedlab/buddies.bpf.h>
#include <schedlab/fair_slice.bpf.h>

PARAMETER(bool, gentle_sleepers, true,
	  "about=Whether a task that slept gets a credit of half a period instead of a whole one.");
PARAMETER(bool, start_debit, true, "about=Whether a new task starts a slice behind the others.");
PARAMETER(bool, wakeup_preemption, true, "about=Whether a waking task may preempt the running one.");
PARAMETER(bool, next_buddy, false, "about=Whether the next pick prefers a waking task even if it did not preempt.");
PARAMETER(bool, last_buddy, true,
	  "about=Whether a task that a wake-up preempted is preferred when the preempting task sleeps.");

struct task_clock {
	u64 vruntime;
};

struct queue_clock {
	u64 min_vruntime;
	u64 vruntime;	      /* of the running task, at `charged_at` */
	u64 ran;	      /* ns since it was picked */
	u64 ticks;	      /* ticks that have been looked at */
	struct buddies buddies; /* tasks by their pids, groups by minus the numbers of their queues */
};

static inline bool is_4_9(void)
{
	return version == LINUX_4_9;
}

static inline bool has_newidle_chance(void)
{
	return version == LINUX_6_1;
}

static inline bool has_newidle_rate(void)
{
	return false;
}

#include <schedlab/fair_state.bpf.h>

/* A sleeper is in no queue. */
static inline bool keeps_sleeper(const struct fair_queue *q)
{
	return false;
}

static inline bool idle_class_is_as_others(void)
{
	return true;
}

/* Until when the running task's virtual time would grow by @more. */
static inline u64 running_vruntime(const struct fair_queue *q, u64 now)
{
	if (!time_after(now, q->charged_at))
		return q->clock.vruntime;
	return q->clock.vruntime + virtual_time(now - q->charged_at, q->running_weight, q->running_inverse);
}

/* The virtual time of the first that waits, if one does. */
static inline bool first_waiting(u64 dsq, u64 *vruntime)
{
	struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(dsq);

	if (!p)
		return false;
	*vruntime = p->scx.dsq_vtime;
	return true;
}

/* max(min_vruntime, the least of the running and the first waiting). */
static inline u64 follow(u64 min_vruntime, bool runs, u64 running, bool waits, u64 first)
{
	u64 least = runs && (!waits || time_before(running, first)) ? running : first;

	return (runs || waits) && time_after(least, min_vruntime) ? least : min_vruntime;
}

/* What min_vruntime is now, without changing the queue: other CPUs may ask. */
__noinline u64 min_vruntime_at(s32 cpu, u64 now)
{
	struct fair_queue *q = queue_of(cpu);
	u64 first = 0;
	bool waits;

	bpf_rcu_read_lock();
	waits = first_waiting(cpu, &first);
	bpf_rcu_read_unlock();
	if (!q)
		return 0;
	return follow(q->clock.min_vruntime, q->running, running_vruntime(q, now), waits, first);
}

/* The slice of a task in a queue in which it is, or into which it comes. */
static u64 slice_in(const struct fair_queue *q, u32 weight, u32 class, bool comes)
{
	bool idle_beside_others = class == CLASS_IDLE && q->nr_idle_class != q->nr_running;

	return fair_slice(q->nr_running + comes, weight, q->weight + (comes ? weight : 0), idle_beside_others);
}

/* The place of a new task with that slice, whose parent is at @vruntime. */
static u64 place_new(const struct fair_task *t, u64 slice, u64 vruntime, u64 min_vruntime)
{
	u64 place = min_vruntime + (start_debit ? virtual_time(slice, t->weight, t->inverse) : 0);

	return time_after(vruntime, place) ? vruntime : place;
}

/* Where a task stands that slept. */
static u64 place_sleeper(const struct fair_task *t, u64 min_vruntime, u64 now)
{
	bool idle = t->class == CLASS_IDLE && !is_4_9();
	u64 credit = idle ? scaled_min_granularity : scaled_latency;
	u64 place = min_vruntime - (gentle_sleepers ? credit / 2 : credit);
	/* After 104 days virtual times may have gone round. */
	bool forgotten = version == LINUX_6_5 && now - t->ran_until > 1ULL << 53;

	return forgotten || time_before(t->clock.vruntime, place) ? place : t->clock.vruntime;
}

/* By how much virtual time a task of this weight has to lead to be put before the one that is due. */
static inline u64 wakeup_lead(u32 weight, u32 inverse)
{
	return virtual_time(scaled_wakeup_granularity, weight, inverse);
}

/* Whether a task that comes preempts the running one: its lead exceeds what it needs, or that is of SCHED_IDLE. */
static bool preempts_by(const struct fair_queue *q, const struct fair_task *t, s64 lead, u64 needed)
{
	if (q->running_class == CLASS_IDLE && t->class != CLASS_IDLE)
		return true;
	if (!wakeup_preemption || t->class != CLASS_NORMAL)
		return false;
	return lead > (s64)needed;
}

static bool preempts(const struct fair_queue *q, const struct fair_task *t, u64 running)
{
	return preempts_by(q, t, running - t->clock.vruntime, wakeup_lead(t->weight, t->inverse));
}

/* Sets the buddies of a preemption of the running task by the task @pid. */
static inline void set_buddies(struct fair_queue *q, s32 pid)
{
	q->clock.buddies.next = pid;
	if (last_buddy && q->nr_running >= nr_latency)
		q->clock.buddies.last = q->running;
}

/* The slice of the running task, as ticks look at it. */
static inline u64 capped_slice(u64 slice)
{
	return version == LINUX_6_5 && slice > scaled_latency ? scaled_latency : slice;
}

static inline u64 tick_slice(const struct fair_queue *q)
{
	return capped_slice(slice_in(q, q->running_weight, q->running_class, false));
}

/*
 * Whether a tick takes the CPU from a task that @ran since it was picked and is @lead of virtual time behind the first
 * that waits: it used its slice, or it got ahead by more than that.
 */
static inline bool tick_ends(u64 ran, s64 lead, u64 slice)
{
	return ran > slice || (ran >= scaled_min_granularity && lead > (s64)slice);
}

/* Whether one of the ticks since the last look does. */
static bool tick_is_due(struct fair_queue *q, u64 first, u64 now)
{
	u64 ticks = ticks_until(q, now), slice;

	if (ticks <= q->clock.ticks)
		return false;
	q->clock.ticks = ticks;
	slice = tick_slice(q);
	if (q->clock.ran > slice)
		forget(&q->clock.buddies, q->running);
	return tick_ends(q->clock.ran, (s64)(q->clock.vruntime - first), slice);
}

/* How long a task of @weight runs, which @ran, before its @slice is used or it is ahead by one. */
static u64 time_left(u64 slice, u64 ran, s64 lead, u32 weight)
{
	u64 by_slice = ran > slice ? 0 : slice + 1 - ran, by_lead = 0;
	s64 missing = (s64)slice + 1 - lead;

	if (missing > 0)
		by_lead = (u64)missing * weight / NICE_0_WEIGHT;
	if (ran < scaled_min_granularity && by_lead < scaled_min_granularity - ran)
		by_lead = scaled_min_granularity - ran;
	return by_lead < by_slice ? by_lead : by_slice;
}

/*
 * When a tick will take the CPU from the running task if nothing changes: the first tick at which its slice is used,
 * or at which it is ahead by a slice. Rounding may make this a little early; then tick_is_due() says no.
 */
__noinline u64 slice_end(s32 cpu, bool waits, u64 first, u64 now)
{
	struct fair_queue *q = queue_of(cpu);
	u64 left;

	if (!waits || !q)
		return now + ALONE_SLICE;
	left = time_left(tick_slice(q), q->clock.ran, q->clock.vruntime - first, q->running_weight);
	return tick_from(q, now + (left ?: 1));
}

/*
 * A task comes to wait at @vruntime. The ticks up to now were not about that. True: the running task's slice ends
 * before the core would ask, so it has to be told.
 */
static bool shorten_slice(struct fair_queue *q, s32 cpu, u64 vruntime, u64 now)
{
	u64 first = vruntime, ticks = ticks_until(q, now - 1);

	if (!q->running)
		return false;
	if (ticks > q->clock.ticks)
		q->clock.ticks = ticks;
	if (!first_waiting(cpu, &first) || time_before(vruntime, first))
		first = vruntime;
	return time_before(slice_end(cpu, true, first, now), q->slice_end);
}

#ifdef FAIR_TASK_GROUPS
#include <schedlab/group_turns.bpf.h>
#else
#include <schedlab/one_queue.bpf.h>
#endif

/* The running task has run for so long since it was last charged. */
static inline void on_charged(struct fair_queue *q, u64 ran, u64 now);

/* Charges the running task up to now. */
static inline void charge(struct fair_queue *q, u64 now)
{
	if (!q->running || !time_after(now, q->charged_at))
		return;
	on_charged(q, now - q->charged_at, now);
	if (has_groups()) {
		charge_tree(q->running_number, now);
		return;
	}
	q->clock.vruntime = running_vruntime(q, now);
	q->clock.ran += now - q->charged_at;
	q->charged_at = now;
}

/* Charges, and lets min_vruntime follow. */
static void update_queue(struct fair_queue *q, s32 cpu, u64 now)
{
	if (!q->running || !time_after(now, q->charged_at))
		return;
	charge(q, now);
	if (has_groups())
		follow_in_tree(q->running_number, now);
	else
		q->clock.min_vruntime = min_vruntime_at(cpu, now);
}

static inline u64 order_key(const struct fair_task *t)
{
	return t->clock.vruntime;
}

/* What a task's virtual time is relative to on a CPU: min_vruntime of the queue, as it is now. */
static inline u64 base_at(const struct fair_task *t, s32 cpu, u64 now)
{
	return has_groups() ? tree_min_vruntime_at(number_on(t, cpu), now) : min_vruntime_at(cpu, now);
}

/* The same as it was when that was last changed. */
static inline u64 base_of(const struct fair_task *t, s32 cpu)
{
	const struct fair_queue *own = queue_at(number_on(t, cpu));

	return own ? own->clock.min_vruntime : 0;
}

/* It keeps its distance to min_vruntime. */
static u64 order_key_at(const struct fair_task *t, const struct fair_queue *from, const struct fair_queue *to, s32 cpu,
			u64 now)
{
	return t->clock.vruntime - base_at(t, t->cpu, now) + base_at(t, cpu, now);
}

static void carry_place(struct fair_task *t, struct fair_queue *from, struct fair_queue *to, s32 cpu, u64 key)
{
	t->clock.vruntime = key;
	if (has_groups())
		place_groups_above(number_on(t, cpu));
}

/* It preempts, or the slice of the running task ends earlier now. */
static bool must_tell(struct fair_queue *q, const struct fair_task *t, s32 pid, s32 cpu, u64 now)
{
	if (has_groups()) {
		if (!q->resched && preempts_in_tree(t, pid, now)) {
			q->resched = true;
			return true;
		}
		return may_shorten_slice(q, now);
	}
	if (!q->resched && preempts(q, t, running_vruntime(q, now))) {
		set_buddies(q, pid);
		q->resched = true;
		return true;
	}
	return shorten_slice(q, cpu, t->clock.vruntime, now);
}

static bool must_tell_moved(struct fair_queue *q, const struct fair_task *t, s32 pid, s32 cpu, u64 now)
{
	return must_tell(q, t, pid, cpu, now);
}

/* The buddies among which a task is. */
static inline struct buddies *buddies_of(struct fair_queue *q, const struct fair_task *t)
{
	struct fair_queue *own = queue_at(number_of(t));

	return own ? &own->clock.buddies : &q->clock.buddies;
}

static void clear_buddies(struct fair_queue *q, const struct fair_task *t, s32 pid)
{
	if (has_groups())
		forget_chain(number_of(t), pid);
	else
		forget(&q->clock.buddies, pid);
}

static inline bool is_buddy(const struct fair_queue *q, const struct fair_task *t, s32 pid)
{
	const struct buddies *b = buddies_of((struct fair_queue *)q, t);

	return b->next == pid || b->last == pid;
}

static inline bool gains_nothing(const struct fair_queue *from, const struct fair_queue *to, const struct fair_task *t,
			  s32 cpu, u32 failures, u64 now)
{
	return false;
}

#endif /* SCHEDLAB_FAIR_QUEUE_BPF_H */
