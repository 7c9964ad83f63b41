/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mlfq - multilevel feedback queue of Torrey, Coleman and Miller.
 *
 * Twenty queues, 1 the highest. The head of the highest queue that is not empty runs. The slice of queue k is
 *
 *	S(k) = k * step		step = 10 ms: 10, 20, ... 200 ms
 *
 * and each time a task becomes ready it moves by one queue: down when it used up its last slice, up when it blocked
 * before that. It then has a full slice of the new queue. A task that becomes ready in a higher queue preempts; the
 * preempted one stays at the head of its queue with the rest of its slice. A new task takes half of its parent's slice,
 * at most S(1), and starts in queue 1.
 *
 * Example, alone on a CPU, always 25 ms of work and then a sleep, from queue 20: each wake-up finds it one queue
 * higher, down to queue 2, S = 20 ms. There the work takes the whole slice and 5 ms in queue 3; blocking early in 3
 * leads back to 2, and so on forever. Started in queue 1 it alternates between 1 and 2: history decides.
 *
 * Weakness: tasks that keep the upper queues busy stop the lower ones forever (see `starve`), and a task that blocks
 * just before its slice ends stays above those that do not.
 *
 * Source: L. A. Torrey, J. Coleman, B. P. Miller, "A comparison of interactivity in the Linux 2.6 scheduler and an MLFQ
 * scheduler", Software: Practice and Experience 37 (2007). With all parameters at their defaults this is the paper's
 * policy on one CPU. On several CPUs one set of queues serves all; `queues=percpu` is the paper's arrangement, with the
 * balancer of its kernel (balancer.bpf.h). What the paper leaves open is a parameter, too.
 */
#include <schedlab/status.bpf.h>
#include <schedlab/wake.bpf.h>
#include <mlfq/balancer.bpf.h>

char _license[] SEC("license") = "GPL";

/* What the paper calls tunable. */
PARAMETER(u32, levels, 0, "range=0..64 about=Number of queues. 0 means 20, or 6 with `slices=exp2`.");
PARAMETER(u64, step, 10 * NS_PER_MS, "unit=ns range=1us..10s about=Slice of queue 1, the highest.");
PARAMETER(u32, slices, 0,
	  "choices=linear,exp2,exp_fit about=The slice of queue k: k * step, step * 2^(k-1), or step * 20^((k-1)/19).");
PARAMETER(u32, step_up, 1,
	  "range=0..64 about=By how many queues a task rises when it blocks before the end of its slice.");
PARAMETER(u32, step_down, 1, "range=0..64 about=By how many queues a task sinks when it uses up its slice.");
enum { SLICES_LINEAR, SLICES_EXP2, SLICES_EXP_FIT };

/* Where the paper is silent. */
PARAMETER(bool, exact_is_used, true,
	  "about=Whether a task that blocks exactly at the end of its slice has used it up.");
PARAMETER(u32, preempt_place, 0, "choices=head,tail about=Where in its queue a preempted task waits.");
PARAMETER(u32, yield, 0,
	  "choices=used,blocked about=What a yield counts as: a used slice, so that the task sinks, or blocking, so "
	  "that it rises.");
PARAMETER(u64, tick, 0,
	  "unit=ns range=0ns..1s about=A fork divides the parent's slice in whole ticks of this length. 0 divides it "
	  "to the nanosecond.");
enum { PLACE_HEAD, PLACE_TAIL };
enum { YIELD_USED, YIELD_BLOCKED };

/* Variants, all off by default. */
PARAMETER(u32, starve, 0,
	  "choices=none,ts1s,age(age_after) about=What moves waiting tasks up: nothing; Solaris' time-sharing table, "
	  "once per `period`; or their age, by one queue after `age_after`.");
PARAMETER(u64, period, NS_PER_S, "unit=ns range=1ms..1000s about=How often `starve=ts1s` examines the waiting tasks.");
PARAMETER(u64, age_after, 100 * NS_PER_MS,
	  "unit=ns range=1ms..1000s about=The wait after which `starve=age` moves a task up one queue.");
