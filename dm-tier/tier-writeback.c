// SPDX-License-Identifier: GPL-2.0
/*
 * Which dirty data go back when.
 *
 * Dirty slots are counted per region of the slow device, so that write back goes through it in address
 * order without a sorted list of what is dirty.  It runs
 *
 *	urgently	during a flush, and while a mode that knows no dirty data is wanted
 *	above the high watermark, until below the low one
 *	while the slow device is idle
 *
 * and in all cases with a single write under way while foreground requests use the slow device (two if
 * urgent), so that a read never waits for more than that.  What the reclaimer wants clean comes first.
 */
#include <linux/sort.h>
#include "tier.h"
#include "tier-trace.h"

#define BUSY_MS		50	/* the slow device serves foreground requests until so long after the last */
#define SMALL_SECTORS	512U	/* one write beside foreground requests */
#define LARGE_SECTORS	2048U
#define MAX_SWEEPS	4	/* of a flush, while others go on writing */
#define MIN_REFILL	16U	/* sectors */

static bool slow_busy(struct tier *t)
{
	return atomic_read(&t->slow->inflight) ||
	       time_before(jiffies, READ_ONCE(t->slow->last) + msecs_to_jiffies(BUSY_MS));
}

/* no foreground request for idle_ms */
bool tier_slow_idle(struct tier *t)
{
	return !atomic_read(&t->slow->inflight) &&
	       time_after_eq(jiffies, READ_ONCE(t->slow->last) + msecs_to_jiffies(tier_tune(t, TIER_TUNE_IDLE_MS)));
}

void tier_wb_kick(struct tier *t)
{
	if (!READ_ONCE(t->stopping) && !tier_exclusive(t))
		mod_delayed_work(t->bg_wq, &t->wb_work, 0);
}

/* a copy has ended */
void tier_wb_done(struct tier *t, u32 sectors)
{
	atomic64_sub(sectors, &t->wb_inflight_sectors);
	atomic_dec(&t->wb_inflight);
	tier_wb_kick(t);
	if (tier_slots_low(t))
		tier_reclaim_kick(t);
}

/* writes under way that may still make data dirty; once no more can begin, 0 is final */
static bool dirtying(struct tier *t)
{
	s64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(t->dirtying, cpu));
	return sum > 0;
}

/* the wanted mode is reached when nothing is dirty and nothing can become so any more */
void tier_drain_check(struct tier *t)
{
	enum tier_mode mode = READ_ONCE(t->mode);	/* may change while we look */

	if (t->settled == mode)
		return;
	/* the commit may find that all of it has to be written back again, and succeed */
	if (mode != TIER_MODE_WRITEBACK &&
	    (dirtying(t) || atomic64_read(&t->nr_dirty) || tier_commit_wait(t) || atomic64_read(&t->nr_dirty)))
		return;
	trace_tier_mode(t->name, t->settled, mode);
	WRITE_ONCE(t->settled, mode);
	tier_event(t);
}

/* slots whose write back failed get another chance */
void tier_wb_forget_failures(struct tier *t)
{
	unsigned long flags;
	u32 i;

	if (!atomic64_read(&t->unwritable))
		return;
	for (i = 0; i < t->map.nr_slots; i++) {
		tier_slot_t slot = tier_to_slot(i);
		tier_block_t block;
		struct tier_stripe *s;

		if (!(tier_slot_flags(&t->map, slot) & TIER_SLOT_WB_FAILED))
			continue;
		block = tier_slot_block(&t->map, slot);
		s = tier_stripe(t, block);
		spin_lock_irqsave(&s->lock, flags);
		if (tier_slot_block(&t->map, slot) == block &&
		    (tier_slot_flags(&t->map, slot) & TIER_SLOT_WB_FAILED)) {
			tier_slot_change_flags(&t->map, slot, TIER_SLOT_WB_FAILED, 0);
			atomic64_dec(&t->unwritable);
		}
		spin_unlock_irqrestore(&s->lock, flags);
		cond_resched();
	}
}

/* the flush message: a sweep over all of the slow device */
void tier_wb_flush(struct tier *t)
{
	WRITE_ONCE(t->flush_state, TIER_FLUSH_RUNNING);
	WRITE_ONCE(t->flush_restart, true);
	tier_wb_kick(t);
}

static bool flush_running(struct tier *t)
{
	return READ_ONCE(t->flush_state) == TIER_FLUSH_RUNNING;
}

#define MAX_NAMED	32U	/* blocks that the log names */

