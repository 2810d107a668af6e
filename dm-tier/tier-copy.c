// SPDX-License-Identifier: GPL-2.0
/*
 * Copies through memory.  A copy is a contiguous range of the slow device, and the parts of slots that
 * belong to it, each with its hold:
 *
 *	fill, promotion		read_slow -> (answer the caller) -> write_fast -> end_fill
 *	write back		read_fast -> write_slow -> end_write_back
 *
 * Each step runs in the worker; a step's last bio queues the next one.  copy_end() frees all.
 */
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include "tier.h"
#include "tier-trace.h"

#define MAX_COPY_SECTORS	2048U	/* 1 MiB */
#define MAX_PARTS		64U

static unsigned int fill_memory = 32768;
module_param(fill_memory, uint, 0644);
MODULE_PARM_DESC(fill_memory, "KiB of memory that read fills and promotions of a device may use at once (32768)");

static int max_fill_pages(void)
{
	return min(READ_ONCE(fill_memory), 1U << 30) / (PAGE_SIZE / 1024);
}

/**
 * struct part - a run of granules of one slot
 * @hold: on them
 * @slot: slot
 * @first: sector in the copy's range
 * @sectors: length
 * @error: of its I/O on the fast device
 */
struct part {
	struct tier_hold hold;
	tier_slot_t slot;
	u32 first;
	u32 sectors;
	blk_status_t error;
};

struct copy {
	struct tier *t;
	struct work_struct work;
	struct tier_io *io;	/* whose read this fill answers, or NULL */
	u64 start;		/* sector on the slow device */
	u32 sectors;
	u32 nr_pages;
	u32 nr_parts;
	bool urgent;
	int flush_errors;	/* of the device that is written, when that began */
	atomic_t pending;
	blk_status_t error;	/* of the I/O on the slow device */
	u64 request;		/* granules that the caller asked for, in parts[caller_part] */
	struct page **pages;
	struct part parts[MAX_PARTS];
};

static struct kmem_cache *copy_cache;

int tier_copy_init(void)
{
	copy_cache = KMEM_CACHE(copy, 0);
	return copy_cache ? 0 : -ENOMEM;
}

void tier_copy_exit(void)
{
	kmem_cache_destroy(copy_cache);
}

void tier_copies_wait(struct tier *t)
{
	wait_event(t->copies_wait, !atomic_read(&t->copies));
}

static struct copy *copy_new(struct tier *t, struct tier_io *io)
{
	struct copy *c = kmem_cache_alloc(copy_cache, GFP_NOIO | __GFP_NOWARN);

	if (!c)
		return NULL;
	c->t = t;
	c->io = io;
	c->nr_pages = 0;
	c->nr_parts = 0;
	c->pages = NULL;
	c->error = BLK_STS_OK;
	c->request = 0;
	c->urgent = false;
	c->flush_errors = 0;
	atomic_inc(&t->copies);
	return c;
}

static void copy_end(struct copy *c)
{
	struct tier *t = c->t;
	u32 i;

	for (i = 0; i < c->nr_pages; i++)
		__free_page(c->pages[i]);
	kfree(c->pages);
	kmem_cache_free(copy_cache, c);
	if (atomic_dec_and_test(&t->copies))
		wake_up(&t->copies_wait);
}

static bool copy_alloc_pages(struct copy *c)
{
	u32 nr = DIV_ROUND_UP(c->sectors, PAGE_SECTORS);

	c->pages = kmalloc_array(nr, sizeof(*c->pages), GFP_NOIO | __GFP_NOWARN);
	if (!c->pages)
		return false;
	while (c->nr_pages < nr) {
		struct page *p = alloc_page(GFP_NOIO | __GFP_NOWARN | __GFP_NORETRY);

		if (!p)
			return false;
		c->pages[c->nr_pages++] = p;
	}
	return true;
}

static void next_step(struct copy *c, work_func_t step)
{
	INIT_WORK(&c->work, step);
	queue_work(c->t->wq, &c->work);
}

