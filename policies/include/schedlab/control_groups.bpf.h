/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups: the tree of the cpu controller, what each of its groups is given, and which one a task is in.
 *
 * A group has a slot, which is its number here; slot 0 is the root's. On each CPU it has a queue: what of its tasks,
 * and of the groups below it, wants that CPU. Weights and limits are in group_weights.bpf.h and bandwidth.bpf.h.
 *
 * Where a machine has no control group but the root, nothing here is ever looked at.
 *
 * Source: Linux 7.3, kernel/sched/ext.c scx_cgroup_init(), scx_cgroup_move_task(); kernel/sched/core.c
 * sched_weight_from_cgroup(), sched_group_set_idle().
 */
#ifndef SCHEDLAB_CONTROL_GROUPS_BPF_H
#define SCHEDLAB_CONTROL_GROUPS_BPF_H

#include <schedlab/load_average.bpf.h>
#include <schedlab/weights.bpf.h>

/* Whether the policy looks at control groups. */
static inline bool wants_control_groups(void);

#define MAX_CONTROL_GROUPS 4096
#define MAX_CONTROL_QUEUES (1 << 18)
#define MAX_CONTROL_DEPTH 9
#define ROOT_SLOT 0
#define NO_SLOT ~0U
#define NO_QUOTA ~0ULL
/* Of sched_group_set_idle(): what an idle group weighs. */
#define IDLE_GROUP_SHARES 3

/* What a group has on a CPU. */
struct control_queue {
	u64 weight;		     /* of the tasks and groups in it that run, wait, or sleep with a debt here; scaled */
	u64 share;		     /* what the group itself weighs among its siblings here; 0 while it has none; scaled */
	u32 nr_running;		     /* how many tasks run or wait in it, those of groups below it too */
	struct load_average average; /* of the weight */
	u64 published_load;	     /* what the sums of the group have of the averages */
	u64 published_runnable;
	u64 published_at;
	s64 runtime;		     /* of the limit: what may be used before it asks for more */
	u64 limited_since;	     /* time before that is not charged */
	u64 throttled_at;	     /* since when it is throttled with a task held back, plus one; else 0 */
	u32 next;		     /* the next throttled queue of the group, plus one */
	u32 first_fading;	     /* of the root's: the first group that has a load here, and no task, plus one */
	u32 next_fading;	     /* the next one, plus one */
	u32 is_listed;		     /* it is in this list */
	u32 next_released;	     /* the next group whose tasks its CPU is to take back, plus one */
	u32 is_released;	     /* it is in this list */
	bool is_throttled;
};

struct control_group {
	u64 id;
	u32 parent;
	u32 shares;	      /* by cpu.weight, 1024 for 100 */
	u32 cpus;	      /* how many there are for its tasks, by cpuset.cpus.effective */
	bool is_taken;
	bool is_idle;
	u64 load;	      /* what its queues have published */
	u64 runnable;
	u64 quota;	      /* of its limit, in ns; NO_QUOTA for none */
	u64 period;
	u64 burst;
	u64 pool;	      /* what is left of the quota */
	u64 snap;	      /* what it was when it was last filled */
	u32 is_timed;	      /* the period's timer is set */
	u32 is_slack_timed;
	bool is_unused;	      /* no queue asked for any in this period */
	u32 first_throttled;  /* its CPU plus one; they are in the order in which they were throttled */
	u32 last_throttled;
	u64 nr_periods;
	u64 nr_throttled;
	u64 throttled_ns;
	u64 nr_bursts;
	u64 burst_ns;
};

static struct control_group control_groups[MAX_CONTROL_GROUPS];
static u32 nr_control_groups, control_cpus;
/* The highest slot that is or was taken, plus one. */
static u32 control_slots_end;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CONTROL_QUEUES);
	__type(key, u32);
	__type(value, struct control_queue);
} control_queues SEC(".maps");

/* The slot of a group, plus one. */
struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} control_slots SEC(".maps");

/* Whether there is or was any but the root. What is counted from then on stays counted when the last one goes. */
static inline bool has_control_groups(void)
{
	return control_slots_end > 1;
}

static inline struct control_group *control_group_at(u32 slot)
{
	return ELEMENT(control_groups, slot);
}

