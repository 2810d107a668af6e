// SPDX-License-Identifier: GPL-2.0
/*
 * Commits: what makes acknowledged writes survive.
 *
 * The order, which commit_changed() keeps (numbers are the invariants of docs/design.md):
 *
 *	1. take the marks off regions in which no write is under way	(I5: before the snapshot, so that
 *		every write they stood for is in it; a write that comes now asks for a new mark)
 *	2. snapshot the changed slots					(I4: everything acknowledged is in it)
 *	3. flush the devices that hold unflushed writes			(I1: a record's claims are durable first)
 *	4. write the records, the unmarked regions last			(one journal write with FUA)
 *	5. slots whose durable record is "free" go to the free list	(I2)
 *	6. acknowledge the flushes and FUA writes that were there at 1.
 *
 * All that arrive while a commit runs share the next one.  One thread runs all of this.
 */
#include <linux/completion.h>
#include "tier.h"
#include "tier-trace.h"

#define INTENT_LOOK_MS	2000	/* a mark unused for one to two of these is taken off */

struct commit_waiter {
	struct list_head list;
	struct completion done;
	int r;
};

/* ---- devices ---- */

/*
 * May the device hold acknowledged writes that are not on its medium?  When the fast device fails and
 * nothing is dirty, nothing on it matters any more: no record claims it (see snapshot_slot()).
 */
bool tier_flush_needed(struct tier *t, struct tier_dev *d)
{
	int begun, ended;

	if (d == t->fast && !tier_exclusive(t) && !tier_may_use_fast(t) && !atomic64_read(&t->nr_dirty))
		return false;
	/* No: no flush was under way, nothing is dirtied, and no flush began while we looked */
	ended = atomic_read(&d->flushes_ended);
	smp_rmb();	/* pairs with tier_dev_flush_end(): before this one ended it set dirtied if it failed */
	begun = atomic_read(&d->flushes_begun);
	if (begun != ended)
		return true;
	smp_rmb();	/* pairs with tier_dev_flush_end() */
	if (READ_ONCE(d->dirtied))
		return true;
	smp_rmb();	/* pairs with tier_dev_flush_begin(): it is counted before it clears dirtied */
	return atomic_read(&d->flushes_begun) != begun;
}

struct flush_io {
	struct tier_dev *d;
	bool acked;
	struct completion *done;
	atomic_t *pending;
	blk_status_t status;
};

static void flush_end(struct bio *bio)
{
	struct flush_io *f = bio->bi_private;

	f->status = bio->bi_status;
	bio_put(bio);
	if (atomic_dec_and_test(f->pending))
		complete(f->done);
}

/* *@untold is set if a flush fails that acknowledged writes were for: somebody has to be told */
static int flush_devices(struct tier *t, u32 *failed, bool *untold)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct flush_io f[TIER_MAX_DEVS];
	atomic_t pending = ATOMIC_INIT(1);
	u32 i, bad = 0;
	int r = 0;

	for (i = 0; i < t->nr_devs; i++) {
		struct bio *bio;

		f[i].d = &t->devs[i];
		f[i].done = &done;
		f[i].pending = &pending;
		if (!tier_flush_needed(t, f[i].d)) {
			f[i].d = NULL;
			continue;
		}
		f[i].acked = tier_dev_flush_begin(f[i].d);
		bio = bio_alloc(f[i].d->dm->bdev, 0, REQ_OP_WRITE | REQ_PREFLUSH | REQ_SYNC, GFP_NOIO);
		bio->bi_end_io = flush_end;
		bio->bi_private = &f[i];
		atomic_inc(&pending);
		submit_bio(bio);
	}
	if (!atomic_dec_and_test(&pending))
		wait_for_completion_io(&done);
	for (i = 0; i < t->nr_devs; i++) {
		if (!f[i].d)
			continue;
		tier_dev_flush_end(t, f[i].d, f[i].status);
		if (!f[i].status)
			continue;
		r = blk_status_to_errno(f[i].status);
		bad |= BIT(i);
		/* what a fast device without dirty data has, the slow one has too */
		if (f[i].acked && (tier_exclusive(t) || i || atomic64_read(&t->nr_dirty)))
			*untold = true;
		if (tier_exclusive(t)) {
			tier_dev_error(t, f[i].d, "flush", 0);
			continue;
		}
		DMERR_LIMIT("%s: flush of the %s device failed", t->name, i ? "slow" : "fast");
		if (i)
			continue;
		tier_dev_error(t, f[i].d, "flush", 0);
		/* the slow device has everything, so it goes on without the fast one */
		if (!atomic64_read(&t->nr_dirty))
			tier_set_health(t, TIER_HEALTH_DEGRADED, "the fast device can't be flushed");
	}
	*failed = bad;
	return r;
}

