/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The high-resolution tick: a timer for each CPU that goes off when the running task's request is used up. Without
 * it that is seen at the tick after that.
 *
 * It is set while others wait, and not for less than 10 us. It does not heed protection, nor does a tick heed it.
 * It is set when a CPU begins with a task, and when another task comes to wait. A task that is chosen again when
 * its request ends has no timer for the next request: its CPU looks again at a tick.
 *
 * Example, one CPU, slice 0.7 ms, ticks each 4 ms: two hogs take turns of 0.7 ms, and of 4 ms without it. Of a hog
 * and one with a nice value of 19 the second begins all of its turns but the first at a tick.
 *
 * Source: Linux 7.2, kernel/sched/fair.c hrtick_start_fair(), core.c hrtick_start(). pick_next_task_fair() calls
 * __set_next_task_fair(), which sets the timer, only for another task than the one that ran.
 */
#ifndef SCHEDLAB_EEVDF_HRTICK_BPF_H
#define SCHEDLAB_EEVDF_HRTICK_BPF_H

#include <eevdf/pick.bpf.h>

enum { HRTICK_FALSE, HRTICK_TRUE, HRTICK_AUTO };
PARAMETER(u32, hrtick, HRTICK_AUTO,
	  "choices=false,true,auto about=Whether a separate timer ends requests instead of the next tick. `auto` means "
	  "true since 7.3.");

#define LEAST_HRTICK (10 * 1000ULL)

struct hrtick {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, u32);
	__type(value, struct hrtick);
} hrticks SEC(".maps");

static inline bool has_hrtick(void)
{
	return hrtick == HRTICK_TRUE || (hrtick == HRTICK_AUTO && version >= LINUX_7_3);
}

/* The CPU looks at its task, and not lazily, unless it has begun something else meanwhile. */
static int on_hrtick(void *map, u32 *key, struct hrtick *tick)
{
	struct fair_queue *q = queue_of(*key);

	if (!q || !q->running || !q->clock.nr_queued || time_before(scx_bpf_now(), q->clock.hrtick_at))
		return 0;
	q->clock.lazy_until = 0;
	scx_bpf_kick_cpu(*key, SCX_KICK_PREEMPT);
	return 0;
}

/* Sets the timer of @cpu, if others wait and it is not set for this end. */
static void set_hrtick(struct fair_queue *q, u32 cpu, u64 now)
{
	struct hrtick *tick;
	u64 at;

	if (!has_hrtick() || !q->clock.nr_queued)
		return;
	at = reaches_at(q, q->clock.deadline);
	if (time_before(at, now + LEAST_HRTICK))
		at = now + LEAST_HRTICK;
	if (at == q->clock.hrtick_at)
		return;
	q->clock.hrtick_at = at;
	tick = bpf_map_lookup_elem(&hrticks, &cpu);
	if (tick)
		bpf_timer_start(&tick->timer, at - now, 0);
}

static s32 init_hrticks(void)
{
	s32 error = 0;
	u32 cpu;

	if (!has_hrtick())
		return 0;
	bpf_for(cpu, 0, nr_cpus) {
		struct hrtick *tick;
		u32 key = cpu;

		tick = bpf_map_lookup_elem(&hrticks, &key);
		if (!tick)
			return -ENOENT;
		error = bpf_timer_init(&tick->timer, &hrticks, CLOCK_MONOTONIC);
		error = error ?: bpf_timer_set_callback(&tick->timer, on_hrtick);
		if (error)
			break;
	}
	return error;
}

#endif /* SCHEDLAB_EEVDF_HRTICK_BPF_H */
