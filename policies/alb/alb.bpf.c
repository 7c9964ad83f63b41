/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * alb - the Average Load Balancer: CFS on each CPU, and tasks divided among the CPUs by weight.
 *
 * A task of nice n weighs 1024 / 1.25^n. No CPU shall have more than the average of the weights,
 *
 *	A = sum of the weights of all tasks that run or wait / number of CPUs
 *
 * so the tasks that wait are divided again each `period` and when a CPU runs out of tasks: CPU by CPU takes what fits
 * below A, the heaviest first (partition.bpf.h). A task that wakes or is new goes to the CPU with the smallest sum. One
 * that uses up its whole first slice is CPU-bound, and its nice value is raised by 5 (penalty.bpf.h).
 *
 * Example, two CPUs: one task of nice -5 and four of nice 0, all computing, weigh 3125 and 1024. Equal numbers would
 * be three tasks and two, moving back and forth. By weight A = 3610: the heavy one is alone, the four are together
 * with 4096, and nothing moves any more.
 *
 * Weakness: a task heavier than the average fits nowhere, and what the average leaves over may share a CPU while others
 * idle, unless `spread_idle` is set. All tasks are looked at each time, and what is running cannot be moved.
 *
 * Source: the paper on the Average Load Balancer, for Linux 4.4.1, which describes the method without its code; the
 * README says what is our reading. CFS: fair_class.bpf.h.
 */
#include <schedlab/common.bpf.h>
#include <schedlab/balance_count.bpf.h>
#include <alb/penalty.bpf.h>

#define FAIR_TASK_STATE struct balance_state balance
#include <schedlab/fair_class.bpf.h>
#include <alb/partition.bpf.h>

char _license[] SEC("license") = "GPL";

PARAMETER(u64, period, 100 * NS_PER_MS,
	  "unit=ns range=0ns..10s about=How often tasks are redistributed while some wait. 0 means never by time.");
PARAMETER(bool, at_idle, true, "about=Whether tasks are also redistributed when a CPU runs out of them.");
PARAMETER(bool, at_wakeup, true,
	  "about=Whether a waking task goes to the CPU with the smallest sum of weights instead of where it was.");
PARAMETER(bool, at_fork, true,
	  "about=Whether a new task goes to the CPU with the smallest sum of weights instead of its parent's.");
PARAMETER(u32, domain, 0,
	  "choices=machine,node,cache about=The CPUs that share tasks: all of the machine, those of a node, or those "
	  "of a last-level cache.");

/* The sum of the balancer's weights of the tasks that run or wait on each CPU. */
static u64 cpu_weights[MAX_CPUS];
/* How many tasks have arrived so far. */
static u32 arrivals;
/* Whether a CPU divides at this moment, and whether the timer runs. */
static u32 dividing, timer_runs;

static inline u64 weight_on(u32 cpu)
{
	const u64 *weight = ELEMENT(cpu_weights, cpu);

	return weight ? *weight : 0;
}

static inline void add_weight(u32 cpu, u64 weight)
{
	u64 *sum = ELEMENT(cpu_weights, cpu);

	if (sum)
		__sync_fetch_and_add(sum, weight);
}

static inline u32 domain_cpus(void)
{
	return domain_size(MAX_DOMAIN_LEVEL - domain, nr_cpus);
}

/* The CPU of a task's domain with the smallest sum; where it was, if that has no more. */
static s32 select_lightest(struct task_struct *p, s32 previous)
{
	u32 size = domain_cpus(), first, cpu, end;
	u64 least = weight_on(previous);
	s32 lightest = previous;

	if (!least || !size || nr_cpus == 1)
		return previous;
	first = (u32)previous / size * size;
	end = first + size < nr_cpus ? first + size : nr_cpus;
	bpf_for(cpu, first, end) {
		u64 weight = weight_on(cpu);

		if (weight < least && bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
			least = weight;
			lightest = cpu;
		}
	}
	return weight_on(previous) * 100 <= least * imbalance_pct ? previous : lightest;
}

