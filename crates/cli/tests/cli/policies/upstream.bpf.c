/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * upstream - one queue in order of arrival, with upstream's headers as they are: SCX_SLICE_DFL, SCX_DSQ_GLOBAL and the
 * like are then constants that are 0 until a loader fills them from the kernel. For tests.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define OWN_QUEUE 7

/* Whether tasks wait in the core's queue and not in one of its own. */
const volatile bool global;

void BPF_STRUCT_OPS(upstream_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, global ? SCX_DSQ_GLOBAL : OWN_QUEUE, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(upstream_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(OWN_QUEUE, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(upstream_init)
{
	return scx_bpf_create_dsq(OWN_QUEUE, -1);
}

SCX_OPS_DEFINE(upstream_ops, .enqueue = (void *)upstream_enqueue, .dispatch = (void *)upstream_dispatch,
	       .init = (void *)upstream_init, .name = "upstream");