/* a bio over sectors @first to @first + @sectors of the copy's buffer */
static struct bio *buffer_bio(struct copy *c, struct block_device *bdev, blk_opf_t opf, u32 first, u32 sectors)
{
	u32 page = first / PAGE_SECTORS;
	u32 nr = DIV_ROUND_UP(sectors, PAGE_SECTORS);
	struct bio *bio = bio_alloc(bdev, nr, opf, GFP_NOIO);
	u32 left = sectors << SECTOR_SHIFT;

	for (; left; page++) {
		u32 len = min_t(u32, left, PAGE_SIZE);

		__bio_add_page(bio, c->pages[page], len, 0);
		left -= len;
	}
	bio->bi_private = c;
	return bio;
}

/* has a flush of the device that is written failed since that began? */
static bool in_doubt(const struct tier_dev *d, const struct copy *c)
{
	return atomic_read(&d->flush_errors) != c->flush_errors;
}

/* what was copied to @d counts from now on, but a flush may have failed at this moment: no commit has seen it then */
static void note_doubt(struct tier_dev *d, const struct copy *c)
{
	smp_mb();	/* pairs with xchg() in look_at_doubts(), which looks at the slots afterwards */
	if (in_doubt(d, c))
		WRITE_ONCE(d->doubt, true);
}

/* ---- parts ---- */

/* the part's first sector on the slow device */
static u64 part_slow_sector(struct tier *t, const struct part *p)
{
	return tier_block_sector(t, p->hold.block) + ((u64)__ffs64(p->hold.mask) << t->g.granule_shift);
}

/* its length: the last granule of the last block may be short */
static u32 part_sectors(struct tier *t, const struct part *p)
{
	u32 end = (tier_last_granule(p->hold.mask) + 1) << t->g.granule_shift;

	return min(end, tier_block_len(t, p->hold.block)) - (__ffs64(p->hold.mask) << t->g.granule_shift);
}

/* the run of set bits of @mask that has bit @at, or 0 */
static u64 run_around(u64 mask, u32 at)
{
	u32 first = at, last = at;

	if (!(mask >> at & 1))
		return 0;
	while (first && (mask >> (first - 1) & 1))
		first--;
	while (last < 63 && (mask >> (last + 1) & 1))
		last++;
	return tier_granule_mask(first, last);
}

static struct part *add_part(struct copy *c, tier_block_t block, tier_slot_t slot, u64 mask,
			     enum tier_hold_mode mode)
{
	struct part *p = &c->parts[c->nr_parts];

	tier_hold_init(&p->hold, block, mask, mode);
	p->slot = slot;
	p->error = BLK_STS_OK;
	return p;
}

/* where the parts lie in the buffer, once the range is known; @c->start and @c->sectors follow from them */
static void lay_out(struct copy *c)
{
	struct tier *t = c->t;
	u64 low = U64_MAX, high = 0;
	u32 i;

	for (i = 0; i < c->nr_parts; i++) {
		struct part *p = &c->parts[i];
		u64 start = part_slow_sector(t, p);

		p->sectors = part_sectors(t, p);
		low = min(low, start);
		high = max(high, start + p->sectors);
	}
	c->start = low;
	c->sectors = high - low;
	for (i = 0; i < c->nr_parts; i++)
		c->parts[i].first = part_slow_sector(t, &c->parts[i]) - low;
}

static sector_t part_sector(struct tier *t, const struct part *p)
{
	return tier_slot_sector(t, p->slot) + ((sector_t)__ffs64(p->hold.mask) << t->g.granule_shift);
}

static void part_end_io(struct bio *bio)
{
	struct copy *c = bio->bi_private;

	/* bi_iter has moved on, but the part's error is found by its first page */
	if (bio->bi_status) {
		u32 i;

		for (i = 0; i < c->nr_parts; i++)
			if (c->pages[c->parts[i].first / PAGE_SECTORS] == bio->bi_io_vec->bv_page)
				c->parts[i].error = bio->bi_status;
	}
	bio_put(bio);
	if (atomic_dec_and_test(&c->pending))
		queue_work(c->t->wq, &c->work);
}

