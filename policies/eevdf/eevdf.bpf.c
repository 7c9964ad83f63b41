/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * eevdf - Earliest Eligible Virtual Deadline First, the fair scheduler of Linux since 6.6.
 *
 * A task asks for slices of CPU time, one after the other. A task of weight w that runs for d ages by d * 1024 / w of virtual
 * time, and its request for a slice r has the deadline v + r * 1024 / w. V is the average of the virtual times by weight.
 * Who is not ahead of V has got no more than its share: it is eligible. Of the eligible tasks the one with the earliest
 * deadline runs, until a tick finds that it has used up its request; so a shorter slice is served sooner, and the share is
 * the same. A task that sleeps keeps its lag V - v for when it comes back; one that sleeps with a debt stays in the average
 * until the debt is paid.
 *
 * Example, one CPU, slice 2.8 ms, ticks each 4 ms: A and B of nice 0 compute. A runs 0-4 and is 2 ms ahead of V = 2; B is
 * eligible, with the deadline 2.8, and runs 4-8. Then V = 4, both are eligible, and A has the earlier deadline.
 *
 * Weakness: whoever asks for short slices is switched often, and pays for it; slices are multiples of ticks; a task that wakes
 * without lag and with the usual slice waits until the running one has used up its own.
 *
 * Source: I. Stoica, H. Abdel-Wahab, "Earliest Eligible Virtual Deadline First", 1995; Linux 6.12, 6.18 and 7.1,
 * kernel/sched/fair.c. Task groups and bandwidth limits are left out.
 */
#include "eevdf_pick.bpf.h"
#include "eevdf_move.bpf.h"

#include <schedlab/fair_pull.bpf.h>
#include <schedlab/fair_select.bpf.h>

char _license[] SEC("license") = "GPL";

/* A debtor stays where it is: it was never away. */
s32 BPF_STRUCT_OPS(eevdf_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;

	if (!q || nr_cpus == 1 || debt_of(q, t, p->pid))
		return prev_cpu;
	return wake_flags & SCX_WAKE_FORK ? select_for_fork(p) : select_for_wakeup(p, t, prev_cpu, wake_flags);
}

/* What a task asks for: the kernel knows it, where it can be told. */
static u64 slice_of(const struct task_struct *p)
{
	if (bpf_core_field_exists(p->se.custom_slice) && p->se.custom_slice && p->se.slice)
		return p->se.slice < MIN_SLICE ? MIN_SLICE : p->se.slice > MAX_SLICE ? MAX_SLICE : p->se.slice;
	return default_slice;
}

/* A debtor wakes: it goes on from where it was, and if it has become a creditor meanwhile, from V. */
static void return_debtor(struct fair_queue *q, struct fair_task *t, struct debtor *debtor)
{
	s64 lag = lag_of(q, t), kept = lag > 0 ? 0 : lag;
	bool again = lag > 0;

	if (version == LINUX_7_1) {
		kept = kept > t->clock.lag ? kept : t->clock.lag;
		again = kept != t->clock.lag;
	}
	forget_debtor(q, debtor);
	t->clock.is_debtor = false;
	if (again) {
		t->clock.lag = kept;
		place(q, t, false);
	}
}

/* A task wants a CPU: it gets its place in virtual time. */
void BPF_STRUCT_OPS(eevdf_runnable, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_queue *q = queue_of(cpu);
	struct fair_task *t = task_of(p);
	struct debtor *debtor;
	u64 now = scx_bpf_now();

	if (!t || !q)
		return;
	update_queue(q, cpu, now);
	end_idle(q, now);
	debtor = t->cpu == cpu ? debt_of(q, t, p->pid) : NULL;
	t->woke_debtor = debtor;
	t->clock.slice = slice_of(p);
	come_to_cpu(q, t, cpu, now);
	if (debtor) {
		return_debtor(q, t, debtor);
	} else {
		t->clock.is_debtor = false;
		place(q, t, t->fresh);
	}
	t->was_new = t->fresh;
	t->fresh = false;
	enter_tree(q, t);
	count_in(q, t, now);
	arm_idle(now);
}

/* A task waits from now on. If it comes from outside of this CPU it may preempt. */
void BPF_STRUCT_OPS(eevdf_enqueue, struct task_struct *p, u64 enq_flags)
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
	if (q->push_pid == p->pid && push(q, p, t, enq_flags, now))
		return;
	scx_bpf_dsq_insert_vtime(p, cpu, 0, t->clock.deadline, enq_flags);
	update_queue(q, cpu, now);
	if (q->running)
		notify(q, t, p->pid, cpu, now);
}

/* The running task goes on until the tick at which it has to be looked at. */
static void keep_running(struct fair_queue *q, struct task_struct *p, u64 now)
{
	q->slice_end = slice_end(q);
	if (q->lazy_resched && time_before(next_tick(now), q->slice_end))
		q->slice_end = next_tick(now);
	scx_bpf_task_set_slice(p, q->slice_end - now);
}

/* Whether the running task has to be compared with those that wait. */
static bool must_pick(struct fair_queue *q, u64 now)
{
	if (q->lazy_resched && !time_before(now, q->lazy_until))
		q->resched = true;
	return q->resched || (q->clock.nr_queued && now / jiffy > q->ticks && tick_is_due(q));
}

