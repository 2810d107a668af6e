/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A minimal core around a policy, for its tests: residency of slots and the victim callback.
 */
#ifndef TIER_POLICY_HARNESS_H
#define TIER_POLICY_HARNESS_H

#include <linux/err.h>
#include <linux/slab.h>
#include "policy-registry.h"
#include "tap.h"

struct harness {
	struct tier_policy *p;
	u32 nr_slots;
	u64 now;
	bool *resident;		/* per slot */
	bool *taken;		/* per slot: taken, not yet removed */
	bool *skip;		/* per slot: the core says SKIP */
	u32 *proposed;		/* per slot: how often */
	u64 *block;		/* per slot */
	u32 proposals;
	u32 stop_after;		/* proposals until STOP, 0: never */
	u32 bad;		/* proposals of slots that must not be proposed */
};

static inline void harness_init(struct harness *h, const char *line, u32 nr_slots)
{
	struct tier_policy_params params = {
		.nr_slots = nr_slots, .nr_blocks = 1ULL << 40, .block_sectors = 128, .seed = 7,
	};
	const char *error;

	memset(h, 0, sizeof(*h));
	h->p = tier_policy_chain_create_from(line, &params, &error);
	if (IS_ERR(h->p)) {
		printf("Bail out! %s: %s\n", line, error);
		exit(1);
	}
	h->nr_slots = nr_slots;
	h->resident = calloc(nr_slots, sizeof(*h->resident));
	h->taken = calloc(nr_slots, sizeof(*h->taken));
	h->skip = calloc(nr_slots, sizeof(*h->skip));
	h->proposed = calloc(nr_slots, sizeof(*h->proposed));
	h->block = calloc(nr_slots, sizeof(*h->block));
}

static inline void harness_exit(struct harness *h)
{
	tier_policy_chain_destroy(h->p);
	free(h->resident);
	free(h->taken);
	free(h->skip);
	free(h->proposed);
	free(h->block);
}

static inline struct tier_access harness_access(struct harness *h, u64 block, u32 flags)
{
	return (struct tier_access){
		.sector = block * 128, .sectors = 8, .flags = flags, .now = h->now
	};
}

static inline void harness_hit(struct harness *h, u32 slot)
{
	struct tier_access a = harness_access(h, h->block[slot], 0);

	h->p->type->hit(h->p, tier_to_slot(slot), &a);
}

static inline enum tier_admit harness_miss(struct harness *h, u64 block)
{
	struct tier_access a = harness_access(h, block, TIER_ACCESS_NEW);

	return h->p->type->miss(h->p, tier_to_block(block), &a);
}

static inline void harness_insert(struct harness *h, u64 block, u32 slot)
{
	struct tier_access a = harness_access(h, block, TIER_ACCESS_NEW);

	h->block[slot] = block;
	h->resident[slot] = true;
	h->p->type->inserted(h->p, tier_to_block(block), tier_to_slot(slot), &a);
}

static inline void harness_remove(struct harness *h, u32 slot, enum tier_removal why)
{
	h->resident[slot] = false;
	h->taken[slot] = false;
	h->p->type->removed(h->p, tier_to_block(h->block[slot]), tier_to_slot(slot), why);
}

static inline enum tier_verdict harness_take(void *context, tier_slot_t slot)
{
	struct harness *h = context;
	u32 s = tier_from_slot(slot);

	h->proposals++;
	if (s >= h->nr_slots || !h->resident[s] || h->taken[s]) {
		h->bad++;
		return TIER_VICTIM_STOP;
	}
	h->proposed[s]++;
	if (h->stop_after && h->proposals >= h->stop_after)
		return TIER_VICTIM_STOP;
	if (h->skip[s])
		return TIER_VICTIM_SKIP;
	h->taken[s] = true;
	return TIER_VICTIM_TAKE;
}

/* One call of victim(); the slot or -1. */
static inline long harness_victim(struct harness *h, u32 budget)
{
	tier_slot_t slot;

	h->proposals = 0;
	if (!h->p->type->victim(h->p, harness_take, h, budget, &slot))
		return -1;
	return tier_from_slot(slot);
}

/* Evicts one and removes it; the slot or -1. */
static inline long harness_evict(struct harness *h)
{
	long slot = harness_victim(h, 100000);

	if (slot >= 0)
		harness_remove(h, slot, TIER_REMOVED_EVICTED);
	return slot;
}

static inline void harness_fill(struct harness *h)
{
	u32 i;

	for (i = 0; i < h->nr_slots; i++) {
		harness_miss(h, 1000 + i);
		harness_insert(h, 1000 + i, i);
	}
}

static inline u64 test_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

#endif /* TIER_POLICY_HARNESS_H */
