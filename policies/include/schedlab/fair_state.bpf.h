/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks and run queues of Linux' fair schedulers: what is the same whatever order the queue is in.
 *
 * The waiting tasks of a CPU are in a dispatch queue, without the running one. A scheduler says before it includes
 * this what it wants of a task's and a queue's virtual time, as `struct task_clock` and `struct queue_clock`, which
 * Linux it follows, as is_4_9(), has_newidle_chance() and has_newidle_rate(), and answers the questions below.
 *
 * A queue's fields are changed by its CPU or under its lock. Sums that other CPUs change when they move tasks are
 * added to atomically; what others read may be old by a moment, and a load average that loses such a change forgets it
 * by decay.
 */
#ifndef SCHEDLAB_FAIR_STATE_BPF_H
#define SCHEDLAB_FAIR_STATE_BPF_H

#include <schedlab/buddies.bpf.h>
#include <schedlab/domains.bpf.h>
#include <schedlab/load_average.bpf.h>
#include <schedlab/weights.bpf.h>

PARAMETER(u64, machine_tick, 0,
	  "unit=ns machine=tick range=0s..1s about=The length of the machine's tick. 0 means that it has none, or that "
	  "it is unknown.");
PARAMETER(u32, hz, 0,
	  "range=0..1000000 about=Ticks per second, at which slices end and CPUs balance. 0 means those of the "
	  "machine, or 250 if it has none.");
/* As in kernels. */
#define LEAST_HZ 24

#define MAX_CPUS 4096
/* How long the core may let a task run before it asks, when no other waits. */
#define ALONE_SLICE NS_PER_S
/* SCHED_NORMAL, SCHED_BATCH and SCHED_IDLE. */
#define CLASS_NORMAL 0
#define CLASS_BATCH 3
#define CLASS_IDLE 5

struct fair_task {
	struct task_clock clock;
	struct load_average average;
	u64 ran_until;		  /* when it last left a CPU */
	u64 flips_halved_at;	  /* of `flips` */
	u32 flips;		  /* how often it woke something other than before */
	s32 last_wakee;
	s32 recent_cpu;		  /* where it was before its last CPU */
	u32 weight;
	u32 inverse;
	s32 cpu;		  /* in whose queue it is, or was */
	u32 class;
	u32 group;		  /* the slot of its task group, where there are some */
	s32 priority;		  /* that of its nice value */
	bool runnable;		  /* counted in that queue */
	bool fresh;		  /* not yet runnable for the first time */
	bool is_idle;		  /* counted as one of SCHED_IDLE in that queue */
	bool gives_way;		  /* its CPU has to choose, though it was only taken out to be changed */
	bool interrupted;	  /* lost its CPU to a higher class of schedulers */
#ifdef FAIR_TASK_STATE
	FAIR_TASK_STATE;	  /* what the policy keeps of it */
#endif
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fair_task);
} fair_tasks SEC(".maps");

/* What a CPU has seen at a level when it ran out of tasks and looked for some there. */
struct newidle {
	u64 cost;	      /* the longest look, decayed */
	u64 halved_at;	      /* of `calls` and `successes` */
	u32 calls;
	u32 successes;
	u32 ratio;	      /* of 1024 such calls, how many look */
	u32 drawn;	      /* the last random number */
};

struct fair_queue {
	struct queue_clock clock;
	u64 weight;	      /* of the tasks that run or wait in it, and of the groups */
	u32 nr_running;	      /* how many tasks run or wait in it, and in groups below it */
	u32 nr_entities;      /* how many tasks and groups `weight` is of */
	u32 nr_idle_class;    /* how many of them of SCHED_IDLE, or in idle control groups */
	u64 charged_at;	      /* until when the running task is charged */
	u64 slice_end;	      /* when the core will ask */
	u64 tick_phase;	      /* when in a jiffy ticks come */
	s32 running;	      /* its pid, 0 when none runs */
	u32 running_weight;
	u32 running_inverse;
	u32 running_class;
	u32 running_number;   /* the number of the queue in which it is */
	u32 running_group;    /* the queue of the group that runs here, or ran last; 0 for a task, or one that left */
	u32 turn;	      /* the slot of the group that ran here last */
	bool resched;	      /* the CPU shall pick again */
	bool timer_armed;
	struct load_average average;
	u64 arriving;	      /* the part of the load whose tasks the CPU has not taken in yet */
	u64 leaving;	      /* what went with tasks that woke elsewhere, since the load was brought to now */
	u64 load_history[5];  /* load by tick, smoothed over 2^k ticks */
	u64 history_ticks;
	u64 idle_since;
	u64 average_idle;
	u64 balanced_at[MAX_DOMAIN_LEVEL + 1];
	struct newidle newidle[MAX_DOMAIN_LEVEL + 1];
	u64 cost_decayed_at;
	u64 levels_began;     /* when it last looked for a task before it would idle */
	u64 level_began;      /* the same at its current level */
	u32 interval_ms[MAX_DOMAIN_LEVEL + 1];
	u32 failures[MAX_DOMAIN_LEVEL + 1];
	u32 imbalanced;	      /* levels at which allowed CPUs stood in the way, as bits */
	s32 push_pid;	      /* the task to be pushed, which ran when that was decided */
	s32 push_to;	      /* to this CPU */
	u32 idle_scan;	      /* of the first CPU of a cache: how many CPUs to look at for an idle one */
	u64 useless_to;	      /* the attempt of a balancer that can get nothing here */
	u64 attempt;	      /* the one that this CPU makes */
	u32 useless;	      /* in how many queues it has found nothing that may come */
	u32 level;	      /* at which it is */
	bool looks_again;     /* there without those queues */
#ifdef FAIR_QUEUE_STATE
	FAIR_QUEUE_STATE;     /* what the policy keeps of it */
#endif
};

