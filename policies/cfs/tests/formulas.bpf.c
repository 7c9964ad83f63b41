/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * formulas - what the formulas of the fair schedulers give for the numbers of the tests, printed when it starts. It
 * calls the functions of the headers that cfs is made of.
 */
#include <schedlab/common.bpf.h>

#define FAIR_TASK_GROUPS
#include <schedlab/fair_queue.bpf.h>
#include <schedlab/fair_pull.bpf.h>
#include <schedlab/fair_select.bpf.h>

char _license[] SEC("license") = "GPL";

#define SAY(what, value) bpf_printk("%s %llu", what, (u64)(value))

static u64 slice_of_nice(u32 nr, s32 nice, u64 total)
{
	const u32 *weight = ELEMENT(nice_weights, nice + 20);

	return weight ? fair_slice(nr, *weight, total, false) : 0;
}

static u64 virtual_of_nice(u64 time, s32 nice)
{
	const u32 *weight = ELEMENT(nice_weights, nice + 20), *inverse = ELEMENT(nice_inverses, nice + 20);

	return weight && inverse ? virtual_time(time, *weight, *inverse) : 0;
}

static void say_times(void)
{
	u32 cpus;

	bpf_for(cpus, 1, 33)
		SAY("factor", scaling_factor(cpus));
	SAY("virtual 0", virtual_of_nice(1000000, 0));
	SAY("virtual 5", virtual_of_nice(1000000, 5));
	SAY("virtual -5", virtual_of_nice(1000000, -5));
	SAY("virtual 10", virtual_of_nice(1000000, 10));
	SAY("virtual 19", virtual_of_nice(1000000, 19));
	SAY("virtual -20", virtual_of_nice(1000000, -20));
	SAY("virtual idle", virtual_time(1000000, IDLE_WEIGHT, IDLE_INVERSE));
	SAY("virtual 1 of 4 ms", virtual_of_nice(4000000, 1));
	SAY("virtual -1 of 10 ms", virtual_of_nice(10000000, -1));
}

static void say_slices(void)
{
	SAY("period 1", fair_period(1));
	SAY("period 8", fair_period(8));
	SAY("period 9", fair_period(9));
	SAY("period 16", fair_period(16));
	SAY("period 64", fair_period(64));
	SAY("period 80", fair_period(80));
	SAY("slice of 2", slice_of_nice(2, 0, 2048));
	SAY("slice of 3", slice_of_nice(3, 0, 3072));
	SAY("slice of 16", slice_of_nice(16, 0, 16384));
	SAY("slice of 80", slice_of_nice(80, 0, 81920));
	SAY("slice 0 with 5", slice_of_nice(2, 0, 1359));
	SAY("slice 5 with 0", slice_of_nice(2, 5, 1359));
	SAY("slice 0 with -5", slice_of_nice(2, 0, 4145));
	SAY("slice -5 with 0", slice_of_nice(2, -5, 4145));
	SAY("slice 0 with four 19", slice_of_nice(5, 0, 1084));
	SAY("slice 19 with 0 and three 19", slice_of_nice(5, 19, 1084));
	SAY("slice 0 with seven 0 and 19", slice_of_nice(9, 0, 8207));
	SAY("slice 19 with eight 0", slice_of_nice(9, 19, 8207));
	SAY("slice in a group of 2", part_of_time(part_of_time(fair_period(2), 1024, 2048), 1024, 2048));
}

/* Where a new task, a sleeper and a waking one stand, with min_vruntime at @min. */
static void say_places(u64 min)
{
	struct fair_queue *q = queue_of(1);
	struct fair_task t = { .weight = 1024, .inverse = 4194304 };

	if (!q)
		return;
	q->nr_running = 1;
	q->weight = 1024;
	SAY("child 0", place_new(&t, slice_in(q, t.weight, t.class, true), min, min));
	SAY("child behind", place_new(&t, slice_in(q, t.weight, t.class, true), min + 30 * NS_PER_MS, min));
	t.weight = 335;
	t.inverse = 12820798;
	SAY("child 5", place_new(&t, slice_in(q, t.weight, t.class, true), min, min));
	SAY("slice of child 5", slice_in(q, 335, CLASS_NORMAL, true));
	t.clock.vruntime = 50 * NS_PER_MS;
	SAY("sleeper 50", place_sleeper(&t, 100 * NS_PER_MS, 0));
	t.clock.vruntime = 95 * NS_PER_MS;
	SAY("sleeper 95", place_sleeper(&t, 100 * NS_PER_MS, 0));
	t.clock.vruntime = 88 * NS_PER_MS;
	SAY("sleeper 88", place_sleeper(&t, 100 * NS_PER_MS, 0));
	SAY("lead 0", wakeup_lead(1024, 4194304));
	SAY("lead 5", wakeup_lead(335, 12820798));
	SAY("lead -5", wakeup_lead(3121, 1376151));
	SAY("lead 19", wakeup_lead(15, 286331153));
}

