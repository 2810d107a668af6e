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

/* --- tiered --- */

/* Each slot is where its extent says, and nowhere two of them */
static void check_slots(const struct tier_geometry *g)
{
	u64 on_dev[TIER_MAX_DEVS] = { 0 }, s, sector;
	u32 dev, i;

	for (s = 0; s < g->nr_slots; s++) {
		const struct tier_extent *e = tier_slot_extent(g, tier_to_slot(s));

		fx_check(s >= e->first_slot && s < e->first_slot + e->nr_slots, "extent of slot %llu",
			 (unsigned long long)s);
		dev = tier_slot_dev(g, tier_to_slot(s));
		if (dev == TIER_EXTENT_HOLE)
			continue;
		sector = tier_slot_dev_sector(g, tier_to_slot(s));
		fx_check(tier_slot_local(g, tier_to_slot(s)) == on_dev[dev], "place of slot %llu",
			 (unsigned long long)s);
		fx_check(sector == g->devs[dev].data_start + (on_dev[dev] << g->block_shift) &&
			 sector + g->block_sectors <= g->devs[dev].sectors, "sector of slot %llu",
			 (unsigned long long)s);
		fx_check(tier_from_slot(tier_local_slot(g, dev, on_dev[dev])) == s, "slot %llu by its place",
			 (unsigned long long)s);
		on_dev[dev]++;
	}
	for (i = 0; i < g->nr_devs; i++)
		fx_check(on_dev[i] == g->devs[i].nr_slots &&
			 tier_local_slot(g, i, on_dev[i]) == TIER_NO_SLOT, "slots of device %u", i);
}

static void test_tiered_new(u32 bs)
{
	u64 sizes[TIER_MAX_DEVS], usable;
	struct tier_geometry g, again;
	const char *why;
	u32 nr, i;

	for (nr = 2; nr <= TIER_MAX_DEVS; nr++) {
		for (i = 0, usable = 0; i < nr; i++) {
			sizes[i] = TIER_DATA_START + (i * 700ULL + 4) * bs + i;
			usable += i * 700 + 4 - tier_kept_slots(i * 700 + 4);
		}
		why = tier_geometry_tiered(&g, bs, nr, sizes, 0);
		fx_check(!why, "%s", why);
		fx_check(g.exclusive && g.nr_devs == nr && g.nr_extents == nr, "kind");
		fx_check(tier_usable_slots(&g) == usable && g.nr_blocks == usable && g.nr_sectors == usable * bs,
			 "length");
		fx_check(regions_fit(&g) && some_places_fit(&g), "layout");
		check_slots(&g);
		again = g;
		again.nr_blocks = 99;
		again.nr_slot_pages = 99;
		again.block_shift = 99;
		why = tier_geometry_check(&again);
		fx_check(!why && !memcmp(&g, &again, sizeof(g)), "check: %s", why);

		fx_check(!tier_geometry_tiered(&g, bs, nr, sizes, bs) && g.nr_blocks == 1, "one block");
		fx_check(!tier_geometry_tiered(&g, bs, nr, sizes, usable * bs), "all that is usable, by number");
		fx_check(tier_geometry_tiered(&g, bs, nr, sizes, (usable + 1) * bs), "too long");
		fx_check(tier_geometry_tiered(&g, bs, nr, sizes, bs + 8), "not whole blocks");
	}
	ok(!fx_failures(), "2 to 16 tiers at block size %u", bs);
}