/* read or write all parts on the fast device, then @step */
static void parts_io(struct copy *c, blk_opf_t opf, work_func_t step)
{
	struct tier *t = c->t;
	u32 i;

	INIT_WORK(&c->work, step);
	atomic_set(&c->pending, 1);
	for (i = 0; i < c->nr_parts; i++) {
		struct part *p = &c->parts[i];
		struct bio *bio = buffer_bio(c, t->fast->dm->bdev, opf, p->first, p->sectors);

		bio->bi_iter.bi_sector = part_sector(t, p);
		bio->bi_end_io = part_end_io;
		atomic_inc(&c->pending);
		submit_bio_noacct(bio);
	}
	if (atomic_dec_and_test(&c->pending))
		queue_work(t->wq, &c->work);
}

/* ---- fill and promotion ---- */

static void release_parts(struct copy *c, bool filled)
{
	struct tier *t = c->t;
	unsigned long flags;
	u32 i;

	for (i = 0; i < c->nr_parts; i++) {
		struct part *p = &c->parts[i];
		struct tier_stripe *s = tier_stripe(t, p->hold.block);
		u64 spec = p->hold.mask & ~(i ? 0 : c->request);
		bool track = filled && !p->error && c->io && spec &&
			     tier_fill_done(t->fill, tier_from_block(p->hold.block), spec);

		spin_lock_irqsave(&s->lock, flags);
		/* after a flush that failed beside it nobody knows what has got there */
		if (filled && !p->error && !in_doubt(t->fast, c)) {
			__tier_slot_update(t, p->slot, tier_slot_valid(&t->map, p->slot) | p->hold.mask,
					   tier_slot_dirty(&t->map, p->slot));
			note_doubt(t->fast, c);
		} else if (!tier_slot_valid(&t->map, p->slot)) {
			__tier_slot_changed(t, p->slot);
		}
		if (track)
			tier_slot_change_flags(&t->map, p->slot, 0, TIER_SLOT_TRACKED);
		__tier_hold_release(s, &p->hold);
		spin_unlock_irqrestore(&s->lock, flags);
		if (p->error)
			tier_dev_error(t, t->fast, "write", tier_block_sector(t, p->hold.block));
	}
}

static void end_fill(struct work_struct *work)
{
	struct copy *c = container_of(work, struct copy, work);
	struct tier *t = c->t;

	tier_dev_dirtied(t->fast);
	release_parts(c, true);
	if (c->io) {
		bool more = c->nr_parts > 1 || c->parts[0].hold.mask != c->request;

		tier_count(t, more ? TIER_STAT_FILLS : TIER_STAT_POPULATES, 1);
		tier_count(t, TIER_STAT_FILL_SECTORS, c->sectors);
	} else {
		tier_count(t, TIER_STAT_PROMOTIONS, 1);
		trace_tier_promote(t->name, c->start, c->sectors);
	}
	atomic_sub(c->nr_pages, &t->fill_pages);
	copy_end(c);
}

/* it didn't happen: give all back, and let the caller's read go the plain way */
static void cancel_fill(struct copy *c)
{
	struct tier *t = c->t;
	struct tier_io *io = c->io;

	release_parts(c, false);
	atomic_sub(c->nr_pages, &t->fill_pages);
	copy_end(c);
	if (io) {
		io->flags |= TIER_IO_NO_FILL;
		tier_io_defer(io);
	}
}

static void write_fast(struct work_struct *work)
{
	struct copy *c = container_of(work, struct copy, work);

	if (c->error) {
		cancel_fill(c);
		return;
	}
	c->flush_errors = atomic_read(&c->t->fast->flush_errors);
	parts_io(c, REQ_OP_WRITE | (c->io ? 0 : REQ_BACKGROUND), end_fill);
}

