/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that a limit of a control group holds back, in Linux' fair schedulers.
 *
 * A task whose group, or one above it, is throttled waits aside, in a dispatch queue of that group on its CPU. It is
 * counted nowhere meanwhile. The CPU takes it back when the group is not throttled any more.
 *
 * A kernel since 6.18 lets a waiting task be picked before it puts it aside; here it is put aside when the CPU next
 * looks for a task, as kernels did before.
 *
 * A policy has `control_slot` and `aside` in its tasks, `running_slot` and `released` in its queues, and answers the
 * questions below.
 *
 * Example: a group with 50 ms in 100 ms and two tasks on a CPU is throttled at 52 ms. The one that runs leaves the CPU
 * at this tick, the other one is put aside when the CPU looks for the next task. At 100 ms the CPU is kicked, and takes
 * both back.
 *
 * Source: Linux 6.1, 6.12 and 7.3, kernel/sched/fair.c throttle_cfs_rq(), unthrottle_cfs_rq(), throttle_cfs_rq_work(),
 * tg_unthrottle_up().
 */
#ifndef SCHEDLAB_HELD_BACK_BPF_H
#define SCHEDLAB_HELD_BACK_BPF_H

#include <schedlab/bandwidth.bpf.h>
#include <schedlab/fair_move.bpf.h>

/* Whether limits hold. */
static inline bool wants_limits(void);
/* A waiting task that is counted on `t->cpu` leaves its place. */
static inline void give_up_place(struct fair_queue *q, struct fair_task *t, u64 now);
/* A task comes back to the queue of its CPU, and is counted there again. */
static inline void take_place(struct fair_queue *q, struct fair_task *t, u64 now);
/* The running task is charged up to now. */
static inline void bring_to_now(struct fair_queue *q, s32 cpu, u64 now);
/* Tasks have come back to a queue in which one runs. */
static inline void on_taken_back(struct fair_queue *q, u64 now);
/* The tasks of a group that is not throttled any more are back on a CPU. */
static inline void on_unthrottled(u32 slot, s32 cpu, u64 now);
/* Whether the balancer leaves a task alone that is held back where it is. */
static inline bool bars_source(void);
/* A task that is aside goes to another CPU. */
static inline void carry_aside(struct fair_task *t, s32 cpu, u64 now);

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

/* A waiting task that is counted goes aside. */
static inline void set_aside(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 now)
{
	give_up_place(q, t, now);
	hold_back(p, t, t->cpu, now);
}

static inline void come_back(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 now)
{
	t->aside = false;
	tell_throttled(p, false);
	take_place(q, t, now);
}

/* Where a task that is aside waits. */
static inline u64 place_aside(const struct fair_task *t, s32 cpu)
{
	u32 slot = throttled_above(t->control_slot, cpu);

	return slot == NO_SLOT ? waiting_dsq(t, cpu) : aside_dsq(slot, cpu);
}

/* Puts those aside that wait in a dispatch queue of a CPU and may not run there. In dispatch(). */
static __noinline void clear_held_back(u64 dsq, s32 cpu, u64 now)
{
	struct fair_queue *q = queue_of(cpu);
	struct task_struct *p;

	if (!q)
		return;
	bpf_for_each(scx_dsq, p, dsq, 0) {
		struct fair_task *t = task_of(p);

		if (!t || t->aside || !is_held_back(t, cpu))
			continue;
		if (scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, place_aside(t, cpu), 0))
			set_aside(q, p, t, now);
	}
}

static inline bool is_barred(const struct fair_task *t, s32 cpu)
{
	return is_held_back(t, cpu) || (bars_source() && is_held_back(t, t->cpu));
}

/* A task that was held back has the CPU nevertheless: it was changed while it ran. Whether it has to leave. */
static inline bool rejoin(struct fair_queue *q, struct task_struct *p, struct fair_task *t, s32 cpu, u64 now)
{
	if (!t->aside)
		return false;
	come_back(q, p, t, now);
	return is_held_back(t, cpu);
}

