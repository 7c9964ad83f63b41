/* SPDX-License-Identifier: GPL-2.0-only */
/* numbering - has an operation that the simulator does not know of. For tests. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

s32 BPF_STRUCT_OPS_SLEEPABLE(numbering_init_cids)
{
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops numbering_ops = { .init_cids = (void *)numbering_init_cids, .name = "numbering" };
