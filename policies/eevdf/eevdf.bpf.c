/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * eevdf - Earliest Eligible Virtual Deadline First, the fair scheduler of Linux since 6.6.
 *
 * A task asks for slices of CPU time, one after the other. A task of weight w that runs for d ages by d * 1024 / w of
 * virtual time, and its request for a slice r has the deadline v + r * 1024 / w. V is the average of the virtual times
 * by weight. A task not ahead of V has got no more than its share: it is eligible. Of the eligible tasks the one with
 * the earliest deadline runs, until a tick finds that it has used up its request; so a shorter slice is served sooner,
 * and the share is the same. A task that sleeps keeps its lag V - v for when it comes back; one that sleeps with a
 * debt stays in the average until the debt is paid.
 *
 * Example, one CPU, slice 2.8 ms, ticks each 4 ms: A and B of nice 0 compute. A runs 0-4 and is 2 ms ahead of V = 2; B
 * is eligible, with the deadline 2.8, and runs 4-8. Then V = 4, both are eligible, and A has the earlier deadline.
 *
 * Weakness: a task with short slices is switched often, and pays for it; slices are multiples of ticks; a task
 * that wakes without lag and with the usual slice waits until the running one has used up its own.
 *
 * Source: I. Stoica, H. Abdel-Wahab, "Earliest Eligible Virtual Deadline First", 1995; Linux 6.12, 6.18, 7.1 and 7.3,
 * kernel/sched/fair.c.
 */
#include <schedlab/common.bpf.h>
#include <eevdf/hrtick.bpf.h>
#include <eevdf/groups.bpf.h>
#include <schedlab/fair_life.bpf.h>
#include <schedlab/fair_pull.bpf.h>
#include <schedlab/fair_select.bpf.h>

char _license[] SEC("license") = "GPL";

PARAMETER(bool, protect_again, false,
	  "about=Whether a task that continues because it is picked again is protected too. Kernels protect only at a "
	  "switch.");

static inline void weigh(const struct task_struct *p, struct fair_task *t)
{
	weigh_by_nice(p, t);
	t->own_weight = t->weight;
	t->scaled_weight = scaled(t->weight);
}

static inline void on_moved(struct fair_task *t, s32 cpu)
{
	u64 now;

	if (!has_control_groups())
		return;
	now = scx_bpf_now();
	leave_groups(t, t->cpu, now);
	begin_use(t->control_slot, cpu, now);
	join_groups(t, cpu, now);
	if (has_tree()) {
		make_stale(t->cpu);
		make_stale(cpu);
	}
}

/* A new task has the load of one that has always been runnable. */
static inline void on_load(struct fair_task *t, bool comes)
{
	u64 runnable = t->average.runnable;

	if (has_control_groups() && t->control_slot != ROOT_SLOT)
		carry_in_groups(t->control_slot, t->cpu,
				t->fresh ? t->own_weight : t->own_weight * runnable / LOAD_UTIL_MAX, runnable, comes);
}

static inline void on_balance(u32 cpu, u64 now)
{
	if (has_control_groups())
		fade_groups(cpu, now);
}

/* A task that has left a debt was never away, and stays where it is. */
s32 BPF_STRUCT_OPS(eevdf_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_at(number_of(t)) : NULL;

	if (t)
		t->clock.waker = bpf_get_smp_processor_id();
	if (!q || nr_cpus == 1 || debt_of(q, t, p->pid))
		return prev_cpu;
	return wake_flags & SCX_WAKE_FORK ? select_for_fork(p) : select_for_wakeup(p, t, prev_cpu, wake_flags);
}

/* What a task asks for. Kernels since 6.12 know it. */
static u64 slice_of(const struct task_struct *p)
{
	bool custom = bpf_core_field_exists(p->se.custom_slice) && p->se.custom_slice;

	return request_slice(custom ? p->se.slice : 0, nr_cpus);
}

/* A task wants a CPU: it gets its place in virtual time. */
void BPF_STRUCT_OPS(eevdf_runnable, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_queue *q = queue_of(cpu), *before, *own;
	struct fair_task *t = task_of(p);
	u64 now = scx_bpf_now();
	enum comeback comeback = ANEW;
	bool held;

	if (!t || !q)
		return;
	update_queue(q, now);
	if (has_tree())
		settle_groups(cpu, now);
	end_idle(q, now);
	before = queue_at(number_of(t));
	t->clock.was_new = t->fresh;
	t->clock.was_debtor = before && debt_of(before, t, p->pid);
	if (before && t->clock.is_debtor)
		comeback = return_from_debt(before, t, p->pid, t->cpu == cpu, now);
	t->clock.slice = slice_of(p);
	come_to_cpu(q, t, cpu, now);
	held = has_control_groups() && !enter_groups(p, t, cpu, comeback != ANEW, now);
	own = queue_at(number_of(t));
	if (own && comeback != TO_ITS_PLACE && (!held || throttles_queues()))
		place(own, t, t->fresh, now);
	t->fresh = false;
	if (held) {
		enter_queue_aside(t);
		arm_idle(now);
		return;
	}
	enter_place(t, now);
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
	t->interrupted = t->gives_way = false;
	if (has_control_groups() && (t->aside || is_held_back(t, cpu))) {
		t->clock.waker = -1;
		put_aside(q, p, t, cpu, enq_flags, now);
		return;
	}
	follow_move(t, q, cpu, now);
	if (is_pushed(q, p) && push(q, p, t, enq_flags, now))
		return;
	scx_bpf_dsq_insert_vtime(p, waiting_dsq(t, cpu), 0, order_key(t), enq_flags);
	update_queue(q, now);
	if (q->running) {
		notify(q, t, p->pid, cpu, now);
		set_hrtick(q, cpu, now);
	} else {
		tell_last(cpu, enq_flags);
	}
	t->clock.waker = -1;
}

