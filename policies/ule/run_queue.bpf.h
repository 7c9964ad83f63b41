/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The queues of a CPU, its ticks, and what other CPUs know of it.
 *
 * Two dispatch queues for each CPU. Interactive tasks wait in lists by priority. Batch tasks wait in a calendar of 64
 * slots: a task is put as many slots ahead as its priority says, and the slots are served in their order. The calendar
 * advances by one slot a tick, but not past a slot that is not empty. So every task's slot comes, sooner for a good
 * priority, and no batch task starves.
 *
 * Slot numbers keep growing; the slot n of the original is n modulo 64. A key in the dispatch queue is the slot and
 * then the side: equal keys keep the order of arrival.
 *
 * Nothing happens at a tick here: what the ticks did is worked out at the next look.
 */
#ifndef ULE_RUN_QUEUE_BPF_H
#define ULE_RUN_QUEUE_BPF_H

#include <schedlab/priority_queue.bpf.h>
#include <ule/interactivity.bpf.h>

#define MAX_CPUS 1024

/* The next look comes within this many ticks: slices are that short. */
#define TICKS_MAX 1024

/* A slot of the key of a batch task; its head, where later ones come before earlier ones, and its tail. */
#define SLOT_SHIFT 20
#define SLOT_TAIL (1ULL << (SLOT_SHIFT - 1))
#define NO_SLOT (~0ULL)
/* The idle class waits behind all slots. */
#define IDLE_CLASS_SLOT (1ULL << 42)

/* Where a task that has to leave its CPU waits. PLACE_OWN: first in the slot that it has not left, if it is in one. */
enum place { PLACE_NONE, PLACE_TAIL, PLACE_HEAD, PLACE_OWN };

/*
 * What is known of a CPU. Counts change under several locks, hence by atomic additions. The rest is written by the CPU
 * itself, or under the lock of its dispatch queues, and read by others without: a stale number costs a worse choice.
 */
struct run_queue {
	u64 insert;        /* the slot from which tasks count ahead */
	u64 serve;         /* the slot that is served: `insert` or the one before */
	u64 calendar_tick; /* the tick up to which the calendar has advanced */
	u64 held;          /* the slot that the running task keeps, in the port, or NO_SLOT */
	u64 preempted;     /* tasks that were put to the head of a slot */
	u64 tick_base;     /* a tick, and when it came */
	u64 tick_base_at;
	u64 slice_from;    /* the tick at which the running task had used `slice_used` ticks */
	u64 slice_end;     /* the tick at which its CPU looks again */
	u32 slice_used;
	u32 slice_limit;   /* the slice it was given */
	u32 load;          /* tasks that want this CPU, the running one included */
	u32 transferable;  /* those that wait and may run elsewhere */
	u32 priority;      /* of the running task, NO_PRIORITY: idle */
	u32 best;          /* the best priority of the running and the waiting, NO_PRIORITY: idle */
	u32 random;
	u32 resched;       /* enum place: the running task has to let others choose */
	u64 tried;         /* the last search that wants it no more */
	bool donor;        /* for the balancer */
	bool candidate;
};

/* What is known of a task. */
struct thread {
	struct history history;
	u64 tick;          /* the last tick of its CPU that is accounted, while it runs */
	u64 last_ran;      /* the hz tick at which it left a CPU */
	u64 slept_at;      /* the hz tick at which it fell asleep */
	u64 key;           /* its place in a dispatch queue */
	u64 slot;          /* the slot of that place, NO_SLOT: in a list by priority */
	u32 priority;
	u32 used;          /* ticks of its slice */
	s32 cpu;           /* the CPU in whose load it is, -1: none */
	s32 waker;         /* the CPU on which it was woken, -1: unknown */
	u32 status;        /* 1 + what was published last */
	bool asleep;
	bool fresh;        /* not yet ready for the first time */
	bool ran;          /* had a CPU since it was last queued */
	bool running;
	bool interrupted;  /* lost its CPU to a higher class of schedulers */
	bool placed;       /* its key was chosen when it had to leave its CPU */
	bool yielded;
	bool transferable; /* counted as such */
	bool boosted;      /* woke as a batch task, and goes before others */
};

