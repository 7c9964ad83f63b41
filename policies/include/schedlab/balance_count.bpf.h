/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often a balancer was called: each time a CPU looks for an imbalance, whether it finds one or not. Linux
 * counts the same in /proc/schedstat (lb_count). With status=balancing it is the status of the running task.
 */
#ifndef SCHEDLAB_BALANCE_COUNT_BPF_H
#define SCHEDLAB_BALANCE_COUNT_BPF_H

#include <schedlab/status.bpf.h>

PARAMETER(u32, status, 0,
	  "choices=own,balancing about=What a task publishes as its status: what the policy defines, if anything, or "
	  "how often the balancer has run so far.");
enum { STATUS_OWN, STATUS_BALANCING };

static u64 balancer_calls;

static inline void count_balancing(void)
{
	__sync_fetch_and_add(&balancer_calls, 1);
}

/* A task leaves its CPU. */
static inline void publish_balancing(struct task_struct *p)
{
	if (status == STATUS_BALANCING)
		status_set(p, balancer_calls);
}

#endif /* SCHEDLAB_BALANCE_COUNT_BPF_H */
