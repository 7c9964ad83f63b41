/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The search for the CPU with the lowest or the highest load, and the choice of a CPU for a task by it.
 *
 * FreeBSD searches a tree: it takes the group with the lowest sum of loads, then the CPU with the lowest load in
 * it, which need not be the lowest of all. The port searches CPU by CPU. Either way every CPU is looked at, for
 * each task that wakes: that is what the study found to cost up to an eighth of the machine.
 */
#ifndef ULE_SEARCH_BPF_H
#define ULE_SEARCH_BPF_H

#include <schedlab/domains.bpf.h>
#include <ule/run_queue.bpf.h>

/* A task counts that much, the CPU that is preferred that much less; random numbers below 32 decide between equals. */
#define LOAD_UNIT 256
#define PREFERENCE 64
#define JITTER 32
#define NO_CPU (-1)
/* What every priority is worse than, as a bound that excludes none. */
#define ANY_PRIORITY (-1)

/* What a cache level is called in FreeBSD: how the CPUs of a group are close. */
enum { SHARE_NONE, SHARE_L1, SHARE_L2, SHARE_L3 };

/* Which CPUs a search is for, when it is for no task. */
enum among { DONORS, CANDIDATES, UNTRIED };

struct search {
	struct task_struct *p; /* only CPUs on which it may run */
	u64 stamp;             /* for UNTRIED */
	u32 first, end;        /* CPUs */
	enum among among;
	bool highest;
	s32 bound;             /* lowest: only CPUs whose best priority is worse than this */
	u32 limit;             /* lowest: the largest load, highest: the smallest load */
	s32 prefer;
};

/* The best of what was looked at, of a CPU or a group of them. */
struct found {
	s64 load;     /* of the winner's branch */
	s64 jittered;
	s64 total;    /* of all that were looked at */
	s32 cpu;
};

static inline bool qualifies(const struct search *search, struct run_queue *rq, s32 cpu)
{
	if (search->highest) {
		if (rq->load < search->limit || (mode == MODE_FREEBSD && !rq->transferable))
			return false;
	} else if ((s32)rq->best <= search->bound || rq->load > search->limit) {
		return false;
	}
	if (search->p)
		return (u32)search->p->nr_cpus_allowed == nr_cpus || bpf_cpumask_test_cpu(cpu, search->p->cpus_ptr);
	switch (search->among) {
	case DONORS:
		return rq->donor;
	case CANDIDATES:
		return rq->candidate;
	default:
		return rq->tried != search->stamp;
	}
}

/* Takes a branch into account: a CPU, or a group whose winner is known. */
static inline void consider(struct found *best, bool highest, s64 load, s64 jittered, s32 cpu)
{
	s64 sign = highest ? -1 : 1;

	best->total += load;
	if (cpu < 0)
		return;
	if (best->cpu < 0 || sign * load < sign * best->load ||
	    (load == best->load && sign * jittered < sign * best->jittered)) {
		best->load = load;
		best->jittered = jittered;
		best->cpu = cpu;
	}
}

/*
 * The same in a tree of groups. This and the next are not static, so that a verifier looks at them once and not in each
 * state of a search.
 */
__noinline int visit(struct found *best, bool highest, s64 load, s64 jittered, s32 cpu)
{
	if (best)
		consider(best, highest, load, jittered, cpu);
	return 0;
}

/* A group is complete: it becomes a branch of the one that it lies in. */
__noinline int fold(struct found *into, struct found *group, bool highest)
{
	if (!into || !group)
		return 0;
	consider(into, highest, group->total, group->jittered, group->cpu);
	*group = (struct found){ .cpu = NO_CPU };
	return 0;
}

/*
 * The CPU that a search finds, or NO_CPU. CPUs and groups are visited from the last to the first. CPUs are numbered so
 * that each group is a range of them, hence one pass: a group is complete when its first CPU was visited.
 */
