/* SPDX-License-Identifier: GPL-2.0 */
/* The block size of a new tier device. */
#ifndef TIER_TOOLS_BLOCK_SIZE_H
#define TIER_TOOLS_BLOCK_SIZE_H

#include <linux/types.h>

/**
 * block_size_choose() - a block size that suits the devices
 * @fast_sectors: size of the fast device
 * @slow_sectors: size of the slow device
 *
 * 64 KiB; less if the fast device would have fewer than 1000 slots, more if the kernel would need
 * more than 512 MiB. Return: in sectors, a legal size.
 */
u32 block_size_choose(u64 fast_sectors, u64 slow_sectors);

/**
 * block_size_choose_tiered() - a block size for a new tiered device
 * @nr_devs: tiers
 * @dev_sectors: their sizes
 *
 * 64 KiB, more if the kernel would need more than 512 MiB. Return: in sectors, a legal size.
 */
u32 block_size_choose_tiered(u32 nr_devs, const u64 *dev_sectors);

/**
 * block_size_parse() - read a block size
 * @text: as units_parse()
 * @sectors: result
 *
 * Return: 0, or -EINVAL after a message.
 */
int block_size_parse(const char *text, u32 *sectors);

/**
 * block_size_check_tiered() - can a tiered device have it?
 * @sectors: legal for a cache, or 0
 *
 * Return: 0, or -EINVAL after a message.
 */
int block_size_check_tiered(u32 sectors);

#endif /* TIER_TOOLS_BLOCK_SIZE_H */
