/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Task groups of Linux' fair scheduler: groups of tasks share a CPU by their shares, and the tasks of a group share
 * what it gets. A policy that defines FAIR_TASK_GROUPS has them; for others this is empty.
 *
 * Each group has a queue on each CPU, and an entity at the CPU's root, which stands for the queue and competes with the
 * other groups' entities as tasks do. Here is what a group's queue holds, what its entity weighs, and whose it is; the
 * order of both levels is in group_order.bpf.h. An entity weighs
 *
 *	shares * L / (T - O + L)		at least 2, at most the shares
 *
 * L: the load of the group's queue on this CPU; T: the sum of what the group's queues have published of their loads; O:
 * what this one has published. A queue publishes when its load has moved by more than 1/64.
 *
 * Example, shares 1024: a group with a load of 2048 here, of which 1024 is published, and 4096 published in all weighs
 * 1024 * 2048 / 5120 = 409 here. With all of its tasks on one CPU it weighs 1024 there.
 *
 * A group is a process. There are MAX_GROUPS on a CPU, fewer with more than 128 CPUs; group 0 is shared by the threads
 * of a kernel and by the processes that find no other.
 *
 * Source: Linux 4.9 and 6.1, kernel/sched/fair.c and autogroup.c.
 */
#ifndef SCHEDLAB_TASK_GROUPS_BPF_H
#define SCHEDLAB_TASK_GROUPS_BPF_H

#define MAX_GROUPS 64
#define MAX_GROUP_QUEUES 8192
#define GROUP_SHARES 1024
#define MIN_GROUP_WEIGHT 2
#define NO_GROUP -1

#ifdef FAIR_TASK_GROUPS
PARAMETER(u32, groups, 0,
	  "choices=none,process about=Whether the tasks of a process share as one (task groups, as autogroup makes them) "
	  "or each for itself.");

static inline bool has_groups(void)
{
	return groups;
}
#else
static inline bool has_groups(void)
{
	return false;
}
#endif

/* The queue of a group on a CPU. */
struct group_queue {
	u64 min_vruntime;	    /* of its tasks */
	u64 weight;		    /* of those that run or wait */
	u32 nr_running;		    /* how many these are */
	u32 nr_idle_class;	    /* how many of them of SCHED_IDLE */
	struct buddies buddies;	    /* pids */
	struct load_average average;
	u64 published;		    /* what the sum of the group has of its load */
	u64 vruntime;		    /* of its entity */
	u32 share;		    /* what that weighs, 0 while no task of the group wants this CPU */
	struct load_average entity; /* of that weight */
};

static struct group_queue group_queues[MAX_GROUP_QUEUES];
/* What all queues of a group have published, and whether it is in use. */
static u64 group_loads[MAX_GROUPS];
static u32 group_taken[MAX_GROUPS];
/* How many groups there may be, and the highest that is or was in use, plus one. */
static u32 group_slots, group_end_slot;

/* The queue of a group on a CPU, as a number. Its waiting tasks are in the dispatch queue MAX_CPUS + this. */
static inline u32 group_index(s32 cpu, u32 group)
{
	return (u32)cpu * group_slots + group;
}

static inline struct group_queue *group_at(s32 index)
{
	return ELEMENT(group_queues, (u32)index);
}

static inline u32 index_of(const struct fair_task *t)
{
	return group_index(t->cpu, t->group);
}

/* Of the groups of a CPU the one that is @step after the one after @running, in a circle. */
static inline u32 group_after(s32 cpu, u32 running, u32 step)
{
	u32 base = group_index(cpu, 0), begin = running - base + 1;

	if (begin > group_end_slot)
		begin = 0;
	return base + (begin + step) % (group_end_slot ?: 1);
}

/* The weight of an entity, of what the group publishes in all and has published here. */
static inline u32 group_weight(u64 shares, u64 load, u64 total, u64 own)
{
	u64 all = total - own + load, weight = shares * load;

	if (all)
		weight /= all;
	if (weight < MIN_GROUP_WEIGHT)
		return MIN_GROUP_WEIGHT;
	return weight > shares ? shares : weight;
}

/* What a group's entity weighs as things are. */
static inline u32 weight_of_group(const struct group_queue *g, u32 group)
{
	const u64 *total = ELEMENT(group_loads, group);
	u64 load = g->weight;

	if (!is_4_9() && g->average.load > load)
		load = g->average.load;
	return total ? group_weight(GROUP_SHARES, load, *total, g->published) : GROUP_SHARES;
}

/* The root's sum follows. A CPU that changes it at the same time as others adds what it replaced. */
static void refresh_share(struct fair_queue *q, struct group_queue *g, u32 group)
{
	u32 share = g->nr_running ? weight_of_group(g, group) : 0, before;

	if (share == g->share)
		return;
	before = __sync_lock_test_and_set(&g->share, share);
	__sync_fetch_and_add(&q->weight, (u64)share - before);
}

static inline void publish(struct group_queue *g, u32 group)
{
	s64 moved = (s64)(g->average.load - g->published);
	u64 *total = ELEMENT(group_loads, group);

	if (!total || (u64)(moved < 0 ? -moved : moved) <= g->published / 64)
		return;
	g->published += moved;
	__sync_fetch_and_add(total, (u64)moved);
}

/* Brings the loads of a task's group on its CPU to now. */
static void update_group_load(const struct fair_queue *q, struct group_queue *g, const struct fair_task *t, u64 now)
{
	u32 how = load_rule() | (q->running && q->running_group == index_of(t) ? LOAD_RUNNING : 0);
	u64 runnable_rate = is_4_9() ? g->weight : g->nr_running * LOAD_UTIL_MAX;

	load_average_update(&g->average, now, g->weight, runnable_rate, how);
	load_average_update(&g->entity, now, g->share, g->share, how);
	publish(g, t->group);
}

