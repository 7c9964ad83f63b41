/* SPDX-License-Identifier: GPL-2.0-only */
/* restless - has its CPU choose again whenever it has chosen, so that no time ever goes by. For tests. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

void BPF_STRUCT_OPS(restless_running, struct task_struct *p)
{
	scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT);
}

SCX_OPS_DEFINE(restless_ops, .running = (void *)restless_running, .name = "restless");