/* the caller's data out of the buffer */
static void answer(struct copy *c)
{
	struct bio *bio = dm_bio_from_per_bio_data(c->io, sizeof(struct tier_io));
	u32 from = (c->io->start - c->start) << SECTOR_SHIFT;
	struct bio_vec bv;
	struct bvec_iter iter;

	bio_for_each_segment(bv, bio, iter) {
		u32 done = 0;

		while (done < bv.bv_len) {
			u32 off = (from + done) & ~PAGE_MASK;
			u32 len = min_t(u32, bv.bv_len - done, PAGE_SIZE - off);
			struct bio_vec piece = bv;

			piece.bv_offset += done;
			piece.bv_len = len;
			memcpy_to_bvec(&piece, page_address(c->pages[(from + done) >> PAGE_SHIFT]) + off);
			done += len;
		}
		from += bv.bv_len;
	}
}

static void read_slow_end(struct bio *bio)
{
	struct copy *c = bio->bi_private;
	struct tier *t = c->t;

	c->error = bio->bi_status;
	bio_put(bio);
	if (c->io) {
		WRITE_ONCE(t->slow->last, jiffies);
		atomic_dec(&t->slow->inflight);
		if (!c->error) {
			answer(c);
			tier_io_complete(c->io, BLK_STS_OK);
		}
	}
	next_step(c, write_fast);
}

static void read_slow(struct copy *c)
{
	struct tier *t = c->t;
	struct bio *bio;

	atomic_add(c->nr_pages, &t->fill_pages);
	if (c->io) {
		atomic_inc(&t->slow->inflight);
		WRITE_ONCE(t->slow->last, jiffies);
	}
	bio = buffer_bio(c, t->slow->dm->bdev, REQ_OP_READ | (c->io ? 0 : REQ_BACKGROUND), 0, c->sectors);
	bio->bi_iter.bi_sector = c->start;
	bio->bi_end_io = read_slow_end;
	submit_bio_noacct(bio);
}

/*
 * Take granules of a block for a fill: the run of invalid ones of @mask that has granule @at.
 * @must: if the run is in use, these alone will do (0: none)
 * @spare: only if free slots are plenty
 * @pin: pin the slot
 * Return: the granules held; a part was added then.  config_sem held for reading.
 */
static u64 take_part(struct copy *c, tier_block_t block, u64 mask, u32 at, u64 must, bool spare,
		     bool pin)
{
	struct tier *t = c->t;
	struct tier_stripe *s = tier_stripe(t, block);
	struct part *p = NULL;
	tier_slot_t slot;
	unsigned long flags;
	bool inserted = false, kept = false;
	u64 got = 0;

	lockdep_assert_held(&t->config_sem);
	spin_lock_irqsave(&s->lock, flags);
	slot = tier_map_lookup(&t->map, block);
	if (slot != TIER_NO_SLOT)
		mask &= ~tier_slot_valid(&t->map, slot);
	else if (READ_ONCE(t->map.free.nr) <= (spare ? t->reserve / 2 : 0))
		mask = 0;
	mask = run_around(mask, at);
	if (!mask || (must & ~mask) || tier_in_discard(t, tier_block_sector(t, block), tier_block_len(t, block)))
		goto out;
	p = add_part(c, block, slot, mask, TIER_HOLD_EXCL);
	if (!__tier_hold_try(s, &p->hold)) {
		if (!must)
			goto out;
		p->hold.mask = must;
		if (!__tier_hold_try(s, &p->hold))
			goto out;
	}
	if (slot == TIER_NO_SLOT) {
		p->slot = __tier_slot_alloc(t, block);
		inserted = p->slot != TIER_NO_SLOT;
		if (!inserted) {
			__tier_hold_release(s, &p->hold);
			goto out;
		}
	} else if (tier_slot_flags(&t->map, slot) & TIER_SLOT_EVICTED) {
		__tier_slot_reuse(t, slot);
		kept = true;
	}
	if (pin)
		__tier_slot_pin(t, p->slot, true);
	got = p->hold.mask;
	c->nr_parts++;
out:
	spin_unlock_irqrestore(&s->lock, flags);
	if (inserted) {
		struct tier_access a = {
			.sector = tier_block_sector(t, block),
			.sectors = tier_block_len(t, block),
			.flags = TIER_ACCESS_NEW,
			.now = tier_now(),
		};

		t->policy->type->inserted(t->policy, block, p->slot, c->io ? &a : NULL);
	}
	if (kept)
		t->policy->type->victim_kept(t->policy, block, p->slot);
	return got;
}

