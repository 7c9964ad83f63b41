/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The average method: tasks are divided among CPUs so that none gets more than the average of the weights.
 *
 *	A   = sum of all weights / number of CPUs
 *	S_i = weight of CPU i: at first what cannot move from there
 *
 *	1. In descending order of weights, and for each CPU from the first on: it takes each task with S_i + w <= A.
 *	2. What is left goes, the heaviest first, to the CPU with the smallest S_i.
 *	3. Of tasks of one weight it does not matter which goes where, so as many as possible stay.
 *	4. It is only done if the largest and the smallest S_i come closer to each other.
 *
 * Example, two CPUs, tasks of nice 0, 0, 5, 5, 5 with 1024 and 335.5: A = 1527.3. CPU 0 takes 1024 and 335.5 and has no
 * room for more, CPU 1 the same; the last task goes to CPU 0, which has 1695.1 then, next to 1359.5.
 *
 * In the first step no CPU gets above A; in the second the smallest sum is never above A, which is what they are on
 * average in the end. So no CPU ends above A by more than a task, unless by what could not move. A task heavier than A
 * fits nowhere in the first step, and the method may leave CPUs empty next to full ones: nineteen tasks of nice 0 and
 * one of nice -20 on four CPUs end on two. `spread_idle` mends that.
 *
 * There is one set of arrays: the dividing CPU must be the only one.
 */
#ifndef ALB_PARTITION_BPF_H
#define ALB_PARTITION_BPF_H

#include <alb/balance_weight.bpf.h>

PARAMETER(u32, order, 0,
	  "choices=ffd,fifo about=The order in which CPUs take tasks: by descending weight, or by arrival.");
enum { ORDER_FFD, ORDER_FIFO };
PARAMETER(u32, rule, 0,
	  "choices=strict,fill about=When a CPU takes a task: if its sum of weights is then at most the average, or if "
	  "it is below the average before.");
enum { RULE_STRICT, RULE_FILL };
PARAMETER(u32, imbalance_pct, 100,
	  "range=100..1000 about=Nothing moves while the largest sum of weights is at most this percentage of the "
	  "smallest. 100 means no hysteresis.");
PARAMETER(bool, spread_idle, false,
	  "about=Whether a CPU that would stay empty gets a task from the CPU with the most tasks.");

#define MAX_DIVIDED_CPUS 4096
#define MAX_CANDIDATES 4096

/* A task that may be moved. */
struct candidate {
	s32 pid;
	u32 ticket; /* grows in the order of arrival */
	u16 cpu;    /* where it waits */
	u16 target; /* where it shall be */
	u16 level;
	bool stays;
};

/*
 * One division of tasks among the CPUs from `first` to before `end`.
 */
static struct candidate candidates[MAX_CANDIDATES];
static u32 first_cpu, end_cpu, nr_candidates;
static u64 total_weight, average_weight;
/* Numbers of candidates: in their order, those that no CPU has taken yet, and room to sort. */
static u16 ranked[MAX_CANDIDATES], left[MAX_CANDIDATES], sorted[MAX_CANDIDATES];
static u32 nr_left, nr_kept;
/* Of each CPU: the sum of weights before and after, and how many tasks it will have. */
static u64 sums_before[MAX_DIVIDED_CPUS], sums[MAX_DIVIDED_CPUS];
static u32 counts[MAX_DIVIDED_CPUS];
/* How many tasks of a level each CPU will have, of the candidates. */
static u16 quotas[LEVELS * MAX_DIVIDED_CPUS];

#define CANDIDATE_IN(list, place)                               \
	({                                                      \
		u16 *__number = ELEMENT(list, place);           \
		__number ? ELEMENT(candidates, *__number) : NULL; \
	})

static inline u16 *quota_of(u32 level, u32 cpu)
{
	return ELEMENT(quotas, level * MAX_DIVIDED_CPUS + cpu);
}

/* Begins with CPUs that have nothing. */
static void begin_division(u32 first, u32 end)
{
	first_cpu = first;
	end_cpu = end;
	nr_candidates = 0;
	total_weight = 0;
}

/* What a CPU has, as a weight and a number of tasks. */
static void divide_cpu(u32 cpu, u64 weight, u32 count)
{
	u64 *before = ELEMENT(sums_before, cpu), *sum = ELEMENT(sums, cpu);
	u32 *tasks = ELEMENT(counts, cpu);

	if (!before || !sum || !tasks)
		return;
	*before = *sum = weight;
	*tasks = count;
	total_weight += weight;
}

