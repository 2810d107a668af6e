// SPDX-License-Identifier: GPL-2.0
/* Holds: every pair of modes, poison, order of waiters, and random runs against the rules. */
#include "lock.h"
#include "tap.h"

#define R TIER_HOLD_READ
#define W TIER_HOLD_WRITE
#define O TIER_HOLD_ONLY
#define C TIER_HOLD_COPY
#define X TIER_HOLD_EXCL

static const char names[] = "RWOCX";

/* may a hold of the second mode be taken beside one of the first? */
static const bool beside[5][5] = {
	/*	 R  W  O  C  X */
	[R] = { 1, 1, 1, 1, 0 },
	[W] = { 1, 1, 0, 1, 0 },
	[O] = { 1, 0, 0, 0, 0 },
	[C] = { 1, 1, 0, 0, 0 },
	[X] = { 0, 0, 0, 0, 0 },
};

static struct tier_stripe s;
static struct tier_hold *granted[64];
static int nr_granted;

static void grant(struct tier_hold *h)
{
	granted[nr_granted++] = h;
}

static void release(struct tier_hold *h)
{
	nr_granted = 0;
	__tier_hold_release(&s, h);
}

static bool take(struct tier_hold *h, u64 block, u64 mask, int mode)
{
	tier_hold_init(h, tier_to_block(block), mask, mode);
	return __tier_hold_try(&s, h);
}

static void test_pairs(void)
{
	struct tier_hold a, b;
	int i, j;

	for (i = 0; i < 5; i++)
		for (j = 0; j < 5; j++) {
			bool got;

			take(&a, 7, 0xf0, i);
			got = take(&b, 7, 0x80, j);
			is(got, beside[i][j], "%c beside %c", names[j], names[i]);
			if (got)
				release(&b);
			ok(take(&b, 7, 0x0f, j), "%c beside %c on other granules", names[j], names[i]);
			release(&b);
			ok(take(&b, 8, 0xf0, j), "%c beside %c on another block", names[j], names[i]);
			release(&b);
			release(&a);
		}
}

static void test_poison(void)
{
	struct tier_hold c, w, w2;

	take(&w, 1, 0x3, W);
	take(&c, 1, 0xf, C);
	is(c.poison & c.mask, 0x3, "a copy leaves out what a write has in flight");
	take(&w2, 1, 0x8, W);
	is(c.poison & c.mask, 0xb, "a write poisons the copy that it meets");
	release(&w);
	release(&w2);
	is(c.poison & c.mask, 0xb, "and the poison stays");
	release(&c);

	take(&c, 1, 0xf, C);
	take(&w, 1, 0x1, R);
	is(c.poison, 0, "a read does not");
	release(&w);
	release(&c);

	/* a write that waited for something else poisons when it is granted */
	take(&w2, 1, 0x1, O);
	tier_hold_init(&w, tier_to_block(1), 0x3, W);
	ok(!__tier_hold_try(&s, &w), "a write waits for ONLY");
	__tier_hold_wait(&s, &w, grant);
	ok(take(&c, 1, 0x2, C), "a copy may begin beside a waiting write");
	release(&w2);
	is(nr_granted, 1, "the write is granted");
	is(c.poison, 0x3, "and poisons the copy");
	release(&w);
	release(&c);
}

static void test_order(void)
{
	struct tier_hold x, r1, r2, o1, w1, r3;

	take(&x, 2, 0xff, X);
	tier_hold_init(&r1, tier_to_block(2), 0x1, R);
	tier_hold_init(&o1, tier_to_block(2), 0x1, O);
	tier_hold_init(&w1, tier_to_block(2), 0x1, W);
	tier_hold_init(&r2, tier_to_block(2), 0x2, R);
	__tier_hold_wait(&s, &r1, grant);
	__tier_hold_wait(&s, &o1, grant);
	__tier_hold_wait(&s, &w1, grant);
	__tier_hold_wait(&s, &r2, grant);
	ok(!take(&r3, 2, 0x4, R), "nothing passes EXCL");
	ok(!take(&r3, 2, 0x1, W), "a write does not pass a waiting ONLY");
	release(&x);
	is(nr_granted, 3, "EXCL ends: both reads and ONLY go, the write behind it waits");
	ok(granted[0] == &r1 && granted[1] == &o1 && granted[2] == &r2, "in order of arrival");
	is(w1.state, TIER_HOLD_WAITING, "the write waits");
	ok(__tier_block_busy(&s, tier_to_block(2)), "the block is busy");
	ok(!__tier_block_busy(&s, tier_to_block(3)), "another is not");
	release(&o1);
	ok(nr_granted == 1 && granted[0] == &w1, "ONLY ends: the write goes");
	release(&r1);
	release(&r2);
	ok(__tier_block_busy(&s, tier_to_block(2)), "still busy");
	release(&w1);
	ok(!__tier_block_busy(&s, tier_to_block(2)), "all gone");
}

/* random holds: those granted never stand against each other, and everyone is granted in the end */
static void test_random(void)
{
	static struct tier_hold h[32];
	u32 rng = 12345, step, i, j;
	bool good = true;

	for (step = 0; step < 100000; step++) {
		rng = rng * 1664525 + 1013904223;
		i = rng >> 27;
		if (h[i].state == TIER_HOLD_NONE) {
			u64 mask = 1ULL << (rng >> 20 & 3);

			tier_hold_init(&h[i], tier_to_block(rng >> 12 & 1), mask | mask << 1, (rng >> 8 & 0xff) % 5);
			if (!__tier_hold_try(&s, &h[i]))
				__tier_hold_wait(&s, &h[i], grant);
		} else if (h[i].state == TIER_HOLD_GRANTED) {
			release(&h[i]);
		}
		for (i = 0; i < 32; i++)
			for (j = 0; j < 32; j++)
				if (i != j && h[i].state == TIER_HOLD_GRANTED && h[j].state == TIER_HOLD_GRANTED &&
				    h[i].block == h[j].block && (h[i].mask & h[j].mask))
					good &= beside[h[i].mode][h[j].mode];
	}
	ok(good, "random: no two holds that stand against each other were granted");
	for (j = 0; j < 32; j++)
		for (i = 0; i < 32; i++)
			if (h[i].state == TIER_HOLD_GRANTED)
				release(&h[i]);
	for (i = 0; i < 32; i++)
		good &= h[i].state == TIER_HOLD_NONE;
	ok(good && list_empty(&s.holds) && list_empty(&s.waiters), "random: all were granted in the end");
}

int main(void)
{
	tier_stripe_init(&s);
	spin_lock(&s.lock);
	test_pairs();
	test_poison();
	test_order();
	test_random();
	spin_unlock(&s.lock);
	return tap_done();
}
