/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When CPUs try to pull tasks from others: at ticks while they are busy, the more rarely the wider the domain; sixteen
 * or thirty-two times as often while they idle and others have more than one task; and at once when they run out of
 * tasks.
 *
 * A kernel looks at each tick whether something is due. Here a timer for each busy CPU ends at the tick at which the
 * next is. One timer serves all idle CPUs, as one idle CPU does in a kernel; it runs while some CPU idles and another
 * has tasks waiting.
 *
 * Source: Linux 4.9 and 6.1, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_FAIR_PULL_BPF_H
#define SCHEDLAB_FAIR_PULL_BPF_H

#include <schedlab/balance_count.bpf.h>
#include <schedlab/fair_newidle.bpf.h>
#include <schedlab/fair_take.bpf.h>

PARAMETER(u32, busy_factor, 0,
	  "range=0..1024 about=How many times less often a busy CPU balances. 0 means 32 in 4.9 and 16 since.");

struct balance_timer {
	struct bpf_timer timer;
};

/* One for each CPU, and behind them the one of all that idle. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS + 1);
	__type(key, u32);
	__type(value, struct balance_timer);
} balance_timers SEC(".maps");

#define IDLE_TIMER MAX_CPUS

static u32 idle_timer_armed;

/* When pulling failed again and again, the source's running task is pushed. */
static void push_running(struct attempt *a)
{
	struct fair_queue *from = queue_of(a->source);

	if (!from || !from->running || from->push_pid || a->failures <= cache_tries(a->level) + 2)
		return;
	from->push_to = a->cpu;
	from->push_pid = from->running;
	scx_bpf_kick_cpu(a->source, SCX_KICK_PREEMPT);
}

/* How long a level rests: shortest after a success, twice as long each time that there was nothing to do. */
static inline void rest(struct fair_queue *q, u32 level, u32 span, bool moved, bool pinned)
{
	u32 *interval = ELEMENT(q->interval_ms, level), longest = pinned ? 512 : 2 * span;

	if (!interval)
		return;
	if (moved)
		*interval = span;
	else if (*interval < longest)
		*interval *= 2;
}

static void set_imbalanced(const struct attempt *a, bool imbalanced)
{
	struct fair_queue *q = queue_of(a->domain.first);
	u32 above = 1U << (a->level + 1);

	if (!q)
		return;
	if (imbalanced)
		q->imbalanced |= above;
	else
		q->imbalanced &= ~above;
}

/* How many CPUs of a cache a waking task may look at, by how busy that is: none from about 85 percent on. */
static inline u32 idle_scan_of(u64 util, u32 cpus)
{
	u64 x = util / cpus, used = x * x * 117 * 117 / (10000 * CPU_CAPACITY);

	return cpus * (CPU_CAPACITY - at_most(used, CPU_CAPACITY)) / CPU_CAPACITY;
}

static void set_idle_scan(const struct attempt *a)
{
	struct fair_queue *q = queue_of(a->domain.first);

	if (q && a->level == LEVEL_CACHE && a->kind != BALANCE_NEW_IDLE)
		q->idle_scan = idle_scan_of(a->total_util, a->domain.end - a->domain.first);
}

/* Nothing of the source may come. Whether other queues are left to look at. */
static inline bool pass_over_source(const struct attempt *a, struct fair_queue *q)
{
	struct fair_queue *source = queue_of(a->source);

	if (!source)
		return false;
	source->useless_to = q->attempt;
	return ++q->useless < a->domain.end - a->domain.first - a->local.cpus;
}

/*
 * One attempt. Returns how many tasks came. If none of the busiest queue may come, it is to be made again without that
 * queue (LBF_ALL_PINNED and the `redo` of load_balance): by the caller, as a verifier would not come to an end here.
 */
