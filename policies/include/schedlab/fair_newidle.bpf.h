/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a CPU that runs out of tasks looks for some at a level of its domains, and what it remembers of that.
 *
 * It looks only if idle times so far are longer than a look. Kernels of 2026 also draw a random number: the chance
 * of a look is the part of looks that found a task, of the last 1024, and a half at first. A look that finds a task
 * counts for those that chance left out. Since 7.1 a CPU that rarely runs out of tasks has a better chance.
 *
 * Example: a CPU runs out of tasks 512 times in a second, and 64 looks find one. The chance was a half, so each counts
 * for two. With the 256 successes from before the new chance is 384 of 1024, and 622 since 7.1.
 *
 * Source: Linux 7.3, kernel/sched/fair.c sched_balance_newidle(), update_newidle_stats() (NI_RANDOM, NI_RATE); the
 * stable series 6.1, 6.12 (6.12.65) and 6.18 (6.18.5) have NI_RANDOM too.
 */
#ifndef SCHEDLAB_FAIR_NEWIDLE_BPF_H
#define SCHEDLAB_FAIR_NEWIDLE_BPF_H

#include <schedlab/fair_state.bpf.h>

enum newidle_rule { NEWIDLE_ALWAYS, NEWIDLE_CHANCE, NEWIDLE_RATE, NEWIDLE_AUTO };
PARAMETER(u32, newidle, NEWIDLE_AUTO,
	  "choices=always,chance,rate,auto about=When a CPU that runs out of tasks looks for some on others: always; "
	  "with the probability with which that succeeded before; or the same, but more likely if it rarely runs out "
	  "of tasks. `auto` means `rate` since 7.1, `chance` in the stable series of 6.1, 6.12 and 6.18, otherwise "
	  "`always`.");

#define NEWIDLE_ALL 1024

static inline enum newidle_rule newidle_rule(void)
{
	if (newidle != NEWIDLE_AUTO)
		return newidle;
	return has_newidle_rate() ? NEWIDLE_RATE : has_newidle_chance() ? NEWIDLE_CHANCE : NEWIDLE_ALWAYS;
}

/* As if half of the looks so far had found a task. Each level of each CPU draws other numbers, by its @place. */
static inline void begin_newidle(struct newidle *level, u32 place, u64 now)
{
	level->drawn = (place + 1) * 2654435769U;
	level->calls = NEWIDLE_ALL / 2;
	level->successes = NEWIDLE_ALL / 4;
	level->ratio = NEWIDLE_ALL / 2;
	level->halved_at = now;
}

/* Counts one time that the CPU ran out of tasks. */
static void count_newidle(struct newidle *level, u32 successes, u64 now)
{
	u64 ratio = 0;

	level->calls++;
	level->successes += successes;
	if (level->calls < NEWIDLE_ALL)
		return;
	if (newidle_rule() == NEWIDLE_RATE)
		ratio = (now - level->halved_at) >> 22;
	ratio += level->successes;
	level->ratio = newidle_rule() == NEWIDLE_RATE && ratio > NEWIDLE_ALL ? NEWIDLE_ALL : ratio;
	level->halved_at = now;
	level->calls /= 2;
	level->successes /= 2;
}

static inline bool is_by_chance(const struct newidle *level)
{
	enum newidle_rule rule = newidle_rule();

	return rule == NEWIDLE_CHANCE || (rule == NEWIDLE_RATE && level->ratio < NEWIDLE_ALL);
}

/* For how many calls one counts that looks. */
static inline u32 newidle_weight(const struct newidle *level)
{
	u32 ratio = level->ratio + 1;

	return is_by_chance(level) ? (NEWIDLE_ALL + ratio / 2) / ratio : 1;
}

/*
 * A number below NEWIDLE_ALL. The level has a generator, so that a run repeats: the constants are those of Numerical
 * Recipes, and the upper bits have long periods.
 */
static inline u32 draw_chance(struct newidle *level)
{
	level->drawn = level->drawn * 1664525 + 1013904223;
	return level->drawn >> 22;
}

/* Whether it looks this time. */
static bool looks_for_tasks(struct newidle *level, u64 now)
{
	if (!is_by_chance(level) || draw_chance(level) <= level->ratio + 1)
		return true;
	count_newidle(level, 0, now);
	return false;
}

/* Whether there is time to look at the next level: a CPU should not still look when its next task comes. */
static bool has_time_to_look(struct fair_queue *q, struct newidle *level, u64 now)
{
	if (now - q->cost_decayed_at > NS_PER_S)
		level->cost = level->cost * 253 / 256;
	q->level_began = bpf_ktime_get_ns();
	return q->average_idle >= q->level_began - q->levels_began + level->cost;
}

/* It has looked, and found a task or not. */
static void count_look(const struct fair_queue *q, struct newidle *level, bool found, u64 now)
{
	u64 took = bpf_ktime_get_ns() - q->level_began;

	if (took > level->cost)
		level->cost = took;
	count_newidle(level, found ? newidle_weight(level) : 0, now);
}

#endif /* SCHEDLAB_FAIR_NEWIDLE_BPF_H */
