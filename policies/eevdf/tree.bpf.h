/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queues of control groups in each other, as kernels have them before 7.3 (places.bpf.h).
 *
 * Each queue has an average, protection and debtors of its own, and in each the same rules hold: a group's entity has
 * a virtual time, a deadline and a lag as a task has, and weighs its part of the group's shares. An entity comes to the
 * queue above with the first task of its group, and leaves with the last; if it has a debt then, it stays until that is
 * paid. Time is charged in all queues above the running task.
 *
 * Functions that walk from queue to queue are global, so that a verifier looks at each once; those return something.
 *
 * Entities, and their places, are changed by their CPU alone, when it holds its run queue; a balancer elsewhere changes
 * the sums of the queues between which it moves a task, and leaves the rest to the CPUs.
 *
 * Example, one CPU: a hog in the group A, and two in B, of equal weight. A and B take turns at the root, and each of
 * B's hogs gets every second turn of B.
 *
 * Source: Linux 6.12 and 7.1, kernel/sched/fair.c enqueue_task_fair(), dequeue_entities(), set_next_task_fair().
 */
#ifndef SCHEDLAB_EEVDF_TREE_BPF_H
#define SCHEDLAB_EEVDF_TREE_BPF_H

#include <eevdf/pick.bpf.h>

/* MIN_SHARES. */
#define LEAST_ENTITY_WEIGHT 2

static inline bool has_tasks(const struct group_node *node)
{
	return node->queue.clock.nr_queued || node->queue.running;
}

static inline void set_weight(struct fair_task *t, u64 weight)
{
	t->scaled_weight = weight;
	t->weight = unscaled(weight);
	t->inverse = inverse_of_sum(t->weight);
}

/* A task that is in no queue has another weight from now on. */
static inline void rescale(struct fair_task *t, u64 weight)
{
	if (weight == t->scaled_weight)
		return;
	t->clock.lag = rescaled(t->clock.lag, t->scaled_weight, weight);
	if (t->clock.is_relative)
		t->clock.deadline = rescaled(t->clock.deadline, t->scaled_weight, weight);
	set_weight(t, weight);
}

/* Where a task is in virtual time. */
struct place {
	u64 vruntime;
	u64 deadline;
	u64 protected_until; /* not later than `vruntime`: it is not protected */
};

/* A task in its place has another weight: it keeps its lag, and its distances, in its own measure. */
static inline void move_by_weight(const struct fair_queue *q, struct fair_task *t, struct place *at, u64 after, u64 now)
{
	u64 before = t->scaled_weight, average = average_vruntime(q, now);

	if (time_before(at->vruntime, at->protected_until))
		at->protected_until = average + rescaled(at->protected_until - average, before, after);
	at->deadline -= at->vruntime;
	at->vruntime = average - rescaled(average - at->vruntime, before, after);
	at->deadline = at->vruntime + rescaled(at->deadline, before, after);
	set_weight(t, after);
}

/* The running one, from now on with what is there. */
static inline void take_measure(struct fair_queue *q, const struct fair_task *t, const struct place *at)
{
	q->clock.vruntime = at->vruntime;
	q->clock.deadline = at->deadline;
	q->clock.protected_until = at->protected_until;
	q->running_weight = t->weight;
	q->running_scaled = t->scaled_weight;
	q->running_inverse = t->inverse;
}

/* What a group's entity is to weigh, scaled. */
static inline u64 entity_weight(u32 number)
{
	const struct control_queue *queue = control_queue_of(slot_at(number), cpu_at(number));
	u64 weight = queue ? unscaled(queue->share) : 0;

	return scaled(weight < LEAST_ENTITY_WEIGHT ? LEAST_ENTITY_WEIGHT : weight);
}

