/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On which CPU a task wakes or is born.
 *
 * 2.6.3: where it was; a waker about to sleep takes it over to its own CPU. 2.6.22: the waker's CPU takes it over when
 * that has no more to do than its own, by smoothed loads; a new task goes to another node only, to the one with least
 * to do.
 */
#ifndef LINUX_O1_PLACEMENT_BPF_H
#define LINUX_O1_PLACEMENT_BPF_H

#include <schedlab/wake.bpf.h>
#include <linux-o1/domain_balancer.bpf.h>

/* Whether the waker is about to sleep. Among the sources only pipes say so, as their kernels did. */
static inline bool is_sync(struct task_struct *p, u64 wake_flags)
{
	enum wake_source source = wake_source(p);

	return source == WAKE_PIPE || (source == WAKE_UNKNOWN && (wake_flags & SCX_WAKE_SYNC));
}

/* The lowest level whose domain of @cpu contains @other, 0: none. */
static u32 common_level(u32 cpu, u32 other)
{
	struct domain domain;
	u32 level;

	bpf_for(level, 1, MAX_DOMAIN_LEVEL + 1) {
		if (domain_of(level, cpu, nr_cpus, &domain) && domain.first <= other && other < domain.end)
			return level;
	}
	return 0;
}

/* Whether the waker's CPU takes a task over from the one where it was. */
static bool takes_over(struct task_struct *p, u32 here, u32 previous, bool sync, u64 now)
{
	const struct domain_kind *kind = kind_of(common_level(here, previous));
	struct run_queue *own = queue_of(here), *other = queue_of(previous);
	u64 percent, load, own_load, left, per_task;

	if (!kind || !own || !other)
		return false;
	percent = 100 + (kind->imbalance_pct - 100) / 2;
	load = source_load(other, kind->wake_index, now);
	own_load = target_load(own, kind->wake_index, now);
	if (!kind->wake_affine)
		return percent * own_load <= 100 * load;
	/* A waker that is about to sleep does not count. */
	left = sync ? own_load - lesser(own_load, own->current_load) : own_load;
	per_task = own->nr_running ? own->load / own->nr_running : LOAD_SCALE;
	if (left <= load && left + target_load(other, kind->wake_index, now) <= per_task)
		return true;
	return 100 * (left + load_of(p)) <= percent * load;
}

/* With hardware threads: a CPU that runs one task leaves a new one to an idle thread of its core. */
static u32 idle_thread(struct task_struct *p, u32 cpu)
{
	struct run_queue *rq = queue_of(cpu);
	struct domain domain;
	u32 other;

	if (!rq || rq->nr_running != 1 || !domain_of(1, cpu, nr_cpus, &domain))
		return cpu;
	bpf_for(other, domain.first, domain.end) {
		struct run_queue *its = queue_of(other);

		if (its && is_idle(its) && bpf_cpumask_test_cpu(other, p->cpus_ptr))
			return other;
	}
	return cpu;
}

static u32 place_woken(struct task_struct *p, u32 here, u32 previous, bool sync, u64 now)
{
	bool allowed = here != previous && bpf_cpumask_test_cpu(here, p->cpus_ptr);

	if (version == VERSION_2_6_3)
		return sync && allowed ? here : previous;
	return idle_thread(p, allowed && takes_over(p, here, previous, sync, now) ? here : previous);
}

/* The load of a node for each of its caches, read low when it is the own one. */
static u64 node_load(u32 first, u32 end, bool own, u64 now)
{
	const struct domain_kind *kind = kind_of(NODE_LEVEL);
	u64 load = 0;
	u32 cpu;

	bpf_for(cpu, first, end) {
		struct run_queue *rq = queue_of(cpu);

		if (rq && kind)
			load += own ? source_load(rq, kind->wake_index, now) : target_load(rq, kind->wake_index, now);
	}
	return load * LOAD_SCALE / group_power(NODE_LEVEL, end - first);
}

/* The CPU with least to do among some, @here if it is one of the best. */
static u32 idlest_cpu(struct task_struct *p, u32 first, u32 end, u32 here)
{
	u32 cpu, idlest = here;
	u64 least = ~0ULL;

	bpf_for(cpu, first, end) {
		struct run_queue *rq = queue_of(cpu);

		if (!rq || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		if (rq->load < least || (rq->load == least && cpu == here)) {
			least = rq->load;
			idlest = cpu;
		}
	}
	return idlest;
}

/* Where a new task starts: next to its parent, unless another node has much less to do. */
static u32 place_new(struct task_struct *p, u32 here, u64 now)
{
	const struct domain_kind *kind = kind_of(NODE_LEVEL);
	u64 own = 0, least = ~0ULL;
	struct domain domain;
	u32 first, best = 0, percent;

	if (version == VERSION_2_6_3 || !kind || !domain_of(NODE_LEVEL, here, nr_cpus, &domain) || !domain.group_size)
		return here;
	percent = 100 + (kind->imbalance_pct - 100) / 2;
	bpf_for(first, 0, domain.end) {
		u32 end = first + domain.group_size;
		bool is_own = first <= here && here < end;
		u64 load;

		if (first % domain.group_size)
			continue;
		load = node_load(first, end < domain.end ? end : domain.end, is_own, now);
		if (is_own) {
			own = load;
		} else if (load < least) {
			least = load;
			best = first;
		}
	}
	if (least == ~0ULL || 100 * own < percent * least)
		return here;
	return idlest_cpu(p, best, best + domain.group_size, here);
}

#endif /* LINUX_O1_PLACEMENT_BPF_H */
