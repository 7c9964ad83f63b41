/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks are CPU-bound, and what that costs.
 *
 * A task that runs for its whole first slice before it sleeps is CPU-bound, and its nice value is raised. `slice0` is
 * that slice; by itself it is what CFS of that time gives to one of the tasks that the CPU has when the task first
 * runs. From then on each wake-up begins a new slice: a task that sleeps before it has used that much is not CPU-bound,
 * and loses its penalty.
 *
 * Example: two hogs of nice 0 begin on one of two CPUs. The first has used 6 ms of 12 / 2 ms at 6 ms, and weighs 335.5
 * from then on.
 */
#ifndef ALB_PENALTY_BPF_H
#define ALB_PENALTY_BPF_H

#include <schedlab/status.bpf.h>
#include <alb/balance_weight.bpf.h>

PARAMETER(u32, penalise, 0,
	  "choices=once,each,none about=When a CPU-bound task gets its penalty: all of it for the first slice that it "
	  "uses up, one nice step for each such slice, or never.");
enum { PENALISE_ONCE, PENALISE_EACH, PENALISE_NONE };
PARAMETER(u32, penalty, 5,
	  "range=1..39 about=The largest penalty, in nice steps. The nice value does not rise above 19.");
PARAMETER(u64, slice0, 0,
	  "unit=ns range=0ns..10s about=A task that uses up this slice is CPU-bound. 0 means the latency divided by "
	  "the number of tasks on the CPU when the task first runs, but at least the granularity.");
PARAMETER(bool, shadow_nice, false,
	  "about=Whether the penalty counts for the balancer only, not for the share of CPU time.");

/* What the balancer knows of a task. */
struct balance_state {
	u64 weight;	/* as it counts in the sum of its CPU */
	u64 burst;	/* ns that it ran since it woke, except for the turn that continues */
	u64 first_slice;
	u32 used;	/* slices of the burst that have been punished */
	u32 penalty;	/* nice steps */
	u32 ticket;	/* of its arrival */
	u32 candidate;	/* its number in a division */
	bool counted;	/* in the sum of its CPU */
};

/* The level at which a task weighs for the balancer. */
static inline u32 level_of(const struct task_struct *p, u32 nice_steps)
{
	s32 level = nice_of(p) + LEVEL_NICE_0 + (s32)nice_steps;

	if (p->policy == SCHED_IDLE)
		return LEVEL_IDLE;
	return level < 0 ? 0 : level > LEVEL_NICE_19 ? LEVEL_NICE_19 : level;
}

/* What a task that has run for @burst since it woke has to bear, in nice steps. */
static inline u32 penalty_after(struct balance_state *b, u64 burst)
{
	u32 used = b->first_slice ? burst / b->first_slice : 0, more = used - b->used;

	if (used <= b->used)
		return b->penalty;
	b->used = used;
	if (penalise == PENALISE_ONCE)
		return penalty;
	return b->penalty + more < penalty ? b->penalty + more : penalty;
}

/* How much longer it may run before that has to be asked again. */
static inline u64 until_penalty(const struct balance_state *b, u64 burst)
{
	if (penalise == PENALISE_NONE || b->penalty >= penalty || !b->first_slice)
		return ~0ULL;
	return b->first_slice - burst % b->first_slice;
}

#endif /* ALB_PENALTY_BPF_H */
