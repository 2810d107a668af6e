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
 * @first_slot: number of the first slot, 0 for a tier
 * @nr_slots: slots on it, in all of its extents
 * @role: TIER_ROLE_*
 * @flags: TIER_DEV_*
 */
struct tier_dev_geometry {
	u8 uuid[16];
	u64 sectors;
	u64 data_start;
	u64 first_slot;
	u64 nr_slots;
	u32 role;
	u32 flags;
};

/**
 * struct tier_extent - slots that lie one after the other on one device
 * @first_slot: number of the first
 * @nr_slots: how many, at least 1
 * @data_start: sector of the first on its device; 0 in a hole
 * @dev: index of the device, or TIER_EXTENT_HOLE
 *
 * The extents of a device lie one after the other on it, from its data_start on.
 */
struct tier_extent {
	u64 first_slot;
	u64 nr_slots;
	u64 data_start;
	u32 dev;
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
 * @exclusive: tiered mode: each block is in exactly one slot, all devices have slots
 * @nr_devs: data devices
 * @devs: fast to slow
 * @nr_extents: entries of @extents, at least 1
 * @extents: which slots are where, in the order of their numbers, without gaps; those of the fast device are one
 * @nr_slots: on all devices, and in holes
 * @nr_sectors: of the tier device; whole blocks in tiered mode
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
	bool exclusive;
	u32 nr_devs;
	struct tier_dev_geometry devs[TIER_MAX_DEVS];
	u32 nr_extents;
	struct tier_extent extents[TIER_MAX_EXTENTS];
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

/* Slots that a tier has at least */
#define TIER_MIN_TIER_SLOTS	4U

/**
 * tier_kept_slots() - slots of a tier that are kept back, so that moves always have room
 * @nr_slots: slots on it, at least TIER_MIN_TIER_SLOTS
 *
 * The others are usable: blocks may fill them.
 */
u32 tier_kept_slots(u64 nr_slots);

/**
 * tier_real_slots() - slots on all devices
 * @g: geometry
 *
 * Of a tiered device that had other tiers, @g->nr_slots also counts the numbers that no slot has any more (holes).
 */
u64 tier_real_slots(const struct tier_geometry *g);

/**
 * tier_usable_slots() - slots on all tiers, without what is kept back
 * @g: of a tiered device
 */
u64 tier_usable_slots(const struct tier_geometry *g);

/**
 * tier_geometry_tiered() - compute the geometry of a new tiered device
 * @g: result
 * @block_sectors: block size, power of two, TIER_MIN_TIERED_BLOCK_SECTORS to TIER_MAX_BLOCK_SECTORS
 * @nr_devs: 2 to TIER_MAX_DEVS
 * @dev_sectors: their sizes, fast to slow
 * @nr_sectors: length of the tier device, whole blocks; 0: all that is usable
 *
 * Everything but the UUIDs is filled in.
 * Return: NULL, or a message that says what is wrong and what would be right.
 */
const char *tier_geometry_tiered(struct tier_geometry *g, u32 block_sectors, u32 nr_devs,
				 const u64 *dev_sectors, u64 nr_sectors);

/**
 * tier_geometry_take() - the same, with a last device that keeps its data
 * @g: result
 * @block_sectors: as above
 * @nr_devs: as above
 * @dev_sectors: as above
 * @nr_sectors: as above, at least the last device's size
 *
 * The last device has no header and its slots from sector 0 on: block n is in its slot n.
 * Return: NULL, or a message that says what is wrong and what would be right.
 */
const char *tier_geometry_take(struct tier_geometry *g, u32 block_sectors, u32 nr_devs,
			       const u64 *dev_sectors, u64 nr_sectors);

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
 * tier_geometry_resize() - geometry of a cache after a device changed its size
 * @g: to change; unchanged on error
 * @fast_sectors: new size of the fast device
 * @slow_sectors: new size of the slow device
 *
 * Return: NULL, or a message.
 */
const char *tier_geometry_resize(struct tier_geometry *g, u64 fast_sectors, u64 slow_sectors);

#define TIER_NEW_TIER		U32_MAX

/**
 * struct tier_change - a tier as it is to be
 * @was: its place among the tiers so far, or TIER_NEW_TIER
 * @sectors: its size now, at least the old one
 * @uuid: of a new one, not zero
 */
struct tier_change {
	u32 was;
	u64 sectors;
	u8 uuid[16];
};

/**
 * tier_geometry_change() - geometry of a tiered device with other tiers
 * @g: result
 * @old: as it is
 * @nr_tiers: tiers, 2 to TIER_MAX_DEVS
 * @tiers: fast to slow; each old one at most once.  Those that are missing are taken out: no slot of theirs may
 *	be in use
 * @nr_sectors: length of the tier device, whole blocks, not below what it was
 *
 * Slots keep their numbers: a device that has grown gets more at the end, one that was taken out leaves a hole.
 * Return: NULL, or a message.
 */
const char *tier_geometry_change(struct tier_geometry *g, const struct tier_geometry *old, u32 nr_tiers,
				 const struct tier_change *tiers, u64 nr_sectors);

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

/* the extent that slot @slot, below nr_slots, is in */
static inline const struct tier_extent *tier_slot_extent(const struct tier_geometry *g, tier_slot_t slot)
{
	const struct tier_extent *e = g->extents;
	u32 nr = g->nr_extents, half;

	while (nr > 1) {
		half = nr / 2;
		if (tier_from_slot(slot) >= e[half].first_slot) {
			e += half;
			nr -= half;
		} else {
			nr = half;
		}
	}
	return e;
}

/* index of the device that a slot is on, TIER_EXTENT_HOLE if on none */
static inline u32 tier_slot_dev(const struct tier_geometry *g, tier_slot_t slot)
{
	return tier_slot_extent(g, slot)->dev;
}

/* first sector of a slot, on its device */
static inline u64 tier_slot_dev_sector(const struct tier_geometry *g, tier_slot_t slot)
{
	const struct tier_extent *e = tier_slot_extent(g, slot);

	return e->data_start + ((tier_from_slot(slot) - e->first_slot) << g->block_shift);
}

/* number of a slot on its device, from 0; the slot is not in a hole */
static inline u32 tier_slot_local(const struct tier_geometry *g, tier_slot_t slot)
{
	const struct tier_extent *e = tier_slot_extent(g, slot);

	return (u32)((e->data_start - g->devs[e->dev].data_start) >> g->block_shift) +
	       (u32)(tier_from_slot(slot) - e->first_slot);
}

/* slot number @local, from 0, of a device; TIER_NO_SLOT if it has not that many */
static inline tier_slot_t tier_local_slot(const struct tier_geometry *g, u32 dev, u32 local)
{
	u32 i;

	for (i = 0; i < g->nr_extents; i++) {
		const struct tier_extent *e = &g->extents[i];

		if (e->dev != dev)
			continue;
		if (local < e->nr_slots)
			return tier_to_slot((u32)(e->first_slot + local));
		local -= e->nr_slots;
	}
	return TIER_NO_SLOT;
}

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
