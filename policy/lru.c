// SPDX-License-Identifier: GPL-2.0
/*
 * lru - evict the block that was not used for the longest time.
 *
 * The classic rule, as a yardstick and for workloads that fit it: every miss is admitted, the
 * victim is the least recently used slot.  It has no defence against scans; put seqbypass before
 * it.
 *
 * Hits do not move list nodes: they go to a small ring per CPU, drained into the list before the
 * list is next looked at.  So the order is exact, but for what a full ring drops when the list is
 * busy.
 *
 * Slots that the core skips (dirty, busy) go to the parked list, in order, and come back to the
 * cold end with the next tick, or at once if nothing else is left.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include "tier-policy.h"
#include "slot-list.h"

#define RING_SIZE	62	/* makes a ring 256 bytes */
#define STAMP_SHIFT	7	/* unit of stamps: 128 ms */

/* Buckets by age for sorting what load_hint() brings: 8 to each power of two. */
#define AGE_BITS	3
#define NR_AGES		((32 - AGE_BITS + 1) << AGE_BITS)
#define AGE_MAX		(1U << 31)	/* 8 years; ages are differences of wrapping stamps */

enum {
	LIST_LRU = 1,		/* coldest first */
	LIST_PARKED,		/* skipped by the core, coldest first */
	LIST_LOADED,		/* youngest age, NR_AGES lists */
	NR_LISTS = LIST_LOADED + NR_AGES - 1,
};

/* Only its CPU's hits and the drainer come here. */
struct hit_ring {
	spinlock_t lock;	/* guards the ring */
	u32 nr;
	u32 slot[RING_SIZE];
};

/*
 * Lock order: lock, then a ring's lock.  A hit, which has its ring's lock first, only tries lock.
 */
struct lru {
	struct tier_policy policy;
	struct hit_ring __percpu *rings;
	u32 nr_slots;
	u32 stamp;		/* now, in units of 128 ms; without a lock */

	spinlock_t lock;	/* guards all below */
	struct slot_lists lists;
	u32 *stamps;		/* when a slot was last moved */
	bool loading;		/* there may be slots on the LIST_LOADED lists */
};

static struct lru *to_lru(struct tier_policy *p)
{
	return container_of(p, struct lru, policy);
}

static u64 lru_memory(const struct tier_policy_params *params)
{
	return sizeof(struct lru) + (u64)num_possible_cpus() * sizeof(struct hit_ring) +
		slot_lists_memory(NR_LISTS, params->nr_slots) + (u64)params->nr_slots * sizeof(u32);
}

static void lru_destroy(struct tier_policy *p)
{
	struct lru *lru = to_lru(p);

	kvfree(lru->stamps);
	slot_lists_exit(&lru->lists);
	free_percpu(lru->rings);
	kfree(lru);
}

static struct tier_policy *lru_create(const struct tier_policy_params *params,
				      struct tier_policy *next)
{
	struct lru *lru = kzalloc(sizeof(*lru), GFP_KERNEL);
	unsigned int cpu;
	int r;

	if (!lru)
		return ERR_PTR(-ENOMEM);

	spin_lock_init(&lru->lock);
	lru->nr_slots = params->nr_slots;
	lru->stamp = params->now >> STAMP_SHIFT;
	lru->rings = alloc_percpu(struct hit_ring);
	lru->stamps = kvcalloc(params->nr_slots, sizeof(*lru->stamps), GFP_KERNEL);
	r = slot_lists_init(&lru->lists, NR_LISTS, params->nr_slots);
	if (r || !lru->rings || !lru->stamps) {
		lru_destroy(&lru->policy);
		return ERR_PTR(r ? r : -ENOMEM);
	}
	for_each_possible_cpu(cpu)
		spin_lock_init(&per_cpu_ptr(lru->rings, cpu)->lock);
	return &lru->policy;
}

/* Time goes on, but not back, also where processors do not agree.  Rings are drained before it does. */
static bool is_later(struct lru *lru, u64 now)
{
	return (s32)((u32)(now >> STAMP_SHIFT) - READ_ONCE(lru->stamp)) > 0;
}

static void note_time(struct lru *lru, u64 now)
{
	if (is_later(lru, now))
		WRITE_ONCE(lru->stamp, now >> STAMP_SHIFT);
}

