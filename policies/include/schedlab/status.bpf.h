/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Status: one word that a policy publishes about a task, such as its queue or its priority. The simulator and the
 * recorder find the map by its name and write each change into the trace.
 */
#ifndef SCHEDLAB_STATUS_BPF_H
#define SCHEDLAB_STATUS_BPF_H

#include <schedlab/common.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} schedlab_status SEC(".maps");

/* Publishes @word about @p. When memory is short the word is lost, and nothing else. */
static inline void status_set(struct task_struct *p, u64 word)
{
	u64 *status = bpf_task_storage_get(&schedlab_status, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (status)
		*status = word;
}

#endif /* SCHEDLAB_STATUS_BPF_H */
