/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A priority that wake-ups raise and quantums lower, and the quantum, in the way of the Windows NT family.
 *
 * Priorities are 1 to 31, 31 the highest. From 16 on they are real-time and never change by themselves. Below, a thread
 * has a base B and a priority P >= B. A wait that ends raises it by an increment I of what it had waited for, and each
 * quantum that it uses up takes one level back:
 *
 *	wake-up		P = max(P, min(B + I, 15))
 *	quantum end	P = max(B, P - D - 1), then D = 0
 *
 * So boosts do not add up. D is what goes at once: the part that the foreground, the owner of a lock or a scan for
 * starving threads gave; while there is such a part, a wake-up gives nothing.
 *
 * A quantum is counted in units, a third of a clock tick each: a tick takes three units from the thread that it hits, a
 * wait takes one. Ticks are counted at the next look; nothing happens at a tick itself.
 */
#ifndef SCHEDLAB_PRIORITY_BOOST_BPF_H
#define SCHEDLAB_PRIORITY_BOOST_BPF_H

#include <schedlab/common.bpf.h>
#include <schedlab/status.bpf.h>
#include <schedlab/wake.bpf.h>

/* The release, and what follows from it. */
PARAMETER(u32, version, 0,
	  "choices=server2003,vista about=The Windows version that decides for `quantum`, `charge` and `scan_boost` "
	  "where they are left at `version`.");
PARAMETER(u32, quantum, 0,
	  "choices=version,variable_short,variable_long,fixed_short,fixed_long about=The quantum, in units of a third "
	  "of a clock tick: `fixed_long` in Server 2003 and `variable_short` in Vista; 6, and 6, 12 or 18 in the "
	  "foreground, by `separation`; twice that; 18; or 36.");
PARAMETER(u32, charge, 0,
	  "choices=version,ticks,cycles about=What a thread pays from its quantum: `ticks` in Server 2003 and `cycles` "
	  "in Vista; a whole tick for each tick that hits it; or the time that it ran.");
PARAMETER(u64, tick, 15625000,
	  "unit=ns range=500us..100ms about=Length of the clock tick. Single processors of the time had 10ms.");
enum { SERVER2003, VISTA };
enum { QUANTUM_VERSION, VARIABLE_SHORT, VARIABLE_LONG, FIXED_SHORT, FIXED_LONG };
enum { CHARGE_VERSION, CHARGE_TICKS, CHARGE_CYCLES };

/* Base priorities and the foreground. */
PARAMETER(u32, nice, 0,
	  "choices=levels,classes about=How the nice value becomes the base priority: 8 minus the nice value, or a "
	  "priority class for eight nice values each.");
PARAMETER(u32, foreground, 0,
	  "choices=none,other,all about=Which processes are in the foreground: none, those of SCHED_OTHER tasks, or "
	  "all.");
PARAMETER(u32, separation, 2,
	  "range=0..2 about=The foreground's row in the table of variable quantums, and the extra levels that it gets "
	  "at a wake-up.");
enum { NICE_LEVELS, NICE_CLASSES };
enum { FOREGROUND_NONE, FOREGROUND_OTHER, FOREGROUND_ALL };

/* Boosts at wake-ups. */
PARAMETER(bool, boosts, true, "about=Whether a wake-up raises the priority.");
PARAMETER(u32, boost_timer, 0, "range=0..15 about=By how many levels the end of a sleep raises the priority.");
PARAMETER(u32, boost_semaphore, 1,
	  "range=0..15 about=By how many levels a wake-up by a semaphore, an event, a lock or a barrier raises the "
	  "priority.");
PARAMETER(u32, boost_pipe, 2, "range=0..15 about=By how many levels a message by a pipe raises the priority.");
PARAMETER(u32, boost_network, 2, "range=0..15 about=By how many levels a message by a socket raises the priority.");
PARAMETER(u32, boost_disk, 1, "range=0..15 about=By how many levels a wake-up by a device raises the priority.");
PARAMETER(u32, locks, 0,
	  "choices=increment,owner about=How a semaphore, lock or barrier raises a thread: to `boost_semaphore` levels "
	  "above its base, or to one level above its waker, but not above 13.");
enum { LOCKS_INCREMENT, LOCKS_OWNER };

#define HIGHEST 31
#define LOWEST_REALTIME 16
#define HIGHEST_DYNAMIC 15
#define NO_WAIT_CHARGE 14 /* from this base on a wait gives a new quantum */
#define HIGHEST_OWNER 13  /* a lock's owner is not raised above it */

/*
 * What is known of a thread. Its handler writes it, under its run queue's lock, except for a scan. The quantum is
 * kept in thirds of a nanosecond: a unit, a third of a tick, is `tick` of them, and a nanosecond on a CPU is three.
 */
struct thread {
	s64 left;         /* of its quantum; none when it is not above zero */
	u64 started_at;   /* when it last got a CPU, or paid for the time there */
	u64 ready_since;  /* when it began to wait */
	u64 key;          /* its place in the dispatch queue */
	u32 base;
	u32 priority;
	u32 decrement;    /* levels of the priority that go with the next quantum end */
	u32 ideal;        /* a CPU */
	u32 waker;        /* the priority of its waker; 0 without one */
	u32 state;
	bool yielded;
	bool interrupted; /* it has its CPU back, or kept it through a change, though another one may come first */
};

/* Whether a thread was ever queued, is queued, or had a CPU since it was. */
enum { NEW, READY, RAN };

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

static u64 epoch; /* ticks are counted from here */

static struct thread *thread_of(struct task_struct *p)
{
	return bpf_task_storage_get(&threads, p, NULL, 0);
}