static inline struct control_queue *control_queue_of(u32 slot, u32 cpu)
{
	u32 key = slot * control_cpus + cpu;

	return bpf_map_lookup_elem(&control_queues, &key);
}

/* Whether a group has a load on a CPU, and no task there. */
static inline bool is_fading(const struct control_queue *queue)
{
	return (queue->published_load || queue->published_runnable) && !queue->weight;
}

/* How often a CPU tries again when another was quicker. */
#define LIST_TRIES 64

/* A group that fades on a CPU comes into the list there. It leaves it when the CPU finds that it does not any more. */
static inline void list_fading(u32 slot, u32 cpu, struct control_queue *queue)
{
	struct control_queue *root;
	u32 try;

	if (!is_fading(queue) || queue->is_listed || __sync_lock_test_and_set(&queue->is_listed, 1))
		return;
	root = control_queue_of(ROOT_SLOT, cpu);
	if (!root)
		return;
	bpf_for(try, 0, LIST_TRIES) {
		u32 first = READ_ONCE(root->first_fading);

		queue->next_fading = first;
		if (__sync_val_compare_and_swap(&root->first_fading, first, slot + 1) == first)
			break;
	}
}

/* The slot of a group, the root's for one that is not known. */
static inline u32 slot_of(struct cgroup *cgroup)
{
	u32 *slot = cgroup ? bpf_cgrp_storage_get(&control_slots, cgroup, NULL, 0) : NULL;

	return slot && *slot ? *slot - 1 : ROOT_SLOT;
}

/* cpu.weight, 1 to 10000, as a load weight. */
static inline u32 shares_of(u32 weight)
{
	return (weight * NICE_0_WEIGHT + 50) / 100;
}

static inline u32 entity_shares(const struct control_group *group)
{
	return group->is_idle ? IDLE_GROUP_SHARES : group->shares;
}

/* Whether a group, or one above it, is idle: its tasks count as those of SCHED_IDLE where CPUs are chosen. */
static inline bool is_below_idle(u32 slot)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		const struct control_group *group = control_group_at(slot);

		if (!group || slot == ROOT_SLOT)
			break;
		if (group->is_idle)
			return true;
		slot = group->parent;
	}
	return false;
}

/* Whether a group is another one, or below it. */
static inline bool is_at_or_below(u32 slot, u32 ancestor)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		const struct control_group *group = control_group_at(slot);

		if (!group || slot == ancestor || slot == ROOT_SLOT)
			break;
		slot = group->parent;
	}
	return slot == ancestor;
}

/* A kernel for many CPUs keeps a pointer to a mask, one for few the mask itself. */
struct cpuset___pointer {
	struct cgroup_subsys_state css;
	struct cpumask *effective_cpus;
} __attribute__((preserve_access_index));

struct cpuset___mask {
	struct cgroup_subsys_state css;
	struct cpumask effective_cpus[1];
} __attribute__((preserve_access_index));

/* The mask of a set of the cpuset controller, NULL where it is not known. */
static inline const u64 *mask_of_set(const struct cgroup_subsys_state *css)
{
	const struct cpuset___pointer *with_pointer = (const void *)css;
	const struct cpuset___mask *with_mask = (const void *)css;

	if (bpf_core_field_exists(with_mask->effective_cpus))
		return (const u64 *)&with_mask->effective_cpus;
	return bpf_core_field_exists(with_pointer->effective_cpus) ? (const u64 *)BPF_CORE_READ(with_pointer, effective_cpus) :
								     NULL;
}

/* How many CPUs are in it, 0 for unknown. */
static u32 cpus_in(const struct cgroup_subsys_state *css)
{
	const u64 *words = mask_of_set(css);
	u32 number, cpus = 0;
	u64 word;

	if (!words)
		return 0;
	bpf_for(number, 0, (control_cpus + 63) / 64) {
		if (bpf_probe_read_kernel(&word, sizeof(word), words + number))
			return 0;
		cpus += __builtin_popcountll(word);
	}
	return cpus;
}

/* The set of a group for the cpuset controller, NULL where that is off for it. */
static const struct cgroup_subsys_state *cpuset_of(const struct cgroup *cgroup)
{
	const struct cgroup_subsys_state *css = NULL;
	const void *place = (const void *)cgroup + bpf_core_field_offset(struct cgroup, subsys) +
			    bpf_core_enum_value(enum cgroup_subsys_id, cpuset_cgrp_id) * sizeof(css);

	return bpf_probe_read_kernel(&css, sizeof(css), place) ? NULL : css;
}