static struct fair_queue queues[MAX_CPUS];
static u32 nr_cpus;
static u64 jiffy;
/* CPUs without a task, CPUs with more than one, and tasks of SCHED_IDLE that run or wait somewhere. */
static u32 nr_idle, nr_overloaded, nr_idle_tasks;

/* The dispatch queue in which a task waits for a CPU. */
static inline u64 waiting_dsq(const struct fair_task *t, s32 cpu);
/* How many such queues a CPU has without task groups, and one of them. */
static inline u32 nr_waiting_dsqs(void);
static inline u64 waiting_dsq_at(u32 number, s32 cpu);
/* From which of them the balancer pulls first. */
static inline u32 first_to_pull(const struct fair_queue *from);
/* Where a waiting task is in its queue. */
static inline u64 order_key(const struct fair_task *t);
/* Where a task that waits in a queue would be in the one of @cpu, as things are. */
static u64 order_key_at(const struct fair_task *t, const struct fair_queue *from, const struct fair_queue *to, s32 cpu,
			u64 now);
/* A waiting task goes there, to @key. It is still counted where it was. */
static void carry_place(struct fair_task *t, struct fair_queue *from, struct fair_queue *to, s32 cpu, u64 key);
/* A task came to wait where another one runs. Whether that has to end, or to end sooner than the core knows. */
static bool must_tell(struct fair_queue *q, const struct fair_task *t, s32 pid, s32 cpu, u64 now);
/* The same, when the balancer brought it. */
static bool must_tell_moved(struct fair_queue *q, const struct fair_task *t, s32 pid, s32 cpu, u64 now);
/* Whether the queue prefers that task to the one that is due, and the end of that. */
static inline bool is_buddy(const struct fair_queue *q, const struct fair_task *t, s32 pid);
static void clear_buddies(struct fair_queue *q, const struct fair_task *t, s32 pid);
/* Whether a waiting task would gain nothing on @cpu, by its place. @failures: how often pulling failed. */
static inline bool gains_nothing(const struct fair_queue *from, const struct fair_queue *to, const struct fair_task *t,
			  s32 cpu, u32 failures, u64 now);

/* Whether a sleeper is still in the queue, and is not of SCHED_IDLE. */
static inline bool keeps_sleeper(const struct fair_queue *q);
/* Whether a task of SCHED_IDLE looks for a CPU as others do. If not, one that runs such tasks is no idle one for it. */
static inline bool idle_class_is_as_others(void);

/* Whether a task counts as one of SCHED_IDLE where it is, by its control groups. */
static inline bool is_in_idle_group(const struct fair_task *t);

static inline enum load_rule load_rule(void)
{
	return is_4_9() ? LOAD_RULE_4_9 : LOAD_RULE_LATER;
}

static inline struct fair_task *task_of(struct task_struct *p)
{
	return bpf_task_storage_get(&fair_tasks, p, NULL, 0);
}

static inline struct fair_queue *queue_of(s32 cpu)
{
	return ELEMENT(queues, (u32)cpu);
}

/* How many ticks a CPU has had. */
static inline u64 ticks_until(const struct fair_queue *q, u64 now)
{
	return (now + jiffy - q->tick_phase) / jiffy;
}

/* The first tick at that time or after it. */
static inline u64 tick_from(const struct fair_queue *q, u64 at)
{
	return ticks_until(q, at - 1) * jiffy + q->tick_phase;
}

