/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How tasks come to other CPUs: a CPU without work takes one, and once in a while the balancer moves some.
 *
 * The balancer is CPU 0's. In each round the CPU with most tasks gives one to the CPU with least, then the next such
 * pair, so that each CPU gives or gets at most one. A difference of one is enough.
 */
#ifndef ULE_BALANCER_BPF_H
#define ULE_BALANCER_BPF_H

#include <ule/search.bpf.h>

struct balancer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct balancer);
} balancers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* Ticks of CPU 0 until the balancer's next round, and the tick from which they count. */
static u64 round_after;
static u64 round_from;
/* In the port they pass only while CPU 0 is busy: they wait for that, and so does the timer. */
static bool round_waits;
static bool timer_rests;

/* Searches are numbered, so that each has its own CPUs that were tried in vain. */
static u64 searches;

static struct thread *thread_of(struct task_struct *p)
{
	return bpf_task_storage_get(&threads, p, NULL, 0);
}

/*
 * Moves the first task of a queue that may run on @to: there at once when @to asks, as it does when it has nothing to
 * do, else into a queue there. FreeBSD leaves the first batch task alone, unless it is the only one. In the port every
 * task that is queued again begins a slice.
 */
static bool move_from(u64 queue, s32 to, bool now_there, bool skip_first, u64 now)
{
	struct run_queue *rq = ELEMENT(run_queues, to);
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, queue, 0) {
		struct thread *t;

		if (!rq || !bpf_cpumask_test_cpu(to, p->cpus_ptr))
			continue;
		if (skip_first) {
			skip_first = false;
			continue;
		}
		t = thread_of(p);
		if (!t)
			continue;
		advance(rq, to, now);
		give_place(t, key_of(rq, t->priority, PLACE_TAIL, now));
		if (mode == MODE_PAPER)
			t->used = 0;
		if (now_there) {
			if (scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL_ON | to, 0))
				return true;
			continue;
		}
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, t->key);
		if (!scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, queue_of(to, t), 0))
			continue;
		count(t, to, t->transferable);
		if (t->priority < rq->best)
			rq->best = t->priority;
		return true;
	}
	return false;
}

/* Moves one task from one CPU to another. */
static bool move_task(s32 from, s32 to, bool now_there, u64 now)
{
	struct run_queue *rq = ELEMENT(run_queues, from);

	if (!rq)
		return false;
	advance(rq, from, now);
	return move_from(interactive_queue(from), to, now_there, false, now) ||
	       (mode == MODE_FREEBSD && move_from(batch_queue(from), to, now_there, true, now)) ||
	       move_from(batch_queue(from), to, now_there, false, now);
}

/* A CPU without work takes a task from the most loaded CPU, first of those near to it. */
static bool steal(s32 cpu, u64 now)
{
	struct run_queue *own = ELEMENT(run_queues, cpu);
	struct search search = { .among = UNTRIED, .highest = true, .prefer = NO_CPU };
	u32 level, attempt;

	if (!own)
		return false;
	search.stamp = __sync_fetch_and_add(&searches, 1) + 1;
	own->tried = search.stamp;
	bpf_for(level, 1, MAX_DOMAIN_LEVEL + 1) {
		struct domain domain;

		if (!domain_of(level, cpu, nr_cpus, &domain))
			continue;
		search.first = domain.first;
		search.end = domain.end;
		search.limit = mode == MODE_FREEBSD && level == 1 ? 1 : steal_thresh;
		bpf_for(attempt, 0, mode == MODE_FREEBSD ? nr_cpus : 1) {
			s32 victim = find_cpu(&search, own);
			struct run_queue *rq = ELEMENT(run_queues, victim);

			if (victim < 0 || !rq)
				break;
			rq->tried = search.stamp;
			if (move_task(victim, cpu, true, now))
				return true;
		}
	}
	return false;
}

