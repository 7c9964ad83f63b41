/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fair scheduling class of a CPU: what happens to a task from wake-up to sleep, as Linux' CFS does it, without the
 * question on which CPU that is.
 *
 * A CPU runs the waiting task with the smallest virtual time, with some regard to buddies, until a tick finds that its
 * slice is used. These are the callbacks of the ops table except for select_cpu. A policy that includes this gives the
 * functions that are declared first: what its tasks weigh, where they go, and what a CPU without work does.
 *
 * Source: Linux 4.9, 6.1 and 6.5, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_FAIR_CLASS_BPF_H
#define SCHEDLAB_FAIR_CLASS_BPF_H

#include <schedlab/fair_queue.bpf.h>
#include <schedlab/fair_life.bpf.h>
#include <schedlab/fair_limits.bpf.h>
#include <schedlab/fair_pick.bpf.h>

PARAMETER(bool, child_runs_first, false, "about=Whether a new task runs before its parent.");

/* A task wants a CPU from now on, and is counted in the queue of `t->cpu`; or will be counted there no more. */
static inline void on_runnable(struct fair_queue *q, struct fair_task *t, u64 now);
static inline void on_quiescent(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 deq_flags,
				u64 now);

/* Whether the policy wants the running task to go to another CPU. If so, redirect() will be asked when it waits. */
static inline bool must_leave(struct fair_queue *q, const struct task_struct *p);

/* A task is about to wait. True: the policy has put it into another CPU's queue. */
static inline bool redirect(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 enq_flags, u64 now);

/* A task has got the CPU, or has left it: it is charged, and none runs. */
static inline void on_running(struct fair_queue *q, s32 cpu, u64 now);
static inline void on_stopping(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 now);

/* The running task, which is charged, continues: until when at most, before the policy wants to see it again. */
static inline u64 review(struct fair_queue *q, struct task_struct *p, u64 now);

/* A CPU has no task: whether one came to its queue by that; and if not, it idles. */
static inline bool find_work(struct fair_queue *q, s32 cpu, u64 now);
static inline void on_idle(struct fair_queue *q, u64 now);

/* The last thing in init(). */
static inline s32 init_policy(void);

/* A task wants a CPU: it gets its place in virtual time. */
void BPF_STRUCT_OPS(fair_runnable, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_queue *q = queue_of(cpu);
	struct fair_task *t = task_of(p);
	u64 now = scx_bpf_now();

	if (!t || !q)
		return;
	update_queue(q, cpu, now);
	if (t->fresh) {
		t->clock.vruntime += base_of(t, cpu);
	} else if (t->cpu != cpu) {
		t->clock.vruntime -= base_at(t, t->cpu, now);
		t->clock.vruntime += base_of(t, cpu);
	}
	come_to_cpu(q, t, cpu, now);
	if (enq_flags & SCX_ENQ_WAKEUP && !t->fresh)
		t->clock.vruntime = place_sleeper(t, base_of(t, cpu), now);
	t->fresh = false;
	if (!may_come(p, t, cpu, now))
		return;
	if (has_groups())
		place_groups_above(number_of(t));
	count_in(q, t, now);
	on_runnable(q, t, now);
}

