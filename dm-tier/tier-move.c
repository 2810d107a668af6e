// SPDX-License-Identifier: GPL-2.0
/*
 * Tiered mode: where a block lands, and how it gets to another tier.
 *
 * A move, in the order that keeps the invariants (docs/design.md):
 *
 *	tier_move_start	hold the block: reads go on, writes and discards wait; take a free slot; kcopyd copies
 *	move_done	the block is in its new slot, in core; the hold goes.  The old slot belongs to nobody
 *	commit		flushes the devices (I1), then one transaction has both slots' records (I6)
 *	move_leave	the last read has left the old slot: it is free (I2)
 *
 * A copy that fails leaves the block where it is.  A block whose move is not committed is not moved again.
 *
 * Each tier keeps back some slots that nothing lands in.  A move may use them, so a block can be
 * promoted to a full tier; that takes the tier below its watermark, and another block is demoted to the
 * slot that became free.
 */
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/dm-kcopyd.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include "tier.h"
#include "tier-trace.h"

#define MAX_MOVES	8	/* copies under way */
#define MAX_SWITCHED	32	/* moves that wait for a commit before one is asked for */
#define VICTIM_BUDGET	512U	/* slots looked at for one victim */
#define ROOM_BUDGET	512U	/* slots looked at for a block that makes room */
#define LATENCY_MS	500	/* over which latencies are averaged */

/* tier_move.failed */
#define MOVE_READ_FAILED	BIT(0)
#define MOVE_WRITE_FAILED	BIT(1)

/* ---- tiers ---- */

/* does any block land on it, or move there by itself? */
bool tier_dev_takes(const struct tier_dev *d)
{
	return !READ_ONCE(d->evacuate) && !READ_ONCE(d->settle) && !READ_ONCE(d->failing);
}

/* free slots beside those that are kept for moves */
u32 tier_dev_room(const struct tier_dev *d)
{
	u32 nr = READ_ONCE(d->free.nr);

	return nr > d->kept ? nr - d->kept : 0;
}

/**
 * tier_dev_stuck() - a pass of evacuate or settle is over
 * @t: target
 * @d: tier
 * @passes: in a row, so far, that did nothing but fail
 * @nr: blocks that could not be moved; 0: the pass did something, or there was nothing to do
 *
 * One that fails may be an accident, or may have begun before somebody mended what was wrong.
 * Context: may sleep.
 */
void tier_dev_stuck(struct tier *t, struct tier_dev *d, u32 *passes, u32 nr)
{
	*passes = nr ? *passes + 1 : 0;
	if (*passes < 2)
		nr = 0;
	if (nr && !READ_ONCE(d->stuck)) {
		DMWARN("%s: tier %u: %u blocks can't be moved: copies fail, a device can't be flushed, or the other tiers are full; they are tried again",
		       t->name, tier_dev_index(t, d), nr);
		tier_event(t);
	}
	WRITE_ONCE(d->stuck, nr);
}

/* free slots, now or as soon as the moves under way are committed */
static u32 free_soon(const struct tier_dev *d)
{
	return READ_ONCE(d->free.nr) + atomic_read(&d->leaving);
}

/* demotion starts below this many free slots */
static u32 low_water(struct tier *t, const struct tier_dev *d)
{
	u32 percent = tier_free_low(&t->tune, tier_dev_index(t, d));

	return max_t(u32, d->kept, mult_frac((u64)d->nr_slots, percent, 100));
}

/* and ends here */
static u32 high_water(struct tier *t, const struct tier_dev *d)
{
	u32 percent = tier_free_high(&t->tune, tier_dev_index(t, d));

	return max_t(u32, d->kept + 1, mult_frac((u64)d->nr_slots, percent, 100));
}

/* a tier with room for a block that leaves tier @from: the next slower one, else the next faster; or nr_devs */
u32 tier_with_room(struct tier *t, u32 from, bool faster_too)
{
	u32 d;

	for (d = from + 1; d < t->nr_devs; d++)
		if (tier_dev_takes(&t->devs[d]) && tier_dev_room(&t->devs[d]))
			return d;
	for (d = from; faster_too && d--;)
		if (tier_dev_takes(&t->devs[d]) && tier_dev_room(&t->devs[d]))
			return d;
	return t->nr_devs;
}

static bool devices_idle(struct tier *t)
{
	unsigned long idle = msecs_to_jiffies(tier_tune(t, TIER_TUNE_IDLE_MS));
	u32 d;

	/* requests under way are not counted on the first one: they are short there */
	for (d = 0; d < t->nr_devs; d++)
		if (atomic_read(&t->devs[d].inflight) ||
		    time_before(jiffies, READ_ONCE(t->devs[d].last) + idle))
			return false;
	return true;
}

/* moves and jobs are looked after by one work item */
void tier_move_kick(struct tier *t)
{
	if (!READ_ONCE(t->stopping))
		queue_delayed_work(t->bg_wq, &t->job_work, 1);
}

/* ---- slots ---- */

/* a slot on a device, taken off its free list, or TIER_NO_SLOT; leaves @keep of them */
static tier_slot_t take_free(struct tier *t, struct tier_dev *d, u32 keep)
{
	tier_slot_t slot = TIER_NO_SLOT;

	spin_lock(&t->free_lock);
	if (d->free.nr > keep)
		slot = tier_map_take(&t->map, &d->free);
	spin_unlock(&t->free_lock);
	return slot;
}

