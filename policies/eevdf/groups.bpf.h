/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups in a queue of tasks: what a task weighs there, and where it is when its group is throttled.
 *
 * Weights: since 7.3 a task weighs what is left to it of its groups' weights (group_weights.bpf.h). It is computed
 * when the task comes, when it is picked, and while it runs; its lag and the rest of its request are worth as much
 * afterwards. Before 7.3 groups have queues of their own (tree.bpf.h), and a task weighs there what its nice value
 * says.
 *
 * Limits: a task that is held back (held_back.bpf.h) keeps its lag; before 6.18 it keeps its place in its group's
 * queue.
 *
 * Source: Linux 7.3, kernel/sched/fair.c reweight_eevdf().
 */
#ifndef SCHEDLAB_EEVDF_GROUPS_BPF_H
#define SCHEDLAB_EEVDF_GROUPS_BPF_H

#include <eevdf/tree_pick.bpf.h>
#include <schedlab/fair_control.bpf.h>

/* A task that is counted on a CPU has what is left to it there; it is in the tree or is about to be. */
static inline void weigh_newcomer(struct fair_task *t, s32 cpu)
{
	if (has_group_weights())
		rescale(t, weight_in_groups(t->control_slot, cpu, t->own_weight));
}

/* The same for one in its place: it keeps its lag, and its distances, in its own measure. */
static bool reweigh_at(struct fair_queue *q, struct fair_task *t, struct place *at, s32 cpu, u64 now)
{
	u64 after = weight_in_groups(t->control_slot, cpu, t->own_weight);
	u32 whole = t->weight;

	if (after == t->scaled_weight)
		return false;
	move_by_weight(q, t, at, after, now);
	__sync_fetch_and_add(&q->weight, (u64)t->weight - whole);
	return true;
}

/* A task is picked, and still in the tree. */
static inline void weigh_picked(struct fair_queue *q, struct fair_task *t, s32 cpu, u64 now)
{
	struct task_clock *k = &t->clock;
	struct place at = { k->vruntime, k->deadline, k->vruntime };
	u32 before = t->weight;

	if (!has_group_weights())
		return;
	refresh_groups(t->control_slot, cpu, now);
	if (!reweigh_at(q, t, &at, cpu, now))
		return;
	sum_take(&q->clock, k->vruntime, before, is_custom(k->slice));
	k->vruntime = at.vruntime;
	k->deadline = at.deadline;
	enter_tree(q, t);
}

/* The running task, which is charged. */
static __noinline void weigh_running(struct fair_queue *q, struct fair_task *t, s32 cpu, u64 now)
{
	struct queue_clock *c = &q->clock;
	struct place at = { c->vruntime, c->deadline, c->protected_until };

	if (!t)
		return;
	refresh_groups(t->control_slot, cpu, now);
	if (has_tree()) {
		reweigh_groups(number_of(t), now);
		return;
	}
	if (!reweigh_at(q, t, &at, cpu, now))
		return;
	take_measure(q, t, &at);
}

static inline void give_up_place(struct fair_queue *q, struct fair_task *t, u64 now)
{
	const struct fair_queue *own = queue_at(number_of(t));

	if (throttles_queues()) {
		count_out(q, t, now);
		leave_groups(t, t->cpu, now);
		throttle_groups_above(number_of(t), now);
		return;
	}
	if (own)
		t->clock.lag = lag_of(own, number_of(t), t, now);
	count_out(q, t, now);
	leave_place(t, true, now);
	leave_groups(t, t->cpu, now);
}

static inline void take_place(struct fair_queue *q, struct fair_task *t, u64 now)
{
	const struct fair_queue *own = queue_at(number_of(t));

	join_groups(t, t->cpu, now);
	if (throttles_queues()) {
		join_groups_above(number_of(t), t->clock.slice, now);
		reweigh_groups(number_of(t), now);
		count_in(q, t, now);
		return;
	}
	weigh_newcomer(t, t->cpu);
	if (own)
		place(own, t, false, now);
	enter_place(t, now);
	count_in(q, t, now);
}

/* A task that is aside, and keeps a place in its queue, comes to it, or leaves it. */
static inline void enter_queue_aside(struct fair_task *t)
{
	struct fair_queue *own = throttles_queues() ? queue_at(number_of(t)) : NULL;

	if (own)
		enter_tree(own, t);
}