static void test_take(u32 bs)
{
	u64 tail, sizes[2], slots;
	struct tier_geometry g;
	const char *why;

	for (tail = 0; tail < bs; tail += bs / 2 - 1) {
		sizes[0] = TIER_DATA_START + 100ULL * bs;
		sizes[1] = 1000ULL * bs + tail;
		why = tier_geometry_take(&g, bs, 2, sizes, 0);
		fx_check(!why, "%s", why);
		fx_check(g.devs[1].flags == TIER_DEV_NO_HEADER && !g.devs[1].data_start &&
			 g.devs[1].nr_slots == 1000, "the last device");
		fx_check(!g.devs[0].flags && g.devs[0].data_start == TIER_DATA_START, "the first device");
		fx_check(!tier_slot_dev_sector(&g, tier_local_slot(&g, 1, 0)), "its slots begin at 0");
		fx_check(g.nr_sectors >= sizes[1] && !tier_geometry_check(&g), "check");
		check_slots(&g);
		slots = 1000 + !!tail;
		fx_check(!tier_geometry_take(&g, bs, 2, sizes, slots * bs) && g.nr_sectors == slots * bs,
			 "as long as the data");
		fx_check(tier_geometry_take(&g, bs, 2, sizes, (slots - 1) * bs), "too short");
		/* 2 and 3 are kept back */
		sizes[0] = TIER_DATA_START + (4 + !!tail) * (u64)bs;
		fx_check(tier_geometry_take(&g, bs, 2, sizes, 0), "no room on the first");
		sizes[0] += bs;
		fx_check(!tier_geometry_take(&g, bs, 2, sizes, 0) && g.nr_blocks == slots, "just room");
	}
	ok(!fx_failures(), "a device taken over with its data at block size %u", bs);
}

static void test_tiered_refused(void)
{
	u64 good[3] = { 1 << 20, 1 << 21, 1 << 22 }, small[2] = { 1 << 20, TIER_DATA_START + 4 * 128 - 1 };
	u64 huge[2] = { 1ULL << 54, 1 << 20 }, many[2] = { 1ULL << 38, 1ULL << 39 };
	u64 most[2] = { MAX_SECTORS, MAX_SECTORS };
	struct tier_geometry g;

	ok(tier_geometry_tiered(&g, 64, 2, good, 0), "tiers with blocks of 32 KiB");
	ok(tier_geometry_tiered(&g, 4096, 2, good, 0), "tiers with blocks of 2 MiB");
	ok(tier_geometry_tiered(&g, 129, 2, good, 0), "tiers with blocks of 129 sectors");
	ok(tier_geometry_tiered(&g, 128, 0, good, 0) && tier_geometry_tiered(&g, 128, 1, good, 0), "one tier");
	ok(tier_geometry_tiered(&g, 128, 17, good, 0), "17 tiers");
	ok(tier_geometry_tiered(&g, 128, 2, small, 0), "a tier of three blocks");
	ok(tier_geometry_tiered(&g, 128, 2, huge, 0), "a tier of 2^54 sectors");
	ok(tier_geometry_tiered(&g, 128, 2, many, 0), "more than 2^32 slots together");
	ok(tier_geometry_tiered(&g, 2048, 2, most, 0), "tiers of 2^54 - 1 sectors");
	ok(tier_kept_slots(4) == 2 && tier_kept_slots(767) == 2 && tier_kept_slots(768) == 3 &&
	   tier_kept_slots(16384) == 64 && tier_kept_slots(TIER_MAX_SLOTS) == 64, "slots that are kept back");
}

