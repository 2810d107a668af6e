/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small metadata device in memory, with something in each of its structures, and the same at an
 * earlier time.  The audit reads it by bdev-memory.c.
 */
#ifndef TIER_FUZZ_IMAGE_H
#define TIER_FUZZ_IMAGE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include <linux/kernel.h>
#include "audit.h"

#define IMAGE_RING	16U
#define IMAGE_SLOTS	120U	/* a page of them, whatever the size of records */

enum image_time { IMAGE_BEFORE, IMAGE_NOW };
enum image_kind { IMAGE_CLEAN, IMAGE_ACTIVE };

/**
 * struct image - metadata device, and the header of the fast device
 * @sb: superblock
 * @seed: of checksums
 * @bytes: of @meta
 * @meta: metadata device
 * @ssd: first block of the fast device
 * @used: its blocks that hold something that a load needs
 * @nr_used: their number
 */
struct image {
	struct tier_sb sb;
	u32 seed;
	size_t bytes;
	u8 *meta;
	u8 *ssd;
	u64 used[64];
	u32 nr_used;
};

static inline u8 *image_block(const struct image *im, u64 block)
{
	return im->meta + block * TIER_META_BLOCK_SIZE;
}

static inline void *image_alloc(size_t blocks)
{
	void *p = aligned_alloc(TIER_META_BLOCK_SIZE, blocks * TIER_META_BLOCK_SIZE);

	if (!p)
		abort();
	return memset(p, 0, blocks * TIER_META_BLOCK_SIZE);
}

static inline void image_free(struct image *im)
{
	free(im->meta);
	free(im->ssd);
}

/* record of slot @slot after transaction @txn; no block is in two slots */
static inline void image_record(const struct image *im, u32 slot, u32 txn, struct tier_record *rec)
{
	u64 all = tier_granule_mask(0, im->sb.geometry.nr_granules - 1);

	memset(rec, 0, sizeof(*rec));
	if (slot % 5 == 0)
		return;
	rec->block = tier_to_block(slot * 7 + 3);
	rec->valid = ((slot * 0x9e3779b97f4a7c15ULL) >> 20 & all) | 1;
	rec->dirty = rec->valid & ((slot + txn) * 0xbf58476d1ce4e5b9ULL >> 20);
	rec->flags = TIER_REC_MAPPED | (slot % 11 == 1 ? TIER_REC_PINNED : 0);
}

/* one of the transactions 1 to @last; each changes other slots, and a word of the marks */
static inline void image_txn(struct image *im, u32 txn, u64 at)
{
	const struct tier_geometry *g = &im->sb.geometry;
	u32 i, nr = 4 * txn + 1;
	u8 *buf = image_alloc(tier_txn_blocks(g, nr));
	struct tier_jentry e = { .type = TIER_JENTRY_SLOT };

	tier_txn_init(g, buf, nr);
	for (i = 0; i + 1 < nr; i++) {
		e.key = (txn * 31 + i) % IMAGE_SLOTS;
		image_record(im, e.key, txn, &e.rec);
		tier_txn_put(g, buf, i, &e);
	}
	e = (struct tier_jentry) { .type = TIER_JENTRY_INTENT, .key = 0, .bits = txn };
	tier_txn_put(g, buf, i, &e);
	tier_txn_seal(g, buf, nr, im->seed, txn, at);
	memcpy(image_block(im, g->journal_start + at), buf, TIER_META_BLOCK_SIZE);
	free(buf);
}

static inline void image_page(struct image *im, u32 kind, u64 first, u64 second, u32 nr, u64 seq, u32 txn)
{
	const struct tier_geometry *g = &im->sb.geometry;
	u8 *page = image_block(im, first);
	struct tier_record rec;
	u32 i;

	tier_page_init(page, kind, 0, nr);
	for (i = 0; kind == TIER_PAGE_SLOTS && i < nr && i < IMAGE_SLOTS; i++) {
		image_record(im, i, txn, &rec);
		tier_pack_record(g, &rec, tier_page_record(g, page, i));
	}
	for (i = 0; kind == TIER_PAGE_HINTS && i < IMAGE_SLOTS; i++)
		((__le32 *)tier_page_payload(page))[i] = cpu_to_le32(i + txn);
	tier_page_seal(page, im->seed, seq);
	im->used[im->nr_used++] = first;
	if (!second)
		return;
	memcpy(image_block(im, second), page, TIER_META_BLOCK_SIZE);
	im->used[im->nr_used++] = second;
}