/**
 * tier_flush_devices() - make all acknowledged writes on the data devices durable
 * @t: target
 * @failed: NULL, or gets a bit for each device that failed
 *
 * Context: may sleep.
 * Return: 0 or the error of a device that failed.
 */
int tier_flush_devices(struct tier *t, u32 *failed)
{
	bool untold = false;
	u32 bad;
	int r = flush_devices(t, failed ?: &bad, &untold);

	if (untold)
		WRITE_ONCE(t->lost, true);
	return r;
}

/* ---- intents ---- */

/**
 * tier_intent_take() - a write begins that may make a clean copy differ from the slow device
 * @t: target
 * @region: its region
 *
 * Context: any.
 * Return: true if the region is marked on the disk; tier_intent_put() ends the write then.
 */
bool tier_intent_take(struct tier *t, u32 region)
{
	struct tier_region *r = &t->regions[region];

	atomic_inc(&r->inflight);
	smp_mb__after_atomic();	/* pairs with unmark_idle(): it clears durable, then looks at inflight */
	if (READ_ONCE(r->durable)) {
		if (!READ_ONCE(r->used))
			WRITE_ONCE(r->used, true);
		return true;
	}
	atomic_dec(&r->inflight);
	return false;
}

void tier_intent_put(struct tier *t, u32 region)
{
	/* pairs with unmark_idle(): the slot's change is seen before the region is seen idle */
	smp_mb__before_atomic();
	atomic_dec(&t->regions[region].inflight);
}

static void set_mark(struct tier *t, u32 region, bool on)
{
	u64 bit = BIT_ULL(region % 64);

	if (on)
		t->intent[region / 64] |= bit;
	else
		t->intent[region / 64] &= ~bit;
	__set_bit(region / 64, t->intent_changed);
}

/* put the changed words into the transaction */
static u32 add_marks(struct tier *t)
{
	u32 word, n = 0;

	for_each_set_bit(word, t->intent_changed, TIER_INTENT_WORDS) {
		tier_metadata_add_intent(t->md, word, t->intent[word]);
		n++;
	}
	bitmap_zero(t->intent_changed, TIER_INTENT_WORDS);
	return n;
}

static int write_transaction(struct tier *t)
{
	int r = tier_metadata_commit(t->md);

	if (r)
		tier_set_health(t, TIER_HEALTH_RO, "a metadata write failed, they need a check");
	else
		tier_count(t, TIER_STAT_COMMITS, 1);
	return r;
}

/* the region's mark is on the disk */
static void marked(struct tier *t, struct tier_region *r)
{
	WRITE_ONCE(r->used, true);
	WRITE_ONCE(r->durable, true);
	WRITE_ONCE(t->nr_intents, t->nr_intents + 1);
}

/* writes wait for these marks; a mark claims nothing of the data, so no device is flushed */
static void mark_regions(struct tier *t, struct list_head *ios)
{
	struct tier_io *io, *tmp;
	int r = 0;

	tier_metadata_begin(t->md);
	list_for_each_entry(io, ios, list) {
		u32 region = tier_block_region(&t->g, io->hold.block);

		if (!t->regions[region].durable)
			set_mark(t, region, true);
	}
	if (tier_health(t) >= TIER_HEALTH_RO)
		r = -EIO;
	else if (add_marks(t))
		r = write_transaction(t);
	list_for_each_entry_safe(io, tmp, ios, list) {
		struct tier_region *reg = &t->regions[tier_block_region(&t->g, io->hold.block)];

		list_del(&io->list);
		if (r) {
			tier_io_complete(io, BLK_STS_IOERR);
			continue;
		}
		if (!reg->durable)
			marked(t, reg);
		tier_io_defer(io);
	}
}

/* is it time to look for marks that nobody uses any more? */
static bool intent_look_due(struct tier *t)
{
	return READ_ONCE(t->nr_intents) &&
	       time_after_eq(jiffies, READ_ONCE(t->intent_look) + msecs_to_jiffies(INTENT_LOOK_MS));
}

