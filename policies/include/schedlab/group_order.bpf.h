/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The order of a CPU's tasks with task groups: in each queue the tasks and the groups' entities are in the order of
 * their virtual times. The CPU's own queue is asked first; where a group is due its queue is asked next
 * (group_pick.bpf.h).
 *
 * The same rules hold in all queues. The running task is charged in each above it; ticks compare what it and the groups
 * above it have run with their slices; a group that comes is placed as a task would be that slept; there are buddies in
 * each: the group of a task that sleeps is the next one, so that what is left of the group's slice is used.
 *
 * Functions that walk from queue to queue are global, so that a verifier looks at each once; those return something.
 *
 * Example, one CPU: A alone in its group, B and C in another. The slices of a period of 6 ms are 3 ms for A, and 1.5 ms
 * for B and C within the 3 ms of their group. A runs for half of the time, B and C for a quarter.
 *
 * Source: Linux 4.9, 6.1 and 6.5, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_GROUP_ORDER_BPF_H
#define SCHEDLAB_GROUP_ORDER_BPF_H

/* Which is which among the buddies of a queue: a task by its pid, a group by this. */
static inline s32 name_of(u32 number)
{
	return -(s32)number;
}

/* What runs in a queue, by its name. */
static inline s32 running_name(const struct fair_queue *q)
{
	return q->running_group ? name_of(q->running_group) : q->running;
}

/* Where a group's entity is in the queue above, as it was when that was last charged. */
static inline u64 entity_vruntime(const struct group_node *node, u32 number)
{
	const struct fair_queue *above = queue_at(node->entity.cpu);

	return above && runs_above(above, number) ? above->clock.vruntime : node->entity.clock.vruntime;
}

/* Whether a task of a group waits, next to one that runs. */
static inline bool group_waits(const struct group_node *node)
{
	return node->queue.nr_running > !!node->queue.running;
}

/*
 * Of the groups that wait in a queue the first, except for two: the number of its queue, 0 if there is none. Of equal
 * ones the next in turn.
 */
__noinline u32 first_group(u32 number, u32 but, u32 nor)
{
	const struct fair_queue *q = queue_at(number);
	u32 cpu = cpu_at(number), end = tree_slots_end(), begin, step, chosen = 0;
	u64 least = 0;

	if (!q || q->nr_entities <= (q->running && but && but == q->running_group))
		return 0;
	begin = q->turn + 1;
	bpf_for(step, 0, end) {
		u32 own = queue_number((begin + step) % (end ?: 1), cpu);
		const struct group_node *node = node_at(own);
		u64 vruntime;

		if (!node || node->entity.cpu != (s32)number || own == but || own == nor || !group_waits(node))
			continue;
		vruntime = entity_vruntime(node, own);
		if (!chosen || time_before(vruntime, least)) {
			least = vruntime;
			chosen = own;
		}
	}
	return chosen;
}

/* Whether something waits in a queue beside what runs there; and its virtual time. */
static inline bool first_in_tree(const struct fair_queue *q, u32 number, u64 *vruntime)
{
	u32 own = first_group(number, q->running ? q->running_group : 0, 0);
	const struct group_node *node = node_at(own);
	bool waits;

	bpf_rcu_read_lock();
	waits = first_waiting(number, vruntime);
	bpf_rcu_read_unlock();
	if (node && (!waits || time_before(node->entity.clock.vruntime, *vruntime))) {
		*vruntime = node->entity.clock.vruntime;
		return true;
	}
	return waits;
}

/* What min_vruntime of a queue is now, without changing it. */
__noinline u64 tree_min_vruntime_at(u32 number, u64 now)
{
	struct fair_queue *q = queue_at(number);
	u64 first = 0;
	bool waits;

	if (!q)
		return 0;
	waits = first_in_tree(q, number, &first);
	return follow(q->clock.min_vruntime, q->running, running_vruntime(q, now), waits, first);
}

/* Lets min_vruntime follow, of a queue and of those above. */
__noinline bool follow_in_tree(u32 number, u64 now)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct fair_queue *q = queue_at(number);
		const struct group_node *node = node_at(number);

		if (!q)
			break;
		q->clock.min_vruntime = tree_min_vruntime_at(number, now);
		if (!node)
			break;
		number = node->entity.cpu;
	}
	return true;
}

/* Charges what runs in a queue. */
static inline void charge_level(struct fair_queue *q, u64 now)
{
	if (!q->running || !time_after(now, q->charged_at))
		return;
	q->clock.vruntime = running_vruntime(q, now);
	q->clock.ran += now - q->charged_at;
	q->charged_at = now;
}

/* Charges the running task in a queue and those above. From now on groups may weigh something else. */
__noinline bool charge_tree(u32 number, u64 now)
{
	u32 level, own = number;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct fair_queue *q = queue_at(own);
		const struct group_node *node = node_at(own);

		if (!q)
			break;
		charge_level(q, now);
		if (!node)
			break;
		own = node->entity.cpu;
	}
	return refresh_shares(number);
}

/* Where a group is put that comes: as a task that slept. */
static inline void place_entity(struct group_node *node, const struct fair_queue *above, u32 number)
{
	u64 credit = is_idle_group(number) ? scaled_min_granularity : scaled_latency;
	u64 place = above->clock.min_vruntime - (gentle_sleepers ? credit / 2 : credit);

	if (time_before(node->entity.clock.vruntime, place))
		node->entity.clock.vruntime = place;
}

/* A task is about to come to a queue: the groups that are not queued above it come too. */
__noinline bool place_groups_above(u32 number)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);
		const struct fair_queue *above = node ? queue_at(node->entity.cpu) : NULL;

		if (!above || node->queue.nr_running)
			break;
		place_entity(node, above, number);
		number = node->entity.cpu;
	}
	return true;
}

/*
 * The slice of something of @weight in a queue in which it is, or into which it comes: the part of a part of a period.
 * Kernels since 5.13 take the number of tasks of the CPU for the period, 4.9 that of what is in the queue.
 */
__noinline u64 slice_in_tree(u32 number, u32 weight, bool is_idle, bool comes)
{
	const struct fair_queue *q = queue_at(number), *root = queue_of(cpu_at(number));
	u64 slice, total;
	u32 level;

	if (!q || !root)
		return 0;
	slice = fair_period((is_4_9() ? q->nr_entities : root->nr_running) + comes);
	is_idle = is_idle && q->nr_idle_class != q->nr_running;
	total = q->weight + (comes ? weight : 0);
	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		const struct group_node *node = node_at(number);
		const struct fair_queue *above = node ? queue_at(node->entity.cpu) : NULL;

		slice = part_of_time(slice, weight, total);
		if (!above)
			break;
		weight = entity_weight(node, number);
		total = above->weight + (node->queue.nr_running ? 0 : weight);
		number = node->entity.cpu;
	}
	return at_least_granularity(slice, is_idle);
}

/* The slice of what runs in a queue, as ticks look at it. */
static inline u64 running_slice(const struct fair_queue *q, u32 number)
{
	return capped_slice(slice_in_tree(number, q->running_weight, q->running_class == CLASS_IDLE, false));
}

#endif /* SCHEDLAB_GROUP_ORDER_BPF_H */
