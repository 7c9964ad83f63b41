/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How interactive a task is, and what follows from that: its priority, its slice, what a sleep earns and a run costs.
 *
 * A task has a sleep average, 0 to about a second. The current bonus CB is the sleep average on a scale of 0 to 10, and
 *
 *	priority = static priority + 5 - CB		100 to 139, lower is better, nice 0 is 120
 *
 * A task is interactive when its bonus is high enough for its nice value: CB >= 7 with nice 0. Times are in jiffies
 * where the original counts ticks, in nanoseconds where it reads the clock. All divisions cut off, as there.
 */
#ifndef LINUX_O1_INTERACTIVITY_BPF_H
#define LINUX_O1_INTERACTIVITY_BPF_H

#include <schedlab/common.bpf.h>
#include <schedlab/status.bpf.h>

PARAMETER(bool, disk_limit, true,
	  "about=Whether a wait for a disk raises a task only to the limit of being interactive. If not, it counts "
	  "like any sleep.");
PARAMETER(u32, version, 0, "choices=2.6.22,2.6.3 about=The kernel whose rules apply.");
PARAMETER(u32, hz, 1000,
	  "range=100..1000 about=Ticks per second: 100, 250, 300 or 1000. Slices are whole ticks, so it also changes "
	  "their lengths.");
PARAMETER(u32, publish, 0,
	  "choices=priority,detail about=The status word: the priority and whether the task is interactive, or also "
	  "the sleep average, the rest of the slice, the credit of 2.6.3 and what ended the last sleep.");
enum { VERSION_2_6_22, VERSION_2_6_3 };
enum { PUBLISH_PRIORITY, PUBLISH_DETAIL };

#define MAX_BONUS 10
#define INTERACTIVE_DELTA 2
#define CREDIT_LIMIT 100
#define CHILD_PENALTY 95
#define ON_RUN_QUEUE_WEIGHT 30
#define MAX_RT_PRIO 100
#define MAX_PRIO 140
#define PRIORITIES (MAX_PRIO - MAX_RT_PRIO)
/* What a task of nice 0 weighs in 2.6.22. */
#define LOAD_SCALE 128

/* What ended the last sleep of a task that has not run since. */
enum wake_class {
	CLASS_NEUTRAL,
	CLASS_NONINTERACTIVE, /* an uninterruptible sleep; in 2.6.22 also a pipe, or a very long sleep */
	CLASS_BY_TASK,
	CLASS_BY_INTERRUPT,
};

/* What is known of a task. Written by the CPU that handles the task. */
struct o1_task {
	u64 sleep_avg;  /* ns */
	u64 timestamp;  /* when it got a CPU, lost it, or woke */
	u64 last_ran;   /* when it last had a CPU, 0: never */
	u64 ticked;     /* the jiffy up to which it has paid for ticks */
	u64 key;        /* its place in its array, also while it runs */
	u64 status;     /* what was published last */
	u32 prio;
	u32 time_slice; /* jiffies left */
	u32 array;      /* which of the two arrays of its run queue it is on */
	u32 cpu;        /* whose run queue that is */
	u32 load;       /* its weight while it is counted there */
	u32 sync_cpu;   /* the CPU of the waker, if that is about to sleep */
	s32 credit;     /* 2.6.3: more than 100 is known to be interactive, less than -100 known not to be */
	s32 parent;     /* process number of the task that forked it, 0: none */
	enum wake_class wake_class;
	bool first_slice; /* it still has the slice that its parent gave it */
	bool fresh;       /* forked, and not yet queued */
	bool running;
	bool ran;         /* it had a CPU since it was last queued */
	bool interrupted; /* it has its CPU back, or kept it through a change, though another one may come first */
	bool gives_way;   /* it used up its slice in a fork, or that was seen there, and runs still */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct o1_task);
} tasks SEC(".maps");

static inline struct o1_task *task_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, NULL, 0);
}

/* Jiffies, except for the first; set once from `hz` and `version`. */
static u64 jiffy_ns;
static u32 slice_min, slice_max, slice_nice_0, granularity, sleep_avg_max;