/* The running task continues until the tick at which it has to be looked at. */
static void keep_running(struct fair_queue *q, struct task_struct *p, s32 cpu, u64 now)
{
	q->slice_end = limited_end(q, cpu, cpu_slice_end(q, now), now);
	if (q->resched && time_before(q->clock.lazy_until, q->slice_end))
		q->slice_end = q->clock.lazy_until;
	scx_bpf_task_set_slice(p, q->slice_end - now);
}

void BPF_STRUCT_OPS(eevdf_dispatch, s32 cpu, struct task_struct *prev)
{
	struct fair_queue *q = queue_of(cpu);
	u64 now = scx_bpf_now();
	bool runs, pushed, shortened;
	struct fair_task *t;

	if (!q)
		return;
	q->arriving = 0;
	runs = still_runnable(prev) && q->running == prev->pid;
	if (has_tree() && READ_ONCE(q->clock.is_stale)) {
		update_queue(q, now);
		settle_groups(cpu, now);
	}
	if (has_control_groups() && q->released) {
		update_queue(q, now);
		take_released(q, cpu, now);
	}
	shortened = q->clock.shortened;
	q->clock.shortened = false;
	/*
	 * A kernel would not look at the running one before its next tick. Some microseconds after it was not preempted
	 * it is ahead of the task that came.
	 */
	if (runs && shortened && !q->resched && !is_pushed(q, prev) && time_before(now, cpu_slice_end(q, now))) {
		keep_running(q, prev, cpu, now);
		return;
	}
	if (runs)
		follow_ticks(q, prev, now);
	update_queue(q, now);
	pushed = runs && is_pushed(q, prev);
	if (has_control_groups()) {
		t = runs ? task_of(prev) : NULL;
		weigh_running(q, t, cpu, now);
		pushed |= t && is_held_back(t, cpu);
		clear_all_held_back(cpu, now);
	}
	if (runs && !pushed && (!q->resched || time_before(now, q->clock.lazy_until))) {
		keep_running(q, prev, cpu, now);
		return;
	}
	q->resched = false;
	q->clock.lazy_until = 0;
	q->clock.has_next = pick(cpu, runs && !pushed, now);
	if (q->clock.has_next || pushed)
		return;
	if (runs) {
		t = task_of(prev);
		if (t && (protect_again || q->clock.brought_back))
			protect_levels(number_of(t), true, now);
		q->clock.brought_back = false;
		keep_running(q, prev, cpu, now);
		return;
	}
	q->push_pid = 0;
	if (balance_new_idle(cpu, now) && pick(cpu, false, now))
		return;
	if (!q->idle_since)
		q->idle_since = now;
	arm_idle(now);
}

void BPF_STRUCT_OPS(eevdf_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_queue *q = queue_of(cpu), *own;
	struct fair_task *t = task_of(p);
	u64 now = scx_bpf_now();
	bool again;

	if (!t || !q)
		return;
	again = must_choose_anew(p, t->interrupted || t->gives_way);
	if (has_control_groups()) {
		again |= rejoin(q, p, t, cpu, now);
		weigh_picked(q, t, cpu, now);
	}
	begin_running(q, p, t, now);
	q->running_slot = t->control_slot;
	q->clock.cpu = cpu;
	own = queue_at(number_of(t));
	if (!own)
		return;
	own->tick_phase = q->tick_phase;
	begin_in(own, t, p->pid, now);
	own->clock.picked = 0;
	if (has_tree())
		begin_groups_above(number_of(t), p->pid, now);
	q->resched = again;
	q->clock.brought_back = t->interrupted;
	q->clock.lazy_until = 0;
	if (again)
		choose_anew(cpu);
	q->clock.has_next = false;
	if (t->interrupted)
		protect_levels(number_of(t), false, now);
	else
		protect(own, number_of(t));
	arm_busy(q, cpu, now);
	set_hrtick(q, cpu, now);
	keep_running(q, p, cpu, now);
}

