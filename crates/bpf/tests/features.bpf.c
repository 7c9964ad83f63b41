/* SPDX-License-Identifier: GPL-2.0-only */
/* One program for each feature of maps, helpers and generic kernel functions. Each gives a number to compare. */
#include "mini.bpf.h"

struct task_struct { s32 pid; } __core;

struct iter_num { u64 opaque; };
struct iter_bits { u64 opaque[2]; };
struct bpf_list_head { u64 opaque[2]; };
struct bpf_list_node { u64 opaque[3]; };
struct bpf_rb_root { u64 opaque[2]; };
struct bpf_rb_node { u64 opaque[4]; };

extern int bpf_iter_num_new(struct iter_num *it, int start, int end) __ksym __weak;
extern int *bpf_iter_num_next(struct iter_num *it) __ksym __weak;
extern void bpf_iter_num_destroy(struct iter_num *it) __ksym __weak;
extern int bpf_iter_bits_new(struct iter_bits *it, const u64 *words, u32 count) __ksym;
extern int *bpf_iter_bits_next(struct iter_bits *it) __ksym;
extern void bpf_iter_bits_destroy(struct iter_bits *it) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
extern void *bpf_obj_new_impl(u64 type, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *object, void *meta) __ksym;
extern int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node, void *less, void *meta, u64 off) __ksym;
extern struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root) __ksym;
extern struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node) __ksym;
extern int bpf_list_push_back_impl(struct bpf_list_head *head, void *node, void *meta, u64 off) __ksym;
extern void *bpf_list_pop_front(struct bpf_list_head *head) __ksym;
extern void *bpf_cast_to_kern_ctx(void *object) __ksym;
extern s32 sim_reenter(u64 value) __ksym;
extern s32 sim_refuse(u64 value) __ksym;
extern s32 sim_panic(u64 value) __ksym;
extern void *sim_acquire(void *task) __ksym;
extern void sim_release(void *task) __ksym;
extern const u64 runqueues __ksym;
extern const u64 no_such_variable __ksym __weak;

struct value { u64 a, b; struct task_struct __kptr *held; };
struct with_timer { struct bpf_timer timer; u64 fired; };

struct { __uint(type, ARRAY); __uint(max_entries, 4); __type(key, u32); __type(value, struct value); } array SEC(".maps");
struct { __uint(type, HASH); __uint(max_entries, 3); __type(key, u64); __type(value, struct value); } hash SEC(".maps");
struct { __uint(type, LRU_HASH); __uint(max_entries, 2); __type(key, u32); __type(value, u32); } lru SEC(".maps");
struct { __uint(type, TASK_STORAGE); __uint(map_flags, 1); __type(key, int); __type(value, struct value); } storage SEC(".maps");
struct { __uint(type, QUEUE); __uint(max_entries, 2); __type(value, u32); } queue SEC(".maps");
struct { __uint(type, RINGBUF); __uint(max_entries, 4096); } ring SEC(".maps");
struct { __uint(type, ARRAY); __uint(max_entries, 2); __type(key, u32); __type(value, struct with_timer); } timers SEC(".maps");
struct { __uint(type, HASH); __uint(max_entries, 2); __type(key, u32); __type(value, struct with_timer); } hash_timers SEC(".maps");

struct inner { __uint(type, QUEUE); __uint(max_entries, 8); __type(value, u32); } inner0 SEC(".maps"), inner1 SEC(".maps");
struct {
	__uint(type, ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, u32);
	__array(values, struct inner);
} queues SEC(".maps") = { .values = { [0] = &inner0, [1] = &inner1 } };

const volatile u64 constant = 5;
/* Upstream's RESIZABLE_ARRAY, and an array of one that is none. */
u64 sized[1] SEC(".data.sized");
u64 fixed[1] SEC(".data.other");
u64 total, result[8];
char text[64];
struct bpf_rb_root tree;
struct bpf_list_head list;

SEC("syscall") int arrays(u64 *ctx)
{
	u32 key = ctx[0];
	struct value *value = map_lookup(&array, &key);

	if (!value)
		return -1;
	value->a += 5;
	return value->a;
}

