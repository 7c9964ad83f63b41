/* SPDX-License-Identifier: GPL-2.0-only */
/* The few declarations that the test programs need, written for them. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
#ifndef __cplusplus
typedef _Bool bool;
#endif

#define SEC(name) __attribute__((section(name), used))
#define __ksym __attribute__((section(".ksyms")))
#define __kconfig __attribute__((section(".kconfig")))
#define __weak __attribute__((weak))
#define __hidden __attribute__((visibility("hidden")))
#define __noinline __attribute__((noinline))
#define __always_inline inline __attribute__((always_inline))
#define __kptr __attribute__((btf_type_tag("kptr")))
#define __about(text) __attribute__((btf_decl_tag(text)))
#define __core __attribute__((preserve_access_index))
#define __arena __attribute__((address_space(1)))
#define NULL ((void *)0)

#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]

enum { HASH = 1, ARRAY = 2, PERCPU_HASH = 5, PERCPU_ARRAY = 6, LRU_HASH = 9, ARRAY_OF_MAPS = 12, HASH_OF_MAPS = 13, QUEUE = 22, STACK = 23,
       RINGBUF = 27, TASK_STORAGE = 29, ARENA = 33 };

static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static long (*map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*map_delete)(void *map, const void *key) = (void *)3;
static u64 (*ktime_ns)(void) = (void *)5;
static long (*printk)(const char *fmt, u32 size, ...) = (void *)6;
static u32 (*random32)(void) = (void *)7;
static u32 (*this_cpu)(void) = (void *)8;
static u64 (*pid_tgid)(void) = (void *)14;
static long (*comm)(void *buf, u32 size) = (void *)16;
static long (*map_push)(void *map, const void *value, u64 flags) = (void *)87;
static long (*map_pop)(void *map, void *value) = (void *)88;
static long (*map_peek)(void *map, void *value) = (void *)89;
static long (*probe_read)(void *dst, u32 size, const void *src) = (void *)113;
static long (*probe_read_str)(void *dst, u32 size, const void *src) = (void *)115;
static long (*ringbuf_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static void *(*ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*ringbuf_submit)(void *data, u64 flags) = (void *)132;
static void *(*per_cpu_ptr)(const void *ptr, u32 cpu) = (void *)153;
static void *(*task_storage)(void *map, void *task, void *value, u64 flags) = (void *)156;
static long (*task_storage_delete)(void *map, void *task) = (void *)157;
static void *(*current_task)(void) = (void *)158;
static long (*for_each)(void *map, void *callback, void *ctx, u64 flags) = (void *)164;
static long (*timer_init)(void *timer, void *map, u64 flags) = (void *)169;
static long (*timer_set_callback)(void *timer, void *callback) = (void *)170;
static long (*timer_start)(void *timer, u64 ns, u64 flags) = (void *)171;
static long (*timer_cancel)(void *timer) = (void *)172;
static long (*loop)(u32 rounds, void *callback, void *ctx, u64 flags) = (void *)181;
static void *(*kptr_xchg)(void *place, void *object) = (void *)194;
static void *(*map_lookup_percpu)(void *map, const void *key, u32 cpu) = (void *)195;

struct bpf_timer { u64 opaque[2]; };

char _license[] SEC("license") = "GPL";