/* A task is counted in its group's queue on its CPU; with the first one the root has one more entity. */
static void count_in_group(struct fair_queue *q, const struct fair_task *t, u64 now)
{
	struct group_queue *g = group_at(index_of(t));

	if (!g)
		return;
	update_group_load(q, g, t, now);
	__sync_fetch_and_add(&g->weight, t->weight);
	if (t->class == CLASS_IDLE)
		__sync_fetch_and_add(&g->nr_idle_class, 1);
	if (!__sync_fetch_and_add(&g->nr_running, 1)) {
		__sync_fetch_and_add(&q->nr_groups, 1);
		if (is_4_9()) {
			q->average.runnable += g->entity.load;
			q->average.runnable_sum += g->entity.load_sum;
		}
	}
	refresh_share(q, g, t->group);
}

static void count_out_of_group(struct fair_queue *q, const struct fair_task *t, u64 now)
{
	struct group_queue *g = group_at(index_of(t));

	if (!g)
		return;
	update_group_load(q, g, t, now);
	__sync_fetch_and_add(&g->weight, -(u64)t->weight);
	if (t->class == CLASS_IDLE)
		__sync_fetch_and_add(&g->nr_idle_class, -1);
	if (__sync_fetch_and_add(&g->nr_running, -1) == 1) {
		__sync_fetch_and_add(&q->nr_groups, -1);
		if (q->running_group == index_of(t))
			q->group_ran = 0;
		if (is_4_9()) {
			load_take(&q->average.runnable, g->entity.load);
			load_take(&q->average.runnable_sum, g->entity.load_sum);
		}
	}
	refresh_share(q, g, t->group);
}

/*
 * Kernels since 4.10 move what a task brings up to the root: its use of the CPU as it is, and of its load a part, which
 * joins those of the root and of the entity.
 */
static void join_root_load(struct load_average *root, struct load_average *entity, const struct load_average *task,
			   u64 part)
{
	u64 divisor = load_divisor(root, LOAD_RULE_LATER);

	root->load += part;
	root->load_sum += part * divisor;
	root->util += task->util;
	root->util_sum += task->util * divisor;
	root->runnable += task->runnable;
	root->runnable_sum += task->runnable * divisor;
	entity->load += part;
	entity->load_sum += part * load_divisor(entity, LOAD_RULE_LATER);
}

static void leave_root_load(struct load_average *root, struct load_average *entity, const struct load_average *task,
			    u64 part)
{
	u64 divisor = load_divisor(root, LOAD_RULE_LATER);

	load_take(&root->load, part);
	load_take(&root->load_sum, part * divisor);
	load_take(&root->util, task->util);
	load_take(&root->util_sum, task->util * divisor);
	load_take(&root->runnable, task->runnable);
	load_take(&root->runnable_sum, task->runnable * divisor);
	load_take(&entity->load, part);
	load_take(&entity->load_sum, part * load_divisor(entity, LOAD_RULE_LATER));
}

/* A task's averages join those of its group's queue on its CPU. */
static void join_group_load(struct fair_queue *q, struct fair_task *t, u64 now)
{
	struct group_queue *g = group_at(index_of(t));
	u64 part;

	if (!g)
		return;
	update_group_load(q, g, t, now);
	load_average_attach(&g->average, &t->average, load_rule());
	if (!is_4_9()) {
		part = t->average.load * weight_of_group(g, t->group) / (g->weight + t->weight);
		join_root_load(&q->average, &g->entity, &t->average, part);
	}
	publish(g, t->group);
}

/* And leave it. */
static void leave_group_load(struct fair_queue *q, struct fair_task *t, u64 now)
{
	struct group_queue *g = group_at(index_of(t));
	u64 part;

	if (!g)
		return;
	update_group_load(q, g, t, now);
	if (!is_4_9()) {
		part = t->average.load * g->entity.load / (g->average.load + 1);
		leave_root_load(&q->average, &g->entity, &t->average, part);
	}
	load_average_detach(&g->average, &t->average, load_rule());
	publish(g, t->group);
}

/* The part of a load in a group's queue in that of the CPU. */
static inline u64 load_at_root(const struct fair_task *t, const struct fair_queue *q)
{
	const struct group_queue *g = group_at(index_of(t));
	u64 group_load;

	if (!g)
		return 0;
	group_load = q->average.load * g->entity.load / (q->average.load + 1);
	return t->average.load * group_load / (g->average.load + 1);
}

/* A task of the group gets the CPU. The group has run since it did not before. */
static void begin_group(struct fair_queue *q, const struct fair_task *t, u64 now)
{
	struct group_queue *g = group_at(index_of(t));

	if (!g)
		return;
	update_group_load(q, g, t, now);
	refresh_share(q, g, t->group);
	if (q->running_group != index_of(t))
		q->group_ran = 0;
	q->running_group = index_of(t);
	q->running_share = g->share ?: GROUP_SHARES;
}

static void end_group(struct fair_queue *q, const struct fair_task *t, u64 now)
{
	struct group_queue *g = group_at(index_of(t));

	if (g)
		update_group_load(q, g, t, now);
}

#ifdef FAIR_TASK_GROUPS
#include <schedlab/group_members.bpf.h>
#else
static inline s32 init_groups(void)
{
	return 0;
}

static inline s32 join_group(const struct task_struct *p, struct fair_task *t)
{
	return 0;
}

static inline void leave_group(const struct task_struct *p)
{
}
#endif

#endif /* SCHEDLAB_TASK_GROUPS_BPF_H */
