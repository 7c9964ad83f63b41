/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * linux-o1 - the O(1) scheduler of Linux 2.6, from before there was CFS.
 *
 * Each CPU has two arrays of lists, one list for each priority: active and expired. The first task of the best list of
 * the active array runs. A task that has used its slice up gets a new one and goes to the expired array; when the
 * active array is empty, the two change places. So every task gets a slice before any gets two.
 *
 * Interactive tasks are the exception: they go back to the active array. Which tasks are interactive is guessed from
 * the sleep average: sleeping earns, running costs (interactivity.bpf.h). It also gives up to 5 levels of priority, up
 * or down, and a task that wakes with a better priority preempts at once.
 *
 * Example, 2.6.22, nice 0: the sleep average is 650 ms, that are 6 levels of 100 ms, so the priority is 120 + 5 - 6 =
 * 119. 200 ms of sleep make it 850 ms, 8 levels, priority 117: interactive, since 118 or better is. Running for 80 ms
 * then costs 80/8 = 10 ms, and 1 s of running would be needed to fall below 7 levels again.
 *
 * Weakness: the guess. A task that slept for long runs for many slices before it counts as a hog, and in 2.6.22 it
 * takes the same behaviour for interactive or not, depending on where it began. Others wait for at most the starvation
 * limit, a second for each task on the CPU.
 *
 * Balancers take tasks to CPUs that have less to do (flat_balancer.bpf.h, domain_balancer.bpf.h), and placement.bpf.h
 * says where a task wakes.
 *
 * The original looks at everything in the timer's interrupt. Here a tick is only counted, when something happens to a
 * task; slices end at the tick at which they would have. Sources: Linux 2.6.0, 2.6.3 and 2.6.22, see README.md.
 */
#include <linux-o1/interactivity.bpf.h>
#include <linux-o1/run_queue.bpf.h>
#include <linux-o1/slices.bpf.h>
#include <linux-o1/fork.bpf.h>
#include <linux-o1/flat_balancer.bpf.h>
#include <linux-o1/domain_balancer.bpf.h>
#include <linux-o1/placement.bpf.h>

char _license[] SEC("license") = "GPL";

PARAMETER(u64, sleep_avg, 0, "unit=ns range=0ns..1020ms about=The initial sleep average of a task without a parent.");
PARAMETER(u32, wake, 0,
	  "choices=source,task,interrupt about=What woke a task: as the wake source says, always a task, or always an "
	  "interrupt.");
PARAMETER(u32, sync_wake, 0,
	  "choices=link,credit about=2.6.3 only: whether a pipe's wake-up on the waker's own CPU credits the sleep. "
	  "`link`: it does not; `credit`: it does.");
enum { WAKE_BY_SOURCE, WAKE_ALWAYS_TASK, WAKE_ALWAYS_INTERRUPT };
enum { SYNC_LINK, SYNC_CREDIT };

/* One timer for all looks of balancers. */
struct balancing {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct balancing);
} balancings SEC(".maps");

/* The jiffy for which it is set, 0: not set. */
static u64 balance_at;

static void set_balance_timer(u64 jiffy, u64 now)
{
	u32 key = 0;
	struct balancing *balancing = bpf_map_lookup_elem(&balancings, &key);
	u64 at = jiffy * jiffy_ns;

	if (!balancing || nr_cpus < 2 || (balance_at && balance_at <= jiffy))
		return;
	balance_at = jiffy;
	bpf_timer_start(&balancing->timer, at > now ? at - now : 0, 0);
}

/* There is something to balance now: looks begin again. */
static void resume_looks(u64 now)
{
	u64 next = ~0ULL;
	u32 cpu;

	if (version == VERSION_2_6_3) {
		set_balance_timer(jiffy_of(now) + 1, now);
		return;
	}
	bpf_for(cpu, 0, nr_cpus) {
		struct run_queue *rq = queue_of(cpu);

		if (!rq)
			break;
		domain_catch_up(rq, now);
		next = lesser(next, rq->next_balance);
	}
	set_balance_timer(next, now);
}

static int look_for_work(void *map, u32 *key, struct balancing *balancing)
{
	u64 now = scx_bpf_now(), next = ~0ULL;
	u32 cpu;

	balance_at = 0;
	if (version == VERSION_2_6_3) {
		set_balance_timer(flat_tick(now), now);
		return 0;
	}
	bpf_for(cpu, 0, nr_cpus) {
		struct run_queue *rq = queue_of(cpu);

		if (!rq)
			break;
		if (jiffy_of(now) >= rq->next_balance)
			domain_tick(cpu, rq, now);
		next = lesser(next, rq->next_balance);
	}
	if (nr_overloaded)
		set_balance_timer(next, now);
	return 0;
}