static inline void follow_ticks(struct fair_queue *q, const struct task_struct *p, u64 now)
{
	if (ended_late(p, q->slice_end, now))
		q->tick_phase = (now - TICK_LEAD) % jiffy;
}

static inline bool is_idle(s32 cpu)
{
	struct fair_queue *q = queue_of(cpu);

	return q && !q->nr_running;
}

/*
 * Whether only tasks of SCHED_IDLE run or wait there. Kernels since 5.4 take such a CPU for an idle one where a task
 * looks for a place (sched_idle_cpu()).
 */
static inline bool is_left_to_idle_class(s32 cpu)
{
	struct fair_queue *q = queue_of(cpu);

	return q && !is_4_9() && q->nr_running && q->nr_running == q->nr_idle_class && !keeps_sleeper(q);
}

static inline void update_queue_load(struct fair_queue *q, u64 now)
{
	u64 runnable_rate = is_4_9() ? q->weight : q->nr_running * LOAD_UTIL_MAX;

	q->leaving = 0;
	load_average_update(&q->average, now, q->weight, runnable_rate, load_rule() | (q->running ? LOAD_RUNNING : 0));
}

static inline void update_task_load(struct fair_task *t, u64 now, bool runnable, bool running)
{
	load_average_update(&t->average, now, runnable ? t->weight : 0, runnable ? LOAD_UTIL_MAX : 0,
			    load_rule() | (running ? LOAD_RUNNING : 0));
}

#include <schedlab/task_groups.bpf.h>

/* A task comes to `t->cpu`, or leaves it: for what the policy keeps of loads. */
static inline void on_load(struct fair_task *t, bool comes);

/* What the queue's averages have of a task that has come to its CPU, or that leaves it. */
static inline void join_load(struct fair_queue *q, struct fair_task *t, u64 now)
{
	on_load(t, true);
	if (has_groups())
		join_tree_load(t, now);
	else
		load_average_attach(&q->average, &t->average, load_rule());
}

static inline void leave_load(struct fair_queue *q, struct fair_task *t, u64 now)
{
	on_load(t, false);
	if (has_groups())
		leave_tree_load(t, now);
	else
		load_average_detach(&q->average, &t->average, load_rule());
}

/* A task weighs something in a queue. */
static inline void add_weight_of(struct fair_queue *q, const struct fair_task *t)
{
	if (is_4_9()) {
		q->average.runnable += t->average.load;
		q->average.runnable_sum += t->average.load_sum;
	}
	__sync_fetch_and_add(&q->weight, t->weight);
	add_entity(q, 1);
}

static inline void take_weight_of(struct fair_queue *q, const struct fair_task *t)
{
	if (is_4_9()) {
		load_take(&q->average.runnable, t->average.load);
		load_take(&q->average.runnable_sum, t->average.load_sum);
	}
	__sync_fetch_and_add(&q->weight, -(u64)t->weight);
	add_entity(q, -1);
}

/* A task is counted in the queue of its CPU. */
static void count_in(struct fair_queue *q, struct fair_task *t, u64 now)
{
	u32 before;

	update_queue_load(q, now);
	if (has_groups())
		count_in_tree(t, 1, now);
	else
		add_weight_of(q, t);
	t->is_idle = t->class == CLASS_IDLE || is_in_idle_group(t);
	if (t->is_idle) {
		__sync_fetch_and_add(&q->nr_idle_class, 1);
		__sync_fetch_and_add(&nr_idle_tasks, 1);
	}
	before = __sync_fetch_and_add(&q->nr_running, 1);
	if (!before)
		__sync_fetch_and_add(&nr_idle, -1);
	else if (before == 1)
		__sync_fetch_and_add(&nr_overloaded, 1);
	t->runnable = true;
}

/* And counted out again. */
static void count_out(struct fair_queue *q, struct fair_task *t, u64 now)
{
	u32 before;

	update_queue_load(q, now);
	if (has_groups())
		count_in_tree(t, -1, now);
	else
		take_weight_of(q, t);
	if (t->is_idle) {
		__sync_fetch_and_add(&q->nr_idle_class, -1);
		__sync_fetch_and_add(&nr_idle_tasks, -1);
	}
	before = __sync_fetch_and_add(&q->nr_running, -1);
	if (before == 1)
		__sync_fetch_and_add(&nr_idle, 1);
	else if (before == 2)
		__sync_fetch_and_add(&nr_overloaded, -1);
	t->runnable = false;
}

#endif /* SCHEDLAB_FAIR_STATE_BPF_H */
