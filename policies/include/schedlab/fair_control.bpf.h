/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups under CFS: they come, go and change, and tasks move between them.
 *
 * A task that goes to another group keeps its distance to min_vruntime; one that sleeps is placed in its old queue
 * first, as if it had woken there. A weight that is written reaches all CPUs at once.
 *
 * Source: Linux 6.1, kernel/sched/fair.c task_change_group_fair(), detach_task_cfs_rq(), attach_task_cfs_rq(),
 * __sched_group_set_shares(), sched_group_set_idle().
 */
#ifndef SCHEDLAB_FAIR_CONTROL_BPF_H
#define SCHEDLAB_FAIR_CONTROL_BPF_H

#include <schedlab/fair_limits.bpf.h>

s32 BPF_STRUCT_OPS_SLEEPABLE(fair_cgroup_init, struct cgroup *cgroup, struct scx_cgroup_init_args *args)
{
	s32 error = begin_control_group(cgroup, args);
	u32 slot = slot_of(cgroup);
	const struct control_group *group = control_group_at(slot);

	if (error || groups != GROUPS_CONTROL || !group || slot == ROOT_SLOT)
		return error;
	return init_nodes(slot, group->parent);
}

/* It has left its queue. */
void BPF_STRUCT_OPS(fair_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;
	u64 now = scx_bpf_now(), base;
	bool sleeps = !p->on_rq;

	if (!t || !q)
		return;
	if (groups != GROUPS_CONTROL || t->fresh) {
		join_control_group(t, to);
		return;
	}
	update_queue(q, t->cpu, now);
	update_queue_load(q, now);
	base = base_at(t, t->cpu, now);
	if (sleeps)
		t->clock.vruntime = place_sleeper(t, base, now);
	leave_load(q, t, now);
	join_control_group(t, to);
	t->clock.vruntime += base_at(t, t->cpu, now) - base;
	join_load(q, t, now);
}

/* What a group weighs changes on all CPUs. */
static void follow_shares(u32 slot)
{
	u64 now = scx_bpf_now();
	u32 cpu;

	if (groups != GROUPS_CONTROL)
		return;
	bpf_for(cpu, 0, nr_cpus) {
		u32 number = queue_number(slot, cpu);

		update_group_loads(number, now);
		refresh_shares(number);
	}
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
