/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The order of a CPU's tasks with task groups: at the root the groups' entities are in the order of their virtual
 * times, and in each group's queue its tasks are. The one with the smallest virtual time is picked, then the first of
 * its tasks.
 *
 * The same rules hold at both levels. The running task is charged at both; ticks compare what it and its group have run
 * with the slices of both; a task that wakes is placed in its group's queue, and if that was empty its group is placed
 * at the root as a task would be that slept; it preempts a task of its own group by what they lead, one of another
 * group by what the groups lead. There are buddies at both: the entity of a group whose task sleeps is the next one, so
 * that what is left of the group's slice is used.
 *
 * Example, one CPU: A alone in its group, B and C in another. The slices of a period of 6 ms are 3 ms for A, and 1.5 ms
 * for B and C within the 3 ms of their group. A runs for half of the time, B and C for a quarter.
 *
 * Source: Linux 4.9, 6.1 and 6.5, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_GROUP_ORDER_BPF_H
#define SCHEDLAB_GROUP_ORDER_BPF_H

static inline u64 entity_time(u64 time, u32 share)
{
	return virtual_time(time, share, inverse_of_sum(share));
}

/* Charges the group of the running task, which itself is not yet charged. From now on it may weigh something else. */
static void charge_group(struct fair_queue *q, u64 now)
{
	struct group_queue *g = group_at(q->running_group);

	if (!g)
		return;
	g->vruntime += entity_time(now - q->charged_at, q->running_share);
	q->group_ran += now - q->charged_at;
	refresh_share(q, g, q->running_group % (group_slots ?: 1));
	q->running_share = g->share ?: GROUP_SHARES;
}

/* The virtual time of the running group, without changing it. */
static u64 running_group_vruntime(const struct fair_queue *q, u64 now)
{
	const struct group_queue *g = group_at(q->running_group);

	if (!g)
		return 0;
	return g->vruntime + (time_after(now, q->charged_at) ? entity_time(now - q->charged_at, q->running_share) : 0);
}

static inline bool group_waits(s32 index)
{
	const struct group_queue *g = group_at(index);
	u64 first;

	return g && g->nr_running && first_waiting(MAX_CPUS + index, &first);
}

/* Of the groups with waiting tasks on a CPU the first, except for two, or NO_GROUP. Of equal ones the next in turn. */
__noinline s32 first_group(s32 cpu, s32 but, s32 nor)
{
	struct fair_queue *q = queue_of(cpu);
	s32 chosen = NO_GROUP, index;
	u64 least = 0;
	u32 step;

	if (!q)
		return NO_GROUP;
	bpf_rcu_read_lock();
	bpf_for(step, 0, group_end_slot) {
		const struct group_queue *g;

		index = group_after(cpu, q->running_group, step);
		g = group_at(index);
		if (!g || index == but || index == nor || !group_waits(index))
			continue;
		if (chosen == NO_GROUP || time_before(g->vruntime, least)) {
			least = g->vruntime;
			chosen = index;
		}
	}
	bpf_rcu_read_unlock();
	return chosen;
}

/* The virtual time of the first group that waits next to the running one, if one does. */
static inline bool first_other_group(const struct fair_queue *q, s32 cpu, u64 *vruntime)
{
	const struct group_queue *g = group_at(first_group(cpu, q->running ? q->running_group : NO_GROUP, NO_GROUP));

	if (!g)
		return false;
	*vruntime = g->vruntime;
	return true;
}

/* What min_vruntime of a group's queue is now, and the root's of a CPU, without changing them. */
__noinline u64 group_min_vruntime_at(u32 index, u64 now)
{
	struct fair_queue *q = queue_of(group_slots ? index / group_slots : 0);
	struct group_queue *g = group_at(index);
	u64 first = 0;
	bool waits;

	bpf_rcu_read_lock();
	waits = first_waiting(MAX_CPUS + (u64)index, &first);
	bpf_rcu_read_unlock();
	if (!q || !g)
		return 0;
	return follow(g->min_vruntime, q->running && q->running_group == index, running_vruntime(q, now), waits, first);
}