SEC("syscall") int hashes(u64 *ctx)
{
	struct value value = { .a = 3 };
	struct value *found;
	u64 key = ctx[0];

	if (map_update(&hash, &key, &value, 1 /* NOEXIST */))
		return -1;
	found = map_lookup(&hash, &key);
	if (!found)
		return -2;
	found->b = key;
	if (map_update(&hash, &key, &value, 1) != -17)
		return -3;
	return found->a + found->b;
}

SEC("syscall") int unhash(u64 *ctx)
{
	u64 key = ctx[0];

	return map_delete(&hash, &key);
}

SEC("syscall") int hold(u64 *ctx)
{
	struct value value = { .a = 1, .held = (void *)ctx[0] };
	struct value *found;
	u64 key = 5;

	map_update(&hash, &key, &value, 0);
	found = map_lookup(&hash, &key);
	if (!found || found->held)
		return -1;
	kptr_xchg(&found->held, sim_acquire((void *)ctx[0]));
	map_update(&hash, &key, &value, 0);
	return kptr_xchg(&found->held, NULL) == NULL;
}

SEC("syscall") int lrus(u64 *ctx)
{
	u32 key, value = 1;

	for (key = 0; key < 5; key++) {
		u32 zero = 0;

		map_update(&lru, &key, &value, 0);
		map_lookup(&lru, &zero);
	}
	key = 0;
	value = map_lookup(&lru, &key) != NULL;
	key = 3;
	value |= (map_lookup(&lru, &key) != NULL) << 1;
	key = 4;
	value |= (map_lookup(&lru, &key) != NULL) << 2;
	return value;
}

SEC("syscall") int storages(u64 *ctx)
{
	struct value *value = task_storage(&storage, (void *)ctx[0], NULL, 0);

	if (value)
		return value->a++;
	value = task_storage(&storage, (void *)ctx[0], NULL, 1);
	if (!value)
		return -1;
	value->a = 100;
	kptr_xchg(&value->held, sim_acquire((void *)ctx[0]));
	return 0;
}

SEC("syscall") int unstorage(u64 *ctx)
{
	return task_storage_delete(&storage, (void *)ctx[0]);
}

static int push_both(u32 value)
{
	u32 key;
	void *map;

	for (key = 0; key < 2; key++) {
		map = map_lookup(&queues, &key);
		if (!map)
			return -1;
		value += 1;
		map_push(map, &value, 0);
	}
	return 0;
}

SEC("syscall") int queues_of_queues(u64 *ctx)
{
	u32 a = 0, b = 0, value = 9;

	push_both(10);
	push_both(20);
	map_pop(&inner0, &a);
	map_peek(&inner1, &b);
	map_push(&queue, &value, 0);
	return a * 10000 + b * 100 + map_pop(&queue, &value) + value;
}

static long add(void *map, u32 *key, struct value *value, u64 *sum)
{
	*sum += *key * 100 + value->a;
	return *key == 2;
}

SEC("syscall") int each(u64 *ctx)
{
	u64 sum = 0;
	long count = for_each(&array, add, &sum, 0);

	return sum * 10 + count;
}

static long add_hash(void *map, u64 *key, struct value *value, u64 *sum)
{
	*sum += *key;
	map_delete(map, key);
	return 0;
}

SEC("syscall") int each_hash(u64 *ctx)
{
	u64 sum = 0;
	long count = for_each(&hash, add_hash, &sum, 0);

	return sum * 10 + count;
}

static long round_sum(u32 index, u64 *sum)
{
	*sum += index;
	return index == 9;
}

SEC("syscall") int rounds(u64 *ctx)
{
	u64 sum = 0;
	long count = loop(ctx[0], round_sum, &sum, 0);

	return sum * 100 + count;
}

SEC("syscall") int numbers(u64 *ctx)
{
	struct iter_num it;
	int *next, sum = 0;

	bpf_iter_num_new(&it, ctx[0], ctx[1]);
	while ((next = bpf_iter_num_next(&it)))
		sum = sum * 10 + *next;
	bpf_iter_num_destroy(&it);
	return sum;
}

SEC("syscall") int bits(u64 *ctx)
{
	u64 words[2] = { ctx[0], ctx[1] };
	struct iter_bits it;
	int *next, sum = 0;

	bpf_iter_bits_new(&it, words, ctx[2]);
	while ((next = bpf_iter_bits_next(&it)))
		sum = sum * 100 + *next;
	bpf_iter_bits_destroy(&it);
	return sum;
}

