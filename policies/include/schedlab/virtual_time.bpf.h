/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual time of Linux' fair schedulers, and how their times grow with the number of CPUs.
 *
 * A task of weight w that runs for d ns ages by d * 1024 / w of virtual time.
 *
 * Divisions are multiplications with rounded inverses, so results are a few nanoseconds low, the same ones as in Linux.
 */
#ifndef SCHEDLAB_VIRTUAL_TIME_BPF_H
#define SCHEDLAB_VIRTUAL_TIME_BPF_H

#include <schedlab/weights.bpf.h>

PARAMETER(u32, scaling, 0,
	  "choices=log,none,linear about=The factor by which times grow with the number of CPUs: 1 + log2 of that "
	  "number, at most 4; 1; or that number, at most 8.");
enum { SCALING_LOG, SCALING_NONE, SCALING_LINEAR };

/* The factor by which times grow with the number of CPUs. */
static inline u32 scaling_factor(u32 cpus)
{
	u32 few = cpus < 8 ? cpus : 8;

	if (scaling == SCALING_NONE)
		return 1;
	if (scaling == SCALING_LINEAR)
		return few;
	return few >= 8 ? 4 : few >= 4 ? 3 : few >= 2 ? 2 : 1;
}

/* 2^32 / a sum of weights. */
static inline u32 inverse_of_sum(u64 weight)
{
	return weight > 0xffffffff ? 1 : weight ? 0xffffffff / weight : 0xffffffff;
}

/* Halves @factor @bits times if it is still too long for 32 bits by more than that. */
#define SHORTEN(factor, shift, bits)             \
	do {                                     \
		if ((factor) >> (32 + (bits))) { \
			(factor) >>= (bits);     \
			(shift) -= (bits);       \
		}                                \
	} while (0)

/* @time * @weight * @inverse / 2^32. The factor is cut to 32 bits, and the product needs 96. */
static __always_inline u64 weighted(u64 time, u64 weight, u64 inverse)
{
	u64 factor = weight * inverse;
	u32 shift = 32;

	if (factor >> 32) {
		SHORTEN(factor, shift, 16);
		SHORTEN(factor, shift, 8);
		SHORTEN(factor, shift, 4);
		SHORTEN(factor, shift, 2);
		SHORTEN(factor, shift, 1);
		if (factor >> 32) {
			factor >>= 1;
			shift--;
		}
	}
	return ((time >> 32) * factor << (32 - shift)) + ((time & 0xffffffff) * factor >> shift);
}

__noinline u64 weighted_time(u64 time, u64 weight, u64 inverse)
{
	return weighted(time, weight, inverse);
}

/* How much a task ages in @time. */
static inline u64 virtual_time(u64 time, u32 weight, u32 inverse)
{
	return weight == NICE_0_WEIGHT ? time : weighted_time(time, NICE_0_WEIGHT, inverse);
}

#endif /* SCHEDLAB_VIRTUAL_TIME_BPF_H */
