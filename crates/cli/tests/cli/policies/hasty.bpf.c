/* SPDX-License-Identifier: GPL-2.0-only */
/* hasty - sets a timer that is due at once, whenever it was due, so that no time ever goes by. For tests. */
#include <schedlab/common.bpf.h>

char _license[] SEC("license") = "GPL";

struct clock {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct clock);
} clocks SEC(".maps");

static int again(void *map, int *key, struct clock *clock)
{
	bpf_timer_start(&clock->timer, 0, 0);
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(hasty_init)
{
	u32 key = 0;
	struct clock *clock = bpf_map_lookup_elem(&clocks, &key);
	int error = clock ? bpf_timer_init(&clock->timer, &clocks, CLOCK_MONOTONIC) : -ENOENT;

	if (clock && !error) {
		error = bpf_timer_set_callback(&clock->timer, again);
		error = error ?: bpf_timer_start(&clock->timer, 1000000, 0);
	}
	return error;
}

SCX_OPS_DEFINE(hasty_ops, .init = (void *)hasty_init, .name = "hasty");