__noinline u64 root_min_vruntime_at(s32 cpu, u64 now)
{
	struct fair_queue *q = queue_of(cpu);
	u64 first = 0;
	bool waits;

	if (!q)
		return 0;
	waits = first_other_group(q, cpu, &first);
	return follow(q->clock.min_vruntime, q->running, running_group_vruntime(q, now), waits, first);
}

/* Lets min_vruntime follow, of a group's queue and of the root. */
static void follow_in_groups(struct fair_queue *q, u32 index, s32 cpu, u64 now)
{
	struct group_queue *g = group_at(index);

	if (!g)
		return;
	g->min_vruntime = group_min_vruntime_at(index, now);
	q->clock.min_vruntime = root_min_vruntime_at(cpu, now);
}

/* A task comes to a CPU without tasks of its group: the group comes back as a task does that slept. */
static void place_group(const struct fair_queue *q, const struct fair_task *t, s32 cpu)
{
	struct group_queue *g = group_at(group_index(cpu, t->group));
	u64 place = q->clock.min_vruntime - (gentle_sleepers ? scaled_latency / 2 : scaled_latency);

	if (g && !g->nr_running && time_before(g->vruntime, place))
		g->vruntime = place;
}

/* The slice of a task in a group's queue in which it is, or into which it comes. */
static u64 slice_in_group(const struct fair_queue *q, const struct group_queue *g, u32 weight, u32 class, bool comes)
{
	bool idle_beside_others = class == CLASS_IDLE && g->nr_idle_class != g->nr_running;
	u32 share = g->share ?: GROUP_SHARES, nr_running = is_4_9() ? g->nr_running : q->nr_running;

	return fair_slice_in_group(nr_running + comes, weight, g->weight + (comes ? weight : 0), share,
				   q->weight + (g->share ? 0 : share), idle_beside_others);
}

/* The slices of the running task and of its group, as ticks look at them. */
static u64 running_task_slice(const struct fair_queue *q, const struct group_queue *g)
{
	return capped_slice(slice_in_group(q, g, q->running_weight, q->running_class, false));
}

static u64 running_group_slice(const struct fair_queue *q)
{
	return capped_slice(fair_slice(is_4_9() ? q->nr_groups : q->nr_running, q->running_share, q->weight, false));
}

/* Whether one of the ticks since the last look takes the CPU from the running task, for another of its group or not. */
static bool group_tick_is_due(struct fair_queue *q, s32 cpu, u64 now)
{
	struct group_queue *g = group_at(q->running_group);
	u64 ticks = ticks_until(q, now), slice, first = 0;
	bool due = false;

	if (!g || ticks <= q->clock.ticks)
		return false;
	q->clock.ticks = ticks;
	if (first_waiting(MAX_CPUS + (u64)q->running_group, &first)) {
		slice = running_task_slice(q, g);
		if (q->clock.ran > slice)
			forget(&g->buddies, q->running);
		due = tick_ends(q->clock.ran, (s64)(q->clock.vruntime - first), slice);
	}
	if (first_other_group(q, cpu, &first)) {
		slice = running_group_slice(q);
		if (q->group_ran > slice)
			forget(&q->clock.buddies, q->running_group + 1);
		due |= tick_ends(q->group_ran, (s64)(g->vruntime - first), slice);
	}
	return due;
}

