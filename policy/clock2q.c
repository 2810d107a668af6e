// SPDX-License-Identifier: GPL-2.0
/*
 * clock2q - a scan-resistant clock with a small first queue.
 *
 * A new block goes to a small queue (a tenth of the slots).  When it gets to that queue's end and
 * was used again meanwhile, it moves to the main queue, else it is the victim and leaves a ghost, a
 * fingerprint without slot.  A miss on a ghost goes straight to the main queue, which is a clock: a
 * block at its end that was used goes round again, with one use less to its credit.
 *
 * Uses shortly after the insertion say nothing (the same program does the same thing for a moment),
 * so they don't count for the newest part of the small queue, the correlation window.
 *
 * Sources: the two queues, the ghosts and the correlated references are 2Q's (Johnson, Shasha: 2Q,
 * a low overhead high performance buffer management replacement algorithm, VLDB 1994); a small FIFO
 * that filters for a clock with a few bits is S3-FIFO's (Yang and others: FIFO queues are all you
 * need for cache eviction, SOSP 2023); the clock is Corbato's (1968).
 *
 * Slots that the core skips (dirty, busy) go to the parked queue, in order, and come back to the
 * cold end of the main queue with the next tick, or at once if nothing else is left.
 *
 * The queues are linked one way, so a slot whose block goes without being the victim stays in its
 * queue for a while, stale.  Each such removal, and what happens to slots as long as there are
 * stale ones, takes a search for them two steps further round the queues.
 */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include "tier-policy.h"
#include "slot-queue.h"
#include "tunables.h"

/*
 * Use byte of a slot: written racily by hits, and under the lock by all others.  It is a hint in
 * every part; what must be right is in the queues and in the state.
 */
#define USE_MASK	0x03	/* uses to its credit */
#define USE_MAX		3
#define USE_YOUNG	0x04	/* in the correlation window: hits don't count */
#define USE_AGE_SHIFT	3	/* bits 3..7: when queued, in 16ths of its queue's turnover */
#define NR_AGES		32
#define AGES_PER_TURN	16

/* State of a slot, STATE_BITS bits under the lock */
enum state {
	STATE_MAIN,		/* was used again: leaves no ghost */
	STATE_ONCE,		/* left the small queue because the core skipped it */
	STATE_SMALL,		/* in the small queue */
	STATE_YOUNG,		/* the same, in the correlation window */
	STATE_GONE,		/* stale, in some queue: no block */
	STATE_TO_MAIN,		/* stale, in some queue: has another block, that belongs in the main one */
	STATE_TO_SMALL,		/* the same, in the small one */
};

#define STATE_BITS	3

enum {
	QUEUE_MAIN = 1,		/* next to be examined first, as in all */
	QUEUE_SMALL,
	QUEUE_PARKED,		/* skipped by the core */
	QUEUE_LOADED_MAIN,	/* by age, NR_AGES queues */
	QUEUE_LOADED_SMALL = QUEUE_LOADED_MAIN + NR_AGES,
	NR_QUEUES = QUEUE_LOADED_SMALL + NR_AGES - 1,
};

/* Steps of the search for stale slots with each insertion and removal, and with each tick */
#define MEND_STEPS	2
#define MEND_TICK	1024

/* Steps of the window's old end with each insertion */
#define WINDOW_STEPS	4

/*
 * Ghosts: buckets of 8 entries of a 16-bit fingerprint and a 16-bit birthday.  The oldest in the
 * bucket makes way.  A ghost has expired when as many younger ones were born as there may be
 * ghosts.  Buckets have a quarter more room than that, so that few die early.
 */
#define GHOST_WAYS	8

struct ghost_bucket {
	u16 print[GHOST_WAYS];	/* 0: free */
	u16 born[GHOST_WAYS];
};

enum {
	TUNE_SMALL,
	TUNE_WINDOW,
	TUNE_GHOSTS,
	NR_TUNABLES,
};