/* a certain slot, taken off its device's free list; TIER_NO_SLOT if it is not there */
tier_slot_t tier_slot_take(struct tier *t, tier_slot_t slot)
{
	struct tier_dev *d = tier_slot_device(t, slot);
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&t->free_lock, flags);
	taken = tier_map_take_slot(&t->map, &d->free, slot);
	spin_unlock_irqrestore(&t->free_lock, flags);
	return taken ? slot : TIER_NO_SLOT;
}

/* a taken slot is the block's from now on.  Stripe locked */
void __tier_slot_begin(struct tier *t, tier_slot_t slot, tier_block_t block)
{
	tier_assert_locked(t, block);
	tier_map_insert(&t->map, slot, block, TIER_SLOT_FRESH);
	atomic_inc(&t->nr_used);
	atomic_inc(&tier_slot_device(t, slot)->used);
}

/**
 * __tier_slot_land() - a slot for the first write of a block
 * @t: target
 * @block: has none; its stripe is locked
 * @sequential: the write is part of a sequential stream
 * @avoid: tier that failed already, or -1
 *
 * On the fastest tier with room, or beginning at the one for sequential streams.  While a tier settles: in the block's
 * own place there; else on another tier; else, so that it has one, in the place of another block, if it has a place.
 * Return: the slot, mapped, or TIER_NO_SLOT.
 */
tier_slot_t __tier_slot_land(struct tier *t, tier_block_t block, bool sequential, int avoid)
{
	u32 first = sequential ? min(tier_tune(t, TIER_TUNE_SEQ_LANDING), t->nr_devs - 1) : 0;
	struct tier_dev *settling = tier_settling(t), *d;
	tier_slot_t slot = TIER_NO_SLOT, place;
	u32 i;

	tier_assert_locked(t, block);
	place = settling && settling - t->devs != avoid ? tier_settle_place(t, settling, block) : TIER_NO_SLOT;
	if (place != TIER_NO_SLOT)
		slot = tier_slot_take(t, place);
	for (i = 0; i < t->nr_devs && slot == TIER_NO_SLOT; i++) {
		d = &t->devs[(first + i) % t->nr_devs];
		if (tier_dev_takes(d) && d - t->devs != avoid)
			slot = take_free(t, d, d->kept);
		if (READ_ONCE(d->free.nr) < low_water(t, d))
			tier_move_kick(t);
	}
	if (slot == TIER_NO_SLOT && place != TIER_NO_SLOT)
		slot = take_free(t, settling, 0);
	if (slot == TIER_NO_SLOT)
		return slot;
	__tier_slot_begin(t, slot, block);
	tier_settle_again(t);
	return slot;
}

/* no record names the slot, and nobody uses it: it is free */
void tier_slot_freed(struct tier *t, tier_slot_t slot)
{
	struct tier_dev *d = tier_slot_device(t, slot);
	unsigned long flags;

	spin_lock_irqsave(&t->free_lock, flags);
	tier_map_put(&t->map, &d->free, slot);
	spin_unlock_irqrestore(&t->free_lock, flags);
	atomic_inc(&t->freed);
}

/* may slots become free without anybody's doing? */
bool tier_moves_wait(struct tier *t)
{
	return atomic_read(&t->nr_moves) || READ_ONCE(t->nr_switched) || READ_ONCE(t->trim.nr);
}