static void flush_failed(struct tier *t)
{
	u32 i, n = 0;

	for (i = 0; i < t->map.nr_slots && n < MAX_NAMED; i++) {
		tier_slot_t slot = tier_to_slot(i);
		tier_block_t block = tier_slot_block(&t->map, slot);

		if (!(tier_slot_flags(&t->map, slot) & TIER_SLOT_WB_FAILED))
			continue;
		DMERR("%s: flush: block %llu can't be written back: sector %llu + %u", t->name,
		      tier_from_block(block), (unsigned long long)tier_block_sector(t, block),
		      tier_block_len(t, block));
		n++;
	}
	DMERR("%s: flush: %lld blocks can't be written back, %lld granules stay dirty", t->name,
	      (long long)atomic64_read(&t->unwritable), (long long)atomic64_read(&t->nr_dirty));
	WRITE_ONCE(t->flush_state, TIER_FLUSH_FAILED);
	tier_event(t);
}

/* all regions were looked at and all copies have ended: is the flush over? */
static void sweep_done(struct tier *t)
{
	bool dirty = atomic64_read(&t->nr_dirty);
	u32 again = READ_ONCE(t->wb_again);

	if (dirty && t->sweeps < MAX_SWEEPS && atomic_read(&t->nr_dirty_slots) > atomic64_read(&t->unwritable)) {
		t->sweeps++;
		t->sweep_left = t->nr_wb_regions + 1;
		return;
	}
	if (atomic64_read(&t->unwritable) || tier_commit_wait(t)) {
		flush_failed(t);
		return;
	}
	if (READ_ONCE(t->wb_again) != again) {
		t->sweep_left = t->nr_wb_regions + 1;
		return;
	}
	WRITE_ONCE(t->flush_state, TIER_FLUSH_IDLE);
	tier_event(t);
}

/**
 * tier_tokens_refill() - what a rate cap allows by now
 * @tokens: sectors allowed, changed; negative: so many too many were written
 * @time: jiffies of the last refill, changed
 * @rate: cap in KiB/s
 *
 * A second's worth is saved up at most.  Context: the one worker that spends these tokens.
 */
void tier_tokens_refill(s64 *tokens, unsigned long *time, u32 rate)
{
	unsigned long now = jiffies;
	u64 ms = min_t(u64, jiffies_to_msecs(now - *time), 1000);
	u64 second = rate * 2ULL;
	u64 more = div_u64(second * ms, 1000);

	/* a few sectors wait for more: what rounding takes must not be much of them, or all */
	if (more < MIN_REFILL && ms < 1000)
		return;
	*time = now;
	*tokens = min_t(s64, *tokens + more, max_t(u64, second, LARGE_SECTORS));
}

/* a flush and a drain go as fast as the devices do */
static bool cap_holds(struct tier *t)
{
	return tier_tune(t, TIER_TUNE_WB_RATE) && !flush_running(t) && READ_ONCE(t->mode) == TIER_MODE_WRITEBACK;
}

static bool capped(struct tier *t)
{
	return cap_holds(t) && t->wb_tokens < t->g.granule_sectors;
}

