/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Doubly linked lists of slots, 8 bytes a slot, shared by the policies that keep slots in order.
 *
 * A slot is on one list at most.  Lists have numbers, 1 to the number given at creation; list heads
 * and slots are nodes of one array, so that taking a slot off does not need to know its list.  A
 * zeroed node is on no list.  All functions are for the holder of the policy's own lock, and take
 * constant time.
 */
#ifndef TIER_SLOT_LIST_H
#define TIER_SLOT_LIST_H

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/types.h>
#include <linux/vmalloc.h>
#include "tier-types.h"

#define SLOT_LIST_NONE	0U	/* no node */

struct slot_link {
	u32 prev;
	u32 next;
};

/**
 * struct slot_lists - a set of lists over the same slots
 * @link: node 0 is none, then the list heads, then the slots
 * @base: node of slot 0
 */
struct slot_lists {
	struct slot_link *link;
	u32 base;
};

/* Memory that slot_lists_init() will allocate, in bytes. */
static inline u64 slot_lists_memory(u32 nr_lists, u32 nr_slots)
{
	return (1ULL + nr_lists + nr_slots) * sizeof(struct slot_link);
}

static inline int slot_lists_init(struct slot_lists *l, u32 nr_lists, u32 nr_slots)
{
	u32 i;

	l->base = 1 + nr_lists;
	if (nr_slots > U32_MAX - l->base)
		return -ERANGE;
	l->link = kvcalloc((size_t)l->base + nr_slots, sizeof(*l->link), GFP_KERNEL);
	if (!l->link)
		return -ENOMEM;
	for (i = 1; i <= nr_lists; i++) {
		l->link[i].prev = i;
		l->link[i].next = i;
	}
	return 0;
}

static inline void slot_lists_exit(struct slot_lists *l)
{
	kvfree(l->link);
	l->link = NULL;
}

static inline u32 slot_node(const struct slot_lists *l, tier_slot_t slot)
{
	return tier_from_slot(slot) + l->base;
}

static inline tier_slot_t node_slot(const struct slot_lists *l, u32 node)
{
	return tier_to_slot(node - l->base);
}

/* Is the node on a list? */
static inline bool node_linked(const struct slot_lists *l, u32 node)
{
	return l->link[node].next != SLOT_LIST_NONE;
}

static inline bool slot_list_empty(const struct slot_lists *l, u32 list)
{
	return l->link[list].next == list;
}

static inline u32 slot_list_first(const struct slot_lists *l, u32 list)
{
	return slot_list_empty(l, list) ? SLOT_LIST_NONE : l->link[list].next;
}

static inline void node_unlink(struct slot_lists *l, u32 node)
{
	struct slot_link *n = &l->link[node];

	l->link[n->prev].next = n->next;
	l->link[n->next].prev = n->prev;
	n->prev = SLOT_LIST_NONE;
	n->next = SLOT_LIST_NONE;
}

/* Puts a node that is on no list at the end of @list. */
static inline void slot_list_append(struct slot_lists *l, u32 list, u32 node)
{
	u32 last = l->link[list].prev;

	l->link[node].prev = last;
	l->link[node].next = list;
	l->link[last].next = node;
	l->link[list].prev = node;
}

static inline void slot_list_move_to_end(struct slot_lists *l, u32 list, u32 node)
{
	node_unlink(l, node);
	slot_list_append(l, list, node);
}

/* Puts all of @from, in its order, before the first node of @to. */
static inline void slot_list_splice_front(struct slot_lists *l, u32 from, u32 to)
{
	u32 first = l->link[from].next;
	u32 last = l->link[from].prev;
	u32 next = l->link[to].next;

	if (slot_list_empty(l, from))
		return;

	l->link[to].next = first;
	l->link[first].prev = to;
	l->link[last].next = next;
	l->link[next].prev = last;
	l->link[from].next = from;
	l->link[from].prev = from;
}

#endif /* TIER_SLOT_LIST_H */
