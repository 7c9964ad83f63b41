/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Weights of nice values. One nice step is a factor of 1.25, nice 0 weighs 1024. The numbers are part of Linux'
 * interface in all but name since 2.6.23 (kernel/sched/core.c, sched_prio_to_weight).
 */
#ifndef SCHEDLAB_WEIGHTS_BPF_H
#define SCHEDLAB_WEIGHTS_BPF_H

#include <schedlab/common.bpf.h>

#define NICE_0_WEIGHT 1024
/* A task of SCHED_IDLE. */
#define IDLE_WEIGHT 3

/*
 * A scaled weight has ten more bits. The least one of either kind is 2 (scale_load(), scale_load_down(), MIN_SHARES of
 * kernel/sched/sched.h).
 */
#define WEIGHT_BITS 10
#define SCALED_NICE_0 (1ULL << 20)
#define LEAST_WEIGHT 2ULL

static inline u64 scaled(u64 weight)
{
	return weight << WEIGHT_BITS;
}

static inline u64 unscaled(u64 weight)
{
	u64 whole = weight >> WEIGHT_BITS;

	return weight && whole < LEAST_WEIGHT ? LEAST_WEIGHT : whole;
}

static const u32 nice_weights[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, /* -20 .. -11 */
	9548,  7620,  6100,  4904,  3906,  3121,  2501,	 1991,	1586,  1277,  /* -10 .. -1 */
	1024,  820,   655,   526,   423,   335,	  272,	 215,	172,   137,   /* 0 .. 9 */
	110,   87,    70,    56,    45,	   36,	  29,	 23,	18,    15,    /* 10 .. 19 */
};

/* 2^32 / weight, rounded as in Linux' table, to multiply instead of divide. */
static const u32 nice_inverses[40] = {
	48388,	   59856,     76040,	 92818,	    118348,    /* -20 .. -16 */
	147320,	   184698,    229616,	 287308,    360437,    /* -15 .. -11 */
	449829,	   563644,    704093,	 875809,    1099582,   /* -10 .. -6 */
	1376151,   1717300,   2157191,	 2708050,   3363326,   /* -5 .. -1 */
	4194304,   5237765,   6557202,	 8165337,   10153587,  /* 0 .. 4 */
	12820798,  15790321,  19976592,	 24970740,  31350126,  /* 5 .. 9 */
	39045157,  49367440,  61356676,	 76695844,  95443717,  /* 10 .. 14 */
	119304647, 148102320, 186737708, 238609294, 286331153, /* 15 .. 19 */
};
#define IDLE_INVERSE 1431655765

/* The weight of a task by its class and nice value. */
static inline u32 weight_of(const struct task_struct *p)
{
	const u32 *weight = ELEMENT(nice_weights, nice_of(p) + 20);

	if (p->policy == 5) /* SCHED_IDLE */
		return IDLE_WEIGHT;
	return weight ? *weight : NICE_0_WEIGHT;
}

/* 2^32 / the weight of a task. */
static inline u32 inverse_of(const struct task_struct *p)
{
	const u32 *inverse = ELEMENT(nice_inverses, nice_of(p) + 20);

	if (p->policy == 5) /* SCHED_IDLE */
		return IDLE_INVERSE;
	return inverse ? *inverse : 1U << 22;
}

#endif /* SCHEDLAB_WEIGHTS_BPF_H */
