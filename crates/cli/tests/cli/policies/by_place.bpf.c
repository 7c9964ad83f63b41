/* SPDX-License-Identifier: GPL-2.0-only */
/* by_place - has the table of operations of newer kernels, in which CPUs are numbered by their place. For tests. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

s32 BPF_STRUCT_OPS(by_place_select, struct task_struct *p, s32 prev_cid, u64 wake_flags)
{
	return prev_cid;
}

SEC(".struct_ops.link")
struct sched_ext_ops_cid by_place_ops = { .select_cid = (void *)by_place_select, .name = "by_place" };