/* granules of a block that lie in [start, end) */
static u64 window_mask(struct tier *t, tier_block_t block, u64 start, u64 end)
{
	u64 b = tier_block_sector(t, block);
	u32 len = tier_block_len(t, block);
	u32 first = start > b ? (start - b) >> t->g.granule_shift : 0;
	u32 last = end < b + len ? (end - b - 1) >> t->g.granule_shift : (len - 1) >> t->g.granule_shift;

	return tier_granule_mask(first, last);
}

/* neighbours behind and before the first part, as long as they join on */
static void take_neighbours(struct copy *c, u64 start, u64 end)
{
	struct tier *t = c->t;
	tier_block_t block = c->parts[0].hold.block;
	u64 first_mask = c->parts[0].hold.mask;
	u64 all = tier_block_mask(t, block);
	u64 b, got, want;

	if (first_mask >> tier_last_granule(all) & 1)
		for (b = tier_from_block(block) + 1; b << t->g.block_shift < end && c->nr_parts < MAX_PARTS; b++) {
			want = window_mask(t, tier_to_block(b), start, end);
			got = take_part(c, tier_to_block(b), want, 0, 0, true, false);
			if (got != tier_block_mask(t, tier_to_block(b)))
				break;
		}
	if (first_mask & 1)
		for (b = tier_from_block(block); b && b << t->g.block_shift > start && c->nr_parts < MAX_PARTS; b--) {
			want = window_mask(t, tier_to_block(b - 1), start, end);
			got = take_part(c, tier_to_block(b - 1), want, t->g.nr_granules - 1, 0, true, false);
			if (got != tier_block_mask(t, tier_to_block(b - 1)))
				break;
		}
}

/* sectors around a miss that are worth reading: a power of two, or 0 */
static u32 fill_extent(struct tier *t, const struct tier_io *io)
{
	u32 extent = tier_tune(t, TIER_TUNE_FILL);

	if (io->admit != TIER_FILL)
		return 0;
	if (extent == TIER_FILL_AUTO)
		extent = tier_fill_extent(t->fill, io->start);
	return min(extent, MAX_COPY_SECTORS);
}

/**
 * tier_copy_fill() - serve a read miss from the slow device and keep what it brings
 * @io: routed to a fill, holds nothing
 *
 * Context: worker.  If it can't be done, the read goes the plain way.
 */
void tier_copy_fill(struct tier_io *io)
{
	struct tier *t = io->t;
	u32 gran = t->g.granule_sectors;
	struct copy *c = NULL;
	u64 start, end;
	u32 extent;
	u64 got = 0;

	if (atomic_read(&t->fill_pages) <= max_fill_pages())
		c = copy_new(t, io);
	percpu_down_read(&t->config_sem);
	if (!c || t->mode == TIER_MODE_PASSTHROUGH || !tier_may_use_fast(t))
		goto plain;
	extent = fill_extent(t, io);
	start = round_down(io->start, max(extent, gran));
	end = round_up(io->start + io->sectors, max(extent, gran));
	if (end - start > MAX_COPY_SECTORS || end - start > max_t(u64, extent, io->sectors + 2 * gran)) {
		start = round_down(io->start, gran);
		end = round_up(io->start + io->sectors, gran);
	}
	end = min_t(u64, end, t->ti->len);
	got = take_part(c, io->hold.block, window_mask(t, io->hold.block, start, end), __ffs64(io->mask),
			io->mask, false, false);
	if (!got)
		goto plain;
	c->request = io->mask;
	take_neighbours(c, start, end);
	percpu_up_read(&t->config_sem);

	lay_out(c);
	if (!copy_alloc_pages(c)) {
		atomic_add(c->nr_pages, &t->fill_pages);
		cancel_fill(c);
		return;
	}
	read_slow(c);
	return;
plain:
	if (io->slot == TIER_NO_SLOT)
		t->policy->type->aborted(t->policy, io->hold.block);
	percpu_up_read(&t->config_sem);
	if (c)
		copy_end(c);
	io->flags |= TIER_IO_NO_FILL;
	tier_io_defer(io);
}

