/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The turns of tasks and their groups: what runs in which queue, whose slice is over, what is next, and what preempts.
 *
 * A task that comes meets the running one in the first queue in which both, or groups of theirs, are.
 *
 * Example: A runs, in the group G; B comes, which is in no group. They meet at the root, where G runs. B preempts if
 * it leads G by more than its granularity; then B is the next buddy there.
 *
 * Source: Linux 4.9, 6.1 and 6.5, kernel/sched/fair.c check_preempt_wakeup(), check_preempt_tick(), set_next_entity().
 */
#ifndef SCHEDLAB_GROUP_TURNS_BPF_H
#define SCHEDLAB_GROUP_TURNS_BPF_H

#include <schedlab/group_order.bpf.h>

/* The first in a queue and those above forget one as a buddy, as far as they have it. */
__noinline bool forget_chain(u32 number, s32 name)
{
	bool next = true, last = true, skip = true;
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct fair_queue *q = queue_at(number);
		const struct group_node *node = node_at(number);

		if (!q)
			break;
		next &= q->clock.buddies.next == name;
		last &= q->clock.buddies.last == name;
		skip &= q->clock.buddies.skip == name;
		if (next)
			q->clock.buddies.next = 0;
		if (last)
			q->clock.buddies.last = 0;
		if (skip)
			q->clock.buddies.skip = 0;
		if (!node)
			break;
		name = name_of(number);
		number = node->entity.cpu;
	}
	return true;
}

enum buddy { BUDDY_NEXT, BUDDY_LAST, BUDDY_SKIP };

/* A buddy in a queue is one in those above with its groups. An idle group is none, except for one that yields. */
__noinline bool set_chain(u32 number, s32 name, u32 which)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct fair_queue *q = queue_at(number);
		const struct group_node *node = node_at(number);

		if (!q || (name < 0 && which != BUDDY_SKIP && is_idle_group(-name)))
			break;
		if (which == BUDDY_NEXT)
			q->clock.buddies.next = name;
		else if (which == BUDDY_LAST)
			q->clock.buddies.last = name;
		else
			q->clock.buddies.skip = name;
		if (!node)
			break;
		name = name_of(number);
		number = node->entity.cpu;
	}
	return true;
}

/* Whether one of the ticks since the last look takes the CPU from the running task, or from a group above it. */
__noinline bool tree_tick_is_due(s32 cpu, u64 now)
{
	struct fair_queue *root = queue_of(cpu);
	u64 ticks = root ? ticks_until(root, now) : 0;
	bool due = false;
	u32 number, level;

	if (!root || ticks <= root->clock.ticks)
		return false;
	root->clock.ticks = ticks;
	number = root->running_number;
	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct fair_queue *q = queue_at(number);
		const struct group_node *node = node_at(number);
		u64 first = 0, slice;

		if (!q)
			break;
		if (first_in_tree(q, number, &first)) {
			slice = running_slice(q, number);
			if (q->clock.ran > slice)
				forget_chain(number, running_name(q));
			due |= tick_ends(q->clock.ran, (s64)(q->clock.vruntime - first), slice);
		}
		if (!node)
			break;
		number = node->entity.cpu;
	}
	return due;
}

/* As slice_end(): the first tick at which the slice of the running task or of a group above ends as things are. */
__noinline u64 tree_slice_end(s32 cpu, u64 now)
{
	struct fair_queue *root = queue_of(cpu);
	u64 left = ~0ULL, own;
	u32 number, level;

	if (!root)
		return now + ALONE_SLICE;
	number = root->running_number;
	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		const struct fair_queue *q = queue_at(number);
		const struct group_node *node = node_at(number);
		u64 first = 0;

		if (!q)
			break;
		if (first_in_tree(q, number, &first)) {
			own = time_left(running_slice(q, number), q->clock.ran, q->clock.vruntime - first, q->running_weight);
			left = own < left ? own : left;
		}
		if (!node)
			break;
		number = node->entity.cpu;
	}
	return left == ~0ULL ? now + ALONE_SLICE : tick_from(root, now + (left ?: 1));
}

/* What waits gets a queue for itself. What ran there last goes on with its slice; others begin one. */
static inline void begin_in(struct fair_queue *q, u32 number, s32 pid, u32 group, u64 vruntime, u32 weight, u64 now)
{
	bool goes_on = group && q->running_group == group;

	q->running_group = group;
	if (group)
		q->turn = slot_at(group);
	q->running = pid;
	q->running_weight = weight;
	q->running_inverse = inverse_of_sum(weight);
	q->running_class = is_idle_group(group) ? CLASS_IDLE : CLASS_NORMAL;
	q->charged_at = now;
	q->clock.vruntime = vruntime;
	if (goes_on)
		return;
	q->clock.ran = 0;
	forget_chain(number, running_name(q));
}

