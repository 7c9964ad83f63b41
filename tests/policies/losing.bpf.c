/* SPDX-License-Identifier: GPL-2.0-only */
/* losing - wrong on purpose: takes every third task it is given and puts it nowhere. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

static u64 given;

void BPF_STRUCT_OPS(losing_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (++given % 3 == 0)
		return;
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 10 * NS_PER_MS, enq_flags);
}

SCX_OPS_DEFINE(losing_ops, .enqueue = (void *)losing_enqueue, .name = "losing");
