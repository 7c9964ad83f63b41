/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Weights of control groups where each CPU has one queue of tasks: a task has the weight that is left to it of its
 * group's, that of the group above, and so on.
 *
 * A group weighs on a CPU, of its shares S,
 *
 *	S * L / (T - O + L)		at least a 500,000th of nice 0, at most S
 *
 * L: the load of its queue here; T: the sum of what its queues have published of their loads; O: what this one has.
 * And a task of weight w has the part w / W of what its group weighs, W being the weights in the group's queue.
 *
 * With `group_mode=concur` S is multiplied by the number of tasks that the group has runnable in all, but not by more
 * than its cpuset has CPUs: so a group that fills the machine weighs as much on a CPU as one task there does.
 *
 * Weights of queues and groups are scaled, so that parts of parts are not lost.
 *
 * Example, one CPU: a group of 1024 with the tasks A and B, and a task C of the root. A and B weigh 512 each, C 1024.
 *
 * A waiting task keeps the weight that it had when it came, or was picked. One that sleeps with a debt still weighs
 * what it did, but is not runnable. The loads follow tasks that move from one CPU to another; where a group has no task
 * any more they fade when that CPU balances.
 *
 * Source: Linux 7.3, kernel/sched/fair.c __calc_prop_weight(), calc_group_shares(), calc_concur_shares(),
 * update_tg_load_avg(), update_blocked_averages().
 */
#ifndef SCHEDLAB_GROUP_WEIGHTS_BPF_H
#define SCHEDLAB_GROUP_WEIGHTS_BPF_H

#include <schedlab/control_groups.bpf.h>

PARAMETER(u32, group_mode, 0,
	  "choices=concur,smp about=What a control group weighs on a CPU: its shares once for each of its runnable "
	  "tasks, or its shares divided among its CPUs.");
enum { MODE_CONCUR, MODE_SMP };

/* Whether the kernel knows that mode. */
static inline bool counts_group_tasks(void);

/* How often a queue publishes at most. */
#define PUBLISH_INTERVAL NS_PER_MS
/* @shares and the part are scaled, loads are not. */
static inline u64 group_part(u64 shares, u64 load, u64 total, u64 own)
{
	u64 all = total - own + load, part = shares * load;

	if (all)
		part /= all;
	return part < LEAST_WEIGHT ? LEAST_WEIGHT : part > shares ? shares : part;
}

/* How many tasks a group has runnable, as far as its CPUs go. */
static inline u64 concurrency(const struct control_group *group)
{
	u64 tasks = group->runnable / LOAD_UTIL_MAX ?: 1;

	return tasks < group->cpus ? tasks : group->cpus;
}

static inline u64 share_of(const struct control_group *group, const struct control_queue *queue)
{
	u64 shares = scaled(entity_shares(group)), load = unscaled(queue->weight);

	if (!queue->weight)
		return 0;
	if (group_mode == MODE_CONCUR && counts_group_tasks())
		shares *= concurrency(group);
	if (queue->average.load > load)
		load = queue->average.load;
	return group_part(shares, load, group->load, queue->published_load);
}

static inline bool has_moved(u64 now, u64 before)
{
	s64 moved = (s64)(now - before);

	return (u64)(moved < 0 ? -moved : moved) > before / 64;
}

/* A queue lets its group know of its averages. */
static inline void publish_control(struct control_group *group, struct control_queue *queue, u64 now)
{
	if (queue->published_at && now - queue->published_at < PUBLISH_INTERVAL)
		return;
	if (!has_moved(queue->average.load, queue->published_load) &&
	    !has_moved(queue->average.runnable, queue->published_runnable))
		return;
	__sync_fetch_and_add(&group->load, queue->average.load - queue->published_load);
	__sync_fetch_and_add(&group->runnable, queue->average.runnable - queue->published_runnable);
	queue->published_load = queue->average.load;
	queue->published_runnable = queue->average.runnable;
	queue->published_at = now;
}

/* Whether a queue publishes nothing more while its tasks stay as they are: its averages are close to where they go. */
static inline bool is_settled(const struct control_queue *queue)
{
	u64 load = unscaled(queue->weight), runnable = queue->nr_running * LOAD_UTIL_MAX;

	return !has_moved(load - load / 256, queue->published_load) &&
	       !has_moved(runnable - runnable / 256, queue->published_runnable);
}

/* The same for a group's queue on a CPU and those above it. */
static __noinline bool are_settled(u32 slot, u32 cpu)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		const struct control_group *group = control_group_at(slot);
		const struct control_queue *queue = control_queue_of(slot, cpu);

		if (!group || !queue || slot == ROOT_SLOT)
			break;
		if (!is_settled(queue))
			return false;
		slot = group->parent;
	}
	return true;
}

