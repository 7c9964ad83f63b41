/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ule - the scheduler of FreeBSD, and its port to Linux that a study compares with CFS.
 *
 * Each task has a score by how much it ran and how much it slept of its own will in the last five seconds,
 *
 *	50 run / sleep			when it slept more
 *	100 - 50 sleep / run		when it ran more
 *
 * and the nice value is added. Below 30 it is interactive. Each CPU has queues of its own: as long as an interactive
 * task wants the CPU, no other one gets it. The others, batch tasks, wait in a calendar of 64 slots, the farther ahead
 * the more CPU time they used in the last ten seconds; slots are served one after the other. A slice is 10 ticks with
 * two tasks on the CPU, 10 / (n - 1) with n, 1 with seven and more. In the port, no wake-up takes a CPU from a task.
 *
 * A task that wakes goes to the CPU where it was, if that is idle and its cache warm, else to the one with fewest
 * tasks. A CPU with nothing to do takes a task from the one with most. Once or twice a second a balancer has CPUs with
 * more tasks give one to CPUs with less, one each.
 *
 * Example, one CPU with ticks of 4 ms: a hog computes, three tasks run 8 ms and sleep 16 ms. These run half as much as
 * they sleep, so their score is 25: interactive. Together they want the whole CPU. The hog never runs again.
 *
 * Weakness: just that. Also a new task begins with the history of the one that creates it, so of equal tasks those that
 * were created late, by a creator that had computed for long, may wait for those that were created early.
 *
 * Source: FreeBSD 11, sys/kern/sched_ule.c; for `mode=paper` J. Bouron and others, "The Battle of the Schedulers:
 * FreeBSD ULE vs. Linux CFS", USENIX ATC 2018. See README.md for what is open there.
 *
 * parameters.bpf.h, interactivity.bpf.h (score and priority), run_queue.bpf.h (calendar, slices), search.bpf.h (the CPU
 * for a task) and balancer.bpf.h hold the rules; here is when they apply.
 */
#include <schedlab/common.bpf.h>
#include <schedlab/status.bpf.h>
#include <schedlab/weights.bpf.h>
#include <ule/balancer.bpf.h>

char _license[] SEC("license") = "GPL";

static void set_priority(struct task_struct *p, struct thread *t)
{
	u32 word;

	t->priority = p->policy == SCHED_IDLE ? IDLE_CLASS_PRIORITY : priority_of(&t->history, nice_of(p));
	t->boosted = false;
	word = status == STATUS_SCORE ? nice_score(&t->history, nice_of(p)) : t->priority;
	if (t->status == word + 1)
		return;
	t->status = word + 1;
	status_set(p, word);
}

/* Accounts the ticks that hit a task since the last time: run time, CPU use, slice, priority. */
static void charge(struct task_struct *p, struct thread *t, s32 cpu, u64 now)
{
	u64 tick = tick_of(cpu, now), ticks = tick - t->tick, n;

	if (!ticks)
		return;
	bpf_for(n, 0, ticks < TICKS_MAX ? ticks : TICKS_MAX) {
		update_use(&t->history, true, hz_tick(tick_time(cpu, t->tick + 1 + n)));
		t->history.run += tick_history;
		limit_history(&t->history);
	}
	t->tick = tick;
	t->used += ticks;
	set_priority(p, t);
}

/* Lets a task run to the end of its slice, or to the tick that makes it a batch task: others must know that. */
static void give_slice(struct task_struct *p, struct thread *t, struct run_queue *rq, s32 cpu, u64 now)
{
	u32 limit = slice_of(rq->load), left = limit > t->used ? limit - t->used : 1;

	if (is_interactive(t->priority))
		left = ticks_until_batch(&t->history, nice_of(p), left);
	rq->slice_from = tick_of(cpu, now);
	rq->slice_used = t->used;
	rq->slice_limit = limit;
	rq->slice_end = rq->slice_from + left;
	scx_bpf_task_set_slice(p, tick_time(cpu, rq->slice_end) - now);
}

/* One more task wants the CPU: the slice of the running one may be over sooner, at the next tick at the soonest. */
static void shorten_slice(struct run_queue *rq, s32 cpu, u64 now)
{
	u32 limit = slice_of(rq->load), left = limit > rq->slice_used ? limit - rq->slice_used : 1;
	u64 end = rq->slice_from + left, next = tick_of(cpu, now) + 1;
	struct task_struct *current;

	if (rq->priority == NO_PRIORITY || limit >= rq->slice_limit)
		return;
	rq->slice_limit = limit;
	end = end > next ? end : next;
	if (end >= rq->slice_end)
		return;
	current = __COMPAT_scx_bpf_cpu_curr(cpu);
	if (!current)
		return;
	rq->slice_end = end;
	scx_bpf_task_set_slice(current, tick_time(cpu, end) - now);
}

