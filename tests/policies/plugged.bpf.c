/* SPDX-License-Identifier: GPL-2.0-only */
/* A queue for each CPU, of which no other CPU takes; says which CPUs go and come, and how many there are then. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* An idle CPU or not: a task stays where it was. */
s32 BPF_STRUCT_OPS(plugged_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(plugged_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, scx_bpf_task_cpu(p), 10 * NS_PER_MS, enq_flags);
}

void BPF_STRUCT_OPS(plugged_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(cpu, 0);
}

static void say(s32 cpu, bool online)
{
	const struct cpumask *there = scx_bpf_get_online_cpumask();

	bpf_printk("%d %d of %d", cpu, online, bpf_cpumask_weight(there));
	scx_bpf_put_cpumask(there);
}

/* It may sleep, as a kernel allows here. */
void BPF_STRUCT_OPS_SLEEPABLE(plugged_cpu_online, s32 cpu)
{
	say(cpu, true);
}

void BPF_STRUCT_OPS(plugged_cpu_offline, s32 cpu)
{
	say(cpu, false);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(plugged_init)
{
	u32 cpu;

	bpf_for(cpu, 0, scx_bpf_nr_cpu_ids()) {
		s32 error = scx_bpf_create_dsq(cpu, NUMA_NO_NODE);

		if (error)
			return error;
	}
	return 0;
}

SCX_OPS_DEFINE(plugged_ops,
	       .select_cpu = (void *)plugged_select_cpu,
	       .enqueue = (void *)plugged_enqueue,
	       .dispatch = (void *)plugged_dispatch,
	       .cpu_online = (void *)plugged_cpu_online,
	       .cpu_offline = (void *)plugged_cpu_offline,
	       .init = (void *)plugged_init,
	       .name = "plugged");