static struct run_queue run_queues[MAX_CPUS];
static u32 nr_cpus;
static u64 epoch;
/* When the hz tick 0 came. */
static u64 hz_from;
/* All that are transferable: without any, no CPU needs to look for one. */
static u32 nr_transferable;

static inline u64 interactive_queue(s32 cpu)
{
	return 2 * (u64)(u32)cpu;
}

static inline u64 batch_queue(s32 cpu)
{
	return 2 * (u64)(u32)cpu + 1;
}

/*
 * The queue in which a task's place is. The place decides, not the priority: a tick between the choice of the place and
 * the way there may have made the task a batch task, and places of the two queues cannot be compared.
 */
static inline u64 queue_of(s32 cpu, const struct thread *t)
{
	return t->slot == NO_SLOT ? interactive_queue(cpu) : batch_queue(cpu);
}

/* The hz tick at a time. */
static inline u64 hz_tick(u64 now)
{
	return time_after(now, hz_from) ? (now - hz_from) / hz_ns : 0;
}

/* How much later than CPU 0's the ticks of a CPU come. */
static inline u64 tick_offset(s32 cpu)
{
	return stagger && nr_cpus ? tick_ns * (u32)cpu / nr_cpus : 0;
}

static inline void begin_ticks(struct run_queue *rq, s32 cpu)
{
	rq->tick_base = 1;
	rq->tick_base_at = epoch + tick_offset(cpu);
}

/* The number of the last tick of a CPU, one that comes at this very instant included; and when a tick comes. */
static inline u64 tick_of(s32 cpu, u64 now)
{
	const struct run_queue *rq = ELEMENT(run_queues, cpu);

	return rq ? rq->tick_base + (now + tick_ns - rq->tick_base_at) / tick_ns - 1 : 0;
}

static inline u64 tick_time(s32 cpu, u64 tick)
{
	const struct run_queue *rq = ELEMENT(run_queues, cpu);

	return rq ? rq->tick_base_at + (tick - rq->tick_base) * tick_ns : 0;
}

/*
 * The port's ticks are the kernel's; FreeBSD has a clock of its own for slices. The last tick came just before now.
 * The port has one clock, jiffies, so its hz ticks come with those of its slices: a run that crosses one crosses the
 * other.
 */
static inline void follow_ticks(struct run_queue *rq, const struct task_struct *p, s32 cpu, u64 now)
{
	if (mode != MODE_PAPER || !ended_late(p, tick_time(cpu, rq->slice_end), now))
		return;
	rq->tick_base = tick_of(cpu, now);
	rq->tick_base_at = now - TICK_LEAD;
	if (!stagger || cpu == 0)
		hz_from = rq->tick_base_at - hz_tick(now) * hz_ns;
}

/* A generator of each CPU's own, as old as it is short. */
static inline u32 random_number(struct run_queue *rq)
{
	rq->random = rq->random * 69069 + 5;
	return rq->random >> 16;
}

/* Ticks of a slice with a load. The longest wait for a turn is aimed at, so a slice is a part of it. */
static inline u32 slice_of(u32 load)
{
	u32 others = load ? load - 1 : 0;

	if (others >= SLICE_MIN_TASKS)
		return slice_min_ticks;
	return others > 1 ? slice_ticks / others ?: 1 : slice_ticks;
}

/* Whether a task of priority @new takes the CPU from one of @current; @remote: another CPU than the one that asks. */
static inline bool should_preempt(u32 new, u32 current, bool remote)
{
	if (new >= current)
		return false;
	if (current >= IDLE_CLASS_PRIORITY)
		return true;
	if (!preempt_thresh)
		return false;
	if (new <= preempt_thresh)
		return true;
	return mode == MODE_FREEBSD && remote && is_interactive(new) && !is_interactive(current);
}

/* Whether a cache of this level is still warm for a task that left it at the tick @last. */
static inline bool is_warm(u64 last, u32 level, u64 now)
{
	return last + (u64)level * affinity_ticks > now;
}

/*
 * The slot of a batch priority. While the served slot drains, `insert` is one ahead, and the slot farthest ahead is the
 * served one again: a task that would land there goes one before.
 */
