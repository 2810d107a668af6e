// SPDX-License-Identifier: GPL-2.0
/*
 * Pages for a new number of slots.
 *
 * Everything is written before the superblock that makes it count: pages behind the old end
 * belong to nobody, and the page at the end differs only in records that are free in both
 * geometries.
 */
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "tier-metadata-internal.h"

/* What a resize cannot change. */
static const char *fixed_part_differs(const struct tier_geometry *old,
				      const struct tier_geometry *g)
{
	if (g->block_sectors != old->block_sectors || g->granule_sectors != old->granule_sectors ||
	    g->record_bytes != old->record_bytes)
		return "block size";
	if (g->region_shift != old->region_shift || g->nr_regions != old->nr_regions)
		return "intent regions";
	if (g->intent_start != old->intent_start || g->journal_start != old->journal_start ||
	    g->journal_blocks != old->journal_blocks || g->slot_start != old->slot_start)
		return "layout";
	if (g->exclusive != old->exclusive)
		return "mode";
	if (g->nr_devs != old->nr_devs && !g->exclusive)
		return "number of devices";
	return NULL;
}

static int check_geometry(struct tier_metadata *md, const struct tier_geometry *g)
{
	const char *what = fixed_part_differs(tier_md_geometry(md), g);

	if (what) {
		DMERR("%s: resize: %s cannot change", md->name, what);
		return -EINVAL;
	}
	if (g->meta_blocks > md->sectors / TIER_META_BLOCK_SECTORS) {
		DMERR("%s: resize: metadata device has %llu blocks of 4 KiB, %llu are needed",
		      md->name, (unsigned long long)md->sectors / TIER_META_BLOCK_SECTORS,
		      g->meta_blocks);
		return -ENOSPC;
	}
	return 0;
}

/* Records of a page, or hints, in a geometry. */
static u32 page_records(const struct tier_geometry *g, u32 kind, u64 page)
{
	if (kind == TIER_PAGE_SLOTS)
		return tier_slot_page_records(g, page);
	return min_t(u64, TIER_HINTS_PER_PAGE, g->nr_slots - page * TIER_HINTS_PER_PAGE);
}

static u64 page_block(const struct tier_geometry *g, u32 kind, u64 page, unsigned int copy)
{
	if (kind == TIER_PAGE_SLOTS)
		return tier_slot_page_block(g, page, copy);
	return tier_hint_page_block(g, page);
}

/* Neighbouring pages of one group, empty, in all their copies. */
static int format_run(struct tier_metadata *md, const struct tier_geometry *g, u32 kind, u64 page,
		      u32 nr, u64 seq)
{
	unsigned int copy, copies = kind == TIER_PAGE_SLOTS ? 2 : 1;
	void *buf = md->pages[0];
	u32 i;
	int r;

	for (i = 0; i < nr; i++, buf += TIER_META_BLOCK_SIZE) {
		tier_page_init(buf, kind, page + i, page_records(g, kind, page + i));
		tier_page_seal(buf, md->csum_seed, seq);
	}
	for (copy = 0; copy < copies; copy++) {
		r = tier_md_rw(md, REQ_OP_WRITE, page_block(g, kind, page, copy), nr, md->pages[0]);
		if (r)
			return r;
	}
	return 0;
}

/* Pages from @page up to @end, none if it isn't below. */
static int format_pages(struct tier_metadata *md, const struct tier_geometry *g, u32 kind,
			u64 page, u64 end, u64 seq)
{
	u32 nr, group = tier_md_group_pages(g, kind);
	int r;

	for (; page < end; page += nr) {
		nr = min_t(u64, end - page, group - (u32)page % group);
		r = format_run(md, g, kind, page, nr, seq);
		if (r)
			return r;
		cond_resched();
	}
	return 0;
}

/* Write @buf over both copies, the worse one first. */
static int write_both(struct tier_metadata *md, u64 page, unsigned int good, void *buf)
{
	unsigned int i;
	int r;

	for (i = 0; i < 2; i++) {
		r = tier_md_rw(md, REQ_OP_WRITE | REQ_SYNC,
			       tier_md_page_block(md, TIER_PAGE_SLOTS, page, good ^ !i), 1, buf);
		if (!r)
			r = tier_md_flush(md);
		if (r)
			return r;
	}
	return 0;
}

