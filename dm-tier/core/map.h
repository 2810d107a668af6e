/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The mapping in core: which slot holds which block, and which of its granules are valid and dirty.
 *
 * A hash table over the slots, chained through the slots themselves; free slots are chained through the
 * same field.  12 bytes a slot with one granule a block, 16 up to 16, 32 above, and 2 to 4 bytes of heads.
 *
 * Locking is the caller's: everything about a block, its chain included, under the lock of the block's
 * stripe (tier_map_stripe()); lists of free slots under a lock of their own.
 */
#ifndef TIER_MAP_H
#define TIER_MAP_H

#include <linux/hash.h>
#include "geometry.h"
#include "tier-types.h"

/* Slot flags in core; TIER_REC_FLAGS is what the metadata keep */
#define TIER_SLOT_MAPPED	TIER_REC_MAPPED
#define TIER_SLOT_PINNED	TIER_REC_PINNED
#define TIER_SLOT_GONE		BIT(6)	/* of what TIER_SLOT_WRITTEN stands for a granule became invalid */
#define TIER_SLOT_WRITTEN	BIT(7)	/* cache: written back, no commit since */
#define TIER_SLOT_FRESH		BIT(8)	/* no durable record and none in a commit names its block */
#define TIER_SLOT_CHANGED	BIT(9)	/* differs from the last snapshot */
#define TIER_SLOT_COMMITTING	BIT(10)	/* its snapshot is being written */
#define TIER_SLOT_EVICTED	BIT(11)	/* given up by the policy */
#define TIER_SLOT_TRACKED	BIT(12)	/* its fill is sampled */
#define TIER_SLOT_WB_FAILED	BIT(13)	/* the last write back failed */
#define TIER_SLOT_LOST		BIT(14)	/* a granule became invalid, and that may not be durable yet */
#define TIER_SLOT_SWITCHED	BIT(15)	/* its block came from another slot, and no commit has taken that up */

/* A slot's word: its block, for blocks of one granule whether that is valid and dirty, and from bit 48 on its flags */
#define TIER_WORD_VALID		BIT_ULL(46)
#define TIER_WORD_DIRTY		BIT_ULL(47)
#define TIER_WORD_FLAGS		48

static_assert(TIER_MAX_BLOCKS <= TIER_WORD_VALID);

struct tier_slot16 {
	u64 word;
	u32 next;
	u16 valid;
	u16 dirty;
};

struct tier_slot32 {
	u64 word;
	u32 next;
	u32 reserved;
	u64 valid;
	u64 dirty;
};

/**
 * struct tier_slot_list - unmapped slots, chained: a stack
 * @first: the one to be taken next
 * @nr: how many
 * @by_number: chained both ways, so that a certain slot can be taken, too; each slot can be on one such list only
 */
struct tier_slot_list {
	u32 first;
	u32 nr;
	bool by_number;
};

static inline void tier_slot_list_init(struct tier_slot_list *l, bool by_number)
{
	l->first = U32_MAX;
	l->nr = 0;
	l->by_number = by_number;
}

/**
 * struct tier_map - the mapping
 * @nr_slots: slots
 * @bucket_bits: log2 of the hash buckets
 * @stripe_mask: stripes - 1, at most buckets - 1
 * @heads: first slot of each bucket
 * @words: slots with one granule, or NULL
 * @next: their chains
 * @s16: slots with 2 to 16 granules, or NULL
 * @s32: slots with more, or NULL
 * @free: free slots
 */
struct tier_map {
	u32 nr_slots;
	u32 bucket_bits;
	u32 stripe_mask;
	u32 *heads;
	u64 *words;
	u32 *next;
	struct tier_slot16 *s16;
	struct tier_slot32 *s32;
	struct tier_slot_list free;
};

/**
 * tier_map_init() - make an empty mapping with all slots unmapped and none on the free list
 * @map: zeroed or garbage
 * @nr_slots: slots
 * @nr_granules: granules a block
 * @max_stripes: power of two
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM; then tier_map_exit() is still allowed.
 */
int tier_map_init(struct tier_map *map, u32 nr_slots, u32 nr_granules, u32 max_stripes);
void tier_map_exit(struct tier_map *map);

/* bytes that tier_map_init() allocates */
u64 tier_map_memory(u64 nr_slots, u32 nr_granules);

static inline u32 tier_map_bucket(const struct tier_map *map, tier_block_t block)
{
	return hash_64(tier_from_block(block), map->bucket_bits);
}

