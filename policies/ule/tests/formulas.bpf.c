/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * formulas - what the formulas of ule give for the numbers of the tests, printed when it starts. It calls the functions
 * of the headers that ule is made of.
 */
#include <schedlab/common.bpf.h>
#include <ule/run_queue.bpf.h>

char _license[] SEC("license") = "GPL";

#define SAY(what, value) bpf_printk("%s %llu", what, (u64)(value))

static struct history past(u64 run, u64 slept)
{
	return (struct history){ .run = run, .slept = slept };
}

static void say_constants(void)
{
	SAY("tick history", tick_history);
	SAY("history max", history_max);
	SAY("history fork", history_fork);
	SAY("halved above", history_max / 5 * 6);
}

static void say_score(u64 run, u64 slept)
{
	struct history h = past(run, slept);

	bpf_printk("score %llu %llu %u", run, slept, score_of(&h));
}

static void say_scores(void)
{
	say_score(0, 0);
	say_score(0, 1000);
	say_score(10, 49);
	say_score(1000000, 3000000);
	say_score(1499999, 2500000);
	say_score(1500000, 2500000);
	say_score(512000, 4608000);
	say_score(2000000, 2000000);
	say_score(3000000, 2000000);
	say_score(5000000, 100000);
}

static void say_limit(u64 run, u64 slept)
{
	struct history h = past(run, slept);

	limit_history(&h);
	bpf_printk("limit %llu %llu %llu", run, slept, h.run);
	bpf_printk("limit %llu %llu %llu", run, slept, h.slept);
}

static void say_limits(void)
{
	say_limit(1000000, 4119999);
	say_limit(1000000, 4120000);
	say_limit(3072000, 3072000);
	say_limit(3072000, 3072001);
	say_limit(6000000, 5000000);
	say_limit(1024, 10239999);
}

static void say_child(u64 run, u64 slept)
{
	struct history h = past(run, slept);

	shorten_history(&h);
	bpf_printk("child %llu %llu %llu", run, slept, h.run);
	bpf_printk("child %llu %llu %llu", run, slept, h.slept);
}

static void say_children(void)
{
	say_child(3000000, 2000000);
	say_child(100000, 4900000);
	say_child(500000, 500000);
	say_child(400000, 112000);
}

static void say_priority(u64 run, u64 slept, s32 nice)
{
	struct history h = past(run, slept);

	bpf_printk("priority %llu %llu %d %u", run, slept, nice, priority_of(&h, nice));
}

/* Of a task that ran for `ticks` ticks of a window, and never slept. */
static void say_batch(u64 ticks, u64 window, s32 nice)
{
	struct history h = { .run = 5000000, .used = ticks << HISTORY_SHIFT, .last_tick = window };

	bpf_printk("batch %llu %llu %d %u", ticks, window, nice, priority_of(&h, nice));
}

static void say_priorities(void)
{
	say_priority(0, 1000, 0);
	say_priority(1000000, 3000000, 0);
	say_priority(1499999, 2500000, 0);
	say_priority(1000000, 3000000, 10);
	say_priority(1000000, 3000000, 19);
	say_priority(1500000, 2500000, -5);
	say_batch(10000, 10000, 0);
	say_batch(5000, 10000, 0);
	say_batch(1000, 1000, 0);
	say_batch(500, 1000, 0);
	say_batch(100, 200, 0);
	say_batch(0, 10000, -20);
	say_batch(10000, 10000, 20);
	say_batch(2500, 2500, 0);
	say_batch(1250, 2500, 0);
	say_batch(2500, 2500, 19);
	say_batch(0, 2500, -20);
}

static void say_slot(u32 priority, u64 insert, u64 serve)
{
	/* The slot served lies at or one before the one from which tasks count. */
	u64 round = insert < serve ? QUEUE_HEADS : 0;

	bpf_printk("slot %u %llu %llu %llu", priority, insert, serve,
		   slot_of(priority, insert + round, serve) % QUEUE_HEADS);
}

static void say_slots(void)
{
	say_slot(152, 0, 0);
	say_slot(172, 0, 0);
	say_slot(203, 0, 0);
	say_slot(223, 0, 0);
	say_slot(172, 60, 60);
	say_slot(203, 30, 29);
	say_slot(223, 10, 9);
	say_slot(223, 0, 63);
	say_slot(222, 0, 63);
}

static void say_slices(void)
{
	u32 load;

	bpf_for(load, 1, 10)
		SAY("slice", slice_of(load));
}

/* A creator that forks 192 times within a tick: what the children get. */
static void say_fork_storm(void)
{
	struct history creator = past(0, 2560000), child;
	u32 number, first_batch = 0;

	bpf_for(number, 1, 193) {
		child = creator;
		shorten_history(&child);
		if (!first_batch && score_of(&child) >= interact)
			first_batch = number;
		bpf_printk("storm run %u %llu", number, child.run);
		bpf_printk("storm slept %u %llu", number, child.slept);
		bpf_printk("storm score %u %u", number, score_of(&child));
		creator.run += tick_history;
		limit_history(&creator);
	}
	bpf_printk("storm creator %llu", creator.run);
	SAY("first batch child", first_batch);
}

