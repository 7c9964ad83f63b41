/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where Linux' fair scheduler puts a task that wakes or is new.
 *
 * A waking task stays where it was or comes to its waker, by the loads of both (wake_affine), unless waker and wakee
 * are part of a crowd (wake_wide); there it looks for an idle CPU that shares the cache. A new task goes down the
 * domains, each time into the group that is idlest, with some preference for where it was forked.
 *
 * Since 5.4 a CPU that only runs tasks of SCHED_IDLE is as good as an idle one, as they are preempted at once; a new
 * task even goes there first, since such a CPU is awake.
 *
 * Source: Linux 4.9, 6.1, 6.12 and 7.1, kernel/sched/fair.c.
 */
#ifndef SCHEDLAB_FAIR_SELECT_BPF_H
#define SCHEDLAB_FAIR_SELECT_BPF_H

#include <schedlab/fair_groups.bpf.h>

/* CPUs on a last-level cache. */
static u32 cache_size;

static inline bool share_cache(s32 one, s32 two)
{
	return (u32)one / cache_size == (u32)two / cache_size;
}

static inline bool allowed(const struct task_struct *p, s32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* Whether the task would take a CPU from tasks of SCHED_IDLE, if there are any. */
static inline bool takes_from_idle_class(const struct fair_task *t)
{
	return nr_idle_tasks && (t->class != CLASS_IDLE || idle_class_is_as_others());
}

/* Whether a task would not have to wait there. */
static inline bool is_free(s32 cpu, bool takes)
{
	return is_idle(cpu) || (takes && is_left_to_idle_class(cpu));
}

/* A task that wakes another one than last time has flipped; flips are halved each second. */
static void record_wakee(struct fair_task *waker, s32 wakee, u64 now)
{
	if (time_after(now, waker->flips_halved_at + NS_PER_S)) {
		waker->flips /= 2;
		waker->flips_halved_at = now;
	}
	if (waker->last_wakee != wakee) {
		waker->last_wakee = wakee;
		waker->flips++;
	}
}

/* Whether waker and wakee work with that many others that they should not be pulled together. */
static inline bool is_wide(u32 waker_flips, u32 wakee_flips, u32 cache_cpus)
{
	u32 most = waker_flips > wakee_flips ? waker_flips : wakee_flips;
	u32 least = waker_flips > wakee_flips ? wakee_flips : waker_flips;

	return least >= cache_cpus && most >= least * cache_cpus;
}

/* By 4.9, whether a task of load @load goes from @previous to the waker's CPU; equal loads are reason enough. */
static inline bool affine_4_9(s64 this_load, u64 previous_load, u64 load, u32 pct)
{
	u64 here = 100, there = 100 + (pct - 100) / 2;

	if (this_load > 0) {
		here *= this_load + load;
		there *= previous_load;
	}
	return here <= there;
}

/* By 6.1: the task is taken out of the load of where it was. */
static inline bool affine_6_1(u64 this_load, u64 previous_load, u64 load, u32 pct, bool sync)
{
	s64 here = (s64)((this_load + load) * 100);
	s64 there = ((s64)previous_load - (s64)load) * (100 + (pct - 100) / 2) + sync;

	return here < there;
}

/* The smallest domain of @cpu that holds @other, 0 when none does. */
__noinline u32 common_level(u32 cpu, u32 other)
{
	struct domain domain = {};
	u32 level;

	bpf_for(level, 1, MAX_DOMAIN_LEVEL + 1) {
		if (find_domain(level, cpu, &domain) && other >= domain.first && other < domain.end)
			return level;
	}
	return 0;
}

/* Whether a task that wakes comes to its waker's CPU, which is another one. */
static bool wake_affine(const struct fair_task *t, const struct fair_task *waker, s32 this, s32 previous, bool sync,
			u64 now)
{
	struct fair_queue *here = queue_of(this), *there = queue_of(previous);
	u64 this_load, previous_load, own = 0, load;
	u32 level, pct;

	if (!here || !there)
		return false;
	if (!is_4_9()) {
		if (!here->nr_running && share_cache(this, previous))
			return there->nr_running;
		if (sync && here->nr_running == 1)
			return true;
		if (!there->nr_running)
			return false;
	}
	level = common_level(this, previous);
	if (!level)
		return false;
	pct = imbalance_pct(level);
	this_load = cpu_load(this, now);
	previous_load = cpu_load(previous, now);
	load = has_groups() ? hierarchical_load(t, there) : t->average.load;
	if (sync && waker)
		own = hierarchical_load(waker, here);
	if (is_4_9())
		return affine_4_9((s64)this_load - (s64)own, previous_load, load, pct);
	if (sync && own > this_load)
		return true;
	return affine_6_1(this_load - own, previous_load, hierarchical_load(t, there), pct, sync);
}

/* Whether all threads of a core are idle. */
__noinline bool core_is_idle(u32 core)
{
	u32 thread;

	bpf_for(thread, core, core + threads_per_core) {
		if (!is_idle(thread))
			return false;
	}
	return true;
}

/* The first thread of a core of @cpu's cache that is idle as a whole, -1 when there is none. */
__noinline s32 idle_core(struct task_struct *p __arg_trusted, s32 target)
{
	u32 first = (u32)target / cache_size * cache_size, step;
	u32 offset = (u32)target - first;

	bpf_for(step, 0, cache_size / threads_per_core) {
		u32 core = first + (offset / threads_per_core + step) * threads_per_core % cache_size;

		if (core_is_idle(core) && allowed(p, core))
			return core;
	}
	return -1;
}

/* A free thread of the core of @cpu, or -1. */
__noinline s32 free_thread(struct task_struct *p __arg_trusted, s32 cpu, bool takes)
{
	u32 first = (u32)cpu / threads_per_core * threads_per_core, thread;

	bpf_for(thread, first, first + threads_per_core) {
		if (is_free(thread, takes) && allowed(p, thread))
			return thread;
	}
	return -1;
}

/*
 * A free CPU of the cache: by 4.9 from @target on; later from the one after it on, and at fewer of those that the task
 * may use the busier the cache is (SIS_UTIL).
 */
__noinline s32 free_cpu_near(struct task_struct *p __arg_trusted, s32 target, bool takes)
{
	u32 first = (u32)target / cache_size * cache_size, looks = cache_size, step;
	u32 offset = (u32)target - first + !is_4_9();
	struct fair_queue *q = queue_of(first);

	if (!is_4_9() && q)
		looks = q->idle_scan;
	bpf_for(step, 0, cache_size) {
		u32 cpu = first + (offset + step) % cache_size;

		if (cpu >= nr_cpus || !allowed(p, cpu))
			continue;
		if (!looks)
			return -1;
		looks--;
		if (is_free(cpu, takes))
			return cpu;
	}
	return -1;
}

/* A free CPU near @target, or else that. */
static s32 select_free(struct task_struct *p, struct fair_task *t, s32 previous, s32 target)
{
	s32 recent = t->recent_cpu, cpu = -1;
	bool takes = takes_from_idle_class(t);

	if (is_free(target, takes))
		return target;
	if (!nr_idle && !takes)
		return target;
	if (previous != target && share_cache(previous, target) && is_free(previous, takes) && allowed(p, previous))
		return previous;
	if (!is_4_9()) {
		t->recent_cpu = previous;
		if (recent != previous && recent != target && share_cache(recent, target) && is_free(recent, takes) &&
		    allowed(p, recent))
			return recent;
	}
	if (threads_per_core > 1) {
		cpu = idle_core(p, target);
		if (cpu < 0 && !is_4_9() && share_cache(previous, target))
			cpu = free_thread(p, previous, takes);
	}
	if (cpu < 0)
		cpu = free_cpu_near(p, target, takes);
	if (cpu < 0 && is_4_9() && threads_per_core > 1)
		cpu = free_thread(p, target, takes);
	return cpu < 0 ? target : cpu;
}

/* Where a task goes that @current wakes on @this. */
static s32 select_for_wakeup(struct task_struct *p, struct fair_task *t, s32 previous, u64 wake_flags)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct fair_task *waker = task_of(current);
	s32 this = bpf_get_smp_processor_id(), target = previous;
	u64 now = scx_bpf_now();

	if (waker)
		record_wakee(waker, p->pid, now);
	if (this != previous && allowed(p, this) && !is_wide(waker ? waker->flips : 0, t->flips, cache_size) &&
	    wake_affine(t, waker, this, previous, wake_flags & SCX_WAKE_SYNC, now))
		target = this;
	return select_free(p, t, previous, target);
}

