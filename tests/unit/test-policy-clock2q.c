// SPDX-License-Identifier: GPL-2.0
/* clock2q: its two queues, its window and its ghosts. */
#include "policy-harness.h"

#define NR	1000

/* Evicts one, puts @block in its place; the slot. */
static u32 replace(struct harness *h, u64 block)
{
	long s = harness_evict(h);

	if (s < 0) {
		ok(false, "a victim");
		return 0;
	}
	harness_insert(h, block, s);
	return s;
}

static void shuffle(u32 *a, u32 n, u64 *seed)
{
	u32 i, j, t;

	for (i = n; i > 1; i--) {
		j = test_random(seed) % i;
		t = a[i - 1];
		a[i - 1] = a[j];
		a[j] = t;
	}
}

/*
 * All slots' blocks go, in an order of chance, and others come, in another: those are given up in the order in which
 * they came, nearly.
 */
static void test_order_after_removal(u64 seed)
{
	u32 order[NR], came[NR], i, far = 0;
	struct harness h;
	long s;

	harness_init(&h, "clock2q", NR);
	for (i = 0; i < NR; i++) {
		harness_insert(&h, i, i);
		order[i] = i;
	}
	shuffle(order, NR, &seed);
	for (i = 0; i < NR; i++)
		harness_remove(&h, order[i], TIER_REMOVED_INVALID);
	if (seed & 1)
		ok(harness_evict(&h) < 0, "nothing is left to give up");
	shuffle(order, NR, &seed);
	for (i = 0; i < NR; i++) {
		harness_insert(&h, 10000 + i, order[i]);
		came[order[i]] = i;
	}
	for (i = 0; i < NR; i++) {
		s = harness_evict(&h);
		if (s < 0)
			break;
		far += abs((int)came[s] - (int)i) > NR / 20;
	}
	is(i, NR, "each is given up, once");
	ok(far <= NR / 20, "in the order in which they came (%u of %u were not)", far, NR);
	is(h.bad, 0, "and none that was not there");
	harness_exit(&h);
}

/* The same if only some go, again and again, and are used meanwhile: the hot ones stay. */
static void test_hot_among_removals(u64 seed)
{
	u32 i, round, lost = 0;
	struct harness h;

	harness_init(&h, "clock2q", NR);
	for (i = 0; i < NR; i++)
		harness_insert(&h, i, i);
	for (round = 0; round < 200; round++) {
		/* slots 0 to 99 are hot, of the others some are discarded and written again */
		for (i = 0; i < 100; i++)
			if (h.resident[i] && h.block[i] == i)
				harness_hit(&h, i);
		for (i = 0; i < 50; i++) {
			u32 s = 100 + test_random(&seed) % (NR - 100);

			harness_remove(&h, s, TIER_REMOVED_INVALID);
			harness_insert(&h, 10000 + 1000 * round + i, s);
		}
		for (i = 0; i < 20; i++)
			replace(&h, 1000000 + 1000 * round + i);
		h.p->type->tick(h.p, round);
	}
	for (i = 0; i < 100; i++)
		lost += !h.resident[i] || h.block[i] != i;
	ok(lost <= 2, "hot blocks stay when others are discarded (%u of 100 are gone)", lost);
	is(h.bad, 0, "none was proposed that is not there");
	harness_exit(&h);
}

/* Blocks of the window that could not be given up, as all were dirty, are out of it: their uses count like others'. */
static void test_used_after_skip(void)
{
	struct harness h;
	u32 i, s, lost = 0;

	harness_init(&h, "clock2q", NR);
	harness_fill(&h);
	memset(h.skip, true, NR * sizeof(*h.skip));
	ok(harness_evict(&h) < 0, "all are skipped");
	memset(h.skip, false, NR * sizeof(*h.skip));
	for (s = 0; s < NR; s++)
		harness_hit(&h, s);
	for (i = 0; i < 100 && harness_evict(&h) >= 0; i++)
		;
	is(i, 100, "a tenth of them are given up");
	/* the newest, which were in the window */
	for (s = NR - 50; s < NR; s++)
		lost += !h.resident[s];
	is(lost, 0, "all were used, so the oldest go first");
	harness_exit(&h);
}

int main(void)
{
	struct harness h;
	u32 i, s, hot_left;

	/* A scan of many times the cache leaves what is in use alone. */
	harness_init(&h, "clock2q", NR);
	for (i = 0; i < NR; i++)
		harness_insert(&h, i, i);
	for (i = 0; i < 500; i++)
		harness_hit(&h, i);
	for (i = 0; i < 20 * NR; i++) {
		replace(&h, 100000 + i);
		if (i % 1000 == 0)
			for (s = 0; s < NR; s++)
				if (h.block[s] < 500)
					harness_hit(&h, s);
	}
	for (s = 0, hot_left = 0; s < NR; s++)
		hot_left += h.block[s] < 500;
	is(hot_left, 500, "blocks in use survive a scan");

	/* Two uses in a row don't make a block hot. */
	for (i = 0; i < 5 * NR; i++)
		harness_hit(&h, replace(&h, 200000 + i));
	for (s = 0, hot_left = 0; s < NR; s++)
		hot_left += h.block[s] < 500;
	ok(hot_left >= 400, "a scan that reads everything twice doesn't flush them (%u left)",
	   hot_left);
	harness_exit(&h);

	harness_init(&h, "clock2q window_percent 0", NR);
	for (i = 0; i < NR; i++)
		harness_insert(&h, i, i);
	for (i = 0; i < 10 * NR; i++)
		harness_hit(&h, replace(&h, 200000 + i));
	for (s = 0, hot_left = 0; s < NR; s++)
		hot_left += h.block[s] < 500;
	ok(hot_left < 100, "it does without the window (%u left)", hot_left);
	harness_exit(&h);

	/* A block that comes back soon after it left goes to the main queue. */
	harness_init(&h, "clock2q", NR);
	for (i = 0; i < 4 * NR; i++) {
		s = i < NR ? i : (u32)harness_evict(&h);
		harness_insert(&h, i, s);
	}
	for (i = 0; i < 50; i++) {
		bool there = false;

		for (s = 0; s < NR; s++)
			there |= h.block[s] == 3 * NR - 100 - i;
		if (there)
			ok(false, "block has gone");
		replace(&h, 3 * NR - 100 - i);
	}
	/* 50 returned, then a scan longer than the cache */
	for (i = 0; i < 1200; i++)
		replace(&h, 500000 + i);
	for (s = 0, hot_left = 0; s < NR; s++)
		hot_left += h.block[s] <= 3 * NR - 100 && h.block[s] > 3 * NR - 150;
	ok(hot_left >= 48, "ghosts that return stay (%u of 50)", hot_left);
	harness_exit(&h);

	harness_init(&h, "clock2q ghost_percent 0", NR);
	for (i = 0; i < 4 * NR; i++) {
		s = i < NR ? i : (u32)harness_evict(&h);
		harness_insert(&h, i, s);
	}
	for (i = 0; i < 50; i++)
		replace(&h, 3 * NR - 100 - i);
	for (i = 0; i < 1200; i++)
		replace(&h, 500000 + i);
	for (s = 0, hot_left = 0; s < NR; s++)
		hot_left += h.block[s] <= 3 * NR - 100 && h.block[s] > 3 * NR - 150;
	is(hot_left, 0, "not without ghosts");
	harness_exit(&h);
	for (i = 1; i <= 5; i++)
		test_order_after_removal(i);
	test_hot_among_removals(1);
	test_used_after_skip();
	return tap_done();
}
