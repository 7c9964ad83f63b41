/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs - the Completely Fair Scheduler of Linux 2.6.23 to 6.5.
 *
 * Each CPU has a queue of waiting tasks in the order of their virtual times, and the first one runs next. A task of
 * weight w that runs for d ages by
 *
 *	d * 1024 / w		w = 1024 for nice 0, a quarter more or less for each step of nice
 *
 * so tasks that always want to run get CPU time by their weights. A task runs until a tick finds that it has used its
 * slice, its part by weight of a period in which everybody runs once (fair_slice.bpf.h). One that wakes is put half a
 * period before the others at most, and preempts who runs if its lead exceeds the wakeup granularity. It goes where
 * its waker or it was before and where a CPU idles (fair_select.bpf.h). CPUs balance at ticks and when they run out of
 * tasks, by decayed loads (load_average.bpf.h, fair_balance.bpf.h, fair_pull.bpf.h).
 *
 * Example, one CPU, latency 6 ms, ticks each 4 ms: A and B of nice 0 compute, slices are 3 ms. A runs 0-4, as the tick
 * at 4 is the first after 3 ms, B 4-8, and so on. C sleeps for long and wakes at 9 while A, at virtual time 5, runs: C
 * is put 3 ms before the least virtual time, its lead exceeds 1 ms, and it runs at once. With nice 5 it would need
 * 3.06 ms.
 *
 * Weakness: slices are multiples of ticks, a latency cannot be asked for except by weight, and a sleeper that is not
 * far enough behind waits for a tick however short its work is. Balancing by average load leaves numbers of tasks
 * uneven.
 *
 * Source: Linux 4.9, 6.1 and 6.5, kernel/sched/fair.c; compared with another scheduler in J. Bouron et al., "The
 * battle of the schedulers: FreeBSD ULE vs. Linux CFS", USENIX ATC 2018 (4.9). Task groups and bandwidth limits are
 * left out.
 */
#include <schedlab/common.bpf.h>
#include <schedlab/fair_queue.bpf.h>
#include <schedlab/fair_life.bpf.h>

char _license[] SEC("license") = "GPL";

PARAMETER(bool, child_runs_first, false, "about=A new task runs before its parent.");

s32 BPF_STRUCT_OPS(cfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct fair_task *t = task_of(p);

	if (!t || nr_cpus == 1)
		return prev_cpu;
	return wake_flags & SCX_WAKE_FORK ? select_for_fork(p) : select_for_wakeup(p, t, prev_cpu, wake_flags);
}

/* A task wants a CPU: it gets its place in virtual time. */
void BPF_STRUCT_OPS(cfs_runnable, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_queue *q = queue_of(cpu);
	struct fair_task *t = task_of(p);
	u64 now = scx_bpf_now();

	if (!t || !q)
		return;
	update_queue(q, cpu, now);
	end_idle(q, now);
	if (t->fresh) {
		t->clock.vruntime += q->clock.min_vruntime;
	} else if (t->cpu != cpu) {
		t->clock.vruntime -= min_vruntime_at(t->cpu, now);
		t->clock.vruntime += q->clock.min_vruntime;
	}
	come_to_cpu(q, t, cpu, now);
	if (enq_flags & SCX_ENQ_WAKEUP && !t->fresh)
		t->clock.vruntime = place_sleeper(t, q->clock.min_vruntime, now);
	t->fresh = false;
	count_in(q, t, now);
	arm_idle(now);
}

/* A task waits from now on. If it comes from outside of this CPU it may preempt. */
void BPF_STRUCT_OPS(cfs_enqueue, struct task_struct *p, u64 enq_flags)
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
	scx_bpf_dsq_insert_vtime(p, cpu, 0, t->clock.vruntime, enq_flags);
	update_queue(q, cpu, now);
	if (q->running)
		notify(q, t, p->pid, cpu, now);
}

