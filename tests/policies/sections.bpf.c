/* SPDX-License-Identifier: GPL-2.0-only */
/* sections - wrong on purpose: enters what it does not leave, leaves what it has not entered, sleeps where it may not. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

void bpf_preempt_disable(void) __ksym;
void bpf_preempt_enable(void) __ksym;
void bpf_local_irq_save(unsigned long *flags) __ksym;
void bpf_local_irq_restore(unsigned long *flags) __ksym;
int bpf_res_spin_lock(struct bpf_res_spin_lock *lock) __ksym;
void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock) __ksym;
int bpf_res_spin_lock_irqsave(struct bpf_res_spin_lock *lock, unsigned long *flags) __ksym;
void bpf_res_spin_unlock_irqrestore(struct bpf_res_spin_lock *lock, unsigned long *flags) __ksym;

const volatile u32 attack;

struct locked { struct bpf_spin_lock lock; u64 number; };
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 2); __type(key, u32); __type(value, struct locked); } locks SEC(".maps");
struct resilient { struct bpf_res_spin_lock lock; u64 number; };
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 2); __type(key, u32); __type(value, struct resilient); } others SEC(".maps");
struct with_timer { struct bpf_timer timer; };
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, struct with_timer); } timers SEC(".maps");

struct item { struct bpf_list_node link; u64 key; };
private(A) struct bpf_spin_lock lock;
private(A) struct bpf_list_head list __contains(item, link);
static u64 number;

#define HIDE(x) ({ typeof(x) __x = (x); asm volatile("" : "+r"(__x)); __x; })

static long lock_and_stay(u32 index, void *data)
{
	bpf_rcu_read_lock();
	return 0;
}

static long unlock(u32 index, void *data)
{
	bpf_rcu_read_unlock();
	return 0;
}

static int lock_in_timer(void *map, u32 *key, struct with_timer *value)
{
	bpf_preempt_disable();
	return 0;
}

static void set_timer(void)
{
	u32 key = 0;
	struct with_timer *value = bpf_map_lookup_elem(&timers, &key);

	if (!value)
		return;
	bpf_timer_init(&value->timer, &timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&value->timer, lock_in_timer);
	bpf_timer_start(&value->timer, NS_PER_MS, 0);
}

static __noinline void balanced(struct locked *one, struct resilient *two)
{
	unsigned long outer, inner;
	struct item *item = bpf_obj_new(struct item);
	struct bpf_list_node *node;

	bpf_rcu_read_lock();
	bpf_rcu_read_lock();
	bpf_preempt_disable();
	bpf_rcu_read_unlock();
	bpf_preempt_enable();
	bpf_rcu_read_unlock();
	bpf_local_irq_save(&outer);
	bpf_local_irq_save(&inner);
	bpf_local_irq_restore(&inner);
	bpf_local_irq_restore(&outer);
	bpf_spin_lock(&one->lock);
	one->number++;
	bpf_spin_unlock(&one->lock);
	if (item) {
		bpf_spin_lock(&lock);
		bpf_list_push_back(&list, &item->link);
		node = bpf_list_pop_front(&list);
		bpf_spin_unlock(&lock);
		if (node)
			bpf_obj_drop(container_of(node, struct item, link));
	}
	if (!bpf_res_spin_lock_irqsave(&two->lock, &outer)) {
		number += bpf_res_spin_lock(&two->lock) == -EDEADLK;
		bpf_res_spin_unlock_irqrestore(&two->lock, &outer);
	}
}

static __noinline void unbalanced(struct task_struct *p, struct locked *one, struct locked *other, struct resilient *two)
{
	unsigned long outer, inner;

	switch (attack) {
	case 1: bpf_rcu_read_lock(); return;
	case 2: bpf_rcu_read_unlock(); return;
	case 3: bpf_rcu_read_lock(); bpf_rcu_read_unlock(); bpf_rcu_read_unlock(); return;
	case 4: bpf_rcu_read_lock(); bpf_rcu_read_lock(); bpf_rcu_read_unlock(); return;
	case 5: bpf_preempt_disable(); return;
	case 6: bpf_rcu_read_lock(); bpf_preempt_enable(); bpf_rcu_read_unlock(); return;
	case 7: bpf_loop(2, lock_and_stay, NULL, 0); bpf_rcu_read_unlock(); bpf_rcu_read_unlock(); return;
	case 8: bpf_rcu_read_lock(); bpf_loop(1, unlock, NULL, 0); return;
	case 9: set_timer(); return;
	case 20: bpf_local_irq_save(&outer); return;
	case 21: bpf_local_irq_restore(&outer); return;
	case 22: bpf_local_irq_save(&outer); bpf_local_irq_save(&inner); bpf_local_irq_restore(&outer); return;
	case 23: bpf_local_irq_save((void *)HIDE(&number)); return;
	case 24: bpf_local_irq_save(&outer); bpf_local_irq_restore(&outer); bpf_local_irq_restore(&outer); return;
	case 40: bpf_spin_lock(&one->lock); return;
	case 41: bpf_spin_unlock(&one->lock); return;
	case 42: bpf_spin_lock(&one->lock); bpf_spin_unlock(&other->lock); return;
	case 43: bpf_spin_lock(&one->lock); bpf_spin_lock(&other->lock); return;
	case 44: bpf_spin_lock(&one->lock); bpf_spin_lock(&one->lock); return;
	case 45: bpf_spin_lock(&one->lock); number = bpf_ktime_get_ns(); bpf_spin_unlock(&one->lock); return;
	case 46: bpf_spin_lock(&one->lock); scx_bpf_kick_cpu(0, 0); bpf_spin_unlock(&one->lock); return;
	case 47: bpf_spin_lock(&one->lock); bpf_rcu_read_lock(); bpf_spin_unlock(&one->lock); return;
	case 48: bpf_spin_lock(HIDE((struct bpf_spin_lock *)&one->number)); return;
	case 49: bpf_spin_lock(HIDE((struct bpf_spin_lock *)&two->lock)); return;
	case 50: bpf_spin_lock(HIDE((struct bpf_spin_lock *)p)); return;
	case 51: bpf_spin_lock(&one->lock); bpf_loop(1, unlock, NULL, 0); return;
	case 52: bpf_res_spin_lock(&two->lock); return;
	case 53: bpf_res_spin_lock(&two->lock); bpf_res_spin_lock(&two->lock); bpf_res_spin_unlock(&two->lock); bpf_res_spin_unlock(&two->lock); return;
	case 54: bpf_res_spin_lock_irqsave(&two->lock, &outer); bpf_res_spin_unlock(&two->lock); return;
	case 55: bpf_res_spin_unlock_irqrestore(&two->lock, &outer); return;
	}
}

void BPF_STRUCT_OPS(sections_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 first = 0, second = 1;
	struct resilient zero = {}, *two;
	struct locked *one = bpf_map_lookup_elem(&locks, &first), *other = bpf_map_lookup_elem(&locks, &second);

	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 10 * NS_PER_MS, enq_flags);
	bpf_map_update_elem(&others, &first, &zero, BPF_NOEXIST);
	two = bpf_map_lookup_elem(&others, &first);
	if (!one || !other || !two)
		return;
	balanced(one, two);
	unbalanced(p, one, other, two);
}

void BPF_STRUCT_OPS(sections_exit, struct scx_exit_info *info)
{
	bpf_printk("%llu", number);
}

s32 BPF_STRUCT_OPS(sections_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return attack == 60 ? scx_bpf_create_dsq(9, -1) : 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(sections_init)
{
	unsigned long flags;
	u32 key = 0;
	struct locked *one = bpf_map_lookup_elem(&locks, &key);

	switch (attack) {
	case 61:
		bpf_rcu_read_lock();
		return scx_bpf_create_dsq(7, -1);
	case 62:
		bpf_preempt_disable();
		return scx_bpf_create_dsq(7, -1);
	case 63:
		bpf_local_irq_save(&flags);
		return scx_bpf_create_dsq(7, -1);
	case 64:
		if (one)
			bpf_spin_lock(&one->lock);
		return scx_bpf_create_dsq(7, -1);
	}
	return scx_bpf_create_dsq(7, -1);
}

SCX_OPS_DEFINE(sections_ops, .enqueue = (void *)sections_enqueue, .init_task = (void *)sections_init_task,
	       .init = (void *)sections_init, .exit = (void *)sections_exit, .name = "sections");
