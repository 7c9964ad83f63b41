/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which group a task is in where groups are processes.
 *
 * A process takes a free slot when its first thread comes, and gives it back when its last one has ended. The group's
 * queues begin empty. A kernel's own threads, and processes that find no free slot, share one. There are 63 for
 * processes on up to 63 CPUs, and fewer on more.
 *
 * Example, 8 CPUs: the first 62 processes have a group each, and the 63rd and 64th share one with kernel threads as one
 * process would.
 */
#ifndef SCHEDLAB_GROUP_MEMBERS_BPF_H
#define SCHEDLAB_GROUP_MEMBERS_BPF_H

#define SHARED_SLOT 1
#define MAX_PROCESS_SLOTS 64
#define MAX_PROCESSES 65536
/* Of task_struct's field flags; include/linux/sched.h. */
#define KERNEL_THREAD 0x00200000

/* Whether a slot is taken, and how many there are. */
static u32 slots_taken[MAX_PROCESS_SLOTS];
static u32 nr_process_slots;

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

static void clear_group(u32 slot)
{
	u64 *total = ELEMENT(group_loads, slot);
	u32 cpu;

	if (total)
		*total = 0;
	bpf_for(cpu, 0, nr_cpus) {
		struct group_node *node = node_at(queue_number(slot, cpu));

		if (!node)
			break;
		clear_node(node);
		node->entity.cpu = cpu;
	}
}

static u32 take_slot(void)
{
	u32 slot;

	bpf_for(slot, SHARED_SLOT + 1, nr_process_slots) {
		u32 *taken = ELEMENT(slots_taken, slot);

		if (!taken || *taken || __sync_lock_test_and_set(taken, 1))
			continue;
		clear_group(slot);
		if (slot >= process_slots_end)
			process_slots_end = slot + 1;
		return slot;
	}
	return SHARED_SLOT;
}

/* A new task comes into the group of its process. */
static s32 join_process(const struct task_struct *p, struct fair_task *t)
{
	struct process first = { .threads = 1 }, *known;
	u32 key = p->tgid;

	if (groups != GROUPS_PROCESS)
		return 0;
	t->group = SHARED_SLOT;
	if (p->flags & KERNEL_THREAD)
		return 0;
	known = bpf_map_lookup_elem(&processes, &key);
	if (known) {
		__sync_fetch_and_add(&known->threads, 1);
		t->group = known->group;
		return 0;
	}
	t->group = first.group = take_slot();
	return bpf_map_update_elem(&processes, &key, &first, BPF_NOEXIST);
}

static void leave_process(const struct task_struct *p)
{
	u32 key = p->tgid, *taken;
	struct process *known;

	if (groups != GROUPS_PROCESS || p->flags & KERNEL_THREAD)
		return;
	known = bpf_map_lookup_elem(&processes, &key);
	if (!known || __sync_fetch_and_add(&known->threads, -1) != 1)
		return;
	taken = ELEMENT(slots_taken, known->group);
	bpf_map_delete_elem(&processes, &key);
	if (taken)
		*taken = 0;
}

/* The queues of the groups that processes take. */
static s32 init_groups(void)
{
	u32 slot;

	if (groups != GROUPS_PROCESS)
		return 0;
	nr_process_slots = nr_cpus ? group_queues / nr_cpus : 0;
	if (nr_process_slots > MAX_PROCESS_SLOTS)
		nr_process_slots = MAX_PROCESS_SLOTS;
	process_slots_end = SHARED_SLOT + 1;
	bpf_for(slot, SHARED_SLOT, nr_process_slots) {
		s32 error = init_nodes(slot, ROOT_SLOT);

		if (error)
			return error;
	}
	return 0;
}

#endif /* SCHEDLAB_GROUP_MEMBERS_BPF_H */
