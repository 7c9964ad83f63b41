/* SPDX-License-Identifier: GPL-2.0-only */
/* starving - wrong on purpose: the newest task first, always. The task at the bottom waits on. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define QUEUE 0

void BPF_STRUCT_OPS(starving_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, QUEUE, 100 * NS_PER_MS, enq_flags | SCX_ENQ_HEAD);
}

void BPF_STRUCT_OPS(starving_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(starving_init)
{
	return scx_bpf_create_dsq(QUEUE, NUMA_NO_NODE);
}

SCX_OPS_DEFINE(starving_ops,
	       .enqueue = (void *)starving_enqueue,
	       .dispatch = (void *)starving_dispatch,
	       .init = (void *)starving_init,
	       .name = "starving");