struct node { struct bpf_rb_node rb; u64 key; };
struct entry { struct bpf_list_node link; u64 key; };

static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return ((struct node *)a)->key < ((struct node *)b)->key;
}

#define local_type_id(type) __builtin_btf_type_id(*(type *)0, 0)

SEC("syscall") int trees(u64 *ctx)
{
	u64 keys[] = { 5, 2, 9, 2, 7 };
	struct bpf_rb_node *first;
	int i, sum = 0;

	for (i = 0; i < 5; i++) {
		struct node *node = bpf_obj_new_impl(local_type_id(struct node), NULL);

		if (!node)
			return -1;
		node->key = keys[i];
		bpf_rbtree_add_impl(&tree, &node->rb, less, NULL, 0);
	}
	while ((first = bpf_rbtree_first(&tree))) {
		struct node *node = (void *)bpf_rbtree_remove(&tree, first);

		sum = sum * 10 + node->key;
		bpf_obj_drop_impl(node, NULL);
	}
	return sum;
}

SEC("syscall") int lists(u64 *ctx)
{
	struct entry *a = bpf_obj_new_impl(local_type_id(struct entry), NULL);
	struct entry *b = bpf_obj_new_impl(local_type_id(struct entry), NULL);
	int sum;

	a->key = 3;
	b->key = 4;
	bpf_list_push_back_impl(&list, a, NULL, 0);
	bpf_list_push_back_impl(&list, b, NULL, 0);
	a = bpf_list_pop_front(&list);
	b = bpf_list_pop_front(&list);
	sum = a->key * 100 + b->key * 10 + (bpf_list_pop_front(&list) == NULL);
	bpf_obj_drop_impl(a, NULL);
	bpf_obj_drop_impl(b, NULL);
	return sum;
}

SEC("syscall") int rings(u64 *ctx)
{
	u64 *record = ringbuf_reserve(&ring, 16, 0);
	u64 one = 1;

	if (!record)
		return -1;
	record[0] = ctx[0];
	record[1] = 2;
	ringbuf_submit(record, 0);
	return ringbuf_output(&ring, &one, 8, 0);
}

static int on_timer(void *map, u32 *key, struct with_timer *value)
{
	value->fired += 10 + *key;
	total = value->fired;
	if (value->fired < 30)
		timer_start(&value->timer, 1000, 0);
	return 0;
}

SEC("syscall") int arm(u64 *ctx)
{
	u32 key = 1;
	struct with_timer *value = map_lookup(&timers, &key);

	if (!value || timer_start(&value->timer, 5, 0) != -22)
		return -1;
	if (timer_init(&value->timer, &timers, 1) || timer_init(&value->timer, &timers, 1) != -16)
		return -2;
	timer_set_callback(&value->timer, on_timer);
	return timer_start(&value->timer, 500, ctx[0]);
}

SEC("syscall") int disarm(u64 *ctx)
{
	u32 key = 1;
	struct with_timer *value = map_lookup(&timers, &key);

	return value ? timer_cancel(&value->timer) : -1;
}

SEC("syscall") int arm_in_hash(u64 *ctx)
{
	struct with_timer zero = {}, *value;
	u32 key = 7;

	map_update(&hash_timers, &key, &zero, 0);
	value = map_lookup(&hash_timers, &key);
	if (!value)
		return -1;
	timer_init(&value->timer, &hash_timers, 1);
	timer_set_callback(&value->timer, on_timer);
	timer_start(&value->timer, 500, 0);
	if (ctx[0])
		map_delete(&hash_timers, &key);
	return 0;
}

SEC("syscall") int texts(u64 *ctx)
{
	static const char format[] = "%s %d\n";

	comm(text, 16);
	printk(format, sizeof(format), text, (int)pid_tgid());
	probe_read_str(text + 16, 8, "0123456789");
	return probe_read(text + 32, 8, (void *)0xF0000000);
}

SEC("syscall") int clocks(u64 *ctx)
{
	result[0] = ktime_ns();
	result[1] = this_cpu();
	result[2] = (u64)current_task();
	result[3] = random32();
	return 0;
}

SEC("syscall") int per_cpu(u64 *ctx)
{
	u64 *mine = per_cpu_ptr(&runqueues, ctx[0]);

	if (!mine)
		return -1;
	return (u64)mine - (u64)&runqueues + (&no_such_variable != NULL);
}

