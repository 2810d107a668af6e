// SPDX-License-Identifier: GPL-2.0
/* Sizes and places: every block size with many device sizes, and what must be refused. */
#include "tap.h"
#include "core-fixture.h"

#define MAX_SECTORS	((1ULL << 54) - 1)

/* Marks a metadata block as used; false if it is beyond the end or used already */
static bool take(u8 *used, const struct tier_geometry *g, u64 block)
{
	if (block >= g->meta_blocks || used[block])
		return false;
	used[block] = 1;
	return true;
}

static bool all_places_differ(const struct tier_geometry *g)
{
	u8 *used = calloc(1, g->meta_blocks);
	bool good;
	u64 i;

	good = take(used, g, TIER_SB_BLOCK_0) && take(used, g, TIER_SB_BLOCK_1);
	for (i = 0; i < 2; i++)
		good = good && take(used, g, g->intent_start + i);
	for (i = 0; i < g->journal_blocks; i++)
		good = good && take(used, g, g->journal_start + i);
	for (i = 0; i < g->nr_slot_pages; i++)
		good = good && take(used, g, tier_slot_page_block(g, i, 0)) &&
		       take(used, g, tier_slot_page_block(g, i, 1));
	for (i = 0; i < tier_nr_hint_pages(g); i++)
		good = good && take(used, g, tier_hint_page_block(g, i));
	free(used);
	return good;
}

/* Where a walk takes too long: pages around the borders of groups, and the last ones */
static bool some_places_fit(const struct tier_geometry *g)
{
	u64 hints = tier_nr_hint_pages(g);
	u64 probes[] = { 0, 1, 63, 64, 65, 127, 128, g->nr_slot_pages / 2, g->nr_slot_pages - 1 };
	u64 p, a, b, h;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		p = probes[i];
		if (p >= g->nr_slot_pages)
			continue;
		a = tier_slot_page_block(g, p, 0);
		b = tier_slot_page_block(g, p, 1);
		if (a < g->slot_start || b != a + TIER_GROUP_PAGES || b >= g->meta_blocks)
			return false;
		/* The hints of a page's slots are in the page's own group. */
		h = p * g->records_per_page / TIER_HINTS_PER_PAGE;
		if (h >= hints)
			return false;
		h = tier_hint_page_block(g, h);
		if (h <= b - p % TIER_GROUP_PAGES ||
		    h - (a - p % TIER_GROUP_PAGES) < 2 * TIER_GROUP_PAGES ||
		    h - (a - p % TIER_GROUP_PAGES) >= 2 * TIER_GROUP_PAGES + TIER_HINT_PAGES_16)
			return false;
	}
	return tier_hint_page_block(g, hints - 1) < g->meta_blocks;
}

static bool regions_fit(const struct tier_geometry *g)
{
	u64 probes[] = { 0, 1, 63, 64, g->nr_blocks / 2, g->nr_blocks - 2, g->nr_blocks - 1 };
	u32 i;

	if (!g->nr_regions || g->nr_regions > TIER_MAX_REGIONS)
		return false;
	/* the smallest that fit */
	if (g->region_shift && (g->nr_blocks - 1) >> (g->region_shift - 1) < TIER_MAX_REGIONS)
		return false;
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (probes[i] < g->nr_blocks &&
		    tier_block_region(g, tier_to_block(probes[i])) != probes[i] >> g->region_shift)
			return false;
	return tier_block_region(g, tier_to_block(g->nr_blocks - 1)) == g->nr_regions - 1;
}

