/* SPDX-License-Identifier: GPL-2.0-only */
/* attack - wrong on purpose: does one of many things that no verifier would pass. Each has a number. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

const volatile u32 attack;

struct holder { struct bpf_cpumask __kptr *mask; struct task_struct __kptr *task; u64 plain; };
struct with_timer { struct bpf_timer timer; u64 fired; };
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 4); __type(key, u32); __type(value, struct holder); } holders SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 64); __type(key, u32); __type(value, struct holder); } hash SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 4); __type(key, u32); __type(value, struct with_timer); } timers SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 1 << 16); } ring SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARENA); __uint(map_flags, BPF_F_MMAPABLE); __uint(max_entries, 1 << 18); } pages SEC(".maps");

struct item { struct bpf_rb_node node; struct bpf_list_node link; u64 key; };
private(A) struct bpf_spin_lock lock;
private(A) struct bpf_rb_root tree __contains(item, node);
private(A) struct bpf_list_head list __contains(item, link);
static u64 scratch[64];
static u8 large[1 << 28];

#define HIDE(x) ({ typeof(x) __x = (x); asm volatile("" : "+r"(__x)); __x; })

static struct holder *holder(u32 key)
{
	return bpf_map_lookup_elem(&holders, &key);
}

static bool less_and_add(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	struct item *item = bpf_obj_new(struct item);

	if (item)
		bpf_rbtree_add(&tree, &item->node, less_and_add);
	return false;
}

static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return false;
}

static int again(void *map, u32 *key, struct with_timer *value)
{
	value->fired++;
	bpf_timer_start(&value->timer, 1, BPF_F_TIMER_ABS);
	return 0;
}

static long leak_one(u32 index, void *data)
{
	bpf_task_acquire(data);
	return 0;
}

static long nothing(u32 index, void *data)
{
	return 0;
}

static long deeper(u32 index, u64 *depth)
{
	if (*depth) {
		*depth -= 1;
		bpf_loop(1, deeper, depth, 0);
	}
	return 0;
}

/* References and masks. */
static __noinline void masks(struct task_struct *p)
{
	struct bpf_cpumask *mask;
	struct holder *value = holder(0);
	u64 words[2] = { ~0ULL, ~0ULL };

	if (!value)
		return;
	switch (attack) {
	case 100: bpf_cpumask_clear((struct bpf_cpumask *)p); return;
	case 101: bpf_cpumask_release((struct bpf_cpumask *)p); return;
	case 102: bpf_cpumask_setall((struct bpf_cpumask *)p->cpus_ptr); return;
	case 103: bpf_cpumask_populate((struct bpf_cpumask *)p->cpus_ptr, words, sizeof(words)); return;
	case 104: bpf_cpumask_release((struct bpf_cpumask *)p->cpus_ptr); return;
	case 105: mask = bpf_cpumask_create(); return;
	case 106:
		mask = bpf_cpumask_create();
		bpf_cpumask_release(mask);
		bpf_cpumask_release(mask);
		return;
	case 107:
		mask = bpf_cpumask_create();
		bpf_cpumask_release(mask);
		bpf_cpumask_set_cpu(1, mask);
		return;
	/* Own memory is a mask as well, in a kernel too, where it is as long as one. */
	case 108: bpf_cpumask_test_cpu(0, (struct cpumask *)&value->plain); return;
	case 109: bpf_cpumask_weight(NULL); return;
	case 110: bpf_cpumask_and((struct bpf_cpumask *)&value->plain, p->cpus_ptr, p->cpus_ptr); return;
	case 111: bpf_kptr_xchg(&value->mask, (struct bpf_cpumask *)p->cpus_ptr); return;
	case 112:
		/* The same mask in two places. */
		mask = bpf_cpumask_create();
		bpf_kptr_xchg(&value->mask, mask);
		bpf_kptr_xchg(&value->mask, mask);
		return;
	case 113:
		mask = bpf_cpumask_create();
		bpf_kptr_xchg((void **)HIDE((void *)&value->plain), mask);
		return;
	case 114:
		/* A forged pointer where only bpf_kptr_xchg writes. */
		*(volatile u64 *)&value->mask = (u64)p->cpus_ptr;
		mask = bpf_kptr_xchg(&value->mask, NULL);
		if (mask)
			bpf_cpumask_release(mask);
		return;
	case 115: bpf_task_acquire(p); return;
	case 116: bpf_task_release(p); return;
	case 117: bpf_task_acquire((void *)p + 64); return;
	case 118: scx_bpf_get_idle_cpumask(); return;
	case 119: scx_bpf_put_idle_cpumask(p->cpus_ptr); return;
	case 120: scx_bpf_put_cpumask((struct cpumask *)scratch); return;
	case 121: scx_bpf_task_cgroup(p); return;
	case 122: bpf_cgroup_release((struct cgroup *)p); return;
	case 123: bpf_kptr_xchg(&value->task, (struct task_struct *)bpf_cpumask_create()); return;
	case 124: bpf_cpumask_acquire((struct bpf_cpumask *)scx_bpf_get_possible_cpumask()); return;
	case 125:
		while (bpf_cpumask_create())
			;
		return;
	case 126: bpf_loop(3, leak_one, p, 0); return;
	case 127: bpf_cpumask_copy((struct bpf_cpumask *)((void *)bpf_cpumask_create() + 8), p->cpus_ptr); return;
	case 128: scx_bpf_select_cpu_and(p, 0, 0, (struct cpumask *)&value->plain, 0); return;
	case 129: scx_bpf_pick_idle_cpu((struct cpumask *)p, 0); return;
	case 130: scx_bpf_dsq_insert((struct task_struct *)p->cpus_ptr, SCX_DSQ_GLOBAL, 1, 0); return;
	case 131: scx_bpf_select_cpu_dfl(p, 0, 0, HIDE((bool *)&p->pid)); return;
	case 132: scx_bpf_events(HIDE((struct scx_event_stats *)p), 64); return;
	case 133: scx_bpf_events(HIDE((struct scx_event_stats *)scratch), 1 << 30); return;
	}
}

