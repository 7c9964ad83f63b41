/* SPDX-License-Identifier: GPL-2.0-only */
/* stranger - wrong on purpose, as attack.bpf.c: more of its kinds, and calls from operations that may not make them. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

const volatile u32 attack;

struct holder { struct bpf_cpumask __kptr *mask; struct task_struct __kptr *task; u64 plain; };
struct with_timer { struct bpf_timer timer; u64 fired; };
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 4); __type(key, u32); __type(value, struct holder); } holders SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 1 << 20); __type(key, u64); __type(value, struct holder); } hash SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 4); __type(key, u32); __type(value, struct with_timer); } timers SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_TASK_STORAGE); __uint(map_flags, BPF_F_NO_PREALLOC); __type(key, int); __type(value, struct holder); } storage SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 1 << 16); } ring SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARENA); __uint(map_flags, BPF_F_MMAPABLE); __uint(max_entries, 1 << 18); } pages SEC(".maps");

struct item { struct bpf_rb_node node; struct bpf_list_node link; u64 key; };
struct big { struct bpf_list_node link; u64 words[1 << 14]; };
private(A) struct bpf_rb_root tree __contains(item, node);
private(A) struct bpf_list_head list __contains(item, link);
private(A) struct bpf_list_head large __contains(big, link);
static u64 scratch[64];
static u8 bytes[1 << 26];
static char text[1 << 16];

#define HIDE(x) ({ typeof(x) __x = (x); asm volatile("" : "+r"(__x)); __x; })
#define MASK(x) HIDE((struct bpf_cpumask *)(x))

static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return container_of(a, struct item, node)->key < container_of(b, struct item, node)->key;
}

static bool copy_much(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	bpf_probe_read_kernel(bytes, sizeof(bytes) / 2, bytes + sizeof(bytes) / 2);
	return false;
}

static long nothing(u32 index, void *data)
{
	return 0;
}

static long loop_inside(u32 index, void *data)
{
	bpf_loop(1 << 22, nothing, NULL, 0);
	return 0;
}

static long print_in_loop(u32 index, void *data)
{
	bpf_printk("%s", text);
	return 0;
}

static long copy_element(void *map, u64 *key, struct holder *value, void *data)
{
	bpf_probe_read_kernel(bytes, sizeof(bytes) / 2, bytes + sizeof(bytes) / 2);
	return 0;
}

static long release_given(u32 index, struct bpf_cpumask *mask)
{
	bpf_cpumask_release(mask);
	return 0;
}

static int at_once(void *map, u32 *key, struct with_timer *value)
{
	bpf_timer_start(&value->timer, 0, 0);
	return 0;
}

static int both_at_once(void *map, u32 *key, struct with_timer *value)
{
	u32 other = *key ^ 1;
	struct with_timer *second = bpf_map_lookup_elem(&timers, &other);

	if (second)
		bpf_timer_start(&second->timer, 0, 0);
	return 0;
}

static int copy_for_ever(void *map, u32 *key, struct with_timer *value)
{
	while (bpf_probe_read_kernel(bytes, sizeof(bytes) / 2, bytes + sizeof(bytes) / 2) == 0)
		;
	return 0;
}

static void set_timer(u32 key, void *callback, u64 delay, u64 flags)
{
	struct with_timer *timer = bpf_map_lookup_elem(&timers, &key);

	if (!timer)
		return;
	bpf_timer_init(&timer->timer, &timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&timer->timer, callback);
	bpf_timer_start(&timer->timer, delay, flags);
}

/* What kernel functions and helpers are passed. */
static __noinline void passed(struct task_struct *p)
{
	u32 key = 0;
	u64 number = 7;
	struct holder *value = bpf_map_lookup_elem(&holders, &key), *stored, zero = {};
	struct with_timer *timer = bpf_map_lookup_elem(&timers, &key);
	struct item *item = bpf_obj_new(struct item);
	struct bpf_cpumask *mask = bpf_cpumask_create();
	struct bpf_iter_bits bits;
	struct task_struct *task;
	u64 *record;

	if (!value || !timer || !item || !mask)
		return;
	switch (attack) {
	case 1: bpf_cpumask_set_cpu(1, MASK(&value->mask)); break;
	case 2: bpf_cpumask_test_cpu(0, (struct cpumask *)MASK((void *)mask + 8)); break;
	case 3: bpf_cpumask_release(bpf_cpumask_acquire(mask)); bpf_cpumask_release(mask); bpf_cpumask_release(MASK(mask)); break;
	case 4: bpf_kptr_xchg(&value->task, HIDE(p)); break;
	case 5: bpf_task_release((struct task_struct *)MASK(mask)); break;
	case 6: task = bpf_task_acquire(p); bpf_task_release(task); bpf_task_release(HIDE(task)); break;
	case 7: bpf_task_from_pid(p->pid); bpf_cpumask_release(mask); bpf_obj_drop(item); break;
	case 8: bpf_cgroup_ancestor(HIDE((struct cgroup *)p), 0); break;
	case 9: bpf_cgroup_from_id(1); bpf_cpumask_release(mask); bpf_obj_drop(item); break;
	case 10: bpf_cpumask_release(MASK(scx_bpf_get_online_cpumask())); break;
	case 11: bpf_obj_drop_impl(HIDE(item), NULL); bpf_obj_drop_impl(HIDE(item), NULL); break;
	case 12: bpf_rbtree_add(&tree, &item->node, less); bpf_obj_drop_impl(HIDE(item), NULL); break;
	case 13: bpf_list_push_front(HIDE((struct bpf_list_head *)&tree), &item->link); break;
	case 14: bpf_rbtree_first(HIDE((struct bpf_rb_root *)&list)); break;
	case 15:
		record = bpf_ringbuf_reserve(&ring, 16, 0);
		if (record)
			bpf_ringbuf_submit(HIDE((void *)record + 8), 0);
		break;
	case 16:
		record = bpf_ringbuf_reserve(&ring, 16, 0);
		if (record) {
			bpf_ringbuf_submit(HIDE((void *)record), 0);
			bpf_ringbuf_discard(HIDE((void *)record), 0);
		}
		break;
	case 17: bpf_timer_init(HIDE((struct bpf_timer *)((void *)timer + 8)), &timers, CLOCK_MONOTONIC); break;
	case 18: bpf_task_storage_get(&storage, (struct task_struct *)MASK(mask), 0, BPF_LOCAL_STORAGE_GET_F_CREATE); break;
	case 19: bpf_map_lookup_elem(HIDE((void *)value), &key); break;
	case 20: bpf_loop(1, release_given, p, 0); break;
	case 21: bpf_loop(2, release_given, mask, 0); break;
	case 22: bpf_cpumask_release(MASK((u64)mask | 1ULL << 32)); break;
	case 23: bpf_cpumask_populate(mask, HIDE((void *)-8), 16); break;
	case 24: bpf_iter_bits_new(&bits, HIDE((u64 *)-64), 8); break;
	case 25: bpf_task_acquire(HIDE((struct task_struct *)((u64)p + (1ULL << 32)))); break;
	case 26:
		/* A pointer into a value that is no more. */
		bpf_map_update_elem(&hash, &number, &zero, 0);
		stored = bpf_map_lookup_elem(&hash, &number);
		if (!stored)
			break;
		mask = bpf_kptr_xchg(&stored->mask, mask);
		bpf_map_delete_elem(&hash, &number);
		bpf_cpumask_set_cpu(0, MASK(mask));
		break;
	case 27: bpf_rbtree_add(&tree, &item->node, less); bpf_rbtree_add_impl(&tree, HIDE(&item->node), less, NULL, 0); break;
	case 28: bpf_cpumask_copy(mask, HIDE((struct cpumask *)p->scx.dsq_vtime)); break;
	}
}

