/* SPDX-License-Identifier: GPL-2.0-only */
/* exotic - calls a kernel function that no kernel has. For tests. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

s32 scx_bpf_not_there(struct task_struct *p) __ksym;

void BPF_STRUCT_OPS(exotic_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, scx_bpf_not_there(p), enq_flags);
}

SCX_OPS_DEFINE(exotic_ops, .enqueue = (void *)exotic_enqueue, .name = "exotic");
