/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits of control groups: a quota of CPU time in each period (cpu.max), and what may be saved up (cpu.max.burst).
 *
 * A group has a pool, which is filled with its quota in each period. A CPU takes 5 ms of it at a time for its queue
 * of the group, when what it had is used up. Where nothing is left the queue is throttled: its tasks wait until the
 * pool is filled again, and each throttled queue, in the order in which they were throttled, gets what it owes and a
 * nanosecond. A queue whose last task sleeps gives back what is more than a millisecond; 5 ms later throttled queues
 * get of that, if the pool has more than 5 ms and the period continues for a while. Every group above a task with a
 * limit is charged.
 *
 * CPU time is charged when the policy looks: at ticks, switches, wake-ups. So a queue may use more than it has,
 * which it pays back.
 *
 * Example, quota 50 ms in 100 ms, one CPU, ticks each 4 ms: a hog takes 5 ms at 0, at 8, 12, 16 ... and is throttled
 * at 52, the first tick after its 50 ms. At 100 the pool is filled, it pays 2 ms, and is throttled at 148.
 *
 * A policy says before it includes this what a queue has when a limit is written, as FIRST_RUNTIME: a nanosecond
 * since 6.18, nothing before.
 *
 * Source: Linux 6.1, 6.12 and 7.3, kernel/sched/fair.c, "CFS bandwidth control machinery".
 */
#ifndef SCHEDLAB_BANDWIDTH_BPF_H
#define SCHEDLAB_BANDWIDTH_BPF_H

#include <schedlab/control_groups.bpf.h>

PARAMETER(u64, period_phase, 0,
	  "unit=ns range=0ns..1s about=How long after a multiple of its period a limit's period begins.");
PARAMETER(u64, phase_seed, 0,
	  "about=Seed for the random time at which each control group's periods begin, as in kernels since 6.12; it "
	  "also depends on the group's identity. 0 means at `period_phase`.");

/* sched_cfs_bandwidth_slice_us, min_cfs_rq_runtime, cfs_bandwidth_slack_period, min_bandwidth_expiration. */
#define BANDWIDTH_SLICE (5 * NS_PER_MS)
#define KEPT_RUNTIME NS_PER_MS
#define SLACK_DELAY (5 * NS_PER_MS)
#define LEAST_EXPIRATION (2 * NS_PER_MS)

struct limit_period {
	struct bpf_timer timer;
	u64 ends_at;
	u64 phase;
};

struct limit_slack {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CONTROL_GROUPS);
	__type(key, u32);
	__type(value, struct limit_period);
} limit_periods SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CONTROL_GROUPS);
	__type(key, u32);
	__type(value, struct limit_slack);
} limit_slacks SEC(".maps");

/* What venues read: the counters of cpu.stat, by the identity of a group. */
struct limit_counters {
	u64 nr_periods;
	u64 nr_throttled;
	u64 throttled_ns;
	u64 nr_bursts;
	u64 burst_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_CONTROL_GROUPS);
	__type(key, u64);
	__type(value, struct limit_counters);
} schedlab_control_groups SEC(".maps");

/* Guards the pools and the lists of throttled queues. */
private(BANDWIDTH) struct bpf_spin_lock bandwidth_lock;

static inline bool is_limited(const struct control_group *group)
{
	return group->quota != NO_QUOTA;
}

/* The queue of a group on a CPU may have its tasks back: that CPU is to take them. */
static void on_released(u32 slot, u32 cpu);
/* A limit of a group is written: a CPU that runs a task of it is to look. */
static void on_limit_written(u32 slot, u32 cpu);
/* The last tick of a CPU. */
static u64 last_tick(u32 cpu, u64 now);

/* What a queue gets that asks for @target at most. Under the lock. */
static inline bool take_runtime(struct control_group *group, struct control_queue *queue, s64 target)
{
	s64 amount = target - queue->runtime;

	if (amount > (s64)group->pool)
		amount = group->pool;
	if (amount > 0) {
		group->pool -= amount;
		__sync_fetch_and_add(&queue->runtime, amount);
		group->is_unused = false;
	}
	return queue->runtime > 0;
}

/* Sets the timer of a group's period, if it is not. */
static void start_period(u32 slot, u64 now)
{
	struct control_group *group = control_group_at(slot);
	struct limit_period *period = bpf_map_lookup_elem(&limit_periods, &slot);
	u64 since;

	if (!group || !period || __sync_lock_test_and_set(&group->is_timed, 1))
		return;
	since = now + group->period - period->phase % group->period;
	period->ends_at = now + group->period - since % group->period;
	bpf_timer_start(&period->timer, period->ends_at - now, 0);
}