static const struct tunable tunables[NR_TUNABLES] = {
	[TUNE_SMALL] = { "small_percent", 1, 90, 10 },
	[TUNE_WINDOW] = { "window_percent", 0, 100, 50 },
	[TUNE_GHOSTS] = { "ghost_percent", 0, 50, 50 },
};

struct clock2q {
	struct tier_policy policy;
	u32 nr_slots;
	u32 nr_buckets;
	u32 birthday_slots;	/* births to one step of the ghosts' calendar */
	unsigned int tunables[NR_TUNABLES];
	u8 *use;		/* per slot, see above */

	/* guards all below */
	spinlock_t lock;
	struct slot_queues queues;
	unsigned long *state[STATE_BITS];	/* lowest bits of enum state first */
	u32 nr_small;		/* in QUEUE_SMALL, without stale ones */
	u32 nr_young;		/* of these in the window */
	u32 window;		/* node of the oldest in the window or of one before it, if there is any */
	u32 nr_stale;
	u32 mended;		/* the search for these goes on behind this node */
	u64 main_queued;	/* slots ever queued there */
	u64 small_queued;
	u64 ghosts_born;
	bool loading;		/* there may be slots in the QUEUE_LOADED queues */
	struct ghost_bucket *ghosts;
};

static struct clock2q *to_clock2q(struct tier_policy *p)
{
	return container_of(p, struct clock2q, policy);
}

static u32 nr_ghost_buckets(u32 nr_slots)
{
	return DIV_ROUND_UP_ULL((u64)nr_slots * 5, 8 * GHOST_WAYS);
}

static u64 clock2q_memory(const struct tier_policy_params *params)
{
	return sizeof(struct clock2q) + params->nr_slots +
		slot_queues_memory(NR_QUEUES, params->nr_slots) +
		STATE_BITS * sizeof(long) * BITS_TO_LONGS((u64)params->nr_slots) +
		(u64)nr_ghost_buckets(params->nr_slots) * sizeof(struct ghost_bucket);
}

static void clock2q_destroy(struct tier_policy *p)
{
	struct clock2q *c = to_clock2q(p);
	u32 i;

	kvfree(c->ghosts);
	for (i = 0; i < STATE_BITS; i++)
		kvfree(c->state[i]);
	slot_queues_exit(&c->queues);
	kvfree(c->use);
	kfree(c);
}

static struct tier_policy *clock2q_create(const struct tier_policy_params *params,
					  struct tier_policy *next)
{
	struct clock2q *c = kzalloc(sizeof(*c), GFP_KERNEL);
	size_t nr_longs = BITS_TO_LONGS((u64)params->nr_slots);
	u32 i;
	int r;

	if (!c)
		return ERR_PTR(-ENOMEM);

	spin_lock_init(&c->lock);
	c->nr_slots = params->nr_slots;
	c->nr_buckets = nr_ghost_buckets(params->nr_slots);
	c->birthday_slots = max(1U, params->nr_slots >> 15);
	tunables_init(tunables, NR_TUNABLES, c->tunables);
	c->use = kvcalloc(params->nr_slots, sizeof(*c->use), GFP_KERNEL);
	c->mended = QUEUE_MAIN;
	r = slot_queues_init(&c->queues, NR_QUEUES, params->nr_slots);
	for (i = 0; i < STATE_BITS; i++) {
		c->state[i] = kvcalloc(nr_longs, sizeof(long), GFP_KERNEL);
		if (!c->state[i])
			r = r ? r : -ENOMEM;
	}
	c->ghosts = kvcalloc(c->nr_buckets, sizeof(*c->ghosts), GFP_KERNEL);
	if (r || !c->use || !c->ghosts) {
		clock2q_destroy(&c->policy);
		return ERR_PTR(r ? r : -ENOMEM);
	}
	return &c->policy;
}

/*
 * Ghosts
 */

