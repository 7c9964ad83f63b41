/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task waits: in the queue of its CPU, or in that of its group there.
 *
 * A group has a queue on each CPU, which holds its tasks and the groups below it, and an entity in the queue above,
 * which competes there as a task does. Queues have numbers: that of a CPU is its own queue's, the root's; those of
 * groups follow. A queue's waiting tasks are in the dispatch queue of that number. Groups have slots; slot 0 is the
 * root's.
 *
 * Example, 2 CPUs: the queue of the group in slot 3 on CPU 1 has the number 4096 + 3 * 2 + 1.
 *
 * A policy says before it includes this what it keeps of a group's queue, as GROUP_NODE_STATE, and answers the first
 * questions below.
 *
 * Source: Linux 4.9 to 7.1, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_GROUP_PLACES_BPF_H
#define SCHEDLAB_GROUP_PLACES_BPF_H

#include <schedlab/control_groups.bpf.h>

/* Whether groups have queues of their own. */
static inline bool has_tree(void);
/* The group of a task, where they have. */
static inline u32 slot_in_tree(const struct fair_task *t);
/* The highest slot that is or was in use, plus one. */
static inline u32 tree_slots_end(void);

#define GROUP_QUEUES 4096

ENTRIES_FOR_GROUPS(group_queues, group_nodes, GROUP_QUEUES,
		   "range=64..4194304 about=Room for queues of groups; each group has one on each CPU. A loader that "
		   "knows the number of groups makes room for somewhat more than twice as many.");

/* The queue of a group on a CPU, and its entity in the queue above. */
struct group_node {
	struct fair_queue queue;
	struct fair_task entity; /* `cpu` is the number of the queue above */
	GROUP_NODE_STATE;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GROUP_QUEUES);
	__type(key, u32);
	__type(value, struct group_node);
} group_nodes SEC(".maps");

static inline u32 queue_number(u32 slot, u32 cpu)
{
	return slot == ROOT_SLOT ? cpu : MAX_CPUS + slot * nr_cpus + cpu;
}

/* NULL for the queue of a CPU. */
static inline struct group_node *node_at(u32 number)
{
	u32 key = number - MAX_CPUS;

	return bpf_map_lookup_elem(&group_nodes, &key);
}

static inline struct fair_queue *queue_at(u32 number)
{
	struct group_node *node;

	if (number < MAX_CPUS)
		return queue_of(number);
	node = node_at(number);
	return node ? &node->queue : NULL;
}

/* Whose CPU a queue is on. */
static inline u32 cpu_at(u32 number)
{
	return number < MAX_CPUS ? number : (number - MAX_CPUS) % (nr_cpus ?: 1);
}

static inline u32 slot_at(u32 number)
{
	return number < MAX_CPUS ? ROOT_SLOT : (number - MAX_CPUS) / (nr_cpus ?: 1);
}

/* The queue of a task on a CPU, and the one in which it is or was. */
static inline u32 number_on(const struct fair_task *t, u32 cpu)
{
	return has_tree() ? queue_number(slot_in_tree(t), cpu) : cpu;
}

static inline u32 number_of(const struct fair_task *t)
{
	return number_on(t, t->cpu);
}

static inline u64 waiting_dsq(const struct fair_task *t, s32 cpu)
{
	return number_on(t, cpu);
}

static inline u32 nr_waiting_dsqs(void)
{
	return has_tree() ? tree_slots_end() : 1;
}

static inline u64 waiting_dsq_at(u32 number, s32 cpu)
{
	return queue_number(number, cpu);
}

/* The queue in which a task that comes meets the running one, and the group in which it comes to that, or 0. */
struct meeting {
	u32 number;
	u32 group;
};

static inline struct meeting meeting_of(const struct fair_task *t, u32 cpu)
{
	struct meeting meeting = { .number = number_on(t, cpu) };
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		const struct group_node *node = node_at(meeting.number);

		if (!node || node->queue.running)
			break;
		meeting.group = meeting.number;
		meeting.number = node->entity.cpu;
	}
	return meeting;
}

/* Whether a task waits in a group's queue. */
static inline bool has_waiting(const struct group_node *node);

/* Any waiting task of a CPU. */
static __noinline bool take_any(u32 cpu)
{
	bool taken = false;
	u32 slot;

	bpf_for(slot, 0, tree_slots_end()) {
		const struct group_node *node = node_at(queue_number(slot, cpu));

		/* The dispatch queues of a new group may not be there yet. */
		if (slot != ROOT_SLOT && (!node || !has_waiting(node)))
			continue;
		taken = scx_bpf_dsq_move_to_local(queue_number(slot, cpu), 0);
		if (taken)
			break;
	}
	return taken;
}

/* A slot may be taken again: then its queues are empty, and what else is kept of them is as the policy says. */
static inline void clear_node(struct group_node *node);

/* Queues for a new group: @slot, in the one of @above. */
static s32 init_nodes(u32 slot, u32 above)
{
	u32 cpu;

	bpf_for(cpu, 0, nr_cpus) {
		u32 number = queue_number(slot, cpu);
		struct group_node *node = node_at(number);
		s32 error;

		if (!node) {
			scx_bpf_error("there is room for %u groups with queues of their own on %u CPUs: set group_queues",
				      group_queues / (nr_cpus ?: 1) - 1, nr_cpus);
			return -ENOSPC;
		}
		error = scx_bpf_create_dsq(number, NUMA_NO_NODE);
		/* A slot may be taken again. */
		if (error && error != -EEXIST)
			return error;
		clear_node(node);
		node->entity.cpu = queue_number(above, cpu);
	}
	return 0;
}

#endif /* SCHEDLAB_GROUP_PLACES_BPF_H */
