/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decayed load averages of tasks and run queues (PELT, per-entity load tracking).
 *
 * Time is cut into periods of 1024 units of 1024 ns. What happened n periods ago counts y^n, with y^32 = 1/2. A sum is
 *
 *	S = u_0 + u_1 y + u_2 y^2 + ...		u_n: the units of period n in which the condition held, times a rate
 *
 * and an average is S divided by what S would be if the condition had always held, 47742. So it is the rate times the
 * part of the last tenths of a second. Three conditions are followed at once: being runnable, at the rate of the weight
 * (`load`), the same at another rate that the caller chooses (`runnable`), and running, at the rate of 1024 (`util`).
 *
 * Example: a task of weight 1024 that always runs has a load and a util of 512 after 32 periods, 768 after 64.
 *
 * The integers are those of Linux: 4.9 rounds each period's part down and divides by the limit; later kernels derive
 * the parts between two periods from the limit and divide by what the limit is at this point of a period.
 *
 * Source: Linux 4.9 kernel/sched/fair.c, Linux 6.1 kernel/sched/pelt.c.
 */
#ifndef SCHEDLAB_LOAD_AVERAGE_BPF_H
#define SCHEDLAB_LOAD_AVERAGE_BPF_H

#include <schedlab/common.bpf.h>

#define LOAD_PERIOD 1024
#define LOAD_SUM_MAX 47742
#define LOAD_UTIL_MAX 1024

/* Which kernel's integers: 4.9, or those since 4.12. And whether the task, or a task of the queue, was running. */
enum load_rule { LOAD_RULE_4_9 = 0, LOAD_RULE_LATER = 1 };
#define LOAD_RUNNING 2

struct load_average {
	u64 updated_at;	  /* ns, to a unit */
	u64 load_sum;	  /* rate times units */
	u64 runnable_sum; /* the same for the other rate */
	u64 util_sum;
	u64 load;
	u64 runnable;
	u64 util;
	u64 carried; /* units of the period that has begun */
};

/* y^k * 2^32, rounded down. */
static const u32 load_decays[32] = {
	0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb, 0xdbfbb796,
	0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9, 0xbd08a39e, 0xb8fbaf46,
	0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef5325f, 0x9b8d39b9,
	0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a, 0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
};

/* What some periods do to a sum: halve it so often, then multiply it by this over 2^32. */
struct load_decay {
	u64 halvings;
	u64 factor;
};

/* That of @periods, at least one. Of 63 halvings nothing is left. */
static inline struct load_decay load_decay_of(u64 periods)
{
	const u32 *factor = ELEMENT(load_decays, periods & 31);
	struct load_decay decay = { periods / 32, factor ? *factor : 0 };

	if (decay.halvings > 63)
		decay.halvings = 63;
	return decay;
}

static inline u64 load_decayed(u64 sum, struct load_decay decay)
{
	sum >>= decay.halvings;
	return (sum >> 32) * decay.factor + ((sum & 0xffffffff) * decay.factor >> 32);
}

/* @sum after @periods. */
static inline u64 load_decay(u64 sum, u64 periods)
{
	return periods ? load_decayed(sum, load_decay_of(periods)) : sum;
}

/* 1024 (y + ... + y^n) for n up to 32, and what 32 periods make of a sum again and again, as 4.9 rounds both. */
static const u16 load_contributions[33] = {
	0,     1002,  1982,  2941,  3880,  4798,  5697,	 6576,	7437,  8279,  9103,
	9909,  10698, 11470, 12226, 12966, 13690, 14398, 15091, 15769, 16433, 17082,
	17718, 18340, 18949, 19545, 20128, 20698, 21256, 21802, 22336, 22859, 23371,
};
static const u16 load_halvings[12] = {
	0, 23371, 35056, 40899, 43820, 45281, 46011, 46376, 46559, 46650, 46696, 46719,
};

/* What @periods whole periods give that are over, as 4.9 counts. */
static inline u64 load_contribution(u64 periods)
{
	const u16 *few, *half;

	if (periods >= 345)
		return LOAD_SUM_MAX;
	if (periods <= 32) {
		few = ELEMENT(load_contributions, periods);
		return few ? *few : 0;
	}
	few = ELEMENT(load_contributions, periods % 32);
	half = ELEMENT(load_halvings, periods / 32);
	return few && half ? load_decay(*half, periods % 32) + *few : 0;
}