/* A queue has nothing left, and gets nothing: it goes behind @last. Under the lock. */
static inline void append_throttled(struct control_group *group, struct control_queue *last,
				    struct control_queue *queue, u32 cpu)
{
	queue->is_throttled = true;
	queue->next = 0;
	if (last)
		last->next = cpu + 1;
	else
		group->first_throttled = cpu + 1;
	group->last_throttled = cpu + 1;
}

/* A queue takes runtime, or is throttled from now on: whether it is. */
static bool take_or_throttle(u32 slot, struct control_group *group, struct control_queue *queue, u32 cpu)
{
	bool is_throttled = false, is_done = false;
	u32 try;

	bpf_for(try, 0, LIST_TRIES) {
		u32 number = READ_ONCE(group->last_throttled);
		struct control_queue *last = number ? control_queue_of(slot, number - 1) : NULL;

		bpf_spin_lock(&bandwidth_lock);
		if (take_runtime(group, queue, BANDWIDTH_SLICE)) {
			is_done = true;
		} else if (group->last_throttled == number) {
			append_throttled(group, last, queue, cpu);
			is_done = is_throttled = true;
		}
		bpf_spin_unlock(&bandwidth_lock);
		if (is_done)
			break;
	}
	return is_throttled;
}

/* What of @used is charged: nothing from before the limit was written. */
static inline u64 used_since(u64 since, u64 used, u64 now)
{
	s64 limited = (s64)(now - since);

	return limited < 0 ? 0 : (u64)limited < used ? (u64)limited : used;
}

/* Charges the queue of one group for @used. True: it is throttled from now on. */
static bool charge_queue(u32 slot, u32 cpu, u64 used, u64 now)
{
	struct control_group *group = control_group_at(slot);
	struct control_queue *queue = control_queue_of(slot, cpu);

	if (!group || !queue || !is_limited(group))
		return false;
	__sync_fetch_and_add(&queue->runtime, -(s64)used_since(queue->limited_since, used, now));
	if (queue->runtime > 0 || queue->is_throttled)
		return false;
	start_period(slot, now);
	return take_or_throttle(slot, group, queue, cpu);
}

/* Charges a group and those above it. True: some queue is throttled from now on. */
static __noinline bool charge_limits(u32 slot, u32 cpu, u64 used, u64 now)
{
	bool is_throttled = false;
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct control_group *group = control_group_at(slot);

		if (!group || slot == ROOT_SLOT)
			break;
		is_throttled |= charge_queue(slot, cpu, used, now);
		slot = group->parent;
	}
	return is_throttled;
}

/* The throttled group that is nearest above a task, NO_SLOT for none. */
static __noinline u32 throttled_above(u32 slot, u32 cpu)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct control_group *group = control_group_at(slot);
		struct control_queue *queue = control_queue_of(slot, cpu);

		if (!group || !queue || slot == ROOT_SLOT)
			break;
		if (is_limited(group) && queue->is_throttled)
			return slot;
		slot = group->parent;
	}
	return NO_SLOT;
}

/* A task of a group is held back on a CPU: from now on the throttled queues above it count their time. */
static __noinline void note_held_back(u32 slot, u32 cpu, u64 now)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct control_group *group = control_group_at(slot);
		struct control_queue *queue = control_queue_of(slot, cpu);

		if (!group || !queue || slot == ROOT_SLOT)
			break;
		if (queue->is_throttled && !queue->throttled_at)
			queue->throttled_at = now + 1;
		slot = group->parent;
	}
}

/* How long a running task of a group may continue before some queue above it has nothing left. */
static __noinline u64 runtime_left(u32 slot, u32 cpu)
{
	u64 left = ~0ULL;
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct control_group *group = control_group_at(slot);
		struct control_queue *queue = control_queue_of(slot, cpu);
		u64 own;

		if (!group || !queue || slot == ROOT_SLOT)
			break;
		own = queue->runtime > 0 ? queue->runtime : 0;
		if (is_limited(group) && own < left)
			left = own;
		slot = group->parent;
	}
	return left;
}

/* A queue is not throttled any more. */
static void release(struct control_group *group, struct control_queue *queue, u32 slot, u32 cpu, u64 now)
{
	if (queue->throttled_at)
		group->throttled_ns += now + 1 - queue->throttled_at;
	queue->throttled_at = 0;
	on_released(slot, cpu);
}