__noinline u32 fair_balance_level(u32 cpu, u32 level, u32 kind)
{
	struct fair_queue *q = queue_of(cpu);
	u32 key = 0, *failures;
	struct attempt *a = bpf_map_lookup_elem(&attempts, &key);
	bool all_pinned = false;

	failures = q ? ELEMENT(q->failures, level) : NULL;
	if (!a || !failures)
		return 0;
	*a = (struct attempt){ .cpu = cpu, .level = level, .kind = kind, .now = scx_bpf_now() };
	if (q->looks_again) {
		a->number = q->attempt;
		q->looks_again = false;
	} else {
		q->attempt = (a->now * MAX_CPUS | cpu) + 1;
		q->useless = 0;
	}
	if (!find_domain(level, cpu, &a->domain) || !should_balance(a))
		return 0;
	count_balancing();
	a->pct = imbalance_pct(level);
	a->index = load_index(level, kind);
	a->failures = *failures;
	a->prefer_siblings = prefers_siblings(level);
	if (find_busiest_group(a) && find_busiest_queue(a)) {
		pull_tasks(a);
		all_pinned = a->pinned && !a->movable;
		q->looks_again = all_pinned && pass_over_source(a, q);
		if (a->moved || all_pinned) {
			*failures = 0;
		} else if (kind != BALANCE_NEW_IDLE) {
			++*failures;
			a->failures = *failures;
			push_running(a);
		}
		set_imbalanced(a, a->pinned && a->imbalance > 0);
	} else {
		*failures = 0;
	}
	set_idle_scan(a);
	if (kind != BALANCE_NEW_IDLE && !q->looks_again)
		rest(q, level, a->domain.end - a->domain.first, a->moved, all_pinned);
	return a->moved;
}

/* When a level is due again, as a time; balancing happens at ticks, and a jiffy is the smallest. */
static u64 due_at(const struct fair_queue *q, u32 level, bool busy)
{
	const u32 *interval = ELEMENT(q->interval_ms, level);
	const u64 *balanced_at = ELEMENT(q->balanced_at, level);
	u64 factor = busy_factor ?: is_4_9() ? 32 : 16, jiffies;
	u64 longest = NS_PER_S / jiffy * nr_cpus / 10;

	if (!interval || !balanced_at)
		return 0;
	jiffies = (*interval * (busy ? factor : 1) * NS_PER_MS + jiffy - 1) / jiffy;
	if (busy && !is_4_9())
		jiffies--;
	if (jiffies > longest)
		jiffies = longest;
	return *balanced_at + (jiffies ?: 1) * jiffy;
}

/*
 * Whether a CPU balances as rarely as one does that has something to do. With tasks of SCHED_IDLE only it has not. Not
 * inlined: its callers are deep, and a kernel allows 512 bytes of stack for all calls together.
 */
__noinline bool is_busy(s32 cpu)
{
	return !is_idle(cpu) && !is_left_to_idle_class(cpu);
}

/* A CPU balances: for loads that the policy keeps of what is not there any more. */
static inline void on_balance(u32 cpu, u64 now);

static inline void begin_levels(struct fair_queue *q)
{
	q->level = 0;
	q->looks_again = false;
}

/* The level at which a CPU balances now: the one above the last, or that again. In a queue, no verifier follows it. */
static inline u32 next_level(struct fair_queue *q)
{
	if (!q->looks_again)
		q->level++;
	return q->level;
}

/* Balances the levels of a CPU that are due. Returns when the next one is. */
static u64 rebalance(u32 cpu, u64 now)
{
	struct fair_queue *q = queue_of(cpu);
	u64 next = now + NS_PER_S, due;
	u32 step;

	if (!q)
		return next;
	on_balance(cpu, now);
	begin_levels(q);
	bpf_for(step, 0, MAX_DOMAIN_LEVEL + nr_cpus) {
		u32 level = next_level(q);
		u64 *balanced_at = ELEMENT(q->balanced_at, level);

		if (!balanced_at)
			break;
		if (!has_level(level))
			continue;
		if (q->looks_again || due_at(q, level, is_busy(cpu)) <= now) {
			fair_balance_level(cpu, level, q->nr_running ? BALANCE_BUSY : BALANCE_IDLE);
			*balanced_at = now / jiffy * jiffy;
		}
		due = due_at(q, level, is_busy(cpu));
		if (due < next)
			next = due;
	}
	return next;
}

