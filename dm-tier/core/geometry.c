// SPDX-License-Identifier: GPL-2.0
/* Sizes and places of everything. */
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "geometry.h"

/* So that a byte position fits a signed 64-bit offset */
#define MAX_SECTORS		(BIT_ULL(54) - 1)

/* Far more than any geometry needs, far less than what overflows */
#define MAX_META_BLOCK		BIT_ULL(40)

#define MAX_REGION_SHIFT	47U

/* The journal has room for a record of every eighth slot, within these bounds */
#define MIN_NEW_JOURNAL_BLOCKS	64U
#define MAX_NEW_JOURNAL_BLOCKS	2048U
#define JOURNAL_SLOTS_DIVISOR	8U

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
		return "slow device has more than 2^46 blocks: use a larger block size";
	return NULL;
}

/* The slots of a cache are one piece of the fast device */
static void derive_extent(struct tier_geometry *g)
{
	memset(g->extents, 0, sizeof(g->extents));
	g->nr_extents = 1;
	g->extents[0].nr_slots = g->nr_slots;
	g->extents[0].data_start = g->devs[0].data_start;
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

/* Where a new metadata device has its parts */
static void choose_layout(struct tier_geometry *g)
{
	choose_regions(g);
	choose_journal(g);
	g->intent_start = TIER_FIRST_FREE_BLOCK;
	g->journal_start = g->intent_start + 2;
	g->slot_start = g->journal_start + g->journal_blocks;
	g->nr_slot_pages = nr_slot_pages_of(g, g->nr_slots);
	g->meta_blocks = meta_end(g, g->nr_slot_pages);
}

static void choose_block(struct tier_geometry *g, u32 block_sectors)
{
	g->block_sectors = block_sectors;
	g->granule_sectors = tier_granule_sectors(block_sectors);
	g->record_bytes = block_record_bytes(block_sectors);
	derive_block(g);
}

const char *tier_geometry_cache(struct tier_geometry *g, u32 block_sectors, u64 fast_sectors,
				u64 slow_sectors)
{
	struct tier_dev_geometry *fast = &g->devs[0], *slow = &g->devs[1];
	const char *why;

	memset(g, 0, sizeof(*g));
	if (!legal_block_size(block_sectors))
		return "block size is not a power of two from 8 (4 KiB) to 2048 (1 MiB) sectors";
	choose_block(g, block_sectors);

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
	derive_extent(g);
	choose_layout(g);
	return NULL;
}

u32 tier_kept_slots(u64 nr_slots)
{
	return clamp_t(u64, nr_slots / 256, 2, 64);
}

u64 tier_real_slots(const struct tier_geometry *g)
{
	u64 slots = 0;
	u32 i;

	for (i = 0; i < g->nr_devs; i++)
		slots += g->devs[i].nr_slots;
	return slots;
}

u64 tier_usable_slots(const struct tier_geometry *g)
{
	u64 usable = 0;
	u32 i;

	for (i = 0; i < g->nr_devs; i++)
		usable += g->devs[i].nr_slots - tier_kept_slots(g->devs[i].nr_slots);
	return usable;
}

/* Slots on a tier; a message if it is too small or too large */
static const char *count_tier_slots(u64 sectors, u64 data_start, u32 block_shift, u64 *nr_slots)
{
	if (sectors > MAX_SECTORS)
		return "a tier is too large: at most 2^54 - 1 sectors";
	if (sectors <= data_start || (sectors - data_start) >> block_shift < TIER_MIN_TIER_SLOTS)
		return "a tier is too small: it needs 1 MiB and room for 4 blocks";
	*nr_slots = (sectors - data_start) >> block_shift;
	if (*nr_slots > TIER_MAX_SLOTS)
		return "the tiers have more than 2^32 - 16 blocks: use a larger block size";
	return NULL;
}

/* One more tier, slower than those that are there, its slots behind theirs */
static const char *add_tier(struct tier_geometry *g, u64 sectors, u32 flags)
{
	struct tier_dev_geometry *d = &g->devs[g->nr_devs];
	struct tier_extent *e = &g->extents[g->nr_extents];
	const char *why;

	d->sectors = sectors;
	d->data_start = flags & TIER_DEV_NO_HEADER ? 0 : TIER_DATA_START;
	d->role = TIER_ROLE_TIER;
	d->flags = flags;
	why = count_tier_slots(sectors, d->data_start, g->block_shift, &d->nr_slots);
	if (why)
		return why;
	if (g->nr_slots + d->nr_slots > TIER_MAX_SLOTS)
		return "the tiers have more than 2^32 - 16 blocks: use a larger block size";
	e->first_slot = g->nr_slots;
	e->nr_slots = d->nr_slots;
	e->data_start = d->data_start;
	e->dev = g->nr_devs++;
	g->nr_extents++;
	g->nr_slots += d->nr_slots;
	return NULL;
}

static const char *new_tiered(struct tier_geometry *g, u32 block_sectors, u32 nr_devs,
			      const u64 *dev_sectors, u64 nr_sectors, u32 last_flags)
{
	const char *why = NULL;
	u32 i;

	memset(g, 0, sizeof(*g));
	if (!legal_block_size(block_sectors) || block_sectors < TIER_MIN_TIERED_BLOCK_SECTORS)
		return "block size is not a power of two from 128 (64 KiB) to 2048 (1 MiB) sectors";
	if (nr_devs < 2 || nr_devs > TIER_MAX_DEVS)
		return "a tiered device has 2 to 16 tiers";
	choose_block(g, block_sectors);
	g->exclusive = true;
	for (i = 0; i < nr_devs && !why; i++)
		why = add_tier(g, dev_sectors[i], i == nr_devs - 1 ? last_flags : 0);
	if (why)
		return why;

	if (nr_sectors & (block_sectors - 1))
		return "length is not a multiple of the block size";
	g->nr_blocks = tier_usable_slots(g);
	if (nr_sectors >> g->block_shift > g->nr_blocks)
		return "length is more than the tiers can hold";
	if (nr_sectors)
		g->nr_blocks = nr_sectors >> g->block_shift;
	g->nr_sectors = g->nr_blocks << g->block_shift;
	if (g->nr_sectors > MAX_SECTORS)
		return "the tiers are too large: at most 2^54 - 1 sectors together";
	choose_layout(g);
	return NULL;
}

const char *tier_geometry_tiered(struct tier_geometry *g, u32 block_sectors, u32 nr_devs,
				 const u64 *dev_sectors, u64 nr_sectors)
{
	return new_tiered(g, block_sectors, nr_devs, dev_sectors, nr_sectors, 0);
}

const char *tier_geometry_take(struct tier_geometry *g, u32 block_sectors, u32 nr_devs,
			       const u64 *dev_sectors, u64 nr_sectors)
{
	const char *why;

	why = new_tiered(g, block_sectors, nr_devs, dev_sectors, nr_sectors, TIER_DEV_NO_HEADER);
	if (why)
		return why;
	if (g->nr_sectors < dev_sectors[nr_devs - 1])
		return nr_sectors ? "length is less than the data that are to be kept" :
				    "the faster tiers are too small to take over the data of the last one";
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

static const char *check_cache(struct tier_geometry *g)
{
	const char *why;

	if (g->nr_devs != 2)
		return "nr_devs is not 2";
	why = check_fast(g, &g->devs[0]);
	if (!why)
		why = check_slow(g, &g->devs[1]);
	if (why)
		return why;
	if (g->nr_slots != g->devs[0].nr_slots)
		return "nr_slots is not that of the fast device";
	g->nr_sectors = g->devs[1].sectors;
	derive_extent(g);
	return NULL;
}

static bool has_uuid(const struct tier_dev_geometry *d)
{
	return memchr_inv(d->uuid, 0, sizeof(d->uuid));
}

static const char *check_tier(const struct tier_geometry *g, u32 i)
{
	const struct tier_dev_geometry *d = &g->devs[i];
	bool headless = d->flags & TIER_DEV_NO_HEADER;
	u32 k;

	if (d->role != TIER_ROLE_TIER)
		return "role of a device is not tier";
	if (d->flags & ~TIER_DEV_FLAGS)
		return "flags of a tier are not known";
	if (headless ? d->data_start : !d->data_start || d->data_start & (g->block_sectors - 1))
		return "data_start of a tier is not a multiple of the block size";
	if (headless && has_uuid(d))
		return "uuid of a tier without header is not zero";
	if (d->flags & TIER_DEV_SETTLE && !headless)
		return "a tier that has a header is to be settled";
	if (d->flags & TIER_DEV_SETTLE && d->flags & TIER_DEV_EVACUATE)
		return "a tier is to be settled and to be emptied";
	if (d->first_slot)
		return "first_slot of a tier is not 0";
	if (d->sectors > MAX_SECTORS)
		return "a tier is too large: at most 2^54 - 1 sectors";
	if (d->nr_slots < TIER_MIN_TIER_SLOTS)
		return "nr_slots of a tier is less than 4";
	if (d->sectors < d->data_start || d->nr_slots > (d->sectors - d->data_start) >> g->block_shift)
		return "nr_slots of a tier does not fit its size";
	for (k = 0; k < i; k++) {
		if (headless && g->devs[k].flags & TIER_DEV_NO_HEADER)
			return "two tiers have no header";
		if (has_uuid(d) && !memcmp(d->uuid, g->devs[k].uuid, sizeof(d->uuid)))
			return "two tiers have the same uuid";
	}
	return NULL;
}

/* @on_dev: slots of each device in the extents before */
static const char *check_extent(const struct tier_geometry *g, const struct tier_extent *e, u64 first,
				u64 *on_dev)
{
	const struct tier_dev_geometry *d;

	if (e->first_slot != first)
		return "first_slot of an extent is not behind the one before";
	if (!e->nr_slots || e->nr_slots > TIER_MAX_SLOTS)
		return "nr_slots of an extent is out of range";
	if (e->dev == TIER_EXTENT_HOLE)
		return e->data_start ? "data_start of a hole is not 0" : NULL;
	if (e->dev >= g->nr_devs)
		return "dev of an extent is not one of the devices";
	d = &g->devs[e->dev];
	if (e->data_start != d->data_start + (on_dev[e->dev] << g->block_shift))
		return "data_start of an extent is not behind the one before";
	on_dev[e->dev] += e->nr_slots;
	if (on_dev[e->dev] > d->nr_slots)
		return "extents of a tier have more slots than it";
	return NULL;
}

static const char *check_extents(const struct tier_geometry *g)
{
	u64 on_dev[TIER_MAX_DEVS] = { 0 }, nr_slots = 0;
	const char *why;
	u32 i;

	if (!g->nr_extents || g->nr_extents > TIER_MAX_EXTENTS)
		return "nr_extents is not from 1 to 32";
	for (i = 0; i < g->nr_extents; i++) {
		why = check_extent(g, &g->extents[i], nr_slots, on_dev);
		if (why)
			return why;
		nr_slots += g->extents[i].nr_slots;
	}
	if (nr_slots != g->nr_slots || nr_slots > TIER_MAX_SLOTS)
		return "nr_slots is not that of the extents";
	for (i = 0; i < g->nr_devs; i++)
		if (on_dev[i] != g->devs[i].nr_slots)
			return "extents of a tier have less slots than it";
	return NULL;
}

/*
 * A tiered device may be longer than its tiers can hold, when one was taken out: its blocks get slots
 * when they are written to.
 */
static const char *check_tiered(const struct tier_geometry *g)
{
	const char *why;
	u32 i;

	if (g->block_sectors < TIER_MIN_TIERED_BLOCK_SECTORS)
		return "block_sectors is not a power of two from 128 to 2048";
	if (g->nr_devs < 2 || g->nr_devs > TIER_MAX_DEVS)
		return "nr_devs is not from 2 to 16";
	for (i = 0; i < g->nr_devs; i++) {
		why = check_tier(g, i);
		if (why)
			return why;
	}
	if (!g->nr_sectors || g->nr_sectors > MAX_SECTORS || g->nr_sectors & (g->block_sectors - 1))
		return "nr_sectors is not a multiple of the block size";
	if (g->nr_sectors >> g->block_shift > TIER_MAX_BLOCKS)
		return "nr_sectors is more than 2^46 blocks";
	return check_extents(g);
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

	why = g->exclusive ? check_tiered(g) : check_cache(g);
	if (why)
		return why;
	if (!g->nr_regions || g->nr_regions > TIER_MAX_REGIONS)
		return "nr_regions is not from 1 to 32512";
	if (g->region_shift > MAX_REGION_SHIFT)
		return "region_shift is above 47";
	why = check_layout(g);
	if (why)
		return why;

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
	derive_extent(g);
	return NULL;
}

/* @nr more slots at the end, for a device */
static const char *append_slots(struct tier_geometry *g, u32 dev, u64 nr)
{
	struct tier_dev_geometry *d = &g->devs[dev];
	struct tier_extent *last = g->nr_extents ? &g->extents[g->nr_extents - 1] : NULL;

	if (g->nr_slots + nr > TIER_MAX_SLOTS)
		return "the tiers have more than 2^32 - 16 blocks: use a larger block size";
	if (last && last->dev == dev) {
		last->nr_slots += nr;
	} else {
		struct tier_extent *e = &g->extents[g->nr_extents];

		if (g->nr_extents == TIER_MAX_EXTENTS)
			return "the tiers were changed too often: their slots are in 32 pieces";
		e->first_slot = g->nr_slots;
		e->nr_slots = nr;
		e->data_start = d->data_start + (d->nr_slots << g->block_shift);
		e->dev = dev;
		g->nr_extents++;
	}
	d->nr_slots += nr;
	g->nr_slots += nr;
	return NULL;
}

/* holes at the end go, neighbouring ones become one */
static void tidy_holes(struct tier_geometry *g)
{
	u32 i, nr = 0;

	for (i = 0; i < g->nr_extents; i++) {
		struct tier_extent *e = &g->extents[i];

		if (nr && e->dev == TIER_EXTENT_HOLE && g->extents[nr - 1].dev == TIER_EXTENT_HOLE)
			g->extents[nr - 1].nr_slots += e->nr_slots;
		else
			g->extents[nr++] = *e;
	}
	while (nr && g->extents[nr - 1].dev == TIER_EXTENT_HOLE)
		g->nr_slots -= g->extents[--nr].nr_slots;
	memset(&g->extents[nr], 0, (g->nr_extents - nr) * sizeof(g->extents[0]));
	g->nr_extents = nr;
}

/* the tiers that stay, at their new places; the slots of the others become holes */
static const char *place_tiers(struct tier_geometry *g, const struct tier_geometry *old, u32 nr_tiers,
			       const struct tier_change *tiers)
{
	u32 place[TIER_MAX_DEVS], i;

	for (i = 0; i < TIER_MAX_DEVS; i++)
		place[i] = TIER_EXTENT_HOLE;
	memset(g->devs, 0, sizeof(g->devs));
	for (i = 0; i < nr_tiers; i++) {
		u32 was = tiers[i].was;

		if (was == TIER_NEW_TIER)
			continue;
		if (was >= old->nr_devs || place[was] != TIER_EXTENT_HOLE)
			return "a tier is given twice";
		place[was] = i;
		g->devs[i] = old->devs[was];
		if (tiers[i].sectors < g->devs[i].sectors)
			return "a tier can't shrink";
		g->devs[i].sectors = tiers[i].sectors;
	}
	for (i = 0; i < g->nr_extents; i++) {
		struct tier_extent *e = &g->extents[i];

		if (e->dev != TIER_EXTENT_HOLE)
			e->dev = place[e->dev];
		if (e->dev == TIER_EXTENT_HOLE)
			e->data_start = 0;
	}
	g->nr_devs = nr_tiers;
	tidy_holes(g);
	return NULL;
}

const char *tier_geometry_change(struct tier_geometry *g, const struct tier_geometry *old, u32 nr_tiers,
				 const struct tier_change *tiers, u64 nr_sectors)
{
	const char *why;
	u32 i;

	if (nr_tiers < 2 || nr_tiers > TIER_MAX_DEVS)
		return "a tiered device has 2 to 16 tiers";
	*g = *old;
	why = place_tiers(g, old, nr_tiers, tiers);
	for (i = 0; i < nr_tiers && !why; i++) {
		struct tier_dev_geometry *d = &g->devs[i];
		u64 nr;

		if (tiers[i].was == TIER_NEW_TIER) {
			d->sectors = tiers[i].sectors;
			d->data_start = TIER_DATA_START;
			d->role = TIER_ROLE_TIER;
			memcpy(d->uuid, tiers[i].uuid, sizeof(d->uuid));
		}
		why = count_tier_slots(d->sectors, d->data_start, g->block_shift, &nr);
		if (!why && nr > d->nr_slots)
			why = append_slots(g, i, nr - d->nr_slots);
	}
	if (!why && nr_sectors < old->nr_sectors)
		why = "a tiered device can't shrink";
	if (!why && nr_sectors & (g->block_sectors - 1))
		why = "length is not a multiple of the block size";
	if (!why && nr_sectors > old->nr_sectors && nr_sectors >> g->block_shift > tier_usable_slots(g))
		why = "length is more than the tiers can hold";
	if (why)
		return why;
	g->nr_sectors = nr_sectors;
	g->meta_blocks = meta_end(g, nr_slot_pages_of(g, g->nr_slots));
	return tier_geometry_check(g);
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
