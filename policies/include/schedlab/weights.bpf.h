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

static const u32 nice_weights[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, /* -20 .. -11 */
	9548,  7620,  6100,  4904,  3906,  3121,  2501,	 1991,	1586,  1277,  /* -10 .. -1 */
	1024,  820,   655,   526,   423,   335,	  272,	 215,	172,   137,   /* 0 .. 9 */
	110,   87,    70,    56,    45,	   36,	  29,	 23,	18,    15,    /* 10 .. 19 */
};

/* The nice value of a task. */
static inline s32 nice_of(const struct task_struct *p)
{
	return p->static_prio - 120;
}

/* The weight of a task by its class and nice value. */
static inline u32 weight_of(const struct task_struct *p)
{
	const u32 *weight = ELEMENT(nice_weights, nice_of(p) + 20);

	if (p->policy == 5) /* SCHED_IDLE */
		return IDLE_WEIGHT;
	return weight ? *weight : NICE_0_WEIGHT;
}

#endif /* SCHEDLAB_WEIGHTS_BPF_H */