static void check_new(u32 bs, u64 fast, u64 slow)
{
	struct tier_geometry g, again;
	const char *why = tier_geometry_cache(&g, bs, fast, slow);

	if (!fx_check(!why, "%u %llu %llu: %s", bs, (unsigned long long)fast,
		      (unsigned long long)slow, why))
		return;
	fx_check(g.nr_slots == (fast - TIER_DATA_START) / bs && g.nr_sectors == slow &&
		 g.nr_blocks == slow / bs + !!(slow % bs), "counts of %u %llu %llu", bs,
		 (unsigned long long)fast, (unsigned long long)slow);
	fx_check(1U << g.block_shift == bs && g.nr_granules * g.granule_sectors == bs &&
		 1U << g.granule_shift == g.granule_sectors &&
		 g.nr_granules <= TIER_MAX_GRANULES &&
		 g.nr_granules <= g.record_bytes * (g.record_bytes == 16 ? 1U : 2U),
		 "granules of %u", bs);
	fx_check(g.intent_start == 17 && g.journal_start == 19 &&
		 g.slot_start == 19 + g.journal_blocks && g.journal_blocks >= 64 &&
		 g.journal_blocks <= 2048,
		 "layout");
	fx_check(g.nr_slot_pages * g.records_per_page >= g.nr_slots &&
		 (g.nr_slot_pages - 1) * g.records_per_page < g.nr_slots, "pages");
	fx_check(regions_fit(&g), "regions of %llu blocks", (unsigned long long)g.nr_blocks);
	fx_check(some_places_fit(&g), "places of %u %llu", bs, (unsigned long long)fast);
	if (g.meta_blocks <= 100000)
		fx_check(all_places_differ(&g), "places of %u %llu", bs, (unsigned long long)fast);

	/* A check finds nothing and derives the same from the primary fields alone. */
	again = g;
	again.block_shift = 99;
	again.granule_shift = 99;
	again.nr_granules = 99;
	again.records_per_page = 99;
	again.entries_per_jsector = 99;
	again.nr_sectors = 99;
	again.nr_blocks = 99;
	again.nr_slot_pages = 99;
	why = tier_geometry_check(&again);
	fx_check(!why, "%s", why);
	fx_check(!memcmp(&g, &again, sizeof(g)), "derived fields of %u %llu %llu", bs,
		 (unsigned long long)fast, (unsigned long long)slow);
}

static void test_new(u32 bs)
{
	u64 slots[] = { 1, 2, 126, 127, 128, 253, 254, 255, 1015, 1016, 1017, 8127, 8128, 8129,
			16255, 16256, 16257, 100003, 1 << 20, 1ULL << 28, TIER_MAX_SLOTS };
	u64 slow[] = { 1, 7, 8, 9, bs - 1, bs, bs + 1, 3ULL * bs + 5, 32512ULL * bs,
		       32512ULL * bs + 1, 65024ULL * bs + 1, 0xffffffffULL, 0x100000001ULL,
		       0x200000000ULL * 3 + 17, (1ULL << 48) * bs - 1, (1ULL << 48) * bs,
		       MAX_SECTORS };
	u32 i, j, n = 0;

	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		u64 fast = TIER_DATA_START + slots[i] * bs;

		for (j = 0; j < ARRAY_SIZE(slow); j++) {
			/* more than a device can have: not a case for this test */
			if (!slow[j] || slow[j] > MAX_SECTORS ||
			    (slow[j] - 1) / bs >= TIER_MAX_BLOCKS)
				continue;
			check_new(bs, fast, slow[j]);
			check_new(bs, fast + bs - 1, slow[j]);
			n += 2;
		}
	}
	ok(!fx_failures(), "block size %u: %u geometries", bs, n);
}

static void refused(u32 bs, u64 fast, u64 slow, const char *want)
{
	struct tier_geometry g;
	const char *why = tier_geometry_cache(&g, bs, fast, slow);

	ok(why && strstr(why, want), "%u %#llx %#llx: %s", bs, (unsigned long long)fast,
	   (unsigned long long)slow, why ? why : "(accepted)");
}

static void test_refused(void)
{
	static const u32 bad_sizes[] = { 0, 1, 2, 4, 7, 9, 12, 24, 100, 2047, 2049, 4096, 1U << 31,
					 U32_MAX };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad_sizes); i++)
		refused(bad_sizes[i], 1 << 20, 1 << 20, "power of two");
	refused(8, 0, 1000, "too small");
	refused(8, 2048, 1000, "too small");
	refused(8, 2055, 1000, "too small");
	refused(2048, 4095, 1000, "too small");
	refused(8, TIER_DATA_START + 8 * (u64)TIER_MAX_SLOTS + 8, 1000, "larger block size");
	refused(8, MAX_SECTORS, 1000, "larger block size");
	refused(8, MAX_SECTORS + 1, 1000, "too large");
	refused(8, U64_MAX, 1000, "too large");
	refused(8, 1 << 20, 0, "empty");
	refused(8, 1 << 20, MAX_SECTORS + 1, "too large");
	refused(2048, 1 << 20, U64_MAX, "too large");
	refused(8, 1 << 20, (1ULL << 48) * 8 + 1, "larger block size");
	refused(32, 1 << 20, (1ULL << 48) * 32 + 1, "larger block size");
}

/* One field of a good geometry changed */
struct change {
	const char *name;
	void (*apply)(struct tier_geometry *g);
	const char *want;
};

#define SET(id, field, value)				\
static void set_##id(struct tier_geometry *g)		\
{							\
	g->field = (value);				\
}

