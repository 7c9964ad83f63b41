/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual deadlines: the arithmetic of EEVDF, without a queue.
 *
 * A request is a slice of CPU time. A task of weight w that is at virtual time v asks for a slice r by the deadline
 * v + r * 1024 / w. Its lag is how far it is behind the average V of its queue; one that is not ahead of V is eligible.
 */
#ifndef SCHEDLAB_EEVDF_VIRTUAL_DEADLINE_BPF_H
#define SCHEDLAB_EEVDF_VIRTUAL_DEADLINE_BPF_H

#include <schedlab/virtual_time.bpf.h>

LINUX_RELEASE(version, "6.12,6.18,7.1,7.3");
enum { LINUX_6_12, LINUX_6_18, LINUX_7_1, LINUX_7_3 };

PARAMETER(u64, base_slice, 700000,
	  "unit=ns range=100us..100ms about=The slice on one CPU, before the factor of `scaling`. The first 6.12 had "
	  "750us.");

/* What a task may ask for. */
#define MIN_SLICE (100 * 1000ULL)
#define MAX_SLICE (100 * NS_PER_MS)

static inline bool is_4_9(void)
{
	return false;
}

static inline bool has_newidle_chance(void)
{
	return true;
}

static inline bool has_newidle_rate(void)
{
	return version >= LINUX_7_1;
}

/* The slice of a task that asks for @custom, or for none, which is 0. */
static inline u64 request_slice(u64 custom, u32 cpus)
{
	if (!custom)
		return base_slice * scaling_factor(cpus);
	return custom < MIN_SLICE ? MIN_SLICE : custom > MAX_SLICE ? MAX_SLICE : custom;
}

/*
 * How much a task of a scaled weight ages in @time. Kernels divide by that weight since 7.3, and before multiply with
 * the @inverse of the whole one.
 */
__noinline u64 aged_by_weight(u64 time, u64 weight, u64 inverse)
{
	if (version < LINUX_7_3)
		return weighted(time, NICE_0_WEIGHT, inverse);
	return time / weight * SCALED_NICE_0 + time % weight * SCALED_NICE_0 / weight;
}

static inline u64 aged(u64 time, u64 weight, u32 inverse)
{
	return weight == SCALED_NICE_0 ? time : aged_by_weight(time, weight, inverse);
}

static inline u64 deadline_after(u64 vruntime, u64 slice, u64 weight, u32 inverse)
{
	return vruntime + aged(slice, weight, inverse);
}

/* A quotient of signed numbers, rounded down. */
static inline s64 floor_div(s64 numerator, u64 divisor)
{
	if (!divisor)
		return 0;
	return numerator >= 0 ? (s64)((u64)numerator / divisor) : -(s64)(((u64)-numerator + divisor - 1) / divisor);
}

/* The same, rounded toward zero. */
static inline s64 truncated_div(s64 numerator, u64 divisor)
{
	if (!divisor)
		return 0;
	return numerator >= 0 ? (s64)((u64)numerator / divisor) : -(s64)((u64)-numerator / divisor);
}

static inline s64 clamp_lag(s64 lag, s64 limit)
{
	return lag > limit ? limit : lag < -limit ? -limit : lag;
}

/*
 * How far behind V a task that comes with @lag has to be put so that it has just that lag once it is there: it moves V.
 * @others is the weight that is already there.
 */
static inline s64 inflated_lag(s64 lag, u64 others, u32 weight)
{
	return others ? lag + truncated_div(lag * (s64)weight, others) : 0;
}

/* A distance in virtual time, for a task that has another weight from now on; both are scaled, or neither. */
static inline s64 rescaled(s64 distance, u64 before, u64 after)
{
	return truncated_div(distance * (s64)before, after);
}

#endif /* SCHEDLAB_EEVDF_VIRTUAL_DEADLINE_BPF_H */
