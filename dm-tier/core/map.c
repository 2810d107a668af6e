// SPDX-License-Identifier: GPL-2.0
/* The mapping in core: see map.h */
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include "map.h"

/* between a half and a whole bucket for each slot */
static u32 bucket_bits(u64 nr_slots)
{
	return nr_slots < 4 ? 1 : ilog2(nr_slots);
}

u64 tier_map_memory(u64 nr_slots, u32 nr_granules)
{
	u64 slot = sizeof(struct tier_slot32);

	if (nr_granules == 1)
		slot = sizeof(u64) + sizeof(u32);
	else if (nr_granules <= 16)
		slot = sizeof(struct tier_slot16);
	return nr_slots * slot + (sizeof(u32) << bucket_bits(nr_slots));
}

int tier_map_init(struct tier_map *map, u32 nr_slots, u32 nr_granules, u32 max_stripes)
{
	u32 nr_buckets, i;

	memset(map, 0, sizeof(*map));
	map->nr_slots = nr_slots;
	map->bucket_bits = bucket_bits(nr_slots);
	nr_buckets = 1U << map->bucket_bits;
	map->stripe_mask = min(nr_buckets, max_stripes) - 1;
	tier_slot_list_init(&map->free, false);
	map->heads = kvmalloc_array(nr_buckets, sizeof(*map->heads), GFP_KERNEL);
	if (!map->heads)
		return -ENOMEM;
	for (i = 0; i < nr_buckets; i++)
		map->heads[i] = U32_MAX;
	if (nr_granules == 1) {
		map->next = vzalloc(array_size(nr_slots, sizeof(*map->next)));
		if (map->next)
			map->words = vzalloc(array_size(nr_slots, sizeof(*map->words)));
	} else if (nr_granules <= 16) {
		map->s16 = vzalloc(array_size(nr_slots, sizeof(*map->s16)));
	} else {
		map->s32 = vzalloc(array_size(nr_slots, sizeof(*map->s32)));
	}
	return map->words || map->s16 || map->s32 ? 0 : -ENOMEM;
}

void tier_map_exit(struct tier_map *map)
{
	kvfree(map->heads);
	vfree(map->words);
	vfree(map->next);
	vfree(map->s16);
	vfree(map->s32);
	memset(map, 0, sizeof(*map));
}

void tier_map_insert(struct tier_map *map, tier_slot_t slot, tier_block_t block, u32 flags)
{
	u32 *head = &map->heads[tier_map_bucket(map, block)];

	*tier_map_next(map, slot) = *head;
	WRITE_ONCE(*tier_map_word(map, slot),
		   tier_from_block(block) | (u64)(TIER_SLOT_MAPPED | flags) << TIER_WORD_FLAGS);
	tier_slot_set_granules(map, slot, 0, 0);
	*head = tier_from_slot(slot);
}

void tier_map_remove(struct tier_map *map, tier_slot_t slot)
{
	u32 *link = &map->heads[tier_map_bucket(map, tier_slot_block(map, slot))];

	while (*link != tier_from_slot(slot))
		link = tier_map_next(map, tier_to_slot(*link));
	*link = *tier_map_next(map, slot);
	WRITE_ONCE(*tier_map_word(map, slot), 0);
	tier_slot_set_granules(map, slot, 0, 0);
}

/*
 * On a list by number, a slot's word is LISTED and the slot before it on the list.  That sets none of the flags, and
 * is 0 as soon as the slot is on no list.
 */
#define LISTED		BIT_ULL(32)

static void set_listed(struct tier_map *map, u32 slot, u64 word)
{
	if (slot != U32_MAX)
		WRITE_ONCE(*tier_map_word(map, tier_to_slot(slot)), word);
}

void tier_map_put(struct tier_map *map, struct tier_slot_list *l, tier_slot_t slot)
{
	*tier_map_next(map, slot) = l->first;
	if (l->by_number) {
		set_listed(map, l->first, LISTED | tier_from_slot(slot));
		set_listed(map, tier_from_slot(slot), LISTED | U32_MAX);
	}
	l->first = tier_from_slot(slot);
	WRITE_ONCE(l->nr, l->nr + 1);
}

tier_slot_t tier_map_take(struct tier_map *map, struct tier_slot_list *l)
{
	tier_slot_t slot = tier_to_slot(l->first);

	if (slot == TIER_NO_SLOT)
		return slot;
	l->first = *tier_map_next(map, slot);
	if (l->by_number) {
		set_listed(map, l->first, LISTED | U32_MAX);
		set_listed(map, tier_from_slot(slot), 0);
	}
	WRITE_ONCE(l->nr, l->nr - 1);
	return slot;
}

bool tier_map_take_slot(struct tier_map *map, struct tier_slot_list *l, tier_slot_t slot)
{
	u64 word = READ_ONCE(*tier_map_word(map, slot));
	u32 before = word, next;

	/* of a mapped slot it is above that: it has a flag */
	if (word >> 32 != LISTED >> 32)
		return false;
	next = *tier_map_next(map, slot);
	if (before == U32_MAX)
		l->first = next;
	else
		*tier_map_next(map, tier_to_slot(before)) = next;
	set_listed(map, next, LISTED | before);
	set_listed(map, tier_from_slot(slot), 0);
	WRITE_ONCE(l->nr, l->nr - 1);
	return true;
}
