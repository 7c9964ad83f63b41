/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that the program manages itself. */
#include "mini.bpf.h"

extern void __arena *bpf_arena_alloc_pages(void *map, void __arena *at, u32 count, int node, u64 flags) __ksym;
extern void bpf_arena_free_pages(void *map, void __arena *at, u32 count) __ksym;

struct { __uint(type, ARENA); __uint(map_flags, 1 << 10); __uint(max_entries, 8); } arena SEC(".maps");

struct node { struct node __arena *next; u64 value; };

struct node __arena *head;
u64 __arena counter = 5;

SEC("syscall") u64 fill(u64 *ctx)
{
	struct node __arena *page = bpf_arena_alloc_pages(&arena, NULL, 1, -1, 0);
	int i;

	if (!page)
		return -1;
	for (i = 0; i < 10; i++) {
		page[i].value = ctx[0] + i;
		page[i].next = head;
		head = &page[i];
	}
	counter += 10;
	return (u64)page;
}

SEC("syscall") u64 sum(u64 *ctx)
{
	struct node __arena *node;
	u64 sum = 0;

	for (node = head; node; node = node->next)
		sum += node->value;
	return sum * 100 + counter;
}

SEC("syscall") u64 give_back(u64 *ctx)
{
	bpf_arena_free_pages(&arena, (void __arena *)ctx[0], 1);
	return *(volatile u64 __arena *)ctx[0];
}