static u32 max_ghosts(struct clock2q *c)
{
	return (u64)c->nr_slots * READ_ONCE(c->tunables[TUNE_GHOSTS]) / 100;
}

static u16 birthday(struct clock2q *c)
{
	return div_u64(c->ghosts_born, c->birthday_slots);
}

static struct ghost_bucket *ghost_bucket(struct clock2q *c, tier_block_t block, u16 *print)
{
	u64 hash = tier_from_block(block) * GOLDEN_RATIO_64;

	/* Folded, because the low bits of a product depend on few bits of the block. */
	hash ^= hash >> 32;
	hash *= GOLDEN_RATIO_64;
	*print = (u16)hash ? (u16)hash : 1;
	return &c->ghosts[((hash >> 32) * c->nr_buckets) >> 32];
}

static void __ghost_add(struct clock2q *c, tier_block_t block)
{
	struct ghost_bucket *bucket;
	u16 print, age, oldest_age = 0, now = birthday(c);
	u32 i, oldest = 0;

	lockdep_assert_held(&c->lock);

	bucket = ghost_bucket(c, block, &print);
	for (i = 0; i < GHOST_WAYS; i++) {
		age = now - bucket->born[i];
		if (!bucket->print[i] || bucket->print[i] == print) {
			oldest = i;
			break;
		}
		if (age > oldest_age) {
			oldest_age = age;
			oldest = i;
		}
	}
	bucket->print[oldest] = print;
	bucket->born[oldest] = now;
	c->ghosts_born++;
}

/* Was there a ghost?  It is gone then. */
static bool __ghost_take(struct clock2q *c, tier_block_t block)
{
	struct ghost_bucket *bucket;
	u16 print, age;
	u32 i;

	lockdep_assert_held(&c->lock);

	bucket = ghost_bucket(c, block, &print);
	for (i = 0; i < GHOST_WAYS; i++) {
		if (bucket->print[i] != print)
			continue;
		bucket->print[i] = 0;
		age = birthday(c) - bucket->born[i];
		return (u64)age * c->birthday_slots < max_ghosts(c);
	}
	return false;
}

/*
 * Queues
 */

static enum state get_state(struct clock2q *c, u32 slot)
{
	u32 i, state = 0;

	for (i = 0; i < STATE_BITS; i++)
		state |= test_bit(slot, c->state[i]) << i;
	return state;
}

static void __set_state(struct clock2q *c, u32 slot, enum state state)
{
	u32 i;

	lockdep_assert_held(&c->lock);

	for (i = 0; i < STATE_BITS; i++)
		if (state & BIT(i))
			__set_bit(slot, c->state[i]);
		else
			__clear_bit(slot, c->state[i]);
}

static u32 node_number(struct clock2q *c, u32 node)
{
	return tier_from_slot(node_slot(&c->queues, node));
}

static u32 small_slots(struct clock2q *c)
{
	return max_t(u32, 1, (u64)c->nr_slots * READ_ONCE(c->tunables[TUNE_SMALL]) / 100);
}

static u32 window_slots(struct clock2q *c)
{
	return (u64)small_slots(c) * READ_ONCE(c->tunables[TUNE_WINDOW]) / 100;
}

static u8 main_age(struct clock2q *c)
{
	return div_u64(c->main_queued * AGES_PER_TURN, c->nr_slots) % NR_AGES;
}

static u8 small_age(struct clock2q *c)
{
	return div_u64(c->small_queued * AGES_PER_TURN, small_slots(c)) % NR_AGES;
}

/*
 * Lets the oldest leave the window as long as there are too many in it.  What is passed by on the way to them, and how
 * many are too many after a tunable was changed, has no bound, so it takes several calls then.
 */
