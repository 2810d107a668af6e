// SPDX-License-Identifier: GPL-2.0
/*
 * Tiered mode: back to a plain disk.
 *
 * A tier without header has its slots from sector 0 of its device on.  When block b, with all its granules valid, is in
 * its slot number b for every b that it has a slot for, and nothing is anywhere else, the device alone reads as the
 * tiered device does: it is as it was when it was taken over.  Passes over these blocks bring that about, in the worker
 * of moves and jobs:
 *
 *	LOOK	count what is missing
 *	MOVE	blocks in other slots go to their place.  Who is there goes before: to its own place, to another tier
 *		(all of its slots may be used), or, if that is full, to the place of a block that has no data
 *	FILL	granules that are not valid, of all these blocks, get zeros and become valid
 *	END	what the device has of a block that is only in part on it is copied there; all is flushed
 *
 * Each MOVE and FILL is followed by a LOOK.  Meanwhile nothing moves by itself, no block lands in another's place
 * unless there is no other room, and a discard of a block that has a place does nothing.  So a block lands at most
 * once, and none that is in its place leaves it: it ends.  A free slot for the block that is in the way there always
 * is: those that have no place land on other tiers only, and leave there what is kept for moves, so all the others are
 * less than the slots.
 *
 * Afterwards writes go to blocks that are in their place.  The end of the device is the exception: its block is in a
 * slot of another tier, and is copied after each write, and at a clean stop at the latest.
 */
#include <linux/dm-io.h>
#include "tier.h"

#define STEP_MS		50	/* at a time */

/* blocks that have a place on it: those below */
static u64 nr_places(struct tier *t, const struct tier_dev *d)
{
	return min_t(u64, d->nr_slots, t->g.nr_blocks);
}

/* the slot of a device that a block has its place in, or TIER_NO_SLOT */
tier_slot_t tier_settle_place(struct tier *t, const struct tier_dev *d, tier_block_t block)
{
	u64 b = tier_from_block(block);

	return b < nr_places(t, d) ? tier_local_slot(&t->g, tier_dev_index(t, d), b) : TIER_NO_SLOT;
}

/* ---- the end of the device ---- */

/* sectors behind its last slot, that have data of the block behind the last one that has a place */
static u32 tail_sectors(struct tier *t, const struct tier_dev *d)
{
	u64 sectors = t->g.devs[tier_dev_index(t, d)].sectors;

	return d->nr_slots < t->g.nr_blocks ? sectors & (t->g.block_sectors - 1) : 0;
}

/* granules of that block of which the device has something; 0: it has nothing of it */
static u64 tail_mask(struct tier *t, const struct tier_dev *d)
{
	u32 tail = tail_sectors(t, d);

	return tail ? tier_granule_mask(0, (tail - 1) >> t->g.granule_shift) : 0;
}

static bool tail_stale(const struct tier_settle *st)
{
	return READ_ONCE(st->tail_writes) != READ_ONCE(st->tail_copied);
}

/* a write to a block begins, and holds it; stripe locked */
void tier_settle_written(struct tier *t, tier_block_t block)
{
	struct tier_dev *d = tier_settling(t);

	tier_assert_locked(t, block);
	if (!d || tier_from_block(block) != d->nr_slots)
		return;
	WRITE_ONCE(t->settle.tail_writes, t->settle.tail_writes + 1);
	tier_move_kick(t);
}

/* zeros on granules of a block, whose @len sectors begin at @sector of the device */
static int zero(struct tier *t, struct tier_dev *d, sector_t sector, u64 mask, u32 len)
{
	u32 first, last;
	int r = 0;

	for (; mask && !r; mask &= ~tier_granule_mask(first, last)) {
		first = __ffs64(mask);
		for (last = first; mask >> last >> 1 & 1; last++)
			;
		r = blkdev_issue_zeroout(d->dm->bdev, sector + (first << t->g.granule_shift),
					 min((last + 1) << t->g.granule_shift, len) - (first << t->g.granule_shift),
					 GFP_NOIO, BLKDEV_ZERO_NOUNMAP);
	}
	return r;
}