/* transactions are a block each; those up to the last but three are in the pages */
static inline void image_make(struct image *im, u32 block_sectors, enum image_kind kind, enum image_time when)
{
	u64 blocks = 5000, fast = TIER_DATA_START + (u64)IMAGE_SLOTS * block_sectors;
	struct tier_geometry *g = &im->sb.geometry;
	u32 last = when == IMAGE_NOW ? 19 : 18, folded = kind == IMAGE_CLEAN ? last : last - 3, i;
	struct tier_dev_header h;

	memset(im, 0, sizeof(*im));
	if (tier_geometry_cache(g, block_sectors, fast, blocks * block_sectors))
		abort();
	g->journal_blocks = IMAGE_RING;
	g->slot_start = g->journal_start + IMAGE_RING;
	if (tier_geometry_resize(g, fast, blocks * block_sectors))
		abort();
	for (i = 0; i < 16; i++) {
		im->sb.uuid[i] = 0x10 + i;
		g->devs[0].uuid[i] = 0x40 + i;
	}
	im->seed = tier_csum_seed(im->sb.uuid);
	im->sb.version = TIER_FORMAT_VERSION;
	im->sb.flags = kind == IMAGE_CLEAN ? TIER_SB_CLEAN : 0;
	im->sb.seq = 5 + when;
	im->sb.generation = 3;
	im->sb.mode = TIER_MODE_WRITETHROUGH;
	im->sb.format_time = 1700000000;
	im->sb.stop_time = kind == IMAGE_CLEAN ? 1700000100 + when : 0;
	strcpy(im->sb.policy, "hotspot");
	im->sb.hint_seq = kind == IMAGE_CLEAN ? 9 + when : 0;
	im->sb.tail_txn = folded + 1;
	im->sb.tail_block = folded % IMAGE_RING;
	im->sb.head_txn = kind == IMAGE_CLEAN ? last : last - 1;
	im->bytes = g->meta_blocks * TIER_META_BLOCK_SIZE;
	im->meta = image_alloc(g->meta_blocks);
	im->ssd = image_alloc(1);

	tier_pack_sb(&im->sb, TIER_SB_BLOCK_0, image_block(im, TIER_SB_BLOCK_0));
	tier_pack_sb(&im->sb, TIER_SB_BLOCK_1, image_block(im, TIER_SB_BLOCK_1));
	im->used[im->nr_used++] = TIER_SB_BLOCK_0;
	im->used[im->nr_used++] = TIER_SB_BLOCK_1;
	image_page(im, TIER_PAGE_INTENT, g->intent_start, g->intent_start + 1, TIER_INTENT_WORDS, folded, folded);
	image_page(im, TIER_PAGE_SLOTS, tier_slot_page_block(g, 0, 0), tier_slot_page_block(g, 0, 1),
		   tier_slot_page_records(g, 0), folded, folded);
	image_page(im, TIER_PAGE_HINTS, tier_hint_page_block(g, 0), 0, TIER_HINTS_PER_PAGE, im->sb.hint_seq, when);
	/* while active nobody looks at the hints */
	if (kind == IMAGE_ACTIVE)
		im->nr_used--;
	for (i = 0; i < IMAGE_RING; i++)
		tier_journal_format_block(image_block(im, g->journal_start + i), im->seed, i);
	/* more than once around the ring, but for what was never written */
	for (i = 7; i <= last; i++)
		image_txn(im, i, (i - 1) % IMAGE_RING);
	for (i = 0; i < IMAGE_RING; i++)
		im->used[im->nr_used++] = g->journal_start + i;

	h = (struct tier_dev_header) {
		.index = 0, .block_sectors = block_sectors, .generation = im->sb.generation,
		.data_start = g->devs[0].data_start, .nr_slots = g->devs[0].nr_slots,
	};
	memcpy(h.uuid, im->sb.uuid, sizeof(h.uuid));
	memcpy(h.dev_uuid, g->devs[0].uuid, sizeof(h.dev_uuid));
	tier_pack_dev_header(&h, im->ssd);
}

/* what bdev-memory.c reads from */
static inline struct bdev image_bdev(const char *name, const void *data, uint64_t bytes)
{
	return (struct bdev) { .path = name, .fd = -1, .ino = (ino_t)(uintptr_t)data, .bytes = bytes,
			       .logical_bytes = 512 };
}

#endif /* TIER_FUZZ_IMAGE_H */
