/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs - the Completely Fair Scheduler of Linux 2.6.23 to 6.5.
 *
 * Each CPU has a queue of waiting tasks in the order of their virtual times, and the first one runs next. A task of
 * weight w that runs for d ages by
 *
 *	d * 1024 / w		w = 1024 for nice 0, a quarter more or less for each step of nice
 *
 * so tasks that always want to run get CPU time by their weights. A task runs until a tick finds that it has used its
 * slice, its part by weight of a period in which every task runs once (fair_slice.bpf.h). One that wakes is put half a
 * period before the others at most, and preempts the running task if its lead exceeds the wakeup granularity. It goes
 * where its waker or it was before and where a CPU idles (fair_select.bpf.h). CPUs balance at ticks and when they run
 * out of tasks, by decayed loads (load_average.bpf.h, fair_balance.bpf.h, fair_pull.bpf.h).
 *
 * The tasks of a control group share what the group gets by its weight, and so do the groups in it; with
 * `groups=process` the tasks of a process do (task_groups.bpf.h, group_order.bpf.h). Control groups have limits
 * (fair_limits.bpf.h).
 *
 * Example, one CPU, latency 6 ms, ticks each 4 ms: A and B of nice 0 compute, slices are 3 ms. A runs 0-4, as the tick
 * at 4 is the first after 3 ms, B 4-8, and so on. C sleeps for long and wakes at 9 while A, at virtual time 5, runs: C
 * is put 3 ms before the smallest virtual time, its lead exceeds 1 ms, and it runs at once. With nice 5 it would need
 * 3.06 ms.
 *
 * Weakness: slices are multiples of ticks, a latency cannot be asked for except by weight, and a sleeper that is not
 * far enough behind waits for a tick however short its work is. Balancing by average load leaves numbers of tasks
 * uneven.
 *
 * Source: Linux 4.9, 6.1 and 6.5, kernel/sched/fair.c; compared with another scheduler in J. Bouron et al., "The
 * battle of the schedulers: FreeBSD ULE vs. Linux CFS", USENIX ATC 2018 (4.9).
 */
#include <schedlab/common.bpf.h>

#define FAIR_TASK_GROUPS
#define FAIR_LIMITS
#define FAIR_TASK_STATE                                                                                            \
	u32 control_slot; /* its control group */                                                              \
	bool aside	  /* it waits for the limit of a control group, counted nowhere */
#define FAIR_QUEUE_STATE                                                                                           \
	u32 own_cpu;	  /* whose it is */                                                                    \
	u32 running_slot; /* the control group of the running task */                                          \
	u32 released	  /* the first group whose tasks it is to take back, plus one */
#include <schedlab/fair_class.bpf.h>
#include <schedlab/fair_control.bpf.h>
#include <schedlab/fair_pull.bpf.h>
#include <schedlab/fair_select.bpf.h>

char _license[] SEC("license") = "GPL";

static inline void weigh(const struct task_struct *p, struct fair_task *t)
{
	weigh_by_nice(p, t);
}

s32 BPF_STRUCT_OPS(cfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct fair_task *t = task_of(p);

	if (!t || nr_cpus == 1)
		return prev_cpu;
	return wake_flags & SCX_WAKE_FORK ? select_for_fork(p) : select_for_wakeup(p, t, prev_cpu, wake_flags);
}

static inline void on_runnable(struct fair_queue *q, struct fair_task *t, u64 now)
{
	end_idle(q, now);
	arm_idle(now);
}

static inline void on_quiescent(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 deq_flags,
				u64 now)
{
	hasten_balancing(q, t, now);
}

static inline void on_moved(struct fair_task *t, s32 cpu)
{
	move_use(t, cpu);
}

static inline void on_load(struct fair_task *t, bool comes)
{
}

static inline void on_balance(u32 cpu, u64 now)
{
}

/* The balancer may have sent the running task to another CPU. */
static inline bool must_leave(struct fair_queue *q, const struct task_struct *p)
{
	return is_pushed(q, p);
}

static inline bool redirect(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 enq_flags, u64 now)
{
	return must_leave(q, p) && push(q, p, t, enq_flags, now);
}

static inline void on_running(struct fair_queue *q, s32 cpu, u64 now)
{
	arm_busy(q, cpu, now);
}

static inline void on_stopping(struct fair_queue *q, struct task_struct *p, struct fair_task *t, u64 now)
{
	publish_balancing(p);
}

static inline u64 review(struct fair_queue *q, struct task_struct *p, u64 now)
{
	return ~0ULL;
}

static inline bool find_work(struct fair_queue *q, s32 cpu, u64 now)
{
	q->push_pid = 0;
	return balance_new_idle(cpu, now);
}

static inline void on_idle(struct fair_queue *q, u64 now)
{
	if (!q->idle_since)
		q->idle_since = now;
	arm_idle(now);
}

static inline bool wants_group_queues(void)
{
	return groups == GROUPS_CONTROL;
}

static void follow_shares(u32 slot)
{
	u64 now = scx_bpf_now();
	u32 cpu;

	if (!wants_group_queues())
		return;
	bpf_for(cpu, 0, nr_cpus) {
		u32 number = queue_number(slot, cpu);

		update_group_loads(number, now);
		refresh_shares(number);
	}
}

/*
 * A task, which has left its queue, goes to another group: it keeps its distance to min_vruntime. One that sleeps is
 * placed in its old queue first, as if it had woken there (task_change_group_fair(), detach_task_cfs_rq()).
 */
void BPF_STRUCT_OPS(cfs_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	struct fair_task *t = task_of(p);
	struct fair_queue *q = t ? queue_of(t->cpu) : NULL;
	u64 now = scx_bpf_now(), base;

	if (!t || !q)
		return;
	if (!wants_group_queues() || t->fresh) {
		join_control_group(t, to);
		return;
	}
	update_queue(q, t->cpu, now);
	update_queue_load(q, now);
	base = base_at(t, t->cpu, now);
	if (!p->on_rq)
		t->clock.vruntime = place_sleeper(t, base, now);
	leave_load(q, t, now);
	join_control_group(t, to);
	t->clock.vruntime += base_at(t, t->cpu, now) - base;
	join_load(q, t, now);
}

static inline s32 init_policy(void)
{
	init_domains(nr_cpus);
	cache_size = domain_size(LEVEL_CACHE, nr_cpus);
	control_cpus = nr_cpus;
	return init_balancing();
}

SCX_OPS_DEFINE(cfs_ops,
	       .select_cpu = (void *)cfs_select_cpu,
	       FAIR_CLASS_OPS,
	       .cgroup_init = (void *)fair_cgroup_init,
	       .cgroup_exit = (void *)fair_cgroup_exit,
	       .cgroup_move = (void *)cfs_cgroup_move,
	       .cgroup_set_weight = (void *)fair_cgroup_set_weight,
	       .cgroup_set_bandwidth = (void *)fair_cgroup_set_bandwidth,
	       .cgroup_set_idle = (void *)fair_cgroup_set_idle,
	       .name = "cfs");
