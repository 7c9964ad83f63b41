/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What moves tasks between CPUs that each have a set of queues.
 *
 * balance=linux is the balancer of 2.6.3, the kernel of the paper, which left it as it was. A task wakes where it
 * was, or on the CPU of a waker that is about to sleep, and a new one starts on its parent's CPU. Every CPU looks for
 * the one with the most tasks (schedlab/flat_look.bpf.h): every 200 ms, each jiffy while it is idle, and when it runs
 * out of tasks. Tasks of the highest queue go first, and of one queue the last. A busy CPU leaves those that ran a
 * moment ago.
 *
 * balance=idle never looks: a task wakes on an idle CPU if there is one, and a CPU that runs out of tasks takes one
 * from the CPU on which most are waiting.
 *
 * Source: load_balance(), can_migrate_task() and rebalance_tick() of kernel/sched.c, Linux 2.6.3.
 */
#ifndef MLFQ_BALANCER_BPF_H
#define MLFQ_BALANCER_BPF_H

#include <schedlab/flat_look.bpf.h>
#include <schedlab/wake.bpf.h>
#include <mlfq/queues.bpf.h>

PARAMETER(u32, balance, 0,
	  "choices=linux,idle about=With `queues=percpu`: `linux` balances as the paper's kernel 2.6.3 did. With "
	  "`idle`, a waking task takes an idle CPU, and a CPU without tasks takes a waiting one.");
enum { BALANCE_LINUX, BALANCE_IDLE };

/* That kernel ticked a thousand times a second. */
#define JIFFY_NS NS_PER_MS
/* Jiffies between two looks of a busy CPU. */
#define BUSY_LOOK 200
/* A cache of 512 kB stays warm for that long. */
#define CACHE_DECAY_NS (2 * JIFFY_NS)

struct balancing {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct balancing);
} balancings SEC(".maps");

/* The jiffy at which busy CPUs look next. */
static u64 busy_look;
/* For when the timer is set. */
static u64 next_look_at;

/* Whether a task that wakes stays on its CPU, as in Linux. */
static inline bool stays_on_its_cpu(void)
{
	return queues == QUEUES_PERCPU && balance == BALANCE_LINUX;
}

/* @cpu if it is idle, which it is not any longer after this; otherwise a negative number. */
static inline s32 idle_or_none(s32 cpu)
{
	return scx_bpf_test_and_clear_cpu_idle(cpu) ? cpu : -1;
}

/* Where a task becomes ready. Among the sources only pipes say that the waker is about to sleep. */
static inline s32 linux_cpu(struct task_struct *p, s32 previous, u64 wake_flags)
{
	enum wake_source source = wake_source(p);
	bool sync = source == WAKE_PIPE || (source == WAKE_UNKNOWN && (wake_flags & SCX_WAKE_SYNC));
	s32 here = bpf_get_smp_processor_id();

	return sync && !(wake_flags & SCX_WAKE_FORK) && bpf_cpumask_test_cpu(here, p->cpus_ptr) ? here : previous;
}

static inline u32 flat_tasks_on(u32 cpu)
{
	return scx_bpf_dsq_nr_queued(dsq_of(cpu)) + (cpu_queue(cpu) != 0);
}

/* Whether a waiting task may go to @to. */
static inline bool may_go(struct task_struct *p, const struct history *h, s32 to, bool any_heat, u64 now)
{
	return bpf_cpumask_test_cpu(to, p->cpus_ptr) && (any_heat || now - h->ready_since > CACHE_DECAY_NS);
}

/* The highest queue of @from with a task that may go to @to; 0 when there is none. */
static u32 movable_queue(s32 from, s32 to, bool any_heat, u64 now)
{
	struct task_struct *p;
	u32 queue = 0;

	bpf_for_each(scx_dsq, p, dsq_of(from), 0) {
		struct history *h = history_of(p);

		if (h && may_go(p, h, to, any_heat, now)) {
			queue = key_level(h->key);
			break;
		}
	}
	return queue;
}

/* Has @cpu choose again if a task of @queue came to it that goes before the one that runs there. */
static void offer(s32 cpu, u32 queue)
{
	u32 running = cpu_queue(cpu);

	if (running && running <= queue)
		return;
	cpu_set_queue(cpu, queue);
	scx_bpf_kick_cpu(cpu, running ? SCX_KICK_PREEMPT : SCX_KICK_IDLE);
}

