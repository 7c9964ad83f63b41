/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task waits: in the queue of its CPU, or before 7.3 in that of its control group there.
 *
 * Before 7.3 each group has a queue on each CPU, which holds its tasks and the groups below it, and an entity in the
 * queue above, which competes there as a task does. Queues have numbers: that of a CPU is its own queue's, the root's;
 * those of groups follow. A queue's waiting tasks are in the dispatch queue of that number.
 *
 * Example, 2 CPUs: the queue of the group in slot 3 on CPU 1 has the number 4096 + 3 * 2 + 1.
 *
 * Source: Linux 6.12 to 7.1, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_EEVDF_PLACES_BPF_H
#define SCHEDLAB_EEVDF_PLACES_BPF_H

/* Queues of groups, of all CPUs together. */
#define MAX_GROUP_NODES 4096

/* The queue of a group on a CPU, and its entity in the queue above. */
struct group_node {
	struct fair_queue queue;
	struct fair_task entity; /* `cpu` is the number of the queue above */
	u32 next;		 /* of the groups that are queued there */
	u32 previous;
	bool is_queued;		 /* the entity is in the sum of the queue above, or runs there */
	bool is_running;
};

static struct group_node group_nodes[MAX_GROUP_NODES];

/* Whether groups have queues of their own. */
static inline bool has_tree(void)
{
	return has_control_groups() && version < LINUX_7_3;
}

static inline u32 queue_number(u32 slot, u32 cpu)
{
	return slot == ROOT_SLOT ? cpu : MAX_CPUS + slot * control_cpus + cpu;
}

/* NULL for the queue of a CPU. */
static inline struct group_node *node_at(u32 number)
{
	return ELEMENT(group_nodes, number - MAX_CPUS);
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
	return number < MAX_CPUS ? number : (number - MAX_CPUS) % (control_cpus ?: 1);
}

static inline u32 slot_at(u32 number)
{
	return number < MAX_CPUS ? ROOT_SLOT : (number - MAX_CPUS) / (control_cpus ?: 1);
}

/* The queue of a task on a CPU, and the one in which it is or was. */
static inline u32 number_on(const struct fair_task *t, u32 cpu)
{
	return has_tree() ? queue_number(t->control_slot, cpu) : cpu;
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
	return has_tree() ? control_slots_end : 1;
}

static inline u64 waiting_dsq_at(u32 number, s32 cpu)
{
	return queue_number(number, cpu);
}

/* A group comes to the list of those that are queued in a queue, or leaves it. */
static inline void list_group(struct fair_queue *above, struct group_node *node, u32 number)
{
	struct group_node *next = node_at(above->clock.first_group);

	node->previous = 0;
	node->next = above->clock.first_group;
	if (next)
		next->previous = number;
	above->clock.first_group = number;
	node->is_queued = true;
}

static inline void unlist_group(struct fair_queue *above, struct group_node *node)
{
	struct group_node *next = node_at(node->next), *previous = node_at(node->previous);

	if (next)
		next->previous = node->previous;
	if (previous)
		previous->next = node->next;
	else
		above->clock.first_group = node->next;
	node->is_queued = false;
}

/* A slot may be taken again: then its queues are empty, but V is where it was. */
static inline void clear_node(struct group_node *node)
{
	node->queue.clock.sum = 0;
	node->queue.clock.weight = 0;
	node->queue.clock.nr_queued = 0;
	node->queue.clock.nr_custom = 0;
	node->queue.clock.nr_debtors = 0;
	node->queue.clock.first_group = 0;
	node->queue.clock.picked = 0;
	node->is_queued = false;
	node->entity = (struct fair_task){
		.weight = NICE_0_WEIGHT, .scaled_weight = SCALED_NICE_0, .inverse = inverse_of_sum(NICE_0_WEIGHT),
	};
}

/* The queues of a new group, where groups have some. */
static s32 init_nodes(u32 slot)
{
	const struct control_group *group = control_group_at(slot);
	u32 cpu;

	if (!group || slot == ROOT_SLOT || version >= LINUX_7_3)
		return 0;
	bpf_for(cpu, 0, control_cpus) {
		u32 number = queue_number(slot, cpu);
		struct group_node *node = node_at(number);
		s32 error = scx_bpf_create_dsq(number, NUMA_NO_NODE);

		if (!node) {
			scx_bpf_error("before 7.3 there is room for %u control groups on %u CPUs",
				      MAX_GROUP_NODES / (control_cpus ?: 1) - 1, control_cpus);
			return -ENOSPC;
		}
		/* A slot may be taken again. */
		if (error && error != -EEXIST)
			return error;
		clear_node(node);
		node->entity.cpu = queue_number(group->parent, cpu);
	}
	return 0;
}

#endif /* SCHEDLAB_EEVDF_PLACES_BPF_H */