/* a copy of the run of granules that has granule @at; false: none was started */
static bool promote_run(struct tier *t, tier_block_t block, u32 at, bool pin)
{
	struct copy *c = copy_new(t, NULL);
	u64 got = 0;

	if (!c)
		return false;
	percpu_down_read(&t->config_sem);
	if (t->mode != TIER_MODE_PASSTHROUGH)
		got = take_part(c, block, tier_block_mask(t, block), at, 0, false, pin);
	percpu_up_read(&t->config_sem);
	if (!got) {
		copy_end(c);
		return false;
	}
	lay_out(c);
	if (!copy_alloc_pages(c)) {
		atomic_add(c->nr_pages, &t->fill_pages);
		cancel_fill(c);
		return false;
	}
	read_slow(c);
	return true;
}

/**
 * tier_copy_promote() - bring a block, or what is missing of it, to the fast device in the background
 * @t: target
 * @block: block
 * @pin: and pin it
 *
 * Context: may sleep.
 * Return: true if a copy was started.
 */
bool tier_copy_promote(struct tier *t, tier_block_t block, bool pin)
{
	u64 all = tier_block_mask(t, block), missing;
	struct tier_stripe *s = tier_stripe(t, block);
	unsigned long flags;
	tier_slot_t slot;
	bool started = false;

	spin_lock_irqsave(&s->lock, flags);
	slot = tier_map_lookup(&t->map, block);
	missing = slot == TIER_NO_SLOT ? all : all & ~tier_slot_valid(&t->map, slot);
	spin_unlock_irqrestore(&s->lock, flags);
	while (missing && tier_may_use_fast(t)) {
		u64 run = run_around(missing, __ffs64(missing));

		started |= promote_run(t, block, __ffs64(run), pin);
		missing &= ~run;
	}
	return started;
}

/* ---- write back ---- */

static void fail_part(struct tier *t, struct part *p, const char *what, blk_status_t error)
{
	struct tier_stripe *s = tier_stripe(t, p->hold.block);
	unsigned long flags;

	DMERR_LIMIT("%s: write back of block %llu (sector %llu, %u sectors) failed: %s error %d; its data stay on the fast device",
		    t->name, tier_from_block(p->hold.block), part_slow_sector(t, p), p->sectors, what,
		    blk_status_to_errno(error));
	spin_lock_irqsave(&s->lock, flags);
	if (!(tier_slot_flags(&t->map, p->slot) & TIER_SLOT_WB_FAILED)) {
		tier_slot_change_flags(&t->map, p->slot, 0, TIER_SLOT_WB_FAILED);
		atomic64_inc(&t->unwritable);
	}
	spin_unlock_irqrestore(&s->lock, flags);
}

/* after an error of a long write: find out which granules can't be written */
static u64 write_singly(struct copy *c, struct part *p)
{
	struct tier *t = c->t;
	u32 gran = t->g.granule_sectors, i, n;
	u64 written = 0;

	for (i = 0; i < p->sectors; i += n) {
		struct bio *bio;

		n = min(gran, p->sectors - i);
		bio = buffer_bio(c, t->slow->dm->bdev, REQ_OP_WRITE, p->first + i, n);
		bio->bi_iter.bi_sector = c->start + p->first + i;
		if (!submit_bio_wait(bio))
			written |= BIT_ULL(__ffs64(p->hold.mask) + (i >> t->g.granule_shift));
		bio_put(bio);
	}
	return written;
}

