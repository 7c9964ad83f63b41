/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fair run queue of a CPU: waiting tasks in the order of their virtual times, in a dispatch queue, and the running
 * one beside it.
 *
 * `min_vruntime` never falls and follows the least virtual time of the running and the waiting tasks. It is what a
 * task's virtual time is relative to: a task that comes from another CPU keeps its distance to it, a new one begins a
 * slice behind it, and one that slept comes back at most half a period before it.
 *
 * A queue's fields are changed by its CPU or under its lock. Sums that other CPUs change when they move tasks are
 * added to atomically; what others read may be old by a moment, and a load average that loses such a change forgets it
 * by decay.
 *
 * Source: Linux 4.9, 6.1 and 6.5, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_FAIR_QUEUE_BPF_H
#define SCHEDLAB_FAIR_QUEUE_BPF_H

#include <schedlab/domains.bpf.h>
#include <schedlab/fair_slice.bpf.h>
#include <schedlab/load_average.bpf.h>

PARAMETER(u32, hz, 250, "range=24..1000000 about=Ticks in a second: at ticks slices end, and balancing is due.");
PARAMETER(bool, gentle_sleepers, true, "about=A sleeper gets half a period of credit, not a whole one.");
PARAMETER(bool, start_debit, true, "about=A new task begins a slice behind the others.");
PARAMETER(bool, wakeup_preemption, true, "about=Whether a waking task may preempt.");
PARAMETER(bool, next_buddy, false, "about=A waking task is preferred at the next pick even if it did not preempt.");
PARAMETER(bool, last_buddy, true, "about=A task that was preempted by a wake-up is preferred when that one sleeps.");

#define MAX_CPUS 4096
/* How long the core may let a task run before it asks, when nobody waits. */
#define ALONE_SLICE NS_PER_S
/* SCHED_NORMAL and SCHED_IDLE. */
#define CLASS_NORMAL 0
#define CLASS_IDLE 5

struct fair_task {
	u64 vruntime;
	struct load_average average;
	u64 ran_until;		  /* when it last left a CPU */
	u64 flips_halved_at;	  /* of `flips` */
	u32 flips;		  /* how often it woke somebody else than before */
	s32 last_wakee;
	s32 recent_cpu;		  /* where it was before its last CPU */
	u32 weight;
	u32 inverse;
	s32 cpu;		  /* in whose queue it is, or was */
	u32 class;
	bool runnable;		  /* counted in that queue */
	bool fresh;		  /* not yet runnable for the first time */
#ifdef FAIR_TASK_STATE
	FAIR_TASK_STATE;	  /* what the policy keeps of it */
#endif
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fair_task);
} fair_tasks SEC(".maps");

struct fair_queue {
	u64 min_vruntime;
	u64 weight;	      /* of all that run or wait */
	u32 nr_running;	      /* how many these are */
	u32 nr_idle_class;    /* how many of them of SCHED_IDLE */
	u64 vruntime;	      /* of the running task, at `charged_at` */
	u64 charged_at;
	u64 ran;	      /* ns since it was picked */
	u64 slice_end;	      /* when the core will ask */
	u64 ticks;	      /* ticks that have been looked at */
	s32 running;	      /* its pid, 0 when nobody runs */
	u32 running_weight;
	u32 running_inverse;
	u32 running_class;
	s32 next, last, skip; /* buddies: pids */
	bool resched;	      /* the CPU shall pick again */
	bool timer_armed;
	struct load_average average;
	u64 load_history[5];  /* load by tick, smoothed over 2^k ticks */
	u64 history_ticks;
	u64 idle_since;
	u64 average_idle;
	u64 balanced_at[MAX_DOMAIN_LEVEL + 1];
	u64 newidle_cost[MAX_DOMAIN_LEVEL + 1];
	u64 cost_decayed_at;
	u32 interval_ms[MAX_DOMAIN_LEVEL + 1];
	u32 failures[MAX_DOMAIN_LEVEL + 1];
	u32 imbalanced;	      /* levels at which allowed CPUs stood in the way, as bits */
	s32 push_pid;	      /* who ran when it was told to push that task */
	s32 push_to;	      /* to this CPU */
	u32 idle_scan;	      /* of the first CPU of a cache: how many CPUs to look at for an idle one */
};

static struct fair_queue queues[MAX_CPUS];
static u32 nr_cpus;
static u64 jiffy;
/* CPUs without a task, and CPUs with more than one. */
static u32 nr_idle, nr_overloaded;

static inline bool is_4_9(void)
{
	return version == LINUX_4_9;
}

static inline enum load_rule load_rule(void)
{
	return is_4_9() ? LOAD_RULE_4_9 : LOAD_RULE_LATER;
}

static inline struct fair_task *task_of(struct task_struct *p)
{
	return bpf_task_storage_get(&fair_tasks, p, NULL, 0);
}

static inline struct fair_queue *queue_of(s32 cpu)
{
	return ELEMENT(queues, (u32)cpu);
}

static inline bool is_idle(s32 cpu)
{
	struct fair_queue *q = queue_of(cpu);

	return q && !q->nr_running;
}

/* Until when the running task's virtual time would grow by @more. */
static inline u64 running_vruntime(const struct fair_queue *q, u64 now)
{
	if (!time_after(now, q->charged_at))
		return q->vruntime;
	return q->vruntime + virtual_time(now - q->charged_at, q->running_weight, q->running_inverse);
}