/* What load_hint() sorted by age goes below what was used since. */
static void __settle(struct lru *lru)
{
	u32 i;

	lockdep_assert_held(&lru->lock);

	if (likely(!lru->loading))
		return;
	for (i = 0; i < NR_AGES; i++)
		slot_list_splice_front(&lru->lists, LIST_LOADED + i, LIST_LRU);
	lru->loading = false;
}

static void __touch(struct lru *lru, u32 slot)
{
	u32 node = slot_node(&lru->lists, tier_to_slot(slot));

	lockdep_assert_held(&lru->lock);

	/* A hit may be late: its slot may be taken or empty by now. */
	if (!node_linked(&lru->lists, node))
		return;
	slot_list_move_to_end(&lru->lists, LIST_LRU, node);
	lru->stamps[slot] = READ_ONCE(lru->stamp);
}

static void __drain_ring(struct lru *lru, struct hit_ring *ring)
{
	u32 i;

	lockdep_assert_held(&lru->lock);
	lockdep_assert_held(&ring->lock);

	for (i = 0; i < ring->nr; i++)
		__touch(lru, ring->slot[i]);
	WRITE_ONCE(ring->nr, 0);
}

/* Brings the list up to date: to be called before anything that depends on its order. */
static void __drain(struct lru *lru)
{
	struct hit_ring *ring;
	unsigned int cpu;

	lockdep_assert_held(&lru->lock);

	__settle(lru);
	for_each_possible_cpu(cpu) {
		ring = per_cpu_ptr(lru->rings, cpu);
		/* Racy: a hit that comes at this moment may as well have come after. */
		if (!READ_ONCE(ring->nr))
			continue;
		spin_lock(&ring->lock);
		__drain_ring(lru, ring);
		spin_unlock(&ring->lock);
	}
}

static void lru_hit(struct tier_policy *p, tier_slot_t slot, const struct tier_access *access)
{
	struct lru *lru = to_lru(p);
	struct hit_ring *ring = raw_cpu_ptr(lru->rings);
	u32 s = tier_from_slot(slot);

	/* Fails if this CPU's ring is being drained, or after a move to another CPU. */
	if (!spin_trylock(&ring->lock))
		return;

	/* What is in it was used before now. */
	if ((ring->nr == RING_SIZE || is_later(lru, access->now)) && spin_trylock(&lru->lock)) {
		__settle(lru);
		__drain_ring(lru, ring);
		spin_unlock(&lru->lock);
	}
	note_time(lru, access->now);
	if (ring->nr < RING_SIZE && (!ring->nr || ring->slot[ring->nr - 1] != s)) {
		ring->slot[ring->nr] = s;
		WRITE_ONCE(ring->nr, ring->nr + 1);	/* pairs with __drain() */
	}
	spin_unlock(&ring->lock);
}

static enum tier_admit lru_miss(struct tier_policy *p, tier_block_t block,
				const struct tier_access *access)
{
	return TIER_FILL;
}

static void lru_inserted(struct tier_policy *p, tier_block_t block, tier_slot_t slot,
			 const struct tier_access *access)
{
	struct lru *lru = to_lru(p);
	u32 node = slot_node(&lru->lists, slot);

	spin_lock(&lru->lock);
	__drain(lru);
	if (access)
		note_time(lru, access->now);
	if (!node_linked(&lru->lists, node)) {
		slot_list_append(&lru->lists, LIST_LRU, node);
		lru->stamps[tier_from_slot(slot)] = READ_ONCE(lru->stamp);
	}
	spin_unlock(&lru->lock);
}

static void lru_removed(struct tier_policy *p, tier_block_t block, tier_slot_t slot,
			enum tier_removal why)
{
	struct lru *lru = to_lru(p);
	u32 node = slot_node(&lru->lists, slot);

	spin_lock(&lru->lock);
	if (node_linked(&lru->lists, node))
		node_unlink(&lru->lists, node);
	spin_unlock(&lru->lock);
}

static void lru_aborted(struct tier_policy *p, tier_block_t block)
{
}