/* A group asks for the shortest slice that any of its tasks asks for. */
static inline void ask_for_slice(struct group_node *node, struct fair_queue *above, u64 slice)
{
	s32 change = is_custom(slice) - is_custom(node->entity.clock.slice);

	node->entity.clock.slice = slice;
	if (node->is_running)
		above->clock.slice = slice;
	else if (change)
		__sync_fetch_and_add(&above->clock.nr_custom, change);
}

/* A group's entity comes to the queue above. */
static __always_inline void join_above(struct group_node *node, struct fair_queue *above, u32 number, u64 slice,
				       u64 now)
{
	struct fair_task *e = &node->entity;
	enum comeback comeback = ANEW;

	e->clock.slice = slice;
	if (e->clock.is_debtor)
		comeback = return_from_debt(above, e, -(s32)number, true, now);
	if (comeback == ANEW)
		rescale(e, entity_weight(number));
	if (comeback != TO_ITS_PLACE)
		place(above, e, false, now);
	enter_tree(above, e);
	list_group(above, node, number);
}

/*
 * Whether a throttled group leaves the queue above as it is, with its tasks in their places. Since 6.18 tasks leave
 * one by one.
 */
static inline bool throttles_queues(void)
{
	return has_tree() && version < LINUX_6_18;
}

static inline bool is_throttled(u32 number)
{
	const struct control_queue *queue = control_queue_of(slot_at(number), cpu_at(number));

	return number >= MAX_CPUS && queue && queue->is_throttled;
}

/*
 * A task of that slice has come to a queue, or one that is counted there already, which is NO_SLICE: the groups above
 * are queued too, up to one that is throttled.
 */
#define NO_SLICE ~0ULL

/* The shortest slice of @slice and of what is in a group's queue. A task that is on its way to the CPU is in none. */
static inline u64 shortest_slice(u32 number, u64 slice)
{
	slice = extreme_slice(number, slice, false);
	return slice == NO_SLICE ? request_slice(0, nr_cpus) : slice;
}

__noinline bool join_groups_above(u32 number, u64 slice, u64 now)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);
		struct fair_queue *above = node ? queue_at(node->entity.cpu) : NULL;

		if (!above || (throttles_queues() && is_throttled(number)))
			break;
		slice = shortest_slice(number, slice);
		if (node->is_queued)
			ask_for_slice(node, above, slice);
		else
			join_above(node, above, number, slice, now);
		number = node->entity.cpu;
	}
	return true;
}

/*
 * A group's entity leaves the queue above. True: it stays there with a debt, as it does whenever it is not throttled,
 * whatever its last task left for (dequeue_entities()).
 */
static __always_inline bool leave_above(struct group_node *node, u32 number, bool throttled, u64 now)
{
	struct fair_task *e = &node->entity;
	struct fair_queue *above = queue_at(e->cpu);
	bool owes;

	if (!above)
		return false;
	e->clock.lag = lag_of(above, e->cpu, e, now);
	owes = !throttled && delay_dequeue && !is_eligible(above, e->clock.vruntime, now);
	leave_tree(above, e);
	unlist_group(above, node);
	if (above->clock.picked == number)
		above->clock.picked = 0;
	return owes && become_debtor(above, e, -(s32)number);
}

/* A task has left a queue, or a debtor: groups that have none any more leave the queues above. */
__noinline bool leave_groups_above(u32 number, bool throttled, u64 now)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);
		struct fair_queue *above = node ? queue_at(node->entity.cpu) : NULL;

		if (!above || !node->is_queued)
			break;
		if (has_tasks(node))
			ask_for_slice(node, above, shortest_slice(number, NO_SLICE));
		else if (leave_above(node, number, throttled, now))
			break;
		number = node->entity.cpu;
	}
	return true;
}

/* Groups that are throttled leave the queues above, as nothing of them runs (check_cfs_rq_runtime()). */
__noinline bool throttle_groups_above(u32 number, u64 now)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);

		if (!node)
			break;
		if (node->is_queued && !node->is_running && is_throttled(number)) {
			leave_above(node, number, true, now);
			leave_groups_above(node->entity.cpu, true, now);
		}
		number = node->entity.cpu;
	}
	return true;
}

