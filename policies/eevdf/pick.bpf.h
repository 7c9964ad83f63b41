/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The next task: of those that are eligible the one with the earliest deadline, unless the running one is protected.
 *
 * A task that is picked is protected, from others that do not ask for less, to its deadline; since 6.18 only for the
 * shortest slice that any task asks for. A task that continues because no other would be picked is not protected again.
 */
#ifndef SCHEDLAB_EEVDF_PICK_BPF_H
#define SCHEDLAB_EEVDF_PICK_BPF_H

#include <eevdf/lag.bpf.h>

PARAMETER(u32, lazy_preemption, 0,
	  "choices=auto,off,on about=Whether a CPU learns only at its next tick that a task from another CPU preempts. "
	  "`auto` means on since 7.1.");
enum { LAZY_AUTO, LAZY_OFF, LAZY_ON };

/* Whether what was picked in a queue, and has come to that place, is protected there. */
static inline bool is_protected_at(const struct queue_clock *c, u64 vruntime, u64 deadline)
{
	if (version == LINUX_6_12)
		return run_to_parity && deadline == c->picked_deadline;
	return time_before(vruntime, c->protected_until);
}

static inline bool is_protected(const struct fair_queue *q, u64 now)
{
	return is_protected_at(&q->clock, running_vruntime(q, now), q->clock.deadline);
}

static inline void cancel_protection(struct fair_queue *q, u64 now)
{
	q->clock.picked_deadline = q->clock.deadline + 1;
	if (is_protected(q, now))
		q->clock.protected_until = running_vruntime(q, now);
}

/*
 * Where the protection of a task with slice @slice ends that is at @vruntime. @shortest: the shortest slice there is.
 */
static inline u64 protection_end(u64 vruntime, u64 deadline, u64 slice, u64 shortest, u64 weight, u32 inverse)
{
	u64 end = deadline_after(vruntime, shortest, weight, inverse);

	return shortest < slice && time_before(end, deadline) ? end : deadline;
}

/* The running task was picked. */
static void protect(struct fair_queue *q, u32 number)
{
	struct queue_clock *c = &q->clock;
	u64 shortest;

	c->picked_deadline = c->deadline;
	if (version == LINUX_6_12)
		return;
	shortest = run_to_parity ? extreme_slice(number, c->slice, false) : extreme(c->slice, base_slice, false);
	c->protected_until =
		protection_end(c->vruntime, c->deadline, c->slice, shortest, q->running_scaled, q->running_inverse);
}

/*
 * Takes from the running task what is more than the shortest slice of its protection, as @slice may be one from now
 * on.
 */
static void shrink_protection(struct fair_queue *q, u32 number, u64 slice, u64 now)
{
	u64 shortest = extreme_slice(number, slice, false);
	u64 end = deadline_after(running_vruntime(q, now), shortest, q->running_scaled, q->running_inverse);

	if (time_before(end, q->clock.protected_until))
		q->clock.protected_until = end;
}

/*
 * Charges what runs in a queue up to now, and looks whether another is to be picked: its request is used up, or it has
 * got beyond what protects it. Returns whether it is.
 */
__noinline bool charge_level(struct fair_queue *q, u64 now)
{
	if (!q)
		return false;
	if (!q->running || !time_after(now, q->charged_at))
		return q->resched;
	charge(q, now);
	follow_average(q, now);
	if (!q->clock.nr_queued || is_protected(q, now))
		return q->resched;
	if (version != LINUX_6_12 || (preempt_short && !is_eligible(q, q->clock.vruntime, now)))
		q->resched = true;
	return q->resched;
}

static __noinline bool charge_groups(u32 number, u64 now);

/* The same for a CPU, in all queues above its task. */
__noinline bool update_queue(struct fair_queue *q, u64 now)
{
	if (!q)
		return false;
	if (has_tree() && q->running && q->running_slot &&
	    charge_groups(queue_number(q->running_slot, q->clock.cpu), now))
		q->resched = true;
	return charge_level(q, now);
}

