/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bridge to a scheduler that is part of the simulating program: every operation hands its arguments on, as words, and
 * gives back what comes. The simulator leaves out those that the scheduler does not have.
 */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* The simulator knows which operation it is calling. */
u64 schedlab_native(u64 a, u64 b, u64 c) __ksym;

#define NATIVE_0(name)							\
	SEC("struct_ops/native_" #name)					\
	u64 native_##name(u64 *args) { return schedlab_native(0, 0, 0); }
#define NATIVE_1(name)							\
	SEC("struct_ops/native_" #name)					\
	u64 native_##name(u64 *args) { return schedlab_native(args[0], 0, 0); }
#define NATIVE_2(name)							\
	SEC("struct_ops/native_" #name)					\
	u64 native_##name(u64 *args) { return schedlab_native(args[0], args[1], 0); }
#define NATIVE_3(name)							\
	SEC("struct_ops/native_" #name)					\
	u64 native_##name(u64 *args) { return schedlab_native(args[0], args[1], args[2]); }

NATIVE_3(select_cpu)
NATIVE_2(enqueue)
NATIVE_2(dequeue)
NATIVE_2(dispatch)
NATIVE_1(tick)
NATIVE_2(runnable)
NATIVE_1(running)
NATIVE_2(stopping)
NATIVE_2(quiescent)
NATIVE_2(yield)
NATIVE_2(set_weight)
NATIVE_2(set_cpumask)
NATIVE_2(update_idle)
NATIVE_2(cpu_acquire)
NATIVE_2(cpu_release)
NATIVE_2(init_task)
NATIVE_2(exit_task)
NATIVE_1(enable)
NATIVE_1(disable)
NATIVE_0(init)
NATIVE_1(exit)

SCX_OPS_DEFINE(native_ops,
	       .select_cpu = (void *)native_select_cpu,
	       .enqueue = (void *)native_enqueue,
	       .dequeue = (void *)native_dequeue,
	       .dispatch = (void *)native_dispatch,
	       .tick = (void *)native_tick,
	       .runnable = (void *)native_runnable,
	       .running = (void *)native_running,
	       .stopping = (void *)native_stopping,
	       .quiescent = (void *)native_quiescent,
	       .yield = (void *)native_yield,
	       .set_weight = (void *)native_set_weight,
	       .set_cpumask = (void *)native_set_cpumask,
	       .update_idle = (void *)native_update_idle,
	       .cpu_acquire = (void *)native_cpu_acquire,
	       .cpu_release = (void *)native_cpu_release,
	       .init_task = (void *)native_init_task,
	       .exit_task = (void *)native_exit_task,
	       .enable = (void *)native_enable,
	       .disable = (void *)native_disable,
	       .init = (void *)native_init,
	       .exit = (void *)native_exit,
	       .name = "native");
