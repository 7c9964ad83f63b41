/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a fair scheduler without task groups has in their place: nothing.
 */
#ifndef SCHEDLAB_WITHOUT_GROUPS_BPF_H
#define SCHEDLAB_WITHOUT_GROUPS_BPF_H

static inline bool has_groups(void)
{
	return false;
}

static inline void add_entity(struct fair_queue *queue, s32 number)
{
}

static inline bool count_in_tree(struct fair_task *t, s32 tasks, u64 now)
{
	return false;
}

static inline bool join_tree_load(struct fair_task *t, u64 now)
{
	return false;
}

static inline bool leave_tree_load(struct fair_task *t, u64 now)
{
	return false;
}

static inline u64 load_in_tree(const struct fair_task *t)
{
	return 0;
}

static inline const struct load_average *averages_around(const struct fair_queue *q, const struct fair_task *t)
{
	return &q->average;
}

static inline s32 init_groups(void)
{
	return 0;
}

static inline s32 join_process(const struct task_struct *p, struct fair_task *t)
{
	return 0;
}

static inline void leave_process(const struct task_struct *p)
{
}

#endif /* SCHEDLAB_WITHOUT_GROUPS_BPF_H */