/*
 * Takes the tasks of a group back that wait aside. In dispatch(). None of them preempts: a kernel leaves that to the
 * next tick.
 */
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
			if (throttled_above(t->control_slot, cpu) != slot) {
				note_held_back(t->control_slot, cpu, now);
				scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, place_aside(t, cpu), 0);
			}
			continue;
		}
		come_back(q, p, t, now);
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, order_key(t));
		if (!scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, waiting_dsq(t, cpu), 0))
			set_aside(q, p, t, now);
	}
	on_unthrottled(slot, cpu, now);
	if (q->running)
		on_taken_back(q, now);
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
		__sync_lock_test_and_set(&queue->is_released, 0);
		take_back(slot, cpu, now);
	}
}

/* A group's tasks are to be taken back on a CPU. */
static inline void list_released(struct fair_queue *q, struct control_queue *queue, u32 slot)
{
	u32 try;

	if (__sync_lock_test_and_set(&queue->is_released, 1))
		return;
	bpf_for(try, 0, LIST_TRIES) {
		u32 first = READ_ONCE(q->released);

		queue->next_released = first;
		if (__sync_val_compare_and_swap(&q->released, first, slot + 1) == first)
			break;
	}
}

/* The CPU is kicked to take its tasks back. */
static void on_released(u32 slot, u32 cpu)
{
	struct control_queue *queue = control_queue_of(slot, cpu);
	struct fair_queue *q = queue_of(cpu);

	if (!queue || !q)
		return;
	list_released(q, queue, slot);
	scx_bpf_kick_cpu(cpu, q->running ? SCX_KICK_PREEMPT : SCX_KICK_IDLE);
}

static void on_limit_written(u32 slot, u32 cpu)
{
	struct fair_queue *q = queue_of(cpu);

	if (q && q->running && is_at_or_below(q->running_slot, slot))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

static u64 last_tick(u32 cpu, u64 now)
{
	struct fair_queue *q = queue_of(cpu);

	return q ? tick_from(q, now + 1) - jiffy : now;
}

/* When the running task has to be looked at since its groups have no more to give. */
static __noinline u64 limited_end(const struct fair_queue *q, s32 cpu, u64 end, u64 now)
{
	u64 left, at;

	if (!has_control_groups() || !q->running_slot)
		return end;
	left = runtime_left(q->running_slot, cpu);
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

/* A task that may not run waits aside. It may have been released since it came. */
static void put_aside(struct fair_queue *q, struct task_struct *p, struct fair_task *t, s32 cpu, u64 enq_flags, u64 now)
{
	if (!t->aside) {
		bring_to_now(q, cpu, now);
		follow_move(t, q, cpu, now);
		set_aside(q, p, t, now);
	}
	carry_aside(t, cpu, now);
	begin_use(t->control_slot, cpu, now);
	if (is_held_back(t, cpu)) {
		scx_bpf_dsq_insert(p, place_aside(t, cpu), 0, enq_flags);
		/* Its CPU looks for another task now that this one no longer counts. */
		tell_last(cpu, enq_flags);
		return;
	}
	bring_to_now(q, cpu, now);
	come_back(q, p, t, now);
	scx_bpf_dsq_insert_vtime(p, waiting_dsq(t, cpu), 0, order_key(t), enq_flags);
	notify(q, t, p->pid, cpu, now);
}

/* A group is created: whether it has a limit. */
static s32 begin_control_group(struct cgroup *cgroup, struct scx_cgroup_init_args *args)
{
	s32 error = add_control_group(cgroup, args);
	u32 slot = slot_of(cgroup);

	if (error || !wants_limits() || slot == ROOT_SLOT)
		return error;
	return init_limit(slot, args) ?: init_aside(slot);
}

void BPF_STRUCT_OPS_SLEEPABLE(fair_cgroup_exit, struct cgroup *cgroup)
{
	remove_control_group(cgroup);
}

void BPF_STRUCT_OPS_SLEEPABLE(fair_cgroup_set_bandwidth, struct cgroup *cgroup, u64 period_us, u64 quota_us,
			      u64 burst_us)
{
	u32 slot = slot_of(cgroup);

	if (!wants_limits())
		return;
	set_limit(slot, period_us, quota_us, burst_us, scx_bpf_now());
	init_aside(slot);
}

#endif /* SCHEDLAB_HELD_BACK_BPF_H */