static void __shrink_window(struct clock2q *c)
{
	u32 slot, steps = WINDOW_STEPS;

	lockdep_assert_held(&c->lock);

	while (c->nr_young > window_slots(c) && steps--) {
		slot = node_number(c, c->window);
		if (get_state(c, slot) == STATE_YOUNG) {
			__set_state(c, slot, STATE_SMALL);
			/* Pairs with clock2q_hit() */
			WRITE_ONCE(c->use[slot], READ_ONCE(c->use[slot]) & ~USE_YOUNG);
			c->nr_young--;
		}
		c->window = c->queues.link[c->window];
	}
}

/* A slot that is in no queue has a block that is in the small one from now on, in the window. */
static void __queue_small(struct clock2q *c, u32 node)
{
	u32 slot = node_number(c, node);

	lockdep_assert_held(&c->lock);

	slot_queue_append(&c->queues, QUEUE_SMALL, node);
	c->nr_small++;
	c->small_queued++;
	__set_state(c, slot, STATE_YOUNG);
	/* Pairs with clock2q_hit() */
	WRITE_ONCE(c->use[slot], USE_YOUNG | small_age(c) << USE_AGE_SHIFT);
	if (!c->nr_young++)
		c->window = node;
	__shrink_window(c);
}

static void __queue_main(struct clock2q *c, u32 node, u8 uses)
{
	u32 slot = node_number(c, node);

	lockdep_assert_held(&c->lock);

	slot_queue_append(&c->queues, QUEUE_MAIN, node);
	c->main_queued++;
	__set_state(c, slot, STATE_MAIN);
	/* Pairs with clock2q_hit() */
	WRITE_ONCE(c->use[slot], uses | main_age(c) << USE_AGE_SHIFT);
}

/* The slot's block leaves the small queue, if it is in that; the slot stays where it is. */
static void __leave_small(struct clock2q *c, u32 node)
{
	u32 slot = node_number(c, node);
	enum state state = get_state(c, slot);

	lockdep_assert_held(&c->lock);

	if (state != STATE_SMALL && state != STATE_YOUNG)
		return;
	c->nr_small--;
	__set_state(c, slot, STATE_ONCE);
	if (state != STATE_YOUNG)
		return;
	/* Pairs with clock2q_hit(): where it goes, uses count */
	WRITE_ONCE(c->use[slot], READ_ONCE(c->use[slot]) & ~USE_YOUNG);
	c->nr_young--;
}

static void __take_next(struct clock2q *c, u32 prev)
{
	u32 node = c->queues.link[prev];

	lockdep_assert_held(&c->lock);

	if (c->mended == node)
		c->mended = prev;
	if (c->window == node)
		c->window = c->queues.link[node];
	slot_queue_take_next(&c->queues, prev);
}

/* The queue to be searched after this one */
static u32 next_searched(u32 queue)
{
	return queue == QUEUE_PARKED ? QUEUE_MAIN : queue + 1;
}

/* Takes the first slot off a queue; what it was stays in its state. */
static void __unqueue_first(struct clock2q *c, u32 queue)
{
	u32 node = c->queues.link[queue];
	bool overtaken = c->mended == node;

	lockdep_assert_held(&c->lock);

	__leave_small(c, node);
	__take_next(c, queue);
	/* Who goes through the queue faster finds what is stale in it, and puts slots at its end faster. */
	if (overtaken)
		c->mended = next_searched(queue);
}

/*
 * Stale slots
 */

/* The block of a slot in some queue is gone, and has left the small queue if it was in that. */
static void __make_stale(struct clock2q *c, u32 slot)
{
	lockdep_assert_held(&c->lock);

	if (get_state(c, slot) < STATE_GONE)
		c->nr_stale++;
	__set_state(c, slot, STATE_GONE);
}

/* A stale slot has a block again, which gets to its queue when it is found here. */
static void __reuse_stale(struct clock2q *c, u32 node, bool main)
{
	u32 slot = node_number(c, node);
	u8 age = main ? main_age(c) : small_age(c);

	lockdep_assert_held(&c->lock);

	__set_state(c, slot, main ? STATE_TO_MAIN : STATE_TO_SMALL);
	/* Pairs with clock2q_hit() */
	WRITE_ONCE(c->use[slot], age << USE_AGE_SHIFT);
}

