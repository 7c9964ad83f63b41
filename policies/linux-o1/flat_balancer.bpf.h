/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The balancer of 2.6.3: every CPU looks at all others. A busy one does so every 200 ms, all at once, an idle one each
 * jiffy and when it runs out of tasks.
 *
 * schedlab/flat_look.bpf.h has the rule by which it takes tasks.
 *
 * The original counts tasks to be moved down and stops at exactly 0. Half of a difference of 1 is 0, so that it begins
 * below: it then takes every waiting task with a cold cache. That is balancer=literal; guarded stops after one.
 */
#ifndef LINUX_O1_FLAT_BALANCER_BPF_H
#define LINUX_O1_FLAT_BALANCER_BPF_H

#include <schedlab/flat_look.bpf.h>
#include <linux-o1/pull.bpf.h>

PARAMETER(u32, balancer, 0,
	  "choices=guarded,literal about=2.6.3 only: what moves when the loads differ by a single task: one task, or "
	  "every waiting task with a cold cache.");
PARAMETER(u32, cache_decay_ticks, 2,
	  "range=0..1000 about=2.6.3 only: ticks for which a CPU's cache stays warm. That kernel computed 2 for a "
	  "cache of 512 kB.");
enum { BALANCER_GUARDED, BALANCER_LITERAL };

static inline u32 flat_tasks_on(u32 cpu)
{
	struct run_queue *rq = queue_of(cpu);

	return rq ? rq->nr_running : 0;
}

/* The jiffy of the next look of busy CPUs. */
static u64 flat_due;

/* The jiffies between two of them. */
static inline u64 flat_period(void)
{
	return hz / 5;
}

/* An idle CPU looks each jiffy; looks that could find nothing were left out, and are made good when it gets a task. */
static void flat_catch_up(u32 cpu)
{
	u32 other;

	bpf_for(other, 0, nr_cpus) {
		u32 *seen = seen_by(cpu, other);

		if (seen)
			*seen = flat_tasks_on(other);
	}
}

/* One look of @cpu. Returns whether it got a task. */
__noinline bool flat_balance(u32 cpu, bool idle, u64 now)
{
	u32 imbalance, busiest;
	struct pull *pull = this_pull();

	if (!pull)
		return false;
	/* Where half of a difference is no task, the original begins to count below the 0 at which it stops. */
	imbalance = flat_imbalance(cpu, nr_cpus, idle, balancer == BALANCER_LITERAL ? ~0U : 1, &busiest);
	if (!imbalance)
		return false;
	*pull = (struct pull){ .from = busiest, .to = cpu, .any_heat = idle };
	if (jiffy_of(now) > cache_decay_ticks)
		pull->hot_since = (jiffy_of(now) - cache_decay_ticks) * jiffy_ns;
	return pull_some(imbalance, MAX_PRIO - 1, now) > 0;
}

/* The looks that are due at a tick. Returns the jiffy of the next. */
static u64 flat_tick(u64 now)
{
	u64 jiffy = jiffy_of(now);
	bool due = jiffy >= flat_due, some_idle = false;
	u32 cpu;

	bpf_for(cpu, 0, nr_cpus) {
		struct run_queue *rq = queue_of(cpu);

		if (!rq)
			break;
		if (is_idle(rq) ? nr_overloaded > 0 : due)
			flat_balance(cpu, is_idle(rq), now);
		some_idle |= is_idle(rq);
	}
	if (due)
		flat_due = (jiffy / flat_period() + 1) * flat_period();
	return some_idle && nr_overloaded ? jiffy + 1 : flat_due;
}

#endif /* LINUX_O1_FLAT_BALANCER_BPF_H */
