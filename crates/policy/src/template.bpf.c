/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NAME - say here, in a sentence, who runs next.
 *
 * As it stands: every runnable task waits in one queue, first in, first out, and runs for at most one slice.
 *
 * Try it:  schedlab run scenarios/heavy-load.toml --policy ./NAME.bpf.c:slice=5ms
 *
 * Then say here what it is bad at.
 */
#include <schedlab/common.bpf.h>

/* The kernel's functions are for programs under the GPL only. */
char _license[] SEC("license") = "GPL";

/* What a user may set: type, name, default, and a text with unit, range and meaning. */
PARAMETER(u64, slice, 20 * NS_PER_MS, "unit=ns range=1us..10s about=The longest time a task runs at once.");

/* A dispatch queue of our own; its number is ours to choose. */
#define QUEUE 0

/* A task woke up: on which CPU shall it run? When an idle one is found, it goes there at once and skips the queue. */
s32 BPF_STRUCT_OPS(NAME_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &idle);

	if (idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice, 0);
	return cpu;
}

/* A task is runnable and no CPU was idle, or its slice is over: it has to wait. */
void BPF_STRUCT_OPS(NAME_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, QUEUE, slice, enq_flags);
}

/* A CPU is free: give it the first task of the queue that may run there. */
void BPF_STRUCT_OPS(NAME_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE, 0);
}

/* Before the first task: make the queue. */
s32 BPF_STRUCT_OPS_SLEEPABLE(NAME_init)
{
	return scx_bpf_create_dsq(QUEUE, NUMA_NO_NODE);
}

/* The table of what this policy does. Everything that is not in it is left to the kernel. */
SCX_OPS_DEFINE(NAME_ops,
	       .select_cpu = (void *)NAME_select_cpu,
	       .enqueue = (void *)NAME_enqueue,
	       .dispatch = (void *)NAME_dispatch,
	       .init = (void *)NAME_init,
	       .name = "NAME");
