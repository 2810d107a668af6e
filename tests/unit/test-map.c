// SPDX-License-Identifier: GPL-2.0
/* The mapping in core, against a simple array, at every granule count. */
#include <linux/random.h>
#include "map.h"
#include "tap.h"

#define NR_SLOTS	500
#define NR_BLOCKS	3000

static u32 rng = 1;

static u32 rnd(u32 below)
{
	rng = rng * 1664525 + 1013904223;
	return (u64)(rng >> 8) * below >> 24;
}

static void test_random(u32 nr_granules)
{
	static u32 slot_of[NR_BLOCKS], block_of[NR_SLOTS];
	static u64 valid[NR_SLOTS], dirty[NR_SLOTS];
	u64 all = tier_granule_mask(0, nr_granules - 1);
	struct tier_map map;
	u32 i, b, nr_free = NR_SLOTS;
	bool good = true;

	is(tier_map_init(&map, NR_SLOTS, nr_granules, 64), 0, "%u granules: init", nr_granules);
	for (i = 0; i < NR_BLOCKS; i++)
		slot_of[i] = U32_MAX;
	for (i = NR_SLOTS; i--;)
		tier_map_put(&map, &map.free, tier_to_slot(i));
	is(map.free.nr, NR_SLOTS, "%u granules: all free", nr_granules);
	for (i = 0; i < 200000; i++) {
		tier_slot_t slot;

		b = rnd(NR_BLOCKS);
		slot = tier_map_lookup(&map, tier_to_block(b));
		good &= tier_from_slot(slot) == slot_of[b];
		if (slot == TIER_NO_SLOT) {
			slot = tier_map_take(&map, &map.free);
			good &= (slot == TIER_NO_SLOT) == !nr_free;
			if (slot == TIER_NO_SLOT) {
				/* full: give one up */
				slot = tier_to_slot(rnd(NR_SLOTS));
				slot_of[block_of[tier_from_slot(slot)]] = U32_MAX;
				tier_map_remove(&map, slot);
				good &= !tier_slot_flags(&map, slot);
				tier_map_put(&map, &map.free, slot);
				nr_free++;
				continue;
			}
			nr_free--;
			tier_map_insert(&map, slot, tier_to_block(b), TIER_SLOT_FRESH);
			slot_of[b] = tier_from_slot(slot);
			block_of[slot_of[b]] = b;
			valid[slot_of[b]] = dirty[slot_of[b]] = 0;
		}
		good &= tier_slot_block(&map, slot) == tier_to_block(b);
		good &= tier_slot_valid(&map, slot) == valid[tier_from_slot(slot)];
		good &= tier_slot_dirty(&map, slot) == dirty[tier_from_slot(slot)];
		valid[tier_from_slot(slot)] = (((u64)rnd(1 << 24) << 40) ^ ((u64)rnd(1 << 24) << 20) ^ rnd(1 << 24)) & all;
		dirty[tier_from_slot(slot)] = valid[tier_from_slot(slot)] & rnd(1 << 24);
		tier_slot_set_granules(&map, slot, valid[tier_from_slot(slot)], dirty[tier_from_slot(slot)]);
		tier_slot_change_flags(&map, slot, TIER_SLOT_FRESH, TIER_SLOT_PINNED);
		good &= tier_slot_flags(&map, slot) == (TIER_SLOT_MAPPED | TIER_SLOT_PINNED);
		good &= map.free.nr == nr_free;
	}
	ok(good, "%u granules: 200000 random steps agree with an array", nr_granules);
	tier_map_exit(&map);
}

