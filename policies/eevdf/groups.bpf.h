/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups in a queue of tasks: what a task weighs there, and what happens to one whose group is throttled.
 *
 * Weights: since 7.3 a task weighs what is left to it of its groups' weights (group_weights.bpf.h). It is computed
 * when the task comes, when it is picked, and while it runs; its lag and the rest of its request are worth as much
 * afterwards. Before 7.3 groups have queues of their own, which are not here: there the weights of groups are
 * ignored.
 *
 * Limits: a task whose group, or one above it, is throttled waits aside, in a dispatch queue of that group on its
 * CPU. It is counted nowhere meanwhile, and keeps its lag. The CPU takes it back when the group is not throttled any
 * more.
 *
 * A kernel since 6.18 lets a waiting task be picked before it puts it aside; here it is put aside when the CPU next
 * looks for a task, as kernels did before.
 *
 * Source: Linux 7.3, kernel/sched/fair.c reweight_eevdf(), throttle_cfs_rq_work(), tg_unthrottle_up().
 */
#ifndef SCHEDLAB_EEVDF_GROUPS_BPF_H
#define SCHEDLAB_EEVDF_GROUPS_BPF_H

#include <eevdf/pick.bpf.h>
#include <schedlab/fair_move.bpf.h>

/* Dispatch queues beyond those of CPUs. */
#define ASIDE_DSQ (1ULL << 20)

/* Whether a task is held back by a limit, for venues to see. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} schedlab_throttled SEC(".maps");

static inline void tell_throttled(struct task_struct *p, u32 on)
{
	u32 *held = bpf_task_storage_get(&schedlab_throttled, p, NULL, on ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);

	if (held)
		*held = on;
}

static inline u64 aside_dsq(u32 slot, u32 cpu)
{
	return ASIDE_DSQ + slot * control_cpus + cpu;
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

/* Whether a task may not run on a CPU now. */
static inline bool is_held_back(const struct fair_task *t, s32 cpu)
{
	return has_control_groups() && throttled_above(t->control_slot, cpu) != NO_SLOT;
}

/* A task waits for a limit from now on. */
static inline void hold_back(struct task_struct *p, struct fair_task *t, s32 cpu, u64 now)
{
	t->aside = true;
	note_held_back(t->control_slot, cpu, now);
	tell_throttled(p, true);
}

/* A waiting task that is counted, and in the tree, goes aside. */
static inline void set_aside(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 now)
{
	t->clock.lag = lag_of(q, t->cpu, t, now);
	count_out(q, t, now);
	leave_tree(q, t);
	leave_groups(t, t->cpu, now);
	hold_back(p, t, t->cpu, now);
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

/* It comes back to its CPU's queue. */
static inline void come_back(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 now)
{
	t->aside = false;
	tell_throttled(p, false);
	join_groups(t, t->cpu, now);
	weigh_newcomer(t, t->cpu);
	place(q, t, false, now);
	enter_tree(q, t);
	count_in(q, t, now);
}

/* Where a task that is aside waits. */
static inline u64 place_aside(const struct fair_task *t, s32 cpu)
{
	u32 slot = throttled_above(t->control_slot, cpu);

	return slot == NO_SLOT ? cpu : aside_dsq(slot, cpu);
}

/* Puts those aside that wait on a CPU and may not run there. In dispatch(). */
static __noinline void clear_held_back(s32 cpu, u64 now)
{
	struct fair_queue *q = queue_of(cpu);
	struct task_struct *p;

	if (!q)
		return;
	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct fair_task *t = task_of(p);

		if (!t || t->aside || !is_held_back(t, cpu))
			continue;
		if (scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, place_aside(t, cpu), 0))
			set_aside(q, p, t, now);
	}
}