PARAMETER(u32, nice, 0,
	  "choices=ignored,range about=Whether the nice value limits the queues that a task may use. `range`: n > 0 "
	  "removes n/20 of the queues at the top, n < 0 at the bottom.");
PARAMETER(u32, io_cap, 0,
	  "range=0..64 about=The highest queue to which a task that waited for a disk rises. 0 means no limit.");
enum { STARVE_NONE, STARVE_TS1S, STARVE_AGE };
enum { NICE_IGNORED, NICE_RANGE };

#define MAX_QUEUES 64
/* Slices stop growing here: an "exp2" with many queues would not end. */
#define SLICE_MAX (1000 * NS_PER_S)

/* The timer of the variants against starvation. */
struct relief {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct relief);
} reliefs SEC(".maps");

static u32 nr_queues;
static u64 queue_slices[MAX_QUEUES + 1];

static u64 slice_of(u32 queue)
{
	u64 *slice = ELEMENT(queue_slices, queue);

	return slice ? *slice : step;
}

/* @slice * (1 + @fraction / 2^32), in two parts because the product has more than 64 bits. */
static u64 grown(u64 slice, u64 fraction)
{
	u64 more = ((slice >> 20) * fraction + ((slice & 0xfffff) * fraction >> 20) + (1 << 11)) >> 12;

	return slice + more < SLICE_MAX ? slice + more : SLICE_MAX;
}

static void set_slices(void)
{
	u64 slice = step;
	u32 queue;

	bpf_for(queue, 1, MAX_QUEUES + 1) {
		u64 *place = ELEMENT(queue_slices, queue);

		if (place)
			*place = slice;
		if (slices == SLICES_EXP2)
			slice = grown(slice, 1ULL << 32);
		else if (slices == SLICES_EXP_FIT)
			slice = grown(slice, 733494144); /* 20^(1/19) - 1 */
		else
			slice += step;
	}
}

/*
 * The queues that a task may use. With nice=range, n = 0 leaves all K queues; n > 0 takes n/20 of the way away from the
 * top, n < 0 takes it from the bottom. Of 20, n = 19 leaves [20, 20], n = 10 [11, 20], n = -20 [1, 1].
 */
static u32 highest_queue(const struct task_struct *p)
{
	s32 n = nice_of(p);

	return nice == NICE_RANGE && n > 0 ? 1 + div_round_up((u32)n * (nr_queues - 1), 20) : 1;
}

static u32 lowest_queue(const struct task_struct *p)
{
	s32 n = nice_of(p);

	return nice == NICE_RANGE && n < 0 ? nr_queues - div_round_up((u32)-n * (nr_queues - 1), 20) : nr_queues;
}

static u32 clamped(const struct task_struct *p, u32 queue)
{
	u32 highest = highest_queue(p), lowest = lowest_queue(p);

	return queue < highest ? highest : queue > lowest ? lowest : queue;
}

static u32 one_down(const struct task_struct *p, const struct history *h)
{
	return clamped(p, h->queue + step_down);
}

static u32 one_up(const struct task_struct *p, const struct history *h)
{
	return clamped(p, h->queue > step_up ? h->queue - step_up : 1);
}

/* One up, but a wait for a disk does not lead above `io_cap`; a task that is there already stays. */
static u32 after_block(struct task_struct *p, const struct history *h)
{
	u32 queue = one_up(p, h), cap = io_cap < h->queue ? io_cap : h->queue;

	return io_cap && queue < cap && wake_source(p) == WAKE_DISK ? clamped(p, cap) : queue;
}

/* What is left of the slice of a task. */
static u64 left_of(const struct history *h, u64 now)
{
	u64 used = h->used;

	if (h->running && time_after(now, h->started_at))
		used += now - h->started_at;
	return used < h->slice ? h->slice - used : 0;
}