static void end_write_back(struct work_struct *work)
{
	struct copy *c = container_of(work, struct copy, work);
	struct tier *t = c->t;
	unsigned long flags;
	u32 i, done = 0;

	tier_dev_dirtied(t->slow);
	for (i = 0; i < c->nr_parts; i++) {
		struct part *p = &c->parts[i];
		struct tier_stripe *s = tier_stripe(t, p->hold.block);
		u64 written = p->hold.mask;

		if (p->error) {
			tier_dev_error(t, t->fast, "read", tier_block_sector(t, p->hold.block));
			fail_part(t, p, "fast device read", p->error);
			written = 0;
		} else if (c->error == BLK_STS_AGAIN) {
			written = 0;	/* another part could not be read; next time */
		} else if (c->error) {
			written = write_singly(c, p);
			if (written != p->hold.mask)
				fail_part(t, p, "slow device write", c->error);
		}
		spin_lock_irqsave(&s->lock, flags);
		written &= ~p->hold.poison;
		if (in_doubt(t->slow, c))
			written = 0;	/* it may have thrown them away; next time */
		if (written)
			tier_slot_change_flags(&t->map, p->slot, 0, TIER_SLOT_WRITTEN);
		__tier_slot_update(t, p->slot, tier_slot_valid(&t->map, p->slot),
				   tier_slot_dirty(&t->map, p->slot) & ~written);
		if (written)
			note_doubt(t->slow, c);
		__tier_hold_release(s, &p->hold);
		spin_unlock_irqrestore(&s->lock, flags);
		done += hweight64(written) << t->g.granule_shift;
	}
	if (done) {
		tier_count(t, TIER_STAT_WRITE_BACKS, 1);
		tier_count(t, TIER_STAT_WRITE_BACK_SECTORS, done);
		trace_tier_write_back(t->name, c->start, c->sectors);
	}
	tier_wb_done(t, c->sectors);
	copy_end(c);
}

static void write_slow_end(struct bio *bio)
{
	struct copy *c = bio->bi_private;

	c->error = bio->bi_status;
	bio_put(bio);
	next_step(c, end_write_back);
}

static void write_slow(struct work_struct *work)
{
	struct copy *c = container_of(work, struct copy, work);
	struct tier *t = c->t;
	struct bio *bio;
	u32 i;

	for (i = 0; i < c->nr_parts; i++)
		if (c->parts[i].error) {
			c->error = BLK_STS_AGAIN;
			end_write_back(&c->work);
			return;
		}
	bio = buffer_bio(c, t->slow->dm->bdev, REQ_OP_WRITE | (c->urgent ? 0 : REQ_BACKGROUND), 0, c->sectors);
	bio->bi_iter.bi_sector = c->start;
	bio->bi_end_io = write_slow_end;
	c->flush_errors = atomic_read(&t->slow->flush_errors);
	submit_bio_noacct(bio);
}

/* add the next dirty run of a block at or behind granule @at; returns the granule behind it, 0 if none */
static u32 take_dirty(struct copy *c, tier_block_t block, u32 at, bool join, u32 room)
{
	struct tier *t = c->t;
	struct tier_stripe *s = tier_stripe(t, block);
	u32 max = max(room >> t->g.granule_shift, 1U);
	struct part *p;
	tier_slot_t slot;
	unsigned long flags;
	u64 dirty = 0;
	u32 first, last, next = 0;

	spin_lock_irqsave(&s->lock, flags);
	slot = tier_map_lookup(&t->map, block);
	/* beside a discard it stays dirty: the slow device may lose again what is written to it there */
	if (slot != TIER_NO_SLOT && !(tier_slot_flags(&t->map, slot) & TIER_SLOT_WB_FAILED) &&
	    !tier_in_discard(t, tier_block_sector(t, block), tier_block_len(t, block)))
		dirty = tier_slot_dirty(&t->map, slot) & tier_granule_mask(at, 63);
	first = dirty ? __ffs64(dirty) : 0;
	if (dirty && (!join || first == at)) {
		last = min_t(u32, tier_last_granule(run_around(dirty, first)), first + max - 1);
		p = add_part(c, block, slot, tier_granule_mask(first, last), TIER_HOLD_COPY);
		next = last + 1;
		if (__tier_hold_try(s, &p->hold))
			c->nr_parts++;	/* what a write has in flight stays dirty anyway, but is copied along */
		else if (join)
			next = 0;
	}
	spin_unlock_irqrestore(&s->lock, flags);
	return next;
}

