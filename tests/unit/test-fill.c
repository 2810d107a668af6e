// SPDX-License-Identifier: GPL-2.0
/* The adaptive fill extent. */
#include <pthread.h>
#include <linux/slab.h>
#include "fill.h"
#include "tap.h"
#include "tier-types.h"

static u64 random_next(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	return z ^ z >> 27;
}

/*
 * @nr misses at random places of @sectors; @percent of the neighbours are used, then all are
 * evicted. Blocks are of one 4 KiB granule.  Gives the mean extent of the last tenth.
 */
static u32 play(struct tier_fill *f, u64 *seed, u64 sectors, u32 nr, u32 percent)
{
	bool followed[TIER_FILL_MAX_SECTORS / 8];
	u64 sum = 0, miss, first, b;
	u32 i, n, ext, tail = 0;

	for (i = 0; i < nr; i++) {
		miss = random_next(seed) % (sectors / 8);
		ext = tier_fill_extent(f, miss * 8);
		if (i >= nr - nr / 10) {
			sum += ext;
			tail++;
		}
		if (!ext)
			continue;
		n = ext / 8;
		first = miss & ~(u64)(n - 1);
		for (b = 0; b < n; b++)
			followed[b] = first + b != miss && tier_fill_done(f, first + b, 1);
		for (b = 0; b < n; b++)
			if (followed[b] && random_next(seed) % 100 < percent)
				followed[b] = tier_fill_hit(f, first + b, 1);
		for (b = 0; b < n; b++)
			if (followed[b])
				tier_fill_evicted(f, first + b);
	}
	return sum / tail;
}

static void test_adapts(void)
{
	struct tier_fill *f = tier_fill_create(1 << 21, 8, 8);
	struct tier_fill_stats s;
	u64 seed = 1;
	u32 ext;

	is(tier_fill_extent(f, 12345 * 8), 128, "it begins with 64 KiB");
	ext = play(f, &seed, 1 << 21, 40000, 40);
	is(ext, 1024, "neighbours are used: 512 KiB");
	ext = play(f, &seed, 1 << 21, 150000, 1);
	ok(ext < 24, "they are not: little but probes (mean %u sectors)", ext);
	ext = play(f, &seed, 1 << 21, 150000, 40);
	ok(ext > 900, "used again: it recovers (mean %u)", ext);
	tier_fill_stats(f, &s);
	is(s.followed, 0, "nothing is followed that has gone");
	ok(s.earned && s.lost && s.sampled && s.extents && s.populates && s.mean_sectors > 500,
	   "statistics");
	tier_fill_destroy(f);
}

static void test_regions(void)
{
	struct tier_fill *f = tier_fill_create(1 << 22, 8, 8);
	u64 seed = 2;
	u32 i, low = 0, high = 0;
	u64 sector;

	/* The lower half is worth it, the upper isn't: play() only makes places from 0 up. */
	for (i = 0; i < 300000; i++) {
		u64 miss = random_next(&seed) % ((1 << 22) / 8), first, b;
		bool worth = miss < (1 << 21) / 8;
		u32 n = tier_fill_extent(f, miss * 8) / 8;

		if (i > 250000) {
			if (worth)
				low += n;
			else
				high += n;
		}
		if (!n)
			continue;
		first = miss & ~(u64)(n - 1);
		for (b = first; b < first + n; b++) {
			if (b == miss || !tier_fill_done(f, b, 1))
				continue;
			if (worth && b % 2)
				tier_fill_hit(f, b, 1);
			else
				tier_fill_evicted(f, b);
		}
	}
	sector = low / (high + 1);
	ok(sector > 4, "regions differ: %u granules against %u", low, high);
	tier_fill_destroy(f);
}

static void test_geometries(void)
{
	static const u32 blocks[] = { 8, 16, 128, 512, 1024, 2048 };
	u64 before = shim_allocated, seed = 3;
	u32 i, j, g, ext, bad = 0;
	struct tier_fill *f;

	for (i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		g = tier_granule_sectors(blocks[i]);
		f = tier_fill_create(1ULL << (20 + 7 * i), blocks[i], g);
		if (shim_allocated - before > 65536)
			bad++;
		for (j = 0; j < 20000; j++) {
			u64 sector = random_next(&seed) % (1ULL << (20 + 7 * i));

			ext = tier_fill_extent(f, sector);
			if (ext && (ext > TIER_FILL_MAX_SECTORS || ext <= g || (ext & (ext - 1))))
				bad++;
			if (tier_fill_done(f, sector / blocks[i], random_next(&seed)) && j % 2)
				tier_fill_hit(f, sector / blocks[i], ~0ULL);
			tier_fill_evicted(f, random_next(&seed) % (1 << 20));
			tier_fill_hit(f, random_next(&seed) % (1 << 20), random_next(&seed));
		}
		tier_fill_destroy(f);
	}
	is(bad, 0,
	   "extents are powers of two above a granule, memory below 64 KiB, at all block sizes");
	shim_alloc_fail = 1;
	ok(!tier_fill_create(1 << 20, 128, 8), "no memory");
	tier_fill_destroy(NULL);
	is(shim_allocated, before, "all is freed");

	f = tier_fill_create(1 << 20, 128, 8);
	tier_fill_extent(f, 0);
	ok(!tier_fill_done(f, 0, 0), "an empty fill is not followed");
	ok(tier_fill_done(f, 0, 0xfffe), "a fill is");
	ok(tier_fill_hit(f, 0, 0x00ff), "till all is used");
	ok(!tier_fill_hit(f, 0, 0xff00), "then no longer");
	ok(!tier_fill_hit(f, 1, 0xff00), "what never was is not");
	ok(tier_fill_done(f, 5, 1), "one that is lost");
	tier_fill_evicted(f, 5);
	ok(!tier_fill_hit(f, 5, 1), "is not followed");
	tier_fill_destroy(f);
}

static void *stress(void *arg)
{
	u64 seed = (u64)&seed, s;
	u32 i;

	for (i = 0; i < 100000; i++) {
		s = random_next(&seed) % (1 << 20);
		switch (s % 4) {
		case 0:
			tier_fill_extent(arg, s);
			break;
		case 1:
			tier_fill_done(arg, s / 128, s);
			break;
		case 2:
			tier_fill_hit(arg, s / 128, s >> 3);
			break;
		default:
			tier_fill_evicted(arg, s / 128);
		}
	}
	return NULL;
}

int main(void)
{
	struct tier_fill *f = tier_fill_create(1 << 20, 128, 8);
	struct tier_fill_stats s;
	pthread_t t[4];
	u32 i;

	test_adapts();
	test_regions();
	test_geometries();
	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, stress, f);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < (1 << 20) / 128; i++)
		tier_fill_evicted(f, i);
	tier_fill_stats(f, &s);
	is(s.followed, 0, "four threads: the count of followed groups is right");
	tier_fill_destroy(f);
	return tap_done();
}
