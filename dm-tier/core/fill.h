/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much of the neighbourhood to read along with a miss.
 *
 * While the arm of a slow disk is there, the neighbourhood of what was asked for is nearly free to
 * read. Whether it is worth keeping depends on the data: on most disks it is, among hot pages
 * scattered at random it is not.  So the extent adapts by region of the device to what earlier
 * fills earned: which share of the granules that nobody had asked for was asked for later, before
 * it was evicted.
 *
 * Shared by the kernel module, the tools and the unit tests.
 */
#ifndef TIER_FILL_H
#define TIER_FILL_H

#include <linux/types.h>

struct tier_fill;

#define TIER_FILL_MAX_SECTORS	1024U	/* largest extent: 512 KiB */

/**
 * struct tier_fill_stats - what fills earned, over the whole device
 * @extents: extents suggested that were more than the request
 * @populates: misses for which nothing more was suggested
 * @sampled: fills that were followed
 * @earned: granules of these that were asked for later
 * @lost: granules of these that were evicted or given up without
 * @followed: fills being followed now
 * @mean_sectors: mean extent suggested in the last some 250 misses
 */
struct tier_fill_stats {
	u64 extents;
	u64 populates;
	u64 sampled;
	u64 earned;
	u64 lost;
	u32 followed;
	u32 mean_sectors;
};

/**
 * tier_fill_create() - start to learn
 * @nr_sectors: size of the tier device
 * @block_sectors: block size
 * @granule_sectors: granule size
 *
 * Context: may sleep.  All other functions may be called at once from any context that can take a
 * spinlock (not from interrupts).
 * Return: NULL if there is no memory.
 */
struct tier_fill *tier_fill_create(u64 nr_sectors, u32 block_sectors, u32 granule_sectors);

/**
 * tier_fill_destroy() - free it
 * @f: may be NULL
 */
void tier_fill_destroy(struct tier_fill *f);

/**
 * tier_fill_extent() - how much to read for a read miss
 * @f: the fill state
 * @sector: first sector that is missing
 *
 * Return: a power of two, in sectors: keep the extent of that size and alignment around @sector.
 *	0: keep no more than what is read anyway.
 */
u32 tier_fill_extent(struct tier_fill *f, u64 sector);

/**
 * tier_fill_done() - granules were kept that were not asked for
 * @f: the fill state
 * @block: the block they are in
 * @spec_mask: the granules
 *
 * Return: true if this fill is followed: then tier_fill_hit() and tier_fill_evicted() are to be
 * called.
 */
bool tier_fill_done(struct tier_fill *f, u64 block, u64 spec_mask);

/**
 * tier_fill_hit() - a block with a followed fill is read or written
 * @f: the fill state
 * @block: the block
 * @mask: granules touched
 *
 * Return: false if the fill is not followed any longer.
 */
bool tier_fill_hit(struct tier_fill *f, u64 block, u64 mask);

/**
 * tier_fill_evicted() - a block with a followed fill is no longer resident
 * @f: the fill state
 * @block: the block
 */
void tier_fill_evicted(struct tier_fill *f, u64 block);

/**
 * tier_fill_stats() - for the status line
 * @f: the fill state
 * @stats: filled in
 */
void tier_fill_stats(struct tier_fill *f, struct tier_fill_stats *stats);

#endif /* TIER_FILL_H */