/* Takes the tasks of a group back that wait aside. In dispatch(). */
static __noinline void take_back(u32 slot, s32 cpu, u64 now)
{
	struct fair_queue *q = queue_of(cpu);
	struct task_struct *p;

	if (!q)
		return;
	bpf_for_each(scx_dsq, p, aside_dsq(slot, cpu), 0) {
		struct fair_task *t = task_of(p);

		if (!t || !t->aside)
			continue;
		begin_use(t->control_slot, cpu, now);
		if (is_held_back(t, cpu)) {
			if (throttled_above(t->control_slot, cpu) != slot)
				scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, place_aside(t, cpu), 0);
			continue;
		}
		come_back(q, p, t, now);
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, order_key(t));
		if (!scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, cpu, 0))
			set_aside(q, p, t, now);
		else if (q->running)
			must_tell(q, t, p->pid, cpu, now);
	}
}

/* Takes back the tasks that were released on a CPU. In dispatch(). */
static __noinline void take_released(struct fair_queue *q, s32 cpu, u64 now)
{
	u32 next, step;

	if (!q->released)
		return;
	next = __sync_lock_test_and_set(&q->released, 0);
	bpf_for(step, 0, MAX_CONTROL_GROUPS) {
		struct control_queue *queue;
		u32 slot = next - 1;

		if (!next)
			break;
		queue = control_queue_of(slot, cpu);
		if (!queue)
			break;
		next = queue->next_released;
		queue->next_released = 0;
		take_back(slot, cpu, now);
	}
}

/* The CPU is kicked to take its tasks back. */
static void on_released(u32 slot, u32 cpu)
{
	struct control_queue *queue = control_queue_of(slot, cpu);
	struct fair_queue *q = queue_of(cpu);
	u32 try;

	if (!queue || !q)
		return;
	bpf_for(try, 0, APPEND_TRIES) {
		u32 first = READ_ONCE(q->released);

		queue->next_released = first;
		if (__sync_val_compare_and_swap(&q->released, first, slot + 1) == first)
			break;
	}
	scx_bpf_kick_cpu(cpu, q->running ? SCX_KICK_PREEMPT : SCX_KICK_IDLE);
}

/* When the running task has to be looked at since its groups have no more to give. */
static __noinline u64 limited_end(const struct fair_queue *q, u64 end, u64 now)
{
	u64 left, at;

	if (!has_control_groups() || !q->running_slot)
		return end;
	left = runtime_left(q->running_slot, q->clock.cpu);
	if (left == ~0ULL)
		return end;
	at = tick_from(q, now + (left ?: 1));
	return time_before(at, end) ? at : end;
}

/* Dispatch queues for the tasks that a group's limit holds aside. */
static s32 init_aside(u32 slot)
{
	const struct control_group *group = control_group_at(slot);
	u32 cpu;

	if (!group || !is_limited(group))
		return 0;
	bpf_for(cpu, 0, control_cpus) {
		s32 error = scx_bpf_create_dsq(aside_dsq(slot, cpu), NUMA_NO_NODE);

		if (error && error != -EEXIST)
			return error;
	}
	return 0;
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
	s32 error = add_control_group(cgroup, args);
	u32 slot = slot_of(cgroup);

	if (nr_control_groups == 2 && groups == GROUPS_CONTROL && version < LINUX_7_3)
		bpf_printk("eevdf: weights of control groups are those of version=7.3; another version ignores them");

	if (error || groups == GROUPS_NONE || slot == ROOT_SLOT)
		return error;
	return init_limit(slot, args) ?: init_aside(slot);
}

void BPF_STRUCT_OPS_SLEEPABLE(eevdf_cgroup_exit, struct cgroup *cgroup)
{
	remove_control_group(cgroup);
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

void BPF_STRUCT_OPS_SLEEPABLE(eevdf_cgroup_set_bandwidth, struct cgroup *cgroup, u64 period_us, u64 quota_us,
			      u64 burst_us)
{
	u32 slot = slot_of(cgroup);

	set_limit(slot, period_us, quota_us, burst_us, scx_bpf_now());
	init_aside(slot);
}

#endif /* SCHEDLAB_EEVDF_GROUPS_BPF_H */
