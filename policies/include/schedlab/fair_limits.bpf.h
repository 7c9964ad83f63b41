/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits of control groups under CFS. A policy that defines FAIR_LIMITS has them; for others this is empty.
 *
 * The running task's time is charged to its group and to those above it; when one of them is throttled its tasks wait
 * aside until they are released (held_back.bpf.h). Where groups have queues their tasks keep their places there; else
 * they are placed as tasks that slept.
 *
 * Source: Linux 6.1, kernel/sched/fair.c throttle_cfs_rq(), unthrottle_cfs_rq().
 */
#ifndef SCHEDLAB_FAIR_LIMITS_BPF_H
#define SCHEDLAB_FAIR_LIMITS_BPF_H

#include <schedlab/fair_queue.bpf.h>

#ifdef FAIR_LIMITS

PARAMETER(bool, limits, true, "about=Whether the policy obeys the limits of control groups, where there are any.");

static inline bool wants_control_groups(void)
{
	return limits || groups == GROUPS_CONTROL;
}

static inline bool wants_limits(void)
{
	return limits;
}

#define FIRST_RUNTIME 0
#include <schedlab/held_back.bpf.h>

static inline void on_charged(struct fair_queue *q, u64 ran, u64 now)
{
	if (has_control_groups() && q->running_slot && charge_limits(q->running_slot, q->own_cpu, ran, now))
		q->resched = true;
}

static inline void give_up_place(struct fair_queue *q, struct fair_task *t, u64 now)
{
	count_out(q, t, now);
	end_counted_use(t->control_slot, t->cpu, now);
}

static inline void take_place(struct fair_queue *q, struct fair_task *t, u64 now)
{
	count_use(t->control_slot, t->cpu, 1);
	if (has_groups())
		place_groups_above(number_of(t));
	else
		t->clock.vruntime = place_sleeper(t, base_of(t, t->cpu), now);
	count_in(q, t, now);
}

static inline void bring_to_now(struct fair_queue *q, s32 cpu, u64 now)
{
	update_queue(q, cpu, now);
}

/* The ticks up to now were not about them. */
static inline void on_taken_back(struct fair_queue *q, u64 now)
{
	u64 ticks = ticks_until(q, now - 1);

	if (ticks > q->clock.ticks)
		q->clock.ticks = ticks;
}

static inline void on_unthrottled(u32 slot, s32 cpu, u64 now)
{
}

static inline bool bars_source(void)
{
	return true;
}

static inline void carry_aside(struct fair_task *t, s32 cpu, u64 now)
{
	if (t->cpu == cpu)
		return;
	t->clock.vruntime += base_at(t, cpu, now) - base_at(t, t->cpu, now);
	t->cpu = cpu;
}

/* A task wants a CPU, and has its place there. False: a limit holds it back. */
static inline bool may_come(struct task_struct *p, struct fair_task *t, s32 cpu, u64 now)
{
	if (!has_control_groups())
		return true;
	begin_use(t->control_slot, cpu, now);
	if (is_held_back(t, cpu)) {
		hold_back(p, t, cpu, now);
		return false;
	}
	count_use(t->control_slot, cpu, 1);
	return true;
}

/* A task has been counted out, or sleeps while it is aside. */
static inline void leave_limits(struct fair_task *t, u64 now)
{
	if (has_control_groups())
		end_counted_use(t->control_slot, t->cpu, now);
}

static inline void leave_aside(struct task_struct *p, struct fair_task *t)
{
	if (!t->aside)
		return;
	t->aside = false;
	tell_throttled(p, false);
}

/* A task is about to wait. True: it waits aside, or has come back from there. */
static inline bool waits_aside(struct fair_queue *q, struct task_struct *p, struct fair_task *t, s32 cpu,
			       u64 enq_flags, u64 now)
{
	if (!has_control_groups() || (!t->aside && !is_held_back(t, cpu)))
		return false;
	put_aside(q, p, t, cpu, enq_flags, now);
	return true;
}

static __noinline void clear_groups_held_back(s32 cpu, u64 now)
{
	u32 slot;

	bpf_for(slot, 0, tree_slots_end()) {
		const struct group_node *node = node_at(queue_number(slot, cpu));

		if (!node || node->queue.nr_running)
			clear_held_back(queue_number(slot, cpu), cpu, now);
	}
}

/* A CPU looks for a task: those that are released come back. Whether the running one has to leave. */
static inline bool take_back_released(struct fair_queue *q, const struct task_struct *running, s32 cpu, u64 now)
{
	struct fair_task *t;

	if (!has_control_groups())
		return false;
	bring_to_now(q, cpu, now);
	take_released(q, cpu, now);
	t = running ? task_of((struct task_struct *)running) : NULL;
	return t && is_held_back(t, cpu);
}

static inline void clear_waiting(s32 cpu, u64 now)
{
	if (!has_control_groups())
		return;
	if (has_groups())
		clear_groups_held_back(cpu, now);
	else
		clear_held_back(cpu, cpu, now);
}

static inline void begin_limits(struct fair_queue *q, const struct fair_task *t, s32 cpu)
{
	q->running_slot = t->control_slot;
	q->own_cpu = cpu;
}

static inline void join_control_group(struct fair_task *t, struct cgroup *cgroup)
{
	if (!has_control_groups())
		return;
	t->control_slot = join_slot(cgroup);
	if (groups == GROUPS_CONTROL)
		t->group = t->control_slot;
}

/* A waiting task goes to another CPU. */
static inline void move_use(const struct fair_task *t, s32 cpu)
{
	u64 now;

	if (!has_control_groups())
		return;
	now = scx_bpf_now();
	end_counted_use(t->control_slot, t->cpu, now);
	begin_use(t->control_slot, cpu, now);
	count_use(t->control_slot, cpu, 1);
}

#else

static inline void join_control_group(struct fair_task *t, struct cgroup *cgroup)
{
}

static inline void on_charged(struct fair_queue *q, u64 ran, u64 now)
{
}

static inline bool may_come(struct task_struct *p, struct fair_task *t, s32 cpu, u64 now)
{
	return true;
}

static inline void leave_limits(struct fair_task *t, u64 now)
{
}

static inline void leave_aside(struct task_struct *p, struct fair_task *t)
{
}

static inline bool waits_aside(struct fair_queue *q, struct task_struct *p, struct fair_task *t, s32 cpu,
			       u64 enq_flags, u64 now)
{
	return false;
}

static inline bool take_back_released(struct fair_queue *q, const struct task_struct *running, s32 cpu, u64 now)
{
	return false;
}

static inline void clear_waiting(s32 cpu, u64 now)
{
}

static inline void begin_limits(struct fair_queue *q, const struct fair_task *t, s32 cpu)
{
}

static inline bool rejoin(struct fair_queue *q, struct task_struct *p, struct fair_task *t, s32 cpu, u64 now)
{
	return false;
}

static inline bool is_barred(const struct fair_task *t, s32 cpu)
{
	return false;
}

static inline u64 limited_end(const struct fair_queue *q, s32 cpu, u64 end, u64 now)
{
	return end;
}

#endif

#endif /* SCHEDLAB_FAIR_LIMITS_BPF_H */
