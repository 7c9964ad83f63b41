/* SPDX-License-Identifier: GPL-2.0-only */
/* Questions about kernel types: what is there, where, and what is not. */
#include "mini.bpf.h"

/* Layouts that are not the kernel's: everything must come from relocations. */
struct other { u64 x; } __core;
struct sched_ext_entity { u32 padding[9]; u32 weight; u64 slice; } __core;
struct task_struct {
	u64 much[20];
	u32 array[3];
	u32 migration : 2;
	u32 small;
	s32 pid;
	struct task_struct *parent;
	struct sched_ext_entity scx;
	char comm[16];
	u64 not_there;
} __core;
struct task_struct___new { u64 added; struct { s32 pid; }; } __core;
struct missing_struct { u64 x; } __core;
enum sim_flags { SIM_SMALL = 77, SIM_BIG = 78, SIM_NONE = 79 };
enum sim_flags___other { SIM_BIG___other = 1 };
typedef struct other no_such_typedef;
/* Parts of the kernel's types, and what differs from them in one thing. */
struct task_struct___part { s32 pid; char comm[16]; struct task_struct *parent; struct { u32 array[3]; }; } __core;
struct task_struct___long { s64 pid; } __core;
struct task_struct___sign { u32 pid; } __core;
struct task_struct___short { char comm[8]; } __core;
struct task_struct___held { struct other parent[1]; } __core;
struct task_struct___more { s32 pid; u64 not_there; } __core;
union task_struct___union { s32 pid; } __core;
enum sim_flags___part { SIM_BIG___part = 5 };

#define field_exists(f) __builtin_preserve_field_info(f, 2)
#define field_size(f) __builtin_preserve_field_info(f, 1)
#define field_offset(f) __builtin_preserve_field_info(f, 0)
#define field_signed(f) __builtin_preserve_field_info(f, 3)
#define field_left(f) __builtin_preserve_field_info(f, 4)
#define field_right(f) __builtin_preserve_field_info(f, 5)
#define type_exists(t) __builtin_preserve_type_info(*(t *)0, 0)
#define type_matches(t) __builtin_preserve_type_info(*(t *)0, 2)
#define type_size(t) __builtin_preserve_type_info(*(t *)0, 1)
#define enum_exists(t, v) __builtin_preserve_enum_value(*(t *)v, 0)
#define enum_value(t, v) __builtin_preserve_enum_value(*(t *)v, 1)

SEC("syscall") u64 matches(u64 *ctx)
{
	u64 bits = type_matches(struct task_struct___part);

	bits |= type_matches(struct task_struct___long) << 1;
	bits |= type_matches(struct task_struct___sign) << 2;
	bits |= type_matches(struct task_struct___short) << 3;
	bits |= type_matches(struct task_struct___held) << 4;
	bits |= type_matches(struct task_struct___more) << 5;
	bits |= type_matches(union task_struct___union) << 6;
	bits |= type_matches(enum sim_flags___part) << 7;
	bits |= type_matches(enum sim_flags) << 8;
	bits |= type_matches(struct missing_struct) << 9;
	return bits;
}

SEC("syscall") u64 pid(u64 *ctx) { struct task_struct *p = (void *)ctx[0]; return p->pid; }
SEC("syscall") u64 weight(u64 *ctx) { struct task_struct *p = (void *)ctx[0]; return p->scx.weight; }
SEC("syscall") u64 element(u64 *ctx) { struct task_struct *p = (void *)ctx[0]; return p->array[2]; }
SEC("syscall") u64 resized(u64 *ctx) { struct task_struct *p = (void *)ctx[0]; return p->small; }
SEC("syscall") u64 flavoured(u64 *ctx) { struct task_struct___new *p = (void *)ctx[0]; return p->pid; }
SEC("syscall") u64 chain(u64 *ctx) { struct task_struct *p = (void *)ctx[0]; return p->parent->parent->pid; }

SEC("syscall") u64 computed(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	char *comm = p->comm;

	asm volatile("" : "+r"(comm));
	return comm[ctx[1]];
}

SEC("syscall") u64 bit_field(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 value = *(u32 *)((char *)p + field_offset(p->migration));

	value <<= field_left(p->migration);
	return value >> field_right(p->migration);
}

SEC("syscall") u64 guarded(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct task_struct___new *n = (void *)p;
	u64 result = 7;

	if (field_exists(p->not_there))
		result += p->not_there;
	if (field_exists(n->added))
		result += n->added;
	return result;
}

SEC("syscall") u64 unguarded(u64 *ctx) { struct task_struct *p = (void *)ctx[0]; return p->not_there; }

SEC("syscall") u64 questions(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 bits = 0;

	bits |= field_exists(p->pid) << 0;
	bits |= field_exists(p->not_there) << 1;
	bits |= field_signed(p->pid) << 2;
	bits |= field_signed(p->small) << 3;
	bits |= type_exists(struct task_struct) << 4;
	bits |= type_exists(struct missing_struct) << 5;
	bits |= type_exists(no_such_typedef) << 6;
	bits |= enum_exists(enum sim_flags, SIM_SMALL) << 7;
	bits |= enum_exists(enum sim_flags, SIM_NONE) << 8;
	bits |= (u64)field_size(p->comm) << 16;
	bits |= (u64)field_size(p->small) << 24;
	bits |= (u64)type_size(struct task_struct) << 32;
	bits |= (u64)type_size(struct missing_struct) << 48;
	return bits;
}

SEC("syscall") u64 enumerators(u64 *ctx)
{
	return enum_value(enum sim_flags, SIM_BIG) + enum_value(enum sim_flags, SIM_SMALL) +
	       enum_value(enum sim_flags___other, SIM_BIG___other);
}
