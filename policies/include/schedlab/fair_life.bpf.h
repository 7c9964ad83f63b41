/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the callbacks of Linux' fair schedulers have in common: from a task's birth to its end, and the start.
 */
#ifndef SCHEDLAB_FAIR_LIFE_BPF_H
#define SCHEDLAB_FAIR_LIFE_BPF_H

#include <schedlab/fair_move.bpf.h>

/* Sets a task's weight, inverse and class. It is counted in no queue at this moment. */
static inline void weigh(const struct task_struct *p, struct fair_task *t);

/* By its nice value, as kernels do. */
static inline void weigh_by_nice(const struct task_struct *p, struct fair_task *t)
{
	t->weight = weight_of(p);
	t->inverse = inverse_of(p);
	t->class = p->policy;
}

/*
 * A new task counts as if it had woken what its creator has, as kernels copy all of a task. A task that never wakes
 * others keeps that count.
 */
static void inherit_wakees(struct fair_task *t, struct task_struct *creator)
{
	const struct fair_task *from = creator ? task_of(creator) : NULL;

	if (!from)
		return;
	t->flips = from->flips;
	t->flips_halved_at = from->flips_halved_at;
	t->last_wakee = from->last_wakee;
}

static struct fair_task *new_task(struct task_struct *p, bool is_forked)
{
	struct fair_task *t = bpf_task_storage_get(&fair_tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		return NULL;
	weigh(p, t);
	t->cpu = scx_bpf_task_cpu(p);
	t->recent_cpu = t->cpu;
	t->priority = p->static_prio;
	t->fresh = true;
	if (is_forked)
		inherit_wakees(t, bpf_get_current_task_btf());
	return t;
}

/* A new task comes with the averages of one that has always been runnable, and with half of what the CPU can spare. */
static void begin_averages(struct fair_task *t, struct fair_queue *q, u64 now)
{
	struct load_average *a = &t->average;
	const struct load_average *queue = &q->average;
	u64 spare, share;

	update_queue_load(q, now);
	spare = queue->util < LOAD_UTIL_MAX ? (LOAD_UTIL_MAX - queue->util) / 2 : 0;
	queue = averages_around(q, t);
	share = queue->util * t->weight / (queue->load + 1);
	a->load = t->weight;
	a->util = queue->util && share < spare ? share : spare;
	a->runnable = a->util;
	a->carried = queue->carried;
	a->load_sum = a->load * load_divisor(a, load_rule());
}

/*
 * Whether a CPU only hears of a task that wakes: since 5.8 one that idles takes it into its queue itself, after an
 * interrupt. Until then the waker, and others that look, see that the CPU is about to get a task, but not its load
 * (ttwu_queue_wakelist).
 */
static inline bool takes_in_itself(const struct fair_queue *q, const struct fair_task *t, s32 cpu)
{
	return !is_4_9() && !t->fresh && !q->nr_running && cpu != (s32)bpf_get_smp_processor_id();
}

/* A task wants a CPU, maybe another one than before: its averages come along. */
static void come_to_cpu(struct fair_queue *q, struct fair_task *t, s32 cpu, u64 now)
{
	struct fair_queue *from = queue_of(t->cpu);
	u64 load;

	if (t->fresh) {
		t->cpu = cpu;
		begin_averages(t, q, now);
	} else {
		update_task_load(t, now, false, false);
	}
	if (!t->fresh && t->cpu == cpu)
		return;
	if (from && !t->fresh) {
		update_queue_load(from, now);
		load = from->average.load;
		leave_load(from, t, now);
		from->leaving += load_growth(from->average.load, load);
	}
	t->cpu = cpu;
	update_queue_load(q, now);
	load = q->average.load;
	join_load(q, t, now);
	if (takes_in_itself(q, t, cpu))
		q->arriving += load_growth(load, q->average.load);
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

/* A task may weigh something else now. */
static void reweigh(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 now)
{
	bool runnable = t->runnable;

	if (runnable)
		count_out(q, t, now);
	weigh(p, t);
	if (runnable)
		count_in(q, t, now);
}

/* A task that runs and is nicer than before has its CPU choose again (prio_changed_fair). */
static inline void note_priority(struct task_struct *p, struct fair_task *t)
{
	if (p->on_cpu && p->static_prio > t->priority)
		t->gives_way = true;
	t->priority = p->static_prio;
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
	leave_load(q, t, now);
}

/* A dispatch queue for each CPU. */
static s32 init_queues(void)
{
	s32 cpus = count_cpus(MAX_CPUS);

	if (cpus < 0)
		return cpus;
	if (hz && hz < LEAST_HZ) {
		scx_bpf_error("hz is %u: 0, or from %u to 1000000", hz, LEAST_HZ);
		return -EINVAL;
	}
	nr_cpus = nr_idle = cpus;
	jiffy = hz ? NS_PER_S / hz : machine_tick ?: NS_PER_S / 250;
	return create_dsqs(cpus);
}

#endif /* SCHEDLAB_FAIR_LIFE_BPF_H */