/* step 1; @all: also those used lately */
static void unmark_idle(struct tier *t, bool all)
{
	u32 i;

	WRITE_ONCE(t->intent_look, jiffies);
	for (i = 0; i < t->g.nr_regions; i++) {
		struct tier_region *r = &t->regions[i];

		if (!r->durable)
			continue;
		/* pairs with tier_intent_take(): a use that is not seen, or forgotten, costs a mark that is set anew */
		if (READ_ONCE(r->used) && !all) {
			WRITE_ONCE(r->used, false);
			continue;
		}
		WRITE_ONCE(r->durable, false);
		smp_mb();	/* pairs with tier_intent_take() */
		if (atomic_read(&r->inflight)) {
			WRITE_ONCE(r->durable, true);
			continue;
		}
		r->unmarking = true;
		WRITE_ONCE(t->nr_intents, t->nr_intents - 1);
		set_mark(t, i, false);
	}
	smp_mb();	/* pairs with tier_intent_put() */
}

/* the commit is over; if it failed, the marks taken off in core are still on the disk */
static void end_unmark(struct tier *t, bool written)
{
	u32 i;

	for (i = 0; i < t->g.nr_regions; i++) {
		struct tier_region *r = &t->regions[i];

		if (!r->unmarking)
			continue;
		r->unmarking = false;
		if (written)
			continue;
		set_mark(t, i, true);
		WRITE_ONCE(r->durable, true);
		WRITE_ONCE(t->nr_intents, t->nr_intents + 1);
	}
}

/* ---- slots ---- */

/* false: it has no change of its own */
static bool snapshot_slot(struct tier *t, tier_slot_t slot)
{
	struct tier_snapshot *sn = &t->snapshot[t->nr_snapshot];
	/* only this thread takes a changed slot from its block; or a move has, which has settled that */
	tier_block_t block = tier_slot_block(&t->map, slot);
	struct tier_stripe *s = tier_stripe(t, block);
	unsigned long flags;
	u32 old;

	spin_lock_irqsave(&s->lock, flags);
	old = tier_slot_flags(&t->map, slot);
	if (tier_slot_block(&t->map, slot) != block || !(old & TIER_SLOT_CHANGED)) {
		spin_unlock_irqrestore(&s->lock, flags);
		return false;
	}
	if (!tier_exclusive(t) && !tier_may_use_fast(t))
		__tier_slot_update(t, slot, tier_slot_dirty(&t->map, slot), tier_slot_dirty(&t->map, slot));
	sn->slot = slot;
	sn->unsure = false;
	sn->undone = false;
	sn->rec.block = block;
	sn->rec.valid = tier_slot_valid(&t->map, slot);
	sn->rec.dirty = tier_slot_dirty(&t->map, slot);
	sn->rec.flags = sn->rec.valid ? tier_slot_flags(&t->map, slot) & TIER_REC_FLAGS : 0;
	/* the slot that it came from is freed by the same transaction (I6) */
	sn->move = old & TIER_SLOT_SWITCHED ? tier_move_find(t, slot) : NULL;
	tier_slot_change_flags(&t->map, slot, TIER_SLOT_CHANGED | TIER_SLOT_FRESH | TIER_SLOT_SWITCHED,
			       TIER_SLOT_COMMITTING);
	spin_unlock_irqrestore(&s->lock, flags);
	atomic_dec(&t->nr_changed);
	t->nr_snapshot++;
	t->nr_snapshot_moves += !!sn->move;
	return true;
}

/*
 * A changed slot, or one that was changed until its block was moved away: the change belongs to the other slot
 * now, which the search through the changed ones may have passed before.
 */
static void snapshot_changed(struct tier *t, tier_slot_t slot)
{
	tier_slot_t to;

	if (snapshot_slot(t, slot) || !tier_exclusive(t))
		return;
	to = tier_move_target(t, slot);
	if (to != TIER_NO_SLOT)
		snapshot_slot(t, to);
}

/* step 2, as many as a transaction takes; true: there may be more */
static bool collect_changed(struct tier *t, u32 *word)
{
	u32 nr_words = BITS_TO_LONGS(t->map.nr_slots);

	t->nr_snapshot = 0;
	t->nr_snapshot_moves = 0;
	while ((*word = find_next_bit(t->changed_sum, nr_words, *word)) < nr_words) {
		unsigned long bits;
		u32 bit;

		if (t->nr_snapshot + t->nr_snapshot_moves + 2 * BITS_PER_LONG > t->max_snapshot)
			return true;
		clear_bit(*word, t->changed_sum);
		smp_mb__after_atomic();	/* pairs with __tier_slot_changed() */
		bits = xchg(&t->changed[*word], 0);
		for_each_set_bit(bit, &bits, BITS_PER_LONG)
			snapshot_changed(t, tier_to_slot(*word * BITS_PER_LONG + bit));
		cond_resched();
		++*word;
	}
	return false;
}

