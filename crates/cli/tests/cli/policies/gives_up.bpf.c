/* SPDX-License-Identifier: GPL-2.0-only */
/* gives_up - ends itself with a reason. For tests. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

void BPF_STRUCT_OPS(gives_up_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_error("enough of this");
}

SCX_OPS_DEFINE(gives_up_ops, .enqueue = (void *)gives_up_enqueue, .name = "gives_up");
