/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * formulas - what the formulas of EEVDF give for the numbers of the tests, printed when it starts. It calls the
 * functions of the headers that eevdf is made of, with queues that are made up. Times are those of queues that began
 * at 0.
 */
#include <schedlab/common.bpf.h>
#include <eevdf/tree.bpf.h>
#include <schedlab/fair_life.bpf.h>
#include <schedlab/fair_pull.bpf.h>
#include <schedlab/fair_select.bpf.h>

char _license[] SEC("license") = "GPL";

static inline void weigh(const struct task_struct *p, struct fair_task *t)
{
	weigh_by_nice(p, t);
	t->scaled_weight = scaled(t->weight);
}

#define SAY(what, value) bpf_printk("%s %lld", what, (s64)(value))

#define MS(n) ((u64)((n) * 1000000LL))
#define TENTHS(n) ((u64)((n) * 100000LL))
#define SLICE TENTHS(28)
#define INVERSE_0 4194304
#define INVERSE_5 12820798

static u64 virtual_of_nice(u64 time, s32 nice)
{
	const u32 *weight = ELEMENT(nice_weights, nice + 20), *inverse = ELEMENT(nice_inverses, nice + 20);

	return weight && inverse ? virtual_time(time, *weight, *inverse) : 0;
}

/* An empty queue; nothing is ever in its dispatch queue. */
static struct fair_queue *empty_queue(s32 cpu)
{
	struct fair_queue *q = queue_of(cpu);

	if (!q)
		return NULL;
	q->clock.zero = q->clock.sum = q->clock.weight = 0;
	q->clock.nr_queued = q->clock.nr_custom = q->clock.nr_debtors = 0;
	q->running = 0;
	q->charged_at = 0;
	q->resched = false;
	return q;
}

/* A task of nice 0 runs, at @vruntime. */
static void set_running(struct fair_queue *q, u64 vruntime, u64 deadline)
{
	q->running = 1;
	q->running_weight = NICE_0_WEIGHT;
	q->running_scaled = SCALED_NICE_0;
	q->running_inverse = INVERSE_0;
	q->running_class = CLASS_NORMAL;
	q->clock.vruntime = vruntime;
	q->clock.deadline = q->clock.picked_deadline = q->clock.protected_until = deadline;
	q->clock.slice = SLICE;
}

/* A task of nice 0 that waits at @vruntime. */
static void set_waiting(struct fair_queue *q, struct fair_task *t, u64 vruntime)
{
	t->weight = NICE_0_WEIGHT;
	t->scaled_weight = SCALED_NICE_0;
	t->inverse = INVERSE_0;
	t->clock.slice = SLICE;
	t->clock.vruntime = vruntime;
	t->clock.deadline = vruntime + SLICE;
	enter_tree(q, t);
}

static void say_times(void)
{
	u32 cpus;

	bpf_for(cpus, 1, 33)
		SAY("base slice", request_slice(0, cpus));
	SAY("slice 50us", request_slice(50000, 1));
	SAY("slice 200ms", request_slice(MS(200), 1));
	SAY("slice none", request_slice(0, 1));
	SAY("virtual -20", virtual_of_nice(1000000, -20));
	SAY("virtual -5", virtual_of_nice(1000000, -5));
	SAY("virtual 1", virtual_of_nice(1000000, 1));
	SAY("virtual 5", virtual_of_nice(1000000, 5));
	SAY("virtual 10", virtual_of_nice(1000000, 10));
	SAY("virtual 19", virtual_of_nice(1000000, 19));
}

