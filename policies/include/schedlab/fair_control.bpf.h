/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups of Linux' fair schedulers: they come, and their weights are written.
 *
 * Source: Linux 6.1, kernel/sched/core.c sched_group_set_idle(), kernel/sched/fair.c __sched_group_set_shares().
 */
#ifndef SCHEDLAB_FAIR_CONTROL_BPF_H
#define SCHEDLAB_FAIR_CONTROL_BPF_H

#include <schedlab/held_back.bpf.h>

/* Whether control groups are to have queues of their own. */
static inline bool wants_group_queues(void);
/* What a group weighs changes on all CPUs at once. */
static void follow_shares(u32 slot);

s32 BPF_STRUCT_OPS_SLEEPABLE(fair_cgroup_init, struct cgroup *cgroup, struct scx_cgroup_init_args *args)
{
	s32 error = begin_control_group(cgroup, args);
	u32 slot = slot_of(cgroup);
	const struct control_group *group = control_group_at(slot);

	if (error || !wants_group_queues() || !group || slot == ROOT_SLOT)
		return error;
	return init_nodes(slot, group->parent);
}

void BPF_STRUCT_OPS(fair_cgroup_set_weight, struct cgroup *cgroup, u32 weight)
{
	u32 slot = slot_of(cgroup);
	struct control_group *group = control_group_at(slot);

	if (!group)
		return;
	group->shares = shares_of(weight);
	follow_shares(slot);
}

/* Kernels know idle groups since 5.15. */
void BPF_STRUCT_OPS(fair_cgroup_set_idle, struct cgroup *cgroup, bool idle)
{
	u32 slot = slot_of(cgroup);
	struct control_group *group = control_group_at(slot);

	if (!group || is_4_9())
		return;
	group->is_idle = idle;
	/* sched_group_set_idle() forgets the weight. */
	if (!idle)
		group->shares = NICE_0_WEIGHT;
	follow_shares(slot);
}

#endif /* SCHEDLAB_FAIR_CONTROL_BPF_H */