/* As slice_end(): the first tick at which the slice of the running task or of its group ends as things are. */
__noinline u64 group_slice_end(s32 cpu, u64 now)
{
	struct fair_queue *q = queue_of(cpu);
	struct group_queue *g = q ? group_at(q->running_group) : NULL;
	u64 first = 0, left = ~0ULL, limit;

	if (!q || !g)
		return now + ALONE_SLICE;
	if (first_waiting(MAX_CPUS + (u64)q->running_group, &first))
		left = time_left(running_task_slice(q, g), q->clock.ran, q->clock.vruntime - first, q->running_weight);
	if (first_other_group(q, cpu, &first)) {
		limit = time_left(running_group_slice(q), q->group_ran, g->vruntime - first, q->running_share);
		left = limit < left ? limit : left;
	}
	return left == ~0ULL ? now + ALONE_SLICE : tick_from(q, now + (left ?: 1));
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

/* Whether a task that comes preempts the running one, by their lead in a group or by that of their groups. */
static bool preempts_in_groups(const struct fair_queue *q, const struct fair_task *t, u64 now)
{
	const struct group_queue *g = group_at(index_of(t));
	u32 share;

	if (!g)
		return false;
	if (q->running_group == index_of(t))
		return preempts(q, t, running_vruntime(q, now));
	share = g->share ?: GROUP_SHARES;
	return preempts_by(q, t, running_group_vruntime(q, now) - g->vruntime, wakeup_lead(share, inverse_of_sum(share)));
}

/* The buddies of both levels: a group is as much of a buddy as its task. */
static void set_group_buddies(struct fair_queue *q, const struct fair_task *t, s32 pid)
{
	struct group_queue *g = group_at(index_of(t)), *running = group_at(q->running_group);

	if (!g || !running)
		return;
	g->buddies.next = pid;
	q->clock.buddies.next = index_of(t) + 1;
	if (last_buddy && running->nr_running >= nr_latency) {
		running->buddies.last = q->running;
		q->clock.buddies.last = q->running_group + 1;
	}
}

static void clear_group_buddies(struct fair_queue *q, const struct fair_task *t, s32 pid)
{
	struct group_queue *g = group_at(index_of(t));
	s32 group = index_of(t) + 1;

	if (!g)
		return;
	if (g->buddies.next == pid && q->clock.buddies.next == group)
		q->clock.buddies.next = 0;
	if (g->buddies.last == pid && q->clock.buddies.last == group)
		q->clock.buddies.last = 0;
	if (g->buddies.skip == pid && q->clock.buddies.skip == group)
		q->clock.buddies.skip = 0;
	forget(&g->buddies, pid);
}

/* A task of the group sleeps. If others of it are there, they shall have the rest; else the group sleeps too. */
static void favour_siblings(struct fair_queue *q, const struct fair_task *t, bool sleeps)
{
	const struct group_queue *g = group_at(index_of(t));

	if (g && g->nr_running && sleeps)
		q->clock.buddies.next = index_of(t) + 1;
	else if (g && !g->nr_running)
		forget(&q->clock.buddies, index_of(t) + 1);
}

/* Whether a group could be picked: it runs, or it has waiting tasks; and it is at @limit or before. */
static bool may_pick_group(s32 index, s32 running, u64 limit)
{
	const struct group_queue *g = group_at(index);

	return g && (index == running || group_waits(index)) && !time_after(g->vruntime, limit);
}

/* The group that comes before the due one, if a buddy does. As pick_buddy(). */
static s32 buddy_group(const struct fair_queue *q, s32 cpu, s32 due, s32 running)
{
	const struct group_queue *g = group_at(due), *other = group_at(running);
	s32 next = q->clock.buddies.next - 1, last = q->clock.buddies.last - 1, second;
	u32 share;
	u64 limit;

	if (!g)
		return due;
	share = g->share ?: GROUP_SHARES;
	limit = g->vruntime + wakeup_lead(share, inverse_of_sum(share));
	if (may_pick_group(next, running, limit))
		return next;
	if (may_pick_group(last, running, limit))
		return last;
	if (q->clock.buddies.skip != due + 1)
		return due;
	second = first_group(cpu, running, due);
	g = group_at(second);
	if (other && due != running && (!g || time_before(other->vruntime, g->vruntime)))
		second = running;
	return may_pick_group(second, running, limit) ? second : due;
}

/* The group whose task runs next: that of the running one, if it continues, or another; NO_GROUP if there is none. */
__noinline s32 due_group(s32 cpu, bool runs)
{
	struct fair_queue *q = queue_of(cpu);
	s32 running = q && runs ? q->running_group : NO_GROUP, due;
	const struct group_queue *g, *first;

	if (!q)
		return NO_GROUP;
	due = first_group(cpu, running, NO_GROUP);
	g = group_at(running);
	first = group_at(due);
	if (!first)
		return running;
	if (g && time_before(g->vruntime, first->vruntime))
		due = running;
	if (q->clock.buddies.next || q->clock.buddies.last || q->clock.buddies.skip)
		due = buddy_group(q, cpu, due, running);
	return due;
}

#endif /* SCHEDLAB_GROUP_ORDER_BPF_H */