/* Gives throttled queues of a group what they owe and a nanosecond, as far as the pool goes. */
static void distribute(struct control_group *group, u32 slot, u64 now)
{
	u32 step;

	bpf_for(step, 0, control_cpus) {
		struct control_queue *queue;
		u32 cpu = 0;
		bool is_released = false;
		s64 amount;

		bpf_spin_lock(&bandwidth_lock);
		if (group->first_throttled && group->pool) {
			cpu = group->first_throttled - 1;
			is_released = true;
		}
		bpf_spin_unlock(&bandwidth_lock);
		queue = is_released ? control_queue_of(slot, cpu) : NULL;
		if (!queue)
			return;
		bpf_spin_lock(&bandwidth_lock);
		amount = 1 - queue->runtime;
		if (amount > (s64)group->pool)
			amount = group->pool;
		group->pool -= amount;
		__sync_fetch_and_add(&queue->runtime, amount);
		is_released = queue->runtime > 0;
		group->first_throttled = queue->next;
		if (!queue->next)
			group->last_throttled = 0;
		if (is_released) {
			queue->is_throttled = false;
			queue->next = 0;
		} else {
			/* It waits on, before the others. */
			queue->next = group->first_throttled;
			group->first_throttled = cpu + 1;
			if (!group->last_throttled)
				group->last_throttled = cpu + 1;
		}
		bpf_spin_unlock(&bandwidth_lock);
		if (!is_released)
			return;
		release(group, queue, slot, cpu, now);
	}
}

static void publish_limits(const struct control_group *group)
{
	struct limit_counters counters = {
		group->nr_periods, group->nr_throttled, group->throttled_ns, group->nr_bursts, group->burst_ns,
	};
	u64 id = group->id;

	bpf_map_update_elem(&schedlab_control_groups, &id, &counters, BPF_ANY);
}

/* Fills the pool; what was used beyond the quota since it was last filled is a burst. */
static inline void refill(struct control_group *group)
{
	s64 over;

	bpf_spin_lock(&bandwidth_lock);
	group->pool += group->quota;
	over = (s64)(group->snap - group->pool);
	if (over > 0) {
		group->nr_bursts++;
		group->burst_ns += over;
	}
	if (group->pool > group->quota + group->burst)
		group->pool = group->quota + group->burst;
	group->snap = group->pool;
	bpf_spin_unlock(&bandwidth_lock);
}

/* A period ends. */
static int on_period(void *map, u32 *key, struct limit_period *period)
{
	u32 slot = *key;
	struct control_group *group = control_group_at(slot);
	bool waits;
	u64 now;

	if (!group || !is_limited(group)) {
		if (group)
			group->is_timed = false;
		return 0;
	}
	now = period->ends_at;
	waits = group->first_throttled;
	group->nr_periods++;
	refill(group);
	if (group->is_unused && !waits) {
		group->is_timed = false;
		publish_limits(group);
		return 0;
	}
	period->ends_at += group->period;
	bpf_timer_start(&period->timer, period->ends_at - scx_bpf_now(), 0);
	if (waits) {
		group->nr_throttled++;
		distribute(group, slot, now);
		group->is_unused = false;
	} else {
		group->is_unused = true;
	}
	publish_limits(group);
	return 0;
}

/* What sleepers have given back goes to the throttled queues. */
static int on_slack(void *map, u32 *key, struct limit_slack *slack)
{
	u32 slot = *key;
	struct control_group *group = control_group_at(slot);
	struct limit_period *period = bpf_map_lookup_elem(&limit_periods, &slot);
	u64 now = scx_bpf_now();

	if (!group || !period)
		return 0;
	group->is_slack_timed = false;
	if (!is_limited(group) || group->pool <= BANDWIDTH_SLICE)
		return 0;
	if (group->is_timed && period->ends_at - now < LEAST_EXPIRATION)
		return 0;
	distribute(group, slot, now);
	return 0;
}

/* The last task of a queue has gone: what it does not need goes back. */
static void return_runtime(u32 slot, u32 cpu, u64 now)
{
	struct control_group *group = control_group_at(slot);
	struct control_queue *queue = control_queue_of(slot, cpu);
	struct limit_period *period = bpf_map_lookup_elem(&limit_periods, &slot);
	struct limit_slack *slack = bpf_map_lookup_elem(&limit_slacks, &slot);
	s64 surplus;
	bool is_due;

	if (!group || !queue || !period || !slack || !is_limited(group))
		return;
	surplus = queue->runtime - (s64)KEPT_RUNTIME;
	if (surplus <= 0)
		return;
	bpf_spin_lock(&bandwidth_lock);
	group->pool += surplus;
	__sync_fetch_and_add(&queue->runtime, -surplus);
	is_due = group->pool > BANDWIDTH_SLICE && group->first_throttled && !group->is_slack_timed;
	bpf_spin_unlock(&bandwidth_lock);
	if (!is_due || (group->is_timed && period->ends_at - now < SLACK_DELAY + LEAST_EXPIRATION))
		return;
	group->is_slack_timed = true;
	bpf_timer_start(&slack->timer, SLACK_DELAY, 0);
}

