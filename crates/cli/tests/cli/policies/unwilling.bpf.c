/* SPDX-License-Identifier: GPL-2.0-only */
/* unwilling - takes no task. For tests. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

s32 BPF_STRUCT_OPS_SLEEPABLE(unwilling_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return -EINVAL;
}

SCX_OPS_DEFINE(unwilling_ops, .init_task = (void *)unwilling_init_task, .name = "unwilling");