/* Takes a waiting task by its pid, if it is not behind @limit; of pid 0 the first that is not @but. */
static bool take(s32 cpu, s32 pid, s32 but, u64 limit)
{
	struct task_struct *p;
	bool taken = false;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		if (time_after(p->scx.dsq_vtime, limit))
			break;
		if (pid ? p->pid == pid : p->pid != but) {
			taken = scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0);
			break;
		}
	}
	return taken;
}

/*
 * Picks with regard to buddies: the next, else the last one if it is not far behind who is due, else who is due,
 * unless that one yielded and the second is not far behind. False: nothing was taken, so the running task goes on, if
 * there is one.
 */
static bool pick_buddy(struct fair_queue *q, s32 cpu, struct task_struct *first, bool runs)
{
	bool running_is_due = runs && (!first || time_before(q->clock.vruntime, first->scx.dsq_vtime));
	struct fair_task *t = first ? task_of(first) : NULL;
	s32 due = running_is_due ? q->running : first ? first->pid : 0;
	u64 limit;

	if (running_is_due)
		limit = q->clock.vruntime + wakeup_lead(q->running_weight, q->running_inverse);
	else if (t)
		limit = t->clock.vruntime + wakeup_lead(t->weight, t->inverse);
	else
		return false;
	if (q->clock.next && (q->clock.next != q->running || !runs) && take(cpu, q->clock.next, 0, limit))
		return true;
	if (q->clock.last && (q->clock.last != q->running || !runs) && take(cpu, q->clock.last, 0, limit))
		return true;
	if (q->clock.skip == due) {
		if (!running_is_due && runs && !time_after(q->clock.vruntime, limit))
			return false;
		if (take(cpu, 0, due, limit))
			return true;
	}
	return !running_is_due && take(cpu, 0, 0, limit);
}

/* Gives the CPU to who is due. False: to nobody new. */
static bool pick(struct fair_queue *q, s32 cpu, bool runs)
{
	struct task_struct *first = peek(cpu);

	if (!first)
		return false;
	if (q->clock.next || q->clock.last || q->clock.skip)
		return pick_buddy(q, cpu, first, runs);
	if (runs && time_before(q->clock.vruntime, first->scx.dsq_vtime))
		return false;
	return scx_bpf_dsq_move_to_local(cpu, 0);
}

/* The running task goes on until the tick that will end its slice, as things are. */
static void keep_running(struct fair_queue *q, struct task_struct *p, s32 cpu, u64 now)
{
	u64 first = 0;
	bool waits = first_waiting(cpu, &first);

	q->resched = false;
	q->slice_end = slice_end(cpu, waits, first, now);
	scx_bpf_task_set_slice(p, q->slice_end - now);
}

/* Whether the running task has to be compared with those that wait. */
static bool must_pick(struct fair_queue *q, s32 cpu, u64 now)
{
	u64 first = 0;

	if (q->resched)
		return true;
	return first_waiting(cpu, &first) && tick_is_due(q, first, now);
}

void BPF_STRUCT_OPS(cfs_dispatch, s32 cpu, struct task_struct *prev)
{
	struct fair_queue *q = queue_of(cpu);
	u64 now = scx_bpf_now();
	bool runs, pushed;

	if (!q)
		return;
	runs = still_runnable(prev) && q->running == prev->pid;
	pushed = runs && q->push_pid == prev->pid;
	if (runs) {
		update_queue(q, cpu, now);
		if (!pushed && !must_pick(q, cpu, now)) {
			keep_running(q, prev, cpu, now);
			return;
		}
	}
	q->resched = false;
	if (pick(q, cpu, runs && !pushed))
		return;
	if (pushed)
		return;
	if (runs) {
		clear_buddies(q, prev->pid);
		keep_running(q, prev, cpu, now);
		return;
	}
	q->push_pid = 0;
	if (balance_new_idle(cpu, now) && scx_bpf_dsq_move_to_local(cpu, 0))
		return;
	if (!q->idle_since)
		q->idle_since = now;
	arm_idle(now);
}