/* Looks how many CPUs there are for a group: those of the nearest cpuset above it (cpuset_num_cpus()). */
static __noinline void count_cpus_of(const struct cgroup *cgroup, struct control_group *group)
{
	const struct cgroup_subsys_state *css = NULL, *parent;
	u32 step, cpus;

	if (!group)
		return;
	bpf_for(step, 0, MAX_CONTROL_DEPTH + 1) {
		css = cpuset_of(cgroup);
		parent = BPF_CORE_READ(cgroup, self.parent);
		if (css || !parent)
			break;
		cgroup = BPF_CORE_READ(parent, cgroup);
	}
	cpus = css ? cpus_in(css) : 0;
	if (cpus)
		group->cpus = cpus;
}

/* The same for a group and those above it. */
static __noinline void count_cpus_above(const struct cgroup *cgroup, u32 slot)
{
	const struct cgroup_subsys_state *parent;
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct control_group *group = control_group_at(slot);

		if (!group || slot == ROOT_SLOT)
			break;
		count_cpus_of(cgroup, group);
		parent = BPF_CORE_READ(cgroup, self.parent);
		if (!parent)
			break;
		cgroup = BPF_CORE_READ(parent, cgroup);
		slot = group->parent;
	}
}

/* A task is in a group from now on: the group's slot. Its CPUs may have been written since it was created. */
static u32 join_slot(struct cgroup *cgroup)
{
	u32 slot = slot_of(cgroup);

	if (slot != ROOT_SLOT)
		count_cpus_above(cgroup, slot);
	return slot;
}

static u32 free_slot(void)
{
	u32 slot;

	bpf_for(slot, nr_control_groups ? 1 : ROOT_SLOT, MAX_CONTROL_GROUPS) {
		struct control_group *group = control_group_at(slot);

		if (group && !group->is_taken)
			return slot;
	}
	return NO_SLOT;
}

static u32 parent_slot(struct cgroup *cgroup)
{
	struct cgroup *parent;
	u32 slot = ROOT_SLOT;

	if (cgroup->level < 1)
		return ROOT_SLOT;
	parent = bpf_cgroup_ancestor(cgroup, cgroup->level - 1);
	if (parent) {
		slot = slot_of(parent);
		bpf_cgroup_release(parent);
	}
	return slot;
}

/* A group is created, after its parent. */
static s32 add_control_group(struct cgroup *cgroup, struct scx_cgroup_init_args *args)
{
	struct control_group *group;
	u32 slot, cpu, *place;

	if (!wants_control_groups())
		return 0;
	slot = free_slot();
	group = control_group_at(slot);
	if (!group || (u64)(slot + 1) * control_cpus > MAX_CONTROL_QUEUES) {
		scx_bpf_error("there is room for %u control groups on %u CPUs",
			      MAX_CONTROL_QUEUES / control_cpus, control_cpus);
		return -ENOSPC;
	}
	place = bpf_cgrp_storage_get(&control_slots, cgroup, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!place)
		return -ENOMEM;
	*place = slot + 1;
	*group = (struct control_group){
		.id = cgroup->kn->id, .parent = parent_slot(cgroup), .shares = shares_of(args->weight), .is_taken = true,
		.quota = NO_QUOTA, .cpus = control_cpus,
	};
	bpf_for(cpu, 0, control_cpus) {
		struct control_queue *queue = control_queue_of(slot, cpu);

		/* The place of one before it may still be in lists. */
		if (queue)
			*queue = (struct control_queue){
				.next_fading = queue->next_fading, .is_listed = queue->is_listed,
				.next_released = queue->next_released, .is_released = queue->is_released,
			};
	}
	if (bpf_core_field_exists(args->sched_idle))
		group->is_idle = args->sched_idle;
	if (slot >= control_slots_end)
		control_slots_end = slot + 1;
	nr_control_groups++;
	return 0;
}

static void remove_control_group(struct cgroup *cgroup)
{
	struct control_group *group = control_group_at(slot_of(cgroup));

	if (group && group->id == cgroup->kn->id) {
		group->is_taken = false;
		nr_control_groups--;
	}
}

#endif /* SCHEDLAB_CONTROL_GROUPS_BPF_H */
