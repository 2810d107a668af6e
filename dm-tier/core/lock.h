/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stripes and holds.
 *
 * A stripe's spinlock guards all that the mapping knows of the blocks that hash to it, and the holds on
 * them.  A hold says that I/O on some granules of a block is in flight:
 *
 *	mode	taken by					waits for
 *	READ	reads						EXCL
 *	WRITE	writes that go to one place			ONLY, EXCL
 *	ONLY	writes that go to two places, or past a copy	WRITE, ONLY, COPY, EXCL
 *	COPY	write back					ONLY, COPY, EXCL; skips what a WRITE has in flight
 *	EXCL	fill, promotion					everything
 *
 * A WRITE does not wait for a COPY: it poisons the granules in it, which then stay dirty.  So foreground
 * writes never wait for write back.  A hold that has to wait queues; later holds queue behind it.
 */
#ifndef TIER_CORE_LOCK_H
#define TIER_CORE_LOCK_H

#include <linux/cache.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include "tier-types.h"

enum tier_hold_mode {
	TIER_HOLD_READ,
	TIER_HOLD_WRITE,
	TIER_HOLD_ONLY,
	TIER_HOLD_COPY,
	TIER_HOLD_EXCL,
};

enum tier_hold_state {
	TIER_HOLD_NONE,
	TIER_HOLD_WAITING,
	TIER_HOLD_GRANTED,
};

/**
 * struct tier_hold - granules of a block in use
 * @list: among the stripe's holds or waiters
 * @block: block
 * @mask: granules
 * @poison: COPY: granules that a WRITE has touched since
 * @granted: who waits is told by this, with the stripe locked; must not sleep
 * @slot: slot that is read, set by the owner of a READ in tiered mode
 * @mode: enum tier_hold_mode
 * @state: enum tier_hold_state
 */
struct tier_hold {
	struct list_head list;
	void (*granted)(struct tier_hold *h);
	tier_block_t block;
	u64 mask;
	u64 poison;
	tier_slot_t slot;
	u8 mode;
	u8 state;
};

/**
 * struct tier_stripe - lock of the blocks that hash to it
 * @lock: guards the stripe's part of the mapping, @holds and @waiters; taken with interrupts off
 * @holds: granted
 * @waiters: in order of arrival
 */
struct tier_stripe {
	spinlock_t lock;	/* see above */
	struct list_head holds;
	struct list_head waiters;
} ____cacheline_aligned_in_smp;

void tier_stripe_init(struct tier_stripe *s);

/* fill in a hold, not yet taken */
static inline void tier_hold_init(struct tier_hold *h, tier_block_t block, u64 mask, enum tier_hold_mode mode)
{
	h->block = block;
	h->mask = mask;
	h->poison = 0;
	h->slot = TIER_NO_SLOT;
	h->mode = mode;
	h->state = TIER_HOLD_NONE;
}

/**
 * __tier_hold_try() - take a hold if nothing stands against it
 * @s: stripe of the block, locked
 * @h: initialised
 * Return: true if it was taken.
 */
bool __tier_hold_try(struct tier_stripe *s, struct tier_hold *h);

/* queue a hold that could not be taken; __tier_hold_release() of another one will grant it and tell @granted */
void __tier_hold_wait(struct tier_stripe *s, struct tier_hold *h, void (*granted)(struct tier_hold *h));

/**
 * __tier_hold_release() - give up a granted hold, and grant what waited for it
 * @s: stripe, locked
 * @h: granted
 */
void __tier_hold_release(struct tier_stripe *s, struct tier_hold *h);

/* does anything in flight, or waiting, touch this block? */
bool __tier_block_busy(struct tier_stripe *s, tier_block_t block);

/* does a granted hold on this block say that it reads this slot? */
bool __tier_hold_on_slot(struct tier_stripe *s, tier_block_t block, tier_slot_t slot);

#endif /* TIER_CORE_LOCK_H */
