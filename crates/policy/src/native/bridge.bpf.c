/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bridge to a scheduler that is part of the simulating program: every operation hands its arguments on, as words, and
 * gives back what comes. The simulator leaves out those that the scheduler does not have.
 */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* The simulator knows which operation it is calling. */
u64 schedlab_native(u64 a, u64 b, u64 c) __ksym;

#define ATOMIC "struct_ops"
#define SLEEPABLE "struct_ops.s"

#define NATIVE_0(section, name)							\
	SEC(section "/native_" #name)					\
	u64 native_##name(u64 *args) { return schedlab_native(0, 0, 0); }
#define NATIVE_1(section, name)							\
	SEC(section "/native_" #name)					\
	u64 native_##name(u64 *args) { return schedlab_native(args[0], 0, 0); }
#define NATIVE_2(section, name)							\
	SEC(section "/native_" #name)					\
	u64 native_##name(u64 *args) { return schedlab_native(args[0], args[1], 0); }
#define NATIVE_3(section, name)							\
	SEC(section "/native_" #name)					\
	u64 native_##name(u64 *args) { return schedlab_native(args[0], args[1], args[2]); }

NATIVE_3(ATOMIC, select_cpu)
NATIVE_2(ATOMIC, enqueue)
NATIVE_2(ATOMIC, dequeue)
NATIVE_2(ATOMIC, dispatch)
NATIVE_1(ATOMIC, tick)
NATIVE_2(ATOMIC, runnable)
NATIVE_1(ATOMIC, running)
NATIVE_2(ATOMIC, stopping)
NATIVE_2(ATOMIC, quiescent)
NATIVE_2(ATOMIC, yield)
NATIVE_2(ATOMIC, set_weight)
NATIVE_2(ATOMIC, set_cpumask)
NATIVE_2(ATOMIC, update_idle)
NATIVE_2(ATOMIC, cpu_acquire)
NATIVE_2(ATOMIC, cpu_release)
NATIVE_1(ATOMIC, cpu_online)
NATIVE_1(ATOMIC, cpu_offline)
NATIVE_2(SLEEPABLE, init_task)
NATIVE_2(ATOMIC, exit_task)
NATIVE_1(ATOMIC, enable)
NATIVE_1(ATOMIC, disable)
NATIVE_0(SLEEPABLE, init)
NATIVE_1(SLEEPABLE, exit)

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
	       .cpu_online = (void *)native_cpu_online,
	       .cpu_offline = (void *)native_cpu_offline,
	       .init_task = (void *)native_init_task,
	       .exit_task = (void *)native_exit_task,
	       .enable = (void *)native_enable,
	       .disable = (void *)native_disable,
	       .init = (void *)native_init,
	       .exit = (void *)native_exit,
	       .name = "native");