static __noinline s32 find_cpu(const struct search *search, struct run_queue *own)
{
	struct found all = { .cpu = NO_CPU }, node = all, cache = all, core = all;
	u32 of_core = domain_size(1, nr_cpus), of_cache = domain_size(2, nr_cpus), of_node = domain_size(3, nr_cpus);
	bool tree = mode == MODE_FREEBSD && (of_core > 1 || of_cache < search->end - search->first);
	u32 index;

	bpf_for(index, 0, search->end - search->first) {
		s32 cpu = search->end - 1 - index;
		struct run_queue *rq = ELEMENT(run_queues, cpu);
		s64 load, jittered;
		bool good;

		if (!rq)
			break;
		load = (s64)rq->load * LOAD_UNIT - (!search->highest && cpu == search->prefer ? PREFERENCE : 0);
		jittered = load - random_number(own) % JITTER;
		good = qualifies(search, rq, cpu);
		if (!tree) {
			consider(&all, search->highest, load, jittered, good ? cpu : NO_CPU);
			continue;
		}
		visit(&core, search->highest, load, jittered, good ? cpu : NO_CPU);
		if (cpu % of_core == 0)
			fold(&cache, &core, search->highest);
		if (cpu % of_cache == 0)
			fold(&node, &cache, search->highest);
		if (cpu % of_node == 0 || index == search->end - search->first - 1)
			fold(&all, &node, search->highest);
	}
	return all.cpu;
}

/* The CPU with the smallest load for a task, among those without a waiting or running task as good as @bound. */
static s32 lowest_for(struct task_struct *p, struct run_queue *own, u32 first, u32 end, s32 bound, s32 prefer)
{
	struct search search = {
		.p = p, .first = first, .end = end,
		.bound = bound, .limit = ~0U, .prefer = prefer,
	};

	return find_cpu(&search, own);
}

static inline bool is_idle(s32 cpu)
{
	struct run_queue *rq = ELEMENT(run_queues, cpu);

	return rq && (mode == MODE_FREEBSD ? rq->best >= IDLE_CLASS_PRIORITY : rq->load == 0);
}

/* Whether all hardware threads of a core are idle. */
static bool core_is_idle(s32 cpu)
{
	u32 threads = domain_size(1, nr_cpus), first = (u32)cpu / threads * threads, thread;

	bpf_for(thread, first, first + threads) {
		if (!is_idle(thread))
			return false;
	}
	return true;
}

/*
 * The largest group of CPUs, smaller than the machine, in which the task may still find its data. FreeBSD goes by the
 * caches around the CPU where it ran, of which the machine has the last level. The port counts Linux' domains around
 * the CPU of the waker instead, 0 the smallest, and so never takes that one.
 */
static bool warm_group(const struct thread *t, s32 last, s32 here, u64 tick, struct domain *group)
{
	u32 level, index = 0;
	bool found = false;

	if (mode == MODE_FREEBSD)
		return is_warm(t->last_ran, SHARE_L3, tick) && domain_of(2, last, nr_cpus, group) &&
		       group->end - group->first < nr_cpus;
	bpf_for(level, 1, MAX_DOMAIN_LEVEL + 1) {
		struct domain domain;

		if (!domain_of(level, here, nr_cpus, &domain))
			continue;
		if (is_warm(t->history.last_tick, index, tick)) {
			*group = domain;
			found = domain.end - domain.first < nr_cpus;
		}
		index++;
	}
	return found;
}

/* The CPU for a task that wakes or is new, @last: where it was, @here: where its waker is. */
static s32 pick_cpu(struct task_struct *p, struct thread *t, s32 last, s32 here, u64 now)
{
	struct run_queue *own = ELEMENT(run_queues, here), *at_last = ELEMENT(run_queues, last), *chosen;
	u64 tick = hz_tick(now), left_at = mode == MODE_FREEBSD ? t->last_ran : t->history.last_tick;
	s32 priority = t->priority, cpu = NO_CPU;
	struct domain group;

	if (!own || !at_last)
		return last;
	if (is_idle(last) && is_warm(left_at, SHARE_L2, tick) && bpf_cpumask_test_cpu(last, p->cpus_ptr) &&
	    (mode == MODE_PAPER || core_is_idle(last)))
		return last;
	if (warm_group(t, last, here, tick, &group)) {
		s32 idle = priority > (s32)timeshare_max() ? priority : (s32)timeshare_max();

		cpu = lowest_for(p, own, group.first, group.end, idle, last);
	}
	if (cpu < 0)
		cpu = lowest_for(p, own, 0, nr_cpus, priority, last);
	if (cpu < 0)
		cpu = lowest_for(p, own, 0, nr_cpus, ANY_PRIORITY, last);
	chosen = mode == MODE_FREEBSD ? ELEMENT(run_queues, cpu) : at_last;
	if (cpu < 0 || !chosen)
		return last;
	/* The waker's own CPU, if that is hardly more loaded and its task would go first there. */
	if (chosen->load && (s32)own->best > priority && own->load <= chosen->load + 1 &&
	    bpf_cpumask_test_cpu(here, p->cpus_ptr))
		return here;
	return cpu;
}

#endif /* ULE_SEARCH_BPF_H */
