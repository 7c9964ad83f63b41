/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a task is in its control groups: runnable, or asleep with a debt, or not there.
 *
 * A task that sleeps with a debt stays in its CPU's queue, and so in those of its groups: they and it still weigh what
 * they did until the debt is paid. It is not runnable meanwhile.
 *
 * Source: Linux 7.3, kernel/sched/fair.c set_delayed(), clear_delayed(), dequeue_hierarchy(), enqueue_hierarchy().
 */
#ifndef SCHEDLAB_EEVDF_MEMBERSHIP_BPF_H
#define SCHEDLAB_EEVDF_MEMBERSHIP_BPF_H

#include <eevdf/queue.bpf.h>

static inline bool has_group_weights(void)
{
	return has_control_groups() && !has_tree();
}

/* A task comes to a queue, or leaves it: its groups know. */
static inline void join_groups(const struct fair_task *t, s32 cpu, u64 now)
{
	count_in_groups(t->control_slot, cpu, 1, scaled(t->own_weight), now);
}

static inline void leave_groups(const struct fair_task *t, s32 cpu, u64 now)
{
	count_in_groups(t->control_slot, cpu, -1, -(s64)scaled(t->own_weight), now);
	end_use(t->control_slot, cpu, now);
}

/* A task goes to sleep with a debt, or comes back before it is paid. */
static inline void rest_in_groups(const struct fair_task *t, s32 cpu, u64 now)
{
	count_in_groups(t->control_slot, cpu, -1, 0, now);
}

static inline void resume_in_groups(const struct fair_task *t, s32 cpu, u64 now)
{
	count_in_groups(t->control_slot, cpu, 1, 0, now);
}

/* What a sleeper weighed in its groups goes: its debt is paid. */
static inline void clear_from_groups(u32 slot, u32 own_weight, s32 cpu, u64 now)
{
	if (!has_control_groups())
		return;
	count_in_groups(slot, cpu, 0, -(s64)scaled(own_weight), now);
	end_use(slot, cpu, now);
}

/*
 * Whether a CPU with one task has to look again at its next tick: what its groups publish of their loads there still
 * grows, and other CPUs see it.
 */
static inline bool must_publish(const struct fair_queue *q)
{
	return has_control_groups() && nr_cpus > 1 && q->running_slot && !are_settled(q->running_slot, q->clock.cpu);
}

#endif /* SCHEDLAB_EEVDF_MEMBERSHIP_BPF_H */
