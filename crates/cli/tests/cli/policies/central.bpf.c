/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * central - preempts CPU 0 for each task that becomes ready, but not for one that is still there: it loses its CPU just
 * now, and preempting again for it would never end. For tests.
 */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define QUEUE 0

s32 BPF_STRUCT_OPS_SLEEPABLE(central_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

void BPF_STRUCT_OPS(central_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, QUEUE, SCX_SLICE_DFL, enq_flags);
	if (!scx_bpf_task_running(p))
		scx_bpf_kick_cpu(0, SCX_KICK_PREEMPT);
}

void BPF_STRUCT_OPS(central_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE, 0);
}

SCX_OPS_DEFINE(central_ops, .init = (void *)central_init, .enqueue = (void *)central_enqueue,
	       .dispatch = (void *)central_dispatch, .name = "central");