static bool woken_by_task(struct task_struct *p)
{
	enum wake_source source = wake_source(p);

	return wake == WAKE_ALWAYS_TASK || (wake == WAKE_BY_SOURCE && (source == WAKE_SEMAPHORE || source == WAKE_PIPE));
}

static bool is_noninteractive_wait(struct task_struct *p)
{
	enum wake_source source = wake_source(p);

	return source == WAKE_DISK || (source == WAKE_PIPE && version == VERSION_2_6_22);
}

/* A sleep is over: it is credited, and the task goes to the tail of the list of its new priority. */
static void wake_up(struct task_struct *p, struct o1_task *t, struct run_queue *rq, u64 now)
{
	if (is_noninteractive_wait(p))
		t->wake_class = CLASS_NONINTERACTIVE;
	t->array = rq->active;
	if (version == VERSION_2_6_3 && sync_wake == SYNC_LINK && t->sync_cpu == t->cpu) {
		t->key = tail_key(rq, t->prio);
		return;
	}
	credit_sleep(p, t, time_delta(now, t->timestamp)); /* CPUs' clocks differ: it may seem to be negative */
	if (t->wake_class == CLASS_NEUTRAL)
		t->wake_class = woken_by_task(p) ? CLASS_BY_TASK : CLASS_BY_INTERRUPT;
	t->timestamp = now;
	t->key = tail_key(rq, t->prio);
	if (version == VERSION_2_6_22 && p->policy == SCHED_BATCH)
		t->array = !rq->active;
}

/*
 * A new task. It goes just before its parent and runs first, if they have no memory in common; with it, behind the
 * others of its priority. A child that 2.6.3 makes always goes first. Returns whether the CPU has to choose again for
 * it.
 */
static bool begin(struct task_struct *p, struct o1_task *t, struct run_queue *rq, u64 now)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct o1_task *of = t->parent && t->parent == parent->pid ? task_of(parent) : NULL;
	bool local = of && of->cpu == t->cpu;

	t->timestamp = now;
	if (of && of->gives_way) {
		of->gives_way = false;
		choose_anew(of->cpu);
	}
	if (local && (version == VERSION_2_6_3 || !p->mm || p->mm != parent->mm)) {
		t->prio = of->prio;
		t->array = of->array;
		t->key = of->key - 1;
		return true;
	}
	t->prio = effective_prio(p, t);
	t->array = rq->active;
	t->key = tail_key(rq, t->prio);
	return !local && t->prio < rq->current_prio;
}

s32 BPF_STRUCT_OPS(linux_o1_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct o1_task *t = task_of(p);
	u32 here = bpf_get_smp_processor_id();
	bool sync = is_sync(p, wake_flags);

	if (wake_flags & SCX_WAKE_FORK)
		return place_new(p, prev_cpu, scx_bpf_now());
	if (t)
		t->sync_cpu = sync ? here : NO_CPU;
	return place_woken(p, here, prev_cpu, sync, scx_bpf_now());
}

/* A kernel moves a task without a word when it may not be any more where it was counted. */
static void follow_move(struct task_struct *p, struct o1_task *t, u64 now)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct run_queue *rq = queue_of(cpu);

	if (!rq || bpf_cpumask_test_cpu(t->cpu, p->cpus_ptr))
		return;
	remove_running(t, now);
	add_running(p, t, cpu, now);
	t->array = rq->active;
	t->key = tail_key(rq, t->prio);
}

