/* SPDX-License-Identifier: GPL-2.0 */
/* Writing a superblock that is there already. */
#ifndef TIER_TOOLS_SUPERBLOCK_H
#define TIER_TOOLS_SUPERBLOCK_H

#include "bdev.h"
#include "core/codec.h"

/**
 * superblock_clear_needs_check() - take the mark off that a failed write of the metadata has left
 * @meta: metadata device, open for writing and for nobody else
 * @sb: superblock in force; the rest of the metadata is known to be good
 * @why: TEXT_LEN bytes
 *
 * One copy after the other, the worse one first: there is a good one at any moment.
 * Return: 0 or -errno.
 */
int superblock_clear_needs_check(const struct bdev *meta, const struct tier_sb *sb, char *why);

#endif /* TIER_TOOLS_SUPERBLOCK_H */