static u64 ticks_until(u64 now)
{
	return (now - epoch) / tick;
}

static u32 nice_base(s32 n)
{
	if (nice == NICE_LEVELS)
		return n >= 8 ? 1 : 8 - n;
	return n < -12 ? 13 : n < -4 ? 10 : n < 5 ? 8 : n < 13 ? 6 : 4;
}

/* SCHED_IDLE is the relative level "idle" of a thread. */
static u32 base_of(const struct task_struct *p)
{
	return p->policy == SCHED_IDLE ? 1 : nice_base(nice_of(p));
}

static bool is_foreground(const struct task_struct *p)
{
	return foreground == FOREGROUND_ALL || (foreground == FOREGROUND_OTHER && p->policy == 0);
}

/* Units of a whole quantum: 6 for each row of the table, or 12. */
static u64 quantum_units(const struct task_struct *p)
{
	u32 table = quantum ?: version == VISTA ? VARIABLE_SHORT : FIXED_LONG;
	u32 unit = table == VARIABLE_LONG || table == FIXED_LONG ? 12 : 6;

	if (table == FIXED_SHORT || table == FIXED_LONG)
		return 3 * unit;
	return is_foreground(p) ? (separation + 1) * unit : unit;
}

static void grant(const struct task_struct *p, struct thread *t)
{
	t->left = quantum_units(p) * tick;
}

static bool pays_by_ticks(void)
{
	return charge ? charge == CHARGE_TICKS : version == SERVER2003;
}

/* Takes from the quantum what a thread used on its CPU up to @now. */
static void pay(struct thread *t, u64 now)
{
	if (pays_by_ticks())
		t->left -= 3 * tick * (ticks_until(now) - ticks_until(t->started_at));
	else
		t->left -= 3 * (now - t->started_at);
	t->started_at = now;
}

/* How long a thread that continues at @now may run: to the first tick at which its quantum is over. */
static u64 time_left(const struct thread *t, u64 now)
{
	u64 left = t->left > 0 ? t->left : 1, end;

	if (pays_by_ticks())
		end = ticks_until(now) + (left + 3 * tick - 1) / (3 * tick);
	else
		end = (now - epoch + (left + 2) / 3 + tick - 1) / tick;
	return epoch + end * tick - now;
}

static void set_priority(struct task_struct *p, struct thread *t, u32 priority)
{
	if (t->priority != priority)
		status_set(p, priority);
	t->priority = priority;
}

/* The priority at the end of a quantum. */
static u32 decayed(const struct thread *t)
{
	u32 lost = t->decrement + 1;

	return t->priority > t->base + lost ? t->priority - lost : t->base;
}

static void end_quantum(struct task_struct *p, struct thread *t)
{
	set_priority(p, t, decayed(t));
	t->decrement = 0;
	grant(p, t);
}

/* Whether a thread that wants to continue has had its turn. */
static bool turn_is_over(const struct thread *t)
{
	return t->yielded || t->left <= 0;
}

static u32 increment_of(enum wake_source source)
{
	switch (source) {
	case WAKE_TIMER:
		return boost_timer;
	case WAKE_SEMAPHORE:
		return boost_semaphore;
	case WAKE_PIPE:
		return boost_pipe;
	case WAKE_NETWORK:
		return boost_network;
	case WAKE_DISK:
		return boost_disk;
	default:
		return 0;
	}
}

/* What a wait costs: one unit, and a new quantum comes with a boost, or when the old one is over. */
static void pay_wait(struct task_struct *p, struct thread *t, u32 increment)
{
	if (t->base >= NO_WAIT_CHARGE) {
		grant(p, t);
		return;
	}
	if (!t->decrement && increment)
		grant(p, t);
	t->left -= tick;
	if (t->left <= 0)
		end_quantum(p, t);
}

/* Raises a thread of a dynamic level after a wait. What the foreground adds is lost with the first quantum. */
static void boost(struct task_struct *p, struct thread *t, u32 increment)
{
	u32 raised = t->base + increment, priority = raised;

	if (is_foreground(p))
		priority += separation;
	if (t->decrement || priority <= t->priority)
		return;
	if (priority > HIGHEST_DYNAMIC)
		priority = HIGHEST_DYNAMIC;
	if (priority > raised)
		t->decrement = priority - raised;
	set_priority(p, t, priority);
}

/* The way of some locks: the new owner comes just above the old one, and gives all of that back after a quantum. */
static void boost_owner(struct task_struct *p, struct thread *t)
{
	u32 priority = t->waker + 1 < HIGHEST_OWNER ? t->waker + 1 : HIGHEST_OWNER;

	if (boosts && t->priority <= t->waker && t->priority < HIGHEST_OWNER) {
		t->decrement += priority - t->priority;
		set_priority(p, t, priority);
	}
	if (t->left < 4 * (s64)tick)
		t->left = 4 * tick;
	t->left -= tick;
}

/* The waker of @t is running now. */
static void note_waker(struct thread *t)
{
	struct thread *waker = thread_of(bpf_get_current_task_btf());

	t->waker = waker ? waker->priority : 0;
}

/* A wait is over. */
static void unwait(struct task_struct *p, struct thread *t)
{
	enum wake_source source = wake_source(p);
	u32 increment = increment_of(source);

	if (t->priority >= LOWEST_REALTIME) {
		grant(p, t);
	} else if (locks == LOCKS_OWNER && source == WAKE_SEMAPHORE && t->waker) {
		boost_owner(p, t);
	} else {
		pay_wait(p, t, increment);
		if (boosts)
			boost(p, t, increment);
	}
}

#endif /* SCHEDLAB_PRIORITY_BOOST_BPF_H */
