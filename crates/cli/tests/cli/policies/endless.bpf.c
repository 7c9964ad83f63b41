/* SPDX-License-Identifier: GPL-2.0-only */
/* endless - never comes back from its first decision. For tests. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

volatile u64 turns;

void BPF_STRUCT_OPS(endless_enqueue, struct task_struct *p, u64 enq_flags)
{
	while (turns < ~0ULL)
		turns++;
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(endless_ops, .enqueue = (void *)endless_enqueue, .name = "endless");