static __noinline void leave_queue_aside(struct fair_task *t, u64 now)
{
	struct fair_queue *own = throttles_queues() ? queue_at(number_of(t)) : NULL;

	if (!own)
		return;
	t->clock.lag = lag_of(own, number_of(t), t, now);
	leave_tree(own, t);
	leave_groups_above(number_of(t), false, now);
}

static __noinline void clear_all_held_back(s32 cpu, u64 now)
{
	u32 number;

	bpf_for(number, 0, nr_waiting_dsqs())
		clear_held_back(waiting_dsq_at(number, cpu), cpu, now);
}

static inline void bring_to_now(struct fair_queue *q, s32 cpu, u64 now)
{
	update_queue(q, now);
}

static inline void on_taken_back(struct fair_queue *q, u64 now)
{
}

/* A group that nothing was taken back of may have waiting tasks, or sleepers with a debt, in their places. */
static inline void on_unthrottled(u32 slot, s32 cpu, u64 now)
{
	u32 number = queue_number(slot, cpu);
	const struct group_node *node = throttles_queues() ? node_at(number) : NULL;

	if (node && !node->is_queued && (node->queue.clock.nr_queued || node->queue.running))
		join_groups_above(number, NO_SLICE, now);
}

static inline bool wants_limits(void)
{
	return wants_control_groups();
}

static inline bool bars_source(void)
{
	return version < LINUX_7_3;
}

static inline void carry_aside(struct fair_task *t, s32 cpu, u64 now)
{
	const struct fair_queue *own;

	if (t->cpu == cpu)
		return;
	leave_queue_aside(t, now);
	t->cpu = cpu;
	own = throttles_queues() ? queue_at(number_of(t)) : NULL;
	if (own)
		place(own, t, false, now);
	enter_queue_aside(t);
}

/*
 * A task that wants a CPU is counted in its groups, if it is not there yet: a sleeper with a debt never left. False: a
 * limit holds it back.
 */
static inline bool enter_groups(struct task_struct *p, struct fair_task *t, s32 cpu, bool is_there, u64 now)
{
	if (is_there)
		resume_in_groups(t, cpu, now);
	else
		begin_use(t->control_slot, cpu, now);
	if (is_held_back(t, cpu)) {
		if (is_there)
			leave_groups(t, cpu, now);
		if (is_there && has_tree())
			leave_groups_above(number_on(t, cpu), true, now);
		hold_back(p, t, cpu, now);
		return false;
	}
	if (!is_there) {
		join_groups(t, cpu, now);
		weigh_newcomer(t, cpu);
	}
	return true;
}

/* A sleeper with a debt is in another group from now on. */
static __noinline void move_debt(struct fair_queue *q, const struct fair_task *t, s32 pid, u64 now)
{
	struct debtor *debtor = debt_of(q, t, pid);

	if (!debtor)
		return;
	if (has_tree()) {
		u32 number = queue_number(debtor->control_slot, t->cpu);

		leave_for_good(q, debtor, number, now);
		leave_groups_above(number, false, now);
		return;
	}
	clear_from_groups(debtor->control_slot, debtor->own_weight, t->cpu, now);
	debtor->control_slot = t->control_slot;
	count_in_groups(t->control_slot, t->cpu, 0, scaled(debtor->own_weight), now);
}

static inline bool wants_group_queues(void)
{
	return wants_control_groups() && version < LINUX_7_3;
}

/* It has left its queue. */
void BPF_STRUCT_OPS(eevdf_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_at(number_of(t)) : NULL;

	if (!t)
		return;
	t->control_slot = join_slot(to);
	if (q)
		move_debt(q, t, p->pid, scx_bpf_now());
}

static void follow_shares(u32 slot)
{
	u64 now = scx_bpf_now();
	u32 cpu;

	bpf_for(cpu, 0, control_cpus) {
		const struct fair_queue *q = queue_of(cpu);

		refresh_groups(slot, cpu, now);
		make_stale(cpu);
		if (q && q->running)
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
}

#endif /* SCHEDLAB_EEVDF_GROUPS_BPF_H */