/* Whether a group is idler than another for a new task, by 6.1's classes: the lower class, then room or load. */
static bool is_idler(const struct group_stats *one, const struct group_stats *two)
{
	if (one->type != two->type)
		return one->type < two->type;
	if (one->type == GROUP_SPARE)
		return one->idle_cpus > two->idle_cpus || (one->idle_cpus == two->idle_cpus && one->util < two->util);
	return one->average_load < two->average_load;
}

/* Whether a new task stays in its forker's group although @idlest is there. */
static bool stays_local(const struct group_stats *local, const struct group_stats *idlest, u32 pct)
{
	if (is_4_9())
		return 100 * local->average_load < (100 + (pct - 100) / 2) * idlest->average_load;
	if (local->type != idlest->type)
		return local->type < idlest->type;
	if (local->type == GROUP_SPARE)
		return local->idle_cpus >= idlest->idle_cpus;
	if (local->type == GROUP_IMBALANCED)
		return true;
	return idlest->average_load >= local->average_load + NICE_0_WEIGHT * (pct - 100) / 100 ||
	       100 * local->average_load <= pct * idlest->average_load;
}

/*
 * The CPU of a group for a new task: the first that is left to tasks of SCHED_IDLE, else the idle one that has been
 * idle for the smallest time, else the smallest loaded.
 */