/* The tick at which what runs in a queue has to be looked at, if nothing changes. */
__noinline u64 slice_end(const struct fair_queue *q, u64 now)
{
	u64 end, other;

	if (!q)
		return now + ALONE_SLICE;
	if (!q->clock.nr_queued)
		return must_publish(q) ? tick_from(q, now + 1) : now + ALONE_SLICE;
	end = other = q->clock.deadline;
	if (version != LINUX_6_12)
		other = q->clock.protected_until;
	else if (preempt_short && !is_protected(q, now))
		/* It is eligible as long as it is not ahead of the average of the others. */
		other = q->clock.zero + floor_div(q->clock.sum, q->clock.weight) + 1;
	return tick_at(q, time_before(other, end) ? other : end);
}

static __noinline u64 end_in_groups(u32 number, u64 end, u64 now);

/* The same for a CPU. */
static inline u64 cpu_slice_end(const struct fair_queue *q, u64 now)
{
	u64 end = slice_end(q, now);

	if (!has_tree() || !q->running || !q->running_slot)
		return end;
	return end_in_groups(queue_number(q->running_slot, q->clock.cpu), end, now);
}

enum verdict { NOBODY, TAKEN, DEBTOR_LEFT };

/* The first that is eligible of those with a deadline before that of @debtor, or of the running task, a @candidate. */
static bool take_eligible(struct fair_queue *q, s32 cpu, bool candidate, const struct debtor *debtor, u64 now)
{
	u64 deadline = q->clock.deadline, average = average_vruntime(q, now);
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct fair_task *t = task_of(p);

		if (!t || time_after(t->clock.vruntime, average))
			continue;
		if (candidate && time_before(deadline, t->clock.deadline))
			break;
		if (debtor && time_before(debtor->deadline, t->clock.deadline))
			break;
		if (scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0))
			return true;
	}
	return false;
}

/*
 * Takes the eligible task with the earliest deadline to the CPU, if it goes before the running one. @candidate: that
 * one is eligible. If a debtor would be picked it leaves the queue instead, and everything is to be looked at again.
 */
static enum verdict take_first(struct fair_queue *q, s32 cpu, bool candidate, u64 now)
{
	struct debtor *debtor = first_debtor(q, !candidate, q->clock.deadline, now);
	struct task_struct *p = debtor ? NULL : __COMPAT_scx_bpf_dsq_peek(cpu);
	struct fair_task *t = p ? task_of(p) : NULL;

	/* Mostly the first of all is eligible. */
	if (t && is_eligible(q, t->clock.vruntime, now)) {
		if (candidate && time_before(q->clock.deadline, t->clock.deadline))
			return NOBODY;
		return scx_bpf_dsq_move_to_local(cpu, 0) ? TAKEN : NOBODY;
	}
	if (take_eligible(q, cpu, candidate, debtor, now))
		return TAKEN;
	if (!debtor)
		return NOBODY;
	leave_for_good(q, debtor, cpu, now);
	return DEBTOR_LEFT;
}

static __noinline bool pick_in_tree(u32 cpu, bool runs, u64 now);

/* Gives the CPU to the task that is due. @runs: the running task may continue. False: no other task got it. */
__noinline bool pick(s32 cpu, bool runs, u64 now)
{
	struct fair_queue *q = queue_of(cpu);
	enum verdict verdict = NOBODY;
	u32 step;

	if (!q)
		return false;
	if (has_tree())
		return pick_in_tree(cpu, runs, now);
	bpf_for(step, 0, MAX_DEBTORS + 1) {
		bool candidate = runs && is_eligible(q, q->clock.vruntime, now);

		if (!q->clock.nr_queued)
			break;
		if (candidate && is_protected(q, now))
			return false;
		verdict = take_first(q, cpu, candidate, now);
		if (verdict != DEBTOR_LEFT)
			break;
	}
	/* Another CPU may have taken the eligible task, or put one here that is not counted yet. */
	return verdict == TAKEN || (!runs && scx_bpf_dsq_move_to_local(cpu, 0));
}

/* Whether one that waits goes before that deadline and is eligible, one after the other, in a section of RCU. */
static bool is_preceded_by_any(const struct fair_queue *q, u32 number, s32 pid, u64 deadline, u64 now)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, number, 0) {
		struct fair_task *other = task_of(p);

		if (!other || p->pid == pid)
			continue;
		if (time_after(other->clock.deadline, deadline))
			break;
		if (is_eligible(q, other->clock.vruntime, now))
			return true;
	}
	return false;
}