/* tiered mode: the slot's block is gone; the slot is discarded on its device before it is free */
static void free_exclusive(struct tier *t, tier_slot_t slot, tier_block_t block, bool pinned)
{
	struct tier_dev *d = tier_slot_device(t, slot);
	unsigned long flags;

	atomic_dec(&d->used);
	if (pinned)
		atomic_dec(&d->pinned);
	if (d->policy)
		d->policy->type->removed(d->policy, block, tier_slot_number(t, slot),
					 TIER_REMOVED_INVALID);
	if (!t->discard_passdown || !bdev_max_discard_sectors(d->dm->bdev)) {
		tier_slot_freed(t, slot);
		return;
	}
	spin_lock_irqsave(&t->free_lock, flags);
	tier_map_put(&t->map, &t->trim, slot);
	spin_unlock_irqrestore(&t->free_lock, flags);
	queue_work(t->wq, &t->trim_work);
}

/* step 5 for one slot: its record is durable */
static void settle_slot(struct tier *t, const struct tier_snapshot *sn, bool written)
{
	tier_block_t block = sn->rec.block;
	struct tier_stripe *s = tier_stripe(t, block);
	unsigned long flags;
	bool freed = false;
	u32 old;

	lockdep_assert_held(&t->config_sem);
	if (sn->undone)
		return;
	if (sn->move && written)
		tier_move_committed(t, sn->move);
	spin_lock_irqsave(&s->lock, flags);
	old = tier_slot_flags(&t->map, sn->slot);
	if (!(old & TIER_SLOT_MAPPED) || tier_slot_block(&t->map, sn->slot) != block) {
		/* its block was moved to another slot meanwhile, and what is to be recorded with it */
		spin_unlock_irqrestore(&s->lock, flags);
		return;
	}
	if (sn->move && !written) {
		tier_move_again(t, sn->move);
		tier_slot_change_flags(&t->map, sn->slot, 0, TIER_SLOT_SWITCHED);
	}
	tier_slot_change_flags(&t->map, sn->slot, TIER_SLOT_COMMITTING, 0);
	if (written && !(old & TIER_SLOT_CHANGED))
		tier_slot_change_flags(&t->map, sn->slot, TIER_SLOT_LOST | TIER_SLOT_GONE | TIER_SLOT_WRITTEN, 0);
	if (!written) {
		__tier_slot_changed(t, sn->slot);
	} else if (!sn->rec.flags && !tier_slot_valid(&t->map, sn->slot) && !(old & TIER_SLOT_CHANGED)) {
		if (__tier_block_busy(s, block)) {
			/* no durable record names the block; look again at the next commit */
			tier_slot_change_flags(&t->map, sn->slot, 0, TIER_SLOT_FRESH);
			__tier_slot_changed(t, sn->slot);
		} else {
			tier_map_remove(&t->map, sn->slot);
			atomic_dec(&t->nr_used);
			freed = true;
		}
	}
	spin_unlock_irqrestore(&s->lock, flags);
	if (!freed)
		return;
	if (old & TIER_SLOT_PINNED)
		atomic_dec(&t->nr_pinned);
	if (tier_exclusive(t)) {
		free_exclusive(t, sn->slot, block, old & TIER_SLOT_PINNED);
		return;
	}
	if (old & TIER_SLOT_TRACKED)
		tier_fill_evicted(t->fill, tier_from_block(block));
	t->policy->type->removed(t->policy, block, sn->slot,
				 old & TIER_SLOT_EVICTED ? TIER_REMOVED_EVICTED : TIER_REMOVED_INVALID);
	if (old & TIER_SLOT_EVICTED) {
		atomic_dec(&t->nr_evicted);
		tier_count(t, TIER_STAT_DEMOTIONS, 1);
		trace_tier_demote(t->name, tier_block_sector(t, block), t->g.block_sectors);
	}
	spin_lock_irqsave(&t->free_lock, flags);
	tier_map_put(&t->map, &t->map.free, sn->slot);
	spin_unlock_irqrestore(&t->free_lock, flags);
}

static void settle_snapshot(struct tier *t, bool written)
{
	u32 i;

	percpu_down_read(&t->config_sem);
	for (i = 0; i < t->nr_snapshot; i++) {
		settle_slot(t, &t->snapshot[i], written && !t->snapshot[i].unsure);
		if (!(i % 256))
			cond_resched();
	}
	percpu_up_read(&t->config_sem);
	t->nr_snapshot = 0;
}

/* ---- the commit ---- */

enum unmark { UNMARK_NONE, UNMARK_IDLE, UNMARK_ALL };

