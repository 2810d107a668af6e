// SPDX-License-Identifier: GPL-2.0
/*
 * How much of the neighbourhood to read along with a miss.
 *
 * Extents are aligned powers of two, so the neighbours of a granule form rings: ring 1 is the other
 * half of the aligned pair, ring 2 the other half of the aligned four, and so on; an extent of
 * level n takes in rings 1 to n.  For every ring it is counted, by region of the device and in all,
 *
 *	how many granules of fills that were followed came to an end,
 *	how many of these were used before, and
 *	how many requests used them: that many visits of the slow device were saved.
 *
 * A ring pays if both hold:
 *
 *	The share that is used is worth the fast device's space and wear.  On the disks measured
 *	10 to 90 % of the neighbours are used; of neighbours of hot 4 KiB pages scattered at
 *	random less than 5 % are.  The threshold lies between.
 *
 *	The visits saved are worth the longer transfers.  8 ms to get there and 150 MB/s make a
 *	granule of 4 KiB cost 1/300 of a visit.
 *
 * The extent suggested is the one with the largest sum over its rings.  What a region does not know
 * yet it takes from all regions, and these at first from a guess that makes 64 KiB.  Every 16th
 * miss in a region looks further than it would, so that a region that has given up finds out when
 * it is wrong.
 *
 * This is done for groups of 64 granules, whatever the block size: a block may be one granule of a
 * group or all of it.
 */
#include <linux/bitops.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "fill.h"

#define GROUP_SHIFT	6
#define GROUP_GRANULES	(1U << GROUP_SHIFT)

#define MAX_LEVEL	7U	/* 512 KiB of 4 KiB granules */
#define RING_PLANES	3	/* bits of a ring's number */

#define REGION_BITS	9
#define NR_REGIONS	(1U << REGION_BITS)
#define MIN_REGION_SHIFT 11	/* 1 MiB */

#define SET_BITS	6
#define NR_SETS		(1U << SET_BITS)
#define NR_WAYS		8

#define RECENT_BITS	6
#define NR_RECENT	(1U << RECENT_BITS)
#define AREA_SHIFT	10	/* ilog2(TIER_FILL_MAX_SECTORS) */

/* Shares are in 1/4096. */
#define ONE		4096U
#define USED_MIN	(ONE / 16)	/* share of granules used that pays for their space */
#define HYSTERESIS	(ONE / 80)	/* a ring in use needs so much less, others more */
#define VISIT_GRANULES	300U		/* granules of 4 KiB transferred in the time of a visit */
#define VISIT_WEIGHT	8		/* how a visit saved compares with a granule used */

/* Fills' worth of granules: a fill has 2^(n-1) of ring n, which mostly go the same way. */
#define PRIOR_FILLS	8U	/* weight of what is taken from above */
#define REGION_FILLS	64U	/* counts are halved here */
#define TOTAL_FILLS	256U

#define PROBE_MISSES	16U
#define GIVE_UP_MISSES	16384U	/* a followed group may be given up for a new one after so many */

/* What became of granules of one ring */
struct ring {
	u16 ended;
	u16 used;
	u16 visits;
};

struct region {
	struct ring ring[MAX_LEVEL];	/* ring n is at n - 1 */
	u8 level;
	u8 misses;
};

/* A group whose fills are followed.  spec is 0: free. */
struct group {
	u64 group;
	u64 spec;			/* granules not used yet */
	u64 ring[RING_PLANES];		/* bit planes of their rings' numbers */
	u32 born;			/* miss counter */
};

/* Where the miss was that a fill belongs to */
struct recent {
	u64 area;		/* number + 1 */
	u64 granule;
	bool probe;		/* looked further than its region would */
};

struct tier_fill {
	u32 block_granules;	/* at most GROUP_GRANULES, a power of two */
	u32 granule_sectors;
	u32 max_level;
	u32 region_shift;	/* of a sector */
	u32 visit_cost;		/* a granule's transfer, in 1/4096 of a visit */

	/* guards all below */
	spinlock_t lock;
	u32 misses;		/* wraps */
	u32 followed;
	u32 mean;		/* of suggested extents, in 1/256 sectors */
	u64 last_used;		/* granule after the last one used: the same request goes on */
	struct tier_fill_stats stats;
	struct ring total[MAX_LEVEL];
	struct recent recent[NR_RECENT];
	struct region regions[NR_REGIONS];
	struct group groups[NR_SETS][NR_WAYS];
};

/* The guess to begin with, in 1/4096: 64 KiB pay, more does not. */
static const u16 first_used[MAX_LEVEL] = { 1400, 1400, 1200, 1000, 240, 200, 150 };

struct tier_fill *tier_fill_create(u64 nr_sectors, u32 block_sectors, u32 granule_sectors)
{
	struct tier_fill *f = kvzalloc(sizeof(*f), GFP_KERNEL);
	u32 i;