/* One of its tasks may be moved. Returns the number of the candidate, MAX_CANDIDATES when there are too many. */
static u32 divide_task(u32 cpu, s32 pid, u32 level, u32 ticket)
{
	struct candidate *c = ELEMENT(candidates, nr_candidates);
	u16 *place = ELEMENT(ranked, nr_candidates);
	u64 *sum = ELEMENT(sums, cpu);
	u32 *tasks = ELEMENT(counts, cpu);

	if (!c || !place || !sum || !tasks)
		return MAX_CANDIDATES;
	*c = (struct candidate){ .pid = pid, .ticket = ticket, .cpu = cpu, .target = cpu, .level = level };
	*place = nr_candidates;
	/* What another CPU changes at this moment may be seen by half. */
	*sum -= *sum > balance_weight(level) ? balance_weight(level) : *sum;
	*tasks -= *tasks > 0;
	return nr_candidates++;
}

/* What a list is sorted by: a byte of the ticket, from the lowest on, or the level. */
enum { BY_TICKET, BY_LEVEL = 4 };

static inline u32 sort_key(const struct candidate *c, u32 by)
{
	return by < BY_LEVEL ? c->ticket >> 8 * by & 0xff : c->level;
}

static u16 key_starts[256];

/* Where the tasks with each key will begin. */
static void find_starts(u32 by)
{
	u32 place, key, start = 0;

	__builtin_memset(key_starts, 0, sizeof(key_starts));
	bpf_for(place, 0, nr_candidates) {
		struct candidate *c = CANDIDATE_IN(ranked, place);
		u16 *count = c ? ELEMENT(key_starts, sort_key(c, by)) : NULL;

		if (count)
			++*count;
	}
	bpf_for(key, 0, 256) {
		u16 *count = ELEMENT(key_starts, key);

		if (count) {
			start += *count;
			*count = start - *count;
		}
	}
}

/* Sorts the candidates by a small key and keeps the order of those with the same: a counting sort. */
__noinline u32 rank_by(u32 by)
{
	u32 place;

	find_starts(by);
	bpf_for(place, 0, nr_candidates) {
		struct candidate *c = CANDIDATE_IN(ranked, place);
		u16 *number = ELEMENT(ranked, place), *start = c ? ELEMENT(key_starts, sort_key(c, by)) : NULL;
		u16 *to = start ? ELEMENT(sorted, *start) : NULL;

		if (number && to) {
			*to = *number;
			++*start;
		}
	}
	bpf_for(place, 0, nr_candidates) {
		u16 *from = ELEMENT(sorted, place), *to = ELEMENT(ranked, place);

		if (from && to)
			*to = *from;
	}
	return 0;
}

/* Puts the candidates in order: of arrival, and before that of weight. Bytes that all tickets share need no pass. */
static void rank_candidates(void)
{
	u32 place, differing = 0, by;

	bpf_for(place, 1, nr_candidates) {
		struct candidate *c = ELEMENT(candidates, place);

		if (c)
			differing |= c->ticket ^ candidates[0].ticket;
	}
	bpf_for(by, BY_TICKET, BY_LEVEL) {
		if (differing >> 8 * by & 0xff)
			rank_by(by);
	}
	if (order == ORDER_FFD)
		rank_by(BY_LEVEL);
}

static inline bool fits(u64 sum, u64 weight)
{
	return rule == RULE_STRICT ? sum + weight <= average_weight : sum < average_weight;
}

static inline void assign(struct candidate *c, u32 cpu, u64 *sum)
{
	u32 *tasks = ELEMENT(counts, cpu);

	c->target = cpu;
	*sum += balance_weight(c->level);
	if (tasks)
		++*tasks;
}

/* A CPU takes what fits of what is left; the rest moves up. */
__noinline u32 fill_cpu(u32 cpu)
{
	u64 *sum = ELEMENT(sums, cpu);
	u32 place;

	if (!sum || *sum >= average_weight)
		return 0;
	nr_kept = 0;
	bpf_for(place, 0, nr_left) {
		struct candidate *c = CANDIDATE_IN(left, place);
		u16 *number = ELEMENT(left, place), *to = ELEMENT(left, nr_kept);

		if (!c || !number || !to)
			break;
		if (fits(*sum, balance_weight(c->level))) {
			assign(c, cpu, sum);
		} else {
			*to = *number;
			nr_kept++;
		}
	}
	nr_left = nr_kept;
	return 0;
}

/* The CPU with the smallest sum, the first of several. */
static u32 least_cpu(void)
{
	u32 cpu, least = first_cpu;
	u64 least_sum = ~0ULL;

	bpf_for(cpu, first_cpu, end_cpu) {
		u64 *sum = ELEMENT(sums, cpu);

		if (sum && *sum < least_sum) {
			least_sum = *sum;
			least = cpu;
		}
	}
	return least;
}

/* The heaviest of what no CPU had room for, the first of several; it leaves the list. */
static struct candidate *take_heaviest(void)
{
	u32 place, heaviest = 0;
	u16 *number, *gap = NULL;
	u64 most = 0;
	struct candidate *c;

	bpf_for(place, 0, nr_left) {
		c = CANDIDATE_IN(left, place);
		if (c && balance_weight(c->level) > most) {
			most = balance_weight(c->level);
			heaviest = place;
		}
	}
	c = CANDIDATE_IN(left, heaviest);
	bpf_for(place, heaviest, nr_left) {
		number = ELEMENT(left, place);
		if (gap && number)
			*gap = *number;
		gap = number;
	}
	nr_left--;
	return c;
}