static bool lru_victim(struct tier_policy *p, tier_victim_fn take, void *context, u32 budget,
		       tier_slot_t *slot)
{
	struct lru *lru = to_lru(p);
	enum tier_verdict verdict = TIER_VICTIM_SKIP;
	bool unparked = false;
	u32 node;

	spin_lock(&lru->lock);
	__drain(lru);
	while (budget && verdict == TIER_VICTIM_SKIP) {
		node = slot_list_first(&lru->lists, LIST_LRU);
		if (node == SLOT_LIST_NONE) {
			if (unparked)
				break;
			slot_list_splice_front(&lru->lists, LIST_PARKED, LIST_LRU);
			unparked = true;
			continue;
		}
		budget--;
		*slot = node_slot(&lru->lists, node);
		verdict = take(context, *slot);
		if (verdict == TIER_VICTIM_TAKE)
			node_unlink(&lru->lists, node);
		else if (verdict == TIER_VICTIM_SKIP)
			slot_list_move_to_end(&lru->lists, LIST_PARKED, node);
	}
	spin_unlock(&lru->lock);
	return verdict == TIER_VICTIM_TAKE;
}

static void lru_victim_kept(struct tier_policy *p, tier_block_t block, tier_slot_t slot)
{
	lru_inserted(p, block, slot, NULL);
}

static void lru_tick(struct tier_policy *p, u64 now)
{
	struct lru *lru = to_lru(p);

	spin_lock(&lru->lock);
	__drain(lru);
	note_time(lru, now);
	slot_list_splice_front(&lru->lists, LIST_PARKED, LIST_LRU);
	spin_unlock(&lru->lock);
}

/* The hint is the slot's age in units of 128 ms, plus 1. */
static u32 lru_save_hint(struct tier_policy *p, tier_slot_t slot)
{
	struct lru *lru = to_lru(p);
	u32 hint = 0;

	spin_lock(&lru->lock);
	__drain(lru);
	if (node_linked(&lru->lists, slot_node(&lru->lists, slot)))
		hint = min(READ_ONCE(lru->stamp) - lru->stamps[tier_from_slot(slot)], AGE_MAX) + 1;
	spin_unlock(&lru->lock);
	return hint;
}

/* Ages below 8 have a list each, then 8 lists share a power of two. */
static u32 age_list(u32 age)
{
	u32 exponent;

	if (age < 1U << AGE_BITS)
		return age;
	exponent = ilog2(age) - AGE_BITS;
	return (exponent << AGE_BITS) + (age >> exponent);
}

static void lru_load_hint(struct tier_policy *p, tier_block_t block, tier_slot_t slot, u32 hint)
{
	struct lru *lru = to_lru(p);
	u32 node = slot_node(&lru->lists, slot);
	u32 age = hint ? min(hint - 1, AGE_MAX) : AGE_MAX;

	spin_lock(&lru->lock);
	if (!node_linked(&lru->lists, node)) {
		slot_list_append(&lru->lists, LIST_LOADED + age_list(age), node);
		lru->stamps[tier_from_slot(slot)] = READ_ONCE(lru->stamp) - age;
		lru->loading = true;
	}
	spin_unlock(&lru->lock);
}

static int lru_set(struct tier_policy *p, const char *key, const char *value)
{
	return -ENOENT;
}

static int lru_emit(struct tier_policy *p, char *buf, size_t size, unsigned int *count)
{
	if (size)
		buf[0] = '\0';
	*count = 0;
	return 0;
}

static struct tier_policy_type lru_type = {
	.name = "lru",
	.version = {1, 0, 0},
	.owner = THIS_MODULE,
	.memory = lru_memory,
	.create = lru_create,
	.destroy = lru_destroy,
	.hit = lru_hit,
	.miss = lru_miss,
	.inserted = lru_inserted,
	.removed = lru_removed,
	.aborted = lru_aborted,
	.victim = lru_victim,
	.victim_kept = lru_victim_kept,
	.tick = lru_tick,
	.save_hint = lru_save_hint,
	.load_hint = lru_load_hint,
	.set = lru_set,
	.emit = lru_emit,
	.tunables_help = "",
};

static int __init lru_module_init(void)
{
	return tier_policy_register(&lru_type);
}

static void __exit lru_module_exit(void)
{
	tier_policy_unregister(&lru_type);
}

module_init(lru_module_init);
module_exit(lru_module_exit);

MODULE_DESCRIPTION("dm-tier policy: least recently used");
MODULE_AUTHOR("dm-tier developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.0.0");
MODULE_ALIAS("dm-tier-policy-lru");