/* Work that does not end. */
static __noinline void endless(struct task_struct *p)
{
	u64 values[2] = { (u64)text, 0 }, key = 1;
	struct holder zero = {};
	struct bpf_dynptr dynptr;
	struct item *item;
	u64 i;

	switch (attack) {
	case 101: while (true) bpf_probe_read_kernel_str(text, sizeof(text), bytes); return;
	case 102: while (true) bpf_map_update_elem(&hash, &key, &zero, 0); return;
	case 103: while (true) bpf_map_delete_elem(&hash, &key); return;
	case 104: while (true) bpf_cpumask_release(bpf_cpumask_create()); return;
	case 105: while (true) scx_bpf_kick_cpu(0, 0); return;
	case 106: while (true) bpf_task_storage_delete(&storage, p), bpf_task_storage_get(&storage, p, 0, 1); return;
	case 107: bpf_loop(1 << 23, loop_inside, NULL, 0); return;
	case 108: bpf_loop(1 << 23, print_in_loop, NULL, 0); return;
	case 109: while (true) bpf_snprintf(text, sizeof(text), "%s", values, 8); return;
	case 110: bpf_dynptr_from_mem(bytes, sizeof(bytes), 0, &dynptr); while (true) bpf_dynptr_read(bytes, sizeof(bytes) / 2, &dynptr, 0, 0); return;
	case 111: bpf_dynptr_from_mem(bytes, sizeof(bytes), 0, &dynptr); while (true) bpf_dynptr_write(&dynptr, 0, bytes, sizeof(bytes) / 2, 0); return;
	case 112: set_timer(0, at_once, 0, 0); return;
	case 113: set_timer(0, both_at_once, 0, 0); set_timer(1, both_at_once, 0, 0); return;
	case 114: set_timer(0, copy_for_ever, 1, 0); return;
	case 115: for (i = 0; i < 3; i++) bpf_map_update_elem(&hash, &i, &zero, 0); while (true) bpf_for_each_map_elem(&hash, copy_element, NULL, 0); return;
	case 116:
		for (i = 0; i < 1000; i++) {
			item = bpf_obj_new(struct item);
			if (item)
				bpf_rbtree_add(&tree, &item->node, copy_much);
		}
		return;
	case 117: while (true) bpf_ringbuf_discard(bpf_ringbuf_reserve(&ring, 8, 0), 0); return;
	case 118: while (true) bpf_arena_free_pages(&pages, bpf_arena_alloc_pages(&pages, NULL, 1 << 10, -1, 0), 1 << 10); return;
	case 119: while (true) bpf_get_prandom_u32(), bpf_ktime_get_ns(); return;
	case 120: while (true) scx_bpf_dsq_nr_queued(7); return;
	case 121: set_timer(0, at_once, 0, BPF_F_TIMER_ABS); return;
	case 122: while (true) bpf_timer_cancel(bpf_map_lookup_elem(&timers, &(u32){ 0 })); return;
	case 123: while (true) bpf_strncmp(text, sizeof(text), text); return;
	}
}