/* what is valid of it, from slot @slot */
static int copy_tail_from(struct tier *t, struct tier_dev *d, tier_slot_t slot, sector_t sector, u32 len)
{
	struct tier_dev *source = tier_slot_device(t, slot);
	struct dm_io_region from = { .bdev = source->dm->bdev, .sector = tier_slot_sector(t, slot), .count = len };
	struct dm_io_region to = { .bdev = d->dm->bdev, .sector = sector, .count = len };
	bool read_failed;
	int r = tier_move_copy(t, &from, &to, &read_failed);

	if (r && read_failed)
		tier_dev_error(t, source, "read", sector);
	return r;
}

/*
 * Copy the end of the device to it.  @writes: those that the copy has.
 * Return: 0, -EBUSY: it is being written to; other errors.
 */
static int copy_tail(struct tier *t, struct tier_dev *d, u32 *writes)
{
	tier_block_t block = tier_to_block(d->nr_slots);
	struct tier_stripe *s = tier_stripe(t, block);
	sector_t sector = tier_block_sector(t, block);
	u32 len = tail_sectors(t, d);
	u64 mask = tail_mask(t, d), valid = 0;
	struct tier_hold hold;
	tier_slot_t slot;
	int r = 0;

	if (!mask) {
		*writes = READ_ONCE(t->settle.tail_writes);
		return 0;
	}
	tier_hold_init(&hold, block, mask, TIER_HOLD_ONLY);
	spin_lock_irq(&s->lock);
	*writes = t->settle.tail_writes;
	if (!__tier_hold_try(s, &hold)) {
		spin_unlock_irq(&s->lock);
		return -EBUSY;
	}
	slot = tier_map_lookup(&t->map, block);
	if (slot != TIER_NO_SLOT)
		valid = tier_slot_valid(&t->map, slot);
	spin_unlock_irq(&s->lock);
	if (mask & valid)
		r = copy_tail_from(t, d, slot, sector, len);
	r = r ?: zero(t, d, sector, mask & ~valid, len);
	tier_dev_dirtied(d);
	tier_hold_release(t, &hold);
	if (r)
		DMERR_LIMIT("%s: tier %u: its last %u sectors can't be written: error %d", t->name,
			    tier_dev_index(t, d), len, r);
	return r;
}

/* ---- blocks ---- */

enum whereabouts { AT_HOME, AWAY, GAPS };

/* is a block in @place that has no place of its own?  That one goes only if somebody makes it; a hint */
static bool homeless_there(struct tier *t, struct tier_dev *d, tier_slot_t place)
{
	return tier_slot_flags(&t->map, place) & TIER_SLOT_MAPPED &&
	       tier_settle_place(t, d, tier_slot_block(&t->map, place)) == TIER_NO_SLOT;
}

/* AWAY: it, or who is in its place, is to be moved */
static enum whereabouts look(struct tier *t, struct tier_dev *d, tier_block_t block)
{
	tier_slot_t place = tier_settle_place(t, d, block), slot;
	struct tier_stripe *s = tier_stripe(t, block);
	enum whereabouts found = GAPS;

	spin_lock_irq(&s->lock);
	slot = tier_map_lookup(&t->map, block);
	if (slot == TIER_NO_SLOT ? homeless_there(t, d, place) : slot != place)
		found = AWAY;
	else if (slot != TIER_NO_SLOT && tier_slot_valid(&t->map, slot) == tier_block_mask(t, block))
		found = AT_HOME;
	spin_unlock_irq(&s->lock);
	return found;
}

/* the first slot of the free list, and the block that has its place there */
static tier_slot_t some_free(struct tier *t, struct tier_dev *d, tier_block_t *block)
{
	tier_slot_t slot;

	spin_lock_irq(&t->free_lock);
	slot = tier_to_slot(d->free.first);
	spin_unlock_irq(&t->free_lock);
	if (slot != TIER_NO_SLOT)
		*block = tier_to_block(tier_slot_local(&t->g, slot));
	return slot;
}