/* Brings the slot behind a node to where it belongs; false: it isn't stale. */
static bool __mend_next(struct clock2q *c, u32 prev)
{
	u32 node = c->queues.link[prev];
	u32 slot = node_number(c, node);
	enum state state = get_state(c, slot);
	u8 uses = READ_ONCE(c->use[slot]) & USE_MASK;

	lockdep_assert_held(&c->lock);

	if (state < STATE_GONE)
		return false;
	c->nr_stale--;
	__take_next(c, prev);
	if (state == STATE_GONE)
		__set_state(c, slot, STATE_MAIN);
	else if (state == STATE_TO_MAIN)
		__queue_main(c, node, uses);
	else if (uses)
		__queue_main(c, node, 0);
	else
		__queue_small(c, node);
	return true;
}

/* Searches on for stale ones: a round of all queues takes as many steps as there are slots in them. */
static void __mend(struct clock2q *c, u32 steps)
{
	lockdep_assert_held(&c->lock);

	while (c->nr_stale && steps--) {
		u32 next = c->queues.link[c->mended];

		if (node_is_queue(&c->queues, next))
			c->mended = next_searched(next);
		else if (!__mend_next(c, c->mended))
			c->mended = next;
	}
}

/* What load_hint() sorted goes before what was queued since. */
static void __settle(struct clock2q *c)
{
	u32 i;

	lockdep_assert_held(&c->lock);

	if (likely(!c->loading))
		return;
	for (i = 0; i < NR_AGES; i++) {
		slot_queue_splice_front(&c->queues, QUEUE_LOADED_MAIN + i, QUEUE_MAIN);
		slot_queue_splice_front(&c->queues, QUEUE_LOADED_SMALL + i, QUEUE_SMALL);
	}
	c->loading = false;
}

/*
 * Operations
 */

static void clock2q_hit(struct tier_policy *p, tier_slot_t slot, const struct tier_access *access)
{
	u8 *use = &to_clock2q(p)->use[tier_from_slot(slot)];
	u8 old = READ_ONCE(*use);

	/*
	 * Racy: of two hits at once one may be lost, and a store may land on a slot that was moved
	 * or filled anew meanwhile, which makes a young slot look used or its age wrong.
	 */
	if (!(old & USE_YOUNG) && (old & USE_MASK) < USE_MAX)
		WRITE_ONCE(*use, old + 1);
}

static enum tier_admit clock2q_miss(struct tier_policy *p, tier_block_t block,
				    const struct tier_access *access)
{
	return TIER_FILL;
}

static void clock2q_inserted(struct tier_policy *p, tier_block_t block, tier_slot_t slot,
			     const struct tier_access *access)
{
	struct clock2q *c = to_clock2q(p);
	u32 node = slot_node(&c->queues, slot);
	bool again;

	spin_lock(&c->lock);
	__settle(c);
	again = __ghost_take(c, block) || !access;
	if (node_queued(&c->queues, node)) {
		if (get_state(c, tier_from_slot(slot)) == STATE_GONE)
			__reuse_stale(c, node, again);
	} else if (again) {
		__queue_main(c, node, 0);
	} else {
		__queue_small(c, node);
	}
	__mend(c, MEND_STEPS);
	spin_unlock(&c->lock);
}

static void clock2q_removed(struct tier_policy *p, tier_block_t block, tier_slot_t slot,
			    enum tier_removal why)
{
	struct clock2q *c = to_clock2q(p);
	u32 node = slot_node(&c->queues, slot);

