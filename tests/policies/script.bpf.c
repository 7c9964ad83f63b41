/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * script - does what bytes say: calls kernel functions and helpers with arguments that are drawn from everything a
 * policy has at hand, and uses their results as arguments of later ones. For tests with generated scripts.
 */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

void bpf_preempt_disable(void) __ksym;
void bpf_preempt_enable(void) __ksym;
void bpf_local_irq_save(unsigned long *flags) __ksym;
void bpf_local_irq_restore(unsigned long *flags) __ksym;

#define STEPS 96
/* Steps in each operation. */
#define AT_ONCE 6

struct step { u8 what, a, b, c, d, e, f, to; };
const volatile struct step script[STEPS];

struct holder { struct bpf_cpumask __kptr *mask; struct task_struct __kptr *task; u64 plain[4]; };
struct with_timer { struct bpf_timer timer; u64 fired; };
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 4); __type(key, u32); __type(value, struct holder); } holders SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 4); __type(key, u32); __type(value, struct holder); } hash SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_LRU_HASH); __uint(max_entries, 3); __type(key, u64); __type(value, u64); } recent SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 4); __type(key, u32); __type(value, struct with_timer); } timers SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_TASK_STORAGE); __uint(map_flags, BPF_F_NO_PREALLOC); __type(key, int); __type(value, struct holder); } storage SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_QUEUE); __uint(max_entries, 3); __type(value, u64); } queue SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); } ring SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARENA); __uint(map_flags, BPF_F_MMAPABLE); __uint(max_entries, 16); } pages SEC(".maps");

struct item { struct bpf_rb_node node; struct bpf_list_node link; u64 key; };
private(A) struct bpf_spin_lock lock;
private(A) struct bpf_rb_root tree __contains(item, node);
private(A) struct bpf_list_head list __contains(item, link);

static u64 values[16];
static u8 bytes[256];
static u64 digest;
static u32 cursor;

#define HIDE(x) ({ u64 __x = (u64)(x); asm volatile("" : "+r"(__x)); __x; })
#define CALL0(f) (((u64 (*)(void))f)())
#define CALL1(f) (((u64 (*)(u64))f)(a))
#define CALL2(f) (((u64 (*)(u64, u64))f)(a, b))
#define CALL3(f) (((u64 (*)(u64, u64, u64))f)(a, b, c))
#define CALL4(f) (((u64 (*)(u64, u64, u64, u64))f)(a, b, c, d))
#define CALL5(f) (((u64 (*)(u64, u64, u64, u64, u64))f)(a, b, c, d, e))

static int play(struct task_struct *p, u32 count);

static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return container_of(a, struct item, node)->key < container_of(b, struct item, node)->key;
}

static long visit(u32 index, u64 *sum)
{
	*sum = *sum * 31 + index;
	return *sum % 61 == 0;
}

static long visit_element(void *map, u32 *key, u64 *value, u64 *sum)
{
	*sum = *sum * 31 + *key;
	return 0;
}

static int expired(void *map, u32 *key, struct with_timer *value)
{
	value->fired++;
	digest = digest * 31 + *key;
	return 0;
}

/* An argument: a result, something that is there, or a number. */
static __noinline u64 argument(u8 code, struct task_struct *p, u64 *frame)
{
	u32 key = code & 3;

	if (code < 16)
		return values[code & 15];
	switch (code) {
	case 16 ... 23: return (u64)p;
	case 24 ... 27: return (u64)p->cpus_ptr;
	case 28 ... 35: return (u64)(frame + (code & 7) * 2);
	case 36 ... 39: return (u64)bpf_map_lookup_elem(&holders, &key);
	case 40 ... 43: return (u64)bpf_map_lookup_elem(&timers, &key);
	case 44: return (u64)&tree;
	case 45: return (u64)&list;
	case 46: return (u64)&holders;
	case 47: return (u64)&hash;
	case 48: return (u64)&timers;
	case 49: return (u64)&storage;
	case 50: return (u64)&queue;
	case 51: return (u64)&ring;
	case 52: return (u64)&pages;
	case 53: return (u64)&recent;
	case 54: return (u64)less;
	case 55: return (u64)visit;
	case 56: return (u64)expired;
	case 57: return SCX_DSQ_LOCAL;
	case 58: return SCX_DSQ_GLOBAL;
	case 59: return SCX_DSQ_LOCAL_ON | 1;
	case 60: return 7;
	case 61: return -1;
	case 62: return 1ULL << 31;
	case 63: return 1ULL << 40;
	case 64 ... 127: return (u64)bytes + (code & 63);
	case 128 ... 143: return 1ULL << (code & 15);
	default: return code - 144;
	}
}

