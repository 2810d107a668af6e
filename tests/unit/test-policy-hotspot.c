// SPDX-License-Identifier: GPL-2.0
/* hotspot: admission on evidence. */
#include "policy-harness.h"

#define NR	1000

static bool admits(struct harness *h, u64 block)
{
	h->now += 100;
	return harness_miss(h, block) >= TIER_POPULATE;
}

int main(void)
{
	struct harness h;
	u32 i, n;

	harness_init(&h, "hotspot", NR);
	ok(admits(&h, 1), "all are admitted while there is room");
	harness_fill(&h);
	ok(admits(&h, 2), "still so before a victim was asked for");
	harness_insert(&h, 2, harness_evict(&h));
	for (i = 0, n = 0; i < 500; i++)
		n += admits(&h, 100000 + i);
	is(n, 0, "then not for the first touch");
	for (i = 0, n = 0; i < 500; i++)
		n += admits(&h, 100000 + i);
	is(n, 0, "nor for the second, hardly hotter than the coldest");
	for (i = 0, n = 0; i < 500; i++) {
		admits(&h, 100000 + i);
		n += admits(&h, 100000 + i);
	}
	ok(n > 490, "but for the fourth (%u of 500)", n);
	is(h.p->type->set(h.p, "hysteresis", "0"), 0, "hysteresis 0");
	for (i = 0, n = 0; i < 500; i++) {
		admits(&h, 200000 + i);
		n += admits(&h, 200000 + i);
	}
	ok(n > 490, "then for the second (%u of 500)", n);
	is(h.p->type->set(h.p, "promote_touches", "6"), 0, "promote_touches 6");
	for (i = 0, n = 0; i < 5; i++)
		n += admits(&h, 300000);
	is(n, 0, "then not for five");
	ok(admits(&h, 300000), "but for six");

	for (i = 0, n = 0; i < 100; i++) {
		h.now += i % 10 == 9;
		n += harness_miss(&h, 400000) >= TIER_POPULATE;
	}
	is(n, 0, "a hundred touches in 10 ms are one");

	/* The victim is one of the colder ones, and its heat is not forgotten. */
	h.p->type->set(h.p, "promote_touches", "2");
	h.p->type->set(h.p, "hysteresis", "2");
	for (n = 0; n < 6; n++) {
		h.now += 100;
		for (i = 0; i < NR; i++)
			if (i % 4)
				harness_hit(&h, i);
	}
	for (i = 0, n = 0; i < 200; i++)
		n += harness_evict(&h) % 4 != 0;
	ok(n < 60, "victims are cold (%u of 200 are not)", n);
	harness_exit(&h);

	harness_init(&h, "hotspot", NR);
	harness_fill(&h);
	harness_evict(&h);
	for (n = 0; n < 5; n++) {
		h.now += 100;
		harness_hit(&h, 700);
	}
	if (h.resident[700])
		harness_remove(&h, 700, TIER_REMOVED_EVICTED);
	ok(admits(&h, h.block[700]), "a hot block that was evicted is admitted at its next touch");

	/* Heat wears off: 8 touches a slot and epoch */
	for (n = 0; n < 60; n++) {
		h.now += 100;
		for (i = 0; i < NR; i++)
			harness_hit(&h, i);
	}
	ok(!admits(&h, h.block[700]), "but not seven epochs later");
	for (i = 0; i < 500; i++)
		if (h.resident[i])
			harness_remove(&h, i, TIER_REMOVED_INVALID);
	ok(admits(&h, 900000), "after a discard there is room again");
	harness_exit(&h);
	return tap_done();
}
