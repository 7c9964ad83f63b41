/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may be set about the scheduler, and the numbers that follow from it.
 *
 * Two sets of constants go by the name of ULE: FreeBSD's own, and those of the port to Linux that a study compares with
 * CFS. `mode` chooses between them; a parameter of 0 stands for the number of the mode.
 */
#ifndef ULE_PARAMETERS_BPF_H
#define ULE_PARAMETERS_BPF_H

#include <schedlab/common.bpf.h>

PARAMETER(u32, mode, 0,
	  "choices=paper,freebsd about=Whose rules apply: those of the port to Linux that the study measured, or those "
	  "of FreeBSD 11.");
enum { MODE_PAPER, MODE_FREEBSD };

/* Time. */
PARAMETER(u32, hz, 0,
	  "range=0..10000 about=Ticks per second for sleep, CPU use and affinity. 0 means 250, or 1000 in mode "
	  "`freebsd`.");
PARAMETER(u32, stathz, 0,
	  "range=0..10000 about=Ticks per second for run time and slices. 0 means `hz`, or 127 in mode `freebsd`.");
PARAMETER(bool, stagger, false, "about=Whether the CPUs' ticks are spread over a tick's length instead of coinciding.");
PARAMETER(u32, slice, 0,
	  "range=0..1000 about=Slice in ticks on a CPU with at most two tasks. 0 means 10, or `stathz`/10 in mode "
	  "`freebsd`.");
PARAMETER(u32, slice_min, 0,
	  "range=0..1000 about=Slice in ticks on a CPU with seven tasks or more. 0 means 1, or `slice`/6 in mode "
	  "`freebsd`.");

/* Which tasks are interactive. */
PARAMETER(u32, interact, 30, "range=1..100 about=A task is interactive if its score is below this.");
PARAMETER(bool, inherit, true, "about=Whether a new task starts with its creator's history.");
PARAMETER(u64, newborn_run, 0,
	  "range=0..100000000 about=Run history of a task without a creator, in 1/1024 of a tick.");
PARAMETER(u64, newborn_sleep, 0,
	  "range=0..100000000 about=Sleep history of a task without a creator, in 1/1024 of a tick.");
PARAMETER(bool, static_boost, false, "about=Whether a batch task that wakes goes to the front of the calendar.");

/* Which task gets which CPU. */
PARAMETER(u32, preempt_thresh, 80,
	  "range=0..255 about=A task with a priority up to this one preempts on its own CPU; all priorities here are "
	  "above 80. 0 means no task preempts.");
PARAMETER(u32, affinity, 0,
	  "range=0..10000 about=Ticks for which a CPU's cache stays warm, times its level. 0 means 100, or `hz`/1000 "
	  "in mode `freebsd`.");
PARAMETER(bool, steal_idle, true, "about=Whether a CPU that runs out of tasks takes one from another CPU.");
PARAMETER(u32, steal_thresh, 2, "range=1..1000 about=The minimum load of a CPU from which another one takes a task.");
PARAMETER(u32, balance, 0,
	  "choices=fixed,never about=Whether the balancer runs as intended, or never, as in FreeBSD 11.");
PARAMETER(u32, balance_interval, 0,
	  "range=0..100000 about=Ticks between two rounds of the balancer, on average. 0 means 128, or `stathz` in "
	  "mode `freebsd`.");
PARAMETER(u32, seed, 0, "about=Seed for the random numbers of CPU 0. CPU n has this seed plus n.");
enum { BALANCE_FIXED, BALANCE_NEVER };

/* What is shown. */
PARAMETER(u32, status, 0,
	  "choices=priority,score about=What a task publishes as its status: its priority, or its score with the nice "
	  "value added.");
enum { STATUS_PRIORITY, STATUS_SCORE };

/* History is kept in 1/1024 of a tick. */
#define HISTORY_SHIFT 10

/* Slots of a calendar, and lists of the interactive queue. */
#define QUEUE_HEADS 64
/* Neighbouring priorities that share a list of the interactive queue. */
#define PRIORITIES_PER_HEAD 4
/* Tasks that wait next to the running one, from which on a slice is the shortest. */
#define SLICE_MIN_TASKS 6
/* The window of CPU use, in seconds: the length that is aimed at, and the longest. */
#define WINDOW_S 10
#define WINDOW_MAX_S 11

/* Priorities; a lower number is better. Those of SCHED_IDLE and of no task are the same in both modes. */
#define IDLE_CLASS_PRIORITY 224
#define NO_PRIORITY 255

/* The priorities of a mode. Nice values need room on both sides of what CPU use makes of batch tasks. */
struct priority_range {
	u32 interactive;        /* the best */
	u32 interactive_levels;
	u32 batch;              /* the best */
	u32 batch_levels;
	u32 use;                /* of a task at nice 0 without CPU use */
	u32 use_levels;
};

static const struct priority_range priority_ranges[2] = {
	[MODE_PAPER] = { 100, 12, 112, 28, 119, 13 },
	[MODE_FREEBSD] = { 120, 32, 152, 72, 172, 32 },
};

/* The worst priority of the class of interactive and batch tasks. */
static inline u32 timeshare_max(void)
{
	return mode == MODE_FREEBSD ? 223 : 139;
}

static u64 hz_ns;            /* length of a tick of `hz` */
static u64 tick_ns;          /* length of a tick of `stathz` */
static u64 hz_per_s;
static u64 tick_history;     /* run history that a tick of `stathz` adds */
static u64 history_max;      /* 5 s */
static u64 history_fork;     /* 0.5 s */
static u32 slice_ticks;
static u32 slice_min_ticks;
static u32 affinity_ticks;
static u32 balance_ticks;

/* Works the numbers out; called before anything else. */
static inline void set_units(void)
{
	u32 stat;

	hz_per_s = hz ?: mode == MODE_FREEBSD ? 1000 : 250;
	stat = stathz ?: mode == MODE_FREEBSD ? 127 : hz_per_s;
	hz_ns = NS_PER_S / hz_per_s;
	tick_ns = NS_PER_S / stat;
	tick_history = (hz_per_s << HISTORY_SHIFT) / stat;
	history_max = 5 * hz_per_s << HISTORY_SHIFT;
	history_fork = hz_per_s / 2 << HISTORY_SHIFT;
	slice_ticks = slice ?: mode == MODE_FREEBSD ? stat / 10 : 10;
	slice_ticks = slice_ticks ?: 1;
	slice_min_ticks = slice_min ?: mode == MODE_FREEBSD ? slice_ticks / 6 : 1;
	slice_min_ticks = slice_min_ticks ?: 1;
	affinity_ticks = affinity ?: mode == MODE_FREEBSD ? hz_per_s / 1000 : 100;
	affinity_ticks = affinity_ticks ?: 1;
	balance_ticks = balance_interval ?: mode == MODE_FREEBSD ? stat : 128;
}

#endif /* ULE_PARAMETERS_BPF_H */
