// SPDX-License-Identifier: GPL-2.0
/*
 * Bios: what goes where, and what follows when it is done.
 *
 * A bio lies in one block (max_io_len, or cut here).  Its way:
 *
 *	tier_io_map	-> process -> decide	under the stripe's lock: look up, choose, hold
 *			   go			remap, or queue for the worker
 *	worker		-> process		those that had to wait decide again
 *			-> submit_legs		those that need both devices
 *	tier_io_end	-> finish		under the stripe's lock: what is valid and dirty now
 *			-> acknowledge, commit first, or try again
 *
 * For the granules a bio touches ("mask"), decide() computes which are served by the fast device
 * ("fast"), and of which the copy ends with it ("drop").  In .map a bio that would need both devices is cut
 * at the boundary; one that waited can't be cut any more and goes out in legs.
 *
 * In tiered mode "fast" are the granules that the block's slot serves, whichever device it is on; what is not
 * valid reads as zeros.  A write goes to the slot, which is taken at the first one; if it begins or ends
 * within a granule that is not valid, the worker fills that with zeros before.
 */
#include <linux/module.h>
#include "tier.h"
#include "tier-trace.h"

enum step {
	STEP_GO,	/* route chosen, granules held */
	STEP_ASK,	/* the policy has to be asked first */
	STEP_WAIT,	/* queued: its granules are in use, or its region is not marked yet */
	STEP_FILL,	/* to be queued for a fill */
	STEP_ZERO,	/* reads as zeros, or writes zeros where zeros are: no device is needed */
	STEP_NOSPC,	/* no slot can be had for it */
	STEP_MISSING,	/* it is on a tier that is missing */
};

/* what the policy is told after decide() */
#define EVENT_HIT	BIT(0)
#define EVENT_INSERTED	BIT(1)
#define EVENT_KEPT	BIT(2)
#define EVENT_FILL_HIT	BIT(3)

static struct bio *io_bio(struct tier_io *io)
{
	return dm_bio_from_per_bio_data(io, sizeof(struct tier_io));
}

static bool io_is_write(const struct tier_io *io)
{
	return io->flags & TIER_IO_WRITE;
}

/* ---- the slot's state; stripe locked ---- */

/* its record on the disk is no longer true: the next commit takes it up */
void __tier_slot_changed(struct tier *t, tier_slot_t slot)
{
	u32 s = tier_from_slot(slot);

	tier_assert_locked(t, tier_slot_block(&t->map, slot));
	if (tier_slot_flags(&t->map, slot) & TIER_SLOT_CHANGED)
		return;
	tier_slot_change_flags(&t->map, slot, 0, TIER_SLOT_CHANGED);
	set_bit(s, t->changed);
	/* pairs with the order of test_and_clear_bit() and xchg() in collect_changed() */
	smp_mb__after_atomic();
	set_bit(s / BITS_PER_LONG, t->changed_sum);
	atomic_inc(&t->nr_changed);
}

/* @replaced: granules of which nobody needs what is on the slow device: all of it has been written anew or discarded */
void __tier_slot_replaced(struct tier *t, tier_slot_t slot, u64 valid, u64 dirty, u64 replaced)
{
	u64 old_valid = tier_slot_valid(&t->map, slot);
	u64 old_dirty = tier_slot_dirty(&t->map, slot);
	int diff;

	tier_assert_locked(t, tier_slot_block(&t->map, slot));
	if (valid == old_valid && dirty == old_dirty)
		return;
	if (WARN_ON_ONCE((dirty & ~valid) || !(tier_slot_flags(&t->map, slot) & TIER_SLOT_MAPPED))) {
		/* nothing that is known of any slot can be believed now */
		tier_set_health(t, TIER_HEALTH_FAIL, "the mapping contradicts itself");
		return;
	}
	tier_slot_set_granules(&t->map, slot, valid, dirty);
	if (tier_exclusive(t) && (valid & ~old_valid))
		__tier_move_grew(t, slot, valid & ~old_valid);
	__tier_settle_grew(t, tier_slot_block(&t->map, slot), valid & ~old_valid);
	if (old_valid & ~valid)
		tier_slot_change_flags(&t->map, slot, 0, TIER_SLOT_LOST);
	if ((old_valid & ~valid & ~replaced) && (tier_slot_flags(&t->map, slot) & TIER_SLOT_WRITTEN))
		tier_slot_change_flags(&t->map, slot, 0, TIER_SLOT_GONE);
	diff = (int)hweight64(dirty) - (int)hweight64(old_dirty);
	if (diff)
		atomic64_add(diff, &t->nr_dirty);
	if (!dirty != !old_dirty) {
		u64 block = tier_from_block(tier_slot_block(&t->map, slot));
		atomic_t *region = &t->wb_dirty[block >> t->wb_shift];

		if (dirty) {
			atomic_inc(&t->nr_dirty_slots);
			atomic_inc(region);
		} else {
			atomic_dec(&t->nr_dirty_slots);
			atomic_dec(region);
		}
	}
	if (!dirty && (tier_slot_flags(&t->map, slot) & TIER_SLOT_WB_FAILED)) {
		tier_slot_change_flags(&t->map, slot, TIER_SLOT_WB_FAILED, 0);
		atomic64_dec(&t->unwritable);
	}
	__tier_slot_changed(t, slot);
}

void __tier_slot_update(struct tier *t, tier_slot_t slot, u64 valid, u64 dirty)
{
	tier_assert_locked(t, tier_slot_block(&t->map, slot));
	__tier_slot_replaced(t, slot, valid, dirty, 0);
}

void __tier_slot_pin(struct tier *t, tier_slot_t slot, bool pin)
{
	tier_assert_locked(t, tier_slot_block(&t->map, slot));
	if (!(tier_slot_flags(&t->map, slot) & TIER_SLOT_PINNED) != pin)
		return;
	tier_slot_change_flags(&t->map, slot, TIER_SLOT_PINNED, pin ? TIER_SLOT_PINNED : 0);
	atomic_add(pin ? 1 : -1, &t->nr_pinned);
	if (tier_exclusive(t))
		atomic_add(pin ? 1 : -1, &tier_slot_device(t, slot)->pinned);
	__tier_slot_changed(t, slot);
}

/* a slot given up is used again after all; the policy is told by the caller, unlocked */
void __tier_slot_reuse(struct tier *t, tier_slot_t slot)
{
	tier_assert_locked(t, tier_slot_block(&t->map, slot));
	tier_slot_change_flags(&t->map, slot, TIER_SLOT_EVICTED, 0);
	atomic_dec(&t->nr_evicted);
}

/* a free slot for a block that has none, or TIER_NO_SLOT */
tier_slot_t __tier_slot_alloc(struct tier *t, tier_block_t block)
{
	tier_slot_t slot;

	tier_assert_locked(t, block);
	spin_lock(&t->free_lock);
	slot = tier_map_take(&t->map, &t->map.free);
	spin_unlock(&t->free_lock);
	if (slot != TIER_NO_SLOT) {
		tier_map_insert(&t->map, slot, block, TIER_SLOT_FRESH);
		atomic_inc(&t->nr_used);
	}
	if (tier_slots_low(t))
		tier_reclaim_kick(t);
	return slot;
}