/* Brings the averages of a queue to now. */
static inline void update_control_queue(struct control_group *group, struct control_queue *queue, bool runs, u64 now)
{
	load_average_update(&queue->average, now, unscaled(queue->weight), queue->nr_running * LOAD_UTIL_MAX,
			    LOAD_RULE_LATER | (runs ? LOAD_RUNNING : 0));
	publish_control(group, queue, now);
}

/*
 * @tasks that are runnable and a scaled @weight come to a group's queue on a CPU, or go: what the groups above it weigh
 * there follows.
 */
static __noinline void count_in_groups(u32 slot, u32 cpu, s32 tasks, s64 weight, u64 now)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct control_group *group = control_group_at(slot);
		struct control_queue *queue = control_queue_of(slot, cpu);
		u64 share;

		if (!group || !queue || slot == ROOT_SLOT)
			return;
		update_control_queue(group, queue, queue->nr_running, now);
		__sync_fetch_and_add(&queue->weight, weight);
		__sync_fetch_and_add(&queue->nr_running, tasks);
		list_fading(slot, cpu, queue);
		share = share_of(group, queue);
		weight = (s64)(share - __sync_lock_test_and_set(&queue->share, share));
		slot = group->parent;
	}
}

/*
 * A task brings its load to the averages of its groups on a CPU, or takes it to another: the averages follow at once.
 * In the group above, the group's own load is the part of its shares that its load here is of its load everywhere.
 * (attach_entity_load_avg(), detach_entity_load_avg(), propagate_entity_load_avg())
 */
static __noinline void carry_in_groups(u32 slot, u32 cpu, u64 load, u64 runnable, bool comes)
{
	u64 now = scx_bpf_now();
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct control_group *group = control_group_at(slot);
		struct control_queue *queue = control_queue_of(slot, cpu);
		struct load_average part = { .load = load, .runnable = runnable };
		u64 total;

		if (!group || !queue || slot == ROOT_SLOT)
			return;
		update_control_queue(group, queue, queue->nr_running, now);
		total = group->load;
		if (comes) {
			load_average_attach(&queue->average, &part, LOAD_RULE_LATER);
			total += load;
		} else {
			part.load_sum = load * load_divisor(&queue->average, LOAD_RULE_LATER);
			part.runnable_sum = runnable * load_divisor(&queue->average, LOAD_RULE_LATER);
			load_average_detach(&queue->average, &part, LOAD_RULE_LATER);
		}
		publish_control(group, queue, now);
		list_fading(slot, cpu, queue);
		load = group_part(scaled(entity_shares(group)), load, total > load ? total : load, load) >> WEIGHT_BITS;
		slot = group->parent;
	}
}

/* The loads of groups fade where they have no task any more (update_blocked_averages()). */
static __noinline void fade_groups(u32 cpu, u64 now)
{
	struct control_queue *root = control_queue_of(ROOT_SLOT, cpu);
	u32 next, step;

	if (!root || !root->first_fading)
		return;
	next = __sync_lock_test_and_set(&root->first_fading, 0);
	bpf_for(step, 0, MAX_CONTROL_GROUPS) {
		u32 slot = next - 1;
		struct control_group *group = control_group_at(slot);
		struct control_queue *queue = control_queue_of(slot, cpu);

		if (!next || !group || !queue)
			break;
		next = queue->next_fading;
		queue->is_listed = 0;
		if (!is_fading(queue))
			continue;
		update_control_queue(group, queue, false, now);
		list_fading(slot, cpu, queue);
	}
}

/* What a task of weight @own in a group weighs on a CPU where it is counted, scaled. */
static __noinline u64 weight_in_groups(u32 slot, u32 cpu, u32 own)
{
	u64 weight = SCALED_NICE_0, part = scaled(own);
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct control_group *group = control_group_at(slot);
		struct control_queue *queue = control_queue_of(slot, cpu);

		if (!group || !queue || slot == ROOT_SLOT || !queue->weight)
			break;
		weight = weight * part / queue->weight;
		if (weight < LEAST_WEIGHT)
			weight = LEAST_WEIGHT;
		part = queue->share;
		slot = group->parent;
	}
	weight = weight * part / SCALED_NICE_0;
	return weight < LEAST_WEIGHT ? LEAST_WEIGHT : weight;
}

/* A tick: averages continue, and so do the weights of the groups above a task. */
static inline void refresh_groups(u32 slot, u32 cpu, u64 now)
{
	count_in_groups(slot, cpu, 0, 0, now);
}

#endif /* SCHEDLAB_GROUP_WEIGHTS_BPF_H */
