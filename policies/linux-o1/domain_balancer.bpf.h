/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The balancer of 2.6.22: every CPU looks at its scheduling domains, from the nearest to the farthest. In each it
 * compares its own group with the busiest other one, by the weight of the tasks, and takes tasks up to a budget of
 * weight that would level both with the average.
 *
 * A CPU looks at a domain after `interval`, times `busy_factor` while it has work; the interval doubles while there is
 * nothing to do. It also looks when it runs out of tasks. When tasks stay where they are again and again, because their
 * caches are warm, the other CPU is asked to give the one that runs away.
 */
#ifndef LINUX_O1_DOMAIN_BALANCER_BPF_H
#define LINUX_O1_DOMAIN_BALANCER_BPF_H

#include <linux-o1/pull.bpf.h>

PARAMETER(u64, cache_hot_time, 2500000,
	  "unit=ns range=0ns..1s about=2.6.22 only: how long a CPU's cache stays warm for a task. That kernel measured "
	  "it at boot.");

/* In which situation a CPU looks. */
enum occasion { LOOK_BUSY, LOOK_IDLE, LOOK_NEWLY_IDLE, LOOK_OCCASIONS };

struct domain_kind {
	u32 interval_min_ms, interval_max_ms, busy_factor;
	u32 imbalance_pct;   /* the busiest group counts when it has this much more */
	u32 nice_tries;      /* failures before warm caches no longer matter */
	u32 load_index[LOOK_OCCASIONS];
	u32 wake_index;
	bool newly_idle, wake_affine;
};

/* Threads of a core, cores on a cache, caches of a node, nodes (as on x86-64). */
static const struct domain_kind domain_kinds[MAX_DOMAIN_LEVEL] = {
	{ 1, 2, 64, 110, 0, { 0, 0, 1 }, 0, true, true },
	{ 1, 4, 64, 125, 1, { 2, 1, 2 }, 1, true, true },
	{ 1, 4, 64, 125, 1, { 2, 1, 2 }, 1, true, true },
	{ 8, 32, 32, 125, 2, { 3, 2, 0 }, 1, false, false },
};
#define NODE_LEVEL 4
#define PINNED_INTERVAL_MAX_MS 512
/* What a CPU that gives tasks away at another's request may give: the weight of a real-time task. */
#define ACTIVE_BUDGET 1152

static inline const struct domain_kind *kind_of(u32 level)
{
	return ELEMENT(domain_kinds, (u64)level - 1);
}

static inline struct balance_state *state_of(struct run_queue *rq, u32 level)
{
	return ELEMENT(rq->balance, (u64)level - 1);
}

static inline u64 jiffies_of_ms(u32 ms)
{
	return (ms * hz + 999) / 1000;
}

static inline u64 interval_of(const struct balance_state *state, const struct domain_kind *kind, bool idle)
{
	return jiffies_of_ms(state->interval_ms * (idle ? 1 : kind->busy_factor)) ?: 1;
}

/* A group of CPUs, as a balancer sees it. */
struct group {
	u32 first, end;
	u64 power;    /* what it can carry: LOAD_SCALE for each CPU, cache or core */
	u64 load;     /* of all its CPUs, then for each LOAD_SCALE of power */
	u64 weight;   /* of all its tasks, not smoothed */
	u64 per_task; /* the mean weight of a task */
	u32 nr_running;
};

/* One look at a domain. */
struct look {
	struct domain domain;
	u32 cpu, level;
	enum occasion occasion;
	u64 serial;    /* CPUs whose `excluded` has this number are left out */
	u64 imbalance; /* the weight to be moved */
	bool delegated; /* another CPU of the group is to look */
	struct group own, busiest, group;
	u64 total_load, total_power;
};

/* A look is too large for a stack. None is interrupted by another one on the same CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct look);
} looks SEC(".maps");

static u64 nr_looks;

/* What shares a core or a cache carries as much as one CPU; a node is the sum of its caches. */
static inline u64 group_power(u32 level, u32 size)
{
	u32 cache = domain_size(2, nr_cpus);

	return level == NODE_LEVEL && cache ? div_round_up(size, cache) * LOAD_SCALE : LOAD_SCALE;
}

