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

#include <linux-o1/run_queue.bpf.h>

struct pull {
	u32 from, to;
	u64 hot_since;  /* tasks that had a CPU later than this have a warm cache there, and stay */
	u64 budget;     /* the weight that may still be moved; unlimited in 2.6.3 */
	bool any_heat;  /* warm caches do not matter */
	bool allowed;   /* some task was seen that may run on `to` */
	bool best_seen; /* a task of the best priority of `from` was passed by, or runs there */
	u32 from_best, to_best;
	/* The search in one dispatch queue: the list it is in, who is to go, who would if another one followed. */
	u32 level;
	u64 chosen, pending;
};

/*
 * What is being moved. It stands in a map, also because a verifier takes what comes out of a map for anything: a loop that
 * keeps its state there looks the same each time round. None is interrupted by another one on the same CPU.
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
 * Whether a task is too heavy to go. One that is may go where it is better than all others, but not if it is the only one of
 * the best priority: then it depends on who follows.
 */
enum weight { LIGHT, HEAVY, HEAVY_UNLESS_FOLLOWED };

static inline enum weight weigh(const struct o1_task *t, const struct pull *pull)
{
	if (t->load <= pull->budget)
		return LIGHT;
	if (t->prio >= pull->to_best)
		return HEAVY;
	return !pull->best_seen && t->prio == pull->from_best ? HEAVY_UNLESS_FOLLOWED : LIGHT;
}

/* One step of the search. Returns whether it is over: a list is, and somebody in it is to go. */
static inline bool consider(struct task_struct *p, struct pull *pull)
{
	struct o1_task *t = task_of(p);
	enum weight weight;

	if (!t || !bpf_cpumask_test_cpu(pull->to, p->cpus_ptr))
		return false;
	pull->allowed = true;
	if (key_level(t->key) != pull->level) {
		if (pull->chosen)
			return true;
		pull->level = key_level(t->key);
		pull->pending = 0;
	}
	if (pull->pending)
		pull->chosen = pull->pending;
	pull->pending = 0;
	weight = is_cold(t, pull) ? weigh(t, pull) : HEAVY;
	if (weight == LIGHT)
		pull->chosen = t->key;
	else if (weight == HEAVY_UNLESS_FOLLOWED)
		pull->pending = t->key;
	return false;
}

/* The key of the next task to go out of a dispatch queue, 0 when there is none. */
static u64 next_to_go(u64 dsq, struct pull *pull)
{
	struct task_struct *p;

	pull->chosen = pull->pending = 0;
	pull->level = NO_LEVEL;
	bpf_for_each(scx_dsq, p, dsq, 0) {
		if (consider(p, pull))
			break;
	}
	return pull->chosen;
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
__noinline bool pull_one(u32 max_prio, u64 now)
{
	struct pull *pull = this_pull();
	struct run_queue *from = pull ? queue_of(pull->from) : NULL;
	u32 active;
	u64 key;

	if (!pull || !from)
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
__noinline u32 pull_some(u32 most, u64 now)
{
	u32 moved = 0, turn;

	bpf_for(turn, 0, most) {
		struct pull *pull = this_pull();

		if (!pull || (version == VERSION_2_6_22 && !pull->budget) || !pull_one(MAX_PRIO, now))
			break;
		moved++;
	}
	return moved;
}

#endif /* LINUX_O1_PULL_BPF_H */
