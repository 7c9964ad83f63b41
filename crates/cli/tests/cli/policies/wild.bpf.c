/* SPDX-License-Identifier: GPL-2.0-only */
/* wild - follows a pointer that leads nowhere. For tests. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

void BPF_STRUCT_OPS(wild_enqueue, struct task_struct *p, u64 enq_flags)
{
	/* An address that the compiler cannot see through. */
	u64 *nowhere = (u64 *)(bpf_ktime_get_ns() | 0xdead0000);

	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, *nowhere, enq_flags);
}

SCX_OPS_DEFINE(wild_ops, .enqueue = (void *)wild_enqueue, .name = "wild");
