// SPDX-License-Identifier: GPL-2.0
/*
 * Superblocks, device headers and pages from anybody's hand.
 *
 * Input: a byte of switches, then the head of the block, the rest of which is zero.
 *	bit 0: make the checksum right
 *	bit 1: it is read at the second place
 *	bits 2 and 3: superblock, device header, slot page
 */
#include "fuzz.h"
#include <asm/byteorder.h>
#include <linux/crc32c.h>
#include "core/codec.h"

static uint8_t block[TIER_META_BLOCK_SIZE] __aligned(4096);

static void use_extents(const struct tier_geometry *g)
{
	u32 i;

	fuzz_assert(g->nr_extents && g->nr_extents <= TIER_MAX_EXTENTS);
	for (i = 0; i < g->nr_extents; i++) {
		const struct tier_extent *e = &g->extents[i];
		tier_slot_t first = tier_to_slot(e->first_slot), last = tier_to_slot(e->first_slot + e->nr_slots - 1);

		fuzz_assert(tier_from_slot(last) < g->nr_slots && tier_slot_extent(g, last) == e);
		if (e->dev == TIER_EXTENT_HOLE)
			continue;
		fuzz_assert(e->dev < g->nr_devs && tier_slot_dev(g, first) == e->dev);
		fuzz_assert(tier_slot_dev_sector(g, last) + g->block_sectors <= g->devs[e->dev].sectors);
		fuzz_assert(tier_slot_local(g, last) < g->devs[e->dev].nr_slots);
		fuzz_assert(tier_local_slot(g, e->dev, tier_slot_local(g, first)) == first);
	}
}

/* What passed the check can be used without thinking. */
static void use_geometry(const struct tier_geometry *g)
{
	u64 last = g->nr_slot_pages - 1;
	u64 hints = tier_nr_hint_pages(g);

	fuzz_assert(g->nr_slots && g->nr_slots <= TIER_MAX_SLOTS);
	fuzz_assert(g->nr_blocks && g->nr_blocks <= TIER_MAX_BLOCKS);
	fuzz_assert(g->nr_devs && g->nr_devs <= TIER_MAX_DEVS);
	fuzz_assert(1U << g->block_shift == g->block_sectors);
	fuzz_assert(g->nr_granules << g->granule_shift == g->block_sectors);
	fuzz_assert(g->nr_granules && g->nr_granules <= TIER_MAX_GRANULES);
	use_extents(g);
	fuzz_assert(g->intent_start > TIER_SB_BLOCK_1 && g->intent_start + 2 <= g->journal_start);
	fuzz_assert(g->journal_start + g->journal_blocks <= g->slot_start);
	fuzz_assert(g->journal_blocks && g->journal_blocks <= TIER_MAX_JOURNAL_BLOCKS);
	fuzz_assert(g->slot_start < g->meta_blocks && g->meta_blocks < 1ULL << 50);
	fuzz_assert(tier_slot_page_block(g, 0, 0) == g->slot_start);
	fuzz_assert(tier_slot_page_block(g, last, 1) < g->meta_blocks);
	fuzz_assert(tier_hint_page_block(g, hints - 1) < g->meta_blocks);
	fuzz_assert(tier_slot_page_records(g, last) && !tier_slot_page_records(g, last + 1));
	fuzz_assert(tier_block_region(g, tier_to_block(g->nr_blocks - 1)) < g->nr_regions);
}

static void fuzz_sb_block(u64 location)
{
	static uint8_t again[TIER_META_BLOCK_SIZE] __aligned(4096);
	struct tier_sb sb;
	const char *why;
	enum tier_verify v = tier_unpack_sb(block, location, &sb, &why);

	fuzz_assert((v == TIER_OK) == !why);
	if (v != TIER_OK)
		return;
	use_geometry(&sb.geometry);
	fuzz_assert(sb.tail_txn && sb.tail_block < sb.geometry.journal_blocks);
	fuzz_assert(strnlen(sb.policy, sizeof(sb.policy)) < sizeof(sb.policy));
	if (sb.compat || sb.compat_ro)
		return;
	tier_pack_sb(&sb, location, again);
	fuzz_assert(!memcmp(block, again, sizeof(block)));
}

static void fuzz_dev_header_block(void)
{
	static uint8_t again[TIER_META_BLOCK_SIZE] __aligned(4096);
	struct tier_dev_header h;
	const char *why;
	enum tier_verify v = tier_unpack_dev_header(block, &h, &why);

	fuzz_assert((v == TIER_OK) == !why);
	if (v != TIER_OK)
		return;
	tier_pack_dev_header(&h, again);
	fuzz_assert(!memcmp(block, again, sizeof(block)));
}

static void fuzz_slot_page(uint32_t seed)
{
	struct tier_geometry g;
	struct tier_record rec;
	uint8_t packed[32] __aligned(8);
	u64 seq;
	u32 i;

	fuzz_assert(!tier_geometry_cache(&g, seed & 1 ? 2048 : 128, 1 << 24, 1 << 28));
	if (tier_page_verify(block, seed, TIER_PAGE_SLOTS, 0, &seq) != TIER_OK)
		return;
	for (i = 0; i < g.records_per_page; i++) {
		if (tier_unpack_record(&g, tier_page_record(&g, block, i), &rec) != TIER_OK)
			continue;
		fuzz_assert(!(rec.dirty & ~rec.valid));
		fuzz_assert(tier_from_block(rec.block) < g.nr_blocks);
		tier_pack_record(&g, &rec, packed);
		fuzz_assert(!memcmp(packed, tier_page_record(&g, block, i), g.record_bytes));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t switches;
	uint32_t seed;

	if (!size)
		return 0;
	switches = data[0];
	size--;
	if (size > sizeof(block))
		size = sizeof(block);
	memset(block, 0, sizeof(block));
	memcpy(block, data + 1, size);
	seed = switches & 8 ? switches >> 4 : ~0U;
	if (switches & 1)
		*(__le32 *)block = cpu_to_le32(crc32c(seed, block + 4, sizeof(block) - 4));

	if (switches & 8)
		fuzz_slot_page(seed);
	else if (switches & 4)
		fuzz_dev_header_block();
	else
		fuzz_sb_block(switches & 2 ? TIER_SB_BLOCK_1 : TIER_SB_BLOCK_0);
	return 0;
}