/*
 * Could a durable record (or the one that a commit is writing) say that one of these granules is clean,
 * while this write makes the copy and the slow device differ?  A granule that is dirty in core needs no
 * mark: its record says dirty, or says clean while the region is still marked from the write that made it
 * dirty.  One that is invalid in core is so in the record too, unless one was lost since.  A slot without
 * any record yet gets one as soon as a commit takes its snapshot, which may be while this write is under
 * way: then what is valid now is in it.
 */
static bool __needs_intent(struct tier *t, tier_slot_t slot, u64 mask)
{
	u32 flags;
	u64 maybe_clean;

	if (slot == TIER_NO_SLOT)
		return false;
	tier_assert_locked(t, tier_slot_block(&t->map, slot));
	flags = tier_slot_flags(&t->map, slot);
	maybe_clean = tier_slot_valid(&t->map, slot);
	if ((flags & (TIER_SLOT_LOST | TIER_SLOT_FRESH)) == TIER_SLOT_LOST)
		maybe_clean = ~0ULL;
	return mask & maybe_clean & ~tier_slot_dirty(&t->map, slot);
}

static bool __slot_settled(struct tier *t, tier_slot_t slot)
{
	tier_assert_locked(t, tier_slot_block(&t->map, slot));
	return !(tier_slot_flags(&t->map, slot) &
		 (TIER_SLOT_FRESH | TIER_SLOT_CHANGED | TIER_SLOT_COMMITTING));
}

/* ---- queues ---- */

void tier_io_queue(struct tier *t, struct tier_io *io, struct list_head *list)
{
	unsigned long flags;

	spin_lock_irqsave(&t->io_lock, flags);
	list_add_tail(&io->list, list);
	spin_unlock_irqrestore(&t->io_lock, flags);
	queue_work(t->wq, &t->io_work);
}

/* they decide again, in the worker */
void tier_io_retry(struct tier *t, struct list_head *list)
{
	unsigned long flags;

	if (list_empty(list))
		return;
	spin_lock_irqsave(&t->io_lock, flags);
	list_splice_tail_init(list, &t->deferred);
	spin_unlock_irqrestore(&t->io_lock, flags);
	queue_work(t->wq, &t->io_work);
}

/* decide again, in the worker */
void tier_io_defer(struct tier_io *io)
{
	io->route = TIER_ROUTE_NONE;
	tier_io_queue(io->t, io, &io->t->deferred);
}

/* the hold that a bio waited for was granted.  Stripe locked */
static void io_granted(struct tier_hold *h)
{
	struct tier_io *io = container_of(h, struct tier_io, hold);

	tier_assert_locked(io->t, h->block);
	io->flags |= TIER_IO_HELD;
	tier_io_queue(io->t, io, &io->t->deferred);
}

static void wake_waiter(struct tier_hold *h)
{
	complete(&container_of(h, struct tier_hold_waiter, hold)->done);
}

/**
 * __tier_hold_get() - take a hold, in its turn
 * @s: stripe of the block, locked with interrupts off; not while this waits
 * @w: its hold is initialised
 *
 * Context: may sleep; config_sem must not be held, those who have the hold may need it.
 */
void __tier_hold_get(struct tier_stripe *s, struct tier_hold_waiter *w)
{
	lockdep_assert_held(&s->lock);
	if (__tier_hold_try(s, &w->hold))
		return;
	init_completion(&w->done);
	__tier_hold_wait(s, &w->hold, wake_waiter);
	spin_unlock_irq(&s->lock);
	wait_for_completion(&w->done);
	spin_lock_irq(&s->lock);
}

void tier_hold_release(struct tier *t, struct tier_hold *h)
{
	struct tier_stripe *s = tier_stripe(t, h->block);
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	__tier_hold_release(s, h);
	spin_unlock_irqrestore(&s->lock, flags);
}

/* end a bio that .map has taken over */
void tier_io_complete(struct tier_io *io, blk_status_t status)
{
	struct bio *bio = io_bio(io);

	io->route = TIER_ROUTE_DONE;
	bio->bi_status = status;
	bio_endio(bio);
}

/* ---- decide ---- */

/* granules that a request touches, and those it covers (the device's end counts as a granule's end) */
static void set_masks(struct tier_io *io)
{
	struct tier *t = io->t;
	u32 shift = t->g.granule_shift;
	u32 off = io->start & (t->g.block_sectors - 1);
	u32 end = off + io->sectors;
	u32 first = off >> shift;
	u32 last = (end - 1) >> shift;
	u32 block_len = tier_block_len(t, io->hold.block);

	io->mask = tier_granule_mask(first, last);
	io->full = io->mask;
	if (off & (t->g.granule_sectors - 1))
		io->full &= ~BIT_ULL(first);
	if ((end & (t->g.granule_sectors - 1)) && end != block_len)
		io->full &= ~BIT_ULL(last);
}

/* cut the bio behind the first run of granules that are alike in @which */
static void cut_to_run(struct tier_io *io, u64 which)
{
	struct tier *t = io->t;
	u32 off = io->start & (t->g.block_sectors - 1);
	u32 first = off >> t->g.granule_shift;
	u64 alike = (which >> first & 1 ? which : ~which) >> first;
	u32 run = alike == ~0ULL ? 64 : __ffs64(~alike);

	io->sectors = ((first + run) << t->g.granule_shift) - off;
	dm_accept_partial_bio(io_bio(io), io->sectors);
	io->iter = io_bio(io)->bi_iter;
	set_masks(io);
}

static bool uniform(u64 which, u64 mask)
{
	return (which & mask) == mask || !(which & mask);
}

/* does this request leave clean copies and new data on the fast device alone? */
static bool avoids_fast(const struct tier_io *io)
{
	struct tier *t = io->t;

	return t->mode == TIER_MODE_PASSTHROUGH || !tier_may_use_fast(t) || (io->flags & TIER_IO_NO_FAST);
}

static bool admitted(const struct tier_io *io)
{
	return io->admit == TIER_POPULATE || io->admit == TIER_FILL;
}

/* the policy said that it wants the block */
static bool wanted(const struct tier_io *io)
{
	return (io->flags & TIER_IO_ADMITTED) && io->admit != TIER_BYPASS && io->admit != TIER_BYPASS_SEQ;
}

static enum step plan_read(struct tier_io *io, bool in_map, enum tier_hold_mode *mode)
{
	struct tier *t = io->t;
	u64 usable = 0;

	tier_assert_locked(t, io->hold.block);
	*mode = TIER_HOLD_READ;
	io->drop = 0;
	if (io->slot != TIER_NO_SLOT)
		usable = avoids_fast(io) ? tier_slot_dirty(&t->map, io->slot) :
					   tier_slot_valid(&t->map, io->slot);
	if (in_map && !uniform(usable, io->mask))
		cut_to_run(io, usable);
	io->fast = usable & io->mask;
	if (io->fast) {
		io->route = io->fast == io->mask ? TIER_ROUTE_FAST : TIER_ROUTE_LEGS;
		return STEP_GO;
	}
	io->route = TIER_ROUTE_SLOW;
	if (avoids_fast(io) || (io->flags & (TIER_IO_NO_FILL | TIER_IO_HELD)) ||
	    tier_in_discard(t, io->start, io->sectors))
		return STEP_GO;
	if (!(io->flags & TIER_IO_ADMITTED))
		return STEP_ASK;
	if (!admitted(io))
		return STEP_GO;
	io->route = TIER_ROUTE_FILL;
	return STEP_FILL;
}