static void say_preempts(u64 running)
{
	struct fair_queue *q = queue_of(1);
	struct fair_task t = { .weight = 1024, .inverse = 4194304 };

	if (!q)
		return;
	t.clock.vruntime = running - 4000000;
	SAY("preempts by 4000000", preempts(q, &t, running));
	t.clock.vruntime = running - 4000001;
	SAY("preempts by 4000001", preempts(q, &t, running));
	t.clock.vruntime = running;
	SAY("preempts by 0", preempts(q, &t, running));
	t.clock.vruntime = running + 5000000;
	SAY("preempts by -5000000", preempts(q, &t, running));
	t.clock.vruntime = 50 * NS_PER_MS;
	t.clock.vruntime = place_sleeper(&t, 100 * NS_PER_MS, 0);
	SAY("sleeper preempts at 100", preempts(q, &t, 100 * NS_PER_MS));
	SAY("sleeper leads at 100 by", 100 * NS_PER_MS - t.clock.vruntime);
	t.clock.vruntime = 50 * NS_PER_MS;
	SAY("sleeper leads at 90 by", 90 * NS_PER_MS - place_sleeper(&t, 90 * NS_PER_MS, 0));
	SAY("tick at 11999994", tick_ends(11999994, 0, 11999994));
	SAY("tick at 11999995", tick_ends(11999995, 0, 11999994));
	SAY("tick at 2.9 ms", tick_ends(2900000, 100000000, 11999994));
	SAY("tick at 5 ms, 12000000 ahead", tick_ends(5000000, 12000000, 11999994));
	SAY("tick at 5 ms, 11999994 ahead", tick_ends(5000000, 11999994, 11999994));
	SAY("follow 100: 103 and 101", follow(100, true, 103, true, 101));
	SAY("follow 100: 99 and 98", follow(100, true, 99, true, 98));
	SAY("follow 100: none and 120", follow(100, false, 0, true, 120));
	SAY("follow 100: none", follow(100, false, 0, false, 0));
}

static void say_decays(void)
{
	SAY("decay 1024 1", load_decay(1024, 1));
	SAY("decay 1024 32", load_decay(1024, 32));
	SAY("decay 47742 1", load_decay(47742, 1));
	SAY("decay 47742 32", load_decay(47742, 32));
	SAY("decay 47742 64", load_decay(47742, 64));
	SAY("decay 1000000 33", load_decay(1000000, 33));
	SAY("decay 1000000 2017", load_decay(1000000, 2017));
	SAY("contribution 1", load_contribution(1));
	SAY("contribution 10", load_contribution(10));
	SAY("contribution 32", load_contribution(32));
	SAY("contribution 33", load_contribution(33));
	SAY("contribution 64", load_contribution(64));
	SAY("contribution 100", load_contribution(100));
	SAY("contribution 344", load_contribution(344));
	SAY("contribution 345", load_contribution(345));
}

/* The averages of a task of weight 1024 after it ran for @ran periods, and slept for 32, in one update each. */
static void say_average(u64 ran)
{
	struct load_average a = {};

	load_average_update(&a, ran << 20, 1024, 1024, load_rule() | LOAD_RUNNING);
	bpf_printk("util %llu %llu", ran, a.util);
	bpf_printk("load %llu %llu", ran, a.load);
	load_average_update(&a, (ran + 32) << 20, 0, 0, load_rule());
	bpf_printk("util %llu, idle 32 %llu", ran, a.util);
}

static void say_averages(void)
{
	struct load_average a = {};
	u64 period, on = 0, off = 0;

	say_average(1);
	say_average(8);
	say_average(16);
	say_average(32);
	say_average(64);
	say_average(128);
	say_average(345);
	say_average(400);
	bpf_for(period, 0, 100) {
		load_average_update(&a, (20 * period + 10) << 20, 1024, 1024, load_rule() | LOAD_RUNNING);
		on = a.util;
		load_average_update(&a, (20 * period + 20) << 20, 0, 0, load_rule());
		off = a.util;
	}
	SAY("ten on", on);
	SAY("ten off", off);
}