s32 BPF_STRUCT_OPS(alb_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return (wake_flags & SCX_WAKE_FORK ? at_fork : at_wakeup) ? select_lightest(p, prev_cpu) : prev_cpu;
}

/* For the balancer a task always weighs by its nice value and its penalty, for its share of the CPU maybe. */
static inline void weigh(const struct task_struct *p, struct fair_task *t)
{
	struct balance_state *b = &t->balance;
	u32 level = level_of(p, b->penalty), share = shadow_nice ? level_of(p, 0) : level;
	const u32 *weight = ELEMENT(nice_weights, share), *inverse = ELEMENT(nice_inverses, share);
	u64 before = b->weight;

	t->weight = weight ? *weight : IDLE_WEIGHT;
	t->inverse = inverse ? *inverse : IDLE_INVERSE;
	t->class = p->policy;
	b->weight = balance_weight(level);
	if (b->counted)
		add_weight(t->cpu, b->weight - before);
}

static void set_penalty(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u32 nice_steps, u64 now)
{
	if (nice_steps == t->balance.penalty)
		return;
	t->balance.penalty = nice_steps;
	reweigh(q, p, t, now);
	if (status == STATUS_OWN)
		status_set(p, nice_steps);
}

/* What CFS gave to one of the tasks of a CPU when slices were parts of a latency by number. */
static inline u64 first_slice_of(const struct fair_queue *q)
{
	u64 slice = scaled_latency / (q->nr_running ?: 1);

	return slice > scaled_min_granularity ? slice : scaled_min_granularity;
}

/* The running task may turn out to be CPU-bound while it continues. */
static inline u64 review(struct fair_queue *q, struct task_struct *p, u64 now)
{
	struct fair_task *t = task_of(p);
	struct balance_state *b;
	u64 left;

	if (penalise == PENALISE_NONE || !t || p->policy == CLASS_IDLE)
		return ~0ULL;
	b = &t->balance;
	if (!b->first_slice)
		b->first_slice = slice0 ?: first_slice_of(q);
	set_penalty(q, p, t, penalty_after(b, b->burst + q->clock.ran), now);
	q->running_weight = t->weight;
	q->running_inverse = t->inverse;
	left = until_penalty(b, b->burst + q->clock.ran);
	return left == ~0ULL ? left : now + left;
}

static inline void on_stopping(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 now)
{
	publish_balancing(p);
	if (penalise == PENALISE_NONE || p->policy == CLASS_IDLE)
		return;
	t->balance.burst += q->clock.ran;
	set_penalty(q, p, t, penalty_after(&t->balance, t->balance.burst), now);
}

struct period_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct period_timer);
} period_timers SEC(".maps");

/* While tasks wait, the tasks are divided at the ends of periods. */
static inline void start_timer(u64 now)
{
	struct period_timer *timer;
	u32 key = 0;

	if (!period || !nr_overloaded || __sync_lock_test_and_set(&timer_runs, 1))
		return;
	timer = bpf_map_lookup_elem(&period_timers, &key);
	if (timer)
		bpf_timer_start(&timer->timer, period - now % period, 0);
}

static inline void on_runnable(struct fair_queue *q, struct fair_task *t, u64 now)
{
	struct balance_state *b = &t->balance;

	b->ticket = __sync_fetch_and_add(&arrivals, 1);
	b->counted = true;
	add_weight(t->cpu, b->weight);
	start_timer(now);
}

/* A task that sleeps before it has used a slice is not CPU-bound. */
static inline void on_quiescent(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 deq_flags,
				u64 now)
{
	struct balance_state *b = &t->balance;

	if (deq_flags & SCX_DEQ_SLEEP) {
		if (b->burst < b->first_slice)
			set_penalty(q, p, t, 0, now);
		b->burst = b->used = 0;
	}
	b->counted = false;
	add_weight(t->cpu, -b->weight);
}

static inline void on_load(struct fair_task *t, bool comes)
{
}

static inline void on_moved(struct fair_task *t, s32 cpu)
{
	add_weight(t->cpu, -t->balance.weight);
	add_weight(cpu, t->balance.weight);
}