/* A task came to a CPU from elsewhere: let it look. In the port that lets the running task go to the tail. */
static void notify(s32 cpu, u32 priority)
{
	struct run_queue *rq = ELEMENT(run_queues, cpu);

	if (!rq)
		return;
	if (rq->priority == NO_PRIORITY) {
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	} else if (mode == MODE_PAPER) {
		rq->resched = PLACE_TAIL;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	} else if (should_preempt(priority, rq->priority, true)) {
		rq->resched = PLACE_HEAD;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
}

/* Finds a CPU for a task of @high. False: no CPU has less, and the round is over. */
static bool give_one(struct run_queue *own, s32 high, u64 now)
{
	struct run_queue *from = ELEMENT(run_queues, high), *rq;
	struct search search = { .end = nr_cpus, .among = CANDIDATES, .bound = ANY_PRIORITY, .prefer = high };
	u32 cpu, attempt;

	if (!from || !from->load)
		return false;
	bpf_for(cpu, 0, nr_cpus) {
		rq = ELEMENT(run_queues, cpu);
		if (rq)
			rq->candidate = rq->donor;
	}
	search.limit = from->load - 1;
	bpf_for(attempt, 0, nr_cpus) {
		s32 low = find_cpu(&search, own);

		rq = ELEMENT(run_queues, low);
		if (low < 0 || !rq)
			return attempt > 0;
		if (move_task(high, low, false, now)) {
			rq->donor = false;
			notify(low, rq->best);
			return true;
		}
		rq->candidate = false;
	}
	return true;
}

static void balance_round(u64 now)
{
	struct run_queue *own = ELEMENT(run_queues, 0), *rq;
	struct search search = { .end = nr_cpus, .among = DONORS, .highest = true, .limit = 1, .prefer = NO_CPU };
	u32 cpu, pair;

	if (!own)
		return;
	bpf_for(cpu, 0, nr_cpus) {
		rq = ELEMENT(run_queues, cpu);
		if (rq)
			rq->donor = true;
	}
	bpf_for(pair, 0, nr_cpus) {
		s32 high = find_cpu(&search, own);

		rq = ELEMENT(run_queues, high);
		if (high < 0 || !rq)
			break;
		rq->donor = false;
		if (!give_one(own, high, now))
			break;
	}
}

/* Draws how long it is to the next round: from half an interval to one and a half. */
static void draw_round(u64 tick)
{
	struct run_queue *own = ELEMENT(run_queues, 0);
	u32 half = balance_ticks / 2 ?: 1;

	if (own)
		round_after = half + random_number(own) % balance_ticks;
	round_from = tick;
}

/* Sets the timer to the tick at which a round is due if CPU 0 is busy all the time. */
static void arm(u64 now)
{
	u32 key = 0;
	struct balancer *balancer = bpf_map_lookup_elem(&balancers, &key);
	u64 due = tick_time(0, round_from + round_after);

	if (balancer)
		bpf_timer_start(&balancer->timer, due > now ? due - now : 0, 0);
}

/* CPU 0 begins to be busy, or ceases to: the port counts the ticks of its tasks only. */
static void balancer_cpu_busy(u64 now)
{
	if (!round_waits)
		return;
	round_waits = false;
	round_from = tick_of(0, now);
	if (timer_rests) {
		timer_rests = false;
		arm(now);
	}
}

static void balancer_cpu_idle(u64 now)
{
	u64 passed = tick_of(0, now) - round_from;

	if (mode == MODE_FREEBSD || round_waits)
		return;
	round_waits = true;
	round_after = passed < round_after ? round_after - passed : 1;
}

static int balance_timer(void *map, u32 *key, struct balancer *balancer)
{
	u64 now = scx_bpf_now(), tick = tick_of(0, now);

	if (round_waits) {
		timer_rests = true;
		return 0;
	}
	/* Otherwise CPU 0 was idle for a while since the timer was set. */
	if (tick >= round_from + round_after) {
		balance_round(now);
		draw_round(tick);
	}
	arm(now);
	return 0;
}

static s32 start_balancer(u64 now)
{
	u32 key = 0;
	struct balancer *balancer = bpf_map_lookup_elem(&balancers, &key);
	s32 error;

	if (!balancer)
		return -ENOENT;
	draw_round(tick_of(0, now));
	/* CPU 0 counts as idle until a task runs there. */
	round_waits = timer_rests = mode == MODE_PAPER;
	error = bpf_timer_init(&balancer->timer, &balancers, CLOCK_MONOTONIC);
	error = error ?: bpf_timer_set_callback(&balancer->timer, balance_timer);
	if (!error && !timer_rests)
		arm(now);
	return error;
}

#endif /* ULE_BALANCER_BPF_H */