/* Who waits first. Kernels before 6.19 cannot be asked without an iterator. */
static inline struct task_struct *peek(s32 cpu)
{
	struct task_struct *p, *first = NULL;

	if (bpf_ksym_exists(scx_bpf_dsq_peek))
		return scx_bpf_dsq_peek(cpu);
	bpf_for_each(scx_dsq, p, cpu, 0) {
		first = p;
		break;
	}
	return first;
}

/* The virtual time of the first that waits, if one does. */
static inline bool first_waiting(s32 cpu, u64 *vruntime)
{
	struct task_struct *p = peek(cpu);

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
	bool waits = first_waiting(cpu, &first);

	if (!q)
		return 0;
	return follow(q->min_vruntime, q->running, running_vruntime(q, now), waits, first);
}

/* Charges the running task up to now. */
static inline void charge(struct fair_queue *q, u64 now)
{
	if (!q->running || !time_after(now, q->charged_at))
		return;
	q->vruntime = running_vruntime(q, now);
	q->ran += now - q->charged_at;
	q->charged_at = now;
}

/* Charges, and lets min_vruntime follow. */
static void update_queue(struct fair_queue *q, s32 cpu, u64 now)
{
	if (!q->running || !time_after(now, q->charged_at))
		return;
	charge(q, now);
	q->min_vruntime = min_vruntime_at(cpu, now);
}

static inline void update_queue_load(struct fair_queue *q, u64 now)
{
	u64 runnable_rate = is_4_9() ? q->weight : q->nr_running * LOAD_UTIL_MAX;

	load_average_update(&q->average, now, q->weight, runnable_rate, load_rule() | (q->running ? LOAD_RUNNING : 0));
}

static inline void update_task_load(struct fair_task *t, u64 now, bool runnable, bool running)
{
	load_average_update(&t->average, now, runnable ? t->weight : 0, runnable ? LOAD_UTIL_MAX : 0,
			    load_rule() | (running ? LOAD_RUNNING : 0));
}

/* A task is counted in a queue. */
static void count_in(struct fair_queue *q, struct fair_task *t, u64 now)
{
	u32 before;

	update_queue_load(q, now);
	if (is_4_9()) {
		q->average.runnable += t->average.load;
		q->average.runnable_sum += t->average.load_sum;
	}
	__sync_fetch_and_add(&q->weight, t->weight);
	if (t->class == CLASS_IDLE)
		__sync_fetch_and_add(&q->nr_idle_class, 1);
	before = __sync_fetch_and_add(&q->nr_running, 1);
	if (!before)
		__sync_fetch_and_add(&nr_idle, -1);
	else if (before == 1)
		__sync_fetch_and_add(&nr_overloaded, 1);
	t->runnable = true;
}

/* And counted out again. */
static void count_out(struct fair_queue *q, struct fair_task *t, u64 now)
{
	u32 before;

	update_queue_load(q, now);
	if (is_4_9()) {
		load_take(&q->average.runnable, t->average.load);
		load_take(&q->average.runnable_sum, t->average.load_sum);
	}
	__sync_fetch_and_add(&q->weight, -(u64)t->weight);
	if (t->class == CLASS_IDLE)
		__sync_fetch_and_add(&q->nr_idle_class, -1);
	before = __sync_fetch_and_add(&q->nr_running, -1);
	if (before == 1)
		__sync_fetch_and_add(&nr_idle, 1);
	else if (before == 2)
		__sync_fetch_and_add(&nr_overloaded, -1);
	t->runnable = false;
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

	return forgotten || time_before(t->vruntime, place) ? place : t->vruntime;
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
	return (s64)(running - t->vruntime) > (s64)wakeup_lead(t->weight, t->inverse);
}

/* Sets the buddies of a preemption of the running task by the task @pid. */
static inline void set_buddies(struct fair_queue *q, s32 pid)
{
	q->next = pid;
	if (last_buddy && q->nr_running >= nr_latency)
		q->last = q->running;
}

static inline void clear_buddies(struct fair_queue *q, s32 pid)
{
	if (q->next == pid)
		q->next = 0;
	if (q->last == pid)
		q->last = 0;
	if (q->skip == pid)
		q->skip = 0;
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
	u64 ticks = now / jiffy, slice;

	if (ticks <= q->ticks)
		return false;
	q->ticks = ticks;
	slice = tick_slice(q);
	if (q->ran > slice)
		clear_buddies(q, q->running);
	return tick_ends(q->ran, (s64)(q->vruntime - first), slice);
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
	by_slice = q->ran > slice ? 0 : slice + 1 - q->ran;
	missing = (s64)(slice + 1 - (q->vruntime - first));
	if (missing > 0)
		by_lead = (u64)missing * q->running_weight / NICE_0_WEIGHT;
	if (q->ran < scaled_min_granularity && by_lead < scaled_min_granularity - q->ran)
		by_lead = scaled_min_granularity - q->ran;
	if (by_lead < by_slice)
		by_slice = by_lead;
	return (now + (by_slice ?: 1) + jiffy - 1) / jiffy * jiffy;
}

/*
 * Somebody comes to wait at @vruntime. The ticks up to now were not about that. True: the running task's slice ends
 * before the core would ask, so it has to be told.
 */
static bool shorten_slice(struct fair_queue *q, s32 cpu, u64 vruntime, u64 now)
{
	u64 first = vruntime, ticks = (now ? now - 1 : 0) / jiffy;

	if (!q->running)
		return false;
	if (ticks > q->ticks)
		q->ticks = ticks;
	if (!first_waiting(cpu, &first) || time_before(vruntime, first))
		first = vruntime;
	return time_before(slice_end(cpu, true, first, now), q->slice_end);
}

#endif /* SCHEDLAB_FAIR_QUEUE_BPF_H */