/*
 * A task of a group is about to be counted on a CPU: queues that were empty there ask for runtime. True: some queue
 * is throttled from now on.
 */
static __noinline bool begin_use(u32 slot, u32 cpu, u64 now)
{
	bool is_throttled = false;
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct control_group *group = control_group_at(slot);
		struct control_queue *queue = control_queue_of(slot, cpu);

		if (!group || !queue || slot == ROOT_SLOT || queue->weight)
			break;
		is_throttled |= charge_queue(slot, cpu, 0, now);
		slot = group->parent;
	}
	return is_throttled;
}

/* A task of a group has been counted out of a CPU: queues that are empty there now give back. */
static __noinline void end_use(u32 slot, u32 cpu, u64 now)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct control_group *group = control_group_at(slot);
		struct control_queue *queue = control_queue_of(slot, cpu);

		if (!group || !queue || slot == ROOT_SLOT || queue->weight)
			break;
		return_runtime(slot, cpu, now);
		slot = group->parent;
	}
}

/* For policies without weights: tasks are counted in the queues of a group, and of those above it, on a CPU. */
static __noinline void count_use(u32 slot, u32 cpu, s32 tasks)
{
	u32 level;

	bpf_for(level, 0, MAX_CONTROL_DEPTH) {
		struct control_group *group = control_group_at(slot);
		struct control_queue *queue = control_queue_of(slot, cpu);

		if (!group || !queue || slot == ROOT_SLOT)
			break;
		__sync_fetch_and_add(&queue->nr_running, tasks);
		__sync_fetch_and_add(&queue->weight, (s64)tasks);
		slot = group->parent;
	}
}

static inline void end_counted_use(u32 slot, u32 cpu, u64 now)
{
	count_use(slot, cpu, -1);
	end_use(slot, cpu, now);
}

/*
 * A limit is written, with a gift: the pool is filled, and no queue is throttled any more. A kernel charges what its
 * last tick has not.
 */
static void set_limit(u32 slot, u64 period_us, u64 quota_us, u64 burst_us, u64 now)
{
	struct control_group *group = control_group_at(slot);
	u32 cpu;

	if (!group || slot == ROOT_SLOT)
		return;
	group->period = period_us * 1000;
	group->burst = burst_us * 1000;
	group->quota = quota_us == NO_QUOTA ? NO_QUOTA : quota_us * 1000;
	if (is_limited(group)) {
		refill(group);
		start_period(slot, now);
	}
	group->first_throttled = group->last_throttled = 0;
	bpf_for(cpu, 0, control_cpus) {
		struct control_queue *queue = control_queue_of(slot, cpu);

		if (!queue)
			continue;
		queue->runtime = FIRST_RUNTIME;
		queue->limited_since = last_tick(cpu, now);
		queue->next = 0;
		if (queue->is_throttled) {
			queue->is_throttled = false;
			release(group, queue, slot, cpu, now);
		} else {
			on_limit_written(slot, cpu);
		}
	}
}

/* A number that has nothing to do with another number's (Steele, Lea and Flood 2014, SplitMix). */
static inline u64 drawn(u64 from)
{
	u64 z = from * 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* The first limit of a group, before it has tasks. */
static s32 init_limit(u32 slot, const struct scx_cgroup_init_args *args)
{
	struct limit_period *period = bpf_map_lookup_elem(&limit_periods, &slot);
	struct limit_slack *slack = bpf_map_lookup_elem(&limit_slacks, &slot);
	struct control_group *group = control_group_at(slot);
	u64 now = scx_bpf_now();
	s32 error;

	if (!period || !slack || !group)
		return -ENOENT;
	error = bpf_timer_init(&period->timer, &limit_periods, CLOCK_MONOTONIC);
	/* A slot may be taken again. */
	if (error && error != -EBUSY)
		return error;
	error = bpf_timer_set_callback(&period->timer, on_period);
	if (error)
		return error;
	error = bpf_timer_init(&slack->timer, &limit_slacks, CLOCK_MONOTONIC);
	if (error && error != -EBUSY)
		return error;
	error = bpf_timer_set_callback(&slack->timer, on_slack);
	if (error)
		return error;
	group->period = NS_PER_S / 10;
	period->phase = phase_seed ? drawn(phase_seed + group->id) : period_phase;
	if (!bpf_core_field_exists(args->bw_quota_us))
		return 0;
	/* One file after the other, as a kernel has it: what may be saved up is there at first. */
	set_limit(slot, args->bw_period_us, args->bw_quota_us, 0, now);
	if (args->bw_burst_us)
		set_limit(slot, args->bw_period_us, args->bw_quota_us, args->bw_burst_us, now);
	return 0;
}

#endif /* SCHEDLAB_BANDWIDTH_BPF_H */