/*
 * The fast device fails: what it has clean is no longer used, and no record may claim it, since it is not
 * flushed any more.  Return: true if that is new, and the slots have to be looked at anew.
 */
static bool give_up_fast(struct tier *t)
{
	if (t->gave_up_fast || tier_exclusive(t) || tier_may_use_fast(t))
		return false;
	t->gave_up_fast = true;
	tier_drop_clean(t);
	return true;
}

/*
 * Writes to a device of a cache are in doubt: where a mark says so, clean copies may differ from the slow device for
 * ever.  They go, durably before the marks do, for which this commit is not the one.  @fills: also what is not recorded
 * yet, which the fast device may not have.
 */
static void drop_doubtful(struct tier *t, bool fills)
{
	const u32 unsettled = TIER_SLOT_FRESH | TIER_SLOT_CHANGED | TIER_SLOT_COMMITTING;
	u32 i;

	end_unmark(t, false);
	for (i = 0; i < t->map.nr_slots; i++) {
		tier_slot_t slot = tier_to_slot(i);
		tier_block_t block = tier_slot_block(&t->map, slot);
		u32 flags = tier_slot_flags(&t->map, slot);
		struct tier_stripe *s;

		if (!(flags & TIER_SLOT_MAPPED) ||
		    (!t->regions[tier_block_region(&t->g, block)].durable && !(fills && (flags & unsettled))))
			continue;
		s = tier_stripe(t, block);
		spin_lock_irq(&s->lock);
		if (tier_map_lookup(&t->map, block) == slot &&
		    (fills || !(tier_slot_flags(&t->map, slot) & TIER_SLOT_WRITTEN)))
			__tier_slot_update(t, slot, tier_slot_dirty(&t->map, slot), tier_slot_dirty(&t->map, slot));
		spin_unlock_irq(&s->lock);
		cond_resched();
	}
}

/*
 * A granule that becomes dirty again has a record that may call it clean: with the region's mark on the disk that is
 * not believed after a crash.
 */
static int mark_written(struct tier *t)
{
	u32 i;
	int r = 0;

	for (i = 0; i < t->map.nr_slots; i++) {
		tier_slot_t slot = tier_to_slot(i);
		u32 region;

		if (!(tier_slot_flags(&t->map, slot) & TIER_SLOT_WRITTEN))
			continue;
		region = tier_block_region(&t->g, tier_slot_block(&t->map, slot));
		if (region < t->g.nr_regions && !t->regions[region].durable)
			set_mark(t, region, true);
		cond_resched();
	}
	tier_metadata_begin(t->md);
	if (add_marks(t))
		r = write_transaction(t);
	if (r)
		return r;
	for (i = 0; i < t->g.nr_regions; i++) {
		struct tier_region *reg = &t->regions[i];

		if (!reg->durable && (t->intent[i / 64] >> (i % 64) & 1))
			marked(t, reg);
	}
	return 0;
}

/*
 * The slow device may not have what was written back since the last commit: what the fast device has of that is dirty
 * again.  Return: 0, or an error if the fast device's copy of something is given up already.
 */
static int write_back_again(struct tier *t)
{
	u32 i, nr = 0;
	int r;

	drop_doubtful(t, false);
	r = mark_written(t);
	for (i = 0; !r && i < t->map.nr_slots; i++) {
		tier_slot_t slot = tier_to_slot(i);
		tier_block_t block = tier_slot_block(&t->map, slot);
		struct tier_stripe *s;
		u32 flags;

		if (!(tier_slot_flags(&t->map, slot) & TIER_SLOT_WRITTEN))
			continue;
		s = tier_stripe(t, block);
		spin_lock_irq(&s->lock);
		flags = tier_slot_flags(&t->map, slot);
		/* not marked: written back since that flush */
		if (tier_map_lookup(&t->map, block) == slot && (flags & TIER_SLOT_WRITTEN) &&
		    t->regions[tier_block_region(&t->g, block)].durable) {
			u64 valid = tier_slot_valid(&t->map, slot);

			if (flags & TIER_SLOT_GONE)
				r = -EIO;
			tier_slot_change_flags(&t->map, slot, TIER_SLOT_WRITTEN | TIER_SLOT_GONE, 0);
			__tier_slot_update(t, slot, valid, valid);
			nr++;
		}
		spin_unlock_irq(&s->lock);
		cond_resched();
	}
	WRITE_ONCE(t->wb_again, t->wb_again + 1);
	if (nr)
		DMWARN_LIMIT("%s: flush of the slow device failed: %u blocks are dirty again", t->name, nr);
	tier_wb_kick(t);
	return r;
}