/* a block is in the place of another one, @slot, and goes away.  0: a move was started, not always of this block */
static int make_way(struct tier *t, struct tier_dev *d, tier_block_t block, tier_slot_t slot)
{
	tier_slot_t to = tier_settle_place(t, d, block);
	tier_block_t other;
	int r = -ENOSPC;
	u32 i;

	if (to != TIER_NO_SLOT)
		r = tier_move_to(t, block, slot, to);
	for (i = 0; r == -ENOSPC && i < t->nr_devs; i++)
		if (tier_dev_takes(&t->devs[i]))
			r = tier_move_start(t, block, slot, i, TIER_MOVE_SETTLE);
	if (r != -ENOSPC)
		return r;
	/* the other tiers are full.  Not to the place of a block that is to come there: that would have to wait */
	to = some_free(t, d, &other);
	if (to == TIER_NO_SLOT)
		return r;
	return look(t, d, other) == AWAY ? tier_move_to(t, other, TIER_NO_SLOT, to) : tier_move_to(t, block, slot, to);
}

/* a block that is in another slot; 0: a move was started, of it or of the one that is in its place */
static int bring(struct tier *t, struct tier_dev *d, tier_block_t block)
{
	tier_slot_t place = tier_settle_place(t, d, block);
	int r;

	percpu_down_read(&t->config_sem);
	if (tier_slot_flags(&t->map, place) & TIER_SLOT_MAPPED)
		r = make_way(t, d, tier_slot_block(&t->map, place), place);
	else
		r = tier_move_to(t, block, TIER_NO_SLOT, place);
	percpu_up_read(&t->config_sem);
	return r;
}

/* hold what a block has not, in its slot, which it gets if it has none; false: nothing, or not now */
static bool take_gaps(struct tier *t, struct tier_dev *d, struct tier_settle_fill *f)
{
	struct tier_hold *hold = &f->hold;
	struct tier_stripe *s = tier_stripe(t, hold->block);
	struct tier_policy *p = d->policy;
	bool inserted = false;
	tier_slot_t slot;
	u64 gaps = 0;

	lockdep_assert_held(&t->config_sem);
	spin_lock_irq(&s->lock);
	slot = tier_map_lookup(&t->map, hold->block);
	if (slot == TIER_NO_SLOT)
		gaps = tier_block_mask(t, hold->block);
	else if (slot == f->place)
		gaps = tier_block_mask(t, hold->block) & ~tier_slot_valid(&t->map, slot);
	hold->mask = gaps;
	if (gaps && !__tier_hold_try(s, hold))
		gaps = 0;
	if (gaps && slot == TIER_NO_SLOT) {
		inserted = tier_slot_take(t, f->place) != TIER_NO_SLOT;
		if (inserted) {
			__tier_slot_begin(t, f->place, hold->block);
		} else {
			__tier_hold_release(s, hold);
			gaps = 0;
		}
	}
	spin_unlock_irq(&s->lock);
	if (inserted && p)
		p->type->inserted(p, hold->block, tier_slot_number(t, f->place), NULL);
	return gaps;
}

/* the zeros of a block are there, durably, or not */
static void end_fill(struct tier *t, struct tier_settle_fill *f, bool written)
{
	struct tier_stripe *s = tier_stripe(t, f->hold.block);
	u64 valid;

	spin_lock_irq(&s->lock);
	valid = tier_slot_valid(&t->map, f->place) | (written ? f->hold.mask : 0);
	__tier_slot_update(t, f->place, valid, valid);
	/* nothing landed after all: let the commit give the slot back */
	if (!valid)
		__tier_slot_changed(t, f->place);
	__tier_hold_release(s, &f->hold);
	spin_unlock_irq(&s->lock);
}

/*
 * The zeros written since the last time are made durable, and only then believed: nobody else knows of them, so nobody
 * would be told if a flush that fails threw them away.
 */
static void end_fills(struct tier *t, struct tier_dev *d)
{
	struct tier_settle *st = &t->settle;
	u32 failed, i;
	bool durable;

	if (!st->nr_fills)
		return;
	tier_flush_devices(t, &failed);
	durable = !(failed & BIT(tier_dev_index(t, d))) && atomic_read(&d->flush_errors) == st->flush_errors;
	if (!durable) {
		st->begun -= min(st->begun, st->nr_fills);
		atomic_add(st->nr_fills, &st->failed);
	}
	for (i = 0; i < st->nr_fills; i++)
		end_fill(t, &st->fills[i], durable);
	st->nr_fills = 0;
}

