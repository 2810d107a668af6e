// SPDX-License-Identifier: GPL-2.0
/* lru against a list kept by hand. */
#include "policy-harness.h"

#define NR	200

int main(void)
{
	u64 last[NR], seed = 1, clock = NR;
	u32 i, s, oldest, wrong = 0;
	struct harness h;

	harness_init(&h, "lru", NR);
	harness_fill(&h);
	for (i = 0; i < NR; i++)
		last[i] = i;
	for (i = 0; i < 200000; i++) {
		s = (test_random(&seed) % NR) * (test_random(&seed) % NR) / NR;
		if (test_random(&seed) % 4) {
			harness_hit(&h, s);
			last[s] = clock++;
			continue;
		}
		for (s = 0, oldest = 0; s < NR; s++)
			if (last[s] < last[oldest])
				oldest = s;
		if (harness_evict(&h) != oldest)
			wrong++;
		harness_insert(&h, i, oldest);
		last[oldest] = clock++;
	}
	is(wrong, 0, "the victim is always the least recently used");
	is(harness_miss(&h, 5), TIER_FILL, "every miss is admitted");
	harness_exit(&h);

	/* Skipped ones keep their place */
	harness_init(&h, "lru", NR);
	harness_fill(&h);
	for (i = 0; i < 10; i++)
		h.skip[i] = true;
	is(harness_evict(&h), 10, "skipped slots are passed over");
	memset(h.skip, 0, 10);
	is(harness_evict(&h), 11, "and not looked at again at once");
	h.p->type->tick(h.p, 1000);
	is(harness_evict(&h), 0, "but first after a tick");
	harness_hit(&h, 1);
	is(harness_evict(&h), 2, "unless they were used");
	harness_exit(&h);

	/* A hit is as young as its time, though no tick came since what was inserted before it */
	harness_init(&h, "lru", NR);
	harness_fill(&h);
	h.now = 1000;
	for (i = 0; i < NR; i++)
		harness_hit(&h, i);
	h.now = 2000;
	for (i = 0; i < NR / 2; i++)
		harness_hit(&h, i);
	h.p->type->tick(h.p, 3000);
	for (i = 0, wrong = 0; i < NR; i++)
		if (h.p->type->save_hint(h.p, tier_to_slot(i)) != 1 + 3000 / 128 - (i < NR / 2 ? 2000 / 128 : 1000 / 128))
			wrong++;
	is(wrong, 0, "hits have the age of their time");
	h.now = 1500;
	harness_hit(&h, 0);
	is(h.p->type->save_hint(h.p, tier_to_slot(0)), 1, "time does not go back");
	harness_exit(&h);

	/* Ages come back in order, over eight orders of magnitude, to one part in eight */
	harness_init(&h, "lru", NR);
	h.p->type->tick(h.p, 1ULL << 50);
	for (i = 0; i < NR; i++) {
		u32 slot = (i * 77) % NR;
		u64 age = 1;

		for (s = 0; s < slot; s++)
			age += age / 8 + 1;
		if (age > U32_MAX / 2)
			age = U32_MAX / 2;
		h.resident[slot] = true;
		h.p->type->load_hint(h.p, tier_to_block(slot), tier_to_slot(slot), age);
	}
	for (i = 0, wrong = 0; i < NR - 60; i++)
		if (harness_evict(&h) < 100 && i < 60)
			wrong++;
	is(wrong, 0, "the oldest by hint go first");
	harness_exit(&h);
	return tap_done();
}