/* free slots of a list by number, and what is known of them: taken from the top, or a certain one */
static void test_by_number(u32 nr_granules)
{
	static bool on[NR_SLOTS], mapped[NR_SLOTS];
	struct tier_slot_list list, other;
	struct tier_map map;
	tier_slot_t slot;
	bool good = true;
	u32 i, n, nr = 0;

	is(tier_map_init(&map, NR_SLOTS, nr_granules, 64), 0, "by number: init");
	memset(on, 0, sizeof(on));
	memset(mapped, 0, sizeof(mapped));
	tier_slot_list_init(&list, true);
	tier_slot_list_init(&other, false);
	for (i = 0; i < 200000; i++) {
		n = rnd(NR_SLOTS);
		slot = tier_to_slot(n);
		switch (rnd(4)) {
		case 0:		/* given back, or unmapped to be so later */
			if (on[n])
				break;
			if (mapped[n])
				tier_map_remove(&map, slot);
			mapped[n] = false;
			if (rnd(3)) {
				tier_map_put(&map, &list, slot);
				on[n] = true;
				nr++;
			}
			break;
		case 1:		/* the top */
			slot = tier_map_take(&map, &list);
			good &= (slot == TIER_NO_SLOT) == !nr;
			if (slot == TIER_NO_SLOT)
				break;
			n = tier_from_slot(slot);
			good &= on[n] && !tier_slot_flags(&map, slot);
			on[n] = false;
			nr--;
			tier_map_insert(&map, slot, tier_to_block(n), 0);
			mapped[n] = true;
			break;
		case 2:		/* this one */
			good &= tier_map_take_slot(&map, &list, slot) == on[n];
			nr -= on[n];
			on[n] = false;
			break;
		default:	/* on another list in between */
			if (on[n] || mapped[n])
				break;
			tier_map_put(&map, &other, slot);
			good &= !tier_map_take_slot(&map, &list, slot);
			good &= tier_map_take(&map, &other) == slot;
		}
		good &= list.nr == nr;
	}
	while ((slot = tier_map_take(&map, &list)) != TIER_NO_SLOT) {
		good &= on[tier_from_slot(slot)];
		on[tier_from_slot(slot)] = false;
		nr--;
	}
	ok(good && !nr, "by number: 200000 random steps agree with an array");
	tier_map_exit(&map);
}

int main(void)
{
	struct tier_map map;
	u32 n;

	test_by_number(1);
	test_by_number(16);
	test_by_number(64);
	for (n = 1; n <= 64; n *= 2)
		test_random(n);

	is(tier_map_init(&map, 1, 1, 1024), 0, "one slot: init");
	tier_map_put(&map, &map.free, tier_to_slot(0));
	tier_map_insert(&map, tier_map_take(&map, &map.free), tier_to_block(TIER_MAX_BLOCKS - 1), 0);
	is(tier_from_slot(tier_map_lookup(&map, tier_to_block(TIER_MAX_BLOCKS - 1))), 0,
	   "one slot: the highest block is found");
	is(tier_from_block(tier_slot_block(&map, tier_to_slot(0))), TIER_MAX_BLOCKS - 1, "one slot: its number is whole");
	is(tier_map_lookup(&map, tier_to_block(0)), TIER_NO_SLOT, "one slot: another block is not");
	is(tier_map_take(&map, &map.free), TIER_NO_SLOT, "one slot: no second one");
	tier_map_exit(&map);

	is(tier_map_memory(1 << 20, 1), (12 << 20) + (4 << 20), "memory: 16 bytes a slot with one granule");
	is(tier_map_memory(1 << 20, 2), (16 << 20) + (4 << 20), "memory: 20 bytes a slot with two");
	is(tier_map_memory(1 << 20, 16), (16 << 20) + (4 << 20), "memory: 20 bytes a slot up to 16 granules");
	is(tier_map_memory(3 << 19, 16), (16ULL * 3 << 19) + (4 << 20), "memory: heads between a half and one a slot");
	is(tier_map_memory(1 << 20, 64), (32 << 20) + (4 << 20), "memory: 36 bytes a slot above");

	is(tier_granule_mask(0, 63), U64_MAX, "granule mask: all");
	is(tier_granule_mask(63, 63), 1ULL << 63, "granule mask: the last");
	is(tier_granule_mask(3, 5), 0x38, "granule mask: some");
	return tap_done();
}