/* Dynptrs, iterators, timers, trees and lists. */
static __noinline void objects(struct task_struct *p)
{
	struct bpf_iter_bits bits = {};
	struct bpf_iter_scx_dsq it = {};
	struct bpf_dynptr dynptr = {};
	struct item *item, *second;
	struct with_timer *timer;
	u32 key = 0;
	u64 *forged = (u64 *)&dynptr;

	timer = bpf_map_lookup_elem(&timers, &key);
	if (!timer)
		return;
	switch (attack) {
	case 200:
		*(volatile u64 *)&forged[0] = (u64)p;
		*(volatile u64 *)&forged[1] = 64;
		bpf_dynptr_read(scratch, 8, HIDE(&dynptr), 0, 0);
		return;
	case 201:
		bpf_dynptr_from_mem(scratch, 64, 0, &dynptr);
		*(volatile u64 *)&forged[1] = 1 << 20;
		bpf_dynptr_read(scratch, 8, HIDE(&dynptr), 1000, 0);
		return;
	case 202: bpf_dynptr_from_mem(HIDE((void *)p), 64, 0, &dynptr); return;
	case 203: bpf_dynptr_from_mem(scratch, 64, 0, HIDE((struct bpf_dynptr *)scratch)); return;
	case 204:
		/* A range of 2^31 bits at an address of the program's choice. */
		*(volatile u64 *)&((u64 *)&bits)[0] = 0;
		*(volatile u64 *)&((u64 *)&bits)[1] = 0x7fffffff;
		while (bpf_iter_bits_next(HIDE(&bits)))
			;
		return;
	case 205: bpf_iter_bits_new(&bits, scratch, 64); return;
	case 206:
		bpf_iter_bits_new(&bits, scratch, 64);
		bpf_iter_bits_new(&bits, scratch, 64);
		return;
	case 207: bpf_iter_scx_dsq_next(HIDE(&it)); return;
	case 208:
		*(volatile u64 *)&it = 1;
		bpf_iter_scx_dsq_destroy(HIDE(&it));
		return;
	case 209: bpf_iter_scx_dsq_new(&it, 7, 0); return;
	case 210: bpf_iter_scx_dsq_new(HIDE((struct bpf_iter_scx_dsq *)p), 7, 0); return;
	case 211: bpf_timer_init(HIDE((struct bpf_timer *)&timer->fired), &timers, CLOCK_MONOTONIC); return;
	case 212: bpf_timer_init(&timer->timer, &holders, CLOCK_MONOTONIC); return;
	case 213:
		item = bpf_obj_new(struct item);
		second = bpf_obj_new(struct item);
		if (!item || !second)
			return;
		bpf_rbtree_add(&tree, &item->node, less);
		bpf_rbtree_add(&tree, &second->node, less_and_add);
		return;
	case 214: bpf_obj_new(struct item); return;
	case 215: bpf_obj_drop_impl(HIDE((void *)p), NULL); return;
	case 216:
		item = bpf_obj_new(struct item);
		if (!item)
			return;
		bpf_list_push_front(&list, &item->link);
		bpf_obj_drop_impl(HIDE(item), NULL);
		return;
	case 217:
		item = bpf_obj_new(struct item);
		if (item)
			bpf_list_push_front(HIDE((struct bpf_list_head *)scratch), &item->link);
		return;
	case 218: bpf_list_push_front_impl(&list, HIDE((struct bpf_list_node *)scratch), NULL, 0); return;
	case 219:
		item = bpf_obj_new(struct item);
		if (item)
			bpf_rbtree_add(&tree, HIDE((struct bpf_rb_node *)&item->key), less);
		return;
	case 220: bpf_ringbuf_reserve(&ring, 16, 0); return;
	case 221: bpf_ringbuf_submit(HIDE((void *)scratch), 0); return;
	case 222:
		while (bpf_ringbuf_reserve(&ring, 0, 0))
			;
		return;
	case 223: bpf_timer_set_callback(&timer->timer, HIDE((void *)1234)); return;
	}
}

