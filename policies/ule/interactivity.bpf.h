/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a task's past makes of it: its score, its CPU use, its priority.
 *
 * Run time and voluntary sleep are remembered, about five seconds in all. Waiting for a CPU is neither.
 */
#ifndef ULE_INTERACTIVITY_BPF_H
#define ULE_INTERACTIVITY_BPF_H

#include <ule/parameters.bpf.h>

#define SCORE_HALF 50

struct history {
	u64 run;        /* 1/1024 of a tick */
	u64 slept;
	u64 used;       /* run time in the window, for batch priorities */
	u64 first_tick; /* of the window */
	u64 last_tick;  /* up to which it is known */
};

/*
 * The score, from 0 (only sleeps) to 100 (only runs):
 *
 *	50 run / slept			when it slept more
 *	50 + 50 - 50 slept / run	when it ran more
 *
 * FreeBSD stops at 50, which is enough for the limit of 30; then no history at all is 50, too.
 */
static inline u32 score_of(const struct history *h)
{
	u64 unit;

	if (mode == MODE_FREEBSD && interact <= SCORE_HALF && h->run >= h->slept)
		return SCORE_HALF;
	if (h->run == h->slept)
		return h->run ? SCORE_HALF : 0;
	if (h->run > h->slept) {
		unit = h->run / SCORE_HALF ?: 1;
		return 2 * SCORE_HALF - h->slept / unit;
	}
	unit = h->slept / SCORE_HALF ?: 1;
	return h->run / unit;
}

/* The score with the nice value: a task with less than `interact` is interactive. */
static inline u32 nice_score(const struct history *h, s32 nice)
{
	s32 score = (s32)score_of(h) + nice;

	return score > 0 ? score : 0;
}

/* Forgets, so that run and sleep together stay near five seconds. Called after each change of either. */
static inline void limit_history(struct history *h)
{
	u64 sum = h->run + h->slept;

	if (sum < history_max)
		return;
	if (sum > 2 * history_max) {
		/* One event longer than all that is remembered: only which of the two it was stays. */
		bool ran = h->run > h->slept;

		h->run = ran ? history_max : 1;
		h->slept = ran ? 1 : history_max;
	} else if (sum > history_max / 5 * 6) {
		h->run /= 2;
		h->slept /= 2;
	} else {
		h->run = h->run / 5 * 4;
		h->slept = h->slept / 5 * 4;
	}
}

/* What a child remembers of its creator's past: the same ratio, but half a second of it. It shall learn fast. */
static inline void shorten_history(struct history *h)
{
	u64 sum = h->run + h->slept, ratio = sum / history_fork;

	if (sum > history_fork) {
		h->run /= ratio;
		h->slept /= ratio;
	}
}

/* CPU use up to the tick @now, in a window of ten seconds, eleven at most. @ran: it had a CPU since the last time. */
static inline void update_use(struct history *h, bool ran, u64 now)
{
	u64 begin = now - WINDOW_S * hz_per_s;

	if (now < h->last_tick) /* CPUs' clocks differ, and a task was where one goes before */
		return;
	if (now - h->last_tick >= WINDOW_S * hz_per_s) {
		h->used = 0;
		h->first_tick = begin;
	} else if (now - h->first_tick >= WINDOW_MAX_S * hz_per_s) {
		h->used = h->used / (h->last_tick - h->first_tick) * (h->last_tick - begin);
		h->first_tick = begin;
	}
	if (ran)
		h->used += (now - h->last_tick) << HISTORY_SHIFT;
	h->last_tick = now;
}

/* CPU use in levels: the window, but at least a second, is divided into as many parts as there are levels. */
static inline u32 use_level(const struct history *h, u32 levels)
{
	u64 window = h->last_tick - h->first_tick, level;

	if (window < hz_per_s)
		window = hz_per_s;
	level = (h->used >> HISTORY_SHIFT) / ((window + levels - 1) / levels);
	return level < levels ? level : levels - 1;
}

/* What a nice value adds to a batch priority. The port has fewer levels. */
static inline s32 nice_levels(s32 nice)
{
	if (mode == MODE_FREEBSD)
		return nice;
	return nice < 0 ? -(s32)(40 * (u32)-nice / 104) : (s32)(40 * (u32)nice / 104);
}

/* An interactive task's priority is its score, if there are levels enough; a batch task's is CPU use and nice value. */
static inline u32 priority_of(const struct history *h, s32 nice)
{
	const struct priority_range *range = &priority_ranges[mode == MODE_FREEBSD];
	u32 score = nice_score(h, nice);

	if (score < interact)
		return range->interactive + range->interactive_levels / interact * score;
	return range->use + use_level(h, range->use_levels) + nice_levels(nice);
}

static inline bool is_interactive(u32 priority)
{
	return priority < priority_ranges[mode == MODE_FREEBSD].batch;
}

/* How many of the next @ticks ticks on a CPU make the task a batch task; @ticks if none of them does. */
static inline u32 ticks_until_batch(const struct history *history, s32 nice, u32 ticks)
{
	struct history h = *history;
	u32 tick;

	h.run += ticks * tick_history;
	if (h.run + h.slept < history_max && nice_score(&h, nice) < interact)
		return ticks;
	h.run = history->run;
	bpf_for(tick, 1, ticks) {
		h.run += tick_history;
		limit_history(&h);
		if (nice_score(&h, nice) >= interact)
			return tick;
	}
	return ticks;
}

#endif /* ULE_INTERACTIVITY_BPF_H */
