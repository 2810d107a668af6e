/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of the format share: small metadata, random numbers, checks in bulk. */
#ifndef TIER_CORE_FIXTURE_H
#define TIER_CORE_FIXTURE_H

#include <linux/kernel.h>
#include <linux/string.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/codec.h"
#include "core/geometry.h"
#include "core/replay.h"

static const u32 fx_block_sizes[] = { 8, 16, 32, 64, 128, 256, 512, 1024, 2048 };

#define FX_NR_BLOCK_SIZES	ARRAY_SIZE(fx_block_sizes)

/*
 * A check that is made a thousand times and reported once: fx_check() counts and shows the first
 * failures, the test says ok(!fx_failures(), ...) at the end.
 */
static unsigned int fx_failed;

#define fx_check(cond, fmt, ...) ({						\
	bool __fx_good = !!(cond);						\
	if (!__fx_good && fx_failed++ < 5)					\
		printf("# %s:%d: %s: " fmt "\n", __FILE__, __LINE__, #cond, ##__VA_ARGS__);	\
	__fx_good;								\
})

static inline unsigned int fx_failures(void)
{
	unsigned int n = fx_failed;

	fx_failed = 0;
	return n;
}

/* xorshift64*: the same numbers in every run */
static inline u64 fx_random(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

/* Zeroed and aligned metadata blocks; free() them */
static inline void *fx_blocks(u64 nr)
{
	void *p = aligned_alloc(TIER_META_BLOCK_SIZE, nr * TIER_META_BLOCK_SIZE);

	if (!p)
		abort();
	return memset(p, 0, nr * TIER_META_BLOCK_SIZE);
}

static inline void fx_uuid(u8 uuid[16], u8 first)
{
	u32 i;

	for (i = 0; i < 16; i++)
		uuid[i] = first + i;
}

/* A new cache with given numbers of slots, blocks and journal blocks; the last block is short */
static inline void fx_geometry(struct tier_geometry *g, u32 block_sectors, u64 nr_slots,
			       u64 nr_blocks, u64 journal_blocks)
{
	u64 slow = nr_blocks * block_sectors - block_sectors / 2;
	u64 fast = TIER_DATA_START + nr_slots * block_sectors;

	if (tier_geometry_cache(g, block_sectors, fast, slow))
		abort();
	g->journal_blocks = journal_blocks;
	g->slot_start = g->journal_start + journal_blocks;
	if (tier_geometry_resize(g, fast, slow))
		abort();
	fx_uuid(g->devs[0].uuid, 0x40);
	if (tier_geometry_check(g))
		abort();
}

/* Its superblock, as after formatting */
static inline void fx_sb(struct tier_sb *sb, u32 block_sectors, u64 nr_slots, u64 nr_blocks,
			 u64 journal_blocks)
{
	memset(sb, 0, sizeof(*sb));
	fx_geometry(&sb->geometry, block_sectors, nr_slots, nr_blocks, journal_blocks);
	fx_uuid(sb->uuid, 0x10);
	sb->version = TIER_FORMAT_VERSION;
	sb->flags = TIER_SB_CLEAN;
	sb->seq = 1;
	sb->tail_txn = 1;
	sb->format_time = 1700000000;
}

/*
 * A tiered device of three devices, the last one taken over with its data, that has seen changes: slots
 * 0 to 99 on the first, 100 to 159 a hole, 160 to 459 on the second, 460 to 959 on the third, 960 to 1009
 * on the first again.
 */
static inline void fx_tiered(struct tier_geometry *g, u32 block_sectors, u64 journal_blocks)
{
	u64 sizes[3] = { TIER_DATA_START + 160ULL * block_sectors, TIER_DATA_START + 300ULL * block_sectors,
			 550ULL * block_sectors };

	if (tier_geometry_take(g, block_sectors, 3, sizes, 0))
		abort();
	g->devs[0].nr_slots = 150;
	g->devs[2].nr_slots = 500;
	g->nr_extents = 5;
	g->extents[0].nr_slots = 100;
	memmove(&g->extents[2], &g->extents[1], 2 * sizeof(g->extents[0]));
	g->extents[1] = (struct tier_extent) { .first_slot = 100, .nr_slots = 60, .dev = TIER_EXTENT_HOLE };
	g->extents[3].nr_slots = 500;
	memset(&g->extents[4], 0, sizeof(g->extents[4]));
	g->extents[4].first_slot = 960;
	g->extents[4].nr_slots = 50;
	g->extents[4].data_start = TIER_DATA_START + 100ULL * block_sectors;
	g->nr_sectors -= block_sectors;
	g->meta_blocks -= g->journal_blocks - journal_blocks;
	g->journal_blocks = journal_blocks;
	g->slot_start = g->journal_start + journal_blocks;
	fx_uuid(g->devs[0].uuid, 0x40);
	fx_uuid(g->devs[1].uuid, 0x50);
	if (tier_geometry_check(g))
		abort();
}

static inline void fx_tiered_sb(struct tier_sb *sb, u32 block_sectors, u64 journal_blocks)
{
	memset(sb, 0, sizeof(*sb));
	fx_tiered(&sb->geometry, block_sectors, journal_blocks);
	fx_uuid(sb->uuid, 0x10);
	sb->version = TIER_FORMAT_VERSION;
	sb->incompat = TIER_FEATURE_INCOMPAT_EXCLUSIVE;
	sb->mode = TIER_MODE_TIERED;
	sb->flags = TIER_SB_CLEAN;
	sb->seq = 1;
	sb->tail_txn = 1;
	sb->format_time = 1700000000;
}

/* A record with some sense that follows from @x */
static inline void fx_record(const struct tier_geometry *g, u64 x, struct tier_record *rec)
{
	u64 all = tier_granule_mask(0, g->nr_granules - 1);

	memset(rec, 0, sizeof(*rec));
	if (x % 7 == 0)
		return;
	/* all but the last block, which is short */
	rec->block = tier_to_block(x * 0x9e3779b97f4a7c15ULL %
				   (g->nr_blocks > 1 ? g->nr_blocks - 1 : 1));
	rec->valid = g->nr_blocks > 1 ? (x * 0xbf58476d1ce4e5b9ULL ^ x << 7) & all : 1;
	rec->dirty = g->exclusive ? rec->valid : rec->valid & (x * 0x94d049bb133111ebULL);
	rec->flags = TIER_REC_MAPPED | (x % 5 == 0 ? TIER_REC_PINNED : 0);
}

static inline bool fx_same_record(const struct tier_record *a, const struct tier_record *b)
{
	return a->block == b->block && a->valid == b->valid && a->dirty == b->dirty &&
	       a->flags == b->flags;
}

/* A journal entry with some sense that follows from @x */
static inline void fx_jentry(const struct tier_geometry *g, u64 x, struct tier_jentry *e)
{
	u32 nr_words = (g->nr_regions + 63) / 64;

	memset(e, 0, sizeof(*e));
	if (x % 6 == 3) {
		e->type = TIER_JENTRY_INTENT;
		e->key = x % nr_words;
		e->bits = x * 0x9e3779b97f4a7c15ULL;
		if (e->key == nr_words - 1)
			e->bits &= tier_granule_mask(0, (g->nr_regions - 1) % 64);
		return;
	}
	e->type = TIER_JENTRY_SLOT;
	e->key = x % g->nr_slots;
	if (tier_slot_dev(g, tier_to_slot(e->key)) != TIER_EXTENT_HOLE)
		fx_record(g, x, &e->rec);
}

static inline bool fx_same_jentry(const struct tier_jentry *a, const struct tier_jentry *b)
{
	return a->type == b->type && a->key == b->key && a->bits == b->bits &&
	       fx_same_record(&a->rec, &b->rec);
}

#endif /* TIER_CORE_FIXTURE_H */
