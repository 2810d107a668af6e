/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Singly linked queues of slots, 4 bytes a slot, for policies that keep slots in order and take them off at the
 * front.
 *
 * A slot is on one queue at most.  Queues have numbers, 1 to the number given at creation; queues and slots are
 * nodes of one array.  The link of a queue is its first slot, that of its last slot is the queue: so a node that is
 * not 0 is on a queue.  What is behind a known node can be taken off, too.  All functions are for the holder of the
 * policy's own lock, and take constant time.
 */
#ifndef TIER_SLOT_QUEUE_H
#define TIER_SLOT_QUEUE_H

#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/types.h>
#include "tier-types.h"

#define SLOT_QUEUE_NONE	0U	/* no node */

/**
 * struct slot_queues - a set of queues over the same slots
 * @link: node 0 is none, then the queues, then their last nodes (not links), then the slots
 * @nr_queues: how many
 */
struct slot_queues {
	u32 *link;
	u32 nr_queues;
};

/* Memory that slot_queues_init() will allocate, in bytes. */
static inline u64 slot_queues_memory(u32 nr_queues, u32 nr_slots)
{
	return (1ULL + 2 * nr_queues + nr_slots) * sizeof(u32);
}

static inline int slot_queues_init(struct slot_queues *q, u32 nr_queues, u32 nr_slots)
{
	u32 i, base = 1 + 2 * nr_queues;

	if (nr_slots > U32_MAX - base)
		return -ERANGE;
	q->nr_queues = nr_queues;
	q->link = kvcalloc((size_t)base + nr_slots, sizeof(*q->link), GFP_KERNEL);
	if (!q->link)
		return -ENOMEM;
	for (i = 1; i <= nr_queues; i++) {
		q->link[i] = i;
		q->link[nr_queues + i] = i;
	}
	return 0;
}

static inline void slot_queues_exit(struct slot_queues *q)
{
	kvfree(q->link);
	q->link = NULL;
}

static inline u32 slot_node(const struct slot_queues *q, tier_slot_t slot)
{
	return tier_from_slot(slot) + 1 + 2 * q->nr_queues;
}

static inline tier_slot_t node_slot(const struct slot_queues *q, u32 node)
{
	return tier_to_slot(node - 1 - 2 * q->nr_queues);
}

static inline bool node_is_queue(const struct slot_queues *q, u32 node)
{
	return node <= q->nr_queues;
}

/* Is the node on a queue? */
static inline bool node_queued(const struct slot_queues *q, u32 node)
{
	return q->link[node] != SLOT_QUEUE_NONE;
}

static inline bool slot_queue_empty(const struct slot_queues *q, u32 queue)
{
	return q->link[queue] == queue;
}

static inline u32 slot_queue_first(const struct slot_queues *q, u32 queue)
{
	return slot_queue_empty(q, queue) ? SLOT_QUEUE_NONE : q->link[queue];
}

/* Takes off the node behind @prev, which is a slot or a queue; there is one. */
static inline void slot_queue_take_next(struct slot_queues *q, u32 prev)
{
	u32 node = q->link[prev];
	u32 next = q->link[node];

	q->link[prev] = next;
	q->link[node] = SLOT_QUEUE_NONE;
	if (node_is_queue(q, next))
		q->link[q->nr_queues + next] = prev;
}

/* Puts a node that is on no queue at the end of @queue. */
static inline void slot_queue_append(struct slot_queues *q, u32 queue, u32 node)
{
	u32 *last = &q->link[q->nr_queues + queue];

	q->link[node] = queue;
	q->link[*last] = node;
	*last = node;
}

/* Puts all of @from, in its order, before the first node of @to. */
static inline void slot_queue_splice_front(struct slot_queues *q, u32 from, u32 to)
{
	u32 *from_last = &q->link[q->nr_queues + from], *to_last = &q->link[q->nr_queues + to];

	if (slot_queue_empty(q, from))
		return;
	if (slot_queue_empty(q, to))
		*to_last = *from_last;
	q->link[*from_last] = q->link[to];
	q->link[to] = q->link[from];
	q->link[from] = from;
	*from_last = from;
}

#endif /* TIER_SLOT_QUEUE_H */