/* One call with any arguments. */
static __noinline u64 raw_scx(struct task_struct *p, u8 what, u64 *args)
{
	u64 a = args[0], b = args[1], c = args[2], d = args[3], e = args[4];

	switch (what % 40) {
	case 0: return CALL1(bpf_cpumask_release);
	case 1: return CALL1(bpf_cpumask_acquire);
	case 2: return CALL1(bpf_cpumask_first);
	case 3: return CALL1(bpf_cpumask_first_zero);
	case 4: return CALL2(bpf_cpumask_set_cpu);
	case 5: return CALL2(bpf_cpumask_clear_cpu);
	case 6: return CALL2(bpf_cpumask_test_cpu);
	case 7: return CALL2(bpf_cpumask_test_and_set_cpu);
	case 8: return CALL1(bpf_cpumask_setall);
	case 9: return CALL1(bpf_cpumask_clear);
	case 10: return CALL3(bpf_cpumask_and);
	case 11: return CALL3(bpf_cpumask_or);
	case 12: return CALL3(bpf_cpumask_xor);
	case 13: return CALL2(bpf_cpumask_copy);
	case 14: return CALL2(bpf_cpumask_equal);
	case 15: return CALL2(bpf_cpumask_subset);
	case 16: return CALL1(bpf_cpumask_weight);
	case 17: return CALL2(bpf_cpumask_any_and_distribute);
	case 18: return CALL3(bpf_cpumask_populate);
	case 19: return CALL2(scx_bpf_kick_cpu);
	case 20: return CALL1(scx_bpf_task_running);
	/* Machine code reads the field without a look at the pointer. */
	case 21: return scx_bpf_task_cpu(p);
	case 22: return CALL1(scx_bpf_dsq_nr_queued);
	case 23: return CALL2(scx_bpf_create_dsq);
	case 24: return CALL1(scx_bpf_destroy_dsq);
	case 25: return CALL2(scx_bpf_pick_idle_cpu);
	case 26: return CALL2(scx_bpf_pick_any_cpu);
	case 27: return CALL1(scx_bpf_test_and_clear_cpu_idle);
	case 28: return CALL4(scx_bpf_select_cpu_dfl);
	case 29: return CALL5(scx_bpf_select_cpu_and);
	case 30: return CALL1(bpf_task_release);
	case 31: return CALL1(bpf_task_from_pid);
	case 32: return CALL1(scx_bpf_put_cpumask);
	case 33: return CALL1(bpf_cgroup_release);
	case 34: return CALL3(bpf_iter_scx_dsq_new);
	case 35: return CALL1(bpf_iter_scx_dsq_next);
	case 36: return CALL1(bpf_iter_scx_dsq_destroy);
	case 37: return CALL2(scx_bpf_events);
	case 38: return CALL1(scx_bpf_cpu_curr);
	default: return CALL1(scx_bpf_dsq_peek);
	}
}

