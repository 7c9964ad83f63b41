/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slices of the Completely Fair Scheduler.
 *
 * Every runnable task shall have run once in a period: `latency`, or `min_granularity` for each of more than
 * `nr_latency` tasks. The slice of a task is its part of the period by weight.
 *
 * Example, latency 24 ms: nice 0 next to nice 5, weights 1024 and 335, have slices of 18.08 and 5.92 ms, and age by
 * about 18.08 ms of virtual time each in them. Two tasks of nice 0 in a task group next to another group have a half of
 * a half each, 6 ms.
 */
#ifndef SCHEDLAB_FAIR_SLICE_BPF_H
#define SCHEDLAB_FAIR_SLICE_BPF_H

#include <schedlab/virtual_time.bpf.h>

LINUX_RELEASE(version, "6.1,4.9,6.5");
enum { LINUX_6_1, LINUX_4_9, LINUX_6_5 };

PARAMETER(u64, latency, 6 * NS_PER_MS,
	  "unit=ns range=100us..1s about=The period in which every task runs once, before the factor of `scaling`.");
PARAMETER(u64, min_granularity, 750000,
	  "unit=ns range=10us..1s about=The minimum slice when many tasks share a CPU, before the factor of "
	  "`scaling`.");
PARAMETER(u64, wakeup_granularity, NS_PER_MS,
	  "unit=ns range=0ns..1s about=How far a waking task must be behind the running one to preempt it, before the "
	  "factor of `scaling`.");
PARAMETER(u32, nr_latency, 8, "range=1..1000 about=The number of tasks above which the period becomes longer.");

/* The unscaled granularity of SCHED_IDLE next to others, since 5.14. */
#define IDLE_MIN_GRANULARITY 750000

/* The times of the parameters with the factor. */
static u64 scaled_latency, scaled_min_granularity, scaled_wakeup_granularity;

static inline void scale_times(u32 cpus)
{
	u32 factor = scaling_factor(cpus);

	scaled_latency = latency * factor;
	scaled_min_granularity = min_granularity * factor;
	scaled_wakeup_granularity = wakeup_granularity * factor;
}

static inline u64 fair_period(u64 nr_running)
{
	return nr_running > nr_latency ? nr_running * scaled_min_granularity : scaled_latency;
}

/* The part of a time by weight. */
static inline u64 part_of_time(u64 time, u32 weight, u64 total)
{
	return weighted_time(time, weight, inverse_of_sum(total));
}

/* A slice is no shorter than a granularity, since 4.9. */
static inline u64 at_least_granularity(u64 slice, bool idle_beside_others)
{
	u64 least = idle_beside_others ? IDLE_MIN_GRANULARITY : scaled_min_granularity;

	return version != LINUX_4_9 && slice < least ? least : slice;
}

/* What a task of @weight gets of a period of @nr_running tasks with @total weight, itself among them. */
static inline u64 fair_slice(u64 nr_running, u32 weight, u64 total, bool idle_beside_others)
{
	return at_least_granularity(part_of_time(fair_period(nr_running), weight, total), idle_beside_others);
}

#endif /* SCHEDLAB_FAIR_SLICE_BPF_H */
