/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Units of the mapping, as types that cannot be mixed up.
 *
 * A block is a logical unit of the tier device (power of two, 4 KiB to 1 MiB).  A slot is room for
 * one block on a device.  A granule is the unit of valid/dirty tracking inside a block,
 * max(4 KiB, block / 64); granule n of a block is bit n of a u64.
 *
 * Shared by the kernel modules, the tools and the unit tests.
 */
#ifndef TIER_TYPES_H
#define TIER_TYPES_H

#include <linux/types.h>
#include <linux/bits.h>

typedef u64 __bitwise tier_block_t;	/* logical block of the tier device */
typedef u32 __bitwise tier_slot_t;	/* place for a block, over all devices that have slots */

#define TIER_NO_SLOT	((__force tier_slot_t)U32_MAX)
#define TIER_NO_BLOCK	((__force tier_block_t)U64_MAX)

static inline tier_block_t tier_to_block(u64 b)
{
	return (__force tier_block_t)b;
}

static inline u64 tier_from_block(tier_block_t b)
{
	return (__force u64)b;
}

static inline tier_slot_t tier_to_slot(u32 s)
{
	return (__force tier_slot_t)s;
}

static inline u32 tier_from_slot(tier_slot_t s)
{
	return (__force u32)s;
}

#define TIER_SECTOR_SHIFT	9
#define TIER_MIN_BLOCK_SECTORS	8U	/* 4 KiB */
#define TIER_MAX_BLOCK_SECTORS	2048U	/* 1 MiB */
#define TIER_MIN_TIERED_BLOCK_SECTORS 128U /* 64 KiB */
#define TIER_MIN_GRANULE_SECTORS 8U	/* 4 KiB */
#define TIER_MAX_GRANULES	64U	/* per block */
#define TIER_MAX_DEVS		16U
#define TIER_MAX_SLOTS		0xfffffff0U
#define TIER_MAX_BLOCKS		BIT_ULL(46)

/**
 * tier_granule_sectors() - granule size that belongs to a block size
 * @block_sectors: block size in 512-byte sectors, a legal one
 */
static inline u32 tier_granule_sectors(u32 block_sectors)
{
	u32 g = block_sectors / TIER_MAX_GRANULES;

	return g < TIER_MIN_GRANULE_SECTORS ? TIER_MIN_GRANULE_SECTORS : g;
}

/**
 * tier_granule_mask() - granules @first to @last of a block as a bit mask
 * @first: first granule, 0 to 63
 * @last: last granule, @first to 63
 */
static inline u64 tier_granule_mask(u32 first, u32 last)
{
	return (~0ULL << first) & (~0ULL >> (63 - last));
}

/**
 * struct tier_record - what the metadata knows of one slot
 * @block: block the slot belongs to (meaningless unless TIER_REC_MAPPED)
 * @valid: granules whose data are in the slot
 * @dirty: granules whose data are newer than the slow device's, a subset of @valid; in tiered mode, where
 *	nothing else has them, all of @valid
 * @flags: TIER_REC_*
 */
struct tier_record {
	tier_block_t block;
	u64 valid;
	u64 dirty;
	u16 flags;
};

#define TIER_REC_MAPPED		BIT(0)	/* the slot belongs to a block */
#define TIER_REC_PINNED		BIT(1)	/* never chosen for demotion */
#define TIER_REC_FLAGS		(TIER_REC_MAPPED | TIER_REC_PINNED)

enum tier_mode {
	TIER_MODE_WRITEBACK,
	TIER_MODE_WRITETHROUGH,
	TIER_MODE_WRITEAROUND,
	TIER_MODE_PASSTHROUGH,
	TIER_MODE_TIERED,
	TIER_NR_MODES,
};

#endif /* TIER_TYPES_H */