/* the slow device was flushed, whatever becomes of this commit: what was written back before its snapshot is there */
static void forget_written(struct tier *t)
{
	u32 i;

	for (i = 0; i < t->nr_snapshot; i++) {
		const struct tier_snapshot *sn = &t->snapshot[i];
		struct tier_stripe *s = tier_stripe(t, sn->rec.block);

		spin_lock_irq(&s->lock);
		if (tier_map_lookup(&t->map, sn->rec.block) == sn->slot &&
		    !(tier_slot_flags(&t->map, sn->slot) & TIER_SLOT_CHANGED))
			tier_slot_change_flags(&t->map, sn->slot, TIER_SLOT_WRITTEN | TIER_SLOT_GONE, 0);
		spin_unlock_irq(&s->lock);
	}
}

/*
 * Flushes have failed: of what was written to these devices since the last one that succeeded nobody knows whether it
 * is there, also if the next one succeeds.  Who wrote it is told (see map_flush()).  Data that were durable elsewhere
 * before they were copied there are still in the other place, as long as no commit records the copy.
 *
 * Return: the devices; *@r is set if some of that can't be taken back, and nothing may be recorded then.  Tiered mode:
 * *@left gets a bit for each tier that a move to can't be taken back now: that move is not recorded; *@gone is set if
 * something that was written is lost.
 */
static u32 look_at_doubts(struct tier *t, int *r, u32 *left, bool *gone)
{
	u32 devs = 0, i;

	/* a cache's slow device first: what becomes dirty again is not dropped from the fast one */
	for (i = t->nr_devs; i--;) {
		if (!READ_ONCE(t->devs[i].doubt) || !xchg(&t->devs[i].doubt, false))
			continue;
		devs |= BIT(i);
		if (tier_exclusive(t))
			*left |= tier_moves_undo(t, i, gone) ? 0 : BIT(i);
		else if (i)
			*r = write_back_again(t) ?: *r;
		else
			drop_doubtful(t, true);
	}
	if (*r)
		tier_set_health(t, TIER_HEALTH_RO,
				"a flush failed, and what was copied since the last one can't be copied again");
	return devs;
}

/*
 * The old slot's end comes behind what an earlier snapshot of this transaction may have of it: the last entry of a
 * slot counts.
 */
static void add_slot(struct tier *t, const struct tier_snapshot *sn)
{
	static const struct tier_record free;

	tier_metadata_add_slot(t->md, sn->slot, &sn->rec);
	if (sn->move)
		tier_metadata_add_slot(t->md, sn->move->from, &free);
}

/*
 * Tiered mode: devices that failed the flush may not have what the records of their slots claim, and so it is with
 * moves that could not be taken back.  Those wait for another commit; all the others go on.
 */
static void leave_unsure(struct tier *t, u32 failed)
{
	u32 i;

	for (i = 0; i < t->nr_snapshot; i++) {
		struct tier_snapshot *sn = &t->snapshot[i];

		if (!sn->undone)
			sn->unsure = (sn->rec.valid && (failed & BIT(tier_slot_dev(&t->g, sn->slot)))) ||
				     (sn->move && tier_move_doubtful(sn->move));
	}
}

/* 0 or an error; @lost: tiered mode: that of devices that could not be flushed, all else is committed */
static int commit_changed(struct tier *t, enum unmark which, int *lost)
{
	u32 word = 0, failed, doubts, left = 0, i;
	bool more, again, gone = false, untold = false;
	int r, doubt = 0;

	*lost = 0;
	WRITE_ONCE(t->commit_seq, t->commit_seq + 1);
	smp_mb();	/* pairs with tier_commit_pending(): seen before nr_changed falls */
	if (which != UNMARK_NONE)
		unmark_idle(t, which == UNMARK_ALL);			/* 1 */
	give_up_fast(t);
	do {
		more = collect_changed(t, &word);			/* 2 */
		trace_tier_commit(t->name, t->nr_snapshot);
		r = flush_devices(t, &failed, &untold);		/* 3 */
		if (tier_exclusive(t)) {
			*lost = r ?: *lost;
			r = 0;
		}
		/* before clean copies are dropped, which would count as gone */
		if (failed == BIT(0) && !tier_exclusive(t) && !READ_ONCE(t->slow->doubt))
			forget_written(t);
		doubts = look_at_doubts(t, &doubt, &left, &gone);
		if (tier_exclusive(t))
			leave_unsure(t, failed);
		again = give_up_fast(t) || (doubts & ~failed);
		if (doubt) {
			r = doubt;
			again = false;
		}
		if (!r && !again) {
			u32 n = 0;

			tier_metadata_begin(t->md);
			for (i = 0; i < t->nr_snapshot; i++) {
				if (t->snapshot[i].unsure || t->snapshot[i].undone)
					continue;
				add_slot(t, &t->snapshot[i]);
				n++;
			}
			if (!more)
				n += add_marks(t);
			if (n)
				r = write_transaction(t);		/* 4 */
		}
		settle_snapshot(t, !r && !again);			/* 5 */
		if (again) {
			word = 0;
			more = true;
			r = 0;
		}
	} while (more && !r);
	for (i = 0; left >> i; i++)
		if (left >> i & 1)
			WRITE_ONCE(t->devs[i].doubt, true);
	if ((left || gone) && !*lost)
		*lost = -EIO;
	/* what is gone may have been written after the flush that failed, and acknowledged */
	if ((untold || gone) && !(t->commit_tells && (r || *lost)))
		WRITE_ONCE(t->lost, true);
	if (which != UNMARK_NONE)
		end_unmark(t, !r);
	smp_mb();	/* pairs with tier_commit_pending(): nr_changed has risen again if it failed */
	WRITE_ONCE(t->commit_seq, t->commit_seq + 1);
	return r;
}

