/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The balancer of Linux' fair scheduler: a CPU looks at the groups of a domain, finds the busiest, how much that is off
 * balance, and pulls that much from its busiest queue.
 *
 * 4.9 compares load averages per capacity: nothing moves while the busiest group's is within some percent of the local
 * one's. 6.1 first compares classes (room, full, overloaded), and evens out the numbers of tasks or of idle CPUs where
 * there is room. Both move load, not tasks, between groups that are overloaded.
 *
 * Example, 4.9, two groups of 8 CPUs, 32 and 8 tasks of nice 0: averages 4096 and 1024, of both 2560; the local group
 * lacks 1536 * 8 = 12288, which is 12 tasks. With 18 and 15 on two CPUs nothing moves, as 1800 <= 125 * 15.
 *
 * Source: Linux 4.9 and 6.1, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_FAIR_BALANCE_BPF_H
#define SCHEDLAB_FAIR_BALANCE_BPF_H

#include <schedlab/fair_groups.bpf.h>

PARAMETER(u64, migration_cost, 500000,
	  "unit=ns range=0ns..1s about=A task that ran less than this long ago has a warm cache and is not pulled at "
	  "first.");
PARAMETER(u32, nr_migrate, 32, "range=1..1024 about=The maximum number of tasks that one pull examines.");

enum balance_kind { BALANCE_BUSY, BALANCE_IDLE, BALANCE_NEW_IDLE };
enum balance_unit { MOVE_LOAD, MOVE_UTIL, MOVE_TASKS };

/* One attempt of a CPU to balance a domain. */
struct attempt {
	struct group_stats local;
	struct group_stats busiest;
	struct group_stats group; /* the one that is being looked at */
	struct domain domain;
	u64 now;
	u64 total_load;
	u64 total_capacity;
	u64 total_util;
	u64 number;		  /* no other attempt has it; 0 when it is made for the first time */
	s64 imbalance;		  /* what to move, in units of `unit` */
	u32 unit;
	u32 cpu;
	u32 level;
	u32 kind;
	u32 pct;
	u32 index;		  /* of 4.9's smoothed loads */
	s32 source;		  /* the busiest queue */
	u32 failures;
	u32 looks;		  /* at tasks; here and not in a loop's variable, which a verifier would count along */
	u32 moved;
	bool prefer_siblings;
	bool pinned;		  /* some could not move for their allowed CPUs */
	bool movable;		  /* some could */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct attempt);
} attempts SEC(".maps");

/* Which of 4.9's smoothed loads a level looks at. */
static inline u32 load_index(u32 level, u32 kind)
{
	if (!is_4_9() || kind == BALANCE_NEW_IDLE || level == LEVEL_SMT)
		return 0;
	if (kind == BALANCE_IDLE)
		return level - LEVEL_CACHE;
	return level == LEVEL_NUMA ? 3 : 2;
}

/* How often a level fails before warm caches do not count. */
static inline u32 cache_tries(u32 level)
{
	return level == LEVEL_SMT ? 0 : level == LEVEL_NUMA ? 2 : 1;
}

/* Whether tasks shall spread over the groups of a level before they share one: a property of the level below. */
static inline bool prefers_siblings(u32 level)
{
	if (level == LEVEL_SMT || !has_level(level - 1))
		return level == LEVEL_NUMA && has_level(LEVEL_CACHE);
	return !is_4_9() || level != LEVEL_NODE;
}

/* One CPU of each group balances: the first idle one, else the first. A CPU that is about to idle always may. */
static bool should_balance(const struct attempt *a)
{
	u32 first = a->cpu - (a->cpu - a->domain.first) % a->domain.group_size, cpu, end = group_end(&a->domain, first);

	if (a->kind == BALANCE_NEW_IDLE)
		return true;
	bpf_for(cpu, first, end) {
		if (is_idle(cpu))
			return cpu == a->cpu;
	}
	return a->cpu == first;
}

/* Whether a group is busier than the busiest so far: the higher class, then the higher load or the fewer idle CPUs. */
static bool is_busier(const struct group_stats *group, const struct group_stats *busiest)
{
	if (!group->nr_running)
		return false;
	if (!busiest->cpus)
		return true;
	if (group->type != busiest->type)
		return group->type > busiest->type;
	if (is_4_9() || group->type == GROUP_OVERLOADED)
		return group->average_load > busiest->average_load;
	if (group->type != GROUP_SPARE)
		return false;
	if (group->idle_cpus != busiest->idle_cpus)
		return group->idle_cpus < busiest->idle_cpus;
	return group->nr_running > busiest->nr_running;
}

