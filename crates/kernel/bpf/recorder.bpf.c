// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records what the scheduler of the running kernel does.
 *
 * Each program sits on one of the scheduler's tracepoints, asks whether the task is of interest, and writes one record
 * of fixed form into its CPU's ring buffer. A task is of interest when its process (tgid) is marked in `followed`; a
 * process that a followed one creates is marked too. When the ring is full the record is counted in `lost` and gone.
 *
 * Order: a program takes its place in the ring first and looks at the clock then. So whatever is behind a place in the
 * ring has a later time than the moment at which that place was free, and a reader that knows the rings' ends at some
 * instant and has read up to them has everything before that instant (see src/order.rs). The scheduler's tracepoints
 * are inside of its own locks, so what causes something else also has the earlier time.
 */
#include <vmlinux.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "record.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* What src/recorder.rs sets before it loads the programs. */
const volatile struct {
	bool everything;
	bool preempt_count_known;
	bool policy_publishes;
	u8 unused;
	/* The number of bytes in the ring at which the reader is woken. */
	u32 wake_bytes;
	/* Kernel function that a timer interrupt runs for the tick, or 0. */
	u64 tick_function;
	/* From a CPU's run queue to its preemption count, in bytes. */
	s64 queue_to_preempt_count;
	/* On CPUs below this number, record when they go from idle to tasks that are not followed, and back. */
	u32 others_below;
} options = { .wake_bytes = 1 };

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* One for each CPU, made by src/recorder.rs: CPUs that write into the same ring take it from one another each time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct ring);
} rings SEC(".maps");

/*
 * One byte for each process that there can be (PID_MAX_LIMIT), 1 for those of interest. Asked several times for each
 * switch, and so a load where a map would be a search.
 */
#define PROCESSES (1 << 22)
u8 followed[PROCESSES];

/* Records that found no place, by kind. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KINDS);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

/* Records of each CPU, to look after its ring now and then only. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} written SEC(".maps");

/*
 * The waker of a task, and the waker's CPU: known when the waking begins, needed when the task is put on a run queue,
 * which may happen in an interrupt on another CPU. Two tasks that are woken at the same time and share an entry
 * overwrite each other: the tid in the entry shows it, and the waker is reported as unknown.
 */
#define WAKING 65536
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WAKING);
	__type(key, u32);
	__type(value, u64);
} waking SEC(".maps");

/* An entry, from its low end: the task's tid, the waker's tid or 0 (the kernel has 22 bits for one), the CPU, a bit. */
#define TID_BITS 22
#define TID_MASK ((1 << TID_BITS) - 1)
#define CPU_SHIFT (2 * TID_BITS)
#define NOT_KNOWN (1ULL << 63)

/* What a policy publishes about its tasks (policies/include/schedlab/status.bpf.h): its own map, if one has it. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} published SEC(".maps");

/* The word about a task that was last told, and 1. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} told SEC(".maps");

/* Names of fields in older kernels. */
struct task_struct___cpu {
	unsigned int cpu;
} __attribute__((preserve_access_index));

struct task_struct___state {
	long state;
} __attribute__((preserve_access_index));

#define IDLE 0
#define TASK_DEAD 0x80
#define ON_RQ_QUEUED 1
#define PF_KTHREAD 0x00200000
#define NR_sched_yield 24
#define INTERRUPT_BITS 0x00ff0100 /* NMI, hard interrupt, serving a soft interrupt; not: soft interrupts disabled */

static void count_lost(u32 kind)
{
	u64 *count = bpf_map_lookup_elem(&lost, &kind);

	if (count)
		(*count)++;
}

static __always_inline bool of_interest(s32 tgid)
{
	return options.everything || followed[tgid & (PROCESSES - 1)];
}

static __always_inline void *ring_of(u32 cpu)
{
	return bpf_map_lookup_elem(&rings, &cpu);
}

