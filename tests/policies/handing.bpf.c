/* SPDX-License-Identifier: GPL-2.0-only */
/* handing - a task whose slice has ended goes to the next CPU's own queue, whether that CPU idles or not. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

s32 BPF_STRUCT_OPS(handing_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return 0;
}

void BPF_STRUCT_OPS(handing_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 queue = SCX_DSQ_LOCAL;

	if (!(enq_flags & SCX_ENQ_WAKEUP))
		queue = SCX_DSQ_LOCAL_ON | (scx_bpf_task_cpu(p) + 1) % scx_bpf_nr_cpu_ids();
	scx_bpf_dsq_insert(p, queue, 5 * NS_PER_MS, enq_flags);
}

SCX_OPS_DEFINE(handing_ops, .select_cpu = (void *)handing_select_cpu, .enqueue = (void *)handing_enqueue,
	       .name = "handing");
