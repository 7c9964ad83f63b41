/* SPDX-License-Identifier: GPL-2.0-only */
/* loaded - gives up unless it finds what its loader or the kernel is to fill in. For tests. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

const volatile u32 nr_cpu_ids = 1;
u64 RESIZABLE_ARRAY(data, of_cpu);

extern unsigned long CONFIG_NR_CPUS __kconfig;
extern struct cpufreq_policy *cpufreq_cpu_data __ksym;

s32 BPF_STRUCT_OPS_SLEEPABLE(loaded_init)
{
	struct cpufreq_policy **driver;
	s32 cpu;

	if (CONFIG_NR_CPUS < scx_bpf_nr_cpu_ids())
		scx_bpf_error("the kernel is built for %lu CPUs", CONFIG_NR_CPUS);
	bpf_for(cpu, 0, nr_cpu_ids) {
		u64 *mine = ARRAY_ELEM_PTR(of_cpu, cpu, nr_cpu_ids);

		if (mine)
			*mine += cpu;
		driver = bpf_per_cpu_ptr(&cpufreq_cpu_data, cpu);
		if (!driver || *driver)
			scx_bpf_error("something drives the frequency of cpu %d", cpu);
	}
	return nr_cpu_ids == scx_bpf_nr_cpu_ids() ? 0 : -EINVAL;
}

SCX_OPS_DEFINE(loaded_ops, .init = (void *)loaded_init, .name = "loaded");