/*
 * Writeback: granules that are valid, or covered and admitted, go to the fast device and become dirty.
 * Writethrough: the same granules go to both.  Writearound, passthrough, or a failing fast device: all to
 * the slow device, and the copy ends; only a part of a dirty granule still has to join the rest of it.
 */
static enum step plan_write(struct tier_io *io, bool in_map, enum tier_hold_mode *mode)
{
	struct tier *t = io->t;
	u64 valid = 0, dirty = 0, land;
	bool both = false;

	tier_assert_locked(t, io->hold.block);
	if (io->slot != TIER_NO_SLOT) {
		valid = tier_slot_valid(&t->map, io->slot);
		dirty = tier_slot_dirty(&t->map, io->slot);
	}
	if (avoids_fast(io) || t->mode == TIER_MODE_WRITEAROUND ||
	    (t->mode == TIER_MODE_WRITETHROUGH && tier_in_discard(t, io->start, io->sectors))) {
		io->fast = dirty & io->mask & ~io->full;
	} else {
		both = t->mode == TIER_MODE_WRITETHROUGH;
		land = io->full & ~valid;
		if (land && !(io->flags & TIER_IO_ADMITTED))
			return STEP_ASK;
		if (!admitted(io) || (io->slot == TIER_NO_SLOT && !READ_ONCE(t->map.free.nr)))
			land = 0;
		io->fast = (io->mask & valid) | land;
	}
	if (in_map && !uniform(io->fast, io->mask)) {
		cut_to_run(io, io->fast);
		io->fast &= io->mask;
	}
	io->flags &= ~TIER_IO_BOTH;
	if (both && io->fast) {
		io->flags |= TIER_IO_BOTH;
		io->drop = 0;
		io->route = TIER_ROUTE_LEGS;
		*mode = TIER_HOLD_ONLY;
		return STEP_GO;
	}
	io->drop = io->mask & ~io->fast & valid;
	*mode = io->drop ? TIER_HOLD_ONLY : TIER_HOLD_WRITE;
	if (!io->fast)
		io->route = TIER_ROUTE_SLOW;
	else
		io->route = io->fast == io->mask ? TIER_ROUTE_FAST : TIER_ROUTE_LEGS;
	return STEP_GO;
}

/* tiered mode: all goes to the block's slot */
static enum step plan_exclusive(struct tier_io *io, bool in_map, enum tier_hold_mode *mode)
{
	struct tier *t = io->t;
	u64 valid = io->slot == TIER_NO_SLOT ? 0 : tier_slot_valid(&t->map, io->slot);

	io->drop = 0;
	if (io_is_write(io)) {
		if (io->slot == TIER_NO_SLOT && (io->opf & REQ_OP_MASK) == REQ_OP_WRITE_ZEROES)
			return STEP_ZERO;
		if (io->slot == TIER_NO_SLOT && !(io->flags & TIER_IO_ADMITTED))
			return STEP_ASK;
		io->fast = io->mask;
		io->route = TIER_ROUTE_FAST;
		*mode = TIER_HOLD_WRITE;
		if (io->mask & ~io->full & ~valid) {
			io->route = TIER_ROUTE_PAD;
			*mode = TIER_HOLD_ONLY;
		}
		return STEP_GO;
	}
	if (in_map && !uniform(valid, io->mask))
		cut_to_run(io, valid);
	io->fast = valid & io->mask;
	if (!io->fast)
		return STEP_ZERO;
	*mode = TIER_HOLD_READ;
	io->route = io->fast == io->mask ? TIER_ROUTE_FAST : TIER_ROUTE_LEGS;
	return STEP_GO;
}

/* FUA: can the data alone, written with FUA, make the write durable, or does its record have to follow? */
static void plan_fua(struct tier_io *io)
{
	struct tier *t = io->t;
	u64 dirty = io->slot == TIER_NO_SLOT ? 0 : tier_slot_dirty(&t->map, io->slot);

	tier_assert_locked(t, io->hold.block);
	io->flags &= ~(TIER_IO_COMMIT | TIER_IO_FAST_FUA);
	if (!(io->flags & TIER_IO_FUA) || io->slot == TIER_NO_SLOT)
		return;
	if (io->fast && !(io->flags & TIER_IO_BOTH)) {
		if (io->fast == io->mask && __slot_settled(t, io->slot) && (io->mask & dirty) == io->mask)
			io->flags |= TIER_IO_FAST_FUA;
		else
			io->flags |= TIER_IO_COMMIT;
	} else if (!__slot_settled(t, io->slot) || (io->mask & dirty) || io->drop) {
		/* a record may say, or be about to say, that the fast device has it */
		io->flags |= TIER_IO_COMMIT;
	}
}

static bool take_hold(struct tier_io *io, struct tier_stripe *s, enum tier_hold_mode mode)
{
	lockdep_assert_held(&s->lock);
	if (io->hold.state == TIER_HOLD_GRANTED) {
		if (io->hold.mode == mode && io->hold.mask == io->mask)
			return true;
		__tier_hold_release(s, &io->hold);
	}
	tier_hold_init(&io->hold, io->hold.block, io->mask, mode);
	if (__tier_hold_try(s, &io->hold))
		return true;
	io->route = TIER_ROUTE_NONE;
	__tier_hold_wait(s, &io->hold, io_granted);
	return false;
}

/* the region has to be marked on the disk before this write may start */
static void wait_for_intent(struct tier_io *io, struct tier_stripe *s)
{
	struct tier *t = io->t;

	lockdep_assert_held(&s->lock);
	__tier_hold_release(s, &io->hold);
	io->flags &= ~TIER_IO_HELD;
	io->route = TIER_ROUTE_NONE;
	spin_lock(&t->commit_lock);
	list_add_tail(&io->list, &t->intents);
	spin_unlock(&t->commit_lock);
	queue_work(t->commit_wq, &t->commit_work);
}

/* a write waits for slots that the next commit frees */
static void starve(struct tier_io *io)
{
	struct tier *t = io->t;
	unsigned long flags;

	io->flags &= ~TIER_IO_HELD;
	io->route = TIER_ROUTE_NONE;
	io->region = atomic_read(&t->freed);
	spin_lock_irqsave(&t->io_lock, flags);
	list_add_tail(&io->list, &t->starved);
	spin_unlock_irqrestore(&t->io_lock, flags);
	smp_mb();	/* pairs with move_end() */
	if (!atomic_read(&t->nr_moves))
		queue_work(t->commit_wq, &t->commit_work);
}

