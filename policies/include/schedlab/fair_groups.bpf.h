/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What placement and balancing of Linux' fair scheduler look at: loads of CPUs, and of the groups of a domain.
 *
 * Source: Linux 4.9 and 6.1, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_FAIR_GROUPS_BPF_H
#define SCHEDLAB_FAIR_GROUPS_BPF_H

#include <schedlab/fair_state.bpf.h>

PARAMETER(u32, imbalance, 0,
	  "range=0..200 about=In domains above the caches, the percentage of the local load that another group of CPUs "
	  "may have. 0 means 125 in 4.9 and 117 since.");

#define CPU_CAPACITY 1024

enum { LEVEL_SMT = 1, LEVEL_CACHE, LEVEL_NODE, LEVEL_NUMA };

/* From what has room to what has too much. 4.9 only knows the last three, and calls both of the first two spare. */
enum group_class { GROUP_SPARE, GROUP_BUSY, GROUP_IMBALANCED, GROUP_OVERLOADED };

/* A group of CPUs of a level: which, and what was found there. */
struct group_stats {
	u64 attempt; /* the one for which they are, 0 for none: queues that are useless to it do not count */
	u32 first;
	u32 cpus;
	u32 level;
	u32 index;	  /* of 4.9's smoothed loads */
	bool is_local;	  /* the CPU that looks is in it */
	u64 load;
	u64 util;
	u64 runnable;
	u64 capacity;
	u64 average_load; /* load per capacity, 1024 for a nice-0 task on a CPU */
	u32 nr_running;
	u32 idle_cpus;
	u32 type;
	bool no_capacity;
};

/* domain_of(), for a verifier to look at once. */
__noinline bool find_domain(u32 level, u32 cpu, struct domain *domain)
{
	return domain && domain_of(level, cpu, nr_cpus, domain);
}

static inline bool has_level(u32 level)
{
	struct domain domain = {};

	return find_domain(level, 0, &domain);
}

/* The load above which a domain is not balanced, in percent of the local load. */
static inline u32 imbalance_pct(u32 level)
{
	if (level == LEVEL_SMT)
		return 110;
	if (level == LEVEL_CACHE)
		return 117;
	return imbalance ?: is_4_9() ? 125 : 117;
}

/*
 * The load average of a queue, as other CPUs see it. A task that wakes there is in it when the CPU has taken it in. One
 * that woke elsewhere is in it until the CPU brings its load to now (remove_entity_load_avg). When it is older than a
 * tick could make it, it is brought to now, in a copy.
 */
__noinline u64 cpu_load(s32 cpu, u64 now)
{
	struct fair_queue *q = queue_of(cpu);
	struct load_average a;

	if (!q)
		return 0;
	a = q->average;
	if (time_after(now, a.updated_at + jiffy)) {
		load_average_update(&a, now, q->weight, q->weight, load_rule());
	}
	a.load += q->leaving;
	load_take(&a.load, q->arriving);
	return is_4_9() ? a.runnable : a.load;
}

/* The part of a task in the load of its queue. Without task groups that is its own load, except for the rounding. */
static inline u64 hierarchical_load(const struct fair_task *t, const struct fair_queue *q)
{
	if (has_groups())
		return load_in_tree(t);
	return t->average.load * q->average.load / (q->average.load + 1);
}

static inline u32 group_end(const struct domain *domain, u32 first)
{
	u32 end = first + domain->group_size;

	return end < domain->end ? end : domain->end;
}

/* One tick of the loads that 4.9 smooths: the k-th follows over 2^k ticks, rounded up when it rises. */
static inline void smooth_load(u64 *history, u64 load)
{
	u32 k;

	history[0] = load;
	bpf_for(k, 1, 5) {
		u64 *old = k < 5 ? &history[k] : history;

		*old = smoothed_by(*old, load, k);
	}
}

/* Brings the smoothed loads to now, as if the load had been what it is for all ticks since. */
static void update_history(struct fair_queue *q, u64 load, u64 now)
{
	u64 ticks = now / jiffy, missed = ticks - q->history_ticks, step;

	q->history_ticks = ticks;
	bpf_for(step, 0, missed < 64 ? missed : 64)
		smooth_load(q->load_history, load);
}

/* 4.9's cautious load: with an index the greater of now and before here, the lesser elsewhere. */
static u64 biased_load(struct fair_queue *q, u64 load, const struct group_stats *group, u64 now)
{
	u64 *old;

	if (!group->index)
		return load;
	update_history(q, load, now);
	old = ELEMENT(q->load_history, group->index - 1);
	return old && (group->is_local ? *old > load : *old < load) ? *old : load;
}

/* Adds up the CPUs of a group. */
__noinline bool gather_group(struct group_stats *group, u64 now)
{
	struct fair_queue *q;
	u32 cpu;

	if (!group)
		return false;
	q = queue_of(group->first);
	if (q && q->imbalanced & 1U << group->level)
		group->type = GROUP_IMBALANCED;
	bpf_for(cpu, group->first, group->first + group->cpus) {
		q = queue_of(cpu);
		if (!q)
			continue;
		group->capacity += CPU_CAPACITY;
		if (group->attempt && q->useless_to == group->attempt)
			continue;
		update_queue_load(q, now);
		group->load += biased_load(q, cpu_load(cpu, now), group, now);
		group->util += q->average.util < CPU_CAPACITY ? q->average.util : CPU_CAPACITY;
		group->runnable += q->average.runnable;
		group->nr_running += q->nr_running;
		group->idle_cpus += !q->nr_running;
	}
	return true;
}

static inline bool has_capacity(const struct group_stats *group, u32 pct)
{
	if (group->nr_running < group->cpus)
		return true;
	if (!is_4_9() && group->capacity * pct < group->runnable * 100)
		return false;
	return group->capacity * 100 > group->util * pct;
}

static inline bool is_overloaded(const struct group_stats *group, u32 pct)
{
	if (group->nr_running <= group->cpus)
		return false;
	if (!is_4_9() && group->capacity * pct < group->runnable * 100)
		return true;
	return group->capacity * 100 < group->util * pct;
}

/* The class of a group whose figures are there; @too_many: more than it is meant to have. */
static void classify_group(struct group_stats *group, u32 pct, bool too_many)
{
	bool imbalanced = group->type == GROUP_IMBALANCED;

	group->no_capacity = too_many || is_overloaded(group, pct);
	if (group->no_capacity)
		group->type = GROUP_OVERLOADED;
	else if (imbalanced)
		group->type = GROUP_IMBALANCED;
	else
		group->type = is_4_9() || has_capacity(group, pct) ? GROUP_SPARE : GROUP_BUSY;
	if (group->capacity)
		group->average_load = group->load * CPU_CAPACITY / group->capacity;
}

#endif /* SCHEDLAB_FAIR_GROUPS_BPF_H */
