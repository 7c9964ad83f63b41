/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The run queue of a CPU: two arrays of tasks by priority, active and expired, and what balancers know of it.
 *
 * Each array is one dispatch queue ordered by priority and place. The task that runs is in none, but keeps its place:
 * its key. So it is compared with the head of the active array as if it still stood there. Arrays are swapped by
 * number.
 *
 * Counts change under the lock of some run queue, not always this one's: hence atomic additions. Everything else is
 * written by the CPU itself, or by the balancer's timer where a stale value costs one late look.
 */
#ifndef LINUX_O1_RUN_QUEUE_BPF_H
#define LINUX_O1_RUN_QUEUE_BPF_H

#include <schedlab/domains.bpf.h>
#include <schedlab/load_average.bpf.h>
#include <schedlab/priority_queue.bpf.h>
#include <linux-o1/interactivity.bpf.h>

#define MAX_CPUS 1024
#define NO_CPU (~0U)
/* The priority of an idle CPU: every task is better. */
#define IDLE_PRIO MAX_PRIO
/* Between two places in a list; children take places between. */
#define KEY_STEP (1 << 16)
/* Smoothed loads reach the load itself after that many ticks. */
#define LOAD_TICKS_MAX 100

/* What a CPU remembers of balancing one level of domains. */
struct balance_state {
	u64 last_jiffy;
	u32 interval_ms;
	u32 failed;
};

struct run_queue {
	u64 sequence;       /* of places */
	u64 expired_since;  /* the jiffy of the first expiry since the arrays were swapped, 0: none */
	u64 switched_at;    /* when it last took a task or lost one */
	u64 load;           /* the weight of its tasks, the one that runs included */
	u64 cpu_load[3];    /* the same, smoothed more and more */
	u64 load_jiffy;     /* the last tick that is in them */
	u64 next_balance;   /* the jiffy of its next look at domains */
	u64 excluded;       /* the look at domains that leaves this CPU out */
	u32 active;         /* which of the two arrays is active */
	u32 nr_running;     /* the one that runs included */
	u32 current_prio;   /* IDLE_PRIO: none */
	u32 current_static_prio;
	u32 current_load;
	u32 best_expired_prio;
	u32 push_to;        /* 1 + the CPU that gets the task that runs, 0: none */
	bool current_pinned;
	bool idle;          /* it went idle, and has had no task since */
	struct balance_state balance[MAX_DOMAIN_LEVEL];
};

static struct run_queue run_queues[MAX_CPUS];
static u32 nr_cpus;
/* Run queues with two tasks or more: without any there is nothing to balance. */
static u32 nr_overloaded;

static inline u64 lesser(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline struct run_queue *queue_of(u32 cpu)
{
	return ELEMENT(run_queues, cpu);
}

static inline u64 jiffy_of(u64 now)
{
	return now / jiffy_ns;
}

static inline u64 dsq_of(u32 cpu, u32 array)
{
	return cpu * 2ULL + (array & 1);
}

/* A place at the tail of the list of @prio. */
static inline u64 tail_key(struct run_queue *rq, u32 prio)
{
	return key_tail(prio - MAX_RT_PRIO, __sync_fetch_and_add(&rq->sequence, KEY_STEP));
}

static inline bool is_idle(const struct run_queue *rq)
{
	return !rq->nr_running;
}

/*
 * The smoothed loads of 2.6.22: at each tick the i-th moves to the load by 1/2^i of the way, rounded towards it. Ticks
 * are caught up with when the load changes or is asked for; in between it is what it was.
 */
static inline void tick_loads(struct run_queue *rq, u64 now)
{
	u64 jiffy = jiffy_of(now), ticks = jiffy - rq->load_jiffy, load = rq->load;
	u32 tick;

	if (jiffy <= rq->load_jiffy)
		return;
	rq->load_jiffy = jiffy;
	rq->cpu_load[0] = load;
	if (rq->cpu_load[1] == load && rq->cpu_load[2] == load)
		return;
	if (ticks >= LOAD_TICKS_MAX) {
		rq->cpu_load[1] = rq->cpu_load[2] = load;
		return;
	}
	bpf_for(tick, 0, ticks) {
		rq->cpu_load[1] = smoothed_by(rq->cpu_load[1], load, 1);
		rq->cpu_load[2] = smoothed_by(rq->cpu_load[2], load, 2);
	}
}

/* What a CPU offers as a source of tasks, read low, and as a target, read high. Index 0 is the load now. */
static inline u64 smoothed_load(struct run_queue *rq, u32 index, u64 now)
{
	u64 *smoothed = ELEMENT(rq->cpu_load, (u64)index - 1);

	tick_loads(rq, now);
	return smoothed ? *smoothed : rq->load;
}

static inline u64 source_load(struct run_queue *rq, u32 index, u64 now)
{
	u64 smoothed = smoothed_load(rq, index, now);

	return smoothed < rq->load ? smoothed : rq->load;
}

static inline u64 target_load(struct run_queue *rq, u32 index, u64 now)
{
	u64 smoothed = smoothed_load(rq, index, now);

	return smoothed > rq->load ? smoothed : rq->load;
}

/* The load of a task: in 2.6.22 by its slice, in 2.6.3 tasks are only counted. */
static inline u32 load_of(const struct task_struct *p)
{
	return version == VERSION_2_6_22 ? full_slice(p) * LOAD_SCALE / slice_nice_0 : 0;
}

/* Counts a task on the run queue of @cpu. Returns whether something is there to balance now that was not before. */
static inline bool add_running(struct task_struct *p, struct o1_task *t, u32 cpu, u64 now)
{
	struct run_queue *rq = queue_of(cpu);

	if (!rq)
		return false;
	t->cpu = cpu;
	t->load = load_of(p);
	if (version == VERSION_2_6_22) {
		tick_loads(rq, now);
		__sync_fetch_and_add(&rq->load, t->load);
	}
	return __sync_fetch_and_add(&rq->nr_running, 1) == 1 && __sync_fetch_and_add(&nr_overloaded, 1) == 0;
}

static inline void remove_running(struct o1_task *t, u64 now)
{
	struct run_queue *rq = queue_of(t->cpu);

	if (!rq)
		return;
	if (version == VERSION_2_6_22) {
		tick_loads(rq, now);
		__sync_fetch_and_add(&rq->load, -(u64)t->load);
	}
	if (__sync_fetch_and_add(&rq->nr_running, -1) == 2)
		__sync_fetch_and_add(&nr_overloaded, -1);
}

/* The best priority a run queue is known to have. */
static inline u32 best_prio(const struct run_queue *rq)
{
	return rq->current_prio < rq->best_expired_prio ? rq->current_prio : rq->best_expired_prio;
}

/* Has @cpu choose again if a task with @prio may not wait for the one that runs there. */
static inline void preempt_for(u32 cpu, u32 prio)
{
	struct run_queue *rq = queue_of(cpu);

	if (rq && prio < rq->current_prio)
		scx_bpf_kick_cpu(cpu, rq->current_prio == IDLE_PRIO ? SCX_KICK_IDLE : SCX_KICK_PREEMPT);
}

#endif /* LINUX_O1_RUN_QUEUE_BPF_H */