static void say_averages(void)
{
	struct fair_queue *q = empty_queue(1);

	if (!q)
		return;
	sum_add(&q->clock, 1000, 1024, false);
	sum_add(&q->clock, 5000, 335, false);
	SAY("average of 1000 and 5000", average_vruntime(q, 0));
	SAY("eligible at 1986", is_eligible(q, 1986, 0));
	SAY("eligible at 1987", is_eligible(q, 1987, 0));
	q = empty_queue(1);
	if (!q)
		return;
	q->clock.zero = 1000;
	sum_add(&q->clock, 0, 1024, false);
	sum_add(&q->clock, 999, 820, false);
	SAY("average of 0 and 999", average_vruntime(q, 0));
	/* The reference point does not matter. */
	set_running(q, 1LL << 36, 0);
	SAY("average before", average_vruntime(q, 0));
	follow_average(q, 0);
	SAY("average after", average_vruntime(q, 0));
	SAY("zero after", q->clock.zero);
	/* Another CPU counts a task in as one of 1000 and out as one of 4000. */
	q = empty_queue(1);
	if (!q)
		return;
	sum_add(&q->clock, 5000, 335, false);
	sum_add(&q->clock, 1000, 1024, false);
	sum_take(&q->clock, 4000, 1024, false);
	clear_rest(&q->clock);
	SAY("rest beside one that waits", q->clock.sum - term(&q->clock, 5000, 335));
	sum_take(&q->clock, 5000, 335, false);
	clear_rest(&q->clock);
	SAY("rest when nobody waits", q->clock.sum);
}

static void say_lags(void)
{
	struct fair_queue *q = empty_queue(1);
	struct fair_task other = {}, t = { .weight = 1024, .scaled_weight = SCALED_NICE_0, .inverse = INVERSE_0 };

	if (!q)
		return;
	set_waiting(q, &other, MS(10));
	t.clock.slice = SLICE;
	t.clock.lag = MS(1);
	place(q, &t, false, 0);
	SAY("placed at", t.clock.vruntime);
	enter_tree(q, &t);
	SAY("average then", average_vruntime(q, 0));
	SAY("lag then", lag_of(q, 1, &t, 0));
	SAY("lag beside 2048", inflated_lag(MS(1), 2048, 1024));
	SAY("lag of 335 beside 1024", inflated_lag(MS(1), 1024, 335));
	SAY("lag of 1024 beside 335", inflated_lag(MS(1), 335, 1024));
	SAY("debt beside 3072", inflated_lag(-(s64)MS(2), 3072, 1024));
	SAY("lag limit", lag_limit(SLICE, SLICE, scaled(1024), INVERSE_0));
	SAY("lag limit 5", lag_limit(SLICE, SLICE, scaled(335), INVERSE_5));
	SAY("lag at other weight", rescaled(MS(1), 1024, 335));
	SAY("clamped", clamp_lag(MS(100), 5) + clamp_lag(-(s64)MS(100), 7));
}

/* A and B share: A runs 3, B runs 1 and sleeps, and comes back when A is at 8. */
static void say_two(void)
{
	struct fair_queue *q = empty_queue(1);
	struct fair_task a = {}, b = {};

	if (!q)
		return;
	set_waiting(q, &b, 0);
	set_running(q, MS(3), SLICE);
	SAY("two: average", average_vruntime(q, 0));
	SAY("two: A eligible", is_eligible(q, MS(3), 0));
	SAY("two: B eligible", is_eligible(q, 0, 0));
	q = empty_queue(1);
	if (!q)
		return;
	set_waiting(q, &a, MS(3));
	set_waiting(q, &b, MS(1));
	SAY("two: average when B sleeps", average_vruntime(q, 0));
	SAY("two: B owes", !is_eligible(q, MS(1), 0));
	b.clock.lag = lag_of(q, 1, &b, 0);
	SAY("two: lag of B", b.clock.lag);
	q = empty_queue(1);
	if (!q)
		return;
	set_running(q, MS(8), TENTHS(88));
	place(q, &b, false, 0);
	SAY("two: B back at", b.clock.vruntime);
	SAY("two: deadline of B", b.clock.deadline);
	enter_tree(q, &b);
	SAY("two: average then", average_vruntime(q, 0));
	SAY("two: A eligible then", is_eligible(q, MS(8), 0));
	SAY("two: B preempts", preempts(q, 1, 8, &b, false, 0));
}