/* Nanoseconds from now to the first tick at or after @due, and after now. */
static inline u64 until_tick(u64 due, u64 now)
{
	u64 at = due > now ? due : now + 1;

	return (at + jiffy - 1) / jiffy * jiffy - now;
}

/* The timer of a busy CPU. It stops when the CPU idles, and begins again with it. */
static int balance_busy(void *map, u32 *key, struct balance_timer *timer)
{
	struct fair_queue *q = queue_of(*key);
	u64 now = scx_bpf_now();

	if (!q)
		return 0;
	q->timer_armed = q->nr_running;
	if (q->timer_armed)
		bpf_timer_start(&timer->timer, until_tick(rebalance(*key, now), now), 0);
	return 0;
}

/* Whether an idle CPU could find something: others have tasks waiting, or two may run on the threads of one core. */
static inline bool idle_may_find(void)
{
	return nr_idle && (nr_overloaded || (threads_per_core > 1 && nr_cpus - nr_idle > 1));
}

/* The timer of all idle CPUs. */
static int balance_idle(void *map, u32 *key, struct balance_timer *timer)
{
	u64 now = scx_bpf_now(), next = now + NS_PER_S, due;
	u32 first = 0, step;

	bpf_for(step, 0, nr_cpus) {
		if (is_idle(step)) {
			first = step;
			break;
		}
	}
	/* The first does it for the others and then for itself. */
	bpf_for(step, 0, nr_cpus) {
		u32 cpu = (first + 1 + step) % nr_cpus;

		if (!is_idle(cpu))
			continue;
		due = rebalance(cpu, now);
		if (is_idle(cpu) && due < next)
			next = due;
	}
	idle_timer_armed = idle_may_find();
	if (idle_timer_armed)
		bpf_timer_start(&timer->timer, until_tick(next, now), 0);
	return 0;
}

static void start_timer(u32 key, u64 delay)
{
	struct balance_timer *timer = bpf_map_lookup_elem(&balance_timers, &key);

	if (timer)
		bpf_timer_start(&timer->timer, delay, 0);
}

/* A CPU got busy: its timer runs from now on. */
static inline void arm_busy(struct fair_queue *q, s32 cpu, u64 now)
{
	u64 next = now + NS_PER_S, due;
	u32 level;

	if (q->timer_armed || nr_cpus == 1)
		return;
	q->timer_armed = true;
	bpf_for(level, 1, MAX_DOMAIN_LEVEL + 1) {
		due = due_at(q, level, is_busy(cpu));
		if (has_level(level) && due < next)
			next = due;
	}
	start_timer(cpu, until_tick(next, now));
}

/* A task leaves its CPU. One that is left to tasks of SCHED_IDLE by that looks at the next tick, as idle ones do. */
static inline void hasten_balancing(const struct fair_queue *q, const struct fair_task *t, u64 now)
{
	if (!is_4_9() && q->timer_armed && q->nr_idle_class && t->class != CLASS_IDLE &&
	    q->nr_running == q->nr_idle_class + 1)
		start_timer(t->cpu, until_tick(now, now));
}

/* At the next tick the idle CPUs look. */
static inline void arm_idle(u64 now)
{
	if (idle_may_find() && !__sync_lock_test_and_set(&idle_timer_armed, 1))
		start_timer(IDLE_TIMER, until_tick(now, now));
}