/* Moves one task, to the tail of its queue on @to. Returns that queue; 0 when none may go. */
static u32 move_one(s32 from, s32 to, bool any_heat, u64 now)
{
	u32 queue = movable_queue(from, to, any_heat, now), moved = 0;
	struct task_struct *p;

	if (!queue)
		return 0;
	bpf_for_each(scx_dsq, p, dsq_of(from), SCX_DSQ_ITER_REV) {
		struct history *h = history_of(p);
		u64 key = key_tail(queue, now - epoch);

		if (!h || key_level(h->key) > queue || !may_go(p, h, to, any_heat, now))
			continue;
		if (key_level(h->key) < queue)
			break;
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, key);
		if (scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, dsq_of(to), 0)) {
			h->key = key;
			moved = queue;
			break;
		}
	}
	return moved;
}

/* One look of @cpu. */
__noinline int look(s32 cpu, bool idle, u64 now)
{
	u32 most, turn, queue, from;

	most = flat_imbalance(cpu, nr_cpus, idle, 1, &from);
	bpf_for(turn, 0, most) {
		queue = move_one(from, cpu, idle, now);
		if (!queue)
			break;
		offer(cpu, queue);
	}
	return 0;
}

static void look_again(struct balancing *balancing, u64 at, u64 now)
{
	next_look_at = at;
	bpf_timer_start(&balancing->timer, time_before(now, at) ? at - now : 0, 0);
}

static int look_at_all(void *map, u32 *key, struct balancing *balancing)
{
	u64 now = scx_bpf_now(), jiffy = now / JIFFY_NS;
	bool due = jiffy >= busy_look, some_idle = false;
	u32 waiting = 0;
	s32 cpu;

	if (due)
		busy_look = (jiffy / BUSY_LOOK + 1) * BUSY_LOOK;
	bpf_for(cpu, 0, nr_cpus) {
		bool idle = !cpu_queue(cpu);

		if (idle || due)
			look(cpu, idle, now);
		waiting += scx_bpf_dsq_nr_queued(dsq_of(cpu));
		some_idle |= idle;
	}
	look_again(balancing, (some_idle && waiting ? jiffy + 1 : busy_look) * JIFFY_NS, now);
	return 0;
}

/* A task waits while a CPU is idle: that CPU looks at the next jiffy. */
static inline void look_soon(u64 now)
{
	u64 at = (now / JIFFY_NS + 1) * JIFFY_NS;
	u32 key = 0;
	struct balancing *balancing = bpf_map_lookup_elem(&balancings, &key);
	s32 cpu;

	if (!balancing || !time_before(at, next_look_at))
		return;
	bpf_for(cpu, 0, nr_cpus) {
		if (!cpu_queue(cpu)) {
			look_again(balancing, at, now);
			break;
		}
	}
}

static s32 start_balancer(u64 now)
{
	u32 key = 0;
	struct balancing *balancing = bpf_map_lookup_elem(&balancings, &key);
	s32 error;

	if (!balancing)
		return -ENOENT;
	busy_look = (now / JIFFY_NS / BUSY_LOOK + 1) * BUSY_LOOK;
	error = bpf_timer_init(&balancing->timer, &balancings, CLOCK_MONOTONIC);
	error = error ?: bpf_timer_set_callback(&balancing->timer, look_at_all);
	if (!error)
		look_again(balancing, busy_look * JIFFY_NS, now);
	return error;
}

/* The CPU on which most tasks are waiting; negative when none is. */
static s32 most_waiting(void)
{
	s32 cpu, from = -1, most = 0;

	bpf_for(cpu, 0, nr_cpus) {
		s32 waiting = scx_bpf_dsq_nr_queued(dsq_of(cpu));

		if (waiting > most) {
			most = waiting;
			from = cpu;
		}
	}
	return from;
}

/* @cpu has run out of tasks. Returns whether it got one. */
static bool pull_newly_idle(s32 cpu, u64 now)
{
	s32 waiting;
	u32 from;

	if (balance == BALANCE_IDLE) {
		waiting = most_waiting();
		return waiting >= 0 && scx_bpf_dsq_move_to_local(dsq_of(waiting), 0);
	}
	cpu_set_queue(cpu, 0);
	return flat_imbalance(cpu, nr_cpus, true, 1, &from) && move_one(from, cpu, true, now) &&
	       scx_bpf_dsq_move_to_local(dsq_of(cpu), 0);
}

#endif /* MLFQ_BALANCER_BPF_H */