static inline void set_scales(void)
{
	jiffy_ns = NS_PER_S / hz;
	if (version == VERSION_2_6_3) {
		slice_min = 10 * hz / 1000;
		slice_max = 200 * hz / 1000;
		slice_nice_0 = slice_min + (slice_max - slice_min) * 19 / 39;
		granularity = slice_min;
	} else {
		slice_min = 5 * hz / 1000 ?: 1;
		slice_max = 0;
		slice_nice_0 = 100 * hz / 1000;
		granularity = 10 * hz / 1000 ?: 1;
	}
	sleep_avg_max = slice_nice_0 * MAX_BONUS;
}

static inline u64 sleep_avg_max_ns(void)
{
	return sleep_avg_max * jiffy_ns;
}

/* A whole slice: 10 to 200 ms in 2.6.3, 5 to 800 ms in 2.6.22, where every nice value below 0 counts four times. */
static inline u32 full_slice(const struct task_struct *p)
{
	u32 static_prio = p->static_prio, slice;

	if (version == VERSION_2_6_3)
		return slice_min + (slice_max - slice_min) * (MAX_PRIO - 1 - static_prio) / 39;
	slice = (static_prio < 120 ? 4 : 1) * slice_nice_0 * (MAX_PRIO - static_prio) / 20;
	return slice > slice_min ? slice : slice_min;
}

static inline u32 current_bonus(const struct o1_task *t)
{
	return t->sleep_avg / jiffy_ns * MAX_BONUS / sleep_avg_max;
}

static inline u32 effective_prio(const struct task_struct *p, const struct o1_task *t)
{
	u32 prio = p->static_prio + MAX_BONUS / 2 - current_bonus(t);

	return prio < MAX_RT_PRIO ? MAX_RT_PRIO : prio >= MAX_PRIO ? MAX_PRIO - 1 : prio;
}

/* By how much the priority has to be better than the static one to be interactive: 2 with nice 0, -3 with -20. */
static inline s32 interactive_delta(const struct task_struct *p)
{
	u32 up = p->static_prio - MAX_RT_PRIO;

	/* 2.6.3 divides a negative nice value, which cuts off towards zero, and so demands more of it than 2.6.22. */
	if (version == VERSION_2_6_3 && up < 20)
		return INTERACTIVE_DELTA - (s32)((20 - up) / 4);
	return (s32)(up / 4) - 5 + INTERACTIVE_DELTA;
}

static inline bool is_interactive(const struct task_struct *p, const struct o1_task *t)
{
	return (s32)t->prio <= p->static_prio - interactive_delta(p);
}

/* A longer sleep says nothing more about a task than that it was idle. Ends one jiffy below a bonus. */
static inline u64 interactive_sleep(const struct task_struct *p)
{
	u32 bonus = MAX_BONUS / 2 + interactive_delta(p) + 1;

	return (sleep_avg_max * bonus / MAX_BONUS - 1) * jiffy_ns;
}

/* Interactive tasks of one priority take turns within their slices, the sooner the more interactive they are. */
static inline u32 timeslice_granularity(const struct o1_task *t, u32 nr_cpus)
{
	u32 below = MAX_BONUS - current_bonus(t);

	return granularity * (1 << ((below ?: 1) - 1)) * nr_cpus;
}

static inline bool high_credit(const struct o1_task *t)
{
	return t->credit > CREDIT_LIMIT;
}

static inline bool low_credit(const struct o1_task *t)
{
	return t->credit < -CREDIT_LIMIT;
}

static inline void raise_credit(struct o1_task *t)
{
	if (!high_credit(t))
		t->credit++;
}

/*
 * The status word: the priority in bits 0 to 7, bit 8 when the task is interactive. With publish=detail also the sleep
 * average in bits 9 to 38, the jiffies left of the slice in 39 to 48, the credit plus 128 in 49 to 56, the wake class
 * from 57.
 */
static inline void publish_status(struct task_struct *p, struct o1_task *t)
{
	u64 word = t->prio | (u64)is_interactive(p, t) << 8;

	if (publish == PUBLISH_DETAIL)
		word |= t->sleep_avg << 9 | (u64)(t->time_slice & 1023) << 39 | (u64)(u8)(t->credit + 128) << 49 |
			(u64)t->wake_class << 57;
	if (word != t->status) {
		t->status = word;
		status_set(p, word);
	}
}