static void count_access(struct tier_io *io, bool hit, u32 *events)
{
	struct tier *t = io->t;

	if (io->flags & TIER_IO_COUNTED)
		return;
	io->flags |= TIER_IO_COUNTED;
	/* the block was used, even if not all of it was there */
	if (io->slot != TIER_NO_SLOT && !(*events & EVENT_INSERTED))
		*events |= EVENT_HIT;
	if (io_is_write(io))
		tier_count(t, hit ? TIER_STAT_WRITE_HITS : TIER_STAT_WRITE_MISSES, 1);
	else
		tier_count(t, hit ? TIER_STAT_READ_HITS : TIER_STAT_READ_MISSES, 1);
	if (hit) {
		trace_tier_hit(t->name, io->start, io->sectors, io_is_write(io));
		return;
	}
	trace_tier_miss(t->name, io->start, io->sectors, io_is_write(io), io->admit);
	if (io->fast || io->route == TIER_ROUTE_FILL)
		return;
	if (!tier_may_use_fast(t) || (io->flags & TIER_IO_NO_FAST))
		tier_count(t, TIER_STAT_BYPASS_ERROR, 1);
	else if (t->mode == TIER_MODE_PASSTHROUGH || (io_is_write(io) && t->mode == TIER_MODE_WRITEAROUND))
		tier_count(t, TIER_STAT_BYPASS_MODE, 1);
	else if (io_is_write(io) && !io->full)
		tier_count(t, TIER_STAT_BYPASS_PARTIAL, 1);
	else if (io->flags & TIER_IO_ADMITTED && !admitted(io))
		tier_count(t, io->admit == TIER_BYPASS_SEQ ? TIER_STAT_BYPASS_SEQ : TIER_STAT_BYPASS_POLICY, 1);
	else
		tier_count(t, TIER_STAT_BYPASS_NOSLOT, 1);
}

/* a slot for the first write of a block; without one it waits for the slots that are about to be free */
static enum step land(struct tier_io *io, struct tier_stripe *s, u32 *events)
{
	struct tier *t = io->t;
	u32 freed = atomic_read(&t->freed);

	io->slot = __tier_slot_land(t, io->hold.block, io->admit == TIER_BYPASS_SEQ,
				    io->flags & TIER_IO_NO_FAST ? io->dev : -1);
	if (io->slot != TIER_NO_SLOT) {
		*events |= EVENT_INSERTED;
		return STEP_GO;
	}
	__tier_hold_release(s, &io->hold);
	if ((io->flags & TIER_IO_GIVE_UP) ||
	    ((io->flags & TIER_IO_STARVED) && io->region == freed && !tier_moves_wait(t)))
		return STEP_NOSPC;
	io->flags |= TIER_IO_STARVED;
	starve(io);
	return STEP_WAIT;
}

static enum step decide_exclusive(struct tier_io *io, struct tier_stripe *s, bool in_map, u32 *events)
{
	struct tier *t = io->t;
	enum tier_hold_mode mode = TIER_HOLD_READ;
	enum step step;

	lockdep_assert_held(&s->lock);
	io->slot = tier_map_lookup(&t->map, io->hold.block);
	step = plan_exclusive(io, in_map, &mode);
	if (step == STEP_ASK)
		return step;
	if (t->readonly && step == STEP_GO) {	/* a read: it has a slot */
		io->dev = tier_slot_dev(&t->g, io->slot);
		if (tier_dev_missing(&t->devs[io->dev]))
			step = STEP_MISSING;
	}
	if (step != STEP_GO) {
		if (io->hold.state == TIER_HOLD_GRANTED)
			__tier_hold_release(s, &io->hold);
		return step;
	}
	if (!take_hold(io, s, mode))
		return STEP_WAIT;
	if (io->slot == TIER_NO_SLOT) {
		step = land(io, s, events);
		if (step != STEP_GO)
			return step;
	}
	io->dev = tier_slot_dev(&t->g, io->slot);
	io->hold.slot = io->slot;
	if (io_is_write(io)) {
		plan_fua(io);
		tier_settle_written(t, io->hold.block);
	}
	if (!(io->flags & TIER_IO_COUNTED)) {
		io->flags |= TIER_IO_COUNTED;
		if (!(*events & EVENT_INSERTED))
			*events |= EVENT_HIT;
		tier_dev_count(&t->devs[io->dev], io_is_write(io) ? TIER_DEV_WRITES : TIER_DEV_READS);
		if (io_is_write(io))
			tier_count(t, io->dev ? TIER_STAT_WRITE_MISSES : TIER_STAT_WRITE_HITS, 1);
		else
			tier_count(t, io->dev ? TIER_STAT_READ_MISSES : TIER_STAT_READ_HITS, 1);
		if (io->dev)
			trace_tier_miss(t->name, io->start, io->sectors, io_is_write(io), io->admit);
		else
			trace_tier_hit(t->name, io->start, io->sectors, io_is_write(io));
	}
	return STEP_GO;
}

/*
 * Choose the route and take what it needs.  Stripe locked, config_sem held for reading.
 * @events: what the policy has to be told afterwards
 */
static enum step decide(struct tier_io *io, struct tier_stripe *s, bool in_map, u32 *events)
{
	struct tier *t = io->t;
	enum tier_hold_mode mode = TIER_HOLD_WRITE;
	enum step step;
	bool hit;

	lockdep_assert_held(&s->lock);
	lockdep_assert_held(&t->config_sem);
	io->dev = 0;
	io->slot = tier_map_lookup(&t->map, io->hold.block);
	step = io_is_write(io) ? plan_write(io, in_map, &mode) : plan_read(io, in_map, &mode);
	if (step == STEP_ASK)
		return step;
	hit = io->fast == io->mask && io->slot != TIER_NO_SLOT &&
	      !(io->mask & ~tier_slot_valid(&t->map, io->slot));
	if (step == STEP_FILL) {
		count_access(io, false, events);
		return step;
	}
	if (!take_hold(io, s, mode))
		return STEP_WAIT;
	if (io_is_write(io)) {
		u32 region = tier_block_region(&t->g, io->hold.block);

		if (__needs_intent(t, io->slot, io->mask)) {
			if (!tier_intent_take(t, region)) {
				wait_for_intent(io, s);
				return STEP_WAIT;
			}
			io->region = region;
			io->flags |= TIER_IO_INTENT;
		}
		if (io->fast && io->slot == TIER_NO_SLOT) {
			io->slot = __tier_slot_alloc(t, io->hold.block);
			if (io->slot == TIER_NO_SLOT) {
				io->fast = 0;
				io->route = TIER_ROUTE_SLOW;
				io->flags &= ~TIER_IO_BOTH;
			} else {
				*events |= EVENT_INSERTED;
			}
		} else if (io->fast && (tier_slot_flags(&t->map, io->slot) & TIER_SLOT_EVICTED)) {
			__tier_slot_reuse(t, io->slot);
			*events |= EVENT_KEPT;
		}
		plan_fua(io);
		if (t->mode == TIER_MODE_WRITEBACK) {
			this_cpu_inc(*t->dirtying);
			io->flags |= TIER_IO_DIRTYING;
		}
	}
	count_access(io, hit, events);
	if (hit && (tier_slot_flags(&t->map, io->slot) & TIER_SLOT_TRACKED))
		*events |= EVENT_FILL_HIT;
	return STEP_GO;
}

static void fill_access(const struct tier_io *io, struct tier_access *a)
{
	a->sector = io->start;
	a->sectors = io->sectors;
	a->now = tier_now();
	a->flags = io_is_write(io) ? TIER_ACCESS_WRITE : 0;
	if (io->mask == tier_block_mask(io->t, io->hold.block) && io->full == io->mask)
		a->flags |= TIER_ACCESS_WHOLE;
	if (io->slot == TIER_NO_SLOT)
		a->flags |= TIER_ACCESS_NEW;
	/* data_race: a hint, the slot may have changed since */
	else if (io->mask & ~data_race(tier_slot_valid(&io->t->map, io->slot)))
		a->flags |= TIER_ACCESS_PARTIAL;
}