/* zeros where a block has nothing, which end_fills() makes valid; false: not now */
static bool fill(struct tier *t, struct tier_dev *d, tier_block_t block)
{
	struct tier_settle *st = &t->settle;
	struct tier_settle_fill *f = &st->fills[st->nr_fills];
	bool taken;

	f->place = tier_settle_place(t, d, block);
	tier_hold_init(&f->hold, block, 0, TIER_HOLD_ONLY);
	percpu_down_read(&t->config_sem);
	taken = take_gaps(t, d, f);
	percpu_up_read(&t->config_sem);
	if (!taken)
		return false;
	if (!st->nr_fills)
		st->flush_errors = atomic_read(&d->flush_errors);
	if (zero(t, d, tier_slot_sector(t, f->place), f->hold.mask, tier_block_len(t, block))) {
		tier_dev_error(t, d, "write", tier_block_sector(t, block));
		tier_settle_failed(t);
		end_fill(t, f, false);
		return false;
	}
	tier_dev_dirtied(d);
	st->nr_fills++;
	return true;
}

/* granules that this device has no sectors for */
static u64 granules_beyond(struct tier *t, const struct tier_dev *d, tier_block_t block, u64 valid)
{
	u64 b = tier_from_block(block);

	if (b < nr_places(t, d))
		return 0;
	return b == d->nr_slots ? valid & ~tail_mask(t, d) : valid;
}

/**
 * tier_settle_beyond() - blocks with data that a tier has no place for
 * @t: target
 * @d: tier without header
 *
 * Context: may sleep.
 */
u64 tier_settle_beyond(struct tier *t, const struct tier_dev *d)
{
	u64 nr = 0;
	u32 i;

	for (i = 0; i < t->map.nr_slots; i++) {
		tier_slot_t slot = tier_to_slot(i);
		tier_block_t block = tier_slot_block(&t->map, slot);
		struct tier_stripe *s = tier_stripe(t, block);

		cond_resched();
		if (!(tier_slot_flags(&t->map, slot) & TIER_SLOT_MAPPED))
			continue;
		spin_lock_irq(&s->lock);
		if (tier_map_lookup(&t->map, block) == slot)
			nr += !!granules_beyond(t, d, block, tier_slot_valid(&t->map, slot));
		spin_unlock_irq(&s->lock);
	}
	return nr;
}

/* granules of a block became valid.  Stripe locked */
void __tier_settle_grew(struct tier *t, tier_block_t block, u64 granules)
{
	struct tier_dev *d = tier_settling(t);

	tier_assert_locked(t, block);
	if (d && granules_beyond(t, d, block, granules))
		tier_settle_again(t);
}

/* ---- passes ---- */

/* something changed that may have to be looked at.  Context: any */
void tier_settle_again(struct tier *t)
{
	if (!tier_settling(t))
		return;
	WRITE_ONCE(t->settle.again, true);
	tier_move_kick(t);
}

/* a copy failed: not at once again.  Context: any */
void tier_settle_failed(struct tier *t)
{
	atomic_inc(&t->settle.failed);
}

static void begin_pass(struct tier_settle *st, enum tier_settle_pass pass)
{
	WRITE_ONCE(st->pass, pass);
	st->next = 0;
	st->begun = 0;
}

static void begin_look(struct tier_settle *st)
{
	begin_pass(st, TIER_SETTLE_LOOK);
	st->nr_away = 0;
	st->nr_gaps = 0;
	/* before the stripes are looked into: who changes something in one sets it with that locked */
	WRITE_ONCE(st->again, false);
}

static void pause(struct tier_settle *st)
{
	st->pause = jiffies + HZ;
}

/* a pass is over, or the end was tried.  @nr: blocks that it failed with, and it did nothing else; else 0 */
static void judge(struct tier *t, struct tier_dev *d, u32 nr)
{
	tier_dev_stuck(t, d, &t->settle.failed_passes, nr);
}

/* are discards under way that came before the tier began to settle? */
static bool discards_wait(struct tier *t)
{
	bool wait;

	spin_lock_irq(&t->discard_lock);
	wait = !list_empty(&t->discards) || !list_empty(&t->discarding);
	spin_unlock_irq(&t->discard_lock);
	return wait;
}

