/* SPDX-License-Identifier: GPL-2.0-only */
/* What has a limit, and a host function that panics. */
#include "mini.bpf.h"

struct task_struct { s32 pid; } __core;

extern s32 sim_panic(u64 value) __ksym;
extern void *sim_acquire(void *task) __ksym;

#ifdef MANY
/* 65,536 pointers in a value, as 2^16 of an array or of arrays in arrays. */
struct value { struct task_struct __kptr *held[256][256]; };
struct { __uint(type, ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, struct value); } array SEC(".maps");
#endif

#ifdef NESTED
/* Few types, and ten million members. */
struct t0 { u64 word; };
#define TEN(of) struct of a, b, c, d, e, f, g, h, i, j
struct t1 { TEN(t0); };
struct t2 { TEN(t1); };
struct t3 { TEN(t2); };
struct t4 { TEN(t3); };
struct t5 { TEN(t4); };
struct t6 { TEN(t5); };
struct t7 { TEN(t6); };
struct { __uint(type, ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, struct t7); } array SEC(".maps");
#endif

#ifdef HUGE
struct huge { u64 words[1 << 20]; };
struct { __uint(type, ARRAY); __uint(max_entries, 200); __type(key, u32); __type(value, struct huge); } array SEC(".maps");
#endif

struct { __uint(type, RINGBUF); __uint(max_entries, 1 << 20); } ring SEC(".maps");
struct { __uint(type, HASH); __uint(max_entries, 300000); __type(key, u32); __type(value, u64[512]); } hash SEC(".maps");

struct kept { u64 word; struct task_struct __kptr *held; };
struct { __uint(type, PERCPU_HASH); __uint(max_entries, 2); __type(key, u32); __type(value, struct kept); } per_cpu SEC(".maps");

u64 zeros[1 << 14];
u64 out;

SEC("syscall") int panics(u64 *ctx) { return sim_panic(ctx[0]); }

SEC("syscall") int outputs(u64 *ctx)
{
	while (!ringbuf_output(&ring, zeros, sizeof(zeros), 0))
		;
	return 0;
}

SEC("syscall") int fills(u64 *ctx)
{
	u32 key;

	for (key = 0; key < 300000; key++)
		map_update(&hash, &key, zeros, 0);
	return 0;
}

/* Puts a task into the value of each CPU, and deletes the element. Whether each place was empty. */
SEC("syscall") int keeps_on_each_cpu(u64 *ctx)
{
	struct kept value = {};
	u32 key = 1, cpu;

	map_update(&per_cpu, &key, &value, 0);
	for (cpu = 0; cpu < ctx[1]; cpu++) {
		struct kept *found = map_lookup_percpu(&per_cpu, &key, cpu);

		if (!found || kptr_xchg(&found->held, sim_acquire((void *)ctx[0])))
			return 0;
	}
	map_delete(&per_cpu, &key);
	return 1;
}

SEC("syscall") int leaks_in_a_loop(u64 *ctx)
{
	while (sim_acquire((void *)ctx[0]))
		;
	return 0;
}

#define STEP(n, next) static __noinline u64 step##n(u64 value) { return next(value + n) + 1; }

static __noinline u64 last(u64 value) { return value + out; }
STEP(8, last) STEP(7, step8) STEP(6, step7) STEP(5, step6) STEP(4, step5) STEP(3, step4)
#ifdef DEEP
STEP(2, step3)
SEC("syscall") int nine(u64 *ctx) { return step2(ctx[0]); }
#endif
SEC("syscall") int eight(u64 *ctx) { return step3(ctx[0]); }
