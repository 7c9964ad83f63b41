/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NAME - say here, in a sentence, which task runs next.
 *
 * So far: every runnable task waits in one queue, first in, first out, and runs for at most one slice.
 *
 * Try it:   schedlab run heavy-load --policy ./NAME.bpf.c:slice=5ms
 * Test it:  schedlab run NAME.toml --policy ./NAME.bpf.c --check
 *
 * To see what happens inside, call bpf_printk("task %d on CPU %d", p->pid, cpu); schedlab prints the lines. Stop a
 * run where an assumption breaks with scx_bpf_error("...").
 *
 * Then say here what it is bad at.
 */
#include <schedlab/common.bpf.h>

/* Kernels load only schedulers with a GPL-compatible licence. */
char _license[] SEC("license") = "GPL";

/* What you can set: type, name, default, and a text with unit, range and meaning. */
PARAMETER(u64, slice, 20 * NS_PER_MS, "unit=ns range=1us..10s about=The longest time a task runs at a time.");

/* A dispatch queue of our own. Its number is our choice. */
#define QUEUE 0

/* A task woke up: on which CPU should it run? If one is idle, it starts there immediately and skips the queue. */
s32 BPF_STRUCT_OPS(NAME_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &idle);

	if (idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice, 0);
	return cpu;
}

/* A task is runnable and no CPU was idle, or its slice is over: it must wait. */
void BPF_STRUCT_OPS(NAME_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, QUEUE, slice, enq_flags);
}

/* A CPU is free: give it the first task of the queue that may run there. */
void BPF_STRUCT_OPS(NAME_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE, 0);
}

/* The CPUs of a task changed. It may wait in the queue for a CPU that is idle, and nothing else would wake that CPU. */
void BPF_STRUCT_OPS(NAME_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	kick_idle_cpu(cpumask);
}

/* Before the first task: create the queue. */
s32 BPF_STRUCT_OPS_SLEEPABLE(NAME_init)
{
	return scx_bpf_create_dsq(QUEUE, NUMA_NO_NODE);
}

/* What this policy does. The kernel does the rest as it does by default. */
SCX_OPS_DEFINE(NAME_ops,
	       .select_cpu = (void *)NAME_select_cpu,
	       .enqueue = (void *)NAME_enqueue,
	       .dispatch = (void *)NAME_dispatch,
	       .set_cpumask = (void *)NAME_set_cpumask,
	       .init = (void *)NAME_init,
	       .name = "NAME");