SET(bs0, block_sectors, 0)
SET(bs1, block_sectors, 24)
SET(bs2, block_sectors, 1U << 31)
SET(gran0, granule_sectors, 0)
SET(gran1, granule_sectors, 16)
SET(rec0, record_bytes, 0)
SET(rec1, record_bytes, 32)
SET(devs0, nr_devs, 0)
SET(devs1, nr_devs, 1)
SET(devs3, nr_devs, 3)
SET(devs17, nr_devs, 17)
SET(devsmax, nr_devs, U32_MAX)
SET(role0, devs[0].role, TIER_ROLE_SLOW)
SET(role1, devs[1].role, TIER_ROLE_FAST)
SET(role2, devs[1].role, TIER_ROLE_TIER)
SET(start0, devs[0].data_start, 0)
SET(start1, devs[0].data_start, 8)
SET(start2, devs[0].data_start, 2049)
SET(start3, devs[0].data_start, 1ULL << 63)
SET(start4, devs[0].data_start, ~0ULL << 7)
SET(first, devs[0].first_slot, 1)
SET(fast0, devs[0].sectors, 0)
SET(fast1, devs[0].sectors, U64_MAX)
SET(fast2, devs[0].sectors, 2048 + 128)
SET(dslots0, devs[0].nr_slots, 0)
SET(dslots1, devs[0].nr_slots, 1001)
SET(dslots2, devs[0].nr_slots, U64_MAX)
SET(sstart, devs[1].data_start, 8)
SET(sfirst, devs[1].first_slot, 1000)
SET(sslots, devs[1].nr_slots, 1)
SET(suuid, devs[1].uuid[15], 1)
SET(slow0, devs[1].sectors, 0)
SET(slow1, devs[1].sectors, U64_MAX)
SET(slow2, devs[1].sectors, 1ULL << 54)
SET(slots0, nr_slots, 0)
SET(slots1, nr_slots, 999)
SET(slots2, nr_slots, U64_MAX)
SET(reg0, nr_regions, 0)
SET(reg1, nr_regions, TIER_MAX_REGIONS + 1)
SET(regmax, nr_regions, U32_MAX)
SET(shift0, region_shift, 48)
SET(shift1, region_shift, 64)
SET(shiftmax, region_shift, U32_MAX)
SET(intent0, intent_start, 0)
SET(intent1, intent_start, 16)
SET(intent2, intent_start, 18)
SET(intentmax, intent_start, U64_MAX)
SET(jstart0, journal_start, 0)
SET(jstart1, journal_start, 18)
SET(jstart2, journal_start, 20)
SET(jstartmax, journal_start, U64_MAX)
SET(jblocks0, journal_blocks, 0)
SET(jblocks1, journal_blocks, 15)
SET(jblocks2, journal_blocks, 65)
SET(jblocks3, journal_blocks, 4097)
SET(jblocksmax, journal_blocks, U64_MAX)
SET(sstart0, slot_start, 0)
SET(sstart1, slot_start, 82)
SET(sstart2, slot_start, 84)
SET(sstartmax, slot_start, U64_MAX)
SET(sstarthuge, slot_start, 1ULL << 41)
SET(meta0, meta_blocks, 0)
SET(meta1, meta_blocks, 226)
SET(meta2, meta_blocks, 228)
SET(metamax, meta_blocks, U64_MAX)

