/* SPDX-License-Identifier: GPL-2.0-only */
/* tires - one queue, and a second later an end of its own accord. For tests. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

u64 begun;

void BPF_STRUCT_OPS(tires_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
	if (bpf_ktime_get_ns() > begun + NS_PER_S)
		scx_bpf_error("tired after a second");
}

s32 BPF_STRUCT_OPS_SLEEPABLE(tires_init)
{
	begun = bpf_ktime_get_ns();
	return 0;
}

SCX_OPS_DEFINE(tires_ops, .enqueue = (void *)tires_enqueue, .init = (void *)tires_init, .name = "tires");
