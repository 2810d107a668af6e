// SPDX-License-Identifier: GPL-2.0
/* seqbypass: runs, cutoffs, hits, logs. */
#include "policy-harness.h"

static enum tier_admit miss(struct harness *h, u64 sector, u32 sectors, bool write)
{
	struct tier_access a = {
		.sector = sector, .sectors = sectors, .now = h->now,
		.flags = TIER_ACCESS_NEW | (write ? TIER_ACCESS_WRITE : 0),
	};

	return h->p->type->miss(h->p, tier_to_block(sector / 128), &a);
}

static void hit(struct harness *h, u64 sector, u32 sectors, bool write)
{
	struct tier_access a = {
		.sector = sector, .sectors = sectors, .now = h->now,
		.flags = write ? TIER_ACCESS_WRITE : 0,
	};

	h->p->type->hit(h->p, tier_to_slot(sector / 128 % h->nr_slots), &a);
}

/* A run of @nr requests of 64 KiB; how many are admitted. */
static u32 run(struct harness *h, u64 sector, u32 nr, bool write)
{
	u32 i, n = 0;

	for (i = 0; i < nr; i++)
		n += miss(h, sector + i * 128, 128, write) != TIER_BYPASS_SEQ;
	return n;
}

int main(void)
{
	struct harness h;
	u64 seed = 1;
	u32 i, j, n;

	harness_init(&h, "seqbypass next lru", 100);
	is(run(&h, 1 << 20, 100, false), 16, "of a read run 1 MiB is admitted");
	is(run(&h, 2 << 20, 100, true), 16, "of a write run too");
	is(miss(&h, (1 << 20) + 12800, 128, true), TIER_FILL, "a write does not continue a read");
	is(miss(&h, (2 << 20) + 12800 + 8, 128, true), TIER_FILL, "nor does one after a gap");
	h.now += 5001;
	is(miss(&h, (1 << 20) + 12800, 128, false), TIER_FILL, "nor one 5 s later");
	run(&h, 3 << 20, 20, false);
	h.now += 5000;
	is(miss(&h, (3 << 20) + 20 * 128, 128, false), TIER_BYPASS_SEQ, "but one a bit sooner");

	for (i = 0; i < 20; i++)
		(i == 3 || i > 10 ? miss(&h, (4 << 20) + i * 128, 128, false)
				  : (hit(&h, (4 << 20) + i * 128, 128, false), 0));
	is(miss(&h, (4 << 20) + i * 128, 128, false), TIER_BYPASS_SEQ, "hits keep a run going");
	harness_exit(&h);

	harness_init(&h, "seqbypass read_cutoff_sectors 0 write_cutoff_sectors 256 next lru", 100);
	is(run(&h, 0, 100, false), 100, "cutoff 0: reads are never bypassed");
	is(run(&h, 1 << 20, 100, true), 2, "cutoff 256: writes after 128 KiB");
	is(h.p->type->set(h.p, "read_cutoff_sectors", "1073741825"), -EINVAL, "too large a cutoff");
	is(h.p->type->set(h.p, "read_cutoff_sectors", "128"), 0, "a new cutoff");
	is(run(&h, 2 << 20, 100, false), 1, "works at once");
	harness_exit(&h);

	/* 128 runs at once, 8 random requests between any two requests of a run */
	harness_init(&h, "seqbypass next lru", 100);
	for (i = 0, n = 0; i < 40; i++) {
		for (j = 0; j < 128; j++) {
			n += miss(&h, ((u64)j << 24) + i * 128, 128, false) != TIER_BYPASS_SEQ;
			if (j % 16 == 0)
				h.now++;
			if (j < 16)
				miss(&h, (1ULL << 40) + test_random(&seed) % (1ULL << 38), 8,
				     false);
		}
	}
	ok(n < 128 * 17, "128 runs are followed at once (%u requests admitted, of 5120)", n);
	harness_exit(&h);

	harness_init(&h, "seqbypass next lru", 100);
	for (i = 0, n = 0; i < 100; i++) {
		n += miss(&h, i * 128, 128, false) != TIER_BYPASS_SEQ;
		for (j = 0; j < 200; j++)
			miss(&h, (1ULL << 40) + test_random(&seed) % (1ULL << 38), 8, false);
		h.now += 10;
	}
	is(n, 16, "random requests do not push out a run");
	harness_exit(&h);

	/* A ring of 64 MiB, written round and round in 16 KiB requests */
	harness_init(&h, "seqbypass next lru", 100);
	for (i = 0, n = 0; i < 4096; i++)
		n += miss(&h, i * 32, 32, true) != TIER_BYPASS_SEQ;
	is(n, 64, "a log is bypassed the first time round");
	for (i = 0, n = 0; i < 4096; i++)
		n += miss(&h, i * 32, 32, true) != TIER_BYPASS_SEQ;
	ok(n >= 4032, "and let in the next time (%u of 4096)", n);
	is(run(&h, 1 << 20, 1000, true), 16, "what is written once is not");
	is(run(&h, 2 << 20, 1000, false) + run(&h, 2 << 20, 1000, false), 32,
	   "nor what is read again");
	harness_exit(&h);
	return tap_done();
}