static __noinline u64 raw_bpf(u8 what, u64 *args)
{
	u64 a = args[0], b = args[1], c = args[2], d = args[3], e = args[4];

	switch (what % 48) {
	case 0: return CALL2(bpf_map_lookup_elem);
	case 1: return CALL4(bpf_map_update_elem);
	case 2: return CALL2(bpf_map_delete_elem);
	case 3: return CALL3(bpf_map_push_elem);
	case 4: return CALL2(bpf_map_pop_elem);
	case 5: return CALL3(bpf_probe_read_kernel);
	case 6: return CALL3(bpf_probe_read_kernel_str);
	case 7: return CALL4(bpf_ringbuf_output);
	case 8: return CALL3(bpf_ringbuf_reserve);
	case 9: return CALL2(bpf_ringbuf_submit);
	case 10: return CALL2(bpf_ringbuf_discard);
	case 11: return CALL4(bpf_task_storage_get);
	case 12: return CALL2(bpf_task_storage_delete);
	case 13: return CALL4(bpf_for_each_map_elem);
	case 14: return CALL5(bpf_snprintf);
	case 15: return CALL3(bpf_timer_init);
	case 16: return CALL2(bpf_timer_set_callback);
	case 17: return CALL3(bpf_timer_start);
	case 18: return CALL1(bpf_timer_cancel);
	case 19: return CALL4(bpf_loop);
	case 20: return CALL3(bpf_strncmp);
	case 21: return CALL2(bpf_kptr_xchg);
	case 22: return CALL4(bpf_dynptr_from_mem);
	case 23: return CALL5(bpf_dynptr_read);
	case 24: return CALL5(bpf_dynptr_write);
	case 25: return CALL3(bpf_dynptr_data);
	case 26: return CALL2(bpf_get_current_comm);
	case 27: return CALL3(bpf_iter_bits_new);
	case 28: return CALL1(bpf_iter_bits_next);
	case 29: return CALL1(bpf_iter_bits_destroy);
	case 30: return CALL2(bpf_obj_drop_impl);
	case 31: return CALL5(bpf_rbtree_add_impl);
	case 32: return CALL2(bpf_rbtree_remove);
	case 33: return CALL4(bpf_list_push_back_impl);
	case 34: return CALL1(bpf_list_pop_front);
	case 36: return CALL0(bpf_rcu_read_lock);
	case 37: return CALL0(bpf_rcu_read_unlock);
	case 38: return CALL0(bpf_preempt_disable);
	case 39: return CALL0(bpf_preempt_enable);
	case 40: return CALL1(bpf_local_irq_save);
	case 41: return CALL1(bpf_local_irq_restore);
	case 42: return CALL1(bpf_spin_lock);
	case 43: return CALL1(bpf_spin_unlock);
	case 44 ... 45: bpf_spin_lock(&lock); return 0;
	case 46 ... 47: bpf_spin_unlock(&lock); return 0;
	default: return CALL2(bpf_per_cpu_ptr);
	}
}

/* Masks that are made, changed, and released or kept. */
static __noinline u64 with_mask(struct task_struct *p, u8 how, u64 x, u64 y)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();
	struct holder *holder;
	u32 key = x & 3;
	u64 result;

	if (!mask)
		return 0;
	bpf_cpumask_copy(mask, p->cpus_ptr);
	bpf_cpumask_clear_cpu(x & 63, mask);
	bpf_cpumask_set_cpu(y & 3, mask);
	result = bpf_cpumask_weight(cast_mask(mask)) * 64 + bpf_cpumask_any_distribute(cast_mask(mask));
	if (how & 1) {
		holder = bpf_map_lookup_elem(&holders, &key);
		if (how & 2)
			holder = bpf_task_storage_get(&storage, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (holder)
			mask = bpf_kptr_xchg(&holder->mask, mask);
	}
	if (mask)
		bpf_cpumask_release(mask);
	return result;
}

static __noinline u64 with_iterators(u8 how, u64 x, u64 y)
{
	struct bpf_iter_bits bits;
	struct task_struct *p;
	u64 words[2] = { x, y }, result = 0;
	int *bit;

	if (how & 1) {
		bpf_iter_bits_new(&bits, words, how & 3);
		while ((bit = bpf_iter_bits_next(&bits)))
			result = result * 31 + *bit;
		bpf_iter_bits_destroy(&bits);
		return result;
	}
	bpf_for_each(scx_dsq, p, 7, how & 2 ? SCX_DSQ_ITER_REV : 0) {
		result = result * 31 + p->pid;
		if (result % 5 == x % 5)
			break;
	}
	return result;
}

/* Sections and locks, most of them left as they are entered. */
static __noinline u64 with_sections(u8 how, u64 *frame)
{
	if (how & 1)
		bpf_rcu_read_lock();
	if (how & 2)
		bpf_preempt_disable();
	if (how & 4)
		bpf_local_irq_save((unsigned long *)frame);
	if (how & 8) {
		bpf_spin_lock(&lock);
		bpf_spin_unlock(&lock);
	}
	if (how & 4)
		bpf_local_irq_restore((unsigned long *)frame);
	if (how & 2)
		bpf_preempt_enable();
	if (how & 1 || how == 240)
		bpf_rcu_read_unlock();
	return how;
}

static __noinline u64 with_objects(u8 how, u64 key)
{
	struct bpf_rb_node *node;
	struct bpf_list_node *link;
	struct item *item;
	u64 result = 0;

	item = bpf_obj_new(struct item);
	if (!item)
		return 0;
	item->key = key;
	if (how & 1)
		bpf_rbtree_add(&tree, &item->node, less);
	else
		bpf_list_push_back(&list, &item->link);
	if (how & 2) {
		node = bpf_rbtree_first(&tree);
		node = node ? bpf_rbtree_remove(&tree, node) : NULL;
		if (node) {
			item = container_of(node, struct item, node);
			result = item->key;
			bpf_obj_drop(item);
		}
	}
	if (how & 4) {
		link = bpf_list_pop_front(&list);
		if (link) {
			item = container_of(link, struct item, link);
			result = result * 31 + item->key;
			bpf_obj_drop(item);
		}
	}
	return result;
}