SEC("syscall") int again(u64 *ctx)
{
	u64 local[4] = { ctx[0], ctx[0] + 1, 0, 0 };

	if (ctx[0] < 5)
		local[2] = sim_reenter(ctx[0] + 1);
	total += local[0];
	return local[0] * 10 + local[1] + local[2];
}

static __noinline u64 spread(u64 value)
{
	volatile u64 local[8];
	int i;

	for (i = 0; i < 8; i++)
		local[i] = value + i;
	return local[7] + local[0];
}

u64 __noinline shared(u64 value) { return spread(value) * 2; }

SEC("syscall") int subprograms(u64 *ctx)
{
	volatile u64 guard = 77;
	u64 sum;

	bpf_rcu_read_lock();
	sum = shared(ctx[0]) + spread(1);
	bpf_rcu_read_unlock();
	return guard == 77 ? sum : -1;
}

SEC("syscall") int atomics(u64 *ctx)
{
	u64 old = __sync_fetch_and_add(&total, 5);
	u64 exchanged = __sync_lock_test_and_set(&result[5], 8);
	u64 compared = __sync_val_compare_and_swap(&result[5], 8, 9);
	u32 *word = (u32 *)&result[6];

	__sync_fetch_and_or(word, 0x30);
	__sync_fetch_and_xor(word, 0x11);
	__sync_fetch_and_and(word, 0x2F);
	return old * 1000 + exchanged * 100 + compared * 10 + *word + result[5];
}

/* What must fail. */

SEC("syscall") int wild(u64 *ctx) { return *(volatile u32 *)ctx[0]; }

SEC("syscall") int overrun(u64 *ctx)
{
	u32 key = 0;
	u64 *value = map_lookup(&array, &key);

	return value ? value[ctx[0]] : -1;
}

SEC("syscall") int endless(u64 *ctx)
{
	while (*(volatile u64 *)&total != 12345)
		;
	return 0;
}

SEC("syscall") int write_constant(u64 *ctx)
{
	u64 *place = (u64 *)&constant;

	asm volatile("" : "+r"(place));
	*place = ctx[0];
	return 0;
}

static long forever(u32 index, void *ctx) { return 0; }

SEC("syscall") int endless_callback(u64 *ctx) { return loop(1 << 22, forever, NULL, 0); }

SEC("syscall") int refused(u64 *ctx) { return sim_refuse(ctx[0]); }

SEC("syscall") int bad_callback(u64 *ctx) { return loop(3, (void *)ctx[0], NULL, 0); }

SEC("syscall") int bad_map(u64 *ctx) { u32 key = 0; return map_delete((void *)ctx[0], &key); }

SEC("syscall") int deep(u64 *ctx) { volatile u64 local[60]; local[0] = ctx[0]; return sim_reenter(ctx[0]) + local[0]; }

SEC("syscall") int arrays_of_one(u64 *ctx)
{
	u64 *element = (ctx[0] ? sized : fixed) + ctx[1];

	asm volatile("" : "+r"(element));
	*element += 7;
	return *element;
}

struct {
	__uint(type, HASH_OF_MAPS);
	__uint(max_entries, 4);
	__type(key, u32);
	__array(values, struct inner);
} queues_by_key SEC(".maps") = { .values = { [0] = &inner0, [1] = &inner1 } };

/* What is pushed through a map of maps comes out of the map itself. */
SEC("syscall") int hash_of_maps(u64 *ctx)
{
	u32 key = ctx[0], value = 7;
	void *found = map_lookup(&queues_by_key, &key);
	if (!found)
		return -1;
	if (map_push(found, &value, 0))
		return -2;
	value = 0;
	map_pop(key ? (void *)&inner1 : (void *)&inner0, &value);
	return value;
}

SEC("syscall") int push_flags(u64 *ctx)
{
	u32 value = 1;
	return map_push(&queue, &value, ctx[0]);
}

void bpf_throw(u64 cookie) __ksym;
static __attribute__((noinline)) int throws_deep(u64 value)
{
	if (value > 3)
		bpf_throw(value);
	total++;
	return 0;
}
/* The rest of the program does not run. */
SEC("syscall") int throws(u64 *ctx)
{
	throws_deep(ctx[0]);
	total += 10;
	return 1;
}