void BPF_STRUCT_OPS(eevdf_dispatch, s32 cpu, struct task_struct *prev)
{
	struct fair_queue *q = queue_of(cpu);
	u64 now = scx_bpf_now();
	bool runs, pushed;

	if (!q)
		return;
	runs = still_runnable(prev) && q->running == prev->pid;
	pushed = runs && q->push_pid == prev->pid;
	update_queue(q, cpu, now);
	if (runs && !pushed && !must_pick(q, now)) {
		keep_running(q, prev, now);
		return;
	}
	q->resched = q->lazy_resched = false;
	if (pick(q, cpu, runs && !pushed, runs) || pushed)
		return;
	if (runs) {
		protect(q, cpu);
		q->ticks = now / jiffy;
		keep_running(q, prev, now);
		return;
	}
	q->push_pid = 0;
	if (balance_new_idle(cpu, now) && pick(q, cpu, false, false))
		return;
	if (!q->idle_since)
		q->idle_since = now;
	arm_idle(now);
}

void BPF_STRUCT_OPS(eevdf_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_queue *q = queue_of(cpu);
	struct fair_task *t = task_of(p);
	u64 now = scx_bpf_now();

	if (!t || !q)
		return;
	if (t->clock.in_tree)
		leave_tree(q, t);
	begin_running(q, p, t, now);
	q->clock.vruntime = t->clock.vruntime;
	q->clock.deadline = t->clock.deadline;
	q->clock.slice = t->clock.slice;
	q->charged_at = now;
	q->ticks = now / jiffy;
	protect(q, cpu);
	arm_busy(q, cpu, now);
	keep_running(q, p, now);
}

void BPF_STRUCT_OPS(eevdf_stopping, struct task_struct *p, bool runnable)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_queue *q = queue_of(cpu);
	struct fair_task *t = task_of(p);
	u64 now = scx_bpf_now();

	if (!t || !q)
		return;
	update_queue(q, cpu, now);
	t->clock.vruntime = q->clock.vruntime;
	t->clock.deadline = q->clock.deadline;
	end_running(q, t, now);
	enter_tree(q, t);
}

/* A task sleeps, ends, or is taken out for a moment to be changed. It takes its lag along, or leaves its debt here. */
void BPF_STRUCT_OPS(eevdf_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;
	bool sleeps = deq_flags & SCX_DEQ_SLEEP;
	u64 now = scx_bpf_now();

	if (!q || !t->runnable)
		return;
	update_queue(q, t->cpu, now);
	t->clock.lag = lag_of(q, t);
	count_out(q, t, now);
	if (t->clock.in_tree) {
		bool owes = sleeps && delay_dequeue && !is_eligible(q, t->clock.vruntime);

		leave_tree(q, t);
		if (owes && become_debtor(q, t, p->pid))
			sum_add(&q->clock, t->clock.vruntime, t->weight);
	}
	if (!sleeps) {
		t->clock.deadline -= t->clock.vruntime;
		t->clock.is_relative = true;
	}
}

/* The rest of the request is given up. */
bool BPF_STRUCT_OPS(eevdf_yield, struct task_struct *from, struct task_struct *to)
{
	struct fair_task *t = task_of(from);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;

	if (!q || q->running != from->pid || !q->clock.nr_queued)
		return false;
	update_queue(q, t->cpu, scx_bpf_now());
	if (is_eligible(q, q->clock.vruntime)) {
		q->clock.vruntime = q->clock.deadline;
		renew_request(q);
	}
	q->resched = true;
	q->clock.is_protected = false;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* Its nice value or its class has changed. Its lag and its distance to the deadline are worth as much as before. */
static void reweight(struct fair_queue *q, struct fair_task *t, u32 weight)
{
	struct task_clock *k = &t->clock;
	u64 average = average_vruntime(q);
	s64 lag = clamp_lag((s64)(average - k->vruntime), lag_limit(q, t));

	k->vruntime = average - truncated_div(lag * (s64)t->weight, weight);
	k->deadline = average + truncated_div((s64)(k->deadline - average) * (s64)t->weight, weight);
}

void BPF_STRUCT_OPS(eevdf_set_weight, struct task_struct *p, u32 weight)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;
	u32 after = weight_of(p);

	if (!q)
		return;
	if (!t->runnable && t->weight != after)
		t->clock.lag = truncated_div(t->clock.lag * (s64)t->weight, after);
	change_weight(q, p, t, scx_bpf_now());
}

s32 BPF_STRUCT_OPS(eevdf_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct fair_task *t = new_task(p);

	if (!t)
		return -ENOMEM;
	t->clock.slice = slice_of(p);
	return 0;
}

/* A task ends, maybe as a debtor. */
void BPF_STRUCT_OPS(eevdf_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;
	struct debtor *debtor = q ? debt_of(q, t, p->pid) : NULL;

	if (debtor)
		forget_debtor(q, debtor);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(eevdf_init)
{
	default_slice = base_slice * scaling_factor(scx_bpf_nr_cpu_ids());
	return init_queues() ?: init_balancing();
}

SCX_OPS_DEFINE(eevdf_ops,
	       .select_cpu = (void *)eevdf_select_cpu,
	       .enqueue = (void *)eevdf_enqueue,
	       .dispatch = (void *)eevdf_dispatch,
	       .runnable = (void *)eevdf_runnable,
	       .running = (void *)eevdf_running,
	       .stopping = (void *)eevdf_stopping,
	       .quiescent = (void *)eevdf_quiescent,
	       .yield = (void *)eevdf_yield,
	       .set_weight = (void *)eevdf_set_weight,
	       .init_task = (void *)eevdf_init_task,
	       .exit_task = (void *)eevdf_exit_task,
	       .init = (void *)eevdf_init,
	       .flags = SCX_OPS_ENQ_LAST,
	       .name = "eevdf");
