/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What ticks do: slices are used up and end, interactive tasks take turns within them, starving tasks get their turn.
 */
#ifndef LINUX_O1_SLICES_BPF_H
#define LINUX_O1_SLICES_BPF_H

#include <linux-o1/run_queue.bpf.h>

/*
 * Whether the expired array has waited for too long, or has a task with a better nice value than the one that runs.
 * Interactive tasks may not go back to the active array then.
 */
static bool expired_starving(const struct task_struct *p, const struct run_queue *rq, u64 jiffy)
{
	if (rq->expired_since && jiffy - rq->expired_since > (u64)sleep_avg_max * rq->nr_running)
		return true;
	return (u32)p->static_prio > rq->best_expired_prio;
}

/* The slice is used up. */
static void expire(struct task_struct *p, struct o1_task *t, struct run_queue *rq, u64 jiffy)
{
	t->prio = effective_prio(p, t);
	t->time_slice = full_slice(p);
	t->first_slice = false;
	if (!rq->expired_since)
		rq->expired_since = jiffy;
	if (!is_interactive(p, t) || expired_starving(p, rq, jiffy)) {
		t->array = !rq->active;
		if ((u32)p->static_prio < rq->best_expired_prio)
			rq->best_expired_prio = p->static_prio;
	}
	t->key = tail_key(rq, t->prio);
}

/* An interactive task at the end of a part of its slice: behind those of its priority. */
static void rotate(struct task_struct *p, struct o1_task *t, struct run_queue *rq)
{
	if (version == VERSION_2_6_3)
		t->prio = effective_prio(p, t);
	t->key = tail_key(rq, t->prio);
}

/* Counts the ticks that hit the running task. One that used up its slice is moved, and gives way in dispatch(). */
static void count_ticks(struct task_struct *p, struct o1_task *t, u64 now)
{
	struct run_queue *rq = queue_of(t->cpu);
	u64 jiffy = jiffy_of(now), ticks = jiffy - t->ticked;
	u32 full = full_slice(p), part = timeslice_granularity(t, nr_cpus), done;

	if (!rq || jiffy <= t->ticked)
		return;
	t->ticked = jiffy;
	if (t->array != rq->active)
		return;
	if (ticks >= t->time_slice) {
		expire(p, t, rq, jiffy);
		return;
	}
	done = full - t->time_slice;
	t->time_slice -= ticks;
	if (is_interactive(p, t) && t->time_slice >= part && done < full && (done + ticks) / part > done / part)
		rotate(p, t, rq);
}

/* The time up to the tick at which something happens to the task that runs: its slice ends, or a part of it. */
static u64 time_ahead(struct task_struct *p, struct o1_task *t, u64 now)
{
	u32 full = full_slice(p), part = timeslice_granularity(t, nr_cpus), ticks = t->time_slice, next;

	if (is_interactive(p, t) && t->time_slice <= full) {
		next = part - (full - t->time_slice) % part;
		if (t->time_slice >= next + part)
			ticks = next;
	}
	return (t->ticked + ticks) * jiffy_ns - now;
}

#endif /* LINUX_O1_SLICES_BPF_H */