/* Whether a waiting task that is eligible goes before an eligible one of that deadline. */
__noinline bool is_preceded(u32 number, s32 pid, u64 deadline, u64 now)
{
	struct fair_queue *q = queue_at(number);
	struct task_struct *p;
	struct fair_task *first;
	bool preceded = false;

	if (!q)
		return false;
	bpf_rcu_read_lock();
	p = __COMPAT_scx_bpf_dsq_peek(number);
	first = p ? task_of(p) : NULL;
	/* Mostly the first of all says it. */
	if (first && p->pid != pid && !time_after(first->clock.deadline, deadline))
		preceded = is_eligible(q, first->clock.vruntime, now) ||
			   is_preceded_by_any(q, number, pid, deadline, now);
	bpf_rcu_read_unlock();
	return preceded;
}

/* Whether a task that comes to wait would be picked. */
__noinline bool would_win(u32 number, s32 pid, const struct fair_task *t, bool with_protection, u64 now)
{
	struct fair_queue *q = queue_at(number);

	if (!q || !t)
		return false;
	if (is_eligible(q, running_vruntime(q, now), now) &&
	    ((with_protection && is_protected(q, now)) || time_before(q->clock.deadline, t->clock.deadline)))
		return false;
	if (!is_eligible(q, t->clock.vruntime, now) || first_debtor(q, false, t->clock.deadline, now))
		return false;
	return !is_preceded(number, pid, t->clock.deadline, now);
}

/* The place of the debtor that would be picked before the running task and a coming one; MAX_DEBTORS if none would. */
__noinline u32 debtor_before(u32 number, const struct fair_task *t, bool with_protection, u64 now)
{
	struct fair_queue *q = queue_at(number);
	bool goes_on, comes;
	u64 deadline;

	if (!q || !t || !q->clock.nr_debtors)
		return MAX_DEBTORS;
	goes_on = is_eligible(q, running_vruntime(q, now), now);
	if (goes_on && with_protection && is_protected(q, now))
		return MAX_DEBTORS;
	comes = is_eligible(q, t->clock.vruntime, now);
	deadline = t->clock.deadline;
	if (goes_on && (!comes || time_before(q->clock.deadline, deadline)))
		deadline = q->clock.deadline;
	return debtor_slot(q, !goes_on && !comes, deadline, now);
}

/*
 * Since 7.1 debtors that would be picked when a task comes leave the queue, and the pick is made again
 * (pick_next_entity() in wakeup_preempt_fair()). Before, such a debtor only kept the task from preempting.
 */
__noinline void dismiss_debtors(u32 number, s32 pid, const struct fair_task *t, bool with_protection, u64 now)
{
	struct fair_queue *q = queue_at(number);
	u32 step;

	if (!q)
		return;
	bpf_for(step, 0, MAX_DEBTORS) {
		u32 slot = debtor_before(number, t, with_protection, now);
		struct debtor *debtor = ELEMENT(q->clock.debtors, slot);

		if (!debtor || is_preceded(number, pid, debtor->deadline, now))
			return;
		leave_for_good(q, debtor, number, now);
	}
}

static __noinline bool is_preceded_by_group(u32 number, s32 pid, u64 deadline, u64 now);

/* As would_win(), also of the groups that wait in a queue of the tree. */
static __always_inline bool wins(u32 number, s32 pid, const struct fair_task *t, bool with_protection, bool in_tree,
				 u64 now)
{
	return would_win(number, pid, t, with_protection, now) &&
	       !(in_tree && is_preceded_by_group(number, pid, t->clock.deadline, now));
}