static void say_groups(void)
{
	SAY("within 18 15 125", is_within(18, 15, 125));
	SAY("within 19 15 125", is_within(19, 15, 125));
	SAY("within 20 16 125", is_within(20, 16, 125));
	SAY("within 5 4 125", is_within(5, 4, 125));
	SAY("within 6 4 125", is_within(6, 4, 125));
	SAY("within 18 15 117", is_within(18, 15, 117));
	SAY("within 20 16 117", is_within(20, 16, 117));
	SAY("within 5 4 117", is_within(5, 4, 117));
	SAY("affine 1024 1024", affine_4_9(1024, 1024, 512, 117));
	SAY("affine 1024 2048", affine_4_9(1024, 2048, 512, 117));
	SAY("affine 0 1024", affine_4_9(0, 1024, 512, 117));
	SAY("affine 2048 2560 at 125", affine_4_9(2048, 2560, 512, 125));
	SAY("wide 8 64", is_wide(8, 64, 8));
	SAY("wide 8 63", is_wide(8, 63, 8));
	SAY("wide 7 1000", is_wide(7, 1000, 8));
	SAY("wide 20 200", is_wide(200, 20, 8));
	SAY("idle scan of an idle cache", idle_scan_of(0, 8));
	SAY("idle scan at half", idle_scan_of(8 * 512, 8));
	SAY("idle scan at 88 percent", idle_scan_of(8 * 900, 8));
}

/* What a task group weighs on a CPU, where it has all of its tasks or a part of them. */
static void say_task_groups(void)
{
	SAY("group weight", group_weight(1024, 2048, 4096, 1024));
	SAY("group weight alone", group_weight(1024, 2048, 2048, 2048));
	SAY("group weight alone, not yet published", group_weight(1024, 2048, 0, 0));
	SAY("group weight of little", group_weight(1024, 1, 100000, 1));
	SAY("group weight without load", group_weight(1024, 0, 0, 0));
}

/* Two groups of eight CPUs with 32 and 8 tasks of nice 0, as the second balances. */
static void say_imbalance(void)
{
	struct fair_queue *q = queue_of(2);
	struct fair_task task = { .average = { .load = 1024 } };
	u64 step, took = 0, amount;
	u32 key = 0;
	struct attempt *a = bpf_map_lookup_elem(&attempts, &key);

	if (!a || !q)
		return;
	a->busiest.load = a->total_load = 32 * 1024;
	a->local.load = 8 * 1024;
	a->total_load += 8 * 1024;
	a->busiest.capacity = a->local.capacity = 8 * 1024;
	a->total_capacity = 16 * 1024;
	a->busiest.nr_running = 32;
	a->local.nr_running = 8;
	a->busiest.cpus = a->local.cpus = 8;
	a->busiest.util = 8 * 1024;
	classify_group(&a->busiest, 125, false);
	classify_group(&a->local, 125, false);
	SAY("busiest", a->busiest.average_load);
	SAY("local", a->local.average_load);
	SAY("domain", domain_average(a));
	SAY("imbalance", load_imbalance(a));
	/* A queue so full that its rounding does not show. */
	q->average.load = 1 << 30;
	a->imbalance = 1536;
	a->unit = MOVE_LOAD;
	bpf_for(step, 0, 32) {
		amount = worth(a, &task, q);
		if (a->imbalance <= 0 || !amount)
			break;
		a->imbalance -= task.average.load;
		took++;
	}
	SAY("detached", took);
	SAY("below zero by", -a->imbalance);
}

/* In how many jiffies a level of @span CPUs is due, when it is idle and busy, and the longest interval. */
static void say_interval(u32 span)
{
	struct fair_queue *q = queue_of(3);

	if (!q)
		return;
	q->interval_ms[1] = span;
	bpf_printk("idle interval %u %llu", span, due_at(q, 1, false) / jiffy);
	bpf_printk("busy interval %u %llu", span, due_at(q, 1, true) / jiffy);
	rest(q, 1, span, false, false);
	rest(q, 1, span, false, false);
	bpf_printk("longest interval %u %u", span, q->interval_ms[1]);
}

static void say_intervals(void)
{
	u64 history[5] = {}, step;

	say_interval(2);
	say_interval(8);
	say_interval(16);
	say_interval(32);
	say_interval(1000000);
	bpf_for(step, 0, 8) {
		smooth_load(history, 1024);
		SAY("history", history[2]);
	}
	history[1] = 1024;
	bpf_for(step, 0, 5) {
		smooth_load(history, 0);
		SAY("falling history", history[1]);
	}
}

s32 BPF_STRUCT_OPS_SLEEPABLE(formulas_init)
{
	nr_cpus = scx_bpf_nr_cpu_ids();
	init_domains(nr_cpus);
	jiffy = NS_PER_S / hz;
	scale_times(nr_cpus);
	say_times();
	say_slices();
	say_places(7000000);
	say_preempts(NS_PER_S);
	say_decays();
	say_averages();
	say_groups();
	say_task_groups();
	say_imbalance();
	say_intervals();
	return 0;
}

SCX_OPS_DEFINE(formulas_ops, .init = (void *)formulas_init, .name = "formulas");
