// SPDX-License-Identifier: GPL-2.0
#include <errno.h>

#include "block-size.h"
#include "core/geometry.h"
#include "memory.h"
#include "table-line.h"
#include "text.h"
#include "units.h"

#define USUAL_SECTORS	128U	/* 64 KiB */
#define ENOUGH_SLOTS	1000U
#define MUCH_MEMORY	(512ULL << 20)

static bool needs_much_memory(u32 block_sectors, u64 fast_sectors, u64 slow_sectors)
{
	struct tier_geometry g;
	bool exact;

	if (tier_geometry_cache(&g, block_sectors, fast_sectors, slow_sectors))
		return true;
	return memory_core(&g) + memory_policy(TABLE_DEFAULT_POLICY, &g, &exact) > MUCH_MEMORY;
}

u32 block_size_choose(u64 fast_sectors, u64 slow_sectors)
{
	u64 room = fast_sectors > TIER_DATA_START ? fast_sectors - TIER_DATA_START : 0;
	u32 b = USUAL_SECTORS;

	while (b > TIER_MIN_BLOCK_SECTORS && room / b < ENOUGH_SLOTS)
		b /= 2;
	if (b < USUAL_SECTORS)
		return b;
	while (b < TIER_MAX_BLOCK_SECTORS && needs_much_memory(b, fast_sectors, slow_sectors))
		b *= 2;
	return b;
}

u32 block_size_choose_tiered(u32 nr_devs, const u64 *dev_sectors)
{
	struct tier_geometry g;
	u32 b = TIER_MIN_TIERED_BLOCK_SECTORS;
	bool exact;

	while (b < TIER_MAX_BLOCK_SECTORS &&
	       (tier_geometry_tiered(&g, b, nr_devs, dev_sectors, 0) ||
		memory_core(&g) + memory_policy(TABLE_TIERED_POLICY, &g, &exact) > MUCH_MEMORY))
		b *= 2;
	return tier_geometry_tiered(&g, b, nr_devs, dev_sectors, 0) ? TIER_MIN_TIERED_BLOCK_SECTORS : b;
}

int block_size_parse(const char *text, u32 *sectors)
{
	u64 n;

	if (units_parse_sectors(text, 1, &n) || n < TIER_MIN_BLOCK_SECTORS ||
	    n > TIER_MAX_BLOCK_SECTORS || n & (n - 1)) {
		text_error("block size '%s' is not a power of two from 4k to 1m", text);
		return -EINVAL;
	}
	*sectors = (u32)n;
	return 0;
}

int block_size_check_tiered(u32 sectors)
{
	char size[TEXT_SIZE_LEN];

	if (!sectors || sectors >= TIER_MIN_TIERED_BLOCK_SECTORS)
		return 0;
	text_error("block size %s is too small for a tiered device: a power of two from 64k to 1m",
		   text_size((u64)sectors * 512, size));
	return -EINVAL;
}