/* Memory of the host. */
static __noinline void growing(struct task_struct *p)
{
	struct holder zero = {}, *value;
	struct item *item;
	struct big *big;
	u64 key;

	switch (attack) {
	case 201: while ((big = bpf_obj_new(struct big))) bpf_list_push_front(&large, &big->link); return;
	case 202: while ((item = bpf_obj_new(struct item))) bpf_rbtree_add(&tree, &item->node, less); return;
	case 203:
		for (key = 0; key < 1 << 20; key++) {
			bpf_map_update_elem(&hash, &key, &zero, 0);
			value = bpf_map_lookup_elem(&hash, &key);
			if (value)
				bpf_cpumask_release(bpf_kptr_xchg(&value->mask, bpf_cpumask_create()) ?: bpf_cpumask_create());
		}
		return;
	case 204: while (bpf_arena_alloc_pages(&pages, NULL, 1 << 12, -1, 0)); return;
	case 206: while ((item = bpf_obj_new(struct item))) bpf_list_push_back(&list, &item->link); return;
	case 207: while (bpf_task_acquire(p)); return;
	case 208: while (scx_bpf_get_possible_cpumask()); return;
	case 209: while (bpf_obj_new(struct big)); return;
	case 210: while (bpf_refcount_acquire_impl(p, NULL)); return;
	}
}

/* Calls that an operation may not make. */
static __noinline void elsewhere(struct task_struct *p)
{
	struct bpf_iter_scx_dsq it;
	bool idle;

	switch (attack) {
	case 301: scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1, 0); return;
	case 302: scx_bpf_dsq_insert_vtime(p, 7, 1, 0, 0); return;
	case 303: scx_bpf_dsq_move_to_local(7, 0); return;
	case 304: scx_bpf_dispatch_nr_slots(); return;
	case 305: scx_bpf_dispatch_cancel(); return;
	case 306: scx_bpf_create_dsq(9, -1); return;
	case 307: scx_bpf_select_cpu_dfl(p, 0, 0, &idle); return;
	case 308: scx_bpf_select_cpu_and(p, 0, 0, p->cpus_ptr, 0); return;
	case 309: scx_bpf_reenqueue_local(); return;
	case 310:
		bpf_iter_scx_dsq_new(&it, 7, 0);
		scx_bpf_dsq_move_set_slice(&it, 1);
		bpf_iter_scx_dsq_destroy(&it);
		return;
	}
}

s32 BPF_STRUCT_OPS(stranger_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	if (attack >= 303 && attack <= 306)
		elsewhere(p);
	return prev_cpu;
}

void BPF_STRUCT_OPS(stranger_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 10 * NS_PER_MS, enq_flags);
	if (attack && attack < 100)
		passed(p);
	endless(p);
	growing(p);
}

void BPF_STRUCT_OPS(stranger_running, struct task_struct *p)
{
	elsewhere(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(stranger_init)
{
	if (attack == 205)
		for (u64 id = 1; id < 1 << 23; id++)
			scx_bpf_create_dsq(id << 14, -1);
	return scx_bpf_create_dsq(7, -1);
}

SCX_OPS_DEFINE(stranger_ops, .select_cpu = (void *)stranger_select_cpu, .enqueue = (void *)stranger_enqueue,
	       .running = (void *)stranger_running, .init = (void *)stranger_init, .name = "stranger");