static const struct change changes[] = {
	{ "block_sectors 0", set_bs0, "block_sectors" },
	{ "block_sectors 24", set_bs1, "block_sectors" },
	{ "block_sectors 2^31", set_bs2, "block_sectors" },
	{ "granule_sectors 0", set_gran0, "granule_sectors" },
	{ "granule_sectors 16", set_gran1, "granule_sectors" },
	{ "record_bytes 0", set_rec0, "record_bytes" },
	{ "record_bytes 32", set_rec1, "record_bytes" },
	{ "nr_devs 0", set_devs0, "nr_devs" },
	{ "nr_devs 1", set_devs1, "nr_devs" },
	{ "nr_devs 3", set_devs3, "nr_devs" },
	{ "nr_devs 17", set_devs17, "nr_devs" },
	{ "nr_devs 2^32 - 1", set_devsmax, "nr_devs" },
	{ "first device slow", set_role0, "role" },
	{ "second device fast", set_role1, "role" },
	{ "second device tier", set_role2, "role" },
	{ "data_start 0", set_start0, "data_start" },
	{ "data_start 8", set_start1, "data_start" },
	{ "data_start 2049", set_start2, "data_start" },
	{ "data_start 2^63", set_start3, "too small" },
	{ "data_start 2^64 - 128", set_start4, "too small" },
	{ "first_slot 1", set_first, "first_slot" },
	{ "fast sectors 0", set_fast0, "too small" },
	{ "fast sectors 2^64 - 1", set_fast1, "too large" },
	{ "fast sectors for one slot", set_fast2, "nr_slots" },
	{ "fast nr_slots 0", set_dslots0, "nr_slots" },
	{ "fast nr_slots one more", set_dslots1, "nr_slots" },
	{ "fast nr_slots 2^64 - 1", set_dslots2, "nr_slots" },
	{ "slow data_start", set_sstart, "data_start" },
	{ "slow first_slot", set_sfirst, "first_slot" },
	{ "slow nr_slots", set_sslots, "nr_slots" },
	{ "slow uuid", set_suuid, "uuid" },
	{ "slow sectors 0", set_slow0, "empty" },
	{ "slow sectors 2^64 - 1", set_slow1, "too large" },
	{ "slow sectors 2^54", set_slow2, "too large" },
	{ "nr_slots 0", set_slots0, "nr_slots" },
	{ "nr_slots one less", set_slots1, "nr_slots" },
	{ "nr_slots 2^64 - 1", set_slots2, "nr_slots" },
	{ "nr_regions 0", set_reg0, "nr_regions" },
	{ "nr_regions one too many", set_reg1, "nr_regions" },
	{ "nr_regions 2^32 - 1", set_regmax, "nr_regions" },
	{ "region_shift 48", set_shift0, "region_shift" },
	{ "region_shift 64", set_shift1, "region_shift" },
	{ "region_shift 2^32 - 1", set_shiftmax, "region_shift" },
	{ "intent_start 0", set_intent0, "intent_start" },
	{ "intent_start on the superblock", set_intent1, "intent_start" },
	{ "intent_start over the journal", set_intent2, "journal_start" },
	{ "intent_start 2^64 - 1", set_intentmax, "intent_start" },
	{ "journal_start 0", set_jstart0, "journal_start" },
	{ "journal_start over the intents", set_jstart1, "journal_start" },
	{ "journal_start over the slots", set_jstart2, "slot_start" },
	{ "journal_start 2^64 - 1", set_jstartmax, "journal_start" },
	{ "journal_blocks 0", set_jblocks0, "journal_blocks" },
	{ "journal_blocks 15", set_jblocks1, "journal_blocks" },
	{ "journal_blocks over the slots", set_jblocks2, "slot_start" },
	{ "journal_blocks 4097", set_jblocks3, "journal_blocks" },
	{ "journal_blocks 2^64 - 1", set_jblocksmax, "journal_blocks" },
	{ "slot_start 0", set_sstart0, "slot_start" },
	{ "slot_start over the journal", set_sstart1, "slot_start" },
	{ "slot_start beyond the end", set_sstart2, "meta_blocks" },
	{ "slot_start 2^64 - 1", set_sstartmax, "slot_start" },
	{ "slot_start 2^41", set_sstarthuge, "slot_start" },
	{ "meta_blocks 0", set_meta0, "meta_blocks" },
	{ "meta_blocks one less", set_meta1, "meta_blocks" },
	{ "meta_blocks one more", set_meta2, "meta_blocks" },
	{ "meta_blocks 2^64 - 1", set_metamax, "meta_blocks" },
};

static void test_check(void)
{
	struct tier_geometry g;
	const char *why;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		fx_geometry(&g, 128, 1000, 50000, 64);
		changes[i].apply(&g);
		why = tier_geometry_check(&g);
		ok(why && strstr(why, changes[i].want), "%s: %s", changes[i].name,
		   why ? why : "(accepted)");
	}
}

static void set_field(struct tier_geometry *g, u32 field, u64 v)
{
	switch (field) {
	case 0:
		g->block_sectors = v;
		break;
	case 1:
		g->granule_sectors = v;
		break;
	case 2:
		g->record_bytes = v;
		break;
	case 3:
		g->nr_devs = v;
		break;
	case 4:
		g->devs[0].sectors = v;
		break;
	case 5:
		g->devs[0].data_start = v;
		break;
	case 6:
		g->devs[0].nr_slots = v;
		break;
	case 7:
		g->nr_slots = v;
		break;
	case 8:
		g->devs[1].sectors = v;
		break;
	case 9:
		g->region_shift = v;
		break;
	case 10:
		g->nr_regions = v;
		break;
	case 11:
		g->intent_start = v;
		break;
	case 12:
		g->journal_start = v;
		break;
	case 13:
		g->journal_blocks = v;
		break;
	case 14:
		g->slot_start = v;
		break;
	case 15:
		g->meta_blocks = v;
		break;
	default:
		g->nr_slots = v;
		g->devs[0].nr_slots = v;
	}
}