/* The first timer, with its callback. */
static struct with_timer *ready_timer(void)
{
	struct with_timer *timer;
	u32 key = 0;

	timer = bpf_map_lookup_elem(&timers, &key);
	if (timer) {
		bpf_timer_init(&timer->timer, &timers, CLOCK_MONOTONIC);
		bpf_timer_set_callback(&timer->timer, again);
	}
	return timer;
}

/* Work that does not end, and memory that grows. */
static __noinline void work(struct task_struct *p)
{
	static const char wide[] = "%256d%256d%256d%256d%256d%256d%256d%256d%256d%256d";
	u64 values[12] = {};
	struct with_timer *timer;
	u64 depth = 20;
	u32 key = 0;

	switch (attack) {
	case 300:
		while (bpf_probe_read_kernel(HIDE((void *)large), sizeof(large) / 2, HIDE((void *)large + sizeof(large) / 2)) == 0)
			;
		return;
	case 301:
		while (bpf_arena_alloc_pages(&pages, NULL, 1, -1, 0))
			;
		return;
	case 302:
		timer = ready_timer();
		if (timer)
			bpf_timer_start(&timer->timer, 0, 0);
		return;
	case 303:
		while (true)
			bpf_trace_vprintk(wide, sizeof(wide), values, sizeof(values));
		return;
	case 304:
		while (true)
			bpf_ringbuf_output(&ring, large, 1 << 15, 0);
		return;
	case 306:
		while (true) {
			struct item *item = bpf_obj_new(struct item);

			if (!item)
				return;
			bpf_list_push_front(&list, &item->link);
		}
		return;
	case 307: bpf_loop(1 << 23, nothing, NULL, 0); bpf_loop(1 << 23, nothing, NULL, 0); bpf_loop(1 << 23, nothing, NULL, 0);
		bpf_loop(1 << 23, nothing, NULL, 0); bpf_loop(1 << 23, nothing, NULL, 0); bpf_loop(1 << 23, nothing, NULL, 0);
		bpf_loop(1 << 23, nothing, NULL, 0); bpf_loop(1 << 23, nothing, NULL, 0); bpf_loop(1 << 23, nothing, NULL, 0);
		return;
	case 308: bpf_loop(1, deeper, &depth, 0); return;
	case 309:
		while (true)
			bpf_task_from_pid(-5);
		return;
	case 310:
		timer = ready_timer();
		if (!timer)
			return;
		for (u64 i = 0;; i++)
			bpf_timer_start(&timer->timer, 1000000000 - i, 0);
		return;
	case 312: {
		struct holder zero = {}, *value;

		bpf_map_update_elem(&hash, &key, &zero, 0);
		value = bpf_map_lookup_elem(&hash, &key);
		if (value)
			/* The key lies before the value. */
			*(volatile u32 *)((void *)value - 8) = 7;
		return;
	}
	/* Much work, and an end. */
	case 320: bpf_loop(1 << 22, nothing, NULL, 0); return;
	case 311:
		while (true)
			bpf_strncmp((char *)large, sizeof(large), (char *)large);
		return;
	}
}

void BPF_STRUCT_OPS(attack_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 10 * NS_PER_MS, enq_flags);
	masks(p);
	objects(p);
	work(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(attack_init)
{
	if (attack == 305)
		for (u64 id = 8;; id++)
			scx_bpf_create_dsq(id, -1);
	return scx_bpf_create_dsq(7, -1);
}

SCX_OPS_DEFINE(attack_ops, .enqueue = (void *)attack_enqueue, .init = (void *)attack_init, .name = "attack");