/* A place in this CPU's ring, stamped. Only here: the order hangs on the place being taken before the look. */
#define RESERVE(type, of_kind)                                                    \
	({                                                                        \
		u32 __cpu = bpf_get_smp_processor_id();                           \
		void *__ring = ring_of(__cpu);                                    \
		type *__r = NULL;                                                 \
		if (__ring)                                                       \
			__r = bpf_ringbuf_reserve(__ring, sizeof(type), 0);       \
		if (__r)                                                          \
			stamp((struct head *)__r, __cpu, of_kind);                \
		else                                                              \
			count_lost(of_kind);                                      \
		__r;                                                              \
	})

static __always_inline void stamp(struct head *head, u32 cpu, enum kind kind)
{
	head->time = bpf_ktime_get_ns();
	head->cpu = cpu;
	head->kind = kind;
	head->flags = 0;
}

/* Wakes the reader when enough waits, if it does not come by itself before. Checked once in this number of records. */
#define LOOK_EVERY 64

static __always_inline void submit(void *record)
{
	u32 zero = 0, *count = bpf_map_lookup_elem(&written, &zero);
	u64 flags = BPF_RB_NO_WAKEUP;

	if (count && ++*count % LOOK_EVERY == 0) {
		void *ring = ring_of(bpf_get_smp_processor_id());

		if (ring && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= options.wake_bytes)
			flags = BPF_RB_FORCE_WAKEUP;
	}
	bpf_ringbuf_submit(record, flags);
}

static __always_inline u32 cpu_of(struct task_struct *p)
{
	if (bpf_core_field_exists(p->thread_info.cpu))
		return p->thread_info.cpu;
	return BPF_CORE_READ((struct task_struct___cpu *)p, cpu);
}

static __always_inline long state_of(struct task_struct *p)
{
	if (bpf_core_field_exists(p->__state))
		return p->__state;
	return BPF_CORE_READ((struct task_struct___state *)p, state);
}

/*
 * A task that blocked may stay on the queue until its turn ("delayed dequeue", since 6.12): it is not runnable. The two
 * fields are read as bit fields because their widths differ between kernels.
 */
static __always_inline bool is_runnable(struct task_struct *task)
{
	struct sched_entity *entity = &task->se;

	if (BPF_CORE_READ_BITFIELD(task, on_rq) != ON_RQ_QUEUED)
		return false;
	if (bpf_core_field_exists(entity->sched_delayed))
		return !BPF_CORE_READ_BITFIELD(entity, sched_delayed);
	return true;
}

/*
 * Whether a task that leaves its CPU runnable does so inside of the system call sched_yield. Elsewhere than on x86 and
 * before 5.15, where this cannot be seen, a yield counts as preempted.
 */
static __always_inline bool is_yielding(bool preempted, struct task_struct *p)
{
	struct pt_regs *registers;

	if (preempted || p->flags & PF_KTHREAD)
		return false;
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return false;
	registers = (struct pt_regs *)bpf_task_pt_regs(p);
	return registers->orig_ax == NR_sched_yield;
}

static __always_inline enum why why_leaving(bool preempted, struct task_struct *p)
{
	if (state_of(p) & TASK_DEAD)
		return EXITED;
	if (!is_runnable(p))
		return BLOCKED;
	return is_yielding(preempted, p) ? YIELDED : PREEMPTED;
}

static __always_inline void fill(struct task_record *record, struct task_struct *p)
{
	record->tid = p->pid;
	record->tgid = p->tgid;
	record->a = record->b = 0;
	record->priority = p->prio;
	record->unused[0] = record->unused[1] = record->unused[2] = 0;
}

/* Tells the word that the policy published about a task of interest, if that is another than before. */
static __always_inline void tell_status(struct task_struct *p)
{
	struct status_record *record;
	u64 *word, *last;

	if (!options.policy_publishes)
		return;
	word = bpf_task_storage_get(&published, p, NULL, 0);
	if (!word)
		return;
	last = bpf_task_storage_get(&told, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!last || *last == *word + 1)
		return;
	record = RESERVE(struct status_record, STATUS);
	if (!record)
		return;
	fill(&record->task, p);
	record->word = *word;
	*last = record->word + 1;
	submit(record);
}