SET(t_bs, block_sectors, 64)
SET(t_devs1, nr_devs, 1)
SET(t_devs2, nr_devs, 2)
SET(t_devs17, nr_devs, 17)
SET(t_role, devs[1].role, TIER_ROLE_FAST)
SET(t_flags, devs[1].flags, 8)
SET(t_settle, devs[1].flags, TIER_DEV_SETTLE)
SET(t_headless, devs[1].flags, TIER_DEV_NO_HEADER)
SET(t_start, devs[0].data_start, 0)
SET(t_start2, devs[1].data_start, 2049)
SET(t_first, devs[1].first_slot, 160)
SET(t_uuid, devs[2].uuid[0], 1)
SET(t_sectors, devs[1].sectors, 2048 + 300 * 128 - 1)
SET(t_sectorsmax, devs[2].sectors, 1ULL << 54)
SET(t_sectors0, devs[1].sectors, 1)
SET(t_slots3, devs[1].nr_slots, 3)
SET(t_slotsmore, devs[0].nr_slots, 151)
SET(t_slotsless, devs[0].nr_slots, 149)
SET(t_slotsmax, devs[0].nr_slots, U64_MAX)
SET(t_len0, nr_sectors, 0)
SET(t_len1, nr_sectors, 129)
SET(t_lenmax, nr_sectors, 1ULL << 54)
SET(t_ext0, nr_extents, 0)
SET(t_ext4, nr_extents, 4)
SET(t_ext6, nr_extents, 6)
SET(t_ext33, nr_extents, 33)
SET(t_extmax, nr_extents, U32_MAX)
SET(t_gap, extents[2].first_slot, 161)
SET(t_overlap, extents[2].first_slot, 159)
SET(t_empty, extents[1].nr_slots, 0)
SET(t_long, extents[1].nr_slots, U64_MAX)
SET(t_hole, extents[1].data_start, 2048)
SET(t_dev, extents[1].dev, 3)
SET(t_dev2, extents[1].dev, 1)
SET(t_estart, extents[4].data_start, 2048 + 101 * 128)
SET(t_eslots, extents[4].nr_slots, 51)
SET(t_nslots, nr_slots, 1009)

static void set_t_twins(struct tier_geometry *g)
{
	memcpy(g->devs[1].uuid, g->devs[0].uuid, 16);
}

static void set_t_two_headless(struct tier_geometry *g)
{
	g->devs[1].flags = TIER_DEV_NO_HEADER;
	g->devs[1].data_start = 0;
	memset(g->devs[1].uuid, 0, 16);
}

static void set_t_settle_evacuate(struct tier_geometry *g)
{
	g->devs[1].flags = TIER_DEV_NO_HEADER | TIER_DEV_SETTLE | TIER_DEV_EVACUATE;
	g->devs[1].data_start = 0;
	memset(g->devs[1].uuid, 0, 16);
}

static const struct change tiered_changes[] = {
	{ "tiered block_sectors 64", set_t_bs, "sectors" },
	{ "one tier", set_t_devs1, "nr_devs" },
	{ "an extent on a device behind the last", set_t_devs2, "dev of an extent" },
	{ "17 tiers", set_t_devs17, "nr_devs" },
	{ "a tier with another role", set_t_role, "role" },
	{ "a tier with unknown flags", set_t_flags, "flags" },
	{ "a tier with header that is to be settled", set_t_settle, "settled" },
	{ "a tier that is to be settled and to be emptied", set_t_settle_evacuate, "emptied" },
	{ "a tier without header, but with room for it", set_t_headless, "data_start" },
	{ "a tier without header, with a uuid", set_t_uuid, "uuid" },
	{ "a tier with header, without room for it", set_t_start, "data_start" },
	{ "a tier with data_start 2049", set_t_start2, "data_start" },
	{ "a tier with first_slot", set_t_first, "first_slot" },
	{ "two tiers with one uuid", set_t_twins, "same uuid" },
	{ "two tiers without header", set_t_two_headless, "no header" },
	{ "a tier that is a sector too short", set_t_sectors, "size" },
	{ "a tier that is too large", set_t_sectorsmax, "too large" },
	{ "a tier of a sector", set_t_sectors0, "size" },
	{ "a tier of three slots", set_t_slots3, "nr_slots" },
	{ "a tier with a slot in no extent", set_t_slotsmore, "less" },
	{ "a tier with a slot less than its extents", set_t_slotsless, "more" },
	{ "a tier of 2^64 - 1 slots", set_t_slotsmax, "nr_slots" },
	{ "length 0", set_t_len0, "nr_sectors" },
	{ "length of a block and a sector", set_t_len1, "nr_sectors" },
	{ "length 2^54", set_t_lenmax, "nr_sectors" },
	{ "no extents", set_t_ext0, "nr_extents" },
	{ "an extent missing", set_t_ext4, "nr_slots" },
	{ "an extent too many", set_t_ext6, "extent" },
	{ "33 extents", set_t_ext33, "nr_extents" },
	{ "2^32 - 1 extents", set_t_extmax, "nr_extents" },
	{ "a gap between extents", set_t_gap, "first_slot" },
	{ "extents that overlap", set_t_overlap, "first_slot" },
	{ "an empty extent", set_t_empty, "nr_slots" },
	{ "an extent of 2^64 - 1 slots", set_t_long, "nr_slots" },
	{ "a hole with data_start", set_t_hole, "hole" },
	{ "an extent of device 3 of 3", set_t_dev, "dev" },
	{ "a hole made an extent", set_t_dev2, "data_start" },
	{ "an extent elsewhere on its device", set_t_estart, "data_start" },
	{ "an extent a slot too long", set_t_eslots, "more" },
	{ "nr_slots one less than the extents", set_t_nslots, "nr_slots" },
};

