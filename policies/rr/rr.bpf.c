/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rr - round robin.
 *
 * Every runnable task waits in one first-in-first-out queue. A free CPU takes the task at the head and lets it run for
 * at most one quantum q; a task that is not done by then goes to the tail.
 *
 * Example, one CPU, q = 100 ms: A needs 250 ms, B needs 120 ms, both ready at 0, A first. A runs 0-100, B 100-200,
 * A 200-300, B 300-320 (done), A 320-370 (done).
 *
 * With n runnable tasks on m CPUs a task waits at most ceil((n - 1) / m) q for its next turn, and in any interval two
 * tasks that are always runnable differ by at most one quantum of service.
 *
 * Weakness: a task that only needs a moment waits for a whole round of those which need hours; a small q shortens the
 * round and pays for it with switches. Weights and nice values are ignored.
 *
 * Source: L. Kleinrock, "Analysis of a time-shared processor", 1964; any textbook on operating systems.
 */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* 100 ms is what Linux gives a task of its own round-robin class, SCHED_RR. */
PARAMETER(u64, quantum, 100 * NS_PER_MS,
	  "unit=ns range=1us..1000s about=The longest time a task runs before the next one's turn.");

/* The one queue. */
#define QUEUE 0

/*
 * An idle CPU takes the task at once; no task waits in the queue then. The wake flags stay out: their hint that the
 * waker is about to sleep would put the task behind the waker and before all others in the queue.
 */
s32 BPF_STRUCT_OPS(rr_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, 0, &idle);

	if (idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, quantum, 0);
	return cpu;
}

void BPF_STRUCT_OPS(rr_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, QUEUE, quantum, enq_flags);
}

void BPF_STRUCT_OPS(rr_dispatch, s32 cpu, struct task_struct *prev)
{
	if (scx_bpf_dsq_move_to_local(QUEUE, 0))
		return;
	/* None waits: the task that ran continues. Left alone, the core would give it the kernel's slice, not ours. */
	if (still_runnable(prev))
		scx_bpf_task_set_slice(prev, quantum);
}

/* A waiting task may now run on CPUs that idle and that nothing else will kick for it. */
void BPF_STRUCT_OPS(rr_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	kick_idle_cpu(cpumask);
}

/* Nothing is kept for a CPU: tasks of one that goes offline come to enqueue(), one that returns looks at the queue. */
void BPF_STRUCT_OPS(rr_cpu_online, s32 cpu)
{
}

void BPF_STRUCT_OPS(rr_cpu_offline, s32 cpu)
{
}

s32 BPF_STRUCT_OPS_SLEEPABLE(rr_init)
{
	return scx_bpf_create_dsq(QUEUE, NUMA_NO_NODE);
}

SCX_OPS_DEFINE(rr_ops,
	       .select_cpu = (void *)rr_select_cpu,
	       .enqueue = (void *)rr_enqueue,
	       .dispatch = (void *)rr_dispatch,
	       .set_cpumask = (void *)rr_set_cpumask,
	       .cpu_online = (void *)rr_cpu_online,
	       .cpu_offline = (void *)rr_cpu_offline,
	       .init = (void *)rr_init,
	       .name = "rr");