/* The local group must be known before 4.9 can say what others have too much of, so it comes first. */
static void gather_groups(struct attempt *a)
{
	u32 span = a->domain.end - a->domain.first, size = a->domain.group_size, step;
	u32 groups = (span + size - 1) / size, own = (a->cpu - a->domain.first) / size;

	bpf_for(step, 0, groups) {
		u32 first = a->domain.first + (own + step) % groups * size;
		bool too_many;

		a->group = (struct group_stats){
			.first = first,
			.cpus = group_end(&a->domain, first) - first,
			.level = a->level,
			.index = a->index,
			.is_local = !step,
			.attempt = a->number,
		};
		gather_group(&a->group, a->now);
		too_many = is_4_9() && step && a->prefer_siblings && has_capacity(&a->local, a->pct) &&
			   a->group.nr_running > 1;
		classify_group(&a->group, a->pct, too_many);
		a->total_load += a->group.load;
		a->total_capacity += a->group.capacity;
		a->total_util += a->group.util;
		if (!step)
			a->local = a->group;
		else if (is_busier(&a->group, &a->busiest))
			a->busiest = a->group;
	}
}

static inline u64 domain_average(const struct attempt *a)
{
	return a->total_capacity ? a->total_load * CPU_CAPACITY / a->total_capacity : 0;
}

/* Whether the busiest load is within the percentage of the local one. */
static inline bool is_within(u64 busiest, u64 local, u32 pct)
{
	return 100 * busiest <= pct * local;
}

static inline u64 at_most(u64 one, u64 two)
{
	return one < two ? one : two;
}

/*
 * What makes both loads meet the domain's average, whichever needs less. Groups that both are overloaded keep at least
 * one task for each CPU in 4.9.
 */
static u64 load_imbalance(const struct attempt *a)
{
	u64 average = domain_average(a), pull = a->busiest.average_load - average;

	if (is_4_9() && a->busiest.type == GROUP_OVERLOADED && a->local.type == GROUP_OVERLOADED) {
		u64 tasks = a->busiest.nr_running * CPU_CAPACITY, capacity = a->busiest.capacity;

		if (tasks > capacity && capacity)
			pull = at_most(pull, (tasks - capacity) * CPU_CAPACITY / capacity);
	}
	return at_most(pull * a->busiest.capacity, (average - a->local.average_load) * a->local.capacity) / CPU_CAPACITY;
}

/* The load of a task of a group, on average. */
static inline u64 load_per_task(const struct group_stats *group)
{
	return group->nr_running ? group->load / group->nr_running : 0;
}

/*
 * 4.9, when less than a task is off balance: one task, if the local group is lighter even with it, or more gets done.
 */
static u64 small_imbalance(const struct attempt *a)
{
	const struct group_stats *busiest = &a->busiest, *local = &a->local;
	u64 task = load_per_task(busiest), own = load_per_task(local), scaled, now, moved, more;
	u32 margin = local->nr_running && task > own ? 1 : 2;

	if (!busiest->capacity || !local->capacity)
		return 0;
	scaled = task * CPU_CAPACITY / busiest->capacity;
	if (busiest->average_load + scaled >= local->average_load + scaled * margin)
		return task;
	now = busiest->capacity * at_most(task, busiest->average_load) +
	      local->capacity * at_most(own, local->average_load);
	moved = busiest->average_load > scaled ? busiest->capacity * at_most(task, busiest->average_load - scaled) : 0;
	more = at_most(busiest->average_load * busiest->capacity, task * CPU_CAPACITY) / local->capacity;
	moved += local->capacity * at_most(own, local->average_load + more);
	return moved / CPU_CAPACITY > now / CPU_CAPACITY ? task : 0;
}

/* Whether 4.9 sees nothing to do. */
static bool is_balanced_4_9(const struct attempt *a)
{
	const struct group_stats *busiest = &a->busiest, *local = &a->local;

	if (busiest->type == GROUP_IMBALANCED)
		return false;
	if (a->kind == BALANCE_NEW_IDLE && has_capacity(local, a->pct) && busiest->no_capacity)
		return false;
	if (local->average_load >= busiest->average_load || local->average_load >= domain_average(a))
		return true;
	if (a->kind == BALANCE_IDLE)
		return busiest->type != GROUP_OVERLOADED && local->idle_cpus <= busiest->idle_cpus + 1;
	return is_within(busiest->average_load, local->average_load, a->pct);
}