/* ask for admission; config_sem held for reading, no lock */
static void ask_policy(struct tier_io *io)
{
	struct tier *t = io->t;
	struct tier_access a;

	lockdep_assert_held(&t->config_sem);
	fill_access(io, &a);
	io->admit = t->policy->type->miss(t->policy, io->hold.block, &a);
	io->flags |= TIER_IO_ADMITTED;
	/* a block that lands is inserted wherever that is, see tell_exclusive() */
	if (io->admit == TIER_PROMOTE && !tier_exclusive(t) && !tier_promote_later(t, io->hold.block, 0))
		t->policy->type->aborted(t->policy, io->hold.block);
}

/* the policies of the tiers above the block's are asked whether they want it, the fastest first */
static void ask_above(struct tier_io *io, struct tier_access *a)
{
	struct tier *t = io->t;
	u32 d;

	a->flags |= TIER_ACCESS_NEW;
	for (d = 0; d < io->dev; d++) {
		struct tier_policy *p = t->devs[d].policy;
		enum tier_admit admit = p->type->miss(p, io->hold.block, a);

		if (admit == TIER_BYPASS || admit == TIER_BYPASS_SEQ)
			continue;
		if (tier_promote_later(t, io->hold.block, d))
			return;
		p->type->aborted(p, io->hold.block);
	}
}

/* tiered mode: tell the policy of the block's tier, and those above; config_sem held for reading, no lock */
static void tell_exclusive(struct tier_io *io, u32 events)
{
	struct tier *t = io->t;
	struct tier_policy *p = t->devs[io->dev].policy;
	struct tier_access a;

	if (!events)
		return;
	fill_access(io, &a);
	if (events & EVENT_INSERTED) {
		a.flags |= TIER_ACCESS_NEW;
		tier_dev_count(&t->devs[io->dev], TIER_DEV_LANDINGS);
		if (p)
			p->type->inserted(p, io->hold.block, tier_slot_number(t, io->slot), &a);
		/* the first tier's policy was asked, whatever it said */
		if (io->dev && wanted(io))
			t->policy->type->aborted(t->policy, io->hold.block);
		return;
	}
	if (p)
		p->type->hit(p, tier_slot_number(t, io->slot), &a);
	if (io->dev && !tier_settling(t))
		ask_above(io, &a);
}

/* tell the policy; config_sem held for reading, no lock */
static void tell_policy(struct tier_io *io, u32 events)
{
	struct tier *t = io->t;
	struct tier_access a;

	lockdep_assert_held(&t->config_sem);
	if (tier_exclusive(t)) {
		tell_exclusive(io, events);
		return;
	}
	if (!events)
		return;
	fill_access(io, &a);
	if (events & EVENT_INSERTED)
		t->policy->type->inserted(t->policy, io->hold.block, io->slot, &a);
	if (events & EVENT_KEPT)
		t->policy->type->victim_kept(t->policy, io->hold.block, io->slot);
	if (events & EVENT_HIT)
		t->policy->type->hit(t->policy, io->slot, &a);
	if ((events & EVENT_FILL_HIT) && !tier_fill_hit(t->fill, tier_from_block(io->hold.block), io->mask))
		tier_slot_untrack(t, io->slot, io->hold.block);
}

/* ---- go ---- */

/* a request to a device that is not the first */
static void slow_begin(struct tier_io *io)
{
	struct tier_dev *d = &io->t->devs[io->dev];

	atomic_inc(&d->inflight);
	WRITE_ONCE(d->last, jiffies);
	io->flags |= TIER_IO_SLOW;
}

static void slow_end(struct tier_io *io)
{
	struct tier_dev *d = &io->t->devs[io->dev];

	if (!(io->flags & TIER_IO_SLOW))
		return;
	io->flags &= ~TIER_IO_SLOW;
	WRITE_ONCE(d->last, jiffies);
	atomic_dec(&d->inflight);
}

/* the fill was not sampled for long enough, or is no longer */
void tier_slot_untrack(struct tier *t, tier_slot_t slot, tier_block_t block)
{
	struct tier_stripe *s = tier_stripe(t, block);
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	if (tier_map_lookup(&t->map, block) == slot)
		tier_slot_change_flags(&t->map, slot, TIER_SLOT_TRACKED, 0);
	spin_unlock_irqrestore(&s->lock, flags);
}

/* a tier was used last now; without a write to a cache line that all share for each request */
static void used_now(struct tier_dev *d)
{
	unsigned long now = jiffies;

	if (READ_ONCE(d->last) != now)
		WRITE_ONCE(d->last, now);
}

/* tiered mode: latencies, and when each tier was used last */
static void time_begin(struct tier_io *io)
{
	if (!(io->flags & TIER_IO_TIMED))
		io->begun = jiffies;
	io->flags |= TIER_IO_TIMED;
	used_now(&io->t->devs[io->dev]);
}

static void time_end(struct tier_io *io)
{
	if (!(io->flags & TIER_IO_TIMED))
		return;
	this_cpu_add(io->t->latency->sum, (u32)jiffies - io->begun);
	this_cpu_inc(io->t->latency->nr);
	used_now(&io->t->devs[io->dev]);
}

/* point the bio at its one device */
static void remap(struct tier_io *io)
{
	struct tier *t = io->t;
	struct bio *bio = io_bio(io);

	bio->bi_opf = io->opf;
	if (io->route == TIER_ROUTE_FAST) {
		if (tier_exclusive(t))
			time_begin(io);
		if (io->dev)
			slow_begin(io);
		bio_set_dev(bio, t->devs[io->dev].dm->bdev);
		bio->bi_iter.bi_sector = tier_slot_sector(t, io->slot) + (io->start & (t->g.block_sectors - 1));
		if (io->flags & TIER_IO_FAST_FUA)
			bio->bi_opf |= REQ_FUA;
	} else {
		io->dev = 1;
		slow_begin(io);
		bio_set_dev(bio, t->slow->dm->bdev);
		bio->bi_iter.bi_sector = io->start;
		if (io->flags & TIER_IO_FUA)
			bio->bi_opf |= REQ_FUA;
	}
	io->iter = bio->bi_iter;
}

/* Return: a DM_MAPIO_* value; except for REMAPPED the bio must not be touched any more */
static int process(struct tier_io *io, bool in_map)
{
	struct tier *t = io->t;
	struct tier_stripe *s = tier_stripe(t, io->hold.block);
	unsigned long flags;
	enum step step;
	u32 events = 0;

	if (tier_health(t) >= TIER_HEALTH_RO &&
	    (io_is_write(io) || tier_health(t) == TIER_HEALTH_FAIL)) {
		if (io->hold.state == TIER_HOLD_GRANTED)
			tier_hold_release(t, &io->hold);
		if (!in_map)
			tier_io_complete(io, BLK_STS_IOERR);
		return in_map ? DM_MAPIO_KILL : DM_MAPIO_SUBMITTED;
	}
	percpu_down_read(&t->config_sem);
	for (;;) {
		spin_lock_irqsave(&s->lock, flags);
		step = tier_exclusive(t) ? decide_exclusive(io, s, in_map, &events) :
					   decide(io, s, in_map, &events);
		spin_unlock_irqrestore(&s->lock, flags);
		if (step != STEP_ASK)
			break;
		ask_policy(io);
	}
	if (step == STEP_GO || step == STEP_FILL)
		tell_policy(io, events);
	else if (step == STEP_NOSPC && wanted(io))
		t->policy->type->aborted(t->policy, io->hold.block);
	percpu_up_read(&t->config_sem);

	if (step == STEP_WAIT)
		return DM_MAPIO_SUBMITTED;
	if (step == STEP_ZERO) {
		if (!io_is_write(io))
			zero_fill_bio(io_bio(io));
		tier_io_complete(io, BLK_STS_OK);
		return DM_MAPIO_SUBMITTED;
	}
	if (step == STEP_MISSING) {
		tier_dev_error(t, &t->devs[io->dev], "read", io->start);
		tier_count(t, TIER_STAT_READ_ERRORS, 1);
		tier_io_complete(io, BLK_STS_IOERR);
		return DM_MAPIO_SUBMITTED;
	}
	if (step == STEP_NOSPC) {
		tier_count(t, TIER_STAT_WRITE_ERRORS, 1);
		tier_io_complete(io, BLK_STS_NOSPC);
		return DM_MAPIO_SUBMITTED;
	}
	if (step == STEP_FILL) {
		tier_io_queue(t, io, &t->fills);
		return DM_MAPIO_SUBMITTED;
	}
	if (io->route == TIER_ROUTE_LEGS || io->route == TIER_ROUTE_PAD) {
		tier_io_queue(t, io, &t->deferred);
		return DM_MAPIO_SUBMITTED;
	}
	remap(io);
	return DM_MAPIO_REMAPPED;
}