/* A group weighs something else in the queue above from now on. */
static __always_inline void reweigh_entity(struct group_node *node, u64 weight, u64 now)
{
	struct fair_task *e = &node->entity;
	struct fair_queue *above = queue_at(e->cpu);
	struct place at;

	if (!above)
		return;
	if (node->is_running) {
		at = (struct place){ above->clock.vruntime, above->clock.deadline, above->clock.protected_until };
		move_by_weight(above, e, &at, weight, now);
		take_measure(above, e, &at);
		return;
	}
	at = (struct place){ e->clock.vruntime, e->clock.deadline, e->clock.vruntime };
	leave_tree(above, e);
	move_by_weight(above, e, &at, weight, now);
	e->clock.vruntime = at.vruntime;
	e->clock.deadline = at.deadline;
	enter_tree(above, e);
}

/* The groups above a queue weigh what they are to (update_cfs_group()). */
__noinline bool reweigh_groups(u32 number, u64 now)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);
		u64 weight;

		if (!node)
			break;
		weight = entity_weight(number);
		if (node->is_queued && weight != node->entity.scaled_weight)
			reweigh_entity(node, weight, now);
		number = node->entity.cpu;
	}
	return true;
}

/* Tasks have come to the queues of a CPU's groups or have left them, and it was not their CPU that moved them. */
static inline void make_stale(u32 cpu)
{
	struct fair_queue *q = queue_of(cpu);

	if (q)
		WRITE_ONCE(q->clock.is_stale, true);
}

/*
 * The groups of a CPU, which holds its run queue, come to the queues above or leave them since then, or have other
 * weights. What runs has been charged by what it weighed.
 */
__noinline bool settle_groups(u32 cpu, u64 now)
{
	struct fair_queue *q = queue_of(cpu);
	u32 slot;

	if (!q || !READ_ONCE(q->clock.is_stale))
		return false;
	WRITE_ONCE(q->clock.is_stale, false);
	bpf_for(slot, ROOT_SLOT + 1, control_slots_end) {
		u32 number = queue_number(slot, cpu);
		const struct group_node *node = node_at(number);

		if (!node)
			break;
		if (has_tasks(node))
			join_groups_above(number, NO_SLICE, now);
		else if (node->is_queued)
			leave_groups_above(number, false, now);
		if (node->is_queued)
			reweigh_groups(number, now);
	}
	return true;
}

/* What is in the tree gets its queue for itself: a task in its group's, or a group in the one above. */
static inline void begin_in(struct fair_queue *q, const struct fair_task *t, s32 pid, u64 now)
{
	take_measure(q, t, &(struct place){ t->clock.vruntime, t->clock.deadline, q->clock.protected_until });
	q->clock.slice = t->clock.slice;
	q->charged_at = now;
	q->running_class = t->class;
	/* Before it leaves the sum: other CPUs may ask for V. */
	q->running = pid;
	leave_tree(q, (struct fair_task *)t);
	clear_rest(&q->clock);
	q->resched = false;
}

static inline bool is_idle_group(u32 number)
{
	const struct control_group *group = control_group_at(slot_at(number));

	return group && group->is_idle;
}

/* A task gets the CPU: the groups above it run. One that ran last in its queue is not protected again. */
__noinline bool begin_groups_above(u32 number, s32 pid, u64 now)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);
		struct fair_queue *above = node ? queue_at(node->entity.cpu) : NULL;

		if (!above)
			break;
		/* It may have been throttled while a higher class had the CPU. */
		if (!node->is_queued)
			join_above(node, above, number, node->queue.clock.slice, now);
		above->tick_phase = node->queue.tick_phase;
		begin_in(above, &node->entity, pid, now);
		above->running_class = is_idle_group(number) ? CLASS_IDLE : CLASS_NORMAL;
		node->is_running = true;
		if (above->clock.picked != number)
			protect(above, node->entity.cpu);
		above->clock.picked = number;
		number = node->entity.cpu;
	}
	return true;
}