static void test_tiered_check(void)
{
	struct tier_geometry g;
	const char *why;
	u32 i;

	fx_tiered(&g, 128, 64);
	check_slots(&g);
	ok(!fx_failures(), "slots of a tiered device with a hole and a device in two pieces");
	g.nr_sectors *= 2;
	ok(!tier_geometry_check(&g), "it may be longer than its tiers can hold");
	for (i = 0; i < ARRAY_SIZE(tiered_changes); i++) {
		fx_tiered(&g, 128, 64);
		tiered_changes[i].apply(&g);
		why = tier_geometry_check(&g);
		ok(why && strstr(why, tiered_changes[i].want), "%s: %s", tiered_changes[i].name,
		   why ? why : "(accepted)");
	}
}

/* what a change must keep: each slot that stays is where it was */
static bool same_places(const struct tier_geometry *old, const struct tier_geometry *now, const struct tier_change *c)
{
	u64 s;

	for (s = 0; s < old->nr_slots; s++) {
		u32 was = tier_slot_dev(old, tier_to_slot(s)), i;

		for (i = 0; i < now->nr_devs && c[i].was != was; i++)
			;
		if (was == TIER_EXTENT_HOLE || i == now->nr_devs) {
			if (s < now->nr_slots && tier_slot_dev(now, tier_to_slot(s)) != TIER_EXTENT_HOLE)
				return false;
			continue;
		}
		if (tier_slot_dev(now, tier_to_slot(s)) != i ||
		    tier_slot_dev_sector(now, tier_to_slot(s)) != tier_slot_dev_sector(old, tier_to_slot(s)) ||
		    tier_slot_local(now, tier_to_slot(s)) != tier_slot_local(old, tier_to_slot(s)) ||
		    tier_local_slot(now, i, tier_slot_local(old, tier_to_slot(s))) != tier_to_slot(s))
			return false;
	}
	return true;
}

static const char *change(struct tier_geometry *g, u32 nr, const struct tier_change *c, u64 nr_sectors)
{
	struct tier_geometry old = *g, now;
	const char *why = tier_geometry_change(&now, &old, nr, c, nr_sectors);

	if (!why)
		*g = now;
	return why;
}

