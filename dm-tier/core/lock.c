// SPDX-License-Identifier: GPL-2.0
/* Stripes and holds: see lock.h */
#include <linux/bits.h>
#include <linux/lockdep.h>
#include "lock.h"

#define R BIT(TIER_HOLD_READ)
#define W BIT(TIER_HOLD_WRITE)
#define O BIT(TIER_HOLD_ONLY)
#define C BIT(TIER_HOLD_COPY)
#define X BIT(TIER_HOLD_EXCL)

/* modes that a hold of each mode cannot stand beside */
static const u8 conflicts[] = {
	[TIER_HOLD_READ] = X,
	[TIER_HOLD_WRITE] = O | X,
	[TIER_HOLD_ONLY] = W | O | C | X,
	[TIER_HOLD_COPY] = O | C | X,
	[TIER_HOLD_EXCL] = R | W | O | C | X,
};

#undef R
#undef W
#undef O
#undef C
#undef X

void tier_stripe_init(struct tier_stripe *s)
{
	spin_lock_init(&s->lock);
	INIT_LIST_HEAD(&s->holds);
	INIT_LIST_HEAD(&s->waiters);
}

static bool overlap(const struct tier_hold *a, const struct tier_hold *b)
{
	return a->block == b->block && (a->mask & b->mask);
}

static bool stands_against(const struct tier_hold *other, const struct tier_hold *h)
{
	return overlap(other, h) && (conflicts[h->mode] & BIT(other->mode));
}

/* a WRITE poisons the COPYs it meets, a COPY leaves out what WRITEs have in flight */
static void grant_hold(struct tier_stripe *s, struct tier_hold *h)
{
	struct tier_hold *other;

	if (h->mode == TIER_HOLD_WRITE || h->mode == TIER_HOLD_COPY)
		list_for_each_entry(other, &s->holds, list) {
			if (!overlap(other, h))
				continue;
			if (h->mode == TIER_HOLD_WRITE && other->mode == TIER_HOLD_COPY)
				other->poison |= h->mask;
			if (h->mode == TIER_HOLD_COPY && other->mode == TIER_HOLD_WRITE)
				h->poison |= other->mask;
		}
	h->state = TIER_HOLD_GRANTED;
	list_add_tail(&h->list, &s->holds);
}

bool __tier_hold_try(struct tier_stripe *s, struct tier_hold *h)
{
	struct tier_hold *other;

	lockdep_assert_held(&s->lock);
	list_for_each_entry(other, &s->holds, list)
		if (stands_against(other, h))
			return false;
	list_for_each_entry(other, &s->waiters, list)
		if (stands_against(other, h))
			return false;
	grant_hold(s, h);
	return true;
}

void __tier_hold_wait(struct tier_stripe *s, struct tier_hold *h, void (*granted)(struct tier_hold *h))
{
	lockdep_assert_held(&s->lock);
	h->granted = granted;
	h->state = TIER_HOLD_WAITING;
	list_add_tail(&h->list, &s->waiters);
}

/* may this waiter go now: nothing granted and no earlier waiter stands against it */
static bool may_go(struct tier_stripe *s, const struct tier_hold *h)
{
	const struct tier_hold *other;

	list_for_each_entry(other, &s->holds, list)
		if (stands_against(other, h))
			return false;
	list_for_each_entry(other, &s->waiters, list) {
		if (other == h)
			break;
		if (stands_against(other, h))
			return false;
	}
	return true;
}

void __tier_hold_release(struct tier_stripe *s, struct tier_hold *h)
{
	struct tier_hold *w, *tmp;

	lockdep_assert_held(&s->lock);
	list_del(&h->list);
	h->state = TIER_HOLD_NONE;
	list_for_each_entry_safe(w, tmp, &s->waiters, list) {
		if (w->block != h->block || !may_go(s, w))
			continue;
		list_del(&w->list);
		grant_hold(s, w);
		w->granted(w);
	}
}

bool __tier_block_busy(struct tier_stripe *s, tier_block_t block)
{
	const struct tier_hold *h;

	lockdep_assert_held(&s->lock);
	list_for_each_entry(h, &s->holds, list)
		if (h->block == block)
			return true;
	list_for_each_entry(h, &s->waiters, list)
		if (h->block == block)
			return true;
	return false;
}

bool __tier_hold_on_slot(struct tier_stripe *s, tier_block_t block, tier_slot_t slot)
{
	const struct tier_hold *h;

	lockdep_assert_held(&s->lock);
	list_for_each_entry(h, &s->holds, list)
		if (h->block == block && h->slot == slot)
			return true;
	return false;
}
