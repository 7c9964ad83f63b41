/* SPDX-License-Identifier: GPL-2.0-only */
/* unfair - wrong on purpose: round robin in which tasks with an odd number get three quanta. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

void BPF_STRUCT_OPS(unfair_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 slice = (p->pid & 1 ? 3 : 1) * 100 * NS_PER_MS;

	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, slice, enq_flags);
}

SCX_OPS_DEFINE(unfair_ops, .enqueue = (void *)unfair_enqueue, .name = "unfair");