/* It leaves the CPU: they wait again. */
__noinline bool end_groups_above(u32 number)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);
		struct fair_queue *above = node ? queue_at(node->entity.cpu) : NULL;

		if (!above)
			break;
		node->entity.clock.vruntime = above->clock.vruntime;
		node->entity.clock.deadline = above->clock.deadline;
		above->running = 0;
		node->is_running = false;
		enter_tree(above, &node->entity);
		number = node->entity.cpu;
	}
	return true;
}

/* Charges the groups of the running task. True: some queue wants another pick. */
static __noinline bool charge_groups(u32 number, u64 now)
{
	bool resched = false;
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);

		if (!node)
			break;
		if (charge_level(&node->queue, now)) {
			node->queue.resched = false;
			resched = true;
		}
		number = node->entity.cpu;
	}
	return resched;
}

/* The first tick at which one of the queues of the running task has to be looked at. */
static __noinline u64 end_in_groups(u32 number, u64 end, u64 now)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);
		u64 own;

		if (!node)
			break;
		own = slice_end(&node->queue, now);
		if (time_before(own, end))
			end = own;
		number = node->entity.cpu;
	}
	return end;
}

/* The running task and the groups above it are protected, or are not any more. */
__noinline bool protect_levels(u32 number, bool protects, u64 now)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);
		struct fair_queue *q = queue_at(number);

		if (q && protects)
			protect(q, number);
		else if (q)
			cancel_protection(q, now);
		if (!node)
			break;
		number = node->entity.cpu;
	}
	return true;
}

/*
 * The running task leaves its CPU without that another one of its class was picked: a kernel has no running entity then
 * (put_prev_task_fair()).
 */
__noinline bool forget_picked(u32 number)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		const struct group_node *node = node_at(number);
		struct fair_queue *above = node ? queue_at(node->entity.cpu) : NULL;

		if (!above)
			break;
		above->clock.picked = 0;
		number = node->entity.cpu;
	}
	return true;
}

/* A waiting task leaves its queue, or comes to it. */
static __always_inline void leave_place(struct fair_task *t, bool throttled, u64 now)
{
	u32 number = number_of(t);
	struct fair_queue *q = queue_at(number);

	if (!q)
		return;
	leave_tree(q, t);
	if (has_tree())
		leave_groups_above(number, throttled, now);
}

static __always_inline void enter_place(struct fair_task *t, u64 now)
{
	u32 number = number_of(t);
	struct fair_queue *q = queue_at(number);

	if (!q)
		return;
	enter_tree(q, t);
	if (!has_tree())
		return;
	join_groups_above(number, t->clock.slice, now);
	reweigh_groups(number, now);
}

/*
 * The balancer moves a task of a group from queue to queue. Neither need be one of the CPU on which it works, so that
 * the groups above are left to their own CPUs.
 */
static __noinline void carry_in_tree(struct fair_task *t, u32 to, u64 key)
{
	struct fair_queue *before = queue_at(number_of(t)), *after = queue_at(to);

	if (!before || !after)
		return;
	leave_tree(before, t);
	t->clock.vruntime = key - deadline_distance(t);
	t->clock.deadline = key;
	enter_tree(after, t);
	make_stale(t->cpu);
	make_stale(cpu_at(to));
}

static __always_inline void carry_place(struct fair_task *t, struct fair_queue *from, struct fair_queue *to, s32 cpu,
					u64 key)
{
	if (has_tree()) {
		carry_in_tree(t, number_on(t, cpu), key);
		return;
	}
	leave_tree(from, t);
	t->clock.vruntime = key - deadline_distance(t);
	t->clock.deadline = key;
	enter_tree(to, t);
}

#endif /* SCHEDLAB_EEVDF_TREE_BPF_H */