static int by_number(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* tell the device that neighbouring slots hold nothing any more */
static void discard_run(struct tier *t, u32 first, u32 nr)
{
	struct tier_dev *d = tier_slot_device(t, tier_to_slot(first));

	/* an error does not matter: nothing is said to be there.  A fingerprint may be taken of what it reads as now */
	if (!blkdev_issue_discard(d->dm->bdev, tier_slot_sector(t, tier_to_slot(first)),
				  (sector_t)nr << t->g.block_shift, GFP_NOIO))
		tier_dev_dirtied(d);
}

/* slots that discards have freed are discarded on their devices, and then free.  Context: worker */
void tier_trim_work(struct work_struct *work)
{
	struct tier *t = container_of(work, struct tier, trim_work);
	u32 *slots = t->trim_batch, n, i, first;
	LIST_HEAD(waiters);

	for (;;) {
		spin_lock_irq(&t->free_lock);
		for (n = 0; n < TIER_TRIM_BATCH && t->trim.nr; n++)
			slots[n] = tier_from_slot(tier_map_take(&t->map, &t->trim));
		spin_unlock_irq(&t->free_lock);
		if (!n)
			break;
		sort(slots, n, sizeof(*slots), by_number, NULL);
		for (i = 1, first = 0; i <= n; i++)
			if (i == n || slots[i] != slots[i - 1] + 1 ||
			    tier_slot_extent(&t->g, tier_to_slot(slots[i])) !=
			    tier_slot_extent(&t->g, tier_to_slot(slots[i - 1]))) {
				discard_run(t, slots[first], i - first);
				first = i;
			}
		for (i = 0; i < n; i++)
			tier_slot_freed(t, tier_to_slot(slots[i]));
		cond_resched();
	}
	spin_lock_irq(&t->io_lock);
	list_splice_init(&t->trim_waiters, &waiters);
	spin_unlock_irq(&t->io_lock);
	tier_io_retry(t, &waiters);
}

/* ---- a move ---- */

/* has a flush of the device that it went to failed since its copy began? */
bool tier_move_doubtful(const struct tier_move *m)
{
	return atomic_read(&m->t->devs[m->to_dev].flush_errors) != m->flush_errors;
}

/* the copy is over, or was not begun; config_sem held for reading */
static void tell_failed(struct tier *t, const struct tier_move *m)
{
	struct tier_policy *from = t->devs[m->from_dev].policy, *to = t->devs[m->to_dev].policy;

	if (m->cause == TIER_MOVE_PROMOTE)
		to->type->aborted(to, m->hold.block);
	if (m->cause == TIER_MOVE_DEMOTE)
		from->type->victim_kept(from, m->hold.block, tier_slot_number(t, m->from));
}

static void tell_policies(struct tier *t, const struct tier_move *m, enum tier_removal why)
{
	struct tier_policy *from = t->devs[m->from_dev].policy, *to = t->devs[m->to_dev].policy;

	if (from)
		from->type->removed(from, m->hold.block, tier_slot_number(t, m->from), why);
	if (to)
		to->type->inserted(to, m->hold.block, tier_slot_number(t, m->to), NULL);
}

static void tell_moved(struct tier *t, const struct tier_move *m)
{
	tell_policies(t, m, m->cause == TIER_MOVE_DEMOTE ? TIER_REMOVED_EVICTED : TIER_REMOVED_INVALID);
	if (m->from_dev == m->to_dev)
		return;
	tier_dev_count(&t->devs[m->from_dev], TIER_DEV_MOVES_OUT);
	tier_dev_count(&t->devs[m->to_dev], TIER_DEV_MOVES_IN);
	if (m->to_dev < m->from_dev) {
		tier_count(t, TIER_STAT_PROMOTIONS, 1);
		trace_tier_promote(t->name, tier_block_sector(t, m->hold.block), t->g.block_sectors);
	} else {
		tier_count(t, TIER_STAT_DEMOTIONS, 1);
		trace_tier_demote(t->name, tier_block_sector(t, m->hold.block), t->g.block_sectors);
	}
}

/* the block, whose slot had these flags, is counted where it is now */
static void moved(struct tier *t, const struct tier_move *m, u32 flags)
{
	/* what is to be recorded of the old slot is recorded with the new one; a snapshot passes it by */
	if (flags & TIER_SLOT_CHANGED)
		atomic_dec(&t->nr_changed);
	atomic_dec(&t->devs[m->from_dev].used);
	atomic_inc(&t->devs[m->to_dev].used);
	if (flags & TIER_SLOT_PINNED) {
		atomic_dec(&t->devs[m->from_dev].pinned);
		atomic_inc(&t->devs[m->to_dev].pinned);
	}
}

/* the block is in its new slot.  Stripe locked */
static void __switch(struct tier *t, struct tier_move *m)
{
	tier_block_t block = m->hold.block;
	u64 valid = tier_slot_valid(&t->map, m->from);
	u32 flags = tier_slot_flags(&t->map, m->from);

	tier_assert_locked(t, block);
	tier_map_remove(&t->map, m->from);
	tier_map_insert(&t->map, m->to, block, TIER_SLOT_FRESH | TIER_SLOT_SWITCHED | (flags & TIER_SLOT_PINNED));
	tier_slot_set_granules(&t->map, m->to, valid, valid);
	spin_lock(&t->move_lock);
	list_add_tail(&m->list, &t->switched);
	list_add(&m->unrecorded, &t->unrecorded);
	WRITE_ONCE(t->nr_switched, t->nr_switched + 1);
	/* look_at_doubts() may just have been there; move_done() has looked before */
	if (tier_move_doubtful(m))
		WRITE_ONCE(t->devs[m->to_dev].doubt, true);
	spin_unlock(&t->move_lock);
	__tier_slot_changed(t, m->to);
	moved(t, m, flags);
	if (m->cause != TIER_MOVE_SETTLE)
		tier_settle_again(t);
}

/* a move that no commit has recorded, turned round: the block is in its old slot again, as it was.  Stripe locked */
static void __switch_back(struct tier *t, struct tier_move *m)
{
	tier_block_t block = m->hold.block;
	u64 valid = tier_slot_valid(&t->map, m->from);
	u32 flags = tier_slot_flags(&t->map, m->from);

	tier_assert_locked(t, block);
	tier_map_remove(&t->map, m->from);
	tier_map_insert(&t->map, m->to, block, flags & TIER_SLOT_PINNED);
	tier_slot_set_granules(&t->map, m->to, valid, valid);
	__tier_slot_changed(t, m->to);
	moved(t, m, flags);
	tier_settle_again(t);
}

/*
 * The move that brought a block to @slot, if no commit has recorded it, or NULL.  It stays while the stripe is locked:
 * move_leave() locks that before it frees it.
 */
static struct tier_move *__find_unrecorded(struct tier *t, tier_slot_t slot)
{
	struct tier_move *m, *found = NULL;

	tier_assert_locked(t, tier_slot_block(&t->map, slot));
	if (!(tier_slot_flags(&t->map, slot) & (TIER_SLOT_SWITCHED | TIER_SLOT_COMMITTING)))
		return NULL;
	spin_lock(&t->move_lock);
	list_for_each_entry(m, &t->unrecorded, unrecorded)
		if (m->to == slot)
			found = m;
	spin_unlock(&t->move_lock);
	return found;
}

/**
 * __tier_move_written() - a block was written to; if no commit has recorded its last move, that is remembered
 * @t: target, tiered
 * @slot: the block's slot; its stripe is locked
 * @first: sector in the block
 * @nr: sectors
 *
 * Context: any, interrupts are off.
 */
void __tier_move_written(struct tier *t, tier_slot_t slot, u32 first, u32 nr)
{
	struct tier_move *m;

	tier_assert_locked(t, tier_slot_block(&t->map, slot));
	m = __find_unrecorded(t, slot);
	if (m)
		bitmap_set(m->written, first, nr);
}

/* the same of granules that became valid: nothing of them is in the slot that it came from */
void __tier_move_grew(struct tier *t, tier_slot_t slot, u64 granules)
{
	struct tier_move *m;

	tier_assert_locked(t, tier_slot_block(&t->map, slot));
	m = __find_unrecorded(t, slot);
	if (!m)
		return;
	m->grown |= granules;
	for (; granules; granules &= granules - 1)
		bitmap_set(m->written, __ffs64(granules) << t->g.granule_shift, t->g.granule_sectors);
}

static void move_end(struct tier *t, bool by_hand)
{
	bool starved;

	if (by_hand)
		atomic_dec(&t->nr_hand_moves);
	atomic_dec(&t->nr_moves);
	smp_mb__after_atomic();	/* pairs with starve() */
	spin_lock_irq(&t->io_lock);
	starved = !list_empty(&t->starved);
	spin_unlock_irq(&t->io_lock);
	if (starved || READ_ONCE(t->nr_switched) >= MAX_SWITCHED)
		tier_commit_kick(t, true);
	tier_move_kick(t);
	if (atomic_dec_and_test(&t->copies))
		wake_up(&t->copies_wait);
}

/* Context: worker */
static void move_done(struct work_struct *work)
{
	struct tier_move *m = container_of(work, struct tier_move, work);
	struct tier *t = m->t;
	struct tier_stripe *s = tier_stripe(t, m->hold.block);
	bool failed, by_hand = m->cause == TIER_MOVE_HAND, evacuate = m->cause == TIER_MOVE_EVACUATE;
	struct tier_dev *from = &t->devs[m->from_dev];

	tier_dev_dirtied(&t->devs[m->to_dev]);
	if (m->failed)
		tier_dev_error(t, &t->devs[m->failed & MOVE_READ_FAILED ? m->from_dev : m->to_dev], "move",
			       tier_block_sector(t, m->hold.block));
	failed = m->failed || tier_move_doubtful(m);
	percpu_down_read(&t->config_sem);
	/* before the slots change, and nobody else can be told of them */
	if (failed)
		tell_failed(t, m);
	else
		tell_moved(t, m);
	spin_lock_irq(&s->lock);
	if (!failed)
		__switch(t, m);
	__tier_hold_release(s, &m->hold);
	spin_unlock_irq(&s->lock);
	/* moved: the commit may have freed it */
	if (failed) {
		if (m->cause == TIER_MOVE_SETTLE)
			tier_settle_failed(t);
		if (m->cause == TIER_MOVE_EVACUATE)
			atomic_inc(&from->evac_failed);
		atomic_dec(&t->devs[m->from_dev].leaving);
		tier_slot_freed(t, m->to);
		kfree(m);
	}
	percpu_up_read(&t->config_sem);
	if (evacuate) {
		atomic_add(!failed, &from->evac_done);
		atomic_dec_return_release(&from->evac_moves);	/* behind evac_failed and evac_done */
	}
	move_end(t, by_hand);
}

/* Context: kcopyd's thread */
static void copied(int read_err, unsigned long write_err, void *context)
{
	struct tier_move *m = context;

	m->failed = (read_err ? MOVE_READ_FAILED : 0) | (write_err ? MOVE_WRITE_FAILED : 0);
	INIT_WORK(&m->work, move_done);
	queue_work(m->t->wq, &m->work);
}

static void copy(struct tier_move *m, u64 valid)
{
	struct tier *t = m->t;
	u32 first = __ffs64(valid) << t->g.granule_shift;
	u32 end = min((tier_last_granule(valid) + 1) << t->g.granule_shift, tier_block_len(t, m->hold.block));
	struct dm_io_region from = {
		.bdev = t->devs[m->from_dev].dm->bdev,
		.sector = tier_slot_sector(t, m->from) + first,
		.count = end - first,
	};
	struct dm_io_region to = {
		.bdev = t->devs[m->to_dev].dm->bdev,
		.sector = tier_slot_sector(t, m->to) + first,
		.count = end - first,
	};

	m->flush_errors = atomic_read(&t->devs[m->to_dev].flush_errors);
	dm_kcopyd_copy(t->kcopyd, &from, 1, &to, 0, copied, m);
}

/* what stands against moving a slot's block; stripe locked */
static int __movable(struct tier *t, tier_slot_t slot, enum tier_move_cause cause)
{
	u32 flags = tier_slot_flags(&t->map, slot);

	tier_assert_locked(t, tier_slot_block(&t->map, slot));
	if (!(flags & TIER_SLOT_MAPPED) || !tier_slot_valid(&t->map, slot))
		return -ENOENT;
	/* its last move is not durable, or may turn out not to be: the link to its old slot must not get lost */
	if (flags & (TIER_SLOT_SWITCHED | TIER_SLOT_COMMITTING))
		return -EBUSY;
	return flags & TIER_SLOT_PINNED && (cause == TIER_MOVE_PROMOTE || cause == TIER_MOVE_DEMOTE) ? -EPERM : 0;
}

/* a free slot to move to: @to, or any of tier @dev, if need be one that is kept for moves that were asked for */
static tier_slot_t take_target(struct tier *t, u32 dev, tier_slot_t to, enum tier_move_cause cause)
{
	struct tier_dev *d = &t->devs[dev];

	if (to != TIER_NO_SLOT)
		return tier_slot_take(t, to);
	return take_free(t, d, cause == TIER_MOVE_DEMOTE || cause == TIER_MOVE_ROOM || cause == TIER_MOVE_EVACUATE ?
			 d->kept : 0);
}

/* to @to, a slot of tier @to_dev; TIER_NO_SLOT: to any of another tier */
static int start(struct tier *t, tier_block_t block, tier_slot_t from, u32 to_dev, tier_slot_t to,
		 enum tier_move_cause cause)
{
	struct tier_stripe *s = tier_stripe(t, block);
	struct tier_move *m = kzalloc(struct_size(m, written, BITS_TO_LONGS(t->g.block_sectors)),
				      GFP_NOIO | __GFP_NOWARN);
	u64 valid = 0;
	int r;

	if (!m)
		return -ENOMEM;
	m->t = t;
	m->cause = cause;
	m->to_dev = to_dev;
	tier_hold_init(&m->hold, block, tier_block_mask(t, block), TIER_HOLD_ONLY);
	spin_lock_irq(&s->lock);
	m->from = tier_map_lookup(&t->map, block);
	if (m->from == TIER_NO_SLOT || (from != TIER_NO_SLOT && m->from != from))
		r = -ENOENT;
	else
		r = __movable(t, m->from, cause);
	if (r)
		goto out;
	m->from_dev = tier_slot_dev(&t->g, m->from);
	if (m->from == to || (to == TIER_NO_SLOT && m->from_dev == to_dev)) {
		r = -EEXIST;
		goto out;
	}
	if (!__tier_hold_try(s, &m->hold)) {
		r = -EBUSY;
		goto out;
	}
	m->to = take_target(t, to_dev, to, cause);
	if (m->to == TIER_NO_SLOT) {
		__tier_hold_release(s, &m->hold);
		r = -ENOSPC;
		goto out;
	}
	valid = tier_slot_valid(&t->map, m->from);
	atomic_inc(&t->nr_moves);
	if (cause == TIER_MOVE_HAND)
		atomic_inc(&t->nr_hand_moves);
	atomic_inc(&t->copies);
	atomic_inc(&t->devs[m->from_dev].leaving);
out:
	spin_unlock_irq(&s->lock);
	if (r)
		kfree(m);
	else
		copy(m, valid);
	return r;
}

/**
 * tier_move_start() - start to move a block to another tier
 * @t: target
 * @block: block
 * @from: the slot it has to be in, or TIER_NO_SLOT
 * @to_dev: tier
 * @cause: why; promotions, moves by hand and of a tier that settles may use the slots that are kept back
 *
 * If it fails the policy that wanted it is not told.
 * Context: may sleep; config_sem held for reading.
 * Return: 0; -ENOENT it has no slot (or not @from), -EEXIST it is there, -EBUSY it is in use, -EPERM it is pinned,
 * -ENOSPC no free slot there, -ENOMEM.
 */
int tier_move_start(struct tier *t, tier_block_t block, tier_slot_t from, u32 to_dev, enum tier_move_cause cause)
{
	return start(t, block, from, to_dev, TIER_NO_SLOT, cause);
}

/**
 * tier_move_to() - start to move a block to a certain slot, of any tier
 * @t: target
 * @block: block
 * @from: the slot it has to be in, or TIER_NO_SLOT
 * @to: slot
 *
 * Context: may sleep; config_sem held for reading.
 * Return: as of tier_move_start(); -ENOSPC @to is not free.
 */
int tier_move_to(struct tier *t, tier_block_t block, tier_slot_t from, tier_slot_t to)
{
	return start(t, block, from, tier_slot_dev(&t->g, to), to, TIER_MOVE_SETTLE);
}

/* ---- what the commit does with it ---- */

/* the move that brought a block to slot @to, for the commit that takes it up.  Stripe locked, commit thread */
struct tier_move *tier_move_find(struct tier *t, tier_slot_t to)
{
	struct tier_move *m, *found = NULL;

	spin_lock(&t->move_lock);
	list_for_each_entry(m, &t->switched, list)
		if (m->to == to) {
			found = m;
			break;
		}
	if (!WARN_ON_ONCE(!found))
		list_del_init(&found->list);
	spin_unlock(&t->move_lock);
	return found;
}

/* where the block of slot @from was moved to, if no commit has taken that up; else TIER_NO_SLOT.  Commit thread */
tier_slot_t tier_move_target(struct tier *t, tier_slot_t from)
{
	tier_slot_t to = TIER_NO_SLOT;
	struct tier_move *m;

	spin_lock_irq(&t->move_lock);
	list_for_each_entry(m, &t->switched, list)
		if (m->from == from)
			to = m->to;
	spin_unlock_irq(&t->move_lock);
	return to;
}

/* the commit failed: the next one takes it up.  Commit thread */
void tier_move_again(struct tier *t, struct tier_move *m)
{
	unsigned long flags;

	spin_lock_irqsave(&t->move_lock, flags);
	list_add(&m->list, &t->switched);
	spin_unlock_irqrestore(&t->move_lock, flags);
}

/* a commit has recorded it, or it never was */
static void recorded(struct tier *t, struct tier_move *m)
{
	spin_lock_irq(&t->move_lock);
	list_del_init(&m->unrecorded);
	spin_unlock_irq(&t->move_lock);
}

/* false: a request that began before the move is still reading the old slot */
static bool move_leave(struct tier *t, struct tier_move *m)
{
	struct tier_stripe *s = tier_stripe(t, m->hold.block);
	bool read;

	spin_lock_irq(&s->lock);
	read = __tier_hold_on_slot(s, m->hold.block, m->from);
	spin_unlock_irq(&s->lock);
	if (read)
		return false;
	atomic_dec(&t->devs[m->from_dev].leaving);
	spin_lock_irq(&t->move_lock);
	WRITE_ONCE(t->nr_switched, t->nr_switched - 1);
	spin_unlock_irq(&t->move_lock);
	tier_slot_freed(t, m->from);
	kfree(m);
	return true;
}

/* nobody finds it in its old slot any more, which is free when the last one has left it */
static void leave(struct tier *t, struct tier_move *m)
{
	if (move_leave(t, m))
		return;
	spin_lock_irq(&t->move_lock);
	list_add(&m->list, &t->leaving);
	spin_unlock_irq(&t->move_lock);
	tier_move_kick(t);
}

/* both records are durable.  Commit thread */
void tier_move_committed(struct tier *t, struct tier_move *m)
{
	recorded(t, m);
	leave(t, m);
}

struct copy_wait {
	struct completion done;
	bool read_failed;
	bool write_failed;
};

static void copy_waited(int read_err, unsigned long write_err, void *context)
{
	struct copy_wait *c = context;

	c->read_failed = read_err;
	c->write_failed = write_err;
	complete(&c->done);
}

/**
 * tier_move_copy() - copy and wait for it
 * @t: target, tiered
 * @from: what
 * @to: where to, as many sectors
 * @read_failed: tells which side failed
 *
 * Context: may sleep.
 * Return: 0 or -EIO.
 */
int tier_move_copy(struct tier *t, const struct dm_io_region *from, const struct dm_io_region *to, bool *read_failed)
{
	struct dm_io_region source = *from, dest = *to;
	struct copy_wait c = { };

	init_completion(&c.done);
	dm_kcopyd_copy(t->kcopyd, &source, 1, &dest, 0, copy_waited, &c);
	wait_for_completion_io(&c.done);
	*read_failed = c.read_failed;
	return c.read_failed || c.write_failed ? -EIO : 0;
}

/*
 * Sectors of a moved block that can't be read: what they were before is in the old slot; or zeros are, now: it has
 * nothing of granules that became valid since, and may have another block's data there.
 */
static int give_up_written(struct tier *t, const struct tier_move *m, const struct dm_io_region *old, u32 granule)
{
	if (!(m->grown >> granule & 1))
		return 0;
	return blkdev_issue_zeroout(old->bdev, old->sector, old->count, GFP_NOIO, BLKDEV_ZERO_NOUNMAP);
}

/*
 * What was written to a moved block is copied to its old slot, which has all the rest; the block is held.  What can't
 * be read is as if it had not been written; *@gone is set then.  Return: 0, or an error of the old slot's device.
 */
static int copy_back(struct tier *t, const struct tier_move *m, u64 valid, bool *gone)
{
	struct tier_dev *old = &t->devs[m->from_dev], *new = &t->devs[m->to_dev];
	u32 len = tier_block_len(t, m->hold.block), first, end, lost = 0;
	bool read_failed, any = false;

	for (first = find_first_bit(m->written, len); first < len; first = find_next_bit(m->written, len, end)) {
		u32 granule = first >> t->g.granule_shift;
		struct dm_io_region from = { .bdev = new->dm->bdev };
		struct dm_io_region to = { .bdev = old->dm->bdev };
		int r;

		end = min_t(u32, find_next_zero_bit(m->written, len, first), (granule + 1) << t->g.granule_shift);
		if (!(valid >> granule & 1))
			continue;
		from.sector = tier_slot_sector(t, m->to) + first;
		to.sector = tier_slot_sector(t, m->from) + first;
		from.count = end - first;
		to.count = end - first;
		any = true;
		r = tier_move_copy(t, &from, &to, &read_failed);
		if (r && read_failed) {
			tier_dev_error(t, new, "read", tier_block_sector(t, m->hold.block) + first);
			lost += end - first;
			*gone = true;
			r = give_up_written(t, m, &to, granule);
		}
		if (r) {
			tier_dev_error(t, old, "write", tier_block_sector(t, m->hold.block) + first);
			return r;
		}
	}
	if (any)
		tier_dev_acked(old);
	if (lost)
		DMERR_LIMIT("%s: %u sectors of the block at %llu that were written before a flush failed are lost", t->name,
			    lost, (unsigned long long)tier_block_sector(t, m->hold.block));
	return 0;
}

/* the block goes back to its old slot, with what was written to it since; false: that can't be written there */
static bool undo(struct tier *t, struct tier_move *m, bool *gone)
{
	struct tier_stripe *s = tier_stripe(t, m->hold.block);
	struct tier_hold_waiter w;
	u64 valid;
	int r;

	tier_hold_init(&w.hold, m->hold.block, tier_block_mask(t, m->hold.block), TIER_HOLD_ONLY);
	spin_lock_irq(&s->lock);
	__tier_hold_get(s, &w);
	valid = tier_slot_valid(&t->map, m->to);
	spin_unlock_irq(&s->lock);
	r = copy_back(t, m, valid, gone);
	if (r) {
		tier_hold_release(t, &w.hold);
		return false;
	}
	recorded(t, m);
	percpu_down_read(&t->config_sem);
	swap(m->from, m->to);
	swap(m->from_dev, m->to_dev);
	atomic_inc(&t->devs[m->from_dev].leaving);
	tell_policies(t, m, TIER_REMOVED_INVALID);
	spin_lock_irq(&s->lock);
	__switch_back(t, m);
	__tier_hold_release(s, &w.hold);
	spin_unlock_irq(&s->lock);
	/* pairs with evacuation_goes_on(): the block is counted as used there again, before it is not as leaving */
	smp_mb__before_atomic();
	atomic_dec(&t->devs[m->to_dev].leaving);
	percpu_up_read(&t->config_sem);
	leave(t, m);	/* what was its new slot becomes free as an old one does */
	return true;
}

/* a doubtful one to this device that is not in the commit under way; off the list, or NULL */
static struct tier_move *take_switched(struct tier *t, u32 dev)
{
	struct tier_move *m, *found = NULL;

	spin_lock_irq(&t->move_lock);
	list_for_each_entry(m, &t->switched, list)
		if (m->to_dev == dev && tier_move_doubtful(m)) {
			found = m;
			list_del_init(&m->list);
			break;
		}
	spin_unlock_irq(&t->move_lock);
	return found;
}

/**
 * tier_moves_undo() - a device may have lost what was written to it: moves there that no commit has recorded never were
 * @t: target
 * @dev: number of the device
 * @gone: set if something that was written since can't be read, and is lost
 *
 * What has been written to their blocks since goes with them.
 * Context: commit thread, with a snapshot.
 * Return: false if that failed for some, which stay where they are and are not to be recorded.
 */
bool tier_moves_undo(struct tier *t, u32 dev, bool *gone)
{
	struct tier_move *m, *tmp;
	LIST_HEAD(left);
	bool all = true;
	u32 i, nr = 0;

	for (i = 0; i < t->nr_snapshot; i++) {
		struct tier_snapshot *sn = &t->snapshot[i];

		if (!sn->move || sn->move->to_dev != dev || !tier_move_doubtful(sn->move))
			continue;
		if (!undo(t, sn->move, gone)) {
			all = false;
			continue;
		}
		sn->move = NULL;
		sn->undone = true;
		nr++;
	}
	while ((m = take_switched(t, dev))) {
		if (undo(t, m, gone))
			nr++;
		else
			list_add(&m->list, &left);
	}
	list_for_each_entry_safe(m, tmp, &left, list) {
		all = false;
		tier_move_again(t, m);
	}
	if (nr)
		DMWARN_LIMIT("%s: flush of tier %u failed: %u blocks that were moved there are in their old places again",
			     t->name, dev, nr);
	return all;
}

/* old slots that were still read when their move was committed; true: some still are */
static bool free_left(struct tier *t)
{
	struct tier_move *m, *tmp;
	LIST_HEAD(leaving);
	bool more;

	spin_lock_irq(&t->move_lock);
	list_splice_init(&t->leaving, &leaving);
	spin_unlock_irq(&t->move_lock);
	list_for_each_entry_safe(m, tmp, &leaving, list)
		leave(t, m);
	spin_lock_irq(&t->move_lock);
	more = !list_empty(&t->leaving);
	spin_unlock_irq(&t->move_lock);
	return more;
}

/* ---- moves that nobody asked for ---- */

/* do foreground requests take so long that moves should rest? */
static bool yields(struct tier *t)
{
	u32 limit = tier_tune(t, TIER_TUNE_YIELD_MS);
	u64 sum = 0, nr = 0;
	int cpu;

	if (time_before(jiffies, t->latency_look + msecs_to_jiffies(LATENCY_MS)))
		return limit && t->yielding;
	for_each_possible_cpu(cpu) {
		sum += READ_ONCE(per_cpu_ptr(t->latency, cpu)->sum);
		nr += READ_ONCE(per_cpu_ptr(t->latency, cpu)->nr);
	}
	t->yielding = limit && nr != t->latency_nr &&
		      jiffies_to_msecs(sum - t->latency_sum) > limit * (nr - t->latency_nr);
	t->latency_sum = sum;
	t->latency_nr = nr;
	t->latency_look = jiffies;
	return t->yielding;
}

/* seconds from the end of a round of automatic moves to the next; 0: they come at any time */
static u32 interval(struct tier *t)
{
	u32 when = tier_tune(t, TIER_TUNE_MIGRATION);

	return when > TIER_MIGRATION_MAX ? 0 : when;
}

/* does the schedule allow automatic moves now? */
static bool scheduled(struct tier *t)
{
	u32 when = tier_tune(t, TIER_TUNE_MIGRATION);

	if (when == TIER_MIGRATION_OFF || tier_settling(t) || yields(t))
		return false;
	if (when == TIER_MIGRATION_IDLE)
		return devices_idle(t);
	if (!interval(t) || !t->round_over)
		return true;
	if (time_before(jiffies, t->round_next))
		return false;
	t->round_over = false;
	return true;
}

/* may another move start, and is there rate left for it? */
bool tier_may_move(struct tier *t)
{
	tier_tokens_refill(&t->mig_tokens, &t->mig_token_time, tier_tune(t, TIER_TUNE_MIG_RATE));
	return !READ_ONCE(t->stopping) && atomic_read(&t->nr_moves) < MAX_MOVES && t->mig_tokens >= t->g.block_sectors;
}

struct victim {
	struct tier *t;
	u32 dev;
	tier_block_t block;
};

/* the policy's lock is held */
static enum tier_verdict take(void *context, tier_slot_t local)
{
	struct victim *v = context;
	struct tier *t = v->t;
	tier_slot_t slot = tier_local_slot(&t->g, v->dev, tier_from_slot(local));
	tier_block_t block = tier_slot_block(&t->map, slot);
	struct tier_stripe *s = tier_stripe(t, block);
	enum tier_verdict verdict = TIER_VICTIM_SKIP;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	if (tier_map_lookup(&t->map, block) == slot && !__movable(t, slot, TIER_MOVE_DEMOTE) &&
	    !__tier_block_busy(s, block)) {
		v->block = block;
		verdict = TIER_VICTIM_TAKE;
	}
	spin_unlock_irqrestore(&s->lock, flags);
	return verdict;
}

/* the policy's coldest block goes to tier @to; config_sem held for reading */
static bool demote_one(struct tier *t, u32 dev, u32 to)
{
	struct tier_policy *p = t->devs[dev].policy;
	struct victim v = { .t = t, .dev = dev };
	tier_slot_t local;

	if (!p->type->victim(p, take, &v, VICTIM_BUDGET, &local))
		return false;
	if (!tier_move_start(t, v.block, tier_local_slot(&t->g, dev, tier_from_slot(local)), to, TIER_MOVE_DEMOTE))
		return true;
	p->type->victim_kept(p, v.block, local);
	return false;
}

/* a policy wants a slot given up; config_sem held for reading */
void tier_demote_slot(struct tier *t, u32 dev, tier_slot_t local)
{
	tier_slot_t slot = tier_local_slot(&t->g, dev, tier_from_slot(local));
	u32 to = tier_settling(t) ? t->nr_devs : tier_with_room(t, dev, false);

	if (to < t->nr_devs)
		tier_move_start(t, tier_slot_block(&t->map, slot), slot, to, TIER_MOVE_ROOM);
}

/* any block goes to tier @to: the tier is fuller than it should be, and nobody knows better */
static bool make_room(struct tier *t, u32 dev, u32 to)
{
	struct tier_dev *d = &t->devs[dev];
	u32 budget = min(ROOM_BUDGET, d->nr_slots);

	while (budget--) {
		tier_slot_t slot = tier_local_slot(&t->g, dev, d->cursor);

		d->cursor = d->cursor + 1 < d->nr_slots ? d->cursor + 1 : 0;
		if ((tier_slot_flags(&t->map, slot) & (TIER_SLOT_MAPPED | TIER_SLOT_PINNED)) == TIER_SLOT_MAPPED &&
		    !tier_move_start(t, tier_slot_block(&t->map, slot), slot, to, TIER_MOVE_ROOM))
			return true;
	}
	return false;
}

/* keep a tier's free slots above the watermarks; true: it did something, or waits for something */
static bool balance(struct tier *t, u32 dev)
{
	struct tier_dev *d = &t->devs[dev];
	bool any = false;

	for (;;) {
		u32 soon = free_soon(d), to;

		if (soon < low_water(t, d))
			d->demoting = true;
		else if (soon >= high_water(t, d))
			d->demoting = false;
		if (!d->demoting)
			return any;
		/* upwards only what the tier has too much; the last one has no policy */
		to = tier_with_room(t, dev, soon < d->kept);
		if (to == t->nr_devs) {
			d->demoting = false;
			return any;
		}
		if (!tier_may_move(t))
			return true;
		if (!(d->policy ? demote_one(t, dev, to) : make_room(t, dev, to)))
			return any;
		t->mig_tokens -= t->g.block_sectors;
		any = true;
	}
}

/* blocks that policies want on a faster tier; true: some wait */
static bool promote(struct tier *t)
{
	for (;;) {
		tier_block_t block;
		u32 to;
		int r;

		if (!tier_promote_waits(t))
			return false;
		if (!tier_may_move(t))
			return true;
		if (!tier_promote_take(t, &block, &to))
			return false;
		r = -ENOSPC;
		if (tier_dev_takes(&t->devs[to]))
			r = tier_move_start(t, block, TIER_NO_SLOT, to, TIER_MOVE_PROMOTE);
		if (r)
			t->devs[to].policy->type->aborted(t->devs[to].policy, block);
		else
			t->mig_tokens -= t->g.block_sectors;
	}
}

/**
 * tier_moves() - start the automatic moves that are due
 * @t: target, tiered
 *
 * Context: worker, one at a time.
 * Return: true if it is to be called again soon.
 */
bool tier_moves(struct tier *t)
{
	bool again = free_left(t), busy = false;
	u32 d;

	if (READ_ONCE(t->stopping) || tier_health(t) >= TIER_HEALTH_RO)
		return false;
	/* who changes the schedule ends the rest: not between the look at it and the rest that follows from that */
	percpu_down_read(&t->config_sem);
	if (scheduled(t)) {
		for (d = 0; d < t->nr_devs; d++)
			busy |= balance(t, d);
		busy |= promote(t);
		if (!busy && !atomic_read(&t->nr_moves) && interval(t)) {
			t->round_over = true;
			t->round_next = jiffies + interval(t) * HZ;
		}
	}
	percpu_up_read(&t->config_sem);
	/*
	 * What was moved is committed soon, so that its old slots can be used; or when the timer says so, if a device
	 * could not be flushed
	 */
	if (READ_ONCE(t->nr_switched) && !READ_ONCE(t->commit_lost) && !atomic_read(&t->nr_moves) &&
	    list_empty(&t->leaving))
		tier_commit_kick(t, true);
	return again || busy;
}

/* ---- life ---- */

/**
 * tier_move_init() - what tiered mode needs beside the cache's structures
 * @t: being constructed
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int tier_move_init(struct tier *t)
{
	t->latency = alloc_percpu(struct tier_latency);
	if (!t->latency)
		return -ENOMEM;
	t->kcopyd = dm_kcopyd_client_create(NULL);
	if (IS_ERR(t->kcopyd)) {
		int r = PTR_ERR(t->kcopyd);

		t->kcopyd = NULL;
		return r;
	}
	return 0;
}

void tier_move_exit(struct tier *t)
{
	if (t->kcopyd)
		dm_kcopyd_client_destroy(t->kcopyd);
	free_percpu(t->latency);
}

/* the target is unloaded: moves that no commit could record */
void tier_move_forget(struct tier *t)
{
	struct tier_move *m, *tmp;

	list_splice_init(&t->leaving, &t->switched);
	list_for_each_entry_safe(m, tmp, &t->switched, list)
		kfree(m);
	INIT_LIST_HEAD(&t->switched);
	INIT_LIST_HEAD(&t->unrecorded);
	t->nr_switched = 0;
}
