/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking waiting tasks from one run queue to another, for both balancers.
 *
 * The order in which tasks are tried: those in the expired array before those in the active one, better priorities
 * before worse, and within a list from the tail to the head. So a dispatch queue is read forwards to find the next list
 * with a task that may go, and backwards to go through that list.
 */
#ifndef LINUX_O1_PULL_BPF_H
#define LINUX_O1_PULL_BPF_H

#include <linux-o1/run_queue.bpf.h>

struct pull {
	u32 from, to;
	u64 hot_since;  /* tasks that had a CPU later than this have a warm cache there, and stay */
	u64 budget;     /* the weight that may still be moved; unlimited in 2.6.3 */
	bool any_heat;  /* warm caches do not matter */
	bool allowed;   /* some task was seen that may run on `to` */
	bool best_seen; /* a task of the best priority of `from` was passed by, or runs there */
	u32 from_best, to_best;
	u32 level;      /* the list that is looked through */
	u32 most, moved; /* tasks */
};

/*
 * What is being moved. It is in a map, also because a verifier takes what comes out of a map for anything: a loop
 * that keeps its state there looks the same each time round. None is interrupted by another one on the same CPU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pull);
} pulls SEC(".maps");

static inline struct pull *this_pull(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&pulls, &key);
}

/* When a task last was where its cache is warm. 2.6.3 takes any change of state for that. */
static inline bool is_cold(const struct o1_task *t, const struct pull *pull)
{
	u64 last = version == VERSION_2_6_3 ? t->timestamp : t->last_ran;

	return pull->any_heat || !last || last < pull->hot_since;
}

/*
 * Whether a task is too heavy to go. One that is may go where it is better than all others, but not before another one
 * of the best priority was passed by.
 */
static inline bool is_heavy(const struct o1_task *t, const struct pull *pull)
{
	if (t->load <= pull->budget)
		return false;
	return t->prio >= pull->to_best || (!pull->best_seen && t->prio == pull->from_best);
}

/* The level of the last list, NO_LEVEL when there is none. */
static u32 last_level(u64 dsq)
{
	struct task_struct *p;
	u32 level = NO_LEVEL;

	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, dsq, SCX_DSQ_ITER_REV) {
		level = key_level(p->scx.dsq_vtime);
		break;
	}
	bpf_rcu_read_unlock();
	return level;
}

/* The next list, from `level` on, with a task that is allowed to go and cold; NO_LEVEL when there is none. */
static void find_level(u64 dsq, struct pull *pull)
{
	u32 from = pull->level, last = last_level(dsq);
	struct task_struct *p;

	pull->level = NO_LEVEL;
	if (last < from)
		return;
	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, dsq, 0) {
		struct o1_task *t = task_of(p);

		if (!t || key_level(t->key) < from || !bpf_cpumask_test_cpu(pull->to, p->cpus_ptr))
			continue;
		pull->allowed = true;
		if (is_cold(t, pull)) {
			pull->level = key_level(t->key);
			break;
		}
	}
	bpf_rcu_read_unlock();
}

/* Accounts for a task that has gone to the other CPU, to this place of this array. */
static void has_moved(struct task_struct *p, struct o1_task *t, struct pull *pull, u32 array, u64 place, u64 now)
{
	pull->moved++;
	pull->budget -= lesser(t->load, pull->budget);
	if (t->prio < pull->to_best)
		pull->to_best = t->prio;
	t->key = place;
	t->array = array;
	remove_running(t, now);
	add_running(p, t, pull->to, now);
	preempt_for(pull->to, t->prio);
}

/* Goes through one list. Tasks go to the tail there, in the array of the same kind or, in 2.6.3, the active one. */
static void move_list(u64 dsq, bool expired, struct pull *pull, u64 now)
{
	struct run_queue *to = queue_of(pull->to);
	struct task_struct *p;

	if (!to)
		return;
	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, dsq, SCX_DSQ_ITER_REV) {
		struct o1_task *t = task_of(p);
		u32 array = to->active ^ (expired && version == VERSION_2_6_22);
		u64 place;

		if (!t || key_level(t->key) > pull->level)
			continue;
		if (key_level(t->key) < pull->level || pull->moved >= pull->most)
			break;
		if (!bpf_cpumask_test_cpu(pull->to, p->cpus_ptr) || !is_cold(t, pull) || is_heavy(t, pull)) {
			pull->best_seen |= t->prio == pull->from_best;
			continue;
		}
		place = tail_key(to, t->prio);
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, place);
		if (scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, dsq_of(pull->to, array), 0))
			has_moved(p, t, pull, array, place, now);
	}
	bpf_rcu_read_unlock();
}

/* Moves tasks of one array, of lists up to @worst. */
static void move_array(u32 array, u32 worst, bool expired, struct pull *pull, u64 now)
{
	u64 dsq = dsq_of(pull->from, array);
	u32 turn;

	pull->level = 0;
	bpf_for(turn, 0, PRIORITIES) {
		if (pull->moved >= pull->most || (version == VERSION_2_6_22 && !pull->budget))
			break;
		find_level(dsq, pull);
		if (pull->level > worst)
			break;
		move_list(dsq, expired, pull, now);
		pull->level++;
	}
}

/* Moves up to @most tasks, of the active array only those that are no worse than @max_prio. Returns how many went. */
__noinline u32 pull_some(u32 most, u32 max_prio, u64 now)
{
	struct pull *pull = this_pull();
	struct run_queue *from = pull ? queue_of(pull->from) : NULL;
	u32 active;

	if (!pull || !from)
		return 0;
	pull->most = most;
	pull->moved = 0;
	active = from->active;
	move_array(!active, PRIORITIES - 1, true, pull, now);
	move_array(active, max_prio - MAX_RT_PRIO, false, pull, now);
	return pull->moved;
}

#endif /* LINUX_O1_PULL_BPF_H */
