// SPDX-License-Identifier: GPL-2.0
/* As much of a format program as the test needs. */
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "tier-mdtest.h"

/**
 * struct formatter - state of a format
 * @client: of dm-io
 * @meta: metadata device
 * @buf: one block
 * @seed: of the checksums
 * @sb: superblock
 */
struct formatter {
	struct dm_io_client *client;
	struct block_device *meta;
	void *buf;
	u32 seed;
	struct tier_sb sb;
};

static int put_block(struct formatter *f, u64 block)
{
	return tier_bdev_rw(f->client, REQ_OP_WRITE, f->meta, block * TIER_META_BLOCK_SECTORS,
			    TIER_META_BLOCK_SECTORS, f->buf);
}

static int put_meta_page(struct formatter *f, u32 kind, u64 page, u32 nr, u64 block)
{
	tier_page_init(f->buf, kind, page, nr);
	tier_page_seal(f->buf, f->seed, 0);
	return put_block(f, block);
}

static int put_slot_pages(struct formatter *f)
{
	const struct tier_geometry *g = &f->sb.geometry;
	unsigned int copy;
	u64 page;
	int r = 0;

	for (page = 0; !r && page < g->nr_slot_pages; page++)
		for (copy = 0; !r && copy < 2; copy++)
			r = put_meta_page(f, TIER_PAGE_SLOTS, page,
					  tier_slot_page_records(g, page),
					  tier_slot_page_block(g, page, copy));
	return r;
}

static int put_intent_pages(struct formatter *f)
{
	const struct tier_geometry *g = &f->sb.geometry;
	int r;

	r = put_meta_page(f, TIER_PAGE_INTENT, 0, TIER_INTENT_WORDS, g->intent_start);
	if (!r)
		r = put_meta_page(f, TIER_PAGE_INTENT, 0, TIER_INTENT_WORDS, g->intent_start + 1);
	return r;
}

static int put_journal(struct formatter *f)
{
	const struct tier_geometry *g = &f->sb.geometry;
	u64 block;
	int r = 0;

	for (block = 0; !r && block < g->journal_blocks; block++) {
		tier_journal_format_block(f->buf, f->seed, block);
		r = put_block(f, g->journal_start + block);
	}
	return r;
}

static int put_sb(struct formatter *f, u64 location)
{
	tier_pack_sb(&f->sb, location, f->buf);
	return put_block(f, location);
}

static bool has_header(const struct tier_dev_geometry *d)
{
	return d->role != TIER_ROLE_SLOW && !(d->flags & TIER_DEV_NO_HEADER);
}

static int put_dev_headers(struct formatter *f, struct block_device *const devs[])
{
	const struct tier_geometry *g = &f->sb.geometry;
	u32 i;
	int r = 0;

	for (i = 0; !r && i < g->nr_devs; i++) {
		struct tier_dev_header h = {
			.index = i,
			.block_sectors = g->block_sectors,
			.generation = f->sb.generation,
			.data_start = g->devs[i].data_start,
			.nr_slots = g->devs[i].nr_slots,
		};

		if (!has_header(&g->devs[i]))
			continue;
		memcpy(h.uuid, f->sb.uuid, sizeof(h.uuid));
		memcpy(h.dev_uuid, g->devs[i].uuid, sizeof(h.dev_uuid));
		tier_pack_dev_header(&h, f->buf);
		r = tier_bdev_rw(f->client, REQ_OP_WRITE, devs[i], 0, TIER_META_BLOCK_SECTORS, f->buf);
	}
	return r;
}

static const char *choose_geometry(struct tier_geometry *g, struct block_device *const devs[],
				   const struct tier_format_args *args)
{
	u64 sizes[TIER_MDTEST_DEVS] = { 0 };
	u32 i;

	if (!args->nr_tiers)
		return tier_geometry_cache(g, args->block_sectors, args->fast_sectors, args->slow_sectors);
	for (i = 0; i < args->nr_tiers; i++)
		sizes[i] = bdev_nr_sectors(devs[i]);
	return tier_geometry_take(g, args->block_sectors, args->nr_tiers, sizes, 0);
}

static int fill_sb(struct tier_sb *sb, struct block_device *const devs[], const struct tier_format_args *args)
{
	struct tier_geometry *g = &sb->geometry;
	const char *why;
	u32 i;

	why = choose_geometry(g, devs, args);
	if (!why) {
		g->meta_blocks -= g->journal_blocks - args->journal_blocks;
		g->journal_blocks = args->journal_blocks;
		g->slot_start = g->journal_start + g->journal_blocks;
		why = tier_geometry_check(g);
	}
	if (why) {
		DMERR("mdtest: %s", why);
		return -EINVAL;
	}
	get_random_bytes(sb->uuid, sizeof(sb->uuid));
	for (i = 0; i < g->nr_devs; i++)
		if (has_header(&g->devs[i]))
			get_random_bytes(g->devs[i].uuid, sizeof(g->devs[i].uuid));
	if (g->exclusive) {
		sb->incompat = TIER_FEATURE_INCOMPAT_EXCLUSIVE;
		sb->mode = TIER_MODE_TIERED;
	}
	sb->flags = TIER_SB_CLEAN;
	sb->version = TIER_FORMAT_VERSION;
	sb->seq = 1;
	sb->generation = 1;
	sb->tail_txn = 1;
	return 0;
}

static int put_all(struct formatter *f, struct block_device *const devs[])
{
	int r;

	f->seed = tier_csum_seed(f->sb.uuid);
	r = put_slot_pages(f);
	if (!r)
		r = put_intent_pages(f);
	if (!r)
		r = put_journal(f);
	if (!r)
		r = put_dev_headers(f, devs);
	if (!r)
		r = put_sb(f, TIER_SB_BLOCK_0);
	if (!r)
		r = put_sb(f, TIER_SB_BLOCK_1);
	return r ? r : blkdev_issue_flush(f->meta);
}

int tier_mdtest_format(struct block_device *meta, struct block_device *const devs[],
		       const struct tier_format_args *args, u32 *nr_slots)
{
	struct formatter *f;
	int r;

	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	f->meta = meta;
	f->buf = vmalloc(TIER_META_BLOCK_SIZE);
	f->client = dm_io_client_create();
	r = f->buf && !IS_ERR(f->client) ? fill_sb(&f->sb, devs, args) : -ENOMEM;
	if (!r)
		r = put_all(f, devs);
	*nr_slots = f->sb.geometry.nr_slots;
	if (!IS_ERR(f->client))
		dm_io_client_destroy(f->client);
	vfree(f->buf);
	kfree(f);
	return r;
}
