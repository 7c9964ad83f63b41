/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The form of the recorder's records in the ring: must agree with src/wire.rs.
 */
#ifndef SCHEDLAB_RECORD_BPF_H
#define SCHEDLAB_RECORD_BPF_H

enum kind {
	SWITCH = 0,
	WAKEUP = 1,
	MIGRATE = 2,
	FORK = 3,
	EXEC = 4,
	EXIT = 5,
	RENAME = 6,
	RUNNING = 7,
	SOFTIRQ_ENTRY = 8,
	SOFTIRQ_EXIT = 9,
	TICK = 10,
	STATUS = 11,
	KINDS = 12,
};

/* How a task left its CPU. */
enum why {
	PREEMPTED = 0,
	YIELDED = 1,
	BLOCKED = 2,
	EXITED = 3,
};

/* Bits of `flags`: of a switch above two bits of `why`, of a wakeup, of the rest. */
enum {
	PREVIOUS_FOLLOWED = 4,
	NEXT_FOLLOWED = 8,
	NEW = 1,
	WAKER_UNKNOWN = 2,
	FOLLOWED = 1,
	ON_INTERRUPT = 2,
};

struct head {
	u64 time;
	u32 cpu;
	u16 kind;
	u16 flags;
};

struct switch_record {
	struct head head;
	s32 previous, previous_tgid;
	s32 next, next_tgid;
	s16 previous_priority, next_priority;
	u32 unused;
};

/*
 * Of a wakeup, a: where to, b: its waker, or 0. Of a migration, a: from, b: to. Of a fork, a: parent. Of an exec,
 * a: former tid.
 */
struct task_record {
	struct head head;
	s32 tid, tgid;
	s32 a, b;
	s16 priority;
	u16 unused[3];
};

struct named_record {
	struct task_record task;
	char comm[16];
};

struct status_record {
	struct task_record task;
	u64 word;
};

#endif /* SCHEDLAB_RECORD_BPF_H */
