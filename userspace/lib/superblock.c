// SPDX-License-Identifier: GPL-2.0
/* Writing a superblock: see superblock.h */
#include <stdlib.h>
#include <string.h>

#include "superblock.h"
#include "text.h"

static const u64 locations[] = { TIER_SB_BLOCK_0, TIER_SB_BLOCK_1 };

/* is this copy as good as the one in force? */
static bool in_force(const struct bdev *meta, unsigned int copy, const struct tier_sb *sb, void *buf)
{
	struct tier_sb here;
	const char *bad;

	return !bdev_read(meta, buf, TIER_META_BLOCK_SIZE, locations[copy] * TIER_META_BLOCK_SIZE) &&
	       tier_unpack_sb(buf, locations[copy], &here, &bad) == TIER_OK && here.seq == sb->seq;
}

int superblock_clear_needs_check(const struct bdev *meta, const struct tier_sb *sb, char *why)
{
	void *buf = bdev_alloc(TIER_META_BLOCK_SIZE);
	unsigned int i, first = in_force(meta, 0, sb, buf);
	struct tier_sb next = *sb;
	int r = 0;

	next.flags &= ~TIER_SB_NEEDS_CHECK;
	next.seq++;
	for (i = 0; !r && i < 2; i++) {
		u64 location = locations[i ? !first : first];

		tier_pack_sb(&next, location, buf);
		r = bdev_write(meta, buf, TIER_META_BLOCK_SIZE, location * TIER_META_BLOCK_SIZE);
		if (!r)
			r = bdev_sync(meta);
	}
	free(buf);
	if (r)
		return text_why(why, r, "%.300s: the superblock can't be written: %s", meta->path,
				strerror(-r));
	return 0;
}
