/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which task group a task is in: that of its process.
 *
 * A process takes a free group when its first thread comes, and gives it back when its last one has ended. The group's
 * queues begin empty. A kernel's own threads, and processes that find no free group, share group 0.
 *
 * Example: with 64 groups, the first 63 processes have one each, and the 64th and 65th share group 0 as one process
 * would.
 */
#ifndef SCHEDLAB_GROUP_MEMBERS_BPF_H
#define SCHEDLAB_GROUP_MEMBERS_BPF_H

#define SHARED_GROUP 0
#define MAX_PROCESSES 65536
/* Of task_struct's field flags; include/linux/sched.h. */
#define KERNEL_THREAD 0x00200000

struct process {
	u32 group;
	u32 threads;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_PROCESSES);
	__type(key, u32);
	__type(value, struct process);
} processes SEC(".maps");

/* A group begins with empty queues at virtual time 0, which is before all others. */
static void clear_group(u32 group)
{
	u64 *total = ELEMENT(group_loads, group);
	u32 cpu;

	if (total)
		*total = 0;
	bpf_for(cpu, 0, nr_cpus) {
		struct group_queue *g = group_at(group_index(cpu, group));

		if (g)
			*g = (struct group_queue){};
	}
}

static u32 take_group(void)
{
	u32 group;

	bpf_for(group, SHARED_GROUP + 1, group_slots) {
		u32 *taken = ELEMENT(group_taken, group);

		if (!taken || *taken || __sync_lock_test_and_set(taken, 1))
			continue;
		clear_group(group);
		if (group >= group_end_slot)
			group_end_slot = group + 1;
		return group;
	}
	return SHARED_GROUP;
}

/* A task comes into the group of its process. */
static s32 join_group(const struct task_struct *p, struct fair_task *t)
{
	struct process first = { .threads = 1 }, *known;
	u32 key = p->tgid;

	t->group = SHARED_GROUP;
	if (!has_groups() || p->flags & KERNEL_THREAD)
		return 0;
	known = bpf_map_lookup_elem(&processes, &key);
	if (known) {
		__sync_fetch_and_add(&known->threads, 1);
		t->group = known->group;
		return 0;
	}
	t->group = first.group = take_group();
	return bpf_map_update_elem(&processes, &key, &first, BPF_NOEXIST);
}

static void leave_group(const struct task_struct *p)
{
	u32 key = p->tgid, *taken;
	struct process *known;

	if (!has_groups() || p->flags & KERNEL_THREAD)
		return;
	known = bpf_map_lookup_elem(&processes, &key);
	if (!known || __sync_fetch_and_add(&known->threads, -1) != 1)
		return;
	taken = ELEMENT(group_taken, known->group);
	bpf_map_delete_elem(&processes, &key);
	if (taken)
		*taken = 0;
}

/* A dispatch queue for each group on each CPU, when there are groups. */
static s32 init_groups(void)
{
	u32 index;

	if (!has_groups())
		return 0;
	group_slots = nr_cpus ? MAX_GROUP_QUEUES / nr_cpus : 0;
	if (group_slots > MAX_GROUPS)
		group_slots = MAX_GROUPS;
	group_end_slot = SHARED_GROUP + 1;
	bpf_for(index, 0, nr_cpus * group_slots) {
		s32 error = scx_bpf_create_dsq(MAX_CPUS + index, NUMA_NO_NODE);

		if (error)
			return error;
	}
	return 0;
}

#endif /* SCHEDLAB_GROUP_MEMBERS_BPF_H */
