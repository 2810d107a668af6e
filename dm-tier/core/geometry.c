// SPDX-License-Identifier: GPL-2.0
/* Sizes and places of everything. */
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/string.h>

#include "geometry.h"

/* So that a byte position fits a signed 64-bit offset */
#define MAX_SECTORS		(BIT_ULL(54) - 1)

/* Far more than any geometry needs, far less than what overflows */
#define MAX_META_BLOCK		BIT_ULL(40)

#define MAX_REGION_SHIFT	47U

/* The journal has room for a record of every fourth slot, within these bounds */
#define MIN_NEW_JOURNAL_BLOCKS	64U
#define MAX_NEW_JOURNAL_BLOCKS	2048U
#define JOURNAL_SLOTS_DIVISOR	4U

static bool legal_block_size(u32 block_sectors)
{
	return block_sectors >= TIER_MIN_BLOCK_SECTORS && block_sectors <= TIER_MAX_BLOCK_SECTORS &&
	       is_power_of_2(block_sectors);
}

static u32 block_record_bytes(u32 block_sectors)
{
	u32 nr_granules = block_sectors / tier_granule_sectors(block_sectors);

	return nr_granules <= 16 ? sizeof(struct tier_disk_record16) :
				   sizeof(struct tier_disk_record32);
}

/* Everything that follows from a legal block size */
static void derive_block(struct tier_geometry *g)
{
	g->block_shift = ilog2(g->block_sectors);
	g->granule_shift = ilog2(g->granule_sectors);
	g->nr_granules = g->block_sectors >> g->granule_shift;
	if (g->record_bytes == sizeof(struct tier_disk_record16)) {
		g->records_per_page = TIER_RECORDS_16;
		g->entries_per_jsector = TIER_JOURNAL_ENTRIES_16;
	} else {
		g->records_per_page = TIER_RECORDS_32;
		g->entries_per_jsector = TIER_JOURNAL_ENTRIES_32;
	}
}

static u64 nr_blocks_of(u64 sectors, u32 block_shift)
{
	return ((sectors - 1) >> block_shift) + 1;
}

static u64 nr_slot_pages_of(const struct tier_geometry *g, u64 nr_slots)
{
	return div_u64(nr_slots + g->records_per_page - 1, g->records_per_page);
}

/* log2 of the hint pages in a group */
static u32 hint_pages_shift(const struct tier_geometry *g)
{
	u32 nr = g->record_bytes == sizeof(struct tier_disk_record16) ? TIER_HINT_PAGES_16 :
									 TIER_HINT_PAGES_32;

	return ilog2(nr);
}

static u32 group_blocks(const struct tier_geometry *g)
{
	return 2 * TIER_GROUP_PAGES + (1U << hint_pages_shift(g));
}

static u64 meta_end(const struct tier_geometry *g, u64 nr_slot_pages)
{
	u64 nr_groups = (nr_slot_pages + TIER_GROUP_PAGES - 1) / TIER_GROUP_PAGES;

	return g->slot_start + nr_groups * group_blocks(g);
}

/* Slots on a fast device; a message if it is too small or too large */
static const char *count_slots(u64 sectors, u64 data_start, u32 block_shift, u64 *nr_slots)
{
	if (sectors > MAX_SECTORS)
		return "fast device is too large: at most 2^54 - 1 sectors";
	if (sectors <= data_start || !((sectors - data_start) >> block_shift))
		return "fast device is too small: it needs 1 MiB and room for a block";
	*nr_slots = (sectors - data_start) >> block_shift;
	if (*nr_slots > TIER_MAX_SLOTS)
		return "fast device has more than 2^32 - 16 blocks: use a larger block size";
	return NULL;
}

static const char *check_slow_size(u64 sectors, u32 block_shift)
{
	if (!sectors)
		return "slow device is empty";
	if (sectors > MAX_SECTORS)
		return "slow device is too large: at most 2^54 - 1 sectors";
	if (nr_blocks_of(sectors, block_shift) > TIER_MAX_BLOCKS)
		return "slow device has more than 2^48 blocks: use a larger block size";
	return NULL;
}