/* ---- legs ---- */

static int finish(struct tier_io *io, blk_status_t *status);

static void legs_put(struct tier_io *io)
{
	blk_status_t status = BLK_STS_OK;

	if (!atomic_dec_and_test(&io->legs))
		return;
	if (finish(io, &status) == DM_ENDIO_DONE)
		tier_io_complete(io, status);
}

static void leg_end_fast(struct bio *leg)
{
	struct tier_io *io = leg->bi_private;

	if (leg->bi_status)
		WRITE_ONCE(io->fast_error, leg->bi_status);
	bio_put(leg);
	legs_put(io);
}

static void leg_end_slow(struct bio *leg)
{
	struct tier_io *io = leg->bi_private;

	if (leg->bi_status)
		WRITE_ONCE(io->slow_error, leg->bi_status);
	bio_put(leg);
	legs_put(io);
}

/* send sectors @first to @end of the block, as far as the request has them, to one device */
static void send_leg(struct tier_io *io, bool fast, u32 first, u32 end)
{
	struct tier *t = io->t;
	struct tier_dev *d = !fast ? t->slow : &t->devs[tier_exclusive(t) ? io->dev : 0];
	u32 off = io->start & (t->g.block_sectors - 1);
	struct bio *leg;

	first = max(first, off);
	end = min(end, off + io->sectors);
	leg = bio_alloc_clone(d->dm->bdev, io_bio(io), GFP_NOIO, &t->bios);
	/* the caller polls its own bio only; how a bio is freed is the affair of its own bioset */
	leg->bi_opf = (io->opf & ~(REQ_POLLED | REQ_ALLOC_CACHE)) | (leg->bi_opf & REQ_ALLOC_CACHE);
	if (!fast && (io->flags & TIER_IO_FUA))
		leg->bi_opf |= REQ_FUA;
	bio_trim(leg, first - off, end - first);
	if (!fast && tier_exclusive(t)) {
		zero_fill_bio(leg);
		bio_put(leg);
		return;
	}
	leg->bi_iter.bi_sector = fast ? tier_slot_sector(t, io->slot) + first : io->start + first - off;
	leg->bi_end_io = fast ? leg_end_fast : leg_end_slow;
	leg->bi_private = io;
	atomic_inc(&io->legs);
	submit_bio_noacct(leg);
}

/* worker; the bio's own data and iterator stay untouched */
static void submit_legs(struct tier_io *io)
{
	struct tier *t = io->t;
	u32 shift = t->g.granule_shift;
	u32 first = __ffs64(io->mask), last = tier_last_granule(io->mask);
	u32 i, end;

	atomic_set(&io->legs, 1);
	io->fast_error = BLK_STS_OK;
	io->slow_error = BLK_STS_OK;
	if (!tier_exclusive(t))
		io->dev = 1;
	if (io->dev)
		slow_begin(io);
	if (io->flags & TIER_IO_BOTH)
		send_leg(io, false, first << shift, (last + 1) << shift);
	for (i = first; i <= last; i = end) {
		bool fast = io->fast >> i & 1;

		for (end = i + 1; end <= last && (io->fast >> end & 1) == fast; end++)
			;
		if (fast || !(io->flags & TIER_IO_BOTH))
			send_leg(io, fast, i << shift, end << shift);
	}
	legs_put(io);
}

/* ---- padding ---- */

/*
 * Zeros on one granule of the block's slot, durably: nobody else knows of them, so nobody would be told if a flush that
 * fails threw them away, and what another block has left there would show up.
 */
static int pad_granule(struct tier_io *io, u32 granule)
{
	struct tier *t = io->t;
	u32 left = min_t(u32, t->g.granule_sectors,
			 tier_block_len(t, io->hold.block) - (granule << t->g.granule_shift)) << SECTOR_SHIFT;
	struct bio *bio = bio_alloc(t->devs[io->dev].dm->bdev, DIV_ROUND_UP(left, PAGE_SIZE),
				    REQ_OP_WRITE | REQ_SYNC | REQ_FUA, GFP_NOIO);
	int r;

	bio->bi_iter.bi_sector = tier_slot_sector(t, io->slot) + ((sector_t)granule << t->g.granule_shift);
	while (left)
		left -= bio_add_page(bio, ZERO_PAGE(0), min_t(u32, left, PAGE_SIZE), 0);
	r = submit_bio_wait(bio);
	bio_put(bio);
	return r;
}

/* worker; then the bio goes its way.  False: it has ended */
static bool pad(struct tier_io *io)
{
	struct tier *t = io->t;
	struct tier_stripe *s = tier_stripe(t, io->hold.block);
	blk_status_t status;
	int r = 0;
	u64 todo;

	/* its own granules are held, but the word has others, too */
	spin_lock_irq(&s->lock);
	todo = io->mask & ~io->full & ~tier_slot_valid(&t->map, io->slot);
	spin_unlock_irq(&s->lock);
	for (; todo && !r; todo &= todo - 1)
		r = pad_granule(io, __ffs64(todo));
	io->route = TIER_ROUTE_FAST;
	if (!r) {
		remap(io);
		return true;
	}
	io->fast_error = errno_to_blk_status(r);
	io->slow_error = BLK_STS_OK;
	if (finish(io, &status) == DM_ENDIO_DONE)
		tier_io_complete(io, status);
	return false;
}

/* ---- finish ---- */