/* number of the stripe whose lock guards a block */
static inline u32 tier_map_stripe(const struct tier_map *map, tier_block_t block)
{
	return tier_map_bucket(map, block) & map->stripe_mask;
}

static inline u64 *tier_map_word(const struct tier_map *map, tier_slot_t slot)
{
	u32 s = tier_from_slot(slot);

	if (map->words)
		return &map->words[s];
	return map->s16 ? &map->s16[s].word : &map->s32[s].word;
}

static inline u32 *tier_map_next(const struct tier_map *map, tier_slot_t slot)
{
	u32 s = tier_from_slot(slot);

	if (map->words)
		return &map->next[s];
	return map->s16 ? &map->s16[s].next : &map->s32[s].next;
}

/* block of a mapped slot (of another one: anything); a racy look without the stripe's lock is allowed, and a guess */
static inline tier_block_t tier_slot_block(const struct tier_map *map, tier_slot_t slot)
{
	return tier_to_block(READ_ONCE(*tier_map_word(map, slot)) & (TIER_MAX_BLOCKS - 1));
}

static inline u32 tier_slot_flags(const struct tier_map *map, tier_slot_t slot)
{
	return READ_ONCE(*tier_map_word(map, slot)) >> TIER_WORD_FLAGS;
}

static inline void tier_slot_change_flags(const struct tier_map *map, tier_slot_t slot, u32 clear, u32 set)
{
	u64 *w = tier_map_word(map, slot);

	WRITE_ONCE(*w, (*w & ~((u64)clear << TIER_WORD_FLAGS)) | ((u64)set << TIER_WORD_FLAGS));
}

static inline u64 tier_slot_valid(const struct tier_map *map, tier_slot_t slot)
{
	u32 s = tier_from_slot(slot);

	if (map->words)
		return !!(READ_ONCE(map->words[s]) & TIER_WORD_VALID);
	return map->s16 ? map->s16[s].valid : map->s32[s].valid;
}

static inline u64 tier_slot_dirty(const struct tier_map *map, tier_slot_t slot)
{
	u32 s = tier_from_slot(slot);

	if (map->words)
		return !!(READ_ONCE(map->words[s]) & TIER_WORD_DIRTY);
	return map->s16 ? map->s16[s].dirty : map->s32[s].dirty;
}

static inline void tier_slot_set_granules(const struct tier_map *map, tier_slot_t slot, u64 valid, u64 dirty)
{
	u32 s = tier_from_slot(slot);

	if (map->words) {
		WRITE_ONCE(map->words[s], (map->words[s] & ~(TIER_WORD_VALID | TIER_WORD_DIRTY)) |
					  (valid ? TIER_WORD_VALID : 0) | (dirty ? TIER_WORD_DIRTY : 0));
	} else if (map->s16) {
		map->s16[s].valid = valid;
		map->s16[s].dirty = dirty;
	} else {
		map->s32[s].valid = valid;
		map->s32[s].dirty = dirty;
	}
}

/* slot of a block, or TIER_NO_SLOT */
static inline tier_slot_t tier_map_lookup(const struct tier_map *map, tier_block_t block)
{
	u32 s = map->heads[tier_map_bucket(map, block)];

	while (s != U32_MAX && tier_slot_block(map, tier_to_slot(s)) != block)
		s = *tier_map_next(map, tier_to_slot(s));
	return tier_to_slot(s);
}

/* chain an unmapped slot to a block that has none; flags become MAPPED | @flags, no granule valid */
void tier_map_insert(struct tier_map *map, tier_slot_t slot, tier_block_t block, u32 flags);

/* unchain a mapped slot; it is then unmapped and on no list */
void tier_map_remove(struct tier_map *map, tier_slot_t slot);

/* put an unmapped slot that is on no list on one; the caller holds the list's lock */
void tier_map_put(struct tier_map *map, struct tier_slot_list *l, tier_slot_t slot);

/* take one from a list, or TIER_NO_SLOT; the caller holds the list's lock */
tier_slot_t tier_map_take(struct tier_map *map, struct tier_slot_list *l);

/**
 * tier_map_take_slot() - take a certain slot from a list
 * @map: map
 * @l: list by number, of the only ones that @slot may be on; the caller holds its lock
 * @slot: any slot, mapped or not
 *
 * Return: false if it isn't there.
 */
bool tier_map_take_slot(struct tier_map *map, struct tier_slot_list *l, tier_slot_t slot);

#endif /* TIER_MAP_H */
