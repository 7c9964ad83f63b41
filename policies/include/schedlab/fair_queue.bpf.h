/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The run queue of a CPU under CFS: waiting tasks in the order of their virtual times, in a dispatch queue, and the
 * running one beside it.
 *
 * `min_vruntime` never falls and follows the least virtual time of the running and the waiting tasks. It is what a
 * task's virtual time is relative to: a task that comes from another CPU keeps its distance to it, a new one begins a
 * slice behind it, and one that slept comes back at most half a period before it.
 *
 * Source: Linux 4.9, 6.1 and 6.5, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_FAIR_QUEUE_BPF_H
#define SCHEDLAB_FAIR_QUEUE_BPF_H

#include <schedlab/fair_slice.bpf.h>

PARAMETER(bool, gentle_sleepers, true, "about=A sleeper gets half a period of credit, not a whole one.");
PARAMETER(bool, start_debit, true, "about=A new task begins a slice behind the others.");
PARAMETER(bool, wakeup_preemption, true, "about=Whether a waking task may preempt.");
PARAMETER(bool, next_buddy, false, "about=A waking task is preferred at the next pick even if it did not preempt.");
PARAMETER(bool, last_buddy, true, "about=A task that was preempted by a wake-up is preferred when that one sleeps.");

struct task_clock {
	u64 vruntime;
};

struct queue_clock {
	u64 min_vruntime;
	u64 vruntime;	      /* of the running task, at `charged_at` */
	u64 ran;	      /* ns since it was picked */
	u64 ticks;	      /* ticks that have been looked at */
	s32 next, last, skip; /* buddies: pids */
};

static inline bool is_4_9(void)
{
	return version == LINUX_4_9;
}

#include <schedlab/fair_state.bpf.h>

/* Until when the running task's virtual time would grow by @more. */
static inline u64 running_vruntime(const struct fair_queue *q, u64 now)
{
	if (!time_after(now, q->charged_at))
		return q->clock.vruntime;
	return q->clock.vruntime + virtual_time(now - q->charged_at, q->running_weight, q->running_inverse);
}

/* The virtual time of the first that waits, if one does. */
static inline bool first_waiting(s32 cpu, u64 *vruntime)
{
	struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(cpu);

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

/* Charges the running task up to now. */
static inline void charge(struct fair_queue *q, u64 now)
{
	if (!q->running || !time_after(now, q->charged_at))
		return;
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
	q->clock.min_vruntime = min_vruntime_at(cpu, now);
}

/* The slice of a task in a queue in which it is, or into which it comes. */
static u64 slice_in(const struct fair_queue *q, u32 weight, u32 class, bool comes)
{
	bool idle_beside_others = class == CLASS_IDLE && q->nr_idle_class != q->nr_running;

	return fair_slice(q->nr_running + comes, weight, q->weight + (comes ? weight : 0), idle_beside_others);
}

/* Where a new task stands, whose parent is at @vruntime. */
static u64 place_new(const struct fair_queue *q, const struct fair_task *t, u64 vruntime, u64 min_vruntime)
{
	u64 slice = slice_in(q, t->weight, t->class, true);
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

/* By how much virtual time somebody of this weight has to lead to be put before who is due. */
static inline u64 wakeup_lead(u32 weight, u32 inverse)
{
	return virtual_time(scaled_wakeup_granularity, weight, inverse);
}

/* Whether a task that comes preempts the running one: its lead exceeds the granularity, or that is of SCHED_IDLE. */
static bool preempts(const struct fair_queue *q, const struct fair_task *t, u64 running)
{
	if (q->running_class == CLASS_IDLE && t->class != CLASS_IDLE)
		return true;
	if (!wakeup_preemption || t->class != CLASS_NORMAL)
		return false;
	return (s64)(running - t->clock.vruntime) > (s64)wakeup_lead(t->weight, t->inverse);
}

/* Sets the buddies of a preemption of the running task by the task @pid. */
static inline void set_buddies(struct fair_queue *q, s32 pid)
{
	q->clock.next = pid;
	if (last_buddy && q->nr_running >= nr_latency)
		q->clock.last = q->running;
}

static void clear_buddies(struct fair_queue *q, s32 pid)
{
	if (q->clock.next == pid)
		q->clock.next = 0;
	if (q->clock.last == pid)
		q->clock.last = 0;
	if (q->clock.skip == pid)
		q->clock.skip = 0;
}

/* The slice of the running task, as ticks look at it. */
static inline u64 tick_slice(const struct fair_queue *q)
{
	u64 slice = slice_in(q, q->running_weight, q->running_class, false);

	return version == LINUX_6_5 && slice > scaled_latency ? scaled_latency : slice;
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
		clear_buddies(q, q->running);
	return tick_ends(q->clock.ran, (s64)(q->clock.vruntime - first), slice);
}

/*
 * When a tick will take the CPU from the running task if nothing changes: the first tick at which its slice is used,
 * or at which it is ahead by a slice. Rounding may make this a little early; then tick_is_due() says no.
 */
__noinline u64 slice_end(s32 cpu, bool waits, u64 first, u64 now)
{
	struct fair_queue *q = queue_of(cpu);
	u64 slice, by_slice, by_lead = 0;
	s64 missing;

	if (!waits || !q)
		return now + ALONE_SLICE;
	slice = tick_slice(q);
	by_slice = q->clock.ran > slice ? 0 : slice + 1 - q->clock.ran;
	missing = (s64)(slice + 1 - (q->clock.vruntime - first));
	if (missing > 0)
		by_lead = (u64)missing * q->running_weight / NICE_0_WEIGHT;
	if (q->clock.ran < scaled_min_granularity && by_lead < scaled_min_granularity - q->clock.ran)
		by_lead = scaled_min_granularity - q->clock.ran;
	if (by_lead < by_slice)
		by_slice = by_lead;
	return tick_from(q, now + (by_slice ?: 1));
}

/*
 * Somebody comes to wait at @vruntime. The ticks up to now were not about that. True: the running task's slice ends
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

static u64 order_key(const struct fair_task *t)
{
	return t->clock.vruntime;
}

/* It keeps its distance to min_vruntime. */
static void carry_place(struct fair_task *t, struct fair_queue *from, struct fair_queue *to, s32 cpu, u64 now)
{
	t->clock.vruntime -= min_vruntime_at(t->cpu, now);
	t->clock.vruntime += min_vruntime_at(cpu, now);
}

/* It preempts, or the slice of who runs ends earlier now. */
static bool must_tell(struct fair_queue *q, const struct fair_task *t, s32 pid, s32 cpu, u64 now)
{
	if (!q->resched && preempts(q, t, running_vruntime(q, now))) {
		set_buddies(q, pid);
		q->resched = true;
		return true;
	}
	return shorten_slice(q, cpu, t->clock.vruntime, now);
}

static inline bool is_buddy(const struct fair_queue *q, s32 pid)
{
	return q->clock.next == pid || q->clock.last == pid;
}

static inline bool gains_nothing(const struct fair_queue *from, const struct fair_queue *to, const struct fair_task *t,
			  u32 failures, u64 now)
{
	return false;
}

#endif /* SCHEDLAB_FAIR_QUEUE_BPF_H */