/* What is left goes where the sum is least. Fewer tasks are left than there are CPUs. */
__noinline u32 place_leftovers(void)
{
	u32 step;

	bpf_for(step, 0, MAX_CANDIDATES) {
		u32 cpu = least_cpu();
		u64 *sum = ELEMENT(sums, cpu);
		struct candidate *c;

		if (!nr_left || !sum)
			break;
		c = take_heaviest();
		if (c)
			assign(c, cpu, sum);
	}
	return 0;
}

/* An empty CPU gets a task of the CPU that has most, the last in the order. */
__noinline u32 spread_to(u32 cpu)
{
	struct candidate *given = NULL;
	u64 *sum = ELEMENT(sums, cpu), *from;
	u32 *tasks = ELEMENT(counts, cpu), place, most = 1;

	if (!sum || !tasks || *tasks)
		return 0;
	bpf_for(place, 0, nr_candidates) {
		struct candidate *c = CANDIDATE_IN(ranked, nr_candidates - 1 - place);

		tasks = c ? ELEMENT(counts, c->target) : NULL;
		if (tasks && *tasks > most) {
			most = *tasks;
			given = c;
		}
	}
	from = given ? ELEMENT(sums, given->target) : NULL;
	tasks = given ? ELEMENT(counts, given->target) : NULL;
	if (!from || !tasks)
		return 0;
	*from -= balance_weight(given->level);
	--*tasks;
	assign(given, cpu, sum);
	return 0;
}

/* Counts how many tasks of each level each CPU shall have. */
__noinline u32 count_quotas(void)
{
	u32 level, cpu, place;

	bpf_for(level, 0, LEVELS) {
		bpf_for(cpu, first_cpu, end_cpu) {
			u16 *quota = quota_of(level, cpu);

			if (quota)
				*quota = 0;
		}
	}
	bpf_for(place, 0, nr_candidates) {
		struct candidate *c = ELEMENT(candidates, place);
		u16 *quota = c ? quota_of(c->level, c->target) : NULL;

		if (quota)
			++*quota;
	}
	return 0;
}

/* A candidate takes a place of its level on a CPU, if there is one. */
static inline bool take_quota(struct candidate *c, u32 cpu)
{
	u16 *quota = quota_of(c->level, cpu);

	if (!quota || !*quota)
		return false;
	--*quota;
	c->target = cpu;
	return true;
}

/* First the tasks that are there already, in their order, then the others, from the first CPU on. */
__noinline u32 settle(void)
{
	u32 place, cpu;

	bpf_for(place, 0, nr_candidates) {
		struct candidate *c = CANDIDATE_IN(ranked, place);

		if (c)
			c->stays = take_quota(c, c->cpu);
	}
	bpf_for(place, 0, nr_candidates) {
		struct candidate *c = CANDIDATE_IN(ranked, place);

		if (!c || c->stays)
			continue;
		bpf_for(cpu, first_cpu, end_cpu) {
			if (take_quota(c, cpu))
				break;
		}
	}
	return 0;
}

/* Divides the candidates: the targets are set. */
static void divide(void)
{
	u32 cpus = end_cpu - first_cpu, cpu, place;

	average_weight = cpus ? total_weight / cpus : 0;
	rank_candidates();
	bpf_for(place, 0, nr_candidates) {
		u16 *from = ELEMENT(ranked, place), *to = ELEMENT(left, place);

		if (from && to)
			*to = *from;
	}
	nr_left = nr_candidates;
	bpf_for(cpu, first_cpu, end_cpu)
		fill_cpu(cpu);
	place_leftovers();
	if (spread_idle) {
		bpf_for(cpu, first_cpu, end_cpu)
			spread_to(cpu);
	}
	count_quotas();
	settle();
}

/* Greatest and least sum of some, and how many are nothing. */
struct extent {
	u64 greatest;
	u64 least;
	u32 empty;
};

static inline void extend(struct extent *e, u64 sum)
{
	e->greatest = sum > e->greatest ? sum : e->greatest;
	e->least = sum < e->least ? sum : e->least;
	e->empty += !sum;
}

/* Whether the division is worth its migrations. */
__noinline bool is_better(void)
{
	struct extent before = { .least = ~0ULL }, after = { .least = ~0ULL };
	u32 cpu;

	bpf_for(cpu, first_cpu, end_cpu) {
		u64 *old = ELEMENT(sums_before, cpu), *new = ELEMENT(sums, cpu);

		if (old && new) {
			extend(&before, *old);
			extend(&after, *new);
		}
	}
	if (spread_idle && after.empty < before.empty)
		return true;
	return before.greatest * 100 > before.least * imbalance_pct &&
	       after.greatest - after.least < before.greatest - before.least;
}

#endif /* ALB_PARTITION_BPF_H */