/* Sums a group up. For the own group also: which of its CPUs looks. That is the first idle one, or else the first. */
static void survey_group(struct look *look, u64 now)
{
	struct group *group = &look->group;
	const struct domain_kind *kind = kind_of(look->level);
	bool own = group->first <= look->cpu && look->cpu < group->end;
	u32 cpu, index, looks_for_all = group->first;
	const u32 *place;
	bool found = false;

	if (!kind)
		return;
	place = ELEMENT(kind->load_index, look->occasion);
	index = place ? *place : 0;
	bpf_for(cpu, group->first, group->end) {
		struct run_queue *rq = queue_of(cpu);

		if (!rq || rq->excluded == look->serial)
			continue;
		group->load += own ? target_load(rq, index, now) : source_load(rq, index, now);
		group->weight += rq->load;
		group->nr_running += rq->nr_running;
		if (own && !found && is_idle(rq)) {
			found = true;
			looks_for_all = cpu;
		}
	}
	if (own && look->occasion != LOOK_NEWLY_IDLE && looks_for_all != look->cpu)
		look->delegated = true;
	look->total_load += group->load;
	look->total_power += group->power;
	group->load = group->load * LOAD_SCALE / group->power;
	group->per_task = group->nr_running ? group->weight / group->nr_running : 0;
}

static void survey(struct look *look, u64 now)
{
	u32 size = look->domain.group_size ?: 1, first;

	look->own = look->busiest = (struct group){};
	look->total_load = look->total_power = 0;
	bpf_for(first, look->domain.first, look->domain.end) {
		struct group *group = &look->group;

		if ((first - look->domain.first) % size)
			continue;
		*group = (struct group){ .first = first };
		group->end = lesser(first + size, look->domain.end);
		group->power = group_power(look->level, group->end - first);
		survey_group(look, now);
		if (first <= look->cpu && look->cpu < group->end)
			look->own = *group;
		else if (group->load > look->busiest.load && group->nr_running > group->power / LOAD_SCALE)
			look->busiest = *group;
	}
}

/*
 * The budget is less than one task. One goes nevertheless when the difference is great, or when both groups together
 * would get more done: a group gets done what its tasks ask for, at most one task's weight for each CPU.
 */
static u64 small_imbalance(const struct look *look)
{
	const struct group *own = &look->own, *busiest = &look->busiest;
	u64 task = busiest->per_task, own_task = own->nr_running ? own->per_task : LOAD_SCALE;
	u64 factor = own->nr_running && task > own_task ? 1 : 2, before, after = 0, shift;

	if (busiest->load - own->load >= task * factor)
		return task;
	before = (busiest->power * lesser(task, busiest->load) + own->power * lesser(own_task, own->load)) / LOAD_SCALE;
	shift = task * LOAD_SCALE / busiest->power;
	if (busiest->load > shift)
		after = busiest->power * lesser(task, busiest->load - shift);
	if (busiest->load * busiest->power < task * LOAD_SCALE)
		shift = busiest->load * busiest->power / own->power;
	else
		shift = task * LOAD_SCALE / own->power;
	after = (after + own->power * lesser(own_task, own->load + shift)) / LOAD_SCALE;
	return after > before ? task : 0;
}

/* How much weight should go from the busiest group to the own one; 0: they are level. */
static u64 imbalance_of(const struct look *look)
{
	const struct domain_kind *kind = kind_of(look->level);
	const struct group *own = &look->own, *busiest = &look->busiest;
	u64 mean, over, imbalance = 0;

	if (!kind || !busiest->power || !own->power || own->load >= busiest->load)
		return 0;
	mean = look->total_load * LOAD_SCALE / look->total_power;
	if (own->load >= mean || 100 * busiest->load <= kind->imbalance_pct * own->load)
		return 0;
	if (busiest->load <= busiest->per_task)
		return 0;
	if (busiest->load >= mean) {
		over = lesser(busiest->load - mean, busiest->load - busiest->per_task);
		imbalance = lesser(over * busiest->power, (mean - own->load) * own->power) / LOAD_SCALE;
	}
	return imbalance < busiest->per_task ? small_imbalance(look) : imbalance;
}

/* The CPU of the busiest group that has most, except for one whose only task is too heavy to be moved. */
static s32 busiest_cpu(const struct look *look)
{
	u64 most = 0;
	s32 busiest = -1;
	u32 cpu;

	bpf_for(cpu, look->busiest.first, look->busiest.end) {
		struct run_queue *rq = queue_of(cpu);

		if (!rq || rq->excluded == look->serial || (rq->nr_running == 1 && rq->load > look->imbalance))
			continue;
		if (rq->load > most) {
			most = rq->load;
			busiest = cpu;
		}
	}
	return busiest;
}