void BPF_STRUCT_OPS(eevdf_stopping, struct task_struct *p, bool runnable)
{
	struct fair_queue *q = queue_of(scx_bpf_task_cpu(p)), *own;
	struct fair_task *t = task_of(p);
	u64 now = scx_bpf_now();

	own = t ? queue_at(number_of(t)) : NULL;
	if (!own || !q)
		return;
	update_queue(q, now);
	t->gives_way = !runnable && q->resched;
	t->clock.vruntime = own->clock.vruntime;
	t->clock.deadline = own->clock.deadline;
	end_running(q, t, now);
	t->interrupted = is_interrupted(p, runnable);
	own->running = 0;
	enter_tree(own, t);
	if (has_tree())
		end_groups_above(number_of(t));
	if (has_tree() && runnable && !q->clock.has_next)
		forget_picked(number_of(t));
	if (throttles_queues())
		throttle_groups_above(number_of(t), now);
	publish_balancing(p);
}

/* A task sleeps, ends, or is taken out for a moment to be changed. It takes its lag along, or leaves its debt here. */
void BPF_STRUCT_OPS(eevdf_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL, *own;
	bool sleeps = deq_flags & SCX_DEQ_SLEEP, owes;
	u64 now = scx_bpf_now();

	if (q && t->aside) {
		t->aside = false;
		tell_throttled(p, false);
		update_queue(q, now);
		leave_queue_aside(t, now);
		if (!sleeps && throttles_queues())
			keep_distance(&t->clock);
	}
	if (!q || !t->runnable)
		return;
	update_queue(q, now);
	own = queue_at(number_of(t));
	if (!own)
		return;
	t->clock.lag = lag_of(own, number_of(t), t, now);
	owes = sleeps && delay_dequeue && !(p->__state & SPECIAL_TASK_STATES) &&
	       !is_eligible(own, t->clock.vruntime, now);
	if (!owes)
		hasten_balancing(q, t, now);
	count_out(q, t, now);
	leave_tree(own, t);
	owes = owes && become_debtor(own, t, p->pid);
	if (has_control_groups() && owes)
		rest_in_groups(t, t->cpu, now);
	else if (has_control_groups())
		leave_groups(t, t->cpu, now);
	if (has_tree()) {
		leave_groups_above(number_of(t), false, now);
		reweigh_groups(number_of(t), now);
	}
	if (!sleeps)
		keep_distance(&t->clock);
}

bool BPF_STRUCT_OPS(eevdf_yield, struct task_struct *from, struct task_struct *to)
{
	struct fair_task *t = task_of(from);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL, *own;
	u64 now = scx_bpf_now();

	own = t ? queue_at(number_of(t)) : NULL;
	if (!q || !own || q->running != from->pid || !(has_tree() ? q->nr_running > 1 : q->clock.nr_queued))
		return false;
	update_queue(q, now);
	give_up(own, now);
	q->resched = true;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* Its nice value or its class has changed, while it was out of its queue. What is left of its lag is worth as much. */
void BPF_STRUCT_OPS(eevdf_set_weight, struct task_struct *p, u32 weight)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL, *own;
	u64 after = scaled(weight_of(p));
	u64 now = scx_bpf_now();

	if (!q)
		return;
	note_priority(p, t);
	own = queue_at(number_of(t));
	if (own && t->clock.is_debtor && return_from_debt(own, t, p->pid, t->cpu == scx_bpf_task_cpu(p), now) != ANEW)
		clear_from_groups(t->control_slot, t->own_weight, t->cpu, now);
	t->clock.lag = rescaled(t->clock.lag, t->scaled_weight, after);
	if (t->clock.is_relative)
		t->clock.deadline = rescaled(t->clock.deadline, t->scaled_weight, after);
	reweigh(q, p, t, now);
}

/* The CPUs of its control group may have changed, which come to tasks by their masks. */
void BPF_STRUCT_OPS(eevdf_set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	struct cgroup *cgroup;

	if (!has_control_groups())
		return;
	cgroup = scx_bpf_task_cgroup(p);
	join_slot(cgroup);
	bpf_cgroup_release(cgroup);
}

s32 BPF_STRUCT_OPS(eevdf_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct fair_task *t = new_task(p, args->fork);

	if (!t)
		return -ENOMEM;
	t->clock.waker = -1;
	if (has_control_groups())
		t->control_slot = join_slot(args->cgroup);
	return 0;
}

void BPF_STRUCT_OPS(eevdf_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	end_task(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(eevdf_init)
{
	s32 error = init_queues();

	if (error)
		return error;
	control_cpus = nr_cpus;
	init_domains(nr_cpus);
	cache_size = domain_size(LEVEL_CACHE, nr_cpus);
	return init_hrticks() ?: init_balancing();
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
	       .set_cpumask = (void *)eevdf_set_cpumask,
	       .init_task = (void *)eevdf_init_task,
	       .exit_task = (void *)eevdf_exit_task,
	       .cgroup_init = (void *)fair_cgroup_init,
	       .cgroup_exit = (void *)fair_cgroup_exit,
	       .cgroup_move = (void *)eevdf_cgroup_move,
	       .cgroup_set_weight = (void *)fair_cgroup_set_weight,
	       .cgroup_set_bandwidth = (void *)fair_cgroup_set_bandwidth,
	       .cgroup_set_idle = (void *)fair_cgroup_set_idle,
	       .init = (void *)eevdf_init,
	       .flags = SCX_OPS_ENQ_LAST,
	       .name = "eevdf");