/* Whether a task that came preempts the running one, by its class, its slice and its deadline. */
static __always_inline bool preempts(struct fair_queue *q, u32 number, s32 pid, const struct fair_task *t, bool in_tree,
				     u64 now)
{
	const struct queue_clock *c = &q->clock;
	const struct task_clock *k = &t->clock;
	bool is_short = preempt_short && k->slice < c->slice;

	if (q->running_class == CLASS_IDLE && t->class != CLASS_IDLE) {
		cancel_protection(q, now);
		return true;
	}
	if (t->class != CLASS_NORMAL)
		return false;
	if (version == LINUX_6_12) {
		if (is_short && is_eligible(q, k->vruntime, now) &&
		    (time_before(k->deadline, c->deadline) || !is_eligible(q, running_vruntime(q, now), now)))
			cancel_protection(q, now);
		return wins(number, pid, t, true, in_tree, now);
	}
	if (version >= LINUX_7_1 && !is_short && (k->was_debtor || k->was_new))
		return false;
	if (version >= LINUX_7_1)
		dismiss_debtors(number, pid, t, !is_short, now);
	if (wins(number, pid, t, !is_short, in_tree, now)) {
		if (is_short)
			cancel_protection(q, now);
		return true;
	}
	if (is_short || version >= LINUX_7_1)
		shrink_protection(q, number, k->slice, now);
	return false;
}

/* Whether a CPU learns of it only at its tick: its task computes, and nothing happens there. */
static inline bool is_lazy(const struct fair_task *t, s32 cpu)
{
	bool lazy = lazy_preemption == LAZY_ON || (lazy_preemption == LAZY_AUTO && version >= LINUX_7_1);
	s32 here = t->clock.waker >= 0 ? t->clock.waker : (s32)bpf_get_smp_processor_id();

	return lazy && cpu != here;
}

static __noinline bool preempts_in_tree(const struct fair_task *t, s32 pid, u32 cpu, u64 now);

/* What the running task has to know of that comparison. */
static __always_inline bool tell_of(struct fair_queue *q, const struct fair_task *t, s32 cpu, u64 now)
{
	if (!q->resched) {
		q->clock.shortened = time_before(cpu_slice_end(q, now), q->slice_end);
		return q->clock.shortened;
	}
	q->clock.lazy_until = is_lazy(t, cpu) ? tick_from(q, now + 1) : 0;
	return !q->clock.lazy_until || time_before(q->clock.lazy_until, q->slice_end);
}

/* A task came to wait where another one runs. It may preempt, or the slice of the running one may end earlier now. */
static __always_inline bool must_tell(struct fair_queue *q, const struct fair_task *t, s32 pid, s32 cpu, u64 now)
{
	if (q->resched && q->clock.lazy_until)
		return false;
	if (!q->resched)
		q->resched = has_tree() ? preempts_in_tree(t, pid, cpu, now) : preempts(q, cpu, pid, t, false, now);
	return tell_of(q, t, cpu, now);
}

/* Where groups have queues of their own the CPU looks again, which preempts none (the stack has no room for more). */
static __always_inline bool must_tell_moved(struct fair_queue *q, const struct fair_task *t, s32 pid, s32 cpu, u64 now)
{
	if (has_tree())
		return true;
	if (q->resched && q->clock.lazy_until)
		return false;
	if (!q->resched)
		q->resched = preempts(q, cpu, pid, t, false, now);
	return tell_of(q, t, cpu, now);
}

static inline u64 order_key(const struct fair_task *t)
{
	return t->clock.deadline;
}

/* NEXT_BUDDY is off in these kernels. */
static inline bool is_buddy(const struct fair_queue *q, const struct fair_task *t, s32 pid)
{
	return false;
}

static void clear_buddies(struct fair_queue *q, const struct fair_task *t, s32 pid)
{
}

/*
 * Since 6.18 a task that is not eligible is not pulled to where others are, unless that failed before
 * (task_is_ineligible_on_dst_cpu()). Where its group has a queue, others are those of its group.
 */
static inline bool gains_nothing(const struct fair_queue *from, const struct fair_queue *to, const struct fair_task *t,
			  s32 cpu, u32 failures, u64 now)
{
	const struct fair_queue *own = from;
	u32 others = to->nr_running;

	if (version == LINUX_6_12 || failures)
		return false;
	if (has_tree()) {
		own = queue_at(number_of(t));
		to = queue_at(number_on(t, cpu));
		others = to ? to->clock.nr_queued + !!to->running : 0;
	}
	return others && own && !is_eligible(own, t->clock.vruntime, now);
}

#endif /* SCHEDLAB_EEVDF_PICK_BPF_H */