	spin_lock(&c->lock);
	__settle(c);
	__leave_small(c, node);
	if (why == TIER_REMOVED_EVICTED && get_state(c, tier_from_slot(slot)) == STATE_ONCE)
		__ghost_add(c, block);
	if (node_queued(&c->queues, node))
		__make_stale(c, tier_from_slot(slot));
	else
		__set_state(c, tier_from_slot(slot), STATE_MAIN);
	__mend(c, MEND_STEPS);
	spin_unlock(&c->lock);
}

static void clock2q_aborted(struct tier_policy *p, tier_block_t block)
{
}

/* Queue whose first slot is the next to examine; SLOT_QUEUE_NONE if all are parked. */
static u32 __examine(struct clock2q *c)
{
	bool no_small = slot_queue_empty(&c->queues, QUEUE_SMALL);
	bool no_main = slot_queue_empty(&c->queues, QUEUE_MAIN);

	lockdep_assert_held(&c->lock);

	if (!no_small && (c->nr_small > small_slots(c) || no_main))
		return QUEUE_SMALL;
	return no_main ? SLOT_QUEUE_NONE : QUEUE_MAIN;
}

/* If the first slot of a queue was used it gets another round. */
static bool __spare(struct clock2q *c, u32 queue)
{
	u32 node = slot_queue_first(&c->queues, queue);
	u32 slot = node_number(c, node);
	u8 uses = READ_ONCE(c->use[slot]) & USE_MASK;
	bool small = get_state(c, slot) >= STATE_SMALL;

	lockdep_assert_held(&c->lock);

	if (!uses)
		return false;
	__unqueue_first(c, queue);
	__queue_main(c, node, small ? 0 : uses - 1);
	return true;
}

static bool clock2q_victim(struct tier_policy *p, tier_victim_fn take, void *context, u32 budget,
			   tier_slot_t *slot)
{
	struct clock2q *c = to_clock2q(p);
	enum tier_verdict verdict = TIER_VICTIM_SKIP;
	bool unparked = false;
	u32 queue, node;

	spin_lock(&c->lock);
	__settle(c);
	while (budget && verdict == TIER_VICTIM_SKIP) {
		queue = __examine(c);
		if (queue == SLOT_QUEUE_NONE) {
			if (unparked)
				break;
			slot_queue_splice_front(&c->queues, QUEUE_PARKED, QUEUE_MAIN);
			unparked = true;
			continue;
		}
		budget--;
		if (__mend_next(c, queue) || __spare(c, queue))
			continue;
		node = slot_queue_first(&c->queues, queue);
		*slot = node_slot(&c->queues, node);
		verdict = take(context, *slot);
		if (verdict == TIER_VICTIM_STOP)
			break;
		__unqueue_first(c, queue);
		if (verdict == TIER_VICTIM_SKIP)
			slot_queue_append(&c->queues, QUEUE_PARKED, node);
	}
	spin_unlock(&c->lock);
	return verdict == TIER_VICTIM_TAKE;
}

static void clock2q_victim_kept(struct tier_policy *p, tier_block_t block, tier_slot_t slot)
{
	struct clock2q *c = to_clock2q(p);
	u32 node = slot_node(&c->queues, slot);

	spin_lock(&c->lock);
	if (!node_queued(&c->queues, node))
		__queue_main(c, node, 1);
	spin_unlock(&c->lock);
}

static void clock2q_tick(struct tier_policy *p, u64 now)
{
	struct clock2q *c = to_clock2q(p);

	spin_lock(&c->lock);
	__settle(c);
	slot_queue_splice_front(&c->queues, QUEUE_PARKED, QUEUE_MAIN);
	__mend(c, MEND_TICK);
	spin_unlock(&c->lock);
}

/* The hint: uses, whether it was ever used again, age in its queue, and a bit to tell it from 0. */
#define HINT_VALID	0x100
#define HINT_SMALL	0x04
#define HINT_AGE_SHIFT	3