/* After how many ticks of computing a task is a batch task. */
static void say_ticks_to_batch(u64 slept)
{
	struct history h = past(0, slept);

	bpf_printk("ticks to batch %llu %u", slept, ticks_until_batch(&h, 0, 1000));
}

/* A tick of work and a sleep, 2000 times. */
static void say_cycle(u64 sleep_ms)
{
	struct history h = {};
	u32 cycle;

	bpf_for(cycle, 0, 2000) {
		h.run += tick_history;
		limit_history(&h);
		h.slept += sleep_ms << HISTORY_SHIFT;
		limit_history(&h);
	}
	bpf_printk("cycle %llu %u", sleep_ms, score_of(&h));
}

static void say_paths(void)
{
	say_fork_storm();
	say_ticks_to_batch(512000);
	say_ticks_to_batch(2560000);
	say_ticks_to_batch(5119999);
	say_cycle(8);
	say_cycle(13);
	say_cycle(14);
	say_cycle(20);
	say_cycle(100);
}

static void say_recovery(u64 sleep_ms)
{
	struct history h = past(5000000, 1);

	h.slept += sleep_ms << HISTORY_SHIFT;
	limit_history(&h);
	bpf_printk("recovery %llu %llu", sleep_ms, h.run);
	bpf_printk("recovery %llu %llu", sleep_ms, h.slept);
	bpf_printk("recovery %llu %u", sleep_ms, score_of(&h));
}

static void say_recoveries(void)
{
	say_recovery(1000);
	say_recovery(4000);
	say_recovery(5000);
	say_recovery(6000);
}

static void say_use(u64 used, u64 last, u64 now, bool ran)
{
	struct history h = { .used = used, .last_tick = last };

	update_use(&h, ran, now);
	bpf_printk("use %llu %llu %d %llu", last, now, ran, h.used);
	bpf_printk("use %llu %llu %d %llu", last, now, ran, h.last_tick);
	bpf_printk("use %llu %llu %d %llu", last, now, ran, h.first_tick);
}

static void say_uses(void)
{
	say_use(5000 << HISTORY_SHIFT, 10000, 11000, false);
	say_use(5000 << HISTORY_SHIFT, 10000, 11000, true);
	say_use(5000 << HISTORY_SHIFT, 10000, 10999, true);
	say_use(77777, 1000, 11000, true);
}

static void say_random(u32 seed)
{
	struct run_queue *rq = ELEMENT(run_queues, 0);
	u32 n;

	if (!rq)
		return;
	rq->random = seed;
	bpf_for(n, 0, 5)
		bpf_printk("random %u %u", seed, random_number(rq));
}

static void say_preempts(u32 new, u32 current, bool remote)
{
	bpf_printk("preempts %u %u %d %d", new, current, remote, should_preempt(new, current, remote));
}

static void say_machine(void)
{
	say_random(0);
	say_random(1);
	say_preempts(130, 200, false);
	say_preempts(130, 200, true);
	say_preempts(130, 140, true);
	say_preempts(160, 200, true);
	say_preempts(80, 130, false);
	say_preempts(200, 230, false);
	say_preempts(200, 200, true);
	SAY("warm 4999", is_warm(4999, 1, 5000));
	SAY("warm 4999", is_warm(4999, 2, 5000));
	SAY("warm 4999", is_warm(4999, 3, 5000));
	SAY("warm 4998", is_warm(4998, 2, 5000));
	SAY("warm 4998", is_warm(4998, 3, 5000));
	SAY("warm 4997", is_warm(4997, 3, 5000));
}

/* A task whose priority becomes another one between the choice of its place and the way there. */
static void say_queue_after(u32 chosen, u32 then)
{
	struct thread t = { .priority = chosen };

	give_place(&t, 7 << SLOT_SHIFT);
	t.priority = then;
	bpf_printk("queue %u %u %llu", chosen, then, queue_of(1, &t));
}

static void say_queues(void)
{
	u32 interactive = priority_ranges[mode].interactive, batch = priority_ranges[mode].batch;

	say_queue_after(interactive, interactive);
	say_queue_after(interactive, batch);
	say_queue_after(batch, batch);
	say_queue_after(batch, interactive);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(formulas_init)
{
	set_units();
	say_constants();
	say_scores();
	say_limits();
	say_children();
	say_priorities();
	say_slots();
	say_slices();
	say_paths();
	say_recoveries();
	say_uses();
	say_machine();
	say_queues();
	return 0;
}

SCX_OPS_DEFINE(formulas_ops, .init = (void *)formulas_init, .name = "formulas");
