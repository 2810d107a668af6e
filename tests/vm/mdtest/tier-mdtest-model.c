// SPDX-License-Identifier: GPL-2.0
/* What the metadata should hold, from a seed. */
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "tier-mdtest.h"

int tier_model_reset(struct tier_model *m, u32 seed, u32 nr_slots)
{
	tier_model_free(m);
	m->records = vzalloc(array_size(nr_slots, sizeof(*m->records)));
	if (!m->records)
		return -ENOMEM;
	m->seed = seed;
	m->nr_slots = nr_slots;
	return 0;
}

void tier_model_free(struct tier_model *m)
{
	vfree(m->records);
	memset(m, 0, sizeof(*m));
}

static u64 mix(u64 z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static u64 next_random(u64 *state)
{
	*state += 0x9e3779b97f4a7c15ULL;
	return mix(*state);
}

static u32 random_below(u64 *state, u32 limit)
{
	return (u32)next_random(state) % limit;
}

/* Mostly small, now and then as large as it goes. */
static u32 random_size(u64 *state, u32 capacity)
{
	switch (random_below(state, 32)) {
	case 0:
		return capacity;
	case 1:
	case 2:
		return 1 + random_below(state, capacity);
	}
	return 1 + random_below(state, 24);
}

/* The last block may be short: leave it out. */
static void random_record(u64 *state, const struct tier_geometry *g, struct tier_record *rec)
{
	memset(rec, 0, sizeof(*rec));
	if (random_below(state, 4) == 0)
		return;
	rec->flags = TIER_REC_MAPPED;
	if (random_below(state, 8) == 0)
		rec->flags |= TIER_REC_PINNED;
	rec->block = tier_to_block(random_below(state, (u32)g->nr_blocks - 1));
	rec->valid = next_random(state) & tier_granule_mask(0, g->nr_granules - 1);
	rec->dirty = next_random(state) & rec->valid;
	if (g->exclusive)
		rec->dirty = rec->valid;
}

static void put_slot(struct tier_model *m, const struct tier_geometry *g, u64 *state,
		     struct tier_metadata *md)
{
	u32 slot = random_below(state, m->nr_slots);

	random_record(state, g, &m->records[slot]);
	if (tier_slot_dev(g, tier_to_slot(slot)) == TIER_EXTENT_HOLE)
		memset(&m->records[slot], 0, sizeof(m->records[slot]));
	if (md)
		tier_metadata_add_slot(md, tier_to_slot(slot), &m->records[slot]);
}

static void put_intent(struct tier_model *m, u32 word, u64 bits, struct tier_metadata *md)
{
	m->intent[word] = bits;
	if (md)
		tier_metadata_add_intent(md, word, bits);
}

static u32 intent_words(const struct tier_geometry *g)
{
	return DIV_ROUND_UP(g->nr_regions, 64U);
}

static void clear_intents(struct tier_model *m, struct tier_metadata *md)
{
	u32 i;

	for (i = 0; i < TIER_INTENT_WORDS; i++)
		if (m->intent[i])
			put_intent(m, i, 0, md);
}

void tier_model_next(struct tier_model *m, const struct tier_geometry *g, u32 capacity,
		     struct tier_metadata *md)
{
	u64 state = mix(m->seed) + mix(m->txn + 1);
	u32 nr = random_size(&state, capacity);

	m->txn++;
	if (m->txn % TIER_MODEL_ALIGN == 0) {
		clear_intents(m, md);
		put_slot(m, g, &state, md);
		return;
	}
	while (nr--) {
		if (random_below(&state, 16))
			put_slot(m, g, &state, md);
		else
			/* whole words only: the last one may be partly out of range */
			put_intent(m, random_below(&state, max(intent_words(g), 2U) - 1),
				   next_random(&state), md);
	}
}

u32 tier_model_hint(const struct tier_model *m, u64 txn, tier_slot_t slot)
{
	return (u32)mix(m->seed + txn + tier_from_slot(slot) * 977ULL);
}
