/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The queues of control groups before 7.3: which of them are queued in which.
 *
 * Source: Linux 6.12 to 7.1, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_EEVDF_PLACES_BPF_H
#define SCHEDLAB_EEVDF_PLACES_BPF_H

#define GROUP_NODE_STATE                                                                                           \
	u32 next; /* of the groups that are queued there */                                                    \
	u32 previous;                                                                                          \
	bool is_queued; /* the entity is in the sum of the queue above, or runs there */                       \
	bool is_running
#include <schedlab/group_places.bpf.h>

static inline bool has_tree(void)
{
	return has_control_groups() && version < LINUX_7_3;
}

static inline u32 slot_in_tree(const struct fair_task *t)
{
	return t->control_slot;
}

static inline u32 tree_slots_end(void)
{
	return control_slots_end;
}

static inline bool has_waiting(const struct group_node *node)
{
	return node->queue.clock.nr_queued;
}

static inline u32 first_to_pull(const struct fair_queue *from)
{
	return 0;
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

/* V is where it was. */
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

#endif /* SCHEDLAB_EEVDF_PLACES_BPF_H */
