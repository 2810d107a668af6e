// SPDX-License-Identifier: GPL-2.0
/*
 * Discards: whole granules, durable like a write.
 *
 * A discard bio may span many blocks.  In the worker: nothing is copied into the range from here on, its
 * granules become invalid (dirty ones are dropped, not written back), that is committed, and only then is
 * the slow device told: its data may change with it, and no durable record may call a copy of the old
 * data clean.
 */
#include "tier.h"

/* is a discard under way there?  Stripe locked */
bool __tier_in_discard(struct tier *t, u64 start, u32 sectors)
{
	struct tier_io *io;
	bool found = false;

	tier_assert_locked(t, tier_to_block(start >> t->g.block_shift));
	spin_lock(&t->discard_lock);
	list_for_each_entry(io, &t->discarding, list)
		if (start < io->start + io->sectors && io->start < start + sectors) {
			found = true;
			break;
		}
	spin_unlock(&t->discard_lock);
	return found;
}

/**
 * tier_discard_map() - map a discard
 * @t: target
 * @io: its data, start and sectors are set
 * @bio: the bio, of any length
 *
 * Context: process.
 * Return: DM_MAPIO_*.
 */
int tier_discard_map(struct tier *t, struct tier_io *io, struct bio *bio)
{
	u32 gran = t->g.granule_sectors;
	u64 end = io->start + io->sectors;
	u64 start = round_up(io->start, gran);

	if (tier_health(t) >= TIER_HEALTH_RO)
		return DM_MAPIO_KILL;
	if (end != t->ti->len)
		end = round_down(end, gran);
	tier_count(t, TIER_STAT_DISCARDS, 1);
	spin_lock_irq(&t->discard_lock);
	/* with the lock held: who makes a tier settle waits for those that are listed before */
	start = max(start, tier_settle_discard_start(t));
	if (start < end) {
		io->start = start;
		io->sectors = end - start;
		list_add_tail(&io->list, &t->discards);
	}
	spin_unlock_irq(&t->discard_lock);
	if (start < end)
		queue_work(t->wq, &t->discard_work);
	else
		tier_io_complete(io, BLK_STS_OK);
	return DM_MAPIO_SUBMITTED;
}

/**
 * tier_range_mask() - granules of a block that a range touches
 * @t: target
 * @block: block
 * @start: first sector
 * @end: sector behind the last
 */
u64 tier_range_mask(struct tier *t, tier_block_t block, u64 start, u64 end)
{
	u64 b = tier_block_sector(t, block);
	u64 block_end;

	if (b >= t->ti->len)
		return 0;
	block_end = b + tier_block_len(t, block);
	start = max(start, b);
	end = min(end, block_end);
	if (start >= end)
		return 0;
	return tier_granule_mask((start - b) >> t->g.granule_shift, (end - b - 1) >> t->g.granule_shift);
}

/* waits, in its turn, for what is under way on the granules */
static void drop_in_block(struct tier *t, tier_block_t block, u64 start, u64 end, bool dirty_too)
{
	struct tier_stripe *s = tier_stripe(t, block);
	u64 mask = tier_range_mask(t, block, start, end);
	struct tier_hold_waiter w;
	tier_slot_t slot;

	if (!mask)
		return;
	tier_hold_init(&w.hold, block, mask, TIER_HOLD_ONLY);
	spin_lock_irq(&s->lock);
	if (tier_map_lookup(&t->map, block) == TIER_NO_SLOT)
		goto unlock;
	__tier_hold_get(s, &w);
	/* the slot may be another one, or none, by now */
	slot = tier_map_lookup(&t->map, block);
	if (slot != TIER_NO_SLOT) {
		u64 valid = tier_slot_valid(&t->map, slot), dirty = tier_slot_dirty(&t->map, slot);
		u64 drop = dirty_too ? mask : mask & ~dirty;

		__tier_slot_replaced(t, slot, valid & ~drop, dirty & ~drop, dirty_too ? drop : 0);
	}
	__tier_hold_release(s, &w.hold);
unlock:
	spin_unlock_irq(&s->lock);
}

/**
 * tier_drop_range() - the granules that a range touches become invalid, in core
 * @t: target
 * @start: first sector
 * @end: sector behind the last
 * @dirty_too: also dirty ones
 *
 * Context: may sleep.
 */
void tier_drop_range(struct tier *t, u64 start, u64 end, bool dirty_too)
{
	u64 first = start >> t->g.block_shift;
	u64 last = (end - 1) >> t->g.block_shift;
	u32 i;

	/* in tiered mode blocks change their slots: a search through the slots could miss some */
	if (tier_exclusive(t) || last - first < t->map.nr_slots) {
		for (; first <= last; first++) {
			drop_in_block(t, tier_to_block(first), start, end, dirty_too);
			cond_resched();
		}
		return;
	}
	/* fewer slots than blocks: go through them; whoever was about to map one has done so or sees us */
	for (i = 0; i <= t->map.stripe_mask; i++) {
		spin_lock_irq(&t->stripes[i].lock);
		spin_unlock_irq(&t->stripes[i].lock);
	}
	for (i = 0; i < t->map.nr_slots; i++) {
		tier_slot_t slot = tier_to_slot(i);

		if (tier_slot_flags(&t->map, slot) & TIER_SLOT_MAPPED)
			drop_in_block(t, tier_slot_block(&t->map, slot), start, end, dirty_too);
		cond_resched();
	}
}

static int pass_down(struct tier *t, const struct tier_io *io)
{
	struct block_device *bdev = t->slow->dm->bdev;
	int r;

	/* in tiered mode slots are discarded when nothing is left in them, see tier_trim_work() */
	if (tier_exclusive(t) || !t->discard_passdown || !bdev_max_discard_sectors(bdev))
		return 0;
	r = blkdev_issue_discard(bdev, io->start, io->sectors, GFP_NOIO);
	tier_dev_acked(t->slow);
	return r == -EOPNOTSUPP ? 0 : r;
}

/* Context: worker, one at a time */
void tier_discard_work(struct work_struct *work)
{
	struct tier *t = container_of(work, struct tier, discard_work);
	struct tier_io *io, *tmp;
	LIST_HEAD(done);
	int r = 0;

	spin_lock_irq(&t->discard_lock);
	if (list_empty(&t->discards)) {
		spin_unlock_irq(&t->discard_lock);
		return;
	}
	list_splice_init(&t->discards, &t->discarding);
	WRITE_ONCE(t->nr_discarding, 1);
	spin_unlock_irq(&t->discard_lock);
	smp_mb();	/* the range is seen by whoever takes a stripe after us */

	list_for_each_entry(io, &t->discarding, list)
		tier_drop_range(t, io->start, io->start + io->sectors, true);
	tier_settle_again(t);
	if (tier_commit_pending(t))
		r = tier_commit_wait(t);
	/* only this work takes from the list */
	list_for_each_entry(io, &t->discarding, list)
		io->slow_error = errno_to_blk_status(r ?: pass_down(t, io));

	spin_lock_irq(&t->discard_lock);
	list_splice_init(&t->discarding, &done);
	WRITE_ONCE(t->nr_discarding, 0);
	spin_unlock_irq(&t->discard_lock);
	list_for_each_entry_safe(io, tmp, &done, list) {
		list_del(&io->list);
		tier_io_complete(io, io->slow_error);
	}
}