/* Whether the time in the queue is over for a task that wants to continue, and where it goes then. */
static bool is_over(const struct history *h, u64 now)
{
	return h->yielded || !left_of(h, now);
}

static u32 next_queue(const struct task_struct *p, const struct history *h)
{
	return h->yielded && yield == YIELD_BLOCKED ? one_up(p, h) : one_down(p, h);
}

/* Puts a task into a queue, with a full slice. */
static void grant(struct task_struct *p, struct history *h, u32 queue)
{
	if (h->queue != queue)
		status_set(p, queue);
	h->queue = queue;
	h->slice = slice_of(queue);
	h->used = 0;
	h->yielded = false;
}

/*
 * A task waits in @queue: send an idle CPU for it, else preempt the CPU whose task is in the lowest queue, if that is
 * lower. A CPU that was chosen counts as busy with @queue from now on, so that two tasks which become ready at one
 * instant do not both rely on it.
 */
static void claim_cpu(struct task_struct *p, u32 queue, bool placed)
{
	s32 own = scx_bpf_task_cpu(p), victim = -1, cpu;
	u32 lowest = queue;

	/* select_cpu() put the task on an idle CPU: the core makes that one look into the queues. */
	if (placed && !cpu_queue(own)) {
		cpu_set_queue(own, queue);
		return;
	}
	cpu = stays_on_its_cpu() ? idle_or_none(own) : scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0) {
		cpu_set_queue(cpu, queue);
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		return;
	}
	if (queues == QUEUES_PERCPU) {
		victim = cpu_queue(own) > queue ? own : -1;
	} else {
		bpf_for(cpu, 0, nr_cpus) {
			if (cpu_queue(cpu) > lowest && bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
				lowest = cpu_queue(cpu);
				victim = cpu;
			}
		}
	}
	if (victim >= 0) {
		cpu_set_queue(victim, queue);
		scx_bpf_kick_cpu(victim, SCX_KICK_PREEMPT);
	}
}

/* The wake flags stay out: their hint would put the task behind its waker while another CPU may be idle. */
s32 BPF_STRUCT_OPS(mlfq_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool idle = false;

	if (stays_on_its_cpu())
		return linux_cpu(p, prev_cpu, wake_flags);
	return scx_bpf_select_cpu_dfl(p, prev_cpu, 0, &idle);
}

/* A task that had a CPU and wants to continue: its slice is over, it was preempted, or it may not stay on that CPU. */
static void requeue(struct task_struct *p, struct history *h, u64 now)
{
	if (is_over(h, now)) {
		grant(p, h, next_queue(p, h));
		h->key = key_tail(h->queue, now - epoch);
		return;
	}
	h->slice = left_of(h, now);
	h->used = 0;
	if (preempt_place == PLACE_HEAD && !h->interrupted)
		h->key = key_head(h->queue, now - epoch);
	else
		h->key = key_tail(h->queue, now - epoch);
}