static inline u64 slot_of(u32 priority, u64 insert, u64 serve)
{
	const struct priority_range *range = &priority_ranges[mode == MODE_FREEBSD];
	u64 ahead = QUEUE_HEADS * (priority - range->batch) / range->batch_levels;

	return insert + ahead - (insert != serve && ahead == QUEUE_HEADS - 1);
}

/* The first slot that holds a task. In the port, the running task is in its slot still. */
static inline u64 first_slot(struct run_queue *rq, s32 cpu)
{
	struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(batch_queue(cpu));
	u64 slot = p ? p->scx.dsq_vtime >> SLOT_SHIFT : NO_SLOT;

	return rq->held < slot ? rq->held : slot;
}

/*
 * Advances a CPU's calendar to the present. To be called before a task is put in or taken out. At each tick `insert`
 * advances by one if the two are equal, and `serve` follows at once if its slot is empty, else when its last task left.
 */
static inline void advance(struct run_queue *rq, s32 cpu, u64 now)
{
	u64 tick = tick_of(cpu, now), ticks = tick - rq->calendar_tick, first;

	rq->calendar_tick = tick;
	if (rq->serve == rq->insert && !ticks)
		return;
	first = first_slot(rq, cpu);
	if (rq->serve != rq->insert) {
		if (first <= rq->serve)
			return;
		rq->serve = rq->insert;
	}
	if (first >= rq->serve + ticks) {
		rq->insert = rq->serve += ticks;
	} else {
		rq->serve = first > rq->serve ? first : rq->serve;
		rq->insert = rq->serve + 1;
	}
}

/* The key before all others of a slot. */
static inline u64 slot_head(struct run_queue *rq, u64 slot)
{
	return slot << SLOT_SHIFT | (SLOT_TAIL - 1 - rq->preempted++ % SLOT_TAIL);
}

/* The key of a task in the queue that its priority leads to. */
static inline u64 key_of(struct run_queue *rq, u32 priority, enum place place, u64 now)
{
	if (is_interactive(priority)) {
		u32 head = mode == MODE_FREEBSD ? priority / PRIORITIES_PER_HEAD : 0;

		return place == PLACE_HEAD ? key_head(head, now - epoch) : key_tail(head, now - epoch);
	}
	if (priority >= IDLE_CLASS_PRIORITY)
		return IDLE_CLASS_SLOT << SLOT_SHIFT | SLOT_TAIL;
	if (place == PLACE_HEAD)
		return slot_head(rq, rq->serve);
	return slot_of(priority, rq->insert, rq->serve) << SLOT_SHIFT | SLOT_TAIL;
}

/* Gives a task its place in the queue that its priority leads to. */
static inline void give_place(struct thread *t, u64 key)
{
	t->key = key;
	t->slot = is_interactive(t->priority) ? NO_SLOT : key >> SLOT_SHIFT;
}

/*
 * In the port, a batch task that runs stays in its slot, and keeps it from being empty. One that became a batch task
 * while it runs is in no slot yet.
 */
static inline void hold_slot(struct run_queue *rq, const struct thread *t)
{
	rq->held = mode == MODE_PAPER && !is_interactive(t->priority) ? t->slot : NO_SLOT;
}

/* Puts a task into the load of @cpu, -1 for none, and takes it out of that of the CPU it was with. */
static inline void count(struct thread *t, s32 cpu, bool transferable)
{
	struct run_queue *from = ELEMENT(run_queues, t->cpu), *to = ELEMENT(run_queues, cpu);

	if (from && t->transferable) {
		__sync_fetch_and_add(&from->transferable, -1);
		__sync_fetch_and_add(&nr_transferable, -1);
	}
	if (to && transferable) {
		__sync_fetch_and_add(&to->transferable, 1);
		__sync_fetch_and_add(&nr_transferable, 1);
	}
	t->transferable = transferable;
	if (t->cpu == cpu)
		return;
	if (from)
		__sync_fetch_and_add(&from->load, -1);
	if (to)
		__sync_fetch_and_add(&to->load, 1);
	t->cpu = cpu;
}

#endif /* ULE_RUN_QUEUE_BPF_H */