static void prepare_pull(bool any_heat, u32 from_cpu, u32 to_cpu, u64 budget, u64 now)
{
	struct run_queue *from = queue_of(from_cpu), *to = queue_of(to_cpu);
	struct pull *pull = this_pull();
	u64 recent;

	if (!pull || !from || !to)
		return;
	*pull = (struct pull){ .from = from_cpu, .to = to_cpu, .budget = budget, .any_heat = any_heat };
	/* The clock of the other CPU stood still since its last tick or switch. */
	recent = now - now % jiffy_ns;
	if (recent < from->switched_at)
		recent = from->switched_at;
	pull->hot_since = recent >= cache_hot_time ? recent - cache_hot_time + 1 : 0;
	pull->from_best = best_prio(from);
	pull->to_best = best_prio(to);
	pull->best_seen = pull->from_best == from->current_prio;
	pull->allowed = from->current_prio != IDLE_PRIO && !from->current_pinned;
}

/*
 * A request to give a task away, warm or not. The other CPU is interrupted for that: the one that runs there goes when
 * no waiting one is before it.
 */
static bool push_one(struct look *look, u32 from_cpu, u64 now)
{
	struct run_queue *from = queue_of(from_cpu);

	if (!from || from->current_prio == IDLE_PRIO || from->current_pinned)
		return false;
	prepare_pull(true, from_cpu, look->cpu, ACTIVE_BUDGET, now);
	if (!pull_some(1, from->current_prio, now)) {
		from->push_to = look->cpu + 1;
		scx_bpf_kick_cpu(from_cpu, SCX_KICK_PREEMPT);
	}
	return true;
}

/* What follows for the next looks at a domain from one in which nothing had to be moved. */
static void found_level(struct balance_state *state, const struct domain_kind *kind, bool all_pinned)
{
	u32 most = all_pinned ? PINNED_INTERVAL_MAX_MS : kind->interval_max_ms;

	if (state->interval_ms < most)
		state->interval_ms *= 2;
}

/* Tasks should have been moved and none was. */
static void failed(struct look *look, struct balance_state *state, const struct domain_kind *kind, u32 from, u64 now)
{
	bool pushed = false;

	if (look->occasion == LOOK_NEWLY_IDLE)
		return;
	state->failed++;
	if (state->failed > kind->nice_tries + 2) {
		pushed = push_one(look, from, now);
		if (!pushed) {
			found_level(state, kind, true);
			return;
		}
		state->failed = kind->nice_tries + 1;
	}
	if (!pushed)
		state->interval_ms = kind->interval_min_ms;
	else if (state->interval_ms < kind->interval_max_ms)
		state->interval_ms *= 2;
}

/* One try: 1 when tasks were moved, 0 when all is level or failed, -1 when a CPU is left out as its tasks must stay. */
static s32 try_look(struct look *look, struct balance_state *state, const struct domain_kind *kind, u64 now)
{
	struct pull *pull = this_pull();
	struct run_queue *from;
	s32 cpu = -1;

	survey(look, now);
	look->imbalance = look->delegated ? 0 : imbalance_of(look);
	if (look->imbalance)
		cpu = busiest_cpu(look);
	from = cpu >= 0 ? queue_of(cpu) : NULL;
	if (!from) {
		state->failed = 0;
		if (look->occasion != LOOK_NEWLY_IDLE)
			found_level(state, kind, false);
		return 0;
	}
	prepare_pull(state->failed > kind->nice_tries, cpu, look->cpu, look->imbalance, now);
	if (from->nr_running > 1 && pull_some(from->nr_running - 1, MAX_PRIO - 1, now)) {
		state->failed = 0;
		if (look->occasion != LOOK_NEWLY_IDLE)
			state->interval_ms = kind->interval_min_ms;
		return 1;
	}
	if (from->nr_running > 1 && pull && !pull->allowed) {
		from->excluded = look->serial;
		return -1;
	}
	failed(look, state, kind, cpu, now);
	return 0;
}

/* What came of a look: tasks, nothing, or that another CPU looks at this domain and those above. */
enum outcome { LOOK_NOTHING, LOOK_PULLED, LOOK_DELEGATED };

