/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wake source: what a task had waited for when it last became runnable. The venue fills the map, a policy reads it.
 */
#ifndef SCHEDLAB_WAKE_BPF_H
#define SCHEDLAB_WAKE_BPF_H

#include <schedlab/common.bpf.h>

/* The order is the one of the trace's wake sources. */
enum wake_source {
	WAKE_FORK = 0,      /* it is new */
	WAKE_TIMER = 1,     /* a sleep was over */
	WAKE_SEMAPHORE = 2, /* a semaphore, lock or barrier */
	WAKE_PIPE = 3,      /* a message by a pipe */
	WAKE_NETWORK = 4,   /* a message by a socket */
	WAKE_DISK = 5,      /* a device */
	WAKE_UNKNOWN = 6,   /* nobody said */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} schedlab_wake SEC(".maps");

/* What @p had waited for. */
static inline enum wake_source wake_source(struct task_struct *p)
{
	u32 *source = bpf_task_storage_get(&schedlab_wake, p, NULL, 0);

	return source ? *source : WAKE_UNKNOWN;
}

#endif /* SCHEDLAB_WAKE_BPF_H */
