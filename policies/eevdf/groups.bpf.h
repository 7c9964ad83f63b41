/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups in a queue of tasks: what a task weighs there, and where it is when its group is throttled.
 *
 * Weights: since 7.3 a task weighs what is left to it of its groups' weights (group_weights.bpf.h). It is computed
 * when the task comes, when it is picked, and while it runs; its lag and the rest of its request are worth as much
 * afterwards. Before 7.3 groups have queues of their own, which are not here: there the weights of groups are
 * ignored.
 *
 * Limits: a task that is held back (held_back.bpf.h) keeps its lag.
 *
 * Source: Linux 7.3, kernel/sched/fair.c reweight_eevdf().
 */
#ifndef SCHEDLAB_EEVDF_GROUPS_BPF_H
#define SCHEDLAB_EEVDF_GROUPS_BPF_H

#include <eevdf/pick.bpf.h>
#include <schedlab/held_back.bpf.h>

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

/* A task that is counted on a CPU has what is left to it there; it is in the tree or is about to be. */
static inline void weigh_newcomer(struct fair_task *t, s32 cpu)
{
	if (has_group_weights())
		rescale(t, weight_in_groups(t->control_slot, cpu, t->own_weight));
}

/* Where a task is in virtual time. */
struct place {
	u64 vruntime;
	u64 deadline;
	u64 protected_until; /* not later than `vruntime`: it is not protected */
};

/* The same for one in its place: it keeps its lag, and its distances, in its own measure. */
static bool reweigh_at(struct fair_queue *q, struct fair_task *t, struct place *at, s32 cpu, u64 now)
{
	u64 before = t->scaled_weight, after = weight_in_groups(t->control_slot, cpu, t->own_weight), average;
	u32 whole = t->weight;

	if (after == before)
		return false;
	average = average_vruntime(q, now);
	if (time_before(at->vruntime, at->protected_until))
		at->protected_until = average + rescaled(at->protected_until - average, before, after);
	at->deadline -= at->vruntime;
	at->vruntime = average - rescaled(average - at->vruntime, before, after);
	at->deadline = at->vruntime + rescaled(at->deadline, before, after);
	set_weight(t, after);
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

	if (!t || !has_group_weights())
		return;
	refresh_groups(t->control_slot, cpu, now);
	if (!reweigh_at(q, t, &at, cpu, now))
		return;
	c->vruntime = at.vruntime;
	c->deadline = at.deadline;
	c->protected_until = at.protected_until;
	q->running_weight = t->weight;
	q->running_scaled = t->scaled_weight;
	q->running_inverse = t->inverse;
}

static inline void give_up_place(struct fair_queue *q, struct fair_task *t, u64 now)
{
	t->clock.lag = lag_of(q, t->cpu, t, now);
	count_out(q, t, now);
	leave_tree(q, t);
	leave_groups(t, t->cpu, now);
}

static inline void take_place(struct fair_queue *q, struct fair_task *t, u64 now)
{
	join_groups(t, t->cpu, now);
	weigh_newcomer(t, t->cpu);
	place(q, t, false, now);
	enter_tree(q, t);
	count_in(q, t, now);
}

static inline void bring_to_now(struct fair_queue *q, s32 cpu, u64 now)
{
	update_queue(q, now);
}

static inline void carry_aside(struct fair_task *t, s32 cpu, u64 now)
{
	t->cpu = cpu;
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
	clear_from_groups(debtor->control_slot, debtor->own_weight, t->cpu, now);
	debtor->control_slot = t->control_slot;
	count_in_groups(t->control_slot, t->cpu, 0, scaled(debtor->own_weight), now);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(eevdf_cgroup_init, struct cgroup *cgroup, struct scx_cgroup_init_args *args)
{
	s32 error = begin_control_group(cgroup, args);

	if (nr_control_groups == 2 && groups == GROUPS_CONTROL && version < LINUX_7_3)
		bpf_printk("eevdf: weights of control groups are those of version=7.3; another version ignores them");
	return error;
}

/* It has left its queue. */
void BPF_STRUCT_OPS(eevdf_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;

	if (!t)
		return;
	t->control_slot = join_slot(to);
	if (q)
		move_debt(q, t, p->pid, scx_bpf_now());
}

void BPF_STRUCT_OPS(eevdf_cgroup_set_weight, struct cgroup *cgroup, u32 weight)
{
	struct control_group *group = control_group_at(slot_of(cgroup));

	if (group)
		group->shares = shares_of(weight);
}

void BPF_STRUCT_OPS(eevdf_cgroup_set_idle, struct cgroup *cgroup, bool idle)
{
	struct control_group *group = control_group_at(slot_of(cgroup));

	if (!group)
		return;
	group->is_idle = idle;
	/* sched_group_set_idle() forgets the weight. */
	if (!idle)
		group->shares = NICE_0_WEIGHT;
}

#endif /* SCHEDLAB_EEVDF_GROUPS_BPF_H */
