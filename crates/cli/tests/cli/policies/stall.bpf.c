/* SPDX-License-Identifier: GPL-2.0-only */
/* stall - forgets every task, and has the kernel look after half a second. For tests. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

void BPF_STRUCT_OPS(stall_enqueue, struct task_struct *p, u64 enq_flags)
{
}

SCX_OPS_DEFINE(stall_ops, .enqueue = (void *)stall_enqueue, .timeout_ms = 500, .name = "stall");
