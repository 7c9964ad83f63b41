/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * waits - one queue, and gives up when a task was not woken by what its name says: t, s, p, n or d for a timer, a
 * semaphore, a pipe, the network or a disk. For tests.
 */
#include <schedlab/wake.bpf.h>

char _license[] SEC("license") = "GPL";

/* A task's first wake-ups end its wait for the other tasks to start, not what its name says. */
#define FIRST_WAKES 3

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} wakes SEC(".maps");

/* The wake source of a name: w-t, w-s, w-p, w-n or w-d; -1 of another name. */
static int named(const struct task_struct *p)
{
	if (p->comm[0] != 'w' || p->comm[1] != '-' || p->comm[3])
		return -1;
	switch (p->comm[2]) {
	case 't':
		return WAKE_TIMER;
	case 's':
		return WAKE_SEMAPHORE;
	case 'p':
		return WAKE_PIPE;
	case 'n':
		return WAKE_NETWORK;
	case 'd':
		return WAKE_DISK;
	default:
		return -1;
	}
}

void BPF_STRUCT_OPS(waits_runnable, struct task_struct *p, u64 enq_flags)
{
	u32 *seen = bpf_task_storage_get(&wakes, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	int expected = named(p), source = wake_source(p);

	if (!seen || expected < 0 || !(enq_flags & SCX_ENQ_WAKEUP))
		return;
	if (++*seen > FIRST_WAKES && source != expected)
		scx_bpf_error("%s was woken by %d", p->comm, source);
}

SCX_OPS_DEFINE(waits_ops, .runnable = (void *)waits_runnable, .name = "waits");