/* a write went through, or didn't: what the slot holds now.  Returns what the caller is told */
static blk_status_t __settle_write(struct tier_io *io, u64 *valid, u64 *dirty, bool *again)
{
	u64 fast = io->fast, drop = io->drop;
	u64 lost = fast & *dirty & ~io->full;	/* parts of dirty granules: nowhere else to go */
	u64 rest = drop & *dirty & ~io->full;	/* clean when it began: the slow device may have lost the rest */

	tier_assert_locked(io->t, io->hold.block);
	if (io->fast_error) {
		/* what is on the fast device now is unknown; dirty granules keep their record */
		*valid &= ~(fast & ~*dirty);
		if (lost || tier_exclusive(io->t))
			return io->fast_error;
		if (!(io->flags & TIER_IO_BOTH)) {
			*again = true;
			return BLK_STS_OK;
		}
		if (io->slow_error)
			return io->slow_error;
		*valid &= ~fast;
		*dirty &= ~fast;
		return BLK_STS_OK;
	}
	if (io->slow_error) {
		/* the slow device may have the old data or the new: no copy may say otherwise */
		*valid &= ~((io->flags & TIER_IO_BOTH ? fast : drop) & ~*dirty);
		if (!(io->flags & TIER_IO_BOTH)) {
			*valid |= fast;
			*dirty |= fast;
		}
		return io->slow_error;
	}
	if (io->flags & TIER_IO_BOTH) {
		*valid |= fast & (io->full | *valid);
		*dirty &= ~(fast & io->full);
	} else {
		drop &= ~rest;
		*valid = (*valid & ~drop) | fast;
		*dirty = (*dirty & ~drop) | fast;
		*again = rest;	/* they are written back with it */
	}
	return BLK_STS_OK;
}

/*
 * What was dirty before this write went to the slow device, and is either clean now, as after a write back, or given
 * up: then what may be durable of it is in the slot, and nothing knows it any more.
 */
static void __written_through(struct tier *t, tier_slot_t slot, u64 valid, u64 dirty)
{
	u64 was = tier_slot_dirty(&t->map, slot) & ~dirty;

	tier_assert_locked(t, tier_slot_block(&t->map, slot));
	if (was)
		tier_slot_change_flags(&t->map, slot, 0, TIER_SLOT_WRITTEN | (was & ~valid ? TIER_SLOT_GONE : 0));
}

/* a read of a clean copy failed: drop the copy and read the slow device instead */
static blk_status_t __settle_read(struct tier_io *io, u64 *valid, u64 *dirty, bool *again)
{
	tier_assert_locked(io->t, io->hold.block);
	if (io->fast_error) {
		*valid &= ~(io->fast & ~*dirty);
		if (io->fast & *dirty)
			return io->fast_error;
		*again = true;
		return BLK_STS_OK;
	}
	return io->slow_error;
}

static void reset_bio(struct tier_io *io)
{
	struct bio *bio = io_bio(io);

	bio->bi_status = BLK_STS_OK;
	bio->bi_iter = io->iter;
	io->opf &= ~REQ_POLLED;	/* the caller may be polling the other device just now */
	bio->bi_opf = io->opf;
	/* a lower layer that split it left it at 0 */
	atomic_set(&bio->__bi_remaining, 1);
}

/*
 * A flush that failed while this write was under way has said nothing of it, and may have thrown it away.  Was it of a
 * device that this write needs?  What is on both devices of a cache is still on the other one.
 */
static bool may_be_lost(const struct tier_io *io)
{
	struct tier *t = io->t;
	int all = atomic_read(&t->flush_errors) - io->flush_errors, slow;

	if (tier_exclusive(t))
		return all;
	slow = atomic_read(&t->slow->flush_errors) - io->slow_flush_errors;
	if (io->flags & TIER_IO_BOTH)
		return slow;
	return (slow && io->fast != io->mask) || (all != slow && io->fast);
}

/*
 * The I/O is done on all devices; io->fast_error and slow_error are set.  Any context.
 * Return: DM_ENDIO_DONE with *status, or DM_ENDIO_INCOMPLETE if the bio will be ended later.
 */
static int finish(struct tier_io *io, blk_status_t *status)
{
	struct tier *t = io->t;
	struct tier_stripe *s = tier_stripe(t, io->hold.block);
	bool write = io_is_write(io), again = false, failed, doubtful;
	unsigned long flags;

	slow_end(io);
	time_end(io);
	/* "not supported" is no sign of a failing device */
	failed = io->fast_error && io->fast_error != BLK_STS_NOTSUPP && io->fast_error != BLK_STS_TARGET;
	if (failed)
		tier_dev_error(t, &t->devs[tier_exclusive(t) ? io->dev : 0], write ? "write" : "read", io->start);
	if (write && tier_exclusive(t)) {
		/* what failed is not acknowledged */
		if (!failed && !(io->flags & TIER_IO_FAST_FUA))
			tier_dev_acked(&t->devs[io->dev]);
	} else if (write) {
		if (io->fast && !(io->flags & TIER_IO_FAST_FUA))
			tier_dev_acked(t->fast);
		if ((io->fast != io->mask || (io->flags & TIER_IO_BOTH)) && !(io->flags & TIER_IO_FUA))
			tier_dev_acked(t->slow);
	}
	doubtful = write && atomic_read(&t->flush_errors) != io->flush_errors;
	if (unlikely(doubtful) && may_be_lost(io))
		WRITE_ONCE(t->lost, true);
	spin_lock_irqsave(&s->lock, flags);
	*status = io->fast_error ?: io->slow_error;
	/* the block may have been moved, beside a read */
	if (io->slot != TIER_NO_SLOT && (write || *status) &&
	    (!tier_exclusive(t) || tier_map_lookup(&t->map, io->hold.block) == io->slot)) {
		u64 valid = tier_slot_valid(&t->map, io->slot);
		u64 dirty = tier_slot_dirty(&t->map, io->slot);

		if (write && tier_exclusive(t) && !*status)
			__tier_move_written(t, io->slot, io->start & (t->g.block_sectors - 1), io->sectors);
		*status = write ? __settle_write(io, &valid, &dirty, &again) :
				  __settle_read(io, &valid, &dirty, &again);
		if (unlikely(doubtful) && !tier_exclusive(t))
			valid &= ~(io->fast & ~dirty);
		if (write && !tier_exclusive(t))
			__written_through(t, io->slot, valid, dirty);
		__tier_slot_replaced(t, io->slot, valid, dirty, write && !io->slow_error ? io->full : 0);
		/* nothing landed after all: let the commit give the slot back */
		if (!valid)
			__tier_slot_changed(t, io->slot);
	}
	if (io->flags & TIER_IO_INTENT)
		tier_intent_put(t, io->region);
	__tier_hold_release(s, &io->hold);
	spin_unlock_irqrestore(&s->lock, flags);

	if (io->flags & TIER_IO_DIRTYING)
		this_cpu_dec(*t->dirtying);
	io->flags &= ~(TIER_IO_INTENT | TIER_IO_DIRTYING | TIER_IO_HELD);
	if (failed && write && tier_exclusive(t) && !(io->flags & TIER_IO_NO_FAST)) {
		io->flags |= TIER_IO_NO_FAST;
		reset_bio(io);
		io->route = TIER_ROUTE_ELSEWHERE;
		tier_io_queue(t, io, &t->deferred);
		return DM_ENDIO_INCOMPLETE;
	}
	if (again) {
		io->flags |= TIER_IO_NO_FAST | TIER_IO_NO_FILL;
		reset_bio(io);
		tier_io_defer(io);
		return DM_ENDIO_INCOMPLETE;
	}
	if (*status) {
		tier_count(t, write ? TIER_STAT_WRITE_ERRORS : TIER_STAT_READ_ERRORS, 1);
		return DM_ENDIO_DONE;
	}
	if (!(io->flags & TIER_IO_COMMIT))
		return DM_ENDIO_DONE;
	spin_lock_irqsave(&t->commit_lock, flags);
	list_add_tail(&io->list, &t->commits);
	spin_unlock_irqrestore(&t->commit_lock, flags);
	queue_work(t->commit_wq, &t->commit_work);
	return DM_ENDIO_INCOMPLETE;
}