/*
 * What a run costs: its length, divided by the bonus. In 2.6.3 only tasks known to be interactive are spared.
 * Nothing is charged twice: `timestamp` moves on.
 */
static inline void charge_run(struct o1_task *t, u64 now)
{
	u64 run = now - t->timestamp;

	if (now <= t->timestamp)
		return;
	t->timestamp = now;
	if (run > sleep_avg_max_ns())
		run = sleep_avg_max_ns();
	if (version == VERSION_2_6_22 || high_credit(t))
		run /= current_bonus(t) ?: 1;
	if (t->sleep_avg > run) {
		t->sleep_avg -= run;
		return;
	}
	t->sleep_avg = 0;
	if (version == VERSION_2_6_3 && !high_credit(t) && !low_credit(t))
		t->credit--;
}

/* Adds a sleep that must not lead above the ceiling: it was for a disk, say. */
static inline void add_up_to(struct o1_task *t, u64 sleep, u64 ceiling)
{
	if (t->sleep_avg + sleep < ceiling)
		t->sleep_avg += sleep;
	else if (t->sleep_avg < ceiling)
		t->sleep_avg = ceiling;
}

/* 2.6.3: a sleep counts up to ten times, the more the lower the sleep average is. */
static inline void credit_sleep_2_6_3(const struct task_struct *p, struct o1_task *t, u64 sleep)
{
	u64 ceiling = interactive_sleep(p), own_slice = full_slice(p) * jiffy_ns;
	bool bounded = disk_limit && p->mm && t->wake_class == CLASS_NONINTERACTIVE;

	if (sleep > sleep_avg_max_ns())
		sleep = sleep_avg_max_ns();
	if (p->mm && !bounded && sleep > ceiling) {
		t->sleep_avg = (sleep_avg_max - slice_nice_0) * jiffy_ns;
		raise_credit(t);
		return;
	}
	sleep *= (MAX_BONUS - current_bonus(t)) ?: 1;
	if (low_credit(t) && sleep > own_slice)
		sleep = own_slice;
	if (bounded && !high_credit(t))
		add_up_to(t, sleep, ceiling);
	else
		t->sleep_avg += sleep;
	if (t->sleep_avg > sleep_avg_max_ns()) {
		t->sleep_avg = sleep_avg_max_ns();
		raise_credit(t);
	}
}

/* 2.6.22: a sleep counts as long as it was. */
static inline void credit_sleep_2_6_22(const struct task_struct *p, struct o1_task *t, u64 sleep)
{
	u64 ceiling = interactive_sleep(p);

	if (p->mm && sleep > ceiling && t->sleep_avg < ceiling) {
		t->sleep_avg = ceiling;
		t->wake_class = CLASS_NONINTERACTIVE;
	} else if (disk_limit && p->mm && t->wake_class == CLASS_NONINTERACTIVE) {
		add_up_to(t, sleep, ceiling);
	} else {
		t->sleep_avg += sleep;
	}
	if (t->sleep_avg > sleep_avg_max_ns())
		t->sleep_avg = sleep_avg_max_ns();
}

/* Credits a sleep, or a part of the wait that followed it, and takes the priority that follows. */
static inline void credit_sleep(const struct task_struct *p, struct o1_task *t, u64 sleep)
{
	if (sleep && version == VERSION_2_6_3)
		credit_sleep_2_6_3(p, t, sleep);
	else if (sleep && p->policy != SCHED_BATCH)
		credit_sleep_2_6_22(p, t, sleep);
	t->prio = effective_prio(p, t);
}

/* A fork leaves the parent its whole levels and gives the child 95 % of them, in whole levels again. */
static inline void share_sleep_avg(struct o1_task *child, struct o1_task *parent)
{
	u32 bonus = current_bonus(parent);

	parent->sleep_avg = bonus * sleep_avg_max / MAX_BONUS * jiffy_ns;
	child->sleep_avg = bonus * CHILD_PENALTY / 100 * sleep_avg_max / MAX_BONUS * jiffy_ns;
}

#endif /* LINUX_O1_INTERACTIVITY_BPF_H */