/* Random primary fields, near the borders: what a check accepts must hold together. */
static void test_check_random(void)
{
	static const u64 values[] = {
		0, 1, 2, 8, 15, 16, 17, 18, 19, 31, 32, 63, 64, 65, 83, 127, 128, 129, 255, 1000,
		2047, 2048, 2049, 4095, 4096, 4097, 32512, 65535, 1ULL << 31, 1ULL << 32,
		1ULL << 40, 1ULL << 48, 1ULL << 54, 1ULL << 63, U64_MAX - 1, U64_MAX
	};
	u64 state = 4711, accepted = 0;
	struct tier_geometry g;
	u32 i, k;

	for (i = 0; i < 300000; i++) {
		fx_geometry(&g, fx_block_sizes[fx_random(&state) % FX_NR_BLOCK_SIZES], 1000, 50000,
			    64);
		for (k = fx_random(&state) % 3; k < 3; k++) {
			u64 v = values[fx_random(&state) % ARRAY_SIZE(values)];

			set_field(&g, fx_random(&state) % 17, v);
		}
		if (tier_geometry_check(&g))
			continue;
		accepted++;
		fx_check(g.meta_blocks < 1ULL << 41, "size");
		if (g.meta_blocks <= 10000)
			fx_check(all_places_differ(&g), "places");
		fx_check(tier_block_region(&g, tier_to_block(g.nr_blocks - 1)) < g.nr_regions,
			 "regions");
		fx_check(g.devs[0].data_start + g.nr_slots * g.block_sectors <= g.devs[0].sectors,
			 "slots");
	}
	ok(accepted > 1000, "%llu of 300000 random geometries pass the check",
	   (unsigned long long)accepted);
	ok(!fx_failures(), "and hold together");
}

static void test_resize(void)
{
	struct tier_geometry g, old;
	const char *why;
	u32 i, copy;
	u64 p;

	for (i = 0; i < FX_NR_BLOCK_SIZES; i++) {
		u32 bs = fx_block_sizes[i];

		fx_geometry(&g, bs, 1000, 40000, 64);
		old = g;
		why = tier_geometry_resize(&g, TIER_DATA_START + 50000ULL * bs + 3,
					   400000ULL * bs + 1);
		fx_check(!why, "%s", why);
		fx_check(g.nr_slots == 50000 && g.nr_blocks == 400001, "counts");
		fx_check(g.nr_regions == old.nr_regions && g.region_shift == old.region_shift,
			 "regions stay");
		fx_check(g.journal_blocks == old.journal_blocks && g.slot_start == old.slot_start,
			 "layout stays");
		for (p = 0; p < old.nr_slot_pages; p++)
			for (copy = 0; copy < 2; copy++)
				fx_check(tier_slot_page_block(&g, p, copy) ==
					 tier_slot_page_block(&old, p, copy), "pages stay");
		for (p = 0; p < g.nr_blocks; p += 997)
			fx_check(tier_block_region(&g, tier_to_block(p)) ==
					 (p >> g.region_shift) % g.nr_regions,
				 "block %llu", (unsigned long long)p);
		fx_check(all_places_differ(&g), "places");
		fx_check(!tier_geometry_check(&g), "check");

		why = tier_geometry_resize(&g, old.devs[0].sectors, old.devs[1].sectors);
		fx_check(!why && !memcmp(&g, &old, sizeof(g)), "back again");

		fx_check(tier_geometry_resize(&g, 2048, 1000), "too small");
		fx_check(tier_geometry_resize(&g, 1 << 20, 0), "empty");
		fx_check(tier_geometry_resize(&g, U64_MAX, 1000), "too large");
		fx_check(tier_geometry_resize(&g, 1 << 20, U64_MAX), "too large");
		fx_check(!memcmp(&g, &old, sizeof(g)), "unchanged after an error");
		ok(!fx_failures(), "resize at block size %u", bs);
	}
}

int main(void)
{
	u32 i;

	for (i = 0; i < FX_NR_BLOCK_SIZES; i++)
		test_new(fx_block_sizes[i]);
	test_refused();
	test_check();
	test_check_random();
	test_resize();
	return tap_done();
}
