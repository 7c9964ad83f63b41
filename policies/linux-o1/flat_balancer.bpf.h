/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The balancer of 2.6.3: every CPU looks at all others. A busy one does so every 200 ms, all at once, an idle one each
 * jiffy and when it runs out of tasks.
 *
 * A busy CPU takes half of the difference, if that is at least a quarter of what the busiest has; an idle one takes one
 * task. Because loads may be about to change, a busy CPU believes the lower of what it sees and what it saw at its last
 * look.
 *
 * The original counts tasks to be moved down and stops at exactly 0. Half of a difference of 1 is 0, so that it begins
 * below: it then takes every waiting task with a cold cache. That is balancer=literal; guarded stops after one.
 */
#ifndef LINUX_O1_FLAT_BALANCER_BPF_H
#define LINUX_O1_FLAT_BALANCER_BPF_H

#include <linux-o1/pull.bpf.h>

PARAMETER(u32, balancer, 0,
	  "choices=guarded,literal about=2.6.3 only: what moves when the loads differ by a single task: one task, or "
	  "every waiting task with a cold cache.");
PARAMETER(u32, cache_decay_ticks, 2,
	  "range=0..1000 about=2.6.3 only: ticks for which a CPU's cache stays warm. That kernel computed 2 for a "
	  "cache of 512 kB.");
enum { BALANCER_GUARDED, BALANCER_LITERAL };

#define FLAT_MAX_CPUS 256

/* What each CPU saw of each at its last look: the tasks there. */
static u32 seen_running[FLAT_MAX_CPUS * FLAT_MAX_CPUS];

static inline u32 *seen_by(u32 cpu, u32 other)
{
	return ELEMENT(seen_running, cpu * FLAT_MAX_CPUS + other);
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
		struct run_queue *rq = queue_of(other);
		u32 *seen = seen_by(cpu, other);

		if (rq && seen)
			*seen = rq->nr_running;
	}
}

/* What @cpu believes the number of tasks on @other to be. */
static inline u32 believed(u32 cpu, u32 other, bool idle)
{
	struct run_queue *rq = queue_of(other);
	u32 *seen = seen_by(cpu, other), running, before;

	if (!rq || !seen)
		return 0;
	running = rq->nr_running;
	before = *seen;
	*seen = running;
	if (idle)
		return running;
	if (cpu == other)
		return running > before ? running : before;
	return running < before ? running : before;
}

/* One look of @cpu. Returns whether it got a task. */
__noinline bool flat_balance(u32 cpu, bool idle, u64 now)
{
	u32 own, other, most = 1, busiest = cpu, imbalance;
	struct pull *pull = this_pull();
	struct run_queue *from;

	if (!pull)
		return false;
	own = believed(cpu, cpu, idle);
	bpf_for(other, 0, nr_cpus) {
		u32 running = other == cpu ? 0 : believed(cpu, other, idle);

		if (running > most) {
			most = running;
			busiest = other;
		}
	}
	from = queue_of(busiest);
	if (busiest == cpu || most <= own || !from || from->nr_running <= own)
		return false;
	imbalance = most - own;
	if (!idle && imbalance * 4 < most)
		return false;
	imbalance = idle ? 1 : imbalance / 2;
	if (!imbalance)
		imbalance = balancer == BALANCER_LITERAL ? from->nr_running : 1;
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
