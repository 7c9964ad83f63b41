/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the callbacks of Linux' fair schedulers have in common: from a task's birth to its end, and the start.
 */
#ifndef SCHEDLAB_FAIR_LIFE_BPF_H
#define SCHEDLAB_FAIR_LIFE_BPF_H

#include <schedlab/fair_pull.bpf.h>
#include <schedlab/fair_select.bpf.h>

static struct fair_task *new_task(struct task_struct *p)
{
	struct fair_task *t = bpf_task_storage_get(&fair_tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		return NULL;
	t->weight = weight_of(p);
	t->inverse = inverse_of(p);
	t->class = p->policy;
	t->cpu = scx_bpf_task_cpu(p);
	t->recent_cpu = t->cpu;
	t->fresh = true;
	return t;
}

/* A new task comes with the averages of one that has always been runnable, and with half of what the CPU can spare. */
static void begin_averages(struct fair_task *t, struct fair_queue *q, u64 now)
{
	struct load_average *a = &t->average;
	u64 spare, share;

	update_queue_load(q, now);
	spare = q->average.util < CPU_CAPACITY ? (CPU_CAPACITY - q->average.util) / 2 : 0;
	share = q->average.util * t->weight / (q->average.load + 1);
	a->load = t->weight;
	a->util = q->average.util && share < spare ? share : spare;
	a->runnable = a->util;
	a->carried = q->average.carried;
	a->load_sum = a->load * load_divisor(a, load_rule());
}

/* A task wants a CPU, maybe another one than before: its averages come along. */
static void come_to_cpu(struct fair_queue *q, struct fair_task *t, s32 cpu, u64 now)
{
	struct fair_queue *from = queue_of(t->cpu);

	if (t->fresh)
		begin_averages(t, q, now);
	else
		update_task_load(t, now, false, false);
	if (!t->fresh && t->cpu == cpu)
		return;
	if (from && !t->fresh) {
		update_queue_load(from, now);
		load_average_detach(&from->average, &t->average, load_rule());
	}
	update_queue_load(q, now);
	load_average_attach(&q->average, &t->average, load_rule());
	t->cpu = cpu;
}

/* The balancer sends the task that ran to another CPU. */
static bool push(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 enq_flags, u64 now)
{
	s32 to = q->push_to;
	struct fair_queue *other = queue_of(to);

	q->push_pid = 0;
	if (!other || !may_go(p, to))
		return false;
	change_queue(t, q, other, to, now);
	scx_bpf_dsq_insert_vtime(p, to, 0, order_key(t), enq_flags);
	notify(other, t, p->pid, to, now);
	return true;
}

static void begin_running(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 now)
{
	update_task_load(t, now, true, false);
	update_queue_load(q, now);
	q->running = p->pid;
	q->running_weight = t->weight;
	q->running_inverse = t->inverse;
	q->running_class = t->class;
	q->charged_at = now;
}

static void end_running(struct fair_queue *q, struct fair_task *t, u64 now)
{
	t->ran_until = now;
	update_task_load(t, now, true, true);
	update_queue_load(q, now);
	q->running = 0;
}

/* A task has another nice value or class. */
static void change_weight(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 now)
{
	bool runnable = t->runnable;

	if (runnable)
		count_out(q, t, now);
	t->weight = weight_of(p);
	t->inverse = inverse_of(p);
	t->class = p->policy;
	if (runnable)
		count_in(q, t, now);
}

/* What a task has left of its load goes with it. */
static void end_task(struct task_struct *p)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t && !t->fresh ? queue_of(t->cpu) : NULL;
	u64 now = scx_bpf_now();

	if (!q)
		return;
	update_task_load(t, now, false, false);
	update_queue_load(q, now);
	load_average_detach(&q->average, &t->average, load_rule());
}

/* A dispatch queue for each CPU, and the balancer. */
static s32 init_queues(void)
{
	s32 cpu, error = 0;

	nr_cpus = scx_bpf_nr_cpu_ids();
	if (nr_cpus > MAX_CPUS) {
		scx_bpf_error("%d CPUs, at most %d are supported", nr_cpus, MAX_CPUS);
		return -E2BIG;
	}
	jiffy = NS_PER_S / hz;
	nr_idle = nr_cpus;
	cache_size = domain_size(LEVEL_CACHE, nr_cpus);
	bpf_for(cpu, 0, (s32)nr_cpus) {
		error = scx_bpf_create_dsq(cpu, NUMA_NO_NODE);
		if (error)
			return error;
	}
	return init_balancing();
}

#endif /* SCHEDLAB_FAIR_LIFE_BPF_H */