static void end_look(struct tier *t, struct tier_dev *d)
{
	struct tier_settle *st = &t->settle;
	u32 failed = atomic_xchg(&st->failed, 0);

	st->nr_beyond = tier_settle_beyond(t, d);
	WRITE_ONCE(st->left, st->nr_away + st->nr_gaps + st->nr_beyond);
	/* all was in use, or failed: it will not be different at once */
	if (!st->any || failed)
		pause(st);
	st->any = false;
	begin_pass(st, st->nr_away ? TIER_SETTLE_MOVE : st->nr_gaps ? TIER_SETTLE_FILL : TIER_SETTLE_END);
	if (st->pass != TIER_SETTLE_END)
		st->told = false;
}

static void one_done(struct tier *t)
{
	struct tier_settle *st = &t->settle;

	st->any = true;
	st->begun++;
	if (st->left)
		WRITE_ONCE(st->left, st->left - 1);
	t->mig_tokens -= t->g.block_sectors;
}

/* the next block of a pass; false: not now */
static bool next_block(struct tier *t, struct tier_dev *d)
{
	struct tier_settle *st = &t->settle;
	tier_block_t block = tier_to_block(st->next);
	enum whereabouts found = look(t, d, block);

	if (st->pass == TIER_SETTLE_LOOK) {
		st->nr_away += found == AWAY;
		st->nr_gaps += found == GAPS;
	} else if (found == (st->pass == TIER_SETTLE_MOVE ? AWAY : GAPS)) {
		if (READ_ONCE(d->failing) || !tier_may_move(t))
			return false;
		if (st->pass == TIER_SETTLE_MOVE ? !bring(t, d, block) : fill(t, d, block))
			one_done(t);
		if (st->nr_fills == TIER_SETTLE_FILLS)
			end_fills(t, d);
	}
	st->next++;
	cond_resched();
	return true;
}

/* the end of a pass that was to change something.  @failed: copies; if a device can't be flushed, moves are undone */
static void end_try(struct tier *t, struct tier_dev *d, u32 failed)
{
	u32 done = t->settle.begun;

	if (READ_ONCE(t->commit_lost))
		judge(t, d, failed + done);
	else
		judge(t, d, done ? 0 : failed);
}

/* false: not now */
static bool end_pass(struct tier *t, struct tier_dev *d)
{
	struct tier_settle *st = &t->settle;

	end_fills(t, d);
	switch (st->pass) {
	case TIER_SETTLE_LOOK:
		end_look(t, d);
		return true;
	case TIER_SETTLE_MOVE:
		/* the slots that they leave are free then */
		if (atomic_read(&t->nr_moves) || READ_ONCE(t->nr_switched))
			return false;
		st->begun -= min_t(u32, st->begun, atomic_read(&st->failed));
		fallthrough;
	default:
		end_try(t, d, atomic_read(&st->failed));
		begin_look(st);
		return true;
	}
}

/* false: not now */
static bool finish(struct tier *t, struct tier_dev *d)
{
	int flush_errors = atomic_read(&d->flush_errors);
	struct tier_settle *st = &t->settle;
	u32 writes;
	int r = copy_tail(t, d, &writes);

	if (r == -EBUSY)
		return false;
	r = r ?: tier_commit_wait(t) ?: tier_flush_devices(t, NULL);
	/* somebody else's flush that failed meanwhile may have thrown away the copy */
	if (!r && atomic_read(&d->flush_errors) != flush_errors)
		r = -EIO;
	judge(t, d, r ? 1 : 0);
	if (r) {
		pause(st);
		return false;
	}
	st->any = true;
	if (READ_ONCE(st->again)) {
		begin_look(st);
		return true;
	}
	WRITE_ONCE(st->tail_copied, writes);
	begin_pass(st, TIER_SETTLE_DONE);
	WRITE_ONCE(st->left, st->nr_beyond);
	if (!st->told && !st->nr_beyond) {
		DMINFO("%s: tier %u is settled: after a stop it is a disk of its own", t->name, tier_dev_index(t, d));
		tier_event(t);
	}
	st->told = !st->nr_beyond;
	return true;
}

/* is there something to be done for the tier that settles? */
bool tier_settle_works(struct tier *t)
{
	const struct tier_settle *st = &t->settle;

	return tier_settling(t) && (READ_ONCE(st->pass) != TIER_SETTLE_DONE || READ_ONCE(st->again) || tail_stale(st));
}