void BPF_STRUCT_OPS(linux_o1_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct o1_task *t = task_of(p);
	u64 now = scx_bpf_now();
	struct run_queue *rq;
	bool preempts;

	if (t)
		follow_move(p, t, now);
	rq = t ? queue_of(t->cpu) : NULL;
	if (!rq) {
		/* Cannot be: init_task() made it or refused the task, and init() counted the CPUs. */
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	if (t->fresh) {
		preempts = begin(p, t, rq, now);
	} else if (enq_flags & SCX_ENQ_WAKEUP) {
		/* No CPU was chosen for a task that may run on one only. */
		if (!(enq_flags & SCX_ENQ_CPU_SELECTED))
			t->sync_cpu = is_sync(p, 0) ? bpf_get_smp_processor_id() : NO_CPU;
		wake_up(p, t, rq, now);
		preempts = t->sync_cpu != t->cpu && t->prio < rq->current_prio;
	} else {
		/* It lost its CPU and goes back to its place, or something about a waiting task was changed. */
		if (!t->ran)
			t->key = tail_key(rq, t->prio);
		preempts = t->prio < rq->current_prio;
	}
	t->fresh = t->ran = t->interrupted = false;
	publish_status(p, t);
	scx_bpf_dsq_insert_vtime(p, dsq_of(t->cpu, t->array), jiffy_ns, t->key, enq_flags);
	if (rq->current_prio == IDLE_PRIO)
		scx_bpf_kick_cpu(t->cpu, SCX_KICK_IDLE);
	else if (preempts)
		scx_bpf_kick_cpu(t->cpu, SCX_KICK_PREEMPT);
}

/* The task that runs was asked to go to another CPU: it keeps its array and goes to the tail there. */
static void push(struct task_struct *p, struct o1_task *t, struct run_queue *rq, u64 now)
{
	u32 to_cpu = rq->push_to - 1;
	struct run_queue *to = queue_of(to_cpu);
	bool expired = t->array != rq->active;

	rq->push_to = 0;
	if (!to || !bpf_cpumask_test_cpu(to_cpu, p->cpus_ptr))
		return;
	remove_running(t, now);
	add_running(p, t, to_cpu, now);
	t->array = to->active ^ expired;
	t->key = tail_key(to, t->prio);
}

/* The active array is empty: the arrays change places. */
static void swap_arrays(struct run_queue *rq)
{
	rq->active ^= 1;
	rq->expired_since = 0;
	rq->best_expired_prio = MAX_PRIO;
}

/* The CPU finds nothing to do. It looks for tasks elsewhere at a tick soon, if there are any. */
static void go_idle(struct run_queue *rq, u64 now)
{
	rq->current_prio = IDLE_PRIO;
	rq->expired_since = 0;
	rq->idle = true;
	if (!nr_overloaded)
		return;
	if (version == VERSION_2_6_3 || rq->next_balance <= jiffy_of(now))
		set_balance_timer(jiffy_of(now) + 1, now);
	else
		set_balance_timer(rq->next_balance, now);
}

/* A CPU without tasks takes some from another one before it goes idle. */
static void pull_newly_idle(u32 cpu, struct run_queue *rq, u64 now)
{
	rq->current_prio = IDLE_PRIO;
	if (!nr_overloaded)
		return;
	if (version == VERSION_2_6_3)
		flat_balance(cpu, true, now);
	else
		domain_newly_idle(cpu, rq, now);
}

static void begin_turn(struct task_struct *p, struct o1_task *t, struct run_queue *rq, u64 now)
{
	t->wake_class = CLASS_NEUTRAL;
	rq->current_prio = t->prio;
	rq->current_static_prio = p->static_prio;
	rq->current_load = t->load;
	rq->current_pinned = p->nr_cpus_allowed == 1;
	publish_status(p, t);
	scx_bpf_task_set_slice(p, time_ahead(p, t, now));
}

/*
 * The choice. The task that ran is at its place in its array, though no dispatch queue has it: it continues if that
 * is before the head of the active one.
 */
void BPF_STRUCT_OPS(linux_o1_dispatch, s32 cpu, struct task_struct *prev)
{
	struct o1_task *t = still_runnable(prev) ? task_of(prev) : NULL;
	struct run_queue *rq = queue_of(cpu);
	struct task_struct *head;
	u64 now = scx_bpf_now();
	bool takes_part;

	if (!rq)
		return;
	if (t) {
		count_ticks(prev, t, now);
		charge_run(t, now);
		if (rq->push_to)
			push(prev, t, rq, now);
	}
	takes_part = t && t->cpu == (u32)cpu;
	if (!rq->nr_running)
		pull_newly_idle(cpu, rq, now);
	head = __COMPAT_scx_bpf_dsq_peek(dsq_of(cpu, rq->active));
	if (!head && !(takes_part && t->array == rq->active)) {
		swap_arrays(rq);
		head = __COMPAT_scx_bpf_dsq_peek(dsq_of(cpu, rq->active));
	}
	if (takes_part && t->array == rq->active && (!head || t->key < head->scx.dsq_vtime)) {
		begin_turn(prev, t, rq, now);
		return;
	}
	if (scx_bpf_dsq_move_to_local(dsq_of(cpu, rq->active), 0))
		return;
	if (takes_part)
		begin_turn(prev, t, rq, now); /* a balancer was quicker */
	else
		go_idle(rq, now);
}

/* The wait after a wake-up counts as sleep, a part of it if a task was the waker: no task wants to wait. */
static void credit_wait(struct task_struct *p, struct o1_task *t, struct run_queue *rq, u64 now)
{
	u64 wait = time_delta(now, t->timestamp);
	u32 before = t->prio;

	if (t->wake_class == CLASS_BY_TASK)
		wait = wait * (ON_RUN_QUEUE_WEIGHT * 128 / 100) / 128;
	else if (t->wake_class != CLASS_BY_INTERRUPT)
		return;
	credit_sleep(p, t, wait);
	if (version == VERSION_2_6_3 || t->prio != before)
		t->key = tail_key(rq, t->prio);
}

void BPF_STRUCT_OPS(linux_o1_running, struct task_struct *p)
{
	struct o1_task *t = task_of(p);
	u32 cpu = scx_bpf_task_cpu(p);
	struct run_queue *rq = queue_of(cpu);
	u64 now = scx_bpf_now();
	bool again;

	if (!t || !rq)
		return;
	again = must_choose_anew(p, t->interrupted);
	if (t->cpu != cpu) {
		/* The core took it here by itself. */
		remove_running(t, now);
		add_running(p, t, cpu, now);
		t->array = rq->active;
		t->key = tail_key(rq, t->prio);
	}
	credit_wait(p, t, rq, now);
	t->timestamp = rq->switched_at = now;
	t->ticked = jiffy_of(now);
	t->running = t->ran = true;
	if (rq->idle && version == VERSION_2_6_3)
		flat_catch_up(cpu);
	rq->idle = false;
	begin_turn(p, t, rq, now);
	if (again)
		choose_anew(cpu);
}

void BPF_STRUCT_OPS(linux_o1_stopping, struct task_struct *p, bool runnable)
{
	struct o1_task *t = task_of(p);
	struct run_queue *rq = queue_of(scx_bpf_task_cpu(p));
	u64 now = scx_bpf_now(), key;
	bool moved;

	if (!t || !rq)
		return;
	key = t->key;
	count_ticks(p, t, now);
	charge_run(t, now);
	moved = t->key != key;
	publish_status(p, t);
	t->last_ran = rq->switched_at = now;
	t->running = false;
	t->interrupted = is_interrupted(p, runnable);
	/* A tick may have moved it to another place: that is not lost if it is only taken out for a moment. */
	if (!runnable && moved)
		t->interrupted = true;
	rq->current_prio = IDLE_PRIO;
}

void BPF_STRUCT_OPS(linux_o1_runnable, struct task_struct *p, u64 enq_flags)
{
	struct o1_task *t = task_of(p);
	u64 now = scx_bpf_now();

	if (t && add_running(p, t, scx_bpf_task_cpu(p), now))
		resume_looks(now);
}

void BPF_STRUCT_OPS(linux_o1_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct o1_task *t = task_of(p);

	if (t)
		remove_running(t, scx_bpf_now());
}

/* To the tail of the expired array, with the rest of the slice. */
bool BPF_STRUCT_OPS(linux_o1_yield, struct task_struct *from, struct task_struct *to)
{
	struct o1_task *t = task_of(from);
	struct run_queue *rq = t ? queue_of(t->cpu) : NULL;

	if (rq) {
		count_ticks(from, t, scx_bpf_now());
		t->array = !rq->active;
		t->key = tail_key(rq, t->prio);
		scx_bpf_task_set_slice(from, 0);
	}
	return false;
}

/*
 * A new nice value. 2.6.3 forgets the bonus until it next counts priorities. A task that runs goes to the tail of its
 * new list, and its CPU chooses again if that is another one than before (set_user_nice).
 */
void BPF_STRUCT_OPS(linux_o1_set_weight, struct task_struct *p, u32 weight)
{
	struct o1_task *t = task_of(p);
	struct run_queue *rq = t ? queue_of(t->cpu) : NULL;
	u32 before;

	if (!rq || t->fresh)
		return;
	before = t->prio;
	t->prio = version == VERSION_2_6_3 ? (u32)p->static_prio : effective_prio(p, t);
	if (!p->on_cpu)
		return;
	t->key = tail_key(rq, t->prio);
	if (t->prio != before)
		t->interrupted = true;
}

s32 BPF_STRUCT_OPS(linux_o1_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct o1_task *t = bpf_task_storage_get(&tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE), *of;
	u64 now = scx_bpf_now();

	if (!t)
		return -ENOMEM;
	t->timestamp = now;
	t->time_slice = full_slice(p);
	t->sleep_avg = lesser(sleep_avg, sleep_avg_max_ns());
	t->fresh = true;
	if (args->fork && parent && (of = task_of(parent)) && of->running) {
		share_slice(t, parent, of, now);
		t->last_ran = of->last_ran;
	}
	t->prio = effective_prio(p, t);
	return 0;
}

/* An ending task gives back the rest of its parent's slice; its sleep average counts against the parent's. */
void BPF_STRUCT_OPS(linux_o1_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct o1_task *t = task_of(p), *of;
	u64 now = scx_bpf_now();
	struct task_struct *parent;

	if (!t || !t->parent || args->cancelled)
		return;
	parent = bpf_task_from_pid(t->parent);
	if (!parent)
		return;
	of = task_of(parent);
	if (of) {
		struct run_queue *rq = queue_of(of->cpu);
		u64 key = of->key;
		u32 most = version == VERSION_2_6_3 ? slice_max : full_slice(p);

		if (of->running)
			count_ticks(parent, of, now);
		if (t->first_slice && (version == VERSION_2_6_3 || t->cpu == of->cpu))
			of->time_slice = lesser(of->time_slice + t->time_slice, most);
		if (t->sleep_avg < of->sleep_avg)
			of->sleep_avg = of->sleep_avg / 4 * 3 + t->sleep_avg / 4;
		publish_status(parent, of);
		if (of->running && rq && !goes_on(parent, of, rq, key, now))
			choose_anew(of->cpu);
	}
	bpf_task_release(parent);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(linux_o1_init)
{
	u32 key = 0, cpu, level;
	struct balancing *balancing = bpf_map_lookup_elem(&balancings, &key);
	u64 now = scx_bpf_now();
	s32 error, cpus = count_cpus(version == VERSION_2_6_3 ? FLAT_MAX_CPUS : MAX_CPUS);

	if (cpus < 0)
		return cpus;
	nr_cpus = cpus;
	init_domains(nr_cpus);
	set_scales();
	bpf_for(cpu, 0, nr_cpus) {
		struct run_queue *rq = queue_of(cpu);

		if (!rq)
			break;
		rq->current_prio = IDLE_PRIO;
		rq->best_expired_prio = MAX_PRIO;
		rq->idle = true;
		rq->load_jiffy = jiffy_of(now);
		bpf_for(level, 1, MAX_DOMAIN_LEVEL + 1) {
			struct balance_state *state = state_of(rq, level);
			const struct domain_kind *kind = kind_of(level);

			if (state && kind) {
				state->interval_ms = kind->interval_min_ms;
				state->last_jiffy = jiffy_of(now);
			}
		}
	}
	error = create_dsqs(2 * nr_cpus);
	if (error || !balancing)
		return error ?: -ENOENT;
	error = bpf_timer_init(&balancing->timer, &balancings, CLOCK_MONOTONIC);
	error = error ?: bpf_timer_set_callback(&balancing->timer, look_for_work);
	if (!error && version == VERSION_2_6_3)
		set_balance_timer(jiffy_of(now) + 1, now);
	return error;
}

/* A CPU that gives its only task away goes idle, rather than to let it run on: hence SCX_OPS_ENQ_LAST. */
SCX_OPS_DEFINE(linux_o1_ops,
	       .select_cpu = (void *)linux_o1_select_cpu,
	       .enqueue = (void *)linux_o1_enqueue,
	       .dispatch = (void *)linux_o1_dispatch,
	       .running = (void *)linux_o1_running,
	       .stopping = (void *)linux_o1_stopping,
	       .runnable = (void *)linux_o1_runnable,
	       .quiescent = (void *)linux_o1_quiescent,
	       .yield = (void *)linux_o1_yield,
	       .set_weight = (void *)linux_o1_set_weight,
	       .init_task = (void *)linux_o1_init_task,
	       .exit_task = (void *)linux_o1_exit_task,
	       .init = (void *)linux_o1_init,
	       .flags = SCX_OPS_ENQ_LAST,
	       .name = "linux_o1");