/* Looks at the domain of a level. */
__noinline u32 balance_domain(u32 cpu, u32 level, u32 occasion, u64 now)
{
	const struct domain_kind *kind = kind_of(level);
	struct run_queue *rq = queue_of(cpu);
	struct balance_state *state = rq ? state_of(rq, level) : NULL;
	u32 key = 0, turn;
	struct look *look = bpf_map_lookup_elem(&looks, &key);
	s32 result = -1;

	if (!kind || !state || !look || !domain_of(level, cpu, nr_cpus, &look->domain))
		return LOOK_NOTHING;
	look->cpu = cpu;
	look->level = level;
	look->occasion = occasion;
	look->delegated = false;
	look->serial = __sync_fetch_and_add(&nr_looks, 1) + 1;
	bpf_for(turn, 0, nr_cpus) {
		result = try_look(look, state, kind, now);
		if (result >= 0)
			break;
	}
	if (result < 0 && occasion != LOOK_NEWLY_IDLE)
		found_level(state, kind, true);
	if (look->delegated)
		return LOOK_DELEGATED;
	return result > 0 ? LOOK_PULLED : LOOK_NOTHING;
}

/* The looks of a CPU that are due at a tick, and when its next one is. */
static void domain_tick(u32 cpu, struct run_queue *rq, u64 now)
{
	u64 jiffy = jiffy_of(now), next = jiffy + 60ULL * hz;
	bool idle = is_idle(rq);
	u32 level, outcome;

	bpf_for(level, 1, MAX_DOMAIN_LEVEL + 1) {
		const struct domain_kind *kind = kind_of(level);
		struct balance_state *state = state_of(rq, level);
		u64 interval;

		outcome = LOOK_NOTHING;
		if (!kind || !state || domain_size(level, nr_cpus) <= domain_size(level - 1, nr_cpus))
			continue;
		interval = interval_of(state, kind, idle);
		if (jiffy >= state->last_jiffy + interval) {
			outcome = balance_domain(cpu, level, idle ? LOOK_IDLE : LOOK_BUSY, now);
			idle &= outcome != LOOK_PULLED;
			state->last_jiffy = jiffy;
		}
		next = lesser(next, state->last_jiffy + interval);
		if (outcome == LOOK_DELEGATED)
			break;
	}
	rq->next_balance = next;
}

/* A CPU has run out of tasks. */
static void domain_newly_idle(u32 cpu, struct run_queue *rq, u64 now)
{
	u64 next = jiffy_of(now) + 60ULL * hz;
	u32 level;

	bpf_for(level, 1, MAX_DOMAIN_LEVEL + 1) {
		const struct domain_kind *kind = kind_of(level);
		struct balance_state *state = state_of(rq, level);

		if (!kind || !state || domain_size(level, nr_cpus) <= domain_size(level - 1, nr_cpus))
			continue;
		if (kind->newly_idle && balance_domain(cpu, level, LOOK_NEWLY_IDLE, now) == LOOK_PULLED)
			return;
		next = lesser(next, state->last_jiffy + state->interval_ms);
	}
	rq->next_balance = next;
}

/*
 * While no run queue has two tasks no balancer can find anything, and none looks. This is what those looks would have
 * left behind: intervals that doubled up to the longest, in step with where they began.
 */
static void domain_catch_up(struct run_queue *rq, u64 now)
{
	u64 jiffy = jiffy_of(now), next = jiffy + 60ULL * hz;
	u32 level, turn;

	bpf_for(level, 1, MAX_DOMAIN_LEVEL + 1) {
		const struct domain_kind *kind = kind_of(level);
		struct balance_state *state = state_of(rq, level);
		u64 interval;

		if (!kind || !state || domain_size(level, nr_cpus) <= domain_size(level - 1, nr_cpus))
			continue;
		bpf_for(turn, 0, 10) {
			interval = interval_of(state, kind, is_idle(rq));
			if (state->last_jiffy + interval > jiffy || state->interval_ms >= kind->interval_max_ms)
				break;
			state->last_jiffy += interval;
			state->interval_ms *= 2;
			state->failed = 0;
		}
		interval = interval_of(state, kind, is_idle(rq));
		if (jiffy > state->last_jiffy)
			state->last_jiffy += (jiffy - state->last_jiffy) / interval * interval;
		next = lesser(next, state->last_jiffy + interval);
	}
	rq->next_balance = next;
}

#endif /* LINUX_O1_DOMAIN_BALANCER_BPF_H */