/* What a sum of a condition that always held is now. */
static inline u64 load_divisor(const struct load_average *a, enum load_rule rule)
{
	return rule == LOAD_RULE_4_9 ? LOAD_SUM_MAX : LOAD_SUM_MAX - LOAD_PERIOD + a->carried;
}

static inline u64 load_grown(u64 sum, u64 rate, u64 before, struct load_decay decay, u64 after)
{
	return load_decayed(sum + rate * before, decay) + rate * after;
}

/*
 * Brings @a to @now; the conditions held at these rates since it was last updated. @how is a rule, and LOAD_RUNNING.
 * The averages change only when a period has ended since; returns whether one has. Not static, so that a verifier
 * looks at it once and not wherever it is called.
 */
__noinline bool load_average_update(struct load_average *a, u64 now, u64 load_rate, u64 runnable_rate, u32 how)
{
	u64 units, periods, before, after, divisor, util_rate = how & LOAD_RUNNING ? LOAD_UTIL_MAX : 0;
	enum load_rule rule = how & LOAD_RULE_LATER;
	struct load_decay decay;

	if (!a)
		return false;
	if (time_before(now, a->updated_at)) {
		a->updated_at = now;
		return false;
	}
	units = (now - a->updated_at) >> 10;
	if (!units)
		return false;
	a->updated_at += units << 10;
	periods = (units + a->carried) / LOAD_PERIOD;
	if (!periods) {
		a->carried += units;
		a->load_sum += load_rate * units;
		a->runnable_sum += runnable_rate * units;
		a->util_sum += util_rate * units;
		return false;
	}
	decay = load_decay_of(periods);
	before = LOAD_PERIOD - a->carried;
	a->carried = (units + a->carried) % LOAD_PERIOD;
	if (rule == LOAD_RULE_4_9) {
		after = load_contribution(periods - 1) + a->carried;
	} else {
		after = load_decayed(before, decay) + LOAD_SUM_MAX - load_decayed(LOAD_SUM_MAX, decay) - LOAD_PERIOD +
			a->carried;
		before = 0;
	}
	a->load_sum = load_grown(a->load_sum, load_rate, before, decay, after);
	a->runnable_sum = load_grown(a->runnable_sum, runnable_rate, before, decay, after);
	a->util_sum = load_grown(a->util_sum, util_rate, before, decay, after);
	divisor = load_divisor(a, rule);
	a->load = a->load_sum / divisor;
	a->runnable = a->runnable_sum / divisor;
	a->util = a->util_sum / divisor;
	return true;
}

static inline void load_take(u64 *from, u64 amount)
{
	*from = *from > amount ? *from - amount : 0;
}

/* By how much a load has grown; other CPUs may change it at the same time. */
static inline u64 load_growth(u64 before, u64 after)
{
	return after > before ? after - before : 0;
}

/* A task's averages join those of a queue, at the queue's point of time. */
static inline void load_average_attach(struct load_average *queue, struct load_average *task, enum load_rule rule)
{
	u64 divisor = load_divisor(queue, rule);

	task->updated_at = queue->updated_at;
	task->carried = queue->carried;
	task->load_sum = task->load * divisor;
	task->util_sum = task->util * divisor;
	queue->load += task->load;
	queue->load_sum += task->load_sum;
	queue->util += task->util;
	queue->util_sum += task->util_sum;
	if (rule != LOAD_RULE_4_9) {
		task->runnable_sum = task->runnable * divisor;
		queue->runnable += task->runnable;
		queue->runnable_sum += task->runnable_sum;
	}
}

/* And leave it. */
static inline void load_average_detach(struct load_average *queue, const struct load_average *task, enum load_rule rule)
{
	load_take(&queue->load, task->load);
	load_take(&queue->load_sum, task->load_sum);
	load_take(&queue->util, task->util);
	load_take(&queue->util_sum, task->util_sum);
	if (rule != LOAD_RULE_4_9) {
		load_take(&queue->runnable, task->runnable);
		load_take(&queue->runnable_sum, task->runnable_sum);
	}
}

/* A load that follows another, at each tick by 1/2^@k of the way, rounded towards it (2.6.22 to 4.9's cpu_load). */
static inline u64 smoothed_by(u64 old, u64 load, u32 k)
{
	u64 scale = 1ULL << k;

	return (old * (scale - 1) + load + (load > old ? scale - 1 : 0)) >> k;
}

#endif /* SCHEDLAB_LOAD_AVERAGE_BPF_H */