/* A CPU has no task left. Tries to get one before it idles; returns whether it did. */
static bool balance_new_idle(s32 cpu, u64 now)
{
	struct fair_queue *q = queue_of(cpu);
	u32 step;

	if (!q || !nr_overloaded)
		return false;
	if (is_4_9() && q->average_idle < migration_cost)
		return false;
	on_balance(cpu, now);
	begin_levels(q);
	q->levels_began = bpf_ktime_get_ns();
	bpf_for(step, 0, MAX_DOMAIN_LEVEL + nr_cpus) {
		bool again = q->looks_again;
		struct newidle *level = ELEMENT(q->newidle, next_level(q));
		u32 moved;

		if (!level || (!again && !has_time_to_look(q, level, now)))
			break;
		if (!has_level(q->level) || (!again && !looks_for_tasks(level, now)))
			continue;
		moved = fair_balance_level(cpu, q->level, BALANCE_NEW_IDLE);
		if (!q->looks_again)
			count_look(q, level, moved, now);
		if (moved)
			return true;
	}
	if (now - q->cost_decayed_at > NS_PER_S)
		q->cost_decayed_at = now;
	return false;
}

/* How long CPUs idle, from the lengths so far; more than a millisecond is as much as one. */
static inline void end_idle(struct fair_queue *q, u64 now)
{
	u64 length;

	if (!q->idle_since)
		return;
	length = now - q->idle_since;
	q->idle_since = 0;
	if (length > q->average_idle)
		q->average_idle += (length - q->average_idle) / 8;
	else
		q->average_idle -= (q->average_idle - length) / 8;
	if (q->average_idle > 2 * migration_cost)
		q->average_idle = 2 * migration_cost;
}

static s32 init_balancing(void)
{
	struct balance_timer *timer;
	s32 error = 0;
	u32 cpu, level, key;

	bpf_for(cpu, 0, nr_cpus + 1) {
		struct fair_queue *q = queue_of(cpu);

		key = cpu == nr_cpus ? IDLE_TIMER : cpu;
		timer = bpf_map_lookup_elem(&balance_timers, &key);
		if (!timer)
			return -ENOENT;
		error = bpf_timer_init(&timer->timer, &balance_timers, CLOCK_MONOTONIC);
		if (cpu == nr_cpus) {
			error = error ?: bpf_timer_set_callback(&timer->timer, balance_idle);
			break;
		}
		error = error ?: bpf_timer_set_callback(&timer->timer, balance_busy);
		if (error || !q)
			break;
		q->average_idle = 2 * migration_cost;
		q->idle_scan = domain_size(LEVEL_CACHE, nr_cpus);
		bpf_for(level, 1, MAX_DOMAIN_LEVEL + 1) {
			u32 *interval = ELEMENT(q->interval_ms, level);
			struct newidle *newidle = ELEMENT(q->newidle, level);

			if (interval)
				*interval = domain_size(level, nr_cpus);
			if (newidle)
				begin_newidle(newidle, cpu * MAX_DOMAIN_LEVEL + level, scx_bpf_now());
		}
	}
	return error;
}

/*
 * Whether the balancer sends the running task to another CPU. One that may not go there stays and continues: a kernel
 * looks at its CPUs before it stops it (out_one_pinned).
 */
static inline bool is_pushed(struct fair_queue *q, const struct task_struct *p)
{
	if (q->push_pid != p->pid)
		return false;
	if (may_go(p, q->push_to))
		return true;
	q->push_pid = 0;
	return false;
}

/* The balancer sends the task that ran to another CPU. */
static bool push(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 enq_flags, u64 now)
{
	s32 to = q->push_to;
	struct fair_queue *other = queue_of(to);

	q->push_pid = 0;
	if (!other || !may_go(p, to) || is_barred(t, to))
		return false;
	change_queue(t, q, other, to, order_key_at(t, q, other, to, now), now);
	scx_bpf_dsq_insert_vtime(p, waiting_dsq(t, to), 0, order_key(t), enq_flags);
	notify(other, t, p->pid, to, now);
	return true;
}

#endif /* SCHEDLAB_FAIR_PULL_BPF_H */