void BPF_STRUCT_OPS(mlfq_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct history *h = history_of(p);
	bool waking = enq_flags & SCX_ENQ_WAKEUP, placed = waking;
	u64 now = scx_bpf_now();

	if (!h) {
		/* Cannot be: init_task() made it or refused the task. */
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	if (h->fresh) {
		h->key = h->first ? key_head(h->queue, now - epoch) : key_tail(h->queue, now - epoch);
		placed = true;
	} else if (waking) {
		bool used_up = exact_is_used ? h->used >= h->slice : h->used > h->slice;

		grant(p, h, used_up ? one_down(p, h) : after_block(p, h));
		h->key = key_tail(h->queue, now - epoch);
	} else if (h->ran) {
		requeue(p, h, now);
	}
	/* Otherwise something about a waiting task was changed, and it goes back to where it was. */
	if (h->fresh || waking || h->ran)
		h->ready_since = now;
	h->fresh = h->ran = h->interrupted = false;
	scx_bpf_dsq_insert_vtime(p, dsq_of(scx_bpf_task_cpu(p)), h->slice, h->key, enq_flags);
	claim_cpu(p, h->queue, placed);
	if (stays_on_its_cpu())
		look_soon(now);
}

/* The task that ran continues. The core must not refill its slice, it would take its own default. */
static void keep_running(struct task_struct *p, struct history *h, s32 cpu, u64 now)
{
	if (is_over(h, now)) {
		grant(p, h, next_queue(p, h));
		h->started_at = now;
	}
	scx_bpf_task_set_slice(p, left_of(h, now));
	cpu_set_queue(cpu, h->queue);
}

void BPF_STRUCT_OPS(mlfq_dispatch, s32 cpu, struct task_struct *prev)
{
	struct history *h = still_runnable(prev) ? history_of(prev) : NULL;
	u64 now = scx_bpf_now();

	if (h) {
		/* At the end of its slice it goes behind those of its new queue, before it only behind higher queues. */
		u32 waiting = first_queue(dsq_of(cpu), cpu);
		u32 last = is_over(h, now) ? next_queue(prev, h) : h->queue - 1;

		if (!waiting || waiting > last) {
			keep_running(prev, h, cpu, now);
			return;
		}
	}
	if (scx_bpf_dsq_move_to_local(dsq_of(cpu), 0))
		return;
	if (h)
		keep_running(prev, h, cpu, now); /* another CPU was quicker */
	else if (queues != QUEUES_PERCPU || !pull_newly_idle(cpu, now))
		cpu_set_queue(cpu, 0);
}

void BPF_STRUCT_OPS(mlfq_running, struct task_struct *p)
{
	struct history *h = history_of(p);

	if (!h)
		return;
	h->started_at = scx_bpf_now();
	h->running = h->ran = true;
	cpu_set_queue(scx_bpf_task_cpu(p), h->queue);
	if (h->interrupted)
		choose_anew(scx_bpf_task_cpu(p));
}

void BPF_STRUCT_OPS(mlfq_stopping, struct task_struct *p, bool runnable)
{
	struct history *h = history_of(p);

	if (!h)
		return;
	h->used = h->slice - left_of(h, scx_bpf_now());
	h->running = false;
	h->interrupted = is_interrupted(p, runnable);
	cpu_set_queue(scx_bpf_task_cpu(p), 0);
}

bool BPF_STRUCT_OPS(mlfq_yield, struct task_struct *from, struct task_struct *to)
{
	struct history *h = history_of(from);

	if (h) {
		h->yielded = true;
		scx_bpf_task_set_slice(from, 0);
	}
	return false;
}

/*
 * Section 3 of the sheet: the child gets half of what is left to the parent, in whole ticks and at least one, and at
 * most the slice of its queue. It runs next when its queue is higher than the parent's or nothing is left to that.
 */
static void share_slice(struct history *child, struct task_struct *parent, struct history *h, u64 now)
{
	u64 left = left_of(h, now), unit = tick ?: 1, half = left / 2 / unit * unit;

	if (half > child->slice)
		half = child->slice;
	child->slice = half ?: unit;
	child->first = child->queue < h->queue || !left;
	if (half) {
		h->slice -= half;
		scx_bpf_task_set_slice(parent, left - half);
	}
}

s32 BPF_STRUCT_OPS(mlfq_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct history *h = bpf_task_storage_get(&histories, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE), *of;

	if (!h)
		return -ENOMEM;
	h->fresh = true;
	grant(p, h, highest_queue(p));
	if (args->fork && parent && (of = history_of(parent)) && of->running)
		share_slice(h, parent, of, scx_bpf_now());
	return 0;
}

/*
 * Where starve=ts1s moves a task that waits in @queue. Solaris' table for time-sharing has 60 rows, row = 60 - 60 k / K
 * for queue k of K. Each second a thread that had no CPU since its last slice began goes to the row `lwait`, since
 * `maxwait` is 0 in every row that stands for a queue.
 */
static u32 solaris_queue(u32 queue)
{
	u32 row = 60 - div_round_up(60 * queue, nr_queues), lwait;

	if (row < 30)
		lwait = 50 + row / 10;
	else if (row < 45)
		lwait = 53 + (row - 30) / 5;
	else if (row < 49)
		lwait = row < 47 ? row + 11 : 58;
	else
		lwait = 59;
	return div_round_up((60 - lwait) * nr_queues, 60);
}

/* Raises the tasks of one dispatch queue that waited for too long. Returns when to look again, at the latest @next. */
static u64 relieve_dsq(u64 dsq, u64 now, u64 next)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, dsq, 0) {
		struct history *h = history_of(p);
		u32 queue;

		if (!h)
			continue;
		queue = starve == STARVE_AGE ? one_up(p, h) : clamped(p, solaris_queue(h->queue));
		if (queue >= h->queue)
			continue;
		if (starve == STARVE_AGE && time_before(now, h->ready_since + age_after)) {
			if (time_before(h->ready_since + age_after, next))
				next = h->ready_since + age_after;
			continue;
		}
		/* When a CPU takes the task at this moment, the move fails and the task runs with its new slice later. */
		grant(p, h, queue);
		h->key = key_tail(queue, now - epoch);
		h->ready_since = now;
		scx_bpf_dsq_move_set_slice(BPF_FOR_EACH_ITER, h->slice);
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, h->key);
		scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, dsq, 0);
	}
	return next;
}