/* A task gets the CPU: it runs in its queue, and the groups above it run in theirs. */
__noinline bool begin_in_tree(const struct fair_task *t, s32 pid, u64 now)
{
	struct fair_queue *q, *root;
	u32 number, level;

	if (!t)
		return false;
	number = number_of(t);
	q = queue_at(number);
	root = queue_of(t->cpu);
	if (!q || !root)
		return false;
	update_group_loads(number, now);
	refresh_shares(number);
	root->running_number = number;
	begin_in(q, number, pid, 0, t->clock.vruntime, t->weight, now);
	q->running_inverse = t->inverse;
	q->running_class = t->class;
	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);
		struct fair_queue *above = node ? queue_at(node->entity.cpu) : NULL;

		if (!above)
			break;
		begin_in(above, node->entity.cpu, pid, number, node->entity.clock.vruntime, entity_weight(node, number), now);
		number = node->entity.cpu;
	}
	return true;
}

/* It leaves the CPU. After @interrupted groups above it begin again. */
__noinline bool end_in_tree(struct fair_task *t, bool interrupted, u64 now)
{
	struct fair_queue *q;
	u32 number, level;

	if (!t)
		return false;
	number = number_of(t);
	q = queue_at(number);
	if (!q)
		return false;
	update_group_loads(number, now);
	t->clock.vruntime = q->clock.vruntime;
	q->running = 0;
	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct group_node *node = node_at(number);
		struct fair_queue *above = node ? queue_at(node->entity.cpu) : NULL;

		if (!above)
			break;
		node->entity.clock.vruntime = above->clock.vruntime;
		above->running = 0;
		if (interrupted)
			above->running_group = 0;
		number = node->entity.cpu;
	}
	return true;
}

/* A task of a queue is gone. Where others of a group are there, they shall have the rest; an empty one goes too. */
__noinline bool favour_siblings(u32 number, bool sleeps)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		const struct group_node *node = node_at(number);

		if (!node)
			break;
		if (node->queue.nr_entities) {
			if (sleeps)
				set_chain(node->entity.cpu, name_of(number), BUDDY_NEXT);
			break;
		}
		forget_chain(node->entity.cpu, name_of(number));
		number = node->entity.cpu;
	}
	return true;
}

/* The balancer begins with the group after the one that runs. */
static inline u32 first_to_pull(const struct fair_queue *from)
{
	return has_tree() ? slot_at(from->running_number) + 1 : 0;
}

/* A task yields: it and the groups above it. */
static inline void skip_in_tree(const struct fair_task *t, s32 pid)
{
	forget_chain(number_of(t), pid);
	set_chain(number_of(t), pid, BUDDY_SKIP);
}

/*
 * A task comes to wait. The ticks up to now were not about that. True: the slice of the running one may end at a tick
 * before the core would ask, so its CPU has to look.
 */
static inline bool may_shorten_slice(struct fair_queue *q, u64 now)
{
	u64 ticks = ticks_until(q, now - 1);

	if (ticks > q->clock.ticks)
		q->clock.ticks = ticks;
	return q->running && time_before(tick_from(q, now + 1), q->slice_end);
}

/* Whether a task that comes leads the running one by enough, where they meet. */
static inline bool leads_where_they_meet(const struct fair_queue *q, const struct meeting *meeting,
					 const struct fair_task *t, u64 now)
{
	const struct group_node *node = node_at(meeting->group);
	u64 vruntime = node ? node->entity.clock.vruntime : t->clock.vruntime;
	u32 weight = node ? entity_weight(node, meeting->group) : t->weight;

	return (s64)(running_vruntime(q, now) - vruntime) > (s64)wakeup_lead(weight, inverse_of_sum(weight));
}

/*
 * Whether a task that comes preempts the running one; if so it becomes a buddy, and the running one may become one
 * too. An idle group gives way to others and never preempts them (since 5.15).
 */
__noinline bool preempts_in_tree(const struct fair_task *t, s32 pid, u64 now)
{
	const struct fair_queue *root = t ? queue_of(t->cpu) : NULL, *own, *q;
	struct meeting meeting;
	bool runs_idle;

	own = root ? queue_at(root->running_number) : NULL;
	if (!own)
		return false;
	if (own->running_class == CLASS_IDLE && t->class != CLASS_IDLE)
		return true;
	if (!wakeup_preemption || t->class != CLASS_NORMAL)
		return false;
	meeting = meeting_of(t, t->cpu);
	q = queue_at(meeting.number);
	if (!q)
		return false;
	runs_idle = is_idle_group(q->running_group);
	if (is_idle_group(meeting.group) != runs_idle)
		return runs_idle;
	if (!leads_where_they_meet(q, &meeting, t, now))
		return false;
	set_chain(meeting.number, meeting.group ? name_of(meeting.group) : pid, BUDDY_NEXT);
	if (last_buddy && own->nr_entities >= nr_latency && !q->running_group)
		set_chain(root->running_number, own->running, BUDDY_LAST);
	return true;
}

#endif /* SCHEDLAB_GROUP_TURNS_BPF_H */