/* The last page of the smaller geometry gets the number of records that it has in the new one. */
static int refit_last_page(struct tier_metadata *md, const struct tier_geometry *g)
{
	const struct tier_geometry *old = tier_md_geometry(md);
	void *copies[2] = { md->pages[0], md->pages[1] };
	u64 page = min(old->nr_slot_pages, g->nr_slot_pages) - 1;
	u32 nr_old = tier_slot_page_records(old, page);
	u32 nr_new = tier_slot_page_records(g, page);
	unsigned int bad;
	void *buf;
	u64 seq;
	int good;

	if (nr_old == nr_new)
		return 0;
	tier_md_read_run(md, tier_slot_page_block(old, page, 0), 1, copies[0]);
	tier_md_read_run(md, tier_slot_page_block(old, page, 1), 1, copies[1]);
	good = tier_md_choose_copy(md, TIER_PAGE_SLOTS, page, copies, &seq, &bad);
	if (good < 0)
		return good;

	buf = copies[!good];
	tier_page_init(buf, TIER_PAGE_SLOTS, page, nr_new);
	memcpy(tier_page_payload(buf), tier_page_payload(copies[good]),
	       (size_t)min(nr_old, nr_new) * g->record_bytes);
	tier_page_seal(buf, md->csum_seed, seq);
	return write_both(md, page, good, buf);
}

/* The device of @old that is device @i of @g; nr_devs if it is new. */
static u32 old_index(const struct tier_geometry *old, const struct tier_geometry *g, u32 i)
{
	const struct tier_dev_geometry *d = &g->devs[i];
	u32 k;

	if (!g->exclusive)
		return i;
	for (k = 0; k < old->nr_devs; k++)
		if (!memcmp(d->uuid, old->devs[k].uuid, sizeof(d->uuid)) &&
		    !((d->flags ^ old->devs[k].flags) & TIER_DEV_NO_HEADER))
			break;
	return k;
}

/* Fingerprints of the last stop, at their devices' new places. */
static void move_fingerprints(const struct tier_sb *old, struct tier_sb *next)
{
	u32 i, was;

	memset(next->fp, 0, sizeof(next->fp));
	for (i = 0; i < next->geometry.nr_devs; i++) {
		was = old_index(&old->geometry, &next->geometry, i);
		if (was < old->geometry.nr_devs)
			next->fp[i] = old->fp[was];
	}
}

/* Hints are dropped: they would go with the next activation anyway. */
static int write_geometry(struct tier_metadata *md, const struct tier_geometry *g, bool new_fast)
{
	int r;

	mutex_lock(&md->sb_lock);
	md->sb_next = md->sb;
	md->sb_next.geometry = *g;
	move_fingerprints(&md->sb, &md->sb_next);
	md->sb_next.hint_seq = 0;
	if (new_fast) {
		md->sb_next.generation++;
		md->sb_next.flags &= ~TIER_SB_ACTIVATING;
	}
	r = __tier_md_write_sb(md);
	mutex_unlock(&md->sb_lock);
	return r;
}

static int __resize(struct tier_metadata *md, const struct tier_geometry *g, bool new_fast)
{
	const struct tier_geometry *old = tier_md_geometry(md);
	u64 seq = tier_md_last_txn(md);
	int r;

	lockdep_assert_held(&md->ckpt_lock);

	r = refit_last_page(md, g);
	if (!r)
		r = format_pages(md, g, TIER_PAGE_SLOTS, old->nr_slot_pages, g->nr_slot_pages, seq);
	if (!r)
		r = format_pages(md, g, TIER_PAGE_HINTS, tier_nr_hint_pages(old),
				 tier_nr_hint_pages(g), 0);
	if (!r)
		r = tier_md_flush(md);
	if (!r)
		r = write_geometry(md, g, new_fast);
	if (r)
		return r;

	/* the checkpoint before has repaired every page, no bit is set */
	kvfree(md->repair);
	md->repair = NULL;
	md->repair_pages = 0;
	return 0;
}

int tier_metadata_resize(struct tier_metadata *md, const struct tier_geometry *g, bool new_fast)
{
	int r;

	if (WARN_ON_ONCE(md->state != TIER_MD_LOADED && md->state != TIER_MD_STOPPED))
		return -EINVAL;
	r = check_geometry(md, g);
	if (r)
		return r;
	r = tier_metadata_checkpoint(md);
	if (r)
		return r;
	mutex_lock(&md->ckpt_lock);
	r = __resize(md, g, new_fast);
	mutex_unlock(&md->ckpt_lock);
	return r ? tier_md_fail(md, "resize failed", r) : 0;
}