__noinline s32 idlest_cpu(struct task_struct *p __arg_trusted, u32 first, u32 end, u64 now, bool takes)
{
	u64 least = ~0ULL, latest = 0;
	s32 chosen = -1;
	bool idle = false;
	u32 cpu;

	bpf_for(cpu, first, end) {
		struct fair_queue *q = queue_of(cpu);

		if (!q || !allowed(p, cpu))
			continue;
		if (takes && is_left_to_idle_class(cpu))
			return cpu;
		if (!q->nr_running && (!idle || q->idle_since > latest)) {
			latest = q->idle_since;
			idle = true;
			chosen = cpu;
		} else if (!idle && q->nr_running && cpu_load(cpu, now) < least) {
			least = cpu_load(cpu, now);
			chosen = cpu;
		}
	}
	return chosen;
}

/* A step down the domains. It is in a map: the verifier does not follow values that come from one. */
struct step_down {
	struct domain domain;
	struct group_stats local;
	struct group_stats idlest;
	struct group_stats group; /* the one that is being looked at */
	s32 idlest_first;	  /* -1: none yet */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct step_down);
} steps_down SEC(".maps");

/* Takes a group into account in which the task may run, or which is that of @cpu. */
static void consider_group(struct step_down *s, u32 level, u32 first, u32 end, bool is_local, u64 now)
{
	s->group = (struct group_stats){ .first = first, .cpus = end - first, .level = level };
	gather_group(&s->group, now);
	classify_group(&s->group, imbalance_pct(level), false);
	if (is_local) {
		s->local = s->group;
	} else if (s->idlest_first < 0 || (is_4_9() ? s->group.average_load < s->idlest.average_load :
						      is_idler(&s->group, &s->idlest))) {
		s->idlest = s->group;
		s->idlest_first = first;
	}
}

/* One step down: the CPU in the idlest group of @cpu's domain, or @cpu when its own group is good enough. */
__noinline s32 fair_select_in(struct task_struct *p __arg_trusted, u32 level, s32 cpu)
{
	u64 now = scx_bpf_now();
	u32 step, key = 0;
	struct step_down *s = bpf_map_lookup_elem(&steps_down, &key);
	struct fair_task *t = task_of(p);
	s32 chosen;
	bool takes;

	if (!s || !t)
		return cpu;
	takes = takes_from_idle_class(t);
	*s = (struct step_down){ .idlest_first = -1 };
	if (!find_domain(level, cpu, &s->domain))
		return cpu;
	bpf_for(step, 0, (s->domain.end - s->domain.first + s->domain.group_size - 1) / s->domain.group_size) {
		u32 first = s->domain.first + step * s->domain.group_size, end = group_end(&s->domain, first);
		bool is_local = (u32)cpu >= first && (u32)cpu < end;

		if (is_local || idlest_cpu(p, first, end, now, takes) >= 0)
			consider_group(s, level, first, end, is_local, now);
	}
	if (s->idlest_first < 0 || stays_local(&s->local, &s->idlest, imbalance_pct(level)))
		return cpu;
	chosen = idlest_cpu(p, s->idlest_first, group_end(&s->domain, s->idlest_first), now, takes);
	return chosen < 0 ? cpu : chosen;
}

/* Where a new task goes: from the widest domain down. */
static s32 select_for_fork(struct task_struct *p)
{
	s32 cpu = bpf_get_smp_processor_id();
	u32 step;

	bpf_for(step, 0, MAX_DOMAIN_LEVEL)
		cpu = fair_select_in(p, MAX_DOMAIN_LEVEL - step, cpu);
	return cpu;
}

#endif /* SCHEDLAB_FAIR_SELECT_BPF_H */