	if (!f)
		return NULL;

	spin_lock_init(&f->lock);
	f->block_granules = block_sectors / granule_sectors;
	f->granule_sectors = granule_sectors;
	f->max_level = min_t(u32, MAX_LEVEL, ilog2(TIER_FILL_MAX_SECTORS / granule_sectors));
	f->visit_cost = ONE * (granule_sectors / 8) / VISIT_GRANULES;
	f->region_shift = MIN_REGION_SHIFT;
	while (nr_sectors >> f->region_shift >= NR_REGIONS)
		f->region_shift++;
	for (i = 0; i < NR_REGIONS; i++)
		f->regions[i].level = min(4U, f->max_level);
	return f;
}

void tier_fill_destroy(struct tier_fill *f)
{
	kvfree(f);
}

/*
 * Counting
 */

static struct region *find_region(struct tier_fill *f, u64 granule)
{
	return &f->regions[(granule * f->granule_sectors >> f->region_shift) % NR_REGIONS];
}

static void count_ring(struct ring *r, u32 ended, u32 used, u32 visits, u32 limit)
{
	r->ended += ended;
	r->used += used;
	r->visits += visits;
	if (r->ended >= limit) {
		r->ended /= 2;
		r->used /= 2;
		r->visits /= 2;
	}
}

static u32 granule_ring(const struct group *g, u32 bit)
{
	u32 i, ring = 0;

	for (i = 0; i < RING_PLANES; i++)
		ring |= (g->ring[i] >> bit & 1) << i;
	return ring;
}

/* The granules in @mask have ended, @used or not. */
static void __end_granules(struct tier_fill *f, struct group *g, u64 mask, bool used)
{
	struct region *region = find_region(f, g->group << GROUP_SHIFT);
	u64 granule;
	u32 bit, ring, visits;

	lockdep_assert_held(&f->lock);

	mask &= g->spec;
	g->spec &= ~mask;
	while (mask) {
		bit = __ffs64(mask);
		mask &= mask - 1;
		ring = granule_ring(g, bit);
		granule = (g->group << GROUP_SHIFT) + bit;
		visits = 0;
		if (used) {
			visits = granule != f->last_used;
			f->last_used = granule + 1;
			f->stats.earned++;
		} else {
			f->stats.lost++;
		}
		if (!ring)
			continue;
		count_ring(&region->ring[ring - 1], 1, used, visits, REGION_FILLS << (ring - 1));
		count_ring(&f->total[ring - 1], 1, used, visits, TOTAL_FILLS << (ring - 1));
	}
	if (!g->spec)
		f->followed--;
}

/*
 * Extents
 */

/* Share of the ring's granules that are used, and of a visit that a granule saves, in 1/4096 */
static void ring_value(struct tier_fill *f, const struct region *region, u32 i, u32 *used,
		       u32 *visits)
{
	const struct ring *r = &region->ring[i], *t = &f->total[i];
	u32 weight = PRIOR_FILLS << i;

	/* The guess has a used granule in eight save a visit. */
	*used = (t->used * ONE + first_used[i] * weight) / (t->ended + weight);
	*visits = (t->visits * ONE + first_used[i] / 8 * weight) / (t->ended + weight);
	*used = (r->used * ONE + *used * weight) / (r->ended + weight);
	*visits = (r->visits * ONE + *visits * weight) / (r->ended + weight);
}

static u32 __best_level(struct tier_fill *f, struct region *region)
{
	s64 sum = 0, best = 0;
	u32 i, used, visits, level = 0;
	s32 value;

	lockdep_assert_held(&f->lock);

	for (i = 0; i < f->max_level; i++) {
		ring_value(f, region, i, &used, &visits);
		value = (s32)used - (s32)USED_MIN +
			(i < region->level ? (s32)HYSTERESIS : -(s32)HYSTERESIS);
		value = min(value, VISIT_WEIGHT * ((s32)visits - (s32)f->visit_cost));
		sum += (s64)value * (1 << i);
		if (sum > best) {
			best = sum;
			level = i + 1;
		}
	}
	region->level = level;
	return level;
}

u32 tier_fill_extent(struct tier_fill *f, u64 sector)
{
	u64 granule = div_u64(sector, f->granule_sectors);
	u64 area = sector >> AREA_SHIFT;
	struct region *region = find_region(f, granule);
	struct recent *recent = &f->recent[hash_64(area, RECENT_BITS)];
	u32 level, sectors;
	bool probe;

	spin_lock(&f->lock);
	f->misses++;
	level = __best_level(f, region);
	probe = ++region->misses % PROBE_MISSES == 0;
	if (probe)
		level = min(f->max_level, level + 1 + region->misses / PROBE_MISSES % 3);
	recent->area = area + 1;
	recent->granule = granule;
	recent->probe = probe;
	sectors = level ? f->granule_sectors << level : 0;
	if (level)
		f->stats.extents++;
	else
		f->stats.populates++;
	f->mean += sectors - (f->mean >> 8);
	spin_unlock(&f->lock);
	return sectors;
}