/* The sleep is over: it counts from the first whole tick on. */
static void end_sleep(struct task_struct *p, struct thread *t, u64 now)
{
	u64 slept = hz_tick(now) - t->slept_at;

	if (!t->asleep)
		return;
	t->asleep = false;
	t->used = 0;
	if (slept || mode == MODE_PAPER) {
		t->history.slept += slept << HISTORY_SHIFT;
		limit_history(&t->history);
		update_use(&t->history, false, hz_tick(now));
	}
	set_priority(p, t);
	if (static_boost && !is_interactive(t->priority) && t->priority < IDLE_CLASS_PRIORITY) {
		t->priority = priority_ranges[mode == MODE_FREEBSD].batch;
		t->boosted = true;
	}
}

/* The port chooses before it looks at the sleep. */
s32 BPF_STRUCT_OPS(ule_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct thread *t = thread_of(p);
	u64 now = scx_bpf_now();

	if (!t)
		return prev_cpu;
	t->waker = bpf_get_smp_processor_id();
	if (mode == MODE_FREEBSD)
		end_sleep(p, t, now);
	return pick_cpu(p, t, prev_cpu, t->waker, now);
}

/* A task came to the queue of a CPU: does the running one make room? */
static void check_preemption(struct thread *t, struct run_queue *rq, s32 cpu)
{
	bool remote = t->waker != cpu;

	if (t->priority >= rq->priority || rq->priority == NO_PRIORITY)
		return;
	if (should_preempt(t->priority, rq->priority, remote))
		rq->resched = PLACE_HEAD;
	else if (mode == MODE_FREEBSD && !remote)
		rq->resched = PLACE_TAIL; /* when its system call or the interrupt is over */
	else
		return;
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* Chooses the place of a task that has to leave its CPU. @own: its slot, NO_SLOT if it has left it or had none. */
static void choose_place(struct thread *t, struct run_queue *rq, u64 own, u64 now)
{
	bool goes_first = !t->yielded && (rq->resched == PLACE_HEAD || rq->resched == PLACE_OWN);

	if (t->used >= slice_of(rq->load)) {
		t->used = 0;
		goes_first = false;
	}
	if (goes_first && own != NO_SLOT && !is_interactive(t->priority))
		give_place(t, slot_head(rq, own));
	else
		give_place(t, key_of(rq, t->priority, goes_first ? PLACE_HEAD : PLACE_TAIL, now));
	rq->resched = PLACE_NONE;
	t->yielded = false;
	t->placed = true;
}

void BPF_STRUCT_OPS(ule_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct thread *t = thread_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct run_queue *rq = ELEMENT(run_queues, cpu);
	bool waking = enq_flags & SCX_ENQ_WAKEUP, arrives;
	u64 now = scx_bpf_now();

	if (!t || !rq) {
		/* Cannot be: init_task() made it or refused the task. */
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	advance(rq, cpu, now);
	arrives = waking || t->fresh || t->cpu != cpu;
	if (arrives) {
		end_sleep(p, t, now);
		give_place(t, key_of(rq, t->priority, PLACE_TAIL, now));
	} else if (t->ran && !t->placed) {
		choose_place(t, rq, NO_SLOT, now);
	} else if (!t->ran) {
		/* Something about a waiting task was changed: it keeps its place, unless its priority is another one. */
		u32 before = t->priority;

		set_priority(p, t);
		if (t->priority != before)
			give_place(t, key_of(rq, t->priority, PLACE_TAIL, now));
	}
	t->fresh = t->ran = t->placed = t->interrupted = false;
	count(t, cpu, p->nr_cpus_allowed > 1);
	scx_bpf_dsq_insert_vtime(p, queue_of(cpu, t), SCX_SLICE_DFL, t->key, enq_flags);
	if (t->priority < rq->best)
		rq->best = t->priority;
	if (!arrives)
		return;
	shorten_slice(rq, cpu, now);
	check_preemption(t, rq, cpu);
}

/* Whether a task that has to leave its CPU would be chosen again: none waits before its place. */
static bool is_first(const struct thread *t, s32 cpu)
{
	struct task_struct *first = __COMPAT_scx_bpf_dsq_peek(interactive_queue(cpu));

	if (first && !is_interactive(t->priority))
		return false;
	if (!first && !is_interactive(t->priority))
		first = __COMPAT_scx_bpf_dsq_peek(batch_queue(cpu));
	return !first || t->key < first->scx.dsq_vtime;
}

/* The CPU looks at its task: it continues in its slice, or it leaves its place and the first of all is chosen. */
static bool goes_on(struct task_struct *p, struct thread *t, struct run_queue *rq, s32 cpu, u64 now)
{
	u64 own;

	charge(p, t, cpu, now);
	if (t->used < slice_of(rq->load) && !t->yielded && rq->resched == PLACE_NONE)
		return true;
	/* In the port it was in the calendar up to now. */
	if (rq->resched != PLACE_OWN)
		rq->held = NO_SLOT;
	advance(rq, cpu, now);
	own = rq->held;
	rq->held = NO_SLOT;
	choose_place(t, rq, own, now);
	return is_first(t, cpu);
}

static void keep_running(struct task_struct *p, struct thread *t, struct run_queue *rq, s32 cpu, u64 now)
{
	t->placed = false;
	hold_slot(rq, t);
	rq->priority = t->priority;
	if (t->priority < rq->best || !scx_bpf_dsq_nr_queued(interactive_queue(cpu)))
		rq->best = t->priority;
	give_slice(p, t, rq, cpu, now);
}

void BPF_STRUCT_OPS(ule_dispatch, s32 cpu, struct task_struct *prev)
{
	struct thread *t = still_runnable(prev) ? thread_of(prev) : NULL;
	struct run_queue *rq = ELEMENT(run_queues, cpu);
	u64 now = scx_bpf_now();

	if (!rq)
		return;
	if (t)
		follow_ticks(rq, prev, cpu, now);
	advance(rq, cpu, now);
	if (t && goes_on(prev, t, rq, cpu, now)) {
		keep_running(prev, t, rq, cpu, now);
		return;
	}
	if (scx_bpf_dsq_move_to_local(interactive_queue(cpu), 0) || scx_bpf_dsq_move_to_local(batch_queue(cpu), 0))
		return;
	if (t) {
		keep_running(prev, t, rq, cpu, now); /* another CPU was quicker */
		return;
	}
	if (steal_idle && nr_transferable && steal(cpu, now))
		return;
	rq->best = NO_PRIORITY;
	if (cpu == 0)
		balancer_cpu_idle(now);
}

void BPF_STRUCT_OPS(ule_running, struct task_struct *p)
{
	struct thread *t = thread_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct run_queue *rq = ELEMENT(run_queues, cpu);
	u64 now = scx_bpf_now();
	bool again;

	if (!t || !rq)
		return;
	again = must_choose_anew(p, t->interrupted);
	if (cpu == 0)
		balancer_cpu_busy(now);
	count(t, cpu, false);
	t->running = t->ran = true;
	t->tick = tick_of(cpu, now);
	if (mode == MODE_FREEBSD)
		update_use(&t->history, false, hz_tick(now));
	if (t->boosted)
		set_priority(p, t);
	hold_slot(rq, t);
	rq->priority = rq->best = t->priority;
	rq->resched = t->interrupted ? PLACE_OWN : PLACE_NONE;
	give_slice(p, t, rq, cpu, now);
	if (again)
		choose_anew(cpu);
}

void BPF_STRUCT_OPS(ule_stopping, struct task_struct *p, bool runnable)
{
	struct thread *t = thread_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct run_queue *rq = ELEMENT(run_queues, cpu);
	u64 now = scx_bpf_now();

	if (!t || !rq)
		return;
	charge(p, t, cpu, now);
	t->running = false;
	t->interrupted = is_interrupted(p, runnable);
	t->last_ran = hz_tick(now);
	if (mode == MODE_FREEBSD)
		update_use(&t->history, true, t->last_ran);
	advance(rq, cpu, now);
	rq->held = NO_SLOT;
	rq->priority = NO_PRIORITY;
}

void BPF_STRUCT_OPS(ule_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct thread *t = thread_of(p);

	if (!t || !(deq_flags & SCX_DEQ_SLEEP))
		return;
	t->asleep = true;
	t->ran = t->placed = t->yielded = false;
	t->slept_at = hz_tick(scx_bpf_now());
	count(t, NO_CPU, false);
}

bool BPF_STRUCT_OPS(ule_yield, struct task_struct *from, struct task_struct *to)
{
	struct thread *t = thread_of(from);

	if (t) {
		t->yielded = true;
		scx_bpf_task_set_slice(from, 0);
	}
	return false;
}

/* Idle CPUs look when they are woken for any reason. Here nothing wakes them when tasks may suddenly run there. */
void BPF_STRUCT_OPS(ule_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	if (steal_idle)
		kick_idle_cpu(cpumask);
}

/*
 * A new task has its creator's history, so that a shell's commands are interactive at once. Of a process it is short,
 * and creating one counts as a tick of work: a task that starts many is batch soon. In FreeBSD a thread has all of it.
 */
static void inherit_history(struct task_struct *p, struct thread *t, struct task_struct *creator, struct thread *of)
{
	s32 cpu = scx_bpf_task_cpu(creator);
	struct run_queue *rq = ELEMENT(run_queues, cpu);
	u64 now = scx_bpf_now();

	charge(creator, of, cpu, now);
	update_use(&of->history, true, hz_tick(now));
	t->history = of->history;
	if (mode == MODE_FREEBSD && rq)
		t->used = slice_of(rq->load) - slice_min_ticks;
	if (mode == MODE_FREEBSD && p->pid != p->tgid)
		return;
	shorten_history(&t->history);
	of->history.run += tick_history;
	limit_history(&of->history);
	set_priority(creator, of);
}

s32 BPF_STRUCT_OPS(ule_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct thread *t = bpf_task_storage_get(&threads, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE), *of;
	struct task_struct *creator = bpf_get_current_task_btf();
	u64 tick = hz_tick(scx_bpf_now());

	if (!t)
		return -ENOMEM;
	t->cpu = t->waker = NO_CPU;
	t->fresh = true;
	if (inherit && args->fork && creator && (of = thread_of(creator)) && of->running)
		inherit_history(p, t, creator, of);
	else
		t->history = (struct history){ newborn_run, newborn_sleep, 0, tick, tick };
	set_priority(p, t);
	return 0;
}

/* A task goes to another class of schedulers: it wants nothing here until it comes back. */
void BPF_STRUCT_OPS(ule_disable, struct task_struct *p)
{
	struct thread *t = thread_of(p);

	if (t)
		count(t, NO_CPU, false);
}

/* What a task that ended ran counts as the work of another one. */
static void charge_for(struct task_struct *heir, const struct history *h)
{
	struct thread *of = thread_of(heir);

	if (!of)
		return;
	of->history.run += h->run;
	limit_history(&of->history);
	set_priority(heir, of);
}

/*
 * A task ends: its run time counts as its parent's, so that one that starts hogs becomes one. FreeBSD charges the first
 * thread of its process for any other thread; in the port that is the process' parent, too.
 */
void BPF_STRUCT_OPS(ule_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct task_struct *parent = p->real_parent, *first;
	struct thread *t = thread_of(p);

	if (!t)
		return;
	count(t, NO_CPU, false);
	if (args->cancelled)
		return;
	if (mode == MODE_PAPER || p->pid == p->tgid) {
		if (parent)
			charge_for(parent, &t->history);
		return;
	}
	first = bpf_task_from_pid(p->tgid);
	if (first) {
		charge_for(first, &t->history);
		bpf_task_release(first);
	}
}

s32 BPF_STRUCT_OPS_SLEEPABLE(ule_init)
{
	s32 cpus = count_cpus(MAX_CPUS), error;
	u32 cpu;

	if (cpus < 0)
		return cpus;
	nr_cpus = cpus;
	init_domains(nr_cpus);
	set_units();
	epoch = hz_from = scx_bpf_now();
	bpf_for(cpu, 0, nr_cpus) {
		struct run_queue *rq = ELEMENT(run_queues, cpu);

		if (rq) {
			begin_ticks(rq, cpu);
			rq->calendar_tick = tick_of(cpu, epoch);
			rq->held = NO_SLOT;
			rq->priority = rq->best = NO_PRIORITY;
			rq->random = seed + cpu;
		}
	}
	error = create_dsqs(2 * nr_cpus);
	return error || balance == BALANCE_NEVER ? error : start_balancer(epoch);
}

SCX_OPS_DEFINE(ule_ops,
	       .select_cpu = (void *)ule_select_cpu,
	       .enqueue = (void *)ule_enqueue,
	       .dispatch = (void *)ule_dispatch,
	       .running = (void *)ule_running,
	       .stopping = (void *)ule_stopping,
	       .quiescent = (void *)ule_quiescent,
	       .yield = (void *)ule_yield,
	       .set_cpumask = (void *)ule_set_cpumask,
	       .disable = (void *)ule_disable,
	       .init_task = (void *)ule_init_task,
	       .exit_task = (void *)ule_exit_task,
	       .init = (void *)ule_init,
	       .name = "ule");