void BPF_STRUCT_OPS(cfs_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_queue *q = queue_of(cpu);
	struct fair_task *t = task_of(p);
	u64 now = scx_bpf_now();

	if (!t || !q)
		return;
	begin_running(q, p, t, now);
	q->clock.vruntime = t->clock.vruntime;
	q->clock.ran = 0;
	q->clock.ticks = now / jiffy;
	clear_buddies(q, p->pid);
	arm_busy(q, cpu, now);
	keep_running(q, p, cpu, now);
}

void BPF_STRUCT_OPS(cfs_stopping, struct task_struct *p, bool runnable)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_queue *q = queue_of(cpu);
	struct fair_task *t = task_of(p);
	u64 now = scx_bpf_now();

	if (!t || !q)
		return;
	/* The next one may already have been taken from the queue: it must not be left behind by min_vruntime. */
	if (runnable)
		charge(q, now);
	else
		update_queue(q, cpu, now);
	t->clock.vruntime = q->clock.vruntime;
	end_running(q, t, now);
}

/* A task sleeps, ends, or is taken out for a moment to be changed. */
void BPF_STRUCT_OPS(cfs_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;
	u64 now = scx_bpf_now();

	if (!q || !t->runnable)
		return;
	update_queue(q, t->cpu, now);
	clear_buddies(q, p->pid);
	count_out(q, t, now);
	/* 4.9 lets it follow at the next event. */
	if (!is_4_9())
		q->clock.min_vruntime = min_vruntime_at(t->cpu, now);
}

/* Others go first, if one is not far behind. */
bool BPF_STRUCT_OPS(cfs_yield, struct task_struct *from, struct task_struct *to)
{
	struct fair_task *t = task_of(from);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;

	if (q && q->nr_running > 1) {
		q->clock.skip = from->pid;
		q->resched = true;
		scx_bpf_task_set_slice(from, 0);
	}
	return false;
}

/* Its nice value or its class has changed. */
void BPF_STRUCT_OPS(cfs_set_weight, struct task_struct *p, u32 weight)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;

	if (q)
		change_weight(q, p, t, scx_bpf_now());
}

/* A new task stands where its parent does or a slice behind the others, whichever is later. */
static void place_child(struct fair_task *t, struct task_struct *parent)
{
	s32 cpu = bpf_get_smp_processor_id();
	struct fair_queue *q = queue_of(cpu);
	u64 vruntime;

	if (!q)
		return;
	update_queue(q, cpu, scx_bpf_now());
	vruntime = place_new(q, t, q->running ? q->clock.vruntime : q->clock.min_vruntime, q->clock.min_vruntime);
	if (child_runs_first && q->running && q->running == parent->pid && time_before(q->clock.vruntime, vruntime)) {
		u64 swapped = q->clock.vruntime;

		q->clock.vruntime = vruntime;
		vruntime = swapped;
		q->resched = true;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
	t->clock.vruntime = vruntime - q->clock.min_vruntime;
}

s32 BPF_STRUCT_OPS(cfs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct fair_task *t = new_task(p);

	if (!t)
		return -ENOMEM;
	if (args->fork)
		place_child(t, bpf_get_current_task_btf());
	return 0;
}

void BPF_STRUCT_OPS(cfs_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	end_task(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(cfs_init)
{
	scale_times(scx_bpf_nr_cpu_ids());
	return init_queues();
}

SCX_OPS_DEFINE(cfs_ops,
	       .select_cpu = (void *)cfs_select_cpu,
	       .enqueue = (void *)cfs_enqueue,
	       .dispatch = (void *)cfs_dispatch,
	       .runnable = (void *)cfs_runnable,
	       .running = (void *)cfs_running,
	       .stopping = (void *)cfs_stopping,
	       .quiescent = (void *)cfs_quiescent,
	       .yield = (void *)cfs_yield,
	       .set_weight = (void *)cfs_set_weight,
	       .init_task = (void *)cfs_init_task,
	       .exit_task = (void *)cfs_exit_task,
	       .init = (void *)cfs_init,
	       .flags = SCX_OPS_ENQ_LAST,
	       .name = "cfs");