/* A, B and C share. A runs 3 and sleeps with a debt; it wakes after B has run 3, or C runs 3 too. */
static void say_three(bool wakes)
{
	struct fair_queue *q = empty_queue(1);
	struct fair_task a = { .cpu = 1 }, b = {}, c = {}, moved;
	struct debtor *debtor;

	if (!q)
		return;
	set_waiting(q, &a, MS(3));
	a.clock.deadline = TENTHS(58);
	set_waiting(q, &b, 0);
	set_waiting(q, &c, 0);
	a.clock.lag = lag_of(q, 1, &a, 0);
	SAY("three: average", average_vruntime(q, 0));
	SAY("three: lag of A", a.clock.lag);
	SAY("three: A owes", !is_eligible(q, MS(3), 0));
	leave_tree(q, &a);
	become_debtor(q, &a, 7);
	SAY("three: still queued", q->clock.nr_queued);
	SAY("three: average with the debt", average_vruntime(q, 0));
	leave_tree(q, &b);
	set_waiting(q, &b, MS(3));
	SAY("three: average after B", average_vruntime(q, 0));
	SAY("three: A would be picked after B", !!first_debtor(q, true, 0, 0));
	if (wakes) {
		SAY("three: A goes on", return_from_debt(q, &a, 7, true, 0) == TO_ITS_PLACE);
		SAY("three: lag of A that wakes", a.clock.lag);
		SAY("three: A at", a.clock.vruntime);
		SAY("three: deadline of A", a.clock.deadline);
		return;
	}
	moved = a;
	SAY("three: A goes on elsewhere", return_from_debt(q, &moved, 7, false, 0) == TO_ITS_PLACE);
	SAY("three: lag of A elsewhere", moved.clock.lag);
	SAY("three: queued when A is elsewhere", q->clock.nr_queued);
	leave_tree(q, &c);
	set_waiting(q, &c, MS(3));
	SAY("three: average after C", average_vruntime(q, 0));
	debtor = first_debtor(q, true, 0, 0);
	SAY("three: A would be picked after C", !!debtor);
	if (!debtor)
		return;
	forget_debtor(q, debtor);
	SAY("three: queued then", q->clock.nr_queued);
	SAY("three: A goes on later", return_from_debt(q, &a, 7, true, 0) == TO_ITS_PLACE);
	SAY("three: lag of A later", a.clock.lag);
}

static void say_places(void)
{
	struct fair_queue *q = empty_queue(1), *to = empty_queue(2);
	struct fair_task t = {}, one = {}, two = {};

	if (!q || !to)
		return;
	set_waiting(q, &one, MS(10));
	t.weight = 1024;
	t.scaled_weight = scaled(1024);
	t.inverse = INVERSE_0;
	t.clock.slice = SLICE;
	place(q, &t, true, 0);
	SAY("new at", t.clock.vruntime);
	SAY("new deadline", t.clock.deadline);
	t.weight = 335;
	t.scaled_weight = scaled(335);
	t.inverse = INVERSE_5;
	place(q, &t, true, 0);
	SAY("new deadline 5", t.clock.deadline);
	q = empty_queue(1);
	if (!q)
		return;
	set_waiting(q, &t, MS(7));
	t.clock.deadline = TENTHS(82);
	t.cpu = 1;
	set_waiting(q, &one, MS(6));
	set_waiting(to, &one, MS(100));
	set_waiting(to, &two, MS(100));
	SAY("average at the source", average_vruntime(q, 0));
	SAY("lag on the way", lag_of(q, 1, &t, 0));
	carry_place(&t, q, to, 2, order_key_at(&t, q, to, 2, 0));
	SAY("moved to", t.clock.vruntime);
	SAY("moved deadline", t.clock.deadline);
	SAY("average at the source then", average_vruntime(q, 0));
}

/* A task comes with a slice, while another one is at 1 with the deadline 2.8. */
static void say_preempts(u64 slice, const char *places, const char *verdict)
{
	struct fair_queue *q = empty_queue(1);
	struct fair_task t = { .weight = 1024, .scaled_weight = SCALED_NICE_0, .inverse = INVERSE_0 };

	if (!q)
		return;
	set_running(q, MS(1), SLICE);
	t.clock.slice = slice;
	place(q, &t, false, 0);
	bpf_printk("%s at %lld", places, t.clock.vruntime);
	bpf_printk("%s deadline %lld", places, t.clock.deadline);
	enter_tree(q, &t);
	SAY(verdict, preempts(q, 1, 8, &t, false, 0));
	bpf_printk("%s protected %d", verdict, is_protected(q, 0));
}