static void choose_regions(struct tier_geometry *g)
{
	g->region_shift = 0;
	while (((g->nr_blocks - 1) >> g->region_shift) >= TIER_MAX_REGIONS)
		g->region_shift++;
	g->nr_regions = ((g->nr_blocks - 1) >> g->region_shift) + 1;
}

static void choose_journal(struct tier_geometry *g)
{
	u32 entries = TIER_JOURNAL_SECTORS_PER_BLOCK * g->entries_per_jsector;
	u64 blocks = div_u64(g->nr_slots, JOURNAL_SLOTS_DIVISOR * entries) + 1;

	if (blocks < MIN_NEW_JOURNAL_BLOCKS)
		blocks = MIN_NEW_JOURNAL_BLOCKS;
	if (blocks > MAX_NEW_JOURNAL_BLOCKS)
		blocks = MAX_NEW_JOURNAL_BLOCKS;
	g->journal_blocks = blocks;
}

const char *tier_geometry_cache(struct tier_geometry *g, u32 block_sectors, u64 fast_sectors,
				u64 slow_sectors)
{
	struct tier_dev_geometry *fast = &g->devs[0], *slow = &g->devs[1];
	const char *why;

	memset(g, 0, sizeof(*g));
	if (!legal_block_size(block_sectors))
		return "block size is not a power of two from 8 (4 KiB) to 2048 (1 MiB) sectors";
	g->block_sectors = block_sectors;
	g->granule_sectors = tier_granule_sectors(block_sectors);
	g->record_bytes = block_record_bytes(block_sectors);
	derive_block(g);

	why = count_slots(fast_sectors, TIER_DATA_START, g->block_shift, &fast->nr_slots);
	if (!why)
		why = check_slow_size(slow_sectors, g->block_shift);
	if (why)
		return why;

	g->nr_devs = 2;
	fast->sectors = fast_sectors;
	fast->data_start = TIER_DATA_START;
	fast->role = TIER_ROLE_FAST;
	slow->sectors = slow_sectors;
	slow->role = TIER_ROLE_SLOW;

	g->nr_slots = fast->nr_slots;
	g->nr_sectors = slow_sectors;
	g->nr_blocks = nr_blocks_of(slow_sectors, g->block_shift);
	choose_regions(g);
	choose_journal(g);
	g->intent_start = TIER_FIRST_FREE_BLOCK;
	g->journal_start = g->intent_start + 2;
	g->slot_start = g->journal_start + g->journal_blocks;
	g->nr_slot_pages = nr_slot_pages_of(g, g->nr_slots);
	g->meta_blocks = meta_end(g, g->nr_slot_pages);
	return NULL;
}

static const char *check_block(const struct tier_geometry *g)
{
	if (!legal_block_size(g->block_sectors))
		return "block_sectors is not a power of two from 8 to 2048";
	if (g->granule_sectors != tier_granule_sectors(g->block_sectors))
		return "granule_sectors does not fit block_sectors";
	if (g->record_bytes != block_record_bytes(g->block_sectors))
		return "record_bytes does not fit block_sectors";
	return NULL;
}

static const char *check_fast(const struct tier_geometry *g, const struct tier_dev_geometry *d)
{
	const char *why;
	u64 room;

	if (d->role != TIER_ROLE_FAST)
		return "role of the first device is not fast";
	if (!d->data_start || d->data_start & (g->block_sectors - 1))
		return "data_start of the fast device is not a multiple of the block size";
	if (d->first_slot)
		return "first_slot of the fast device is not 0";
	why = count_slots(d->sectors, d->data_start, g->block_shift, &room);
	if (why)
		return why;
	if (!d->nr_slots || d->nr_slots > room)
		return "nr_slots of the fast device does not fit its size";
	return NULL;
}

