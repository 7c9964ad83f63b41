/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fcfs - first come, first served.
 *
 * Every runnable task waits in one first-in-first-out queue. A free CPU takes the task at the head and keeps it until
 * it blocks, yields or ends; nothing is ever preempted.
 *
 * Example, one CPU: A (30 ms of work) arrives at 0, B (5 ms) at 1, C (5 ms) at 2. A runs 0-30, B 30-35, C 35-40; B
 * waits 29 ms for its 5 ms.
 *
 * Weakness: that wait. One long task delays all short ones behind it (the convoy effect), and a task that never blocks
 * keeps its CPU forever: when others wait for it longer than the kernel's watchdog allows (30 s), the kernel removes
 * the policy.
 *
 * Source: the M/G/m queue of A. K. Erlang (1909) and F. Pollaczek (1930); any textbook on operating systems.
 */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* The one queue. */
#define QUEUE 0

/*
 * An idle CPU takes the task at once; no task waits in the queue then. The wake flags stay out: their hint that the
 * waker is about to sleep would put the task before all others in the queue.
 */
s32 BPF_STRUCT_OPS(fcfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, 0, &idle);

	if (idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_INF, 0);
	return cpu;
}

void BPF_STRUCT_OPS(fcfs_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, QUEUE, SCX_SLICE_INF, enq_flags);
}

void BPF_STRUCT_OPS(fcfs_dispatch, s32 cpu, struct task_struct *prev)
{
	if (scx_bpf_dsq_move_to_local(QUEUE, 0))
		return;
	/* It yielded and no task waits: it continues, again without an end. */
	if (still_runnable(prev))
		scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
}

/* A waiting task may now run on CPUs that idle and that nothing else will kick for it. */
void BPF_STRUCT_OPS(fcfs_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	kick_idle_cpu(cpumask);
}

/* Nothing is kept for a CPU: tasks of one that goes offline come to enqueue(), one that returns looks at the queue. */
void BPF_STRUCT_OPS(fcfs_cpu_online, s32 cpu)
{
}

void BPF_STRUCT_OPS(fcfs_cpu_offline, s32 cpu)
{
}

s32 BPF_STRUCT_OPS_SLEEPABLE(fcfs_init)
{
	return scx_bpf_create_dsq(QUEUE, NUMA_NO_NODE);
}

SCX_OPS_DEFINE(fcfs_ops,
	       .select_cpu = (void *)fcfs_select_cpu,
	       .enqueue = (void *)fcfs_enqueue,
	       .dispatch = (void *)fcfs_dispatch,
	       .set_cpumask = (void *)fcfs_set_cpumask,
	       .cpu_online = (void *)fcfs_cpu_online,
	       .cpu_offline = (void *)fcfs_cpu_offline,
	       .init = (void *)fcfs_init,
	       .name = "fcfs");