/* Whether a CPU that counts goes from idle to a task of no interest, or back. */
static __always_inline bool is_turn_of_others(s32 from, s32 to)
{
	return (from == IDLE || to == IDLE) && bpf_get_smp_processor_id() < options.others_below;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(schedlab_switch, bool preempted, struct task_struct *previous, struct task_struct *next)
{
	s32 from = previous->tgid, to = next->tgid;
	struct switch_record *record;
	u16 flags = 0;

	/* The idle task has no process: of no interest by itself, even where everything is. */
	if (from != IDLE && of_interest(from))
		flags |= PREVIOUS_FOLLOWED;
	if (to != IDLE && (to == from ? flags : of_interest(to)))
		flags |= NEXT_FOLLOWED;
	/* Of others only this is recorded: a CPU begins with them, and idles again. */
	if (!flags && !is_turn_of_others(from, to))
		return 0;
	if (flags & PREVIOUS_FOLLOWED)
		tell_status(previous);
	if (flags & NEXT_FOLLOWED)
		tell_status(next);
	record = RESERVE(struct switch_record, SWITCH);
	if (!record)
		return 0;
	record->head.flags = flags | why_leaving(preempted, previous);
	record->previous = previous->pid;
	record->previous_tgid = from;
	record->next = next->pid;
	record->next_tgid = to;
	record->previous_priority = previous->prio;
	record->next_priority = next->prio;
	record->unused = 0;
	submit(record);
	return 0;
}

enum place { IN_TASK, IN_INTERRUPT, NOWHERE_KNOWN };

/*
 * What runs on this CPU: the current task or an interrupt on top of it. The kernel's own count says. It is a per-CPU
 * variable, whose name only few kernels hand out; but types and distances of such variables are known, and the run
 * queue of this CPU, another of them, is reached from the current task.
 */
static __always_inline enum place place(void)
{
	struct task_struct *current = NULL;
	void *queue;
	int count;

	if (!options.preempt_count_known || !bpf_core_field_exists(current->se.cfs_rq->rq))
		return NOWHERE_KNOWN;
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
		current = bpf_get_current_task_btf();
		queue = current->se.cfs_rq->rq;
	} else {
		current = (struct task_struct *)bpf_get_current_task();
		queue = BPF_CORE_READ(current, se.cfs_rq, rq);
	}
	if (!queue || bpf_probe_read_kernel(&count, sizeof(count), queue + options.queue_to_preempt_count))
		return NOWHERE_KNOWN;
	return count & INTERRUPT_BITS ? IN_INTERRUPT : IN_TASK;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(schedlab_waking, struct task_struct *p)
{
	u32 entry = p->pid & (WAKING - 1), waker = 0;
	enum place where;
	u64 *waking_now, facts;

	if (!of_interest(p->tgid))
		return 0;
	waking_now = bpf_map_lookup_elem(&waking, &entry);
	if (!waking_now)
		return 0;
	where = place();
	if (where == IN_TASK)
		waker = (u32)bpf_get_current_pid_tgid();
	facts = p->pid | (u64)waker << TID_BITS | (u64)bpf_get_smp_processor_id() << CPU_SHIFT;
	if (where == NOWHERE_KNOWN)
		facts |= NOT_KNOWN;
	*waking_now = facts;
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(schedlab_wakeup, struct task_struct *p)
{
	u32 entry = p->pid & (WAKING - 1);
	struct task_record *record;
	u64 *waking_now, facts;

	if (!of_interest(p->tgid))
		return 0;
	tell_status(p);
	waking_now = bpf_map_lookup_elem(&waking, &entry);
	facts = waking_now ? *waking_now : 0;
	record = RESERVE(struct task_record, WAKEUP);
	if (!record)
		return 0;
	fill(record, p);
	record->a = cpu_of(p);
	if ((facts & TID_MASK) == p->pid) {
		record->head.cpu = facts >> CPU_SHIFT & 0xffff;
		record->b = facts >> TID_BITS & TID_MASK;
		if (facts & NOT_KNOWN)
			record->head.flags = WAKER_UNKNOWN;
	} else {
		record->head.flags = WAKER_UNKNOWN;
	}
	submit(record);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(schedlab_wakeup_new, struct task_struct *p)
{
	struct task_record *record;

	if (!of_interest(p->tgid))
		return 0;
	record = RESERVE(struct task_record, WAKEUP);
	if (!record)
		return 0;
	fill(record, p);
	record->a = cpu_of(p);
	record->b = (u32)bpf_get_current_pid_tgid();
	record->head.flags = NEW;
	submit(record);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(schedlab_migrate, struct task_struct *p, int to)
{
	struct task_record *record;

	if (!of_interest(p->tgid))
		return 0;
	record = RESERVE(struct task_record, MIGRATE);
	if (!record)
		return 0;
	fill(record, p);
	record->a = cpu_of(p);
	record->b = to;
	submit(record);
	return 0;
}

/* A child of a process of interest is of interest. It has not run yet. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(schedlab_fork, struct task_struct *parent, struct task_struct *child)
{
	struct named_record *record;

	if (!of_interest(parent->tgid))
		return 0;
	followed[child->tgid & (PROCESSES - 1)] = 1;
	record = RESERVE(struct named_record, FORK);
	if (!record)
		return 0;
	fill(&record->task, child);
	record->task.a = parent->pid;
	__builtin_memcpy(record->comm, child->comm, sizeof(record->comm));
	submit(record);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(schedlab_exec, struct task_struct *p, int former)
{
	struct named_record *record;

	if (!of_interest(p->tgid))
		return 0;
	record = RESERVE(struct named_record, EXEC);
	if (!record)
		return 0;
	fill(&record->task, p);
	record->task.a = former;
	__builtin_memcpy(record->comm, p->comm, sizeof(record->comm));
	submit(record);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(schedlab_exit, struct task_struct *p)
{
	struct task_record *record;

	if (!of_interest(p->tgid))
		return 0;
	record = RESERVE(struct task_record, EXIT);
	if (!record)
		return 0;
	fill(record, p);
	submit(record);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(schedlab_rename, struct task_struct *p, const char *comm)
{
	struct named_record *record;

	if (!of_interest(p->tgid))
		return 0;
	record = RESERVE(struct named_record, RENAME);
	if (!record)
		return 0;
	fill(&record->task, p);
	__builtin_memset(record->comm, 0, sizeof(record->comm));
	bpf_probe_read_kernel_str(record->comm, sizeof(record->comm), comm);
	submit(record);
	return 0;
}

/* Not at its exit: the switch by which it leaves its CPU comes later. Of a process the leader is the last to go. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(schedlab_free, struct task_struct *p)
{
	if (p->pid == p->tgid)
		followed[p->tgid & (PROCESSES - 1)] = 0;
	return 0;
}

/* The task on this CPU. Not attached: src/recorder.rs runs it on each CPU in turn. */
SEC("raw_tp")
int schedlab_running(void *context)
{
	struct task_struct *p = (struct task_struct *)bpf_get_current_task();
	s32 tgid = BPF_CORE_READ(p, tgid);
	struct task_record *record = RESERVE(struct task_record, RUNNING);

	if (!record)
		return 0;
	record->head.flags = tgid != IDLE && of_interest(tgid) ? FOLLOWED : 0;
	if (place() == IN_INTERRUPT)
		record->head.flags |= ON_INTERRUPT;
	record->tid = BPF_CORE_READ(p, pid);
	record->tgid = tgid;
	record->a = record->b = 0;
	record->priority = BPF_CORE_READ(p, prio);
	record->unused[0] = record->unused[1] = record->unused[2] = 0;
	submit(record);
	return 0;
}

static __always_inline void mark(enum kind kind)
{
	struct head *head = RESERVE(struct head, kind);

	if (head)
		submit(head);
}

#define SCHED_SOFTIRQ 7

SEC("tp_btf/softirq_entry")
int BPF_PROG(schedlab_softirq_entry, unsigned int number)
{
	if (number == SCHED_SOFTIRQ)
		mark(SOFTIRQ_ENTRY);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(schedlab_softirq_exit, unsigned int number)
{
	if (number == SCHED_SOFTIRQ)
		mark(SOFTIRQ_EXIT);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(schedlab_tick, struct hrtimer *timer)
{
	if ((u64)timer->function == options.tick_function)
		mark(TICK);
	return 0;
}
