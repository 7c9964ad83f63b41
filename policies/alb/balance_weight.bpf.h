/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a task weighs for the balancer: 1024 / 1.25^nice, with fractions, or the integers by which CPU time is shared.
 * The two differ by 2.4 percent at most. Or all weigh the same: then tasks are divided by their number, which is the
 * average method of Johari and Kumar, the predecessor of this one.
 *
 * A level is a nice value from 0 (nice -20) to 39 (nice 19), or the idle class behind them, so that weights fall with
 * levels.
 *
 * Example: nice 19 weighs 14.7574, and 15 in the table.
 */
#ifndef ALB_BALANCE_WEIGHT_BPF_H
#define ALB_BALANCE_WEIGHT_BPF_H

#include <schedlab/weights.bpf.h>

PARAMETER(u32, weights, 0,
	  "choices=formula,table,count about=How much a task weighs for the balancer: 1024 / 1.25^nice, Linux's "
	  "integer for its nice value, or the same as any other.");
enum { WEIGHTS_FORMULA, WEIGHTS_TABLE, WEIGHTS_COUNT };

#define LEVELS 41
#define LEVEL_NICE_0 20
#define LEVEL_NICE_19 39
#define LEVEL_IDLE 40

/* Weights are sums of 2^-20: a machine of 4096 CPUs with a thousand tasks of nice -20 on each still fits. */
#define WEIGHT_SHIFT 20

static u64 level_weights[LEVELS];

static inline u64 balance_weight(u32 level)
{
	const u64 *weight = ELEMENT(level_weights, level);

	return weight ? *weight : 0;
}

static void set_weight_of(u32 level, u64 weight)
{
	u64 *place = ELEMENT(level_weights, level);

	if (place)
		*place = weight;
}

/* A quarter more for each level up from nice 0, a fifth less for each level down. */
static void init_weights(void)
{
	u64 heavier = (u64)NICE_0_WEIGHT << WEIGHT_SHIFT, lighter = heavier;
	u32 step;

	set_weight_of(LEVEL_IDLE, (u64)IDLE_WEIGHT << WEIGHT_SHIFT);
	bpf_for(step, 0, LEVEL_NICE_0 + 1) {
		set_weight_of(LEVEL_NICE_0 - step, heavier);
		if (LEVEL_NICE_0 + step <= LEVEL_NICE_19)
			set_weight_of(LEVEL_NICE_0 + step, lighter);
		heavier = heavier * 5 / 4;
		lighter = lighter * 4 / 5;
	}
	if (weights == WEIGHTS_COUNT) {
		bpf_for(step, 0, LEVELS)
			set_weight_of(step, (u64)NICE_0_WEIGHT << WEIGHT_SHIFT);
	}
	if (weights != WEIGHTS_TABLE)
		return;
	bpf_for(step, 0, LEVEL_IDLE) {
		const u32 *weight = ELEMENT(nice_weights, step);

		if (weight)
			set_weight_of(step, (u64)*weight << WEIGHT_SHIFT);
	}
}

#endif /* ALB_BALANCE_WEIGHT_BPF_H */