/**
 * tier_settle_step() - go on to settle a tier
 * @t: target, tiered
 *
 * Context: worker, one at a time; may wait for a commit.
 * Return: true if it is to be called again soon.
 */
bool tier_settle_step(struct tier *t)
{
	unsigned long until = jiffies + msecs_to_jiffies(STEP_MS);
	struct tier_settle *st = &t->settle;
	struct tier_dev *d = tier_settling(t);
	bool now = true;

	if (tier_health(t) != TIER_HEALTH_RW)
		return false;
	while (now && !READ_ONCE(t->stopping) && tier_settle_works(t) && time_before(jiffies, until)) {
		if (time_before(jiffies, st->pause))
			break;
		if (st->pass == TIER_SETTLE_DONE && READ_ONCE(st->again))
			begin_look(st);
		if (st->pass == TIER_SETTLE_LOOK && !st->next && discards_wait(t))
			break;
		if (st->pass >= TIER_SETTLE_END)
			now = finish(t, d);
		else if (st->next < nr_places(t, d))
			now = next_block(t, d);
		else
			now = end_pass(t, d);
	}
	end_fills(t, d);
	return tier_settle_works(t);
}

/* ---- life ---- */

/* sectors below this one are not discarded, so that what has been given its place stays there */
u64 tier_settle_discard_start(struct tier *t)
{
	struct tier_dev *d = tier_settling(t);

	return d ? nr_places(t, d) << t->g.block_shift : 0;
}

/* "settling" or "settled" */
const char *tier_settle_state(struct tier *t)
{
	const struct tier_settle *st = &t->settle;

	return !tier_settle_works(t) && !READ_ONCE(st->nr_beyond) ? "settled" : "settling";
}

/* from the beginning; nothing is known of the end of the device.  @d: NULL: none settles */
static void reset(struct tier *t, struct tier_dev *d)
{
	struct tier_settle *st = &t->settle;

	if (st->dev) {
		WRITE_ONCE(st->dev->settle, false);
		WRITE_ONCE(st->dev->stuck, 0);
	}
	memset(st, 0, sizeof(*st));
	begin_look(st);
	st->tail_writes = 1;
	st->any = true;
	st->pause = jiffies;
	if (!d)
		return;
	WRITE_ONCE(d->settle, true);
	WRITE_ONCE(st->dev, d);
}

/**
 * tier_settle_set() - a tier is to be settled from now on, or none any more
 * @t: loaded
 * @d: tier without header, or NULL
 *
 * Context: may sleep.
 */
void tier_settle_set(struct tier *t, struct tier_dev *d)
{
	lockdep_assert_held(&t->life_mutex);
	cancel_delayed_work_sync(&t->job_work);
	/* whatever lands or begins to move from here on knows it */
	percpu_down_write(&t->config_sem);
	reset(t, d);
	percpu_up_write(&t->config_sem);
	tier_move_kick(t);
}

/* somebody asks for it again, and may have mended what failed: it is tried at once, and what failed before forgotten */
void tier_settle_retry(struct tier *t)
{
	struct tier_settle *st = &t->settle;

	lockdep_assert_held(&t->life_mutex);
	cancel_delayed_work_sync(&t->job_work);
	st->pause = jiffies;
	st->failed_passes = 0;
	WRITE_ONCE(st->dev->stuck, 0);
	tier_move_kick(t);
}

/* as the metadata say; nothing is under way */
void tier_settle_load(struct tier *t)
{
	u32 i;

	reset(t, NULL);
	for (i = 0; i < t->nr_devs; i++)
		if (t->g.devs[i].flags & TIER_DEV_SETTLE)
			reset(t, &t->devs[i]);
}

/**
 * tier_settle_stop() - the end of the device, at a clean stop
 * @t: loaded, nothing under way; the devices are flushed afterwards
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int tier_settle_stop(struct tier *t)
{
	struct tier_dev *d = tier_settling(t);
	u32 writes;

	/* also if the end was discarded, and that was not looked at yet */
	return d && tier_settle_works(t) ? copy_tail(t, d, &writes) : 0;
}
