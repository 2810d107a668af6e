/* SPDX-License-Identifier: GPL-2.0 */
/* Sizes and places of everything, computed at format and read from the superblock afterwards. */
#ifndef TIER_GEOMETRY_H
#define TIER_GEOMETRY_H

#include <linux/math64.h>
#include "tier-format.h"
#include "tier-types.h"

/**
 * struct tier_dev_geometry - one data device
 * @uuid: of the device, zero if it has no header
 * @sectors: part in use
 * @data_start: sector of the first slot
 * @first_slot: number of the first slot
 * @nr_slots: slots on it
 * @role: TIER_ROLE_*
 */
struct tier_dev_geometry {
	u8 uuid[16];
	u64 sectors;
	u64 data_start;
	u64 first_slot;
	u64 nr_slots;
	u32 role;
};

/**
 * struct tier_geometry - what the superblock says of sizes and places
 * @block_sectors: block size
 * @block_shift: log2 of it
 * @granule_sectors: granule size
 * @granule_shift: log2 of it
 * @nr_granules: in a block, 1 to 64
 * @record_bytes: 16 or 32
 * @records_per_page: slot records in a page
 * @entries_per_jsector: entries in a journal sector
 * @nr_devs: data devices
 * @devs: fast to slow
 * @nr_slots: on all of them
 * @nr_sectors: of the tier device
 * @nr_blocks: of the tier device; the last one may be short
 * @region_shift: log2 of the blocks in an intent region
 * @nr_regions: intent regions
 * @intent_start: metadata block
 * @journal_start: metadata block
 * @journal_blocks: metadata blocks
 * @slot_start: metadata block
 * @nr_slot_pages: logical slot pages (each kept twice)
 * @meta_blocks: metadata blocks in use
 */
struct tier_geometry {
	u32 block_sectors;
	u32 block_shift;
	u32 granule_sectors;
	u32 granule_shift;
	u32 nr_granules;
	u32 record_bytes;
	u32 records_per_page;
	u32 entries_per_jsector;
	u32 nr_devs;
	struct tier_dev_geometry devs[TIER_MAX_DEVS];
	u64 nr_slots;
	u64 nr_sectors;
	u64 nr_blocks;
	u32 region_shift;
	u32 nr_regions;
	u64 intent_start;
	u64 journal_start;
	u64 journal_blocks;
	u64 slot_start;
	u64 nr_slot_pages;
	u64 meta_blocks;
};

/* First sector of the slots on a device with a header */
#define TIER_DATA_START		2048U

/**
 * tier_geometry_cache() - compute the geometry of a new cache
 * @g: result
 * @block_sectors: block size, power of two, TIER_MIN_BLOCK_SECTORS to TIER_MAX_BLOCK_SECTORS
 * @fast_sectors: size of the fast device
 * @slow_sectors: size of the slow device (of the tier device); any number > 0
 *
 * Everything but the UUIDs is filled in.  The journal gets a size that fits the number of slots.
 * Return: NULL, or a message that says what is wrong and what would be right.
 */
const char *tier_geometry_cache(struct tier_geometry *g, u32 block_sectors, u64 fast_sectors,
				u64 slow_sectors);

/**
 * tier_geometry_check() - is a geometry consistent in itself?
 * @g: to check; derived fields (shifts, counts) are filled in from the primary ones
 *
 * Checks every field against every other, overflow included, so that what passes can be used without
 * further checks.
 * Return: NULL, or a message that names the field.
 */
const char *tier_geometry_check(struct tier_geometry *g);

/**
 * tier_geometry_resize() - geometry after a device changed its size
 * @g: to change; unchanged on error
 * @fast_sectors: new size of the fast device
 * @slow_sectors: new size of the slow device
 *
 * Return: NULL, or a message.
 */
const char *tier_geometry_resize(struct tier_geometry *g, u64 fast_sectors, u64 slow_sectors);

/**
 * tier_slot_page_block() - metadata block of a slot page
 * @g: geometry
 * @page: logical page, below nr_slot_pages
 * @copy: 0 or 1
 */
u64 tier_slot_page_block(const struct tier_geometry *g, u64 page, unsigned int copy);

/**
 * tier_hint_page_block() - metadata block of a hint page
 * @g: geometry
 * @page: hint page: slots page * TIER_HINTS_PER_PAGE and on
 */
u64 tier_hint_page_block(const struct tier_geometry *g, u64 page);

/* number of hint pages */
u64 tier_nr_hint_pages(const struct tier_geometry *g);

/* intent region of a block */
static inline u32 tier_block_region(const struct tier_geometry *g, tier_block_t b)
{
	u64 r = tier_from_block(b) >> g->region_shift;
	u32 rem;

	if (r < g->nr_regions)
		return r;
	div_u64_rem(r, g->nr_regions, &rem);
	return rem;
}

#endif /* TIER_GEOMETRY_H */