static const char *check_slow(const struct tier_geometry *g, const struct tier_dev_geometry *d)
{
	if (d->role != TIER_ROLE_SLOW)
		return "role of the second device is not slow";
	if (d->data_start || d->first_slot || d->nr_slots)
		return "data_start, first_slot or nr_slots of the slow device is not 0";
	if (memchr_inv(d->uuid, 0, sizeof(d->uuid)))
		return "uuid of the slow device is not zero";
	return check_slow_size(d->sectors, g->block_shift);
}

static const char *check_layout(const struct tier_geometry *g)
{
	if (g->intent_start < TIER_FIRST_FREE_BLOCK || g->intent_start > MAX_META_BLOCK)
		return "intent_start is out of range";
	if (g->journal_start < g->intent_start + 2 || g->journal_start > MAX_META_BLOCK)
		return "journal_start is out of range";
	if (g->journal_blocks < TIER_MIN_JOURNAL_BLOCKS ||
	    g->journal_blocks > TIER_MAX_JOURNAL_BLOCKS)
		return "journal_blocks is not from 16 to 4096";
	if (g->slot_start < g->journal_start + g->journal_blocks || g->slot_start > MAX_META_BLOCK)
		return "slot_start is out of range";
	if (g->meta_blocks != meta_end(g, nr_slot_pages_of(g, g->nr_slots)))
		return "meta_blocks does not fit nr_slots";
	return NULL;
}

const char *tier_geometry_check(struct tier_geometry *g)
{
	const char *why;

	why = check_block(g);
	if (why)
		return why;
	derive_block(g);

	if (g->nr_devs != 2)
		return "nr_devs is not 2";
	why = check_fast(g, &g->devs[0]);
	if (!why)
		why = check_slow(g, &g->devs[1]);
	if (why)
		return why;
	if (g->nr_slots != g->devs[0].nr_slots)
		return "nr_slots is not that of the fast device";
	if (!g->nr_regions || g->nr_regions > TIER_MAX_REGIONS)
		return "nr_regions is not from 1 to 32512";
	if (g->region_shift > MAX_REGION_SHIFT)
		return "region_shift is above 47";
	why = check_layout(g);
	if (why)
		return why;

	g->nr_sectors = g->devs[1].sectors;
	g->nr_blocks = nr_blocks_of(g->nr_sectors, g->block_shift);
	g->nr_slot_pages = nr_slot_pages_of(g, g->nr_slots);
	return NULL;
}

const char *tier_geometry_resize(struct tier_geometry *g, u64 fast_sectors, u64 slow_sectors)
{
	u64 nr_slots;
	const char *why;

	why = count_slots(fast_sectors, g->devs[0].data_start, g->block_shift, &nr_slots);
	if (!why)
		why = check_slow_size(slow_sectors, g->block_shift);
	if (why)
		return why;

	/* Regions and journal stay: the metadata before slot_start do not move. */
	g->devs[0].sectors = fast_sectors;
	g->devs[0].nr_slots = nr_slots;
	g->devs[1].sectors = slow_sectors;
	g->nr_slots = nr_slots;
	g->nr_sectors = slow_sectors;
	g->nr_blocks = nr_blocks_of(slow_sectors, g->block_shift);
	g->nr_slot_pages = nr_slot_pages_of(g, nr_slots);
	g->meta_blocks = meta_end(g, g->nr_slot_pages);
	return NULL;
}

u64 tier_slot_page_block(const struct tier_geometry *g, u64 page, unsigned int copy)
{
	u64 group = page / TIER_GROUP_PAGES;

	return g->slot_start + group * group_blocks(g) + copy * TIER_GROUP_PAGES +
	       page % TIER_GROUP_PAGES;
}

u64 tier_hint_page_block(const struct tier_geometry *g, u64 page)
{
	u32 shift = hint_pages_shift(g);
	u64 group = page >> shift;

	return g->slot_start + group * group_blocks(g) + 2 * TIER_GROUP_PAGES +
	       (page & ((1U << shift) - 1));
}

u64 tier_nr_hint_pages(const struct tier_geometry *g)
{
	return div_u64(g->nr_slots + TIER_HINTS_PER_PAGE - 1, TIER_HINTS_PER_PAGE);
}