/* is there anything that a flush has to wait for?  No: nothing is changed, and no commit ran while we looked */
bool tier_commit_pending(struct tier *t)
{
	u32 seq = READ_ONCE(t->commit_seq);

	smp_rmb();	/* pairs with commit_changed() */
	if ((seq & 1) || atomic_read(&t->nr_changed))
		return true;
	smp_rmb();	/* pairs with commit_changed(): odd is seen before nr_changed is seen to fall */
	return READ_ONCE(t->commit_seq) != seq;
}

static void end_ios(struct list_head *ios, int r)
{
	struct tier_io *io, *tmp;

	list_for_each_entry_safe(io, tmp, ios, list) {
		list_del(&io->list);
		tier_io_complete(io, errno_to_blk_status(r));
	}
}

/* Context: worker, one at a time */
void tier_commit_work(struct work_struct *work)
{
	struct tier *t = container_of(work, struct tier, commit_work);
	struct commit_waiter *w, *tmp;
	LIST_HEAD(flushes);
	LIST_HEAD(commits);
	LIST_HEAD(intents);
	LIST_HEAD(waiters);
	LIST_HEAD(starved);
	bool wanted, untold;
	int r, lost = 0;

	spin_lock_irq(&t->commit_lock);
	list_splice_init(&t->flushes, &flushes);
	list_splice_init(&t->commits, &commits);
	list_splice_init(&t->intents, &intents);
	list_splice_init(&t->waiters, &waiters);
	wanted = t->commit_wanted;
	t->commit_wanted = false;
	spin_unlock_irq(&t->commit_lock);
	spin_lock_irq(&t->io_lock);
	list_splice_init(&t->starved, &starved);
	spin_unlock_irq(&t->io_lock);
	wanted |= !list_empty(&starved);

	if (!list_empty(&intents))
		mark_regions(t, &intents);
	if (!wanted && list_empty(&flushes) && list_empty(&commits) && list_empty(&waiters))
		return;
	/*
	 * The flushes that are here are told, also what the next one would have been; but not of writes that end while
	 * the commit runs: those who wait for these may not have asked yet
	 */
	t->commit_tells = !list_empty(&flushes);
	untold = t->commit_tells && xchg(&t->lost, false);
	r = tier_health(t) >= TIER_HEALTH_RO ? -EIO :
	    commit_changed(t, intent_look_due(t) ? UNMARK_IDLE : UNMARK_NONE, &lost);
	t->commit_tells = false;
	WRITE_ONCE(t->commit_lost, lost);
	end_ios(&flushes, r ?: lost ?: untold ? -EIO : 0);		/* 6 */
	end_ios(&commits, r ?: lost);
	list_for_each_entry_safe(w, tmp, &waiters, list) {
		w->r = r ?: lost;
		complete(&w->done);
	}
	if (!list_empty(&starved)) {
		struct tier_io *io;

		/* of moves that can't be recorded it may never be known when they end: who waits for them gives up */
		list_for_each_entry(io, &starved, list)
			if (r || (lost && !atomic_read(&t->nr_moves) && io->region == atomic_read(&t->freed)))
				io->flags |= TIER_IO_GIVE_UP;
		spin_lock_irq(&t->io_lock);
		list_splice_tail(&starved, &t->trim_waiters);
		spin_unlock_irq(&t->io_lock);
		queue_work(t->wq, &t->trim_work);	/* at its end they try again */
	}
	if (tier_exclusive(t))
		tier_move_kick(t);
	else if (!r && tier_slots_low(t) && atomic_read(&t->nr_used))
		tier_reclaim_kick(t);	/* after an error the tick does, once a second */
}