static u32 clock2q_save_hint(struct tier_policy *p, tier_slot_t slot)
{
	struct clock2q *c = to_clock2q(p);
	u32 s = tier_from_slot(slot);
	u32 hint = 0;
	enum state state;
	u8 age, use;

	spin_lock(&c->lock);
	__settle(c);
	state = get_state(c, s);
	if (node_queued(&c->queues, slot_node(&c->queues, slot)) && state != STATE_GONE) {
		use = READ_ONCE(c->use[s]);
		hint = HINT_VALID | (use & USE_MASK);
		if (state == STATE_MAIN || state == STATE_TO_MAIN) {
			age = main_age(c);
		} else {
			hint |= HINT_SMALL;
			age = small_age(c);
		}
		hint |= ((u32)age - (use >> USE_AGE_SHIFT)) % NR_AGES << HINT_AGE_SHIFT;
	}
	spin_unlock(&c->lock);
	return hint;
}

static void clock2q_load_hint(struct tier_policy *p, tier_block_t block, tier_slot_t slot, u32 hint)
{
	struct clock2q *c = to_clock2q(p);
	u32 node = slot_node(&c->queues, slot);
	u32 s = tier_from_slot(slot);
	u32 age = hint & HINT_VALID ? hint >> HINT_AGE_SHIFT & (NR_AGES - 1) : NR_AGES - 1;

	spin_lock(&c->lock);
	if (!node_queued(&c->queues, node)) {
		c->loading = true;
		if (hint & HINT_SMALL) {
			c->nr_small++;
			__set_state(c, s, STATE_SMALL);
			slot_queue_append(&c->queues, QUEUE_LOADED_SMALL + age, node);
			age = small_age(c) - age;
		} else {
			__set_state(c, s, STATE_MAIN);
			slot_queue_append(&c->queues, QUEUE_LOADED_MAIN + age, node);
			age = main_age(c) - age;
		}
		WRITE_ONCE(c->use[s], (hint & USE_MASK) | age % NR_AGES << USE_AGE_SHIFT);
	}
	spin_unlock(&c->lock);
}

static int clock2q_set(struct tier_policy *p, const char *key, const char *value)
{
	return tunables_set(tunables, NR_TUNABLES, to_clock2q(p)->tunables, key, value);
}

static int clock2q_emit(struct tier_policy *p, char *buf, size_t size, unsigned int *count)
{
	*count = 0;
	return tunables_emit(tunables, NR_TUNABLES, to_clock2q(p)->tunables, buf, size, count);
}

static struct tier_policy_type clock2q_type = {
	.name = "clock2q",
	.version = {1, 0, 0},
	.owner = THIS_MODULE,
	.memory = clock2q_memory,
	.create = clock2q_create,
	.destroy = clock2q_destroy,
	.hit = clock2q_hit,
	.miss = clock2q_miss,
	.inserted = clock2q_inserted,
	.removed = clock2q_removed,
	.aborted = clock2q_aborted,
	.victim = clock2q_victim,
	.victim_kept = clock2q_victim_kept,
	.tick = clock2q_tick,
	.save_hint = clock2q_save_hint,
	.load_hint = clock2q_load_hint,
	.set = clock2q_set,
	.emit = clock2q_emit,
	.tunables_help =
		"small_percent: part of the slots for blocks used once, percent, 1-90, 10\n"
		"window_percent: part of these in which uses don't count yet, percent, 0-100, 50\n"
		"ghost_percent: evicted blocks remembered, percent of the slots, 0-50, 50\n",
};

static int __init clock2q_module_init(void)
{
	return tier_policy_register(&clock2q_type);
}

static void __exit clock2q_module_exit(void)
{
	tier_policy_unregister(&clock2q_type);
}

module_init(clock2q_module_init);
module_exit(clock2q_module_exit);

MODULE_DESCRIPTION("dm-tier policy: scan-resistant clock of two queues");
MODULE_AUTHOR("dm-tier developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.0.0");
MODULE_ALIAS("dm-tier-policy-clock2q");
