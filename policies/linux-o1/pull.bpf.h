/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking waiting tasks from one run queue to another, for both balancers.
 *
 * The order in which tasks are tried: those in the expired array before those in the active one, better priorities before
 * worse, and within a list from the tail to the head. A dispatch queue is read from the head, so a search remembers the last
 * task of a list that may go and stops when the list is over.
 */
#ifndef LINUX_O1_PULL_BPF_H
#define LINUX_O1_PULL_BPF_H

#include "run_queue.bpf.h"

struct pull {
	u32 from, to;
	u64 hot_since;  /* tasks that had a CPU later than this have a warm cache there, and stay */
	u64 budget;     /* the weight that may still be moved; unlimited in 2.6.3 */
	bool any_heat;  /* warm caches do not matter */
	bool allowed;   /* some task was seen that may run on `to` */
	bool best_seen; /* a task of the best priority of `from` was passed by, or runs there */
	u32 from_best, to_best;
};

/* When a task last was where its cache is warm. 2.6.3 takes any change of state for that. */
static inline bool is_cold(const struct o1_task *t, const struct pull *pull)
{
	u64 last = version == VERSION_2_6_3 ? t->timestamp : t->last_ran;

	return pull->any_heat || !last || last < pull->hot_since;
}

/*
 * Whether a task is too heavy to go, and whether that depends on another one of its priority being left. A heavy task may
 * go where it is better than all others, but not the only one of the best priority.
 */
static inline bool is_heavy(const struct o1_task *t, const struct pull *pull, bool *unless_followed)
{
	*unless_followed = false;
	if (t->load <= pull->budget)
		return false;
	if (t->prio >= pull->to_best)
		return true;
	*unless_followed = !pull->best_seen && t->prio == pull->from_best;
	return *unless_followed;
}

/* The key of the next task to go out of a dispatch queue, 0 when there is none. */
static u64 next_to_go(u64 dsq, struct pull *pull)
{
	u64 chosen = 0, pending = 0;
	u32 level = NO_LEVEL;
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, dsq, 0) {
		struct o1_task *t = task_of(p);
		bool unless_followed;

		if (!t || !bpf_cpumask_test_cpu(pull->to, p->cpus_ptr))
			continue;
		pull->allowed = true;
		if (key_level(t->key) != level) {
			if (chosen)
				break;
			level = key_level(t->key);
			pending = 0;
		}
		if (pending)
			chosen = pending;
		pending = 0;
		if (!is_cold(t, pull))
			continue;
		if (!is_heavy(t, pull, &unless_followed))
			chosen = t->key;
		else if (unless_followed)
			pending = t->key;
	}
	return chosen;
}

/* Moves the task with this key to the other CPU's tail, into the array of the same kind or, in 2.6.3, the active one. */
static bool move_key(u64 dsq, bool expired, u64 key, struct pull *pull, u64 now)
{
	struct run_queue *to = queue_of(pull->to);
	struct task_struct *p;

	if (!to)
		return false;
	bpf_for_each(scx_dsq, p, dsq, 0) {
		struct o1_task *t = task_of(p);
		u32 array = to->active ^ (expired && version == VERSION_2_6_22);
		u64 place;

		if (!t || t->key != key)
			continue;
		place = tail_key(to, t->prio);
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, place);
		if (!scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, dsq_of(pull->to, array), 0))
			return false;
		pull->budget -= t->load < pull->budget ? t->load : pull->budget;
		if (t->prio < pull->to_best)
			pull->to_best = t->prio;
		t->key = place;
		t->array = array;
		remove_running(t, now);
		add_running(p, t, pull->to, now);
		preempt_for(pull->to, t->prio);
		return true;
	}
	return false;
}

/* Moves one task. @max_prio: in the active array none that is worse than this. */
static bool pull_one(struct pull *pull, u32 max_prio, u64 now)
{
	struct run_queue *from = queue_of(pull->from);
	u32 active;
	u64 key;

	if (!from)
		return false;
	active = from->active;
	key = next_to_go(dsq_of(pull->from, !active), pull);
	if (key)
		return move_key(dsq_of(pull->from, !active), true, key, pull, now);
	key = next_to_go(dsq_of(pull->from, active), pull);
	if (!key || key_level(key) + MAX_RT_PRIO > max_prio)
		return false;
	return move_key(dsq_of(pull->from, active), false, key, pull, now);
}

/* Moves up to @most tasks; the number of those that went. */
static u32 pull_some(struct pull *pull, u32 most, u64 now)
{
	u32 moved = 0, turn;

	bpf_for(turn, 0, most) {
		if ((version == VERSION_2_6_22 && !pull->budget) || !pull_one(pull, MAX_PRIO, now))
			break;
		moved++;
	}
	return moved;
}

#endif /* LINUX_O1_PULL_BPF_H */