/* start a commit; @wanted: even if no bio waits for it.  Context: any */
void tier_commit_kick(struct tier *t, bool wanted)
{
	unsigned long flags;

	if (wanted) {
		spin_lock_irqsave(&t->commit_lock, flags);
		t->commit_wanted = true;
		spin_unlock_irqrestore(&t->commit_lock, flags);
	}
	queue_work(t->commit_wq, &t->commit_work);
}

/* has a flush failed that no commit knows of? */
static bool in_doubt(struct tier *t)
{
	u32 i;

	for (i = 0; i < t->nr_devs; i++)
		if (READ_ONCE(t->devs[i].doubt))
			return true;
	return false;
}

/* changes become durable after a while, asked for or not */
void tier_commit_timer(struct work_struct *work)
{
	struct tier *t = container_of(to_delayed_work(work), struct tier, commit_timer);

	if (READ_ONCE(t->stopping))
		return;
	if (atomic_read(&t->nr_changed) || intent_look_due(t) || in_doubt(t))
		tier_commit_kick(t, true);
	queue_delayed_work(t->bg_wq, &t->commit_timer, msecs_to_jiffies(tier_tune(t, TIER_TUNE_COMMIT_MS)));
}

/**
 * tier_commit_wait() - everything acknowledged so far becomes durable
 * @t: target
 *
 * Context: may sleep, not the commit thread.
 * Return: 0 or the error of the commit.
 */
int tier_commit_wait(struct tier *t)
{
	struct commit_waiter w;

	init_completion(&w.done);
	spin_lock_irq(&t->commit_lock);
	list_add_tail(&w.list, &t->waiters);
	spin_unlock_irq(&t->commit_lock);
	queue_work(t->commit_wq, &t->commit_work);
	wait_for_completion(&w.done);
	return w.r;
}

/**
 * tier_commit_final() - the last commit before a stop: no bio is under way, all marks go
 * @t: target
 *
 * Context: may sleep; the commit thread is idle.
 * Return: 0 or an error.
 */
int tier_commit_final(struct tier *t)
{
	int r, lost;

	flush_work(&t->commit_work);
	if (tier_health(t) >= TIER_HEALTH_RO)
		return -EIO;
	/* the second time for slots that the first could not free */
	r = commit_changed(t, UNMARK_ALL, &lost) ?: commit_changed(t, UNMARK_ALL, &lost);
	return r ?: lost;
}

/**
 * tier_commit_recovered() - after an unclean stop: drop what can't be trusted, then unmark
 * @t: target, loaded and activated, no bio yet
 * @intent: marks found on the disk
 *
 * In marked regions a clean copy and the slow device may differ, so clean granules go, durably before the
 * marks do (I5).
 * Context: may sleep.
 * Return: 0 or an error.
 */
int tier_commit_recovered(struct tier *t, const u64 *intent)
{
	int lost;
	u32 i;

	memcpy(t->intent, intent, sizeof(t->intent));
	bitmap_zero(t->intent_changed, TIER_INTENT_WORDS);
	for (i = 0; i < t->g.nr_regions; i++)
		if (intent[i / 64] >> (i % 64) & 1) {
			t->regions[i].durable = true;
			WRITE_ONCE(t->nr_intents, t->nr_intents + 1);
		}
	if (!t->nr_intents)
		return 0;
	for (i = 0; i < t->map.nr_slots; i++) {
		tier_slot_t slot = tier_to_slot(i);
		tier_block_t block = tier_slot_block(&t->map, slot);
		struct tier_stripe *s;

		if (!(tier_slot_flags(&t->map, slot) & TIER_SLOT_MAPPED) ||
		    !t->regions[tier_block_region(&t->g, block)].durable)
			continue;
		s = tier_stripe(t, block);
		spin_lock_irq(&s->lock);
		__tier_slot_update(t, slot, tier_slot_dirty(&t->map, slot), tier_slot_dirty(&t->map, slot));
		spin_unlock_irq(&s->lock);
		cond_resched();
	}
	DMWARN("%s: stopped without order: clean copies of %u of %u regions dropped", t->name, t->nr_intents,
	       t->g.nr_regions);
	return commit_changed(t, UNMARK_ALL, &lost);
}