static int relieve(void *map, u32 *key, struct relief *relief)
{
	u64 now = scx_bpf_now(), next = now + (starve == STARVE_AGE ? age_after : period);
	s32 cpu;

	if (queues == QUEUES_SHARED)
		next = relieve_dsq(dsq_of(0), now, next);
	bpf_for(cpu, 0, nr_cpus) {
		u32 waiting;

		if (queues == QUEUES_PERCPU)
			next = relieve_dsq(dsq_of(cpu), now, next);
		/* A raised task may now be above the running one; the CPU decides in dispatch(). */
		waiting = first_queue(dsq_of(cpu), cpu);
		if (waiting && waiting < cpu_queue(cpu))
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
	bpf_timer_start(&relief->timer, next - now, 0);
	return 0;
}

static s32 start_relief(void)
{
	u32 key = 0;
	struct relief *relief = bpf_map_lookup_elem(&reliefs, &key);
	s32 error;

	if (!relief)
		return -ENOENT;
	error = bpf_timer_init(&relief->timer, &reliefs, CLOCK_MONOTONIC);
	error = error ?: bpf_timer_set_callback(&relief->timer, relieve);
	return error ?: bpf_timer_start(&relief->timer, starve == STARVE_AGE ? age_after : period, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(mlfq_init)
{
	s32 cpus = count_cpus(stays_on_its_cpu() ? FLAT_MAX_CPUS : MAX_CPUS), error;

	if (cpus < 0)
		return cpus;
	nr_cpus = cpus;
	nr_queues = levels ?: slices == SLICES_EXP2 ? 6 : 20;
	epoch = scx_bpf_now();
	set_slices();
	error = create_dsqs(queues == QUEUES_PERCPU ? nr_cpus : 1);
	if (!error && stays_on_its_cpu())
		error = start_balancer(epoch);
	return error || starve == STARVE_NONE ? error : start_relief();
}

SCX_OPS_DEFINE(mlfq_ops,
	       .select_cpu = (void *)mlfq_select_cpu,
	       .enqueue = (void *)mlfq_enqueue,
	       .dispatch = (void *)mlfq_dispatch,
	       .running = (void *)mlfq_running,
	       .stopping = (void *)mlfq_stopping,
	       .yield = (void *)mlfq_yield,
	       .init_task = (void *)mlfq_init_task,
	       .init = (void *)mlfq_init,
	       .name = "mlfq");
