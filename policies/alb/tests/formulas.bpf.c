/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * formulas - how tasks are divided among CPUs, printed when it starts. It calls the functions of the headers that alb
 * is made of. Weights are printed in thousandths, cut off.
 */
#include <schedlab/common.bpf.h>
#include <alb/partition.bpf.h>

char _license[] SEC("license") = "GPL";

#define SAY(name, what, value) bpf_printk("%s %s %llu", name, what, (u64)(value))
#define THOUSANDTHS(weight) ((weight) * 1000 >> WEIGHT_SHIFT)

#define MAX_GIVEN 64
#define MAX_GIVEN_CPUS 8

/* The tasks of a case. */
struct given {
	u32 level;
	u32 cpu;
	bool fixed;
};
static struct given given[MAX_GIVEN];
static u32 nr_given;
static u64 given_weights[MAX_GIVEN_CPUS], fixed_weights[MAX_GIVEN_CPUS];
static u32 given_counts[MAX_GIVEN_CPUS];

static void add(u32 level, u32 cpu, bool fixed)
{
	struct given *g = ELEMENT(given, nr_given);
	u64 *weight = ELEMENT(given_weights, cpu), *fixed_weight = ELEMENT(fixed_weights, cpu);
	u32 *count = ELEMENT(given_counts, cpu);

	if (!g || !weight || !fixed_weight || !count)
		return;
	*g = (struct given){ .level = level, .cpu = cpu, .fixed = fixed };
	*weight += balance_weight(level);
	*fixed_weight += fixed ? balance_weight(level) : 0;
	++*count;
	nr_given++;
}

/* That many tasks of a nice value that wait on a CPU, or that cannot move from there. */
static void waiting(s32 nice, u32 count, u32 cpu)
{
	u32 step;

	bpf_for(step, 0, count)
		add(nice + LEVEL_NICE_0, cpu, false);
}

static void fixed(s32 nice, u32 count, u32 cpu)
{
	u32 step;

	bpf_for(step, 0, count)
		add(nice + LEVEL_NICE_0, cpu, true);
}

/* Divides the tasks of the case among a number of CPUs. They have come in the order in which they were added. */
__noinline u32 solve(u32 cpus)
{
	u32 cpu, step;

	begin_division(0, cpus);
	bpf_for(cpu, 0, cpus) {
		u64 *weight = ELEMENT(given_weights, cpu);
		u32 *count = ELEMENT(given_counts, cpu);

		if (weight && count)
			divide_cpu(cpu, *weight, *count);
	}
	bpf_for(step, 0, nr_given) {
		struct given *g = ELEMENT(given, step);

		if (g && !g->fixed)
			divide_task(g->cpu, step + 1, g->level, 250 + step);
	}
	divide();
	return 0;
}

static void forget(void)
{
	nr_given = 0;
	__builtin_memset(given_weights, 0, sizeof(given_weights));
	__builtin_memset(fixed_weights, 0, sizeof(fixed_weights));
	__builtin_memset(given_counts, 0, sizeof(given_counts));
}

static u32 migrations(void)
{
	u32 place, moved = 0;

	bpf_for(place, 0, nr_candidates) {
		struct candidate *c = ELEMENT(candidates, place);

		moved += c && c->target != c->cpu;
	}
	return moved;
}

static void say(const char *name, u32 cpus)
{
	u32 cpu, place;

	solve(cpus);
	SAY(name, "average", THOUSANDTHS(average_weight));
	bpf_for(cpu, 0, cpus) {
		u64 *sum = ELEMENT(sums, cpu);
		u32 *count = ELEMENT(counts, cpu);

		if (sum && count) {
			SAY(name, "sum", THOUSANDTHS(*sum));
			SAY(name, "count", *count);
		}
	}
	bpf_for(place, 0, nr_candidates) {
		struct candidate *c = ELEMENT(candidates, place);

		if (c)
			SAY(name, "target", c->target);
	}
	SAY(name, "better", is_better());
	SAY(name, "migrations", migrations());
	forget();
}

static void say_weights(void)
{
	u32 level;

	bpf_for(level, 0, LEVELS)
		SAY("weight", "of level", THOUSANDTHS(balance_weight(level)));
}

static void say_vectors(void)
{
	waiting(0, 4, 0);
	say("v02", 2);
	waiting(0, 3, 0);
	say("v03", 2);
	waiting(0, 2, 0);
	waiting(5, 3, 0);
	say("v04", 2);
	waiting(-5, 1, 0);
	waiting(0, 3, 0);
	say("v05", 2);
	waiting(0, 7, 0);
	say("v06", 2);
	waiting(0, 5, 0);
	waiting(5, 2, 0);
	say("v07", 2);
	fixed(0, 2, 0);
	waiting(0, 2, 0);
	say("v08", 2);
	waiting(-20, 1, 0);
	waiting(0, 19, 0);
	say("v09", 4);
	waiting(0, 2, 0);
	say("v11", 4);
	waiting(0, 2, 0);
	waiting(0, 2, 1);
	say("v13", 2);
}

/* What is not in the sheet's vectors: order, ties, and when a division is worth it. */
static void say_others(void)
{
	waiting(5, 3, 0);
	waiting(0, 2, 0);
	say("light ones first", 2);
	waiting(0, 1, 1);
	waiting(0, 3, 0);
	say("one and three", 2);
	waiting(0, 3, 0);
	waiting(0, 2, 1);
	say("three and two", 2);
	fixed(-20, 1, 0);
	fixed(0, 1, 1);
	waiting(0, 1, 1);
	say("two empty", 4);
	add(LEVEL_IDLE, 0, false);
	add(LEVEL_IDLE, 0, false);
	say("idle class", 2);
}

static u64 random_state = 1;

static u32 random_below(u32 end)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % end;
}

/* One random case: how many laws of a division it breaks. */
__noinline u32 broken_laws(void)
{
	u32 cpus = 1 + random_below(MAX_GIVEN_CPUS), tasks = random_below(MAX_GIVEN), step, broken = 0, nr = 0;
	u64 heaviest = 0, all = 0, after = 0, most;

	bpf_for(step, 0, tasks)
		add(random_below(LEVELS), random_below(cpus), !random_below(4));
	solve(cpus);
	bpf_for(step, 0, nr_given) {
		struct given *g = ELEMENT(given, step);

		if (!g)
			continue;
		all += balance_weight(g->level);
		if (!g->fixed && balance_weight(g->level) > heaviest)
			heaviest = balance_weight(g->level);
	}
	bpf_for(step, 0, cpus) {
		u64 *sum = ELEMENT(sums, step), *before = ELEMENT(fixed_weights, step);
		u32 *count = ELEMENT(counts, step);

		if (!sum || !before || !count)
			continue;
		after += *sum;
		nr += *count;
		most = *before > average_weight + heaviest ? *before : average_weight + heaviest;
		broken += *sum > most;
	}
	broken += after != all;
	broken += nr != nr_given;
	broken += nr_left != 0;
	forget();
	return broken;
}

static void say_laws(void)
{
	u32 step, broken = 0;

	bpf_for(step, 0, 300)
		broken += broken_laws();
	SAY("random", "broken", broken);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(formulas_init)
{
	init_weights();
	say_weights();
	say_vectors();
	say_others();
	say_laws();
	return 0;
}

SCX_OPS_DEFINE(formulas_ops, .init = (void *)formulas_init, .name = "formulas");
