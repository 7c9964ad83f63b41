/* SPDX-License-Identifier: GPL-2.0-only */
/* A scheduler in miniature: operations, parameters, statistics, kernel functions old and new. */
#include "mini.bpf.h"

struct sched_ext_entity { u64 slice; u32 weight; } __core;
struct task_struct { s32 pid; struct sched_ext_entity scx; struct task_struct *parent; } __core;
enum sim_flags { SIM_BIG_LOCAL };

struct ops {
	s32 (*select)(struct task_struct *p, s32 prev);
	void (*enqueue)(struct task_struct *p, u64 flags);
	void (*unused)(void);
	s32 (*init)(void);
	u64 flags;
	u32 timeout_ms;
	char name[16];
};

extern void sim_insert(struct task_struct *p, u64 queue, u64 slice, u64 flags) __ksym __weak;
extern s32 sim_insert___v1(struct task_struct *p, u64 queue) __ksym __weak;
extern s32 sim_insert___gone(struct task_struct *p) __ksym __weak;
extern s32 sim_create(u64 queue, s32 node) __ksym;
extern int CONFIG_HZ __kconfig;
extern int LINUX_KERNEL_VERSION __kconfig;
extern int CONFIG_NOTHING __kconfig __weak;

const volatile u64 __SIM_BIG __weak;
const volatile u64 slice_ns __about("time slice") __about("unit: ns") = 5000000;
const volatile bool fifo = 0;
const volatile s32 bias = -7;
const volatile char mode[8] = "fair";
const volatile u32 table[3] = { 1, 2, 3 };
u64 enqueued, from_select = 11;
static u64 hidden;

struct {
	__uint(type, PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} stats SEC(".maps");

static void count(u32 which)
{
	u64 *value = map_lookup(&stats, &which);

	if (value)
		(*value)++;
}

SEC("struct_ops/sim_select")
s32 sim_select(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	count(0);
	from_select += p->scx.weight;
	return (s32)ctx[1] + bias;
}

SEC("struct_ops/sim_enqueue")
int sim_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	count(1);
	enqueued++;
	hidden += p->pid;
	p->scx.slice = slice_ns;
	if (sim_insert___gone)
		sim_insert___gone(p);
	if (fifo)
		sim_insert___v1(p, hidden);
	else
		sim_insert(p, __SIM_BIG, slice_ns, ctx[1]);
	return 0;
}

SEC("struct_ops.s/sim_init")
s32 sim_init(u64 *ctx)
{
	return sim_create(LINUX_KERNEL_VERSION, CONFIG_HZ + CONFIG_NOTHING);
}

SEC("fentry/somewhere")
int tracer(u64 *ctx)
{
	void (*nowhere)(void) = (void *)200;

	nowhere();
	return 0;
}

SEC(".struct_ops.link")
struct ops sim_ops = {
	.select = (void *)sim_select,
	.enqueue = (void *)sim_enqueue,
	.init = (void *)sim_init,
	.flags = 0x12,
	.timeout_ms = 5000,
	.name = "miniature",
};
