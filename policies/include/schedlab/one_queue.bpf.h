/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CFS without task groups: one queue for each CPU, whose number is that of the CPU, and nothing above it.
 */
#ifndef SCHEDLAB_ONE_QUEUE_BPF_H
#define SCHEDLAB_ONE_QUEUE_BPF_H

static inline u64 waiting_dsq(const struct fair_task *t, s32 cpu)
{
	return cpu;
}

static inline u32 nr_waiting_dsqs(void)
{
	return 1;
}

static inline u64 waiting_dsq_at(u32 number, s32 cpu)
{
	return cpu;
}

/* The queue of a task on a CPU, and the one in which it is or was. */
static inline u32 number_on(const struct fair_task *t, u32 cpu)
{
	return cpu;
}

static inline u32 number_of(const struct fair_task *t)
{
	return t->cpu;
}

static inline struct fair_queue *queue_at(u32 number)
{
	return queue_of(number);
}

static inline u32 first_to_pull(const struct fair_queue *from)
{
	return 0;
}

static inline bool is_in_idle_group(const struct fair_task *t)
{
	return false;
}

static inline u64 tree_min_vruntime_at(u32 number, u64 now)
{
	return 0;
}

static inline bool follow_in_tree(u32 number, u64 now)
{
	return false;
}

static inline bool charge_tree(u32 number, u64 now)
{
	return false;
}

static inline bool place_groups_above(u32 number)
{
	return false;
}

static inline u64 slice_in_tree(u32 number, u32 weight, bool is_idle, bool comes)
{
	return 0;
}

static inline bool forget_chain(u32 number, s32 name)
{
	return false;
}

static inline bool tree_tick_is_due(s32 cpu, u64 now)
{
	return false;
}

static inline u64 tree_slice_end(s32 cpu, u64 now)
{
	return 0;
}

static inline bool begin_in_tree(const struct fair_task *t, s32 pid, u64 now)
{
	return false;
}

static inline bool end_in_tree(struct fair_task *t, bool interrupted, u64 now)
{
	return false;
}

static inline bool favour_siblings(u32 number, bool sleeps)
{
	return false;
}

static inline void skip_in_tree(const struct fair_task *t, s32 pid)
{
}

static inline bool may_shorten_slice(struct fair_queue *q, u64 now)
{
	return false;
}

static inline bool preempts_in_tree(const struct fair_task *t, s32 pid, u64 now)
{
	return false;
}

static inline bool pick_in_tree(u32 cpu, bool runs)
{
	return false;
}

#endif /* SCHEDLAB_ONE_QUEUE_BPF_H */