static __noinline u64 with_memory(u8 how, u64 x, u64 *frame)
{
	struct bpf_dynptr dynptr;
	u64 *record, result = 0, sum = x;
	u32 key = x & 7;

	switch (how % 6) {
	case 0:
		record = bpf_ringbuf_reserve(&ring, 16, 0);
		if (!record)
			return 1;
		record[0] = x;
		if (x & 1)
			bpf_ringbuf_submit(record, 0);
		else
			bpf_ringbuf_discard(record, 0);
		return 2;
	case 1:
		bpf_dynptr_from_mem(bytes, x & 127, 0, &dynptr);
		result = bpf_dynptr_write(&dynptr, x & 31, frame, 16, 0);
		return result * 31 + bpf_dynptr_read(frame, 24, &dynptr, x & 15, 0);
	case 2:
		bpf_loop(x & 31, visit, &sum, 0);
		return sum;
	case 3:
		bpf_for_each_map_elem(&hash, visit_element, &sum, 0);
		return sum;
	case 4:
		result = bpf_map_update_elem(&hash, &key, frame, x >> 8 & 3);
		return result * 31 + bpf_map_update_elem(&recent, frame, frame + 1, 0);
	default:
		return bpf_snprintf((char *)bytes, x & 63, "%d %5u|%llx", frame, 24);
	}
}

static __noinline u64 with_timer(u8 how, u64 x)
{
	u32 key = x & 3;
	struct with_timer *value = bpf_map_lookup_elem(&timers, &key);

	if (!value)
		return 0;
	bpf_timer_init(&value->timer, &timers, CLOCK_MONOTONIC);
	if (how & 1)
		return bpf_timer_cancel(&value->timer);
	bpf_timer_set_callback(&value->timer, expired);
	return bpf_timer_start(&value->timer, x & 0xfffff, how & 2 ? BPF_F_TIMER_ABS : 0);
}

static __noinline int do_step(struct task_struct *p, u32 index, u64 *frame)
{
	const volatile struct step *step = &script[index % STEPS];
	u64 args[5], result = 0;

	args[0] = argument(step->a, p, frame);
	args[1] = argument(step->b, p, frame);
	args[2] = argument(step->c, p, frame);
	args[3] = argument(step->d, p, frame);
	args[4] = argument(step->e, p, frame);
	switch (step->what % 16) {
	case 0 ... 2: result = with_mask(p, step->f, args[0], args[1]); break;
	case 3 ... 4: result = with_iterators(step->f, args[0], args[1]); break;
	case 5: result = with_sections(step->f, frame); break;
	case 6: result = with_objects(step->f, args[0]); break;
	case 7 ... 10: result = with_memory(step->f, args[0], frame); break;
	case 11 ... 12: result = with_timer(step->f, args[0]); break;
	case 13: result = raw_scx(p, step->f, args); break;
	case 14: result = raw_bpf(step->f, args); break;
	default:
		/* Values and places change without any call. */
		bytes[args[0] & 255] = args[1];
		frame[step->f & 15] = args[2];
		result = args[3] + args[4];
	}
	values[step->to & 15] = result;
	digest = (digest ^ result) * 0x9e3779b97f4a7c15ULL;
	return 0;
}

static int play(struct task_struct *p, u32 count)
{
	u64 frame[16] = {};

	for (u32 i = 0; i < count; i++)
		do_step(p, cursor++, frame);
	return 0;
}

void BPF_STRUCT_OPS(script_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, 7, NS_PER_MS, enq_flags);
	play(p, AT_ONCE);
}

void BPF_STRUCT_OPS(script_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(7, 0);
}

void BPF_STRUCT_OPS(script_stopping, struct task_struct *p, bool runnable)
{
	play(p, AT_ONCE);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(script_init)
{
	return scx_bpf_create_dsq(7, -1);
}

void BPF_STRUCT_OPS(script_exit, struct scx_exit_info *info)
{
	bpf_printk("digest %llx after %u steps", digest, cursor);
}

SCX_OPS_DEFINE(script_ops, .enqueue = (void *)script_enqueue, .dispatch = (void *)script_dispatch,
	       .stopping = (void *)script_stopping, .init = (void *)script_init, .exit = (void *)script_exit,
	       .name = "script");