static void say_requests(void)
{
	struct fair_queue *q = empty_queue(1);
	struct fair_task t = {};

	if (!q)
		return;
	set_waiting(q, &t, MS(1));
	set_running(q, MS(1), SLICE);
	give_up(q, 0);
	SAY("yielded to", q->clock.vruntime);
	SAY("yielded deadline", q->clock.deadline);
	set_running(q, MS(2), SLICE);
	give_up(q, 0);
	SAY("not eligible, so still at", q->clock.vruntime);
	SAY("protection", protection_end(0, SLICE, SLICE, TENTHS(1), scaled(1024), INVERSE_0));
	SAY("protection of equals", protection_end(0, SLICE, SLICE, SLICE, scaled(1024), INVERSE_0));
	SAY("protection near the deadline", protection_end(TENTHS(27), SLICE, SLICE, TENTHS(5), scaled(1024), INVERSE_0));
	q = empty_queue(1);
	if (!q)
		return;
	set_running(q, 0, SLICE);
	protect(q, 1);
	SAY("protected until, alone", q->clock.protected_until);
	set_waiting(q, &t, 0);
	leave_tree(q, &t);
	t.clock.slice = TENTHS(1);
	become_debtor(q, &t, 7);
	protect(q, 1);
	SAY("protected until", q->clock.protected_until);
}

/* What charging finds when it comes late: requests of 2.8 ms end at ticks. */
static void say_charges(void)
{
	struct fair_queue *q = empty_queue(1);
	struct fair_task t = {};

	if (!q)
		return;
	set_running(q, 0, SLICE);
	update_queue(q, TENTHS(85));
	SAY("alone at", q->clock.vruntime);
	SAY("alone, deadline", q->clock.deadline);
	SAY("alone, resched", q->resched);
	set_waiting(q, &t, 0);
	update_queue(q, TENTHS(86));
	SAY("not alone, resched", q->resched);
	q->resched = false;
	SAY("next look", slice_end(q, TENTHS(86)));
}

static void say_util(u64 periods)
{
	struct load_average a = {};

	load_average_update(&a, periods << 20, 1024, 1024, LOAD_RULE_LATER | LOAD_RUNNING);
	bpf_printk("util %llu %llu", periods, a.util);
}

/* A level after 512 more times that a CPU ran out of tasks, in @time: 64 looks found a task. */
static void say_newidle(u64 time, const char *name)
{
	struct newidle level = {};
	u32 step;

	begin_newidle(&level, 0, 0);
	bpf_for(step, 0, 512)
		count_newidle(&level, step < 64 ? newidle_weight(&level) : 0, time);
	bpf_printk("newidle %s %u", name, level.ratio);
	bpf_printk("newidle %s %u", name, level.calls);
	bpf_printk("newidle %s %u", name, newidle_weight(&level));
}

/* How many of 4096 times a CPU looks, at first. */
static void say_looks(void)
{
	struct newidle level = {};
	u32 looks = 0, step;

	begin_newidle(&level, 0, 0);
	bpf_for(step, 0, 4096) {
		level.calls = 0;
		looks += looks_for_tasks(&level, 0);
	}
	SAY("looks at first", looks);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(formulas_init)
{
	s32 error = create_dsqs(2);

	if (error)
		return error;
	nr_cpus = scx_bpf_nr_cpu_ids();
	init_domains(nr_cpus);
	jiffy = NS_PER_S / hz;
	say_times();
	say_averages();
	say_lags();
	say_two();
	say_three(false);
	say_three(true);
	say_places();
	say_preempts(TENTHS(1), "short", "short preempts");
	say_preempts(SLICE, "usual", "usual preempts");
	say_requests();
	say_charges();
	say_util(1);
	say_util(8);
	say_util(16);
	say_util(32);
	say_util(64);
	say_util(100);
	say_util(128);
	say_newidle(NS_PER_S, "often");
	say_newidle(4 * NS_PER_S, "rarely");
	say_looks();
	return 0;
}

SCX_OPS_DEFINE(formulas_ops, .init = (void *)formulas_init, .name = "formulas");