/**
 * tier_copy_write_back() - write back the next run of dirty data
 * @t: target
 * @pos: sector to look from; advanced behind what was looked at
 * @end: sector to look to
 * @max_sectors: length of the run at most
 * @urgent: not in the background
 *
 * Looks through blocks in the order of the slow device, takes the first dirty run and what joins on in the
 * following blocks, and starts to copy it.  tier_wb_done() follows.
 *
 * Context: may sleep.
 * Return: sectors under way; 0: nothing there up to @end (*pos is @end then), or no memory (*pos is not).
 */
u32 tier_copy_write_back(struct tier *t, u64 *pos, u64 end, u32 max_sectors, bool urgent)
{
	struct copy *c = copy_new(t, NULL);
	u32 room = min(max_sectors, MAX_COPY_SECTORS);
	u32 nr_granules = t->g.nr_granules;
	u64 from = *pos, block = from >> t->g.block_shift;
	u32 at = (from & (t->g.block_sectors - 1)) >> t->g.granule_shift;
	u32 sectors;

	if (!c)
		return 0;
	c->urgent = urgent;
	while (block << t->g.block_shift < end && c->nr_parts < MAX_PARTS && room >= t->g.granule_sectors) {
		u32 before = c->nr_parts;
		u32 next = take_dirty(c, tier_to_block(block), at, before, room);

		if (!next) {
			if (before)
				break;	/* the run ends here */
			block++;
			at = 0;
			cond_resched();
			continue;
		}
		if (c->nr_parts > before)
			room -= min_t(u32, room, hweight64(c->parts[before].hold.mask) << t->g.granule_shift);
		at = next;
		if (at == nr_granules) {
			block++;
			at = 0;
		} else if (c->nr_parts) {
			break;
		}
	}
	*pos = min((block << t->g.block_shift) + ((u64)at << t->g.granule_shift), end);
	if (!c->nr_parts) {
		*pos = end;
		copy_end(c);
		return 0;
	}
	lay_out(c);
	if (!copy_alloc_pages(c)) {
		u32 i;

		for (i = 0; i < c->nr_parts; i++)
			tier_hold_release(t, &c->parts[i].hold);
		copy_end(c);
		*pos = from;
		return 0;
	}
	atomic_inc(&t->wb_inflight);
	atomic64_add(c->sectors, &t->wb_inflight_sectors);
	sectors = c->sectors;
	parts_io(c, REQ_OP_READ | (urgent ? 0 : REQ_BACKGROUND), write_slow);
	return sectors;		/* the copy may be over by now */
}

static int page_io(struct block_device *bdev, blk_opf_t opf, sector_t sector, struct page *page, u32 sectors)
{
	struct bio *bio = bio_alloc(bdev, 1, opf, GFP_KERNEL);
	int r;

	bio->bi_iter.bi_sector = sector;
	__bio_add_page(bio, page, sectors << SECTOR_SHIFT, 0);
	r = submit_bio_wait(bio);
	bio_put(bio);
	return r;
}

/**
 * tier_copy_sectors() - copy a few sectors from the slow to the fast device, now
 * @t: target
 * @slow: sector on the slow device
 * @fast: sector on the fast device
 * @sectors: length
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int tier_copy_sectors(struct tier *t, sector_t slow, sector_t fast, u32 sectors)
{
	struct page *page = alloc_page(GFP_KERNEL);
	u32 done, n;
	int r = 0;

	if (!page)
		return -ENOMEM;
	for (done = 0; !r && done < sectors; done += n) {
		n = min_t(u32, sectors - done, PAGE_SECTORS);
		r = page_io(t->slow->dm->bdev, REQ_OP_READ, slow + done, page, n) ?:
		    page_io(t->fast->dm->bdev, REQ_OP_WRITE | REQ_FUA, fast + done, page, n);
	}
	__free_page(page);
	return r;
}
