/* SPDX-License-Identifier: GPL-2.0-only */
/* astray - puts tasks into a dispatch queue that does not exist. For tests. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

void BPF_STRUCT_OPS(astray_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, 99, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(astray_ops, .enqueue = (void *)astray_enqueue, .name = "astray");
