/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Task groups of Linux' fair scheduler: groups share a CPU by their shares, and the tasks and groups in a group share
 * what it gets. A policy that defines FAIR_TASK_GROUPS has them; for others this is empty.
 *
 * Each group has a queue on each CPU, and an entity in the queue above (group_places.bpf.h). Here is what a group's
 * queue holds and what its entity weighs; the order in the queues is in group_order.bpf.h. An entity weighs
 *
 *	shares * L / (T - O + L)		at least 2, at most the shares
 *
 * L: the load of the group's queue on this CPU; T: the sum of what the group's queues have published of their loads; O:
 * what this one has published. A queue publishes when its load has moved by more than 1/64.
 *
 * Example, shares 1024: a group with a load of 2048 here, of which 1024 is published, and 4096 published in all weighs
 * 1024 * 2048 / 5120 = 409 here. With all of its tasks on one CPU it weighs 1024 there.
 *
 * Groups are control groups, with the shares of their weights; or processes, of 1024 each (group_members.bpf.h).
 *
 * A group is queued on a CPU while some task at or below it is counted there. CPUs that move tasks change sums with
 * atomic additions; two that do it at the same time add what each replaced.
 *
 * Source: Linux 4.9 and 6.1, kernel/sched/fair.c and autogroup.c.
 */
#ifndef SCHEDLAB_TASK_GROUPS_BPF_H
#define SCHEDLAB_TASK_GROUPS_BPF_H

#define GROUP_SHARES 1024
#define MIN_GROUP_WEIGHT 2

#ifdef FAIR_TASK_GROUPS
PARAMETER(u32, groups, 0,
	  "choices=control,process,none about=Which tasks share as one: those of a control group, by its weight; those "
	  "of a process, similar to autogroup; or each task by itself.");
enum { GROUPS_CONTROL, GROUPS_PROCESS, GROUPS_NONE };

#define GROUP_NODE_STATE u64 published /* what the sum of the group has of the queue's load */
#include <schedlab/group_places.bpf.h>

/* The highest slot of a process that is or was in use, plus one. */
static u32 process_slots_end;

static inline bool has_tree(void)
{
	return groups == GROUPS_PROCESS || (groups == GROUPS_CONTROL && has_control_groups());
}

/* The same for what all fair schedulers ask: eevdf has queues of groups, and counts loads without them. */
static inline bool has_groups(void)
{
	return has_tree();
}

static inline u32 slot_in_tree(const struct fair_task *t)
{
	return t->group;
}

static inline u32 tree_slots_end(void)
{
	return groups == GROUPS_PROCESS ? process_slots_end : control_slots_end;
}

static inline bool has_waiting(const struct group_node *node)
{
	return node->queue.nr_running;
}

/* Queues begin empty at virtual time 0, which is before all others. */
static inline void clear_node(struct group_node *node)
{
	*node = (struct group_node){};
}

/* What all queues of a group have published. */
static u64 group_loads[MAX_CONTROL_GROUPS];

static inline u64 shares_of_slot(u32 slot)
{
	const struct control_group *group = groups == GROUPS_CONTROL ? control_group_at(slot) : NULL;

	return group ? entity_shares(group) : GROUP_SHARES;
}

/* Whether a queue is that of an idle group (cpu.idle). Kernels know them since 5.15. */
static inline bool is_idle_group(u32 number)
{
	const struct control_group *group = control_group_at(slot_at(number));

	return groups == GROUPS_CONTROL && !is_4_9() && number >= MAX_CPUS && group && group->is_idle;
}