static void test_change(void)
{
	const u64 sizes[] = { 2048 + 10 * 128, 2048 + 20 * 128, 2048 + 40 * 128 };
	struct tier_change c[TIER_MAX_DEVS + 1] = {
		{ .was = 0, .sectors = sizes[0] }, { .was = 1, .sectors = sizes[1] }, { .was = 2, .sectors = sizes[2] },
	};
	struct tier_geometry g, old;
	const char *why;
	u32 i;

	ok(!tier_geometry_tiered(&g, 128, 3, sizes, 0), "three tiers");
	for (i = 0; i < 3; i++)
		g.devs[i].uuid[0] = i + 1;
	old = g;
	ok(!change(&g, 3, c, g.nr_sectors) && !memcmp(&g, &old, sizeof(g)), "nothing changes");

	c[1].sectors += 5 * 128 + 7;
	ok(!change(&g, 3, c, g.nr_sectors), "the middle one grows");
	ok(same_places(&old, &g, c) && g.devs[1].nr_slots == 25 && g.nr_extents == 4, "by slots at the end");
	old = g;
	c[2].sectors += 128;
	c[1].sectors += 128 - 7;
	ok(!change(&g, 3, c, g.nr_sectors + 5 * 128), "two grow, and the device");
	ok(same_places(&old, &g, c) && g.nr_slots == 77 && g.nr_extents == 5, "one of them in the same piece");

	old = g;
	c[3] = (struct tier_change){ .was = TIER_NEW_TIER, .sectors = sizes[0], .uuid = "new" };
	ok(!change(&g, 4, c, g.nr_sectors), "a new tier at the end");
	ok(same_places(&old, &g, c) && g.nr_slots == 87, "has slots at the end");
	old = g;
	c[3].was = 3;
	for (i = 3; i; i--)
		swap(c[i], c[i - 1]);
	ok(!change(&g, 4, c, g.nr_sectors), "it becomes the first");
	ok(same_places(&old, &g, c) && g.devs[0].uuid[0] == 'n', "and nothing else");

	old = g;
	for (i = 0; i < 4; i++)
		c[i].was = i;
	c[2] = c[3];
	ok(!change(&g, 3, c, g.nr_sectors), "one is taken out");
	ok(same_places(&old, &g, c) && g.nr_devs == 3, "its slots are holes");
	is(tier_real_slots(&g), g.devs[0].nr_slots + g.devs[1].nr_slots + g.devs[2].nr_slots, "which are no real slots");
	ok(tier_real_slots(&g) < g.nr_slots, "though they have numbers");
	old = g;
	c[2] = (struct tier_change){ .was = TIER_NEW_TIER, .sectors = sizes[0], .uuid = "n2" };
	c[0].was = 0;
	c[1].was = 1;
	ok(!change(&g, 3, c, g.nr_sectors), "one for another");
	ok(same_places(&old, &g, c) && g.devs[2].nr_slots == 10, "at once");

	old = g;
	c[2] = (struct tier_change){ .was = 1, .sectors = g.devs[1].sectors };
	why = change(&g, 3, c, g.nr_sectors);
	ok(why && strstr(why, "twice") && !memcmp(&g, &old, sizeof(g)), "twice the same: %s", why);
	c[2] = (struct tier_change){ .was = 2, .sectors = g.devs[2].sectors - 1 };
	why = change(&g, 3, c, g.nr_sectors);
	ok(why && strstr(why, "shrink") && !memcmp(&g, &old, sizeof(g)), "a smaller one: %s", why);
	c[2].sectors++;
	why = change(&g, 3, c, g.nr_sectors - 128);
	ok(why && strstr(why, "shrink"), "a smaller device: %s", why);
	why = change(&g, 3, c, g.nr_sectors + 1000 * 128);
	ok(why && strstr(why, "hold"), "a device too long: %s", why);
	why = change(&g, 1, c, g.nr_sectors);
	ok(why && strstr(why, "2 to 16"), "one tier: %s", why);

	/* again and again, until there is no piece left */
	for (i = 0, why = NULL; i < 100 && !why; i++) {
		u32 k;

		for (k = 0; k < 3; k++)
			c[k] = (struct tier_change){ .was = k, .sectors = g.devs[k].sectors };
		c[i % 3].sectors += 128;
		old = g;
		why = change(&g, 3, c, g.nr_sectors);
		if (!why && !same_places(&old, &g, c))
			break;
	}
	ok(why && strstr(why, "pieces") && g.nr_extents == TIER_MAX_EXTENTS, "after %u changes: %s", i, why);
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
	for (i = 0; i < FX_NR_BLOCK_SIZES; i++) {
		if (fx_block_sizes[i] < TIER_MIN_TIERED_BLOCK_SECTORS)
			continue;
		test_tiered_new(fx_block_sizes[i]);
		test_take(fx_block_sizes[i]);
	}
	test_tiered_refused();
	test_tiered_check();
	test_change();
	return tap_done();
}