/*
 * Fills that are followed
 */

static struct group *__find_group(struct tier_fill *f, u64 group)
{
	struct group *set = f->groups[hash_64(group, SET_BITS)];
	u32 i;

	lockdep_assert_held(&f->lock);

	for (i = 0; i < NR_WAYS; i++)
		if (set[i].spec && set[i].group == group)
			return &set[i];
	return NULL;
}

/*
 * A free place, or the oldest if it is old enough to be given up; NULL: follow no more for now.
 * Half of the places are for probes, from which there is more to learn.
 */
static struct group *__new_group(struct tier_fill *f, u64 group, bool probe)
{
	struct group *set = f->groups[hash_64(group, SET_BITS)], *g = &set[0];
	u32 i, busy = 0;

	lockdep_assert_held(&f->lock);

	for (i = 0; i < NR_WAYS; i++) {
		busy += !!set[i].spec;
		if (!g->spec)
			continue;
		if (!set[i].spec || f->misses - set[i].born > f->misses - g->born)
			g = &set[i];
	}
	if (g->spec && f->misses - g->born >= GIVE_UP_MISSES)
		__end_granules(f, g, g->spec, false);
	else if (g->spec || (busy >= NR_WAYS / 2 && !probe))
		return NULL;
	g->group = group;
	g->born = f->misses;
	return g;
}

/* The miss that led to reading @granule, NULL: not known any longer */
static struct recent *__find_recent(struct tier_fill *f, u64 granule)
{
	u64 area = granule * f->granule_sectors >> AREA_SHIFT;
	struct recent *recent = &f->recent[hash_64(area, RECENT_BITS)];

	lockdep_assert_held(&f->lock);

	return recent->area == area + 1 ? recent : NULL;
}

/* The granules of @block in its group, as a mask */
static u64 block_mask(struct tier_fill *f, u64 block, u64 mask, u64 *group)
{
	u64 granule = block * f->block_granules;

	*group = granule >> GROUP_SHIFT;
	return mask << (granule & (GROUP_GRANULES - 1));
}

static u64 whole_block(struct tier_fill *f)
{
	return f->block_granules < GROUP_GRANULES ? (1ULL << f->block_granules) - 1 : ~0ULL;
}

bool tier_fill_done(struct tier_fill *f, u64 block, u64 spec_mask)
{
	u64 group, mask = block_mask(f, block, spec_mask & whole_block(f), &group);
	struct recent *recent;
	struct group *g;
	u32 bit, i, ring;
	u64 granule;

	if (!mask)
		return false;
	spin_lock(&f->lock);
	recent = __find_recent(f, block * f->block_granules);
	g = __find_group(f, group);
	if (!g)
		g = __new_group(f, group, recent && recent->probe);
	if (!g) {
		spin_unlock(&f->lock);
		return false;
	}

	if (!g->spec)
		f->followed++;
	f->stats.sampled++;
	mask &= ~g->spec;
	g->spec |= mask;
	while (mask) {
		bit = __ffs64(mask);
		mask &= mask - 1;
		granule = (group << GROUP_SHIFT) + bit;
		/* A block may be larger than the area. */
		recent = __find_recent(f, granule);
		/* Where the miss is not known the granule is followed but counts for no ring. */
		ring = recent ? fls64(recent->granule ^ granule) : 0;
		for (i = 0; i < RING_PLANES; i++) {
			g->ring[i] &= ~(1ULL << bit);
			g->ring[i] |= (u64)(ring >> i & 1) << bit;
		}
	}
	spin_unlock(&f->lock);
	return true;
}

bool tier_fill_hit(struct tier_fill *f, u64 block, u64 mask)
{
	u64 group, whole;
	struct group *g;
	bool followed = false;

	whole = block_mask(f, block, whole_block(f), &group);
	mask = block_mask(f, block, mask & whole_block(f), &group);

	spin_lock(&f->lock);
	g = __find_group(f, group);
	if (g) {
		if (g->spec & mask)
			__end_granules(f, g, mask, true);
		followed = g->spec & whole;
	}
	spin_unlock(&f->lock);
	return followed;
}

void tier_fill_evicted(struct tier_fill *f, u64 block)
{
	u64 group, mask = block_mask(f, block, whole_block(f), &group);
	struct group *g;

	spin_lock(&f->lock);
	g = __find_group(f, group);
	if (g && (g->spec & mask))
		__end_granules(f, g, mask, false);
	spin_unlock(&f->lock);
}

void tier_fill_stats(struct tier_fill *f, struct tier_fill_stats *stats)
{
	spin_lock(&f->lock);
	*stats = f->stats;
	stats->followed = f->followed;
	stats->mean_sectors = f->mean >> 8;
	spin_unlock(&f->lock);
}