/* Lists what waits on a CPU. A task that may not go everywhere counts as one that cannot move. */
__noinline u32 list_waiting(u32 cpu)
{
	struct fair_queue *q = queue_of(cpu);
	struct task_struct *p;

	if (!q)
		return 0;
	divide_cpu(cpu, weight_on(cpu), q->nr_running);
	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct fair_task *t = task_of(p);

		if (!t)
			continue;
		t->balance.candidate = MAX_CANDIDATES;
		if (p->nr_cpus_allowed >= (s32)nr_cpus)
			t->balance.candidate =
				divide_task(cpu, p->pid, level_of(p, t->balance.penalty), t->balance.ticket);
	}
	bpf_rcu_read_unlock();
	return 0;
}

/* Sends away what has another target. */
__noinline u32 send_away(u32 cpu)
{
	struct fair_queue *q = queue_of(cpu), *to;
	u64 now = scx_bpf_now();
	struct task_struct *p;

	if (!q)
		return 0;
	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct fair_task *t = task_of(p);
		struct candidate *c = t && t->balance.candidate < nr_candidates ?
					      ELEMENT(candidates, t->balance.candidate) : NULL;

		to = c && c->pid == p->pid ? queue_of(c->target) : NULL;
		if (!to || c->target == cpu || !may_go(p, c->target))
			continue;
		move_waiting(BPF_FOR_EACH_ITER, p, t, q, to, c->target, c->target, now);
	}
	bpf_rcu_read_unlock();
	return 0;
}

/* Divides the tasks of the domain in which a CPU is. If another CPU does so already, that will do. */
static void balance(u32 cpu)
{
	u32 size = domain_cpus(), first, end;

	if (!size || __sync_lock_test_and_set(&dividing, 1))
		return;
	count_balancing();
	first = cpu / size * size;
	end = first + size < nr_cpus ? first + size : nr_cpus;
	begin_division(first, end);
	bpf_for(cpu, first, end)
		list_waiting(cpu);
	if (nr_candidates) {
		divide();
		if (is_better()) {
			bpf_for(cpu, first, end)
				send_away(cpu);
		}
	}
	__sync_lock_test_and_set(&dividing, 0);
}

static int balance_all(void *map, u32 *key, struct period_timer *timer)
{
	u32 size = domain_cpus(), domains = size ? (nr_cpus + size - 1) / size : 0, step;

	bpf_for(step, 0, domains)
		balance(step * size);
	timer_runs = nr_overloaded > 0;
	if (timer_runs)
		bpf_timer_start(&timer->timer, period - scx_bpf_now() % period, 0);
	return 0;
}

static inline bool find_work(struct fair_queue *q, s32 cpu, u64 now)
{
	if (!at_idle || !nr_overloaded)
		return false;
	balance(cpu);
	return scx_bpf_dsq_nr_queued(cpu) > 0;
}

/* A running task cannot be moved. */
static inline bool must_leave(struct fair_queue *q, const struct task_struct *p)
{
	return false;
}

static inline bool redirect(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 enq_flags, u64 now)
{
	return false;
}

static inline void on_running(struct fair_queue *q, s32 cpu, u64 now)
{
}

static inline void on_idle(struct fair_queue *q, u64 now)
{
}

/* CPUs that are not there must not be given tasks. The others have the lowest numbers. */
static u32 online_cpus(void)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	u32 cpus = bpf_cpumask_weight(online);

	scx_bpf_put_cpumask(online);
	return cpus < nr_cpus ? cpus : nr_cpus;
}

static inline s32 init_policy(void)
{
	struct period_timer *timer;
	u32 key = 0;

	init_weights();
	nr_cpus = nr_idle = online_cpus();
	init_domains(nr_cpus);
	timer = bpf_map_lookup_elem(&period_timers, &key);
	if (!timer)
		return -ENOENT;
	return bpf_timer_init(&timer->timer, &period_timers, CLOCK_MONOTONIC) ?:
	       bpf_timer_set_callback(&timer->timer, balance_all);
}

SCX_OPS_DEFINE(alb_ops,
	       .select_cpu = (void *)alb_select_cpu,
	       FAIR_CLASS_OPS,
	       .name = "alb");
