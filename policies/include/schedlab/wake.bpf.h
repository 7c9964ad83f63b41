/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wake source: what a task had waited for when it last became runnable. A policy reads it from a map.
 *
 * The simulator fills the map. In a kernel two small programs in the policy's object do, where tasks leave their CPU
 * and where they are new; the loader has to attach them too. What a task waits for is the system call
 * in which it goes to sleep, for read() and write() the kind of the file; a wait for a device is what the kernel itself
 * counts as one. A task that waits for several things at once (poll, epoll) or for another process waits for something
 * unknown, and one that ran into a timeout has waited for the same as one that got what it wanted. The numbers of the
 * calls are those of x86-64.
 */
#ifndef SCHEDLAB_WAKE_BPF_H
#define SCHEDLAB_WAKE_BPF_H

#include <schedlab/common.bpf.h>

/* The order is the one of the trace's wake sources. */
enum wake_source {
	WAKE_FORK = 0,      /* it is new */
	WAKE_TIMER = 1,     /* a sleep was over */
	WAKE_SEMAPHORE = 2, /* a semaphore, lock or barrier */
	WAKE_PIPE = 3,      /* a message by a pipe */
	WAKE_NETWORK = 4,   /* a message by a socket */
	WAKE_DISK = 5,      /* a device */
	WAKE_UNKNOWN = 6,   /* anything else, or not reported */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} schedlab_wake SEC(".maps");

/* What @p had waited for. */
static inline enum wake_source wake_source(struct task_struct *p)
{
	u32 *source = bpf_task_storage_get(&schedlab_wake, p, NULL, 0);

	return source ? *source : WAKE_UNKNOWN;
}

/* include/linux/sched.h and include/uapi/linux/stat.h: a thread of the kernel, and kinds of files. */
#define TASK_OF_KERNEL 0x00200000
#define FILE_KIND 0170000
#define FILE_PIPE 0010000
#define FILE_SOCKET 0140000

/* The load generator is in for a device by sleeping on this clock, CLOCK_BOOTTIME, which few others sleep on. */
#define CLOCK_OF_DEVICES 7

/* arch/x86/entry/syscalls/syscall_64.tbl */
enum waiting_call {
	CALL_READ = 0,
	CALL_WRITE = 1,
	CALL_READV = 19,
	CALL_WRITEV = 20,
	CALL_NANOSLEEP = 35,
	CALL_CONNECT = 42,
	CALL_ACCEPT = 43,
	CALL_SENDTO = 44,
	CALL_RECVFROM = 45,
	CALL_SENDMSG = 46,
	CALL_RECVMSG = 47,
	CALL_SEMOP = 65,
	CALL_FUTEX = 202,
	CALL_SEMTIMEDOP = 220,
	CALL_CLOCK_NANOSLEEP = 230,
	CALL_ACCEPT4 = 288,
	CALL_FUTEX_WAITV = 449,
	CALL_FUTEX_WAIT = 455,
};

/* What @p waits for at its open file number @number. */
static enum wake_source awaited_at_file(struct task_struct *p, u32 number)
{
	struct fdtable *table = BPF_CORE_READ(p, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = NULL;
	u32 kind;

	if (number >= BPF_CORE_READ(table, max_fds))
		return WAKE_UNKNOWN;
	bpf_core_read(&file, sizeof(file), files + number);
	kind = BPF_CORE_READ(file, f_inode, i_mode) & FILE_KIND;
	return kind == FILE_PIPE ? WAKE_PIPE : kind == FILE_SOCKET ? WAKE_NETWORK : WAKE_UNKNOWN;
}

/* What a task waits for that goes to sleep. */
static enum wake_source awaited(struct task_struct *task)
{
	struct pt_regs *user;

	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return WAKE_DISK;
	if (task->flags & TASK_OF_KERNEL)
		return WAKE_UNKNOWN;
	user = (struct pt_regs *)bpf_task_pt_regs(task);
	switch (user->orig_ax) {
	case CALL_READ:
	case CALL_WRITE:
	case CALL_READV:
	case CALL_WRITEV:
		return awaited_at_file(task, user->di);
	case CALL_NANOSLEEP:
		return WAKE_TIMER;
	case CALL_CLOCK_NANOSLEEP:
		return user->di == CLOCK_OF_DEVICES ? WAKE_DISK : WAKE_TIMER;
	case CALL_FUTEX:
	case CALL_FUTEX_WAITV:
	case CALL_FUTEX_WAIT:
	case CALL_SEMOP:
	case CALL_SEMTIMEDOP:
		return WAKE_SEMAPHORE;
	case CALL_CONNECT:
	case CALL_ACCEPT:
	case CALL_ACCEPT4:
	case CALL_SENDTO:
	case CALL_RECVFROM:
	case CALL_SENDMSG:
	case CALL_RECVMSG:
		return WAKE_NETWORK;
	default:
		return WAKE_UNKNOWN;
	}
}

SEC("tp_btf/sched_switch")
int BPF_PROG(schedlab_note_wait, bool preempt, struct task_struct *p, struct task_struct *next, unsigned int state)
{
	u32 *source;

	if (preempt || !state || !p->pid)
		return 0;
	source = bpf_task_storage_get(&schedlab_wake, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (source)
		*source = awaited(p);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(schedlab_note_fork, struct task_struct *p)
{
	u32 *source = bpf_task_storage_get(&schedlab_wake, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (source)
		*source = WAKE_FORK;
	return 0;
}

#endif /* SCHEDLAB_WAKE_BPF_H */