/* A task waits from now on. If it comes from outside of this CPU it may preempt. */
void BPF_STRUCT_OPS(fair_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_queue *q = queue_of(cpu);
	struct fair_task *t = task_of(p);
	u64 now = scx_bpf_now();

	if (!t || !q) {
		/* Cannot be: init_task() made it or refused the task. */
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	t->interrupted = t->gives_way = false;
	if (waits_aside(q, p, t, cpu, enq_flags, now))
		return;
	follow_move(t, q, cpu, now);
	if (redirect(q, p, t, enq_flags, now))
		return;
	scx_bpf_dsq_insert_vtime(p, waiting_dsq(t, cpu), 0, t->clock.vruntime, enq_flags);
	update_queue(q, cpu, now);
	if (q->running)
		notify(q, t, p->pid, cpu, now);
	else
		tell_last(cpu, enq_flags);
}

/* The running task continues until the tick that will end its slice, as things are. */
static void keep_running(struct fair_queue *q, struct task_struct *p, s32 cpu, u64 now)
{
	u64 first = 0, limit = review(q, p, now);
	bool waits = !has_groups() && first_waiting(cpu, &first);

	q->resched = false;
	q->slice_end = has_groups() ? tree_slice_end(cpu, now) : slice_end(cpu, waits, first, now);
	if (q->slice_end > limit)
		q->slice_end = limit;
	q->slice_end = limited_end(q, cpu, q->slice_end, now);
	scx_bpf_task_set_slice(p, q->slice_end - now);
}

/* Whether the running task has to be compared with those that wait. */
static bool must_pick(struct fair_queue *q, s32 cpu, u64 now)
{
	u64 first = 0;

	if (q->resched)
		return true;
	if (has_groups())
		return tree_tick_is_due(cpu, now);
	return first_waiting(cpu, &first) && tick_is_due(q, first, now);
}

void BPF_STRUCT_OPS(fair_dispatch, s32 cpu, struct task_struct *prev)
{
	struct fair_queue *q = queue_of(cpu);
	u64 now = scx_bpf_now();
	struct fair_task *t;
	bool runs, leaves;

	if (!q)
		return;
	q->arriving = 0;
	runs = still_runnable(prev) && q->running == prev->pid;
	if (runs)
		follow_ticks(q, prev, now);
	leaves = take_back_released(q, runs ? prev : NULL, cpu, now);
	leaves |= runs && must_leave(q, prev);
	clear_waiting(cpu, now);
	if (runs) {
		update_queue(q, cpu, now);
		if (!leaves && !must_pick(q, cpu, now)) {
			keep_running(q, prev, cpu, now);
			return;
		}
	}
	q->resched = false;
	if (pick(q, cpu, runs && !leaves))
		return;
	if (leaves)
		return;
	if (runs) {
		t = task_of(prev);
		if (t)
			clear_buddies(q, t, prev->pid);
		keep_running(q, prev, cpu, now);
		return;
	}
	if (find_work(q, cpu, now) && take_what_came(q, cpu))
		return;
	on_idle(q, now);
}

void BPF_STRUCT_OPS(fair_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_queue *q = queue_of(cpu);
	struct fair_task *t = task_of(p);
	u64 now = scx_bpf_now();
	bool again;

	if (!t || !q)
		return;
	again = must_choose_anew(p, t->interrupted || t->gives_way);
	again |= rejoin(q, p, t, cpu, now);
	begin_running(q, p, t, now);
	q->clock.ticks = ticks_until(q, now);
	if (has_groups()) {
		begin_in_tree(t, p->pid, now);
	} else {
		q->running_number = cpu;
		q->clock.vruntime = t->clock.vruntime;
		q->clock.ran = 0;
		forget(&q->clock.buddies, p->pid);
	}
	begin_limits(q, t, cpu);
	on_running(q, cpu, now);
	keep_running(q, p, cpu, now);
	if (again) {
		q->resched = true;
		choose_anew(cpu);
	}
}

void BPF_STRUCT_OPS(fair_stopping, struct task_struct *p, bool runnable)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_queue *q = queue_of(cpu);
	struct fair_task *t = task_of(p);
	u64 now = scx_bpf_now();

	if (!t || !q)
		return;
	/*
	 * The next one may already have been taken from the queue: it must not be left behind by min_vruntime. A higher
	 * class takes none, and put_prev_entity() lets min_vruntime follow: tasks that come meanwhile are placed by it.
	 */
	t->interrupted = is_interrupted(p, runnable);
	t->gives_way = !runnable && q->resched;
	if (runnable && !t->interrupted)
		charge(q, now);
	else
		update_queue(q, cpu, now);
	end_running(q, t, now);
	if (has_groups())
		end_in_tree(t, t->interrupted, now);
	else
		t->clock.vruntime = q->clock.vruntime;
	on_stopping(q, p, t, now);
}

