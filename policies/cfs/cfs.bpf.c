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
#include <schedlab/fair_pull.bpf.h>
#include <schedlab/fair_select.bpf.h>

char _license[] SEC("license") = "GPL";

PARAMETER(bool, child_runs_first, false, "about=A new task runs before its parent.");

s32 BPF_STRUCT_OPS(cfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct fair_task *t = task_of(p);

	if (!t || nr_cpus == 1)
		return prev_cpu;
	return wake_flags & SCX_WAKE_FORK ? select_for_fork(p) : select_for_wakeup(p, t, prev_cpu, wake_flags);
}

/* A task that waits or sleeps changes its CPU: its averages go along, and its distance to min_vruntime. */
static void change_cpu(struct fair_task *t, struct fair_queue *q, s32 cpu, u64 now)
{
	struct fair_queue *from = queue_of(t->cpu);

	if (from && !t->fresh) {
		update_queue_load(from, now);
		load_average_detach(&from->average, &t->average, load_rule());
		t->vruntime -= min_vruntime_at(t->cpu, now);
		t->vruntime += q->min_vruntime;
	}
	update_queue_load(q, now);
	load_average_attach(&q->average, &t->average, load_rule());
	t->cpu = cpu;
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
		begin_averages(t, q, now);
		t->vruntime += q->min_vruntime;
	} else {
		update_task_load(t, now, false, false);
	}
	if (t->fresh || t->cpu != cpu)
		change_cpu(t, q, cpu, now);
	if (enq_flags & SCX_ENQ_WAKEUP && !t->fresh)
		t->vruntime = place_sleeper(t, q->min_vruntime, now);
	t->fresh = false;
	count_in(q, t, now);
	arm_idle(now);
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
	scx_bpf_dsq_insert_vtime(p, to, 0, t->vruntime, enq_flags);
	notify(other, t, p->pid, to, now);
	return true;
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
	scx_bpf_dsq_insert_vtime(p, cpu, 0, t->vruntime, enq_flags);
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
	bool running_is_due = runs && (!first || time_before(q->vruntime, first->scx.dsq_vtime));
	struct fair_task *t = first ? task_of(first) : NULL;
	s32 due = running_is_due ? q->running : first ? first->pid : 0;
	u64 limit;

	if (running_is_due)
		limit = q->vruntime + wakeup_lead(q->running_weight, q->running_inverse);
	else if (t)
		limit = t->vruntime + wakeup_lead(t->weight, t->inverse);
	else
		return false;
	if (q->next && (q->next != q->running || !runs) && take(cpu, q->next, 0, limit))
		return true;
	if (q->last && (q->last != q->running || !runs) && take(cpu, q->last, 0, limit))
		return true;
	if (q->skip == due) {
		if (!running_is_due && runs && !time_after(q->vruntime, limit))
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
	if (q->next || q->last || q->skip)
		return pick_buddy(q, cpu, first, runs);
	if (runs && time_before(q->vruntime, first->scx.dsq_vtime))
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
	update_task_load(t, now, true, false);
	update_queue_load(q, now);
	q->running = p->pid;
	q->running_weight = t->weight;
	q->running_inverse = t->inverse;
	q->running_class = t->class;
	q->vruntime = t->vruntime;
	q->charged_at = now;
	q->ran = 0;
	q->ticks = now / jiffy;
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
	t->vruntime = q->vruntime;
	t->ran_until = now;
	update_task_load(t, now, true, true);
	update_queue_load(q, now);
	q->running = 0;
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
		q->min_vruntime = min_vruntime_at(t->cpu, now);
}

/* Others go first, if one is not far behind. */
bool BPF_STRUCT_OPS(cfs_yield, struct task_struct *from, struct task_struct *to)
{
	struct fair_task *t = task_of(from);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;

	if (q && q->nr_running > 1) {
		q->skip = from->pid;
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
	bool runnable = t && t->runnable;
	u64 now = scx_bpf_now();

	if (!q)
		return;
	if (runnable)
		count_out(q, t, now);
	t->weight = weight_of(p);
	t->inverse = inverse_of(p);
	t->class = p->policy;
	if (runnable)
		count_in(q, t, now);
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
	vruntime = place_new(q, t, q->running ? q->vruntime : q->min_vruntime, q->min_vruntime);
	if (child_runs_first && q->running && q->running == parent->pid && time_before(q->vruntime, vruntime)) {
		u64 swapped = q->vruntime;

		q->vruntime = vruntime;
		vruntime = swapped;
		q->resched = true;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
	t->vruntime = vruntime - q->min_vruntime;
}

s32 BPF_STRUCT_OPS(cfs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct fair_task *t = bpf_task_storage_get(&fair_tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		return -ENOMEM;
	t->weight = weight_of(p);
	t->inverse = inverse_of(p);
	t->class = p->policy;
	t->cpu = scx_bpf_task_cpu(p);
	t->recent_cpu = t->cpu;
	t->fresh = true;
	if (args->fork)
		place_child(t, bpf_get_current_task_btf());
	return 0;
}

/* What a task has left of its load goes with it. */
void BPF_STRUCT_OPS(cfs_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
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

s32 BPF_STRUCT_OPS_SLEEPABLE(cfs_init)
{
	s32 cpu, error = 0;

	nr_cpus = scx_bpf_nr_cpu_ids();
	if (nr_cpus > MAX_CPUS) {
		scx_bpf_error("%d CPUs, at most %d are supported", nr_cpus, MAX_CPUS);
		return -E2BIG;
	}
	jiffy = NS_PER_S / hz;
	nr_idle = nr_cpus;
	scale_times(nr_cpus);
	cache_size = domain_size(LEVEL_CACHE, nr_cpus);
	bpf_for(cpu, 0, (s32)nr_cpus) {
		error = scx_bpf_create_dsq(cpu, NUMA_NO_NODE);
		if (error)
			return error;
	}
	return init_balancing();
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
