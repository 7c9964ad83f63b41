/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where tasks wait: one set of queues for all CPUs, or one for each. A set is one dispatch queue, ordered by queue and
 * place.
 */
#ifndef MLFQ_QUEUES_BPF_H
#define MLFQ_QUEUES_BPF_H

#include <schedlab/common.bpf.h>
#include <schedlab/priority_queue.bpf.h>

PARAMETER(u32, queues, 0,
	  "choices=shared,percpu about=Whether there is one set of queues for all CPUs, or one for each.");
enum { QUEUES_SHARED, QUEUES_PERCPU };

#define MAX_CPUS 4096

static s32 nr_cpus;
static u64 epoch;

/* What is known of a task. Written by the CPU that handles the task, under its run queue's lock, except for relief. */
struct history {
	u64 slice;       /* what it got with its queue, ns */
	u64 used;        /* how much of it was used when it last stopped, ns */
	u64 started_at;  /* when it last got a CPU */
	u64 ready_since; /* when it began to wait */
	u64 key;         /* its place in the dispatch queue */
	u32 queue;       /* 1 is the highest */
	bool fresh;       /* forked, and not yet ready for the first time */
	bool first;       /* a fresh task that goes before its queue */
	bool running;
	bool ran;         /* it had a CPU since it was last queued */
	bool interrupted; /* it lost its CPU to a higher class of schedulers */
	bool yielded;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct history);
} histories SEC(".maps");

/*
 * The queue of the task that runs on each CPU, or that was sent there and will run next; 0 when the CPU is idle. It is
 * read without a lock to choose a CPU to preempt. A wrong choice costs one look into the queues on that CPU.
 */
static u32 cpu_queues[MAX_CPUS];

static struct history *history_of(struct task_struct *p)
{
	return bpf_task_storage_get(&histories, p, NULL, 0);
}

static u32 cpu_queue(s32 cpu)
{
	u32 *queue = ELEMENT(cpu_queues, cpu);

	return queue ? *queue : 0;
}

static void cpu_set_queue(s32 cpu, u32 queue)
{
	u32 *place = ELEMENT(cpu_queues, cpu);

	if (place)
		*place = queue;
}

/* The dispatch queue that @cpu takes from. */
static u64 dsq_of(s32 cpu)
{
	return queues == QUEUES_PERCPU ? (u32)cpu : 0;
}

/* The number of the first queue in @dsq with a task that may run on @cpu, 0 when there is none. */
static u32 first_queue(u64 dsq, s32 cpu)
{
	u32 level = first_level(dsq, cpu);

	return level == NO_LEVEL ? 0 : level;
}

#endif /* MLFQ_QUEUES_BPF_H */