static void charge(struct tier *t, u32 sectors)
{
	if (cap_holds(t))
		t->wb_tokens -= sectors;
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* what the reclaimer would give up if it were clean, in address order; true: more is left */
static bool write_wanted(struct tier *t, u32 depth)
{
	u64 *blocks = t->want_blocks;
	u32 i, n = 0;

	spin_lock_irq(&t->want_lock);
	for (i = 0; i < t->nr_want_clean; i++)
		blocks[n++] = tier_from_block(tier_slot_block(&t->map, tier_to_slot(t->want_clean[i])));
	t->nr_want_clean = 0;
	spin_unlock_irq(&t->want_lock);
	sort(blocks, n, sizeof(*blocks), compare_u64, NULL);
	for (i = 0; i < n; i++) {
		u64 pos = blocks[i] << t->g.block_shift;
		u64 end = min_t(u64, pos + t->g.block_sectors, t->ti->len);

		while (pos < end && atomic_read(&t->wb_inflight) < depth && !capped(t)) {
			u32 sectors = tier_copy_write_back(t, &pos, end, LARGE_SECTORS, false);

			if (!sectors)
				break;
			charge(t, sectors);
		}
		if (atomic_read(&t->wb_inflight) >= depth)
			return true;
	}
	return false;
}

/* one copy from the cursor on; false: nothing was found in any region, or no memory */
static bool write_next(struct tier *t, u32 max_sectors, bool urgent)
{
	u32 looked;

	for (looked = 0; looked <= t->nr_wb_regions; looked++) {
		u64 region = t->wb_cursor >> (t->wb_shift + t->g.block_shift);
		u64 end = min_t(u64, (region + 1) << (t->wb_shift + t->g.block_shift), t->ti->len);

		if (t->wb_cursor < end && atomic_read(&t->wb_dirty[region])) {
			u32 sectors = tier_copy_write_back(t, &t->wb_cursor, end, max_sectors, urgent);

			if (sectors) {
				charge(t, sectors);
				return true;
			}
			if (t->wb_cursor < end)
				return false;
		}
		t->wb_cursor = end < t->ti->len ? end : 0;
		if (flush_running(t) && t->sweep_left) {
			t->sweep_left--;
			if (!t->sweep_left)
				return false;
		}
	}
	return false;
}

/* between the watermarks the last decision holds; what is being written counts as clean for the low one */
static void look_at_watermarks(struct tier *t)
{
	s64 all = (s64)t->map.nr_slots * t->g.nr_granules;
	s64 dirty = atomic64_read(&t->nr_dirty);
	s64 left = dirty - (atomic64_read(&t->wb_inflight_sectors) >> t->g.granule_shift);

	if (left * 100 <= all * tier_tune(t, TIER_TUNE_DIRTY_LOW))
		t->wb_active = false;
	else if (dirty * 100 > all * tier_tune(t, TIER_TUNE_DIRTY_HIGH))
		t->wb_active = true;
}

/* copies that may be under way now */
static u32 allowed_depth(struct tier *t, bool urgent)
{
	bool busy = slow_busy(t);

	if (urgent)
		return busy ? 2 : 16;
	if (t->wb_active || READ_ONCE(t->nr_want_clean))
		return busy ? 1 : 8;
	return tier_slow_idle(t) ? 8 : 0;
}

/* Context: worker, one at a time */
void tier_wb_work(struct work_struct *work)
{
	struct tier *t = container_of(to_delayed_work(work), struct tier, wb_work);
	bool urgent, found = true, wrote = false;
	unsigned long delay;
	u32 depth;

	if (READ_ONCE(t->stopping))
		return;
	if (tier_health(t) >= TIER_HEALTH_RO) {
		if (flush_running(t))
			flush_failed(t);
		return;
	}
	tier_tokens_refill(&t->wb_tokens, &t->wb_token_time, tier_tune(t, TIER_TUNE_WB_RATE));
	if (xchg(&t->flush_restart, false)) {
		tier_wb_forget_failures(t);
		t->sweeps = 0;
		t->sweep_left = t->nr_wb_regions + 1;
	}
	look_at_watermarks(t);
	urgent = flush_running(t) || READ_ONCE(t->mode) != TIER_MODE_WRITEBACK;
	depth = allowed_depth(t, urgent);
	if (READ_ONCE(t->nr_want_clean) && depth)
		write_wanted(t, depth);
	if (!t->wb_active && !urgent && !tier_slow_idle(t))
		depth = 0;	/* the wanted ones were all */
	while (found && !READ_ONCE(t->stopping) && atomic_read(&t->wb_inflight) < depth && !capped(t) &&
	       atomic64_read(&t->nr_dirty) &&
	       (!flush_running(t) || t->sweep_left || READ_ONCE(t->mode) != TIER_MODE_WRITEBACK)) {
		wrote |= found = write_next(t, depth > 2 || urgent ? LARGE_SECTORS : SMALL_SECTORS, urgent);
		look_at_watermarks(t);
		if (!t->wb_active && !urgent && !tier_slow_idle(t))
			break;
	}

	if (!atomic_read(&t->wb_inflight)) {
		if (flush_running(t) && !READ_ONCE(t->flush_restart) &&
		    (!t->sweep_left || !atomic64_read(&t->nr_dirty)))
			sweep_done(t);
		tier_drain_check(t);
	}
	if (!atomic64_read(&t->nr_dirty) && t->settled == READ_ONCE(t->mode) && !flush_running(t))
		return;
	/* a copy's end starts the work at once; this is for the watermarks, the caps, idleness and what had to wait */
	delay = clamp(tier_tune(t, TIER_TUNE_IDLE_MS), 100U, 1000U);
	if (flush_running(t) || wrote || capped(t))
		delay = 20;
	else if (urgent || t->wb_active)
		delay = 100;
	queue_delayed_work(t->bg_wq, &t->wb_work, msecs_to_jiffies(delay));
}
