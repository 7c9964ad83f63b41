/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load averages of task groups: of a group's queue, of its entity, and what a task brings to them and to the root.
 *
 * Example: a task with a load of 1024 joins a queue of weight 1024 whose group weighs 512 in the root: 256 of its
 * load come to the root, and to the entity.
 *
 * Source: Linux 4.9 and 6.1, kernel/sched/fair.c propagate_entity_load_avg(), task_h_load().
 */
#ifndef SCHEDLAB_GROUP_LOADS_BPF_H
#define SCHEDLAB_GROUP_LOADS_BPF_H

static inline void publish(struct group_node *node, u32 number)
{
	s64 moved = (s64)(node->queue.average.load - node->published);
	u64 *total = ELEMENT(group_loads, slot_at(number));

	if (!total || (u64)(moved < 0 ? -moved : moved) <= node->published / 64)
		return;
	node->published += moved;
	__sync_fetch_and_add(total, (u64)moved);
}

/* Brings the loads of a group's queue and entity to now. */
static inline void update_group_load(struct group_node *node, u32 number, u64 now)
{
	u32 how = load_rule() | (node->queue.running ? LOAD_RUNNING : 0), share = node->entity.weight;
	u64 runnable_rate = is_4_9() ? node->queue.weight : node->queue.nr_running * LOAD_UTIL_MAX;

	load_average_update(&node->queue.average, now, node->queue.weight, runnable_rate, how);
	load_average_update(&node->entity.average, now, share, share, how);
	publish(node, number);
}

/* The same for the groups above a queue, and itself. */
__noinline bool update_group_loads(u32 number, u64 now)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);

		if (!node)
			break;
		update_group_load(node, number, now);
		number = node->entity.cpu;
	}
	return true;
}

/*
 * Kernels since 4.10 move what a task brings up to the root: its use of the CPU as it is, and of its load a part, which
 * joins those of the queue above and of the entity.
 */
static __noinline void carry_load(struct fair_queue *above, struct load_average *entity,
				  const struct load_average *task, u64 part)
{
	u64 divisor;

	if (!above || !entity || !task)
		return;
	divisor = load_divisor(&above->average, LOAD_RULE_LATER);
	above->average.load += part;
	above->average.load_sum += part * divisor;
	above->average.util += task->util;
	above->average.util_sum += task->util * divisor;
	above->average.runnable += task->runnable;
	above->average.runnable_sum += task->runnable * divisor;
	entity->load += part;
	entity->load_sum += part * load_divisor(entity, LOAD_RULE_LATER);
}

static __noinline void take_load(struct fair_queue *above, struct load_average *entity,
				 const struct load_average *task, u64 part)
{
	u64 divisor;

	if (!above || !entity || !task)
		return;
	divisor = load_divisor(&above->average, LOAD_RULE_LATER);
	load_take(&above->average.load, part);
	load_take(&above->average.load_sum, part * divisor);
	load_take(&above->average.util, task->util);
	load_take(&above->average.util_sum, task->util * divisor);
	load_take(&above->average.runnable, task->runnable);
	load_take(&above->average.runnable_sum, task->runnable * divisor);
	load_take(&entity->load, part);
	load_take(&entity->load_sum, part * load_divisor(entity, LOAD_RULE_LATER));
}

/* A task's averages join those of its group's queue on its CPU, and of those above. */
__noinline bool join_tree_load(struct fair_task *t, u64 now)
{
	u32 number, level, weight;
	struct fair_queue *own;
	u64 part;

	own = t ? queue_at(number_of(t)) : NULL;
	if (!own)
		return false;
	number = number_of(t);
	weight = t->weight;
	part = t->average.load;
	update_group_loads(number, now);
	load_average_attach(&own->average, &t->average, load_rule());
	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);
		struct fair_queue *above = node ? queue_at(node->entity.cpu) : NULL;

		if (!above)
			break;
		if (!is_4_9()) {
			u32 share = weight_of_group(node, number);

			part = part * share / (node->queue.weight + weight ?: 1);
			carry_load(above, &node->entity.average, &t->average, part);
			weight = node->queue.nr_running ? 0 : share;
		}
		publish(node, number);
		number = node->entity.cpu;
	}
	return true;
}

/* And leave them. */
__noinline bool leave_tree_load(struct fair_task *t, u64 now)
{
	struct group_node *last;
	struct fair_queue *own;
	u32 number, level;
	u64 part;

	own = t ? queue_at(number_of(t)) : NULL;
	if (!own)
		return false;
	number = number_of(t);
	part = t->average.load;
	update_group_loads(number, now);
	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);
		struct fair_queue *above = node ? queue_at(node->entity.cpu) : NULL;

		if (!above || is_4_9())
			break;
		part = part * node->entity.average.load / (node->queue.average.load + 1);
		take_load(above, &node->entity.average, &t->average, part);
		number = node->entity.cpu;
	}
	load_average_detach(&own->average, &t->average, load_rule());
	number = number_of(t);
	last = node_at(number);
	if (last)
		publish(last, number);
	return true;
}

/* The part of a task's load in that of its CPU (task_h_load()). */
__noinline u64 load_in_tree(const struct fair_task *t)
{
	u32 path[MAX_CONTROL_DEPTH] = {}, number, level, depth = 0;
	const struct fair_queue *queue;
	u64 load;

	queue = t ? queue_of(t->cpu) : NULL;
	if (!queue)
		return 0;
	load = queue->average.load;
	number = number_of(t);
	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		const struct group_node *node = node_at(number);
		u32 *step = ELEMENT(path, level);

		if (!node || !step)
			break;
		*step = number;
		depth = level + 1;
		number = node->entity.cpu;
	}
	bpf_for(level, 0, depth) {
		const u32 *step = ELEMENT(path, depth - 1 - level);
		const struct group_node *node = step ? node_at(*step) : NULL;

		if (!node)
			break;
		load = load * node->entity.average.load / (queue->average.load + 1);
		queue = &node->queue;
	}
	return t->average.load * load / (queue->average.load + 1);
}

/* Where the averages of a new task begin. */
static inline const struct load_average *averages_around(const struct fair_queue *q, const struct fair_task *t)
{
	const struct group_node *node = has_tree() ? node_at(number_of(t)) : NULL;

	return node ? &node->queue.average : &q->average;
}

#endif /* SCHEDLAB_GROUP_LOADS_BPF_H */
