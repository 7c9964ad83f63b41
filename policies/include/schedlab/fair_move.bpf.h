/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A waiting task goes from one fair run queue to another, and the CPU where it arrives learns of it.
 *
 * Source: Linux 4.9 and 6.1, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_FAIR_MOVE_BPF_H
#define SCHEDLAB_FAIR_MOVE_BPF_H

#include <schedlab/fair_state.bpf.h>

/* A waiting task goes from the queue of `t->cpu` to another CPU's: for what the policy keeps of CPUs. */
static inline void on_moved(struct fair_task *t, s32 cpu);
/* Whether the balancer may not take a task to a CPU that its mask allows. */
static inline bool is_barred(const struct fair_task *t, s32 cpu);

/*
 * Whether a task may go to a CPU. A kernel forbids the current task to migrate while it runs a program such as this
 * one, so one such ban on the current task says nothing.
 */
static inline bool may_go(const struct task_struct *p, s32 cpu)
{
	u32 own = p == bpf_get_current_task_btf();

	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && p->migration_disabled <= own;
}

/* A waiting task goes from one queue to another: its averages, its count. */
static void change_counts(struct fair_task *t, struct fair_queue *from, struct fair_queue *to, s32 cpu, u64 now)
{
	on_moved(t, cpu);
	update_task_load(t, now, true, false);
	count_out(from, t, now);
	leave_load(from, t, now);
	t->cpu = cpu;
	update_queue_load(to, now);
	join_load(to, t, now);
	count_in(to, t, now);
}

/* And its place. */
static __always_inline void change_queue(struct fair_task *t, struct fair_queue *from, struct fair_queue *to, s32 cpu,
					 u64 key, u64 now)
{
	carry_place(t, from, to, cpu, key);
	change_counts(t, from, to, cpu, now);
}

/* A kernel moves a waiting task without a word when it may not be where it was any more; then it is put in again. */
static inline void follow_move(struct fair_task *t, struct fair_queue *q, s32 cpu, u64 now)
{
	struct fair_queue *before = queue_of(t->cpu);

	if (t->cpu != cpu && before)
		change_queue(t, before, q, cpu, order_key_at(t, before, q, cpu, now), now);
}

/* Tells a CPU that a task came. */
static void notify(struct fair_queue *q, const struct fair_task *t, s32 pid, s32 cpu, u64 now)
{
	if (!q->running)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	else if (must_tell(q, t, pid, cpu, now))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/*
 * A CPU found nothing to run and puts its last task back, which may run by now: a limit was lifted meanwhile. It has to
 * look again.
 */
static inline void tell_last(s32 cpu, u64 enq_flags)
{
	if (enq_flags & SCX_ENQ_LAST)
		scx_bpf_kick_cpu(cpu, 0);
}

/* The same, for one that the balancer brings. */
static void notify_moved(struct fair_queue *q, const struct fair_task *t, s32 pid, s32 cpu, u64 now)
{
	if (!q->running)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	else if (must_tell_moved(q, t, pid, cpu, now))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/*
 * Moves a task that waits in the queue of an iterator to @dsq of another CPU, and says that one. False: its own CPU
 * takes it at this moment. What is counted follows the task, for a CPU that is quicker counts it out where it was.
 */
static __always_inline bool move_waiting(struct bpf_iter_scx_dsq *it, struct task_struct *p, struct fair_task *t,
					 struct fair_queue *from, struct fair_queue *to, s32 cpu, u64 dsq, u64 now)
{
	u64 key = order_key_at(t, from, to, cpu, now);

	scx_bpf_dsq_move_set_vtime(it, key);
	if (!scx_bpf_dsq_move_vtime(it, p, dsq, 0))
		return false;
	clear_buddies(from, t, p->pid);
	change_queue(t, from, to, cpu, key, now);
	notify_moved(to, t, p->pid, cpu, now);
	return true;
}

#endif /* SCHEDLAB_FAIR_MOVE_BPF_H */
