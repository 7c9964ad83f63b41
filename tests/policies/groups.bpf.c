/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints what its callbacks say of control groups, and what it finds out about them; else first come, first served. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define QUEUE 0

/* enum bpf_cgroup_iter_order */
#define PRE_ORDER 2
#define POST_ORDER 3
#define ANCESTORS_UP 4

extern long bpf_task_under_cgroup(struct task_struct *task, struct cgroup *ancestor) __ksym;
extern int bpf_iter_css_new(struct bpf_iter_css *it, struct cgroup_subsys_state *start, unsigned int flags) __ksym;
extern struct cgroup_subsys_state *bpf_iter_css_next(struct bpf_iter_css *it) __ksym;
extern void bpf_iter_css_destroy(struct bpf_iter_css *it) __ksym;

static u64 number_of(struct cgroup *cgroup)
{
	return cgroup->kn->id;
}

static void say_walk(struct cgroup *start, u32 order)
{
	struct cgroup_subsys_state *css;
	struct bpf_iter_css it;
	u64 numbers = 0;

	bpf_rcu_read_lock();
	bpf_iter_css_new(&it, &start->self, order);
	while ((css = bpf_iter_css_next(&it)))
		numbers = numbers * 10 + number_of(css->cgroup);
	bpf_iter_css_destroy(&it);
	bpf_rcu_read_unlock();
	bpf_printk("walk %u from %llu: %llu", order, number_of(start), numbers);
}

static void say_place(struct task_struct *p, const char *what)
{
	struct cgroup *cgroup = scx_bpf_task_cgroup(p), *top;

	if (!cgroup)
		return;
	top = bpf_cgroup_ancestor(cgroup, 1);
	bpf_printk("%s %d in %llu level %d below %llu", what, p->pid, number_of(cgroup), cgroup->level, top ? number_of(top) : 0);
	if (top)
		bpf_cgroup_release(top);
	bpf_cgroup_release(cgroup);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(groups_init)
{
	bpf_printk("init");
	return scx_bpf_create_dsq(QUEUE, -1);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(groups_cgroup_init, struct cgroup *cgroup, struct scx_cgroup_init_args *args)
{
	bpf_printk("cgroup_init %llu weight %u period %llu quota %lld burst %llu", number_of(cgroup), args->weight,
		   args->bw_period_us, args->bw_quota_us, args->bw_burst_us);
	return 0;
}

void BPF_STRUCT_OPS_SLEEPABLE(groups_cgroup_exit, struct cgroup *cgroup)
{
	bpf_printk("cgroup_exit %llu", number_of(cgroup));
}

s32 BPF_STRUCT_OPS_SLEEPABLE(groups_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	bpf_printk("init_task %d fork %d in %llu", p->pid, args->fork, number_of(args->cgroup));
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(groups_cgroup_prep_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	bpf_printk("prep_move %d from %llu to %llu", p->pid, number_of(from), number_of(to));
	return 0;
}

void BPF_STRUCT_OPS(groups_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	bpf_printk("move %d from %llu to %llu", p->pid, number_of(from), number_of(to));
}

void BPF_STRUCT_OPS(groups_cgroup_set_weight, struct cgroup *cgroup, u32 weight)
{
	bpf_printk("set_weight %llu %u", number_of(cgroup), weight);
}

void BPF_STRUCT_OPS(groups_cgroup_set_idle, struct cgroup *cgroup, bool idle)
{
	bpf_printk("set_idle %llu %d", number_of(cgroup), idle);
}

void BPF_STRUCT_OPS(groups_cgroup_set_bandwidth, struct cgroup *cgroup, u64 period, u64 quota, u64 burst)
{
	bpf_printk("set_bandwidth %llu %llu %lld %llu", number_of(cgroup), period, quota, burst);
}

void BPF_STRUCT_OPS(groups_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	bpf_printk("set_cpumask %d", p->pid);
}

void BPF_STRUCT_OPS(groups_runnable, struct task_struct *p, u64 enq_flags)
{
	say_place(p, "runnable");
}

void BPF_STRUCT_OPS(groups_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct cgroup *root = bpf_cgroup_from_id(1);

	say_place(p, "quiescent");
	if (!root)
		return;
	say_walk(root, PRE_ORDER);
	say_walk(root, POST_ORDER);
	bpf_printk("under the root %ld", bpf_task_under_cgroup(p, root));
	bpf_cgroup_release(root);
}

void BPF_STRUCT_OPS(groups_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, QUEUE, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(groups_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE, 0);
}

void BPF_STRUCT_OPS(groups_exit, struct scx_exit_info *info)
{
	bpf_printk("exit");
}

SCX_OPS_DEFINE(groups_ops,
	       .init = (void *)groups_init,
	       .exit = (void *)groups_exit,
	       .cgroup_init = (void *)groups_cgroup_init,
	       .cgroup_exit = (void *)groups_cgroup_exit,
	       .cgroup_prep_move = (void *)groups_cgroup_prep_move,
	       .cgroup_move = (void *)groups_cgroup_move,
	       .cgroup_set_weight = (void *)groups_cgroup_set_weight,
	       .cgroup_set_idle = (void *)groups_cgroup_set_idle,
	       .cgroup_set_bandwidth = (void *)groups_cgroup_set_bandwidth,
	       .init_task = (void *)groups_init_task,
	       .set_cpumask = (void *)groups_set_cpumask,
	       .runnable = (void *)groups_runnable,
	       .quiescent = (void *)groups_quiescent,
	       .enqueue = (void *)groups_enqueue,
	       .dispatch = (void *)groups_dispatch,
	       .name = "groups");