static inline bool is_in_idle_group(const struct fair_task *t)
{
	return groups == GROUPS_CONTROL && !is_4_9() && is_below_idle(t->group);
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
static inline u32 weight_of_group(const struct group_node *node, u32 number)
{
	const u64 *total = ELEMENT(group_loads, slot_at(number));
	u64 load = node->queue.weight;

	if (!is_4_9() && node->queue.average.load > load)
		load = node->queue.average.load;
	return total ? group_weight(shares_of_slot(slot_at(number)), load, *total, node->published) : GROUP_SHARES;
}

/* The same for one that may not be queued: what it would weigh alone. */
static inline u32 entity_weight(const struct group_node *node, u32 number)
{
	return node->entity.weight ?: shares_of_slot(slot_at(number));
}

/* Whether a group's task has the CPU. */
static inline bool runs_above(const struct fair_queue *above, u32 number)
{
	return above->running && above->running_group == number;
}

/* A group's entity weighs what it is to: by how much that is more, for the sum of the queue above. */
static inline s64 follow_share(struct group_node *node, struct fair_queue *above, u32 number)
{
	u32 share = node->queue.nr_running ? weight_of_group(node, number) : 0, before;

	if (share == node->entity.weight)
		return 0;
	before = __sync_lock_test_and_set(&node->entity.weight, share);
	if (share && runs_above(above, number)) {
		above->running_weight = share;
		above->running_inverse = inverse_of_sum(share);
	}
	return (s64)share - before;
}

/* The groups above a queue weigh what they are to (update_cfs_group()). */
__noinline bool refresh_shares(u32 number)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);
		struct fair_queue *above = node ? queue_at(node->entity.cpu) : NULL;

		if (!above)
			break;
		__sync_fetch_and_add(&above->weight, follow_share(node, above, number));
		number = node->entity.cpu;
	}
	return true;
}

#include <schedlab/group_loads.bpf.h>

/* A task comes to a queue while there are no groups, or goes. The first group may come in between. */
static inline void add_entity(struct fair_queue *queue, s32 number)
{
	__sync_fetch_and_add(&queue->nr_entities, number);
}

/* 4.9 has a second sum of loads, of what is queued. */
static inline void add_runnable(struct load_average *queue, const struct load_average *entity, bool comes)
{
	if (!is_4_9())
		return;
	if (comes) {
		queue->runnable += entity->load;
		queue->runnable_sum += entity->load_sum;
	} else {
		load_take(&queue->runnable, entity->load);
		load_take(&queue->runnable_sum, entity->load_sum);
	}
}

/* A task comes to a group's queue, or one below it, or goes. Whether the group itself comes or goes with it. */
static inline bool count_in_node(struct group_node *node, s32 tasks, bool is_idle)
{
	u32 before;

	if (is_idle)
		__sync_fetch_and_add(&node->queue.nr_idle_class, tasks);
	before = __sync_fetch_and_add(&node->queue.nr_running, tasks);
	return tasks > 0 ? !before : before == 1;
}

/* A task is counted in its group's queue on its CPU, or counted out: @tasks is 1 or -1. */
__noinline bool count_in_tree(struct fair_task *t, s32 tasks, u64 now)
{
	u32 number, level;
	bool moves = true;
	s64 weight;

	if (!t)
		return false;
	number = number_of(t);
	weight = tasks * (s64)t->weight;
	update_group_loads(number, now);
	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct fair_queue *queue = queue_at(number), *above;
		struct group_node *node = node_at(number);

		if (!queue)
			break;
		if (!level)
			add_runnable(&queue->average, &t->average, tasks > 0);
		if (moves)
			__sync_fetch_and_add(&queue->nr_entities, tasks);
		__sync_fetch_and_add(&queue->weight, weight);
		above = node ? queue_at(node->entity.cpu) : NULL;
		if (!above)
			break;
		moves = count_in_node(node, tasks, t->class == CLASS_IDLE);
		if (moves)
			add_runnable(&above->average, &node->entity.average, tasks > 0);
		/* It has not run when it comes back. */
		if (moves && tasks < 0 && above->running_group == number)
			above->running_group = 0;
		weight = follow_share(node, above, number);
		number = node->entity.cpu;
	}
	return true;
}

#include <schedlab/group_members.bpf.h>
#else
#include <schedlab/without_groups.bpf.h>
#endif

#endif /* SCHEDLAB_TASK_GROUPS_BPF_H */