static void set_imbalance_4_9(struct attempt *a)
{
	u64 average = domain_average(a);

	a->unit = MOVE_LOAD;
	a->imbalance = 0;
	if (a->busiest.average_load > average && a->local.average_load < average)
		a->imbalance = load_imbalance(a);
	if (a->imbalance < (s64)load_per_task(&a->busiest))
		a->imbalance = small_imbalance(a);
}

/* Whether 6.1 sees nothing to do. */
static bool is_balanced_6_1(const struct attempt *a)
{
	const struct group_stats *busiest = &a->busiest, *local = &a->local;

	if (busiest->type == GROUP_IMBALANCED)
		return false;
	if (local->type > busiest->type)
		return true;
	if (local->type == GROUP_OVERLOADED)
		return local->average_load >= busiest->average_load || local->average_load >= domain_average(a) ||
		       is_within(busiest->average_load, local->average_load, a->pct);
	if (a->prefer_siblings && local->type == GROUP_SPARE && busiest->nr_running > local->nr_running + 1)
		return false;
	if (busiest->type == GROUP_OVERLOADED)
		return false;
	return a->kind == BALANCE_BUSY || (busiest->cpus > 1 && local->idle_cpus <= busiest->idle_cpus + 1) ||
	       busiest->nr_running == 1;
}

/* How many tasks may differ between two nodes: an eighth of a node with one cache, or one for each cache. */
static inline u32 numa_allowance(void)
{
	u32 node = domain_size(LEVEL_NODE, nr_cpus), cache = domain_size(LEVEL_CACHE, nr_cpus), allowed;

	allowed = cache >= node ? node / 8 : node / cache;
	return allowed ?: 1;
}

/* There is room in the local group: util where caches differ and the other has too much, else tasks or idle CPUs. */
static void set_imbalance_of_spare(struct attempt *a)
{
	const struct group_stats *busiest = &a->busiest, *local = &a->local;
	s64 difference;

	if (busiest->type > GROUP_BUSY && a->level > LEVEL_CACHE) {
		a->unit = MOVE_UTIL;
		a->imbalance = local->capacity > local->util ? local->capacity - local->util : 0;
		if (a->kind != BALANCE_BUSY && !a->imbalance) {
			a->unit = MOVE_TASKS;
			a->imbalance = 1;
		}
		return;
	}
	a->unit = MOVE_TASKS;
	if (busiest->cpus == 1 || a->prefer_siblings)
		difference = (s64)busiest->nr_running - local->nr_running;
	else
		difference = (s64)local->idle_cpus - busiest->idle_cpus;
	if (difference < 0)
		difference = 0;
	if (a->level == LEVEL_NUMA && local->nr_running + 1 <= numa_allowance() && difference <= 2)
		difference = 0;
	a->imbalance = difference / 2;
}

static void set_imbalance_6_1(struct attempt *a)
{
	u64 average = domain_average(a);

	a->imbalance = 0;
	if (a->busiest.type == GROUP_IMBALANCED) {
		a->unit = MOVE_TASKS;
		a->imbalance = 1;
	} else if (a->local.type == GROUP_SPARE) {
		set_imbalance_of_spare(a);
	} else {
		a->unit = MOVE_LOAD;
		if (a->local.average_load < a->busiest.average_load && a->local.average_load < average)
			a->imbalance = load_imbalance(a);
	}
}

/* Finds the busiest group and what to move from it. False: the domain is balanced. */
static bool find_busiest_group(struct attempt *a)
{
	gather_groups(a);
	if (!a->busiest.cpus || (is_4_9() ? is_balanced_4_9(a) : is_balanced_6_1(a)))
		return false;
	if (is_4_9())
		set_imbalance_4_9(a);
	else
		set_imbalance_6_1(a);
	return a->imbalance > 0;
}

/* The queue of the busiest group to pull from: of the most load, util or tasks. */
static bool find_busiest_queue(struct attempt *a)
{
	u32 cpu, end = a->busiest.first + a->busiest.cpus;
	u64 most = 0;

	a->source = -1;
	bpf_for(cpu, a->busiest.first, end) {
		struct fair_queue *q = queue_of(cpu);
		u64 value;

		if (!q || !q->nr_running || cpu == a->cpu || (a->number && q->useless_to == a->number))
			continue;
		value = a->unit == MOVE_TASKS ? q->nr_running : a->unit == MOVE_UTIL ? q->average.util : cpu_load(cpu, a->now);
		if (q->nr_running == 1 && (a->unit == MOVE_UTIL || (a->unit == MOVE_LOAD && (s64)value > a->imbalance)))
			continue;
		if (value > most) {
			most = value;
			a->source = cpu;
		}
	}
	return a->source >= 0;
}

#endif /* SCHEDLAB_FAIR_BALANCE_BPF_H */