/*
 * Tiered mode: the block's slot can't be written.  If nothing is in it, the block lands on another tier as soon
 * as the slot is given up, durably; else it is moved to another one, if it can be read.  Then the write is
 * tried once more, wherever the block is.
 */
static void elsewhere(struct tier_io *io)
{
	struct tier *t = io->t;
	struct tier_stripe *s = tier_stripe(t, io->hold.block);
	tier_slot_t slot;
	bool empty, wait;
	int r = -ENOSPC;
	u32 to;

	spin_lock_irq(&s->lock);
	slot = tier_map_lookup(&t->map, io->hold.block);
	empty = slot != TIER_NO_SLOT && !tier_slot_valid(&t->map, slot);
	spin_unlock_irq(&s->lock);
	if (empty) {
		starve(io);
		return;
	}
	percpu_down_read(&t->config_sem);
	to = tier_with_room(t, io->dev, true);
	if (to < t->nr_devs)
		r = tier_move_start(t, io->hold.block, slot, to, TIER_MOVE_HAND);
	percpu_up_read(&t->config_sem);
	wait = r == -EBUSY || (r == -ENOSPC && tier_moves_wait(t) && !(io->flags & TIER_IO_STARVED));
	if (wait && !(io->flags & TIER_IO_GIVE_UP)) {
		/* it has just come here, or slots are being left: after the next commit it can move on */
		io->flags &= ~TIER_IO_NO_FAST;
		if (r == -ENOSPC)
			io->flags |= TIER_IO_STARVED;
		starve(io);
		return;
	}
	tier_io_defer(io);	/* it waits for the end of the move */
}

/**
 * tier_io_end() - end_io of the target
 * @t: target
 * @bio: done
 * @error: in and out
 *
 * Context: any.
 * Return: DM_ENDIO_*.
 */
int tier_io_end(struct tier *t, struct bio *bio, blk_status_t *error)
{
	struct tier_io *io = dm_per_bio_data(bio, sizeof(*io));

	switch (io->route) {
	case TIER_ROUTE_FAST:
		io->fast_error = *error;
		io->slow_error = BLK_STS_OK;
		return finish(io, error);
	case TIER_ROUTE_SLOW:
		io->fast_error = BLK_STS_OK;
		io->slow_error = *error;
		return finish(io, error);
	case TIER_ROUTE_FLUSH:
		tier_dev_flush_end(t, &t->devs[io->dev], *error);
		if (*error)
			tier_commit_kick(t, true);	/* it sees to what may be lost */
		return DM_ENDIO_DONE;
	default:
		return DM_ENDIO_DONE;
	}
}

/* ---- map ---- */

/*
 * Nothing to commit: only the devices that hold unflushed writes are flushed, and if that is one, the bio
 * itself goes there.
 */
static int map_flush(struct tier_io *io)
{
	struct tier *t = io->t;
	struct tier_dev *d = NULL;
	bool commit = false;
	u32 i;

	if (unlikely(READ_ONCE(t->lost)) && xchg(&t->lost, false))
		return DM_MAPIO_KILL;
	if (t->readonly) {	/* nothing was written: who closes or unmounts it is not to be told of an error */
		tier_io_complete(io, BLK_STS_OK);
		return DM_MAPIO_SUBMITTED;
	}
	if (tier_health(t) >= TIER_HEALTH_RO)
		return DM_MAPIO_KILL;
	for (i = 0; i < t->nr_devs; i++) {
		if (!tier_flush_needed(t, &t->devs[i]))
			continue;
		/* in a cache with nothing dirty, the commit knows what to do if the fast device can't be flushed */
		commit |= d || (!tier_exclusive(t) && !i && !atomic64_read(&t->nr_dirty));
		d = &t->devs[i];
		io->dev = i;
	}
	if (commit || tier_commit_pending(t)) {
		spin_lock_irq(&t->commit_lock);
		list_add_tail(&io->list, &t->flushes);
		spin_unlock_irq(&t->commit_lock);
		queue_work(t->commit_wq, &t->commit_work);
		return DM_MAPIO_SUBMITTED;
	}
	if (!d) {
		tier_io_complete(io, BLK_STS_OK);
		return DM_MAPIO_SUBMITTED;
	}
	io->route = TIER_ROUTE_FLUSH;
	tier_dev_flush_begin(d);
	bio_set_dev(io_bio(io), d->dm->bdev);
	return DM_MAPIO_REMAPPED;
}

/**
 * tier_io_map() - map of the target
 * @t: target
 * @bio: a clone of device-mapper's
 *
 * Context: process, may sleep for a moment.
 * Return: DM_MAPIO_*.
 */
int tier_io_map(struct tier *t, struct bio *bio)
{
	struct tier_io *io = dm_per_bio_data(bio, sizeof(*io));
	u32 rest;

	memset(io, 0, sizeof(*io));
	io->t = t;
	io->slot = TIER_NO_SLOT;
	if (bio->bi_opf & REQ_PREFLUSH)
		return map_flush(io);

	io->start = dm_target_offset(t->ti, bio->bi_iter.bi_sector);
	io->sectors = bio_sectors(bio);
	if (bio_op(bio) == REQ_OP_DISCARD)
		return tier_discard_map(t, io, bio);
	if (unlikely(!io->sectors)) {
		tier_io_complete(io, BLK_STS_OK);
		return DM_MAPIO_SUBMITTED;
	}
	rest = t->g.block_sectors - (io->start & (t->g.block_sectors - 1));
	if (io->sectors > rest) {
		io->sectors = rest;
		dm_accept_partial_bio(bio, rest);
	}
	if (op_is_write(bio_op(bio)))
		io->flags |= TIER_IO_WRITE;
	if (bio->bi_opf & REQ_FUA)
		io->flags |= TIER_IO_FUA;
	io->opf = bio->bi_opf & ~REQ_FUA;
	io->iter = bio->bi_iter;
	io->hold.block = tier_to_block(io->start >> t->g.block_shift);
	io->flush_errors = atomic_read(&t->flush_errors);
	io->slow_flush_errors = atomic_read(&t->slow->flush_errors);
	set_masks(io);
	return process(io, true);
}

/* bios that had to wait, and reads to be filled */
void tier_io_work(struct work_struct *work)
{
	struct tier *t = container_of(work, struct tier, io_work);
	struct tier_io *io, *tmp;
	LIST_HEAD(deferred);
	LIST_HEAD(fills);

	spin_lock_irq(&t->io_lock);
	list_splice_init(&t->deferred, &deferred);
	list_splice_init(&t->fills, &fills);
	spin_unlock_irq(&t->io_lock);

	list_for_each_entry_safe(io, tmp, &deferred, list) {
		if (io->route == TIER_ROUTE_LEGS) {
			submit_legs(io);
		} else if (io->route == TIER_ROUTE_ELSEWHERE) {
			elsewhere(io);
		} else if (io->route == TIER_ROUTE_PAD) {
			if (pad(io))
				submit_bio_noacct(io_bio(io));
		} else {
			io->route = TIER_ROUTE_NONE;
			if (process(io, false) == DM_MAPIO_REMAPPED)
				submit_bio_noacct(io_bio(io));
		}
	}
	list_for_each_entry_safe(io, tmp, &fills, list)
		tier_copy_fill(io);
}