/* A task sleeps, ends, or is taken out for a moment to be changed. */
void BPF_STRUCT_OPS(fair_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;
	u64 now = scx_bpf_now();

	if (q)
		leave_aside(p, t);
	if (!q || !t->runnable)
		return;
	update_queue(q, t->cpu, now);
	clear_buddies(q, t, p->pid);
	on_quiescent(q, p, t, deq_flags, now);
	count_out(q, t, now);
	leave_limits(t, now);
	if (has_groups())
		favour_siblings(number_of(t), deq_flags & SCX_DEQ_SLEEP);
	/* 4.9 lets it follow at the next event. */
	if (!is_4_9() && has_groups())
		follow_in_tree(number_of(t), now);
	else if (!is_4_9())
		q->clock.min_vruntime = min_vruntime_at(t->cpu, now);
}

/* Others go first, if one is not far behind. */
bool BPF_STRUCT_OPS(fair_yield, struct task_struct *from, struct task_struct *to)
{
	struct fair_task *t = task_of(from);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;

	if (q && q->nr_running > 1) {
		if (has_groups())
			skip_in_tree(t, from->pid);
		else
			q->clock.buddies.skip = from->pid;
		q->resched = true;
		scx_bpf_task_set_slice(from, 0);
	}
	return false;
}

/* Its nice value or its class has changed. */
void BPF_STRUCT_OPS(fair_set_weight, struct task_struct *p, u32 weight)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;

	if (!q)
		return;
	note_priority(p, t);
	reweigh(q, p, t, scx_bpf_now());
}

/* What a new task is to have when it comes. */
static u64 slice_of_child(const struct fair_queue *q, const struct fair_task *t, s32 cpu)
{
	if (has_groups())
		return slice_in_tree(number_on(t, cpu), t->weight, t->class == CLASS_IDLE, true);
	return slice_in(q, t->weight, t->class, true);
}

/* A new task stands where its parent does or a slice behind the others, whichever is later. */
static void place_child(struct fair_task *t, struct task_struct *parent)
{
	s32 cpu = bpf_get_smp_processor_id();
	struct fair_queue *q = queue_of(cpu), *own = queue_at(number_on(t, cpu));
	u64 vruntime, base;

	if (!q || !own)
		return;
	update_queue(q, cpu, scx_bpf_now());
	base = own->clock.min_vruntime;
	vruntime = place_new(t, slice_of_child(q, t, cpu), own->running ? own->clock.vruntime : base, base);
	if (child_runs_first && own->running == parent->pid && time_before(own->clock.vruntime, vruntime)) {
		u64 swapped = own->clock.vruntime;

		own->clock.vruntime = vruntime;
		vruntime = swapped;
		q->resched = true;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
	t->clock.vruntime = vruntime - base;
}

s32 BPF_STRUCT_OPS(fair_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct fair_task *t = new_task(p, args->fork);
	s32 error;

	if (!t)
		return -ENOMEM;
	join_control_group(t, args->cgroup);
	error = join_process(p, t);
	if (!error && args->fork)
		place_child(t, bpf_get_current_task_btf());
	return error;
}

void BPF_STRUCT_OPS(fair_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	end_task(p);
	leave_process(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(fair_init)
{
	s32 error = init_queues();

	scale_times(nr_cpus);
	return error ?: init_groups() ?: init_policy();
}

/* What an ops table has of this. */
#define FAIR_CLASS_OPS							\
	.enqueue = (void *)fair_enqueue,				\
	.dispatch = (void *)fair_dispatch,				\
	.runnable = (void *)fair_runnable,				\
	.running = (void *)fair_running,				\
	.stopping = (void *)fair_stopping,				\
	.quiescent = (void *)fair_quiescent,				\
	.yield = (void *)fair_yield,					\
	.set_weight = (void *)fair_set_weight,				\
	.init_task = (void *)fair_init_task,				\
	.exit_task = (void *)fair_exit_task,				\
	.init = (void *)fair_init,					\
	.flags = SCX_OPS_ENQ_LAST

#endif /* SCHEDLAB_FAIR_CLASS_BPF_H */
