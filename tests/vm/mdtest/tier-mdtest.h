/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device-mapper target that stores nothing: messages drive the metadata code on some devices.
 *
 * What transaction number n holds follows from the seed and n alone.  So whatever has been loaded
 * can be compared with what it should be, also after a crash, also by a module loaded anew.
 */
#ifndef TIER_MDTEST_H
#define TIER_MDTEST_H

#include "tier-metadata-internal.h"

/* Every so many transactions one clears all intents, so that a clean stop is possible. */
#define TIER_MODEL_ALIGN	50U

/**
 * struct tier_model - what the metadata should hold
 * @seed: that everything follows from
 * @txn: after this transaction
 * @nr_slots: that transactions touch, also the size of @records
 * @records: by slot
 * @intent: words
 */
struct tier_model {
	u32 seed;
	u64 txn;
	u32 nr_slots;
	struct tier_record *records;
	u64 intent[TIER_INTENT_WORDS];
};

/* the empty state; 0 or -ENOMEM */
int tier_model_reset(struct tier_model *m, u32 seed, u32 nr_slots);
void tier_model_free(struct tier_model *m);

/**
 * tier_model_next() - make the next transaction
 * @m: gets changed by it
 * @g: geometry
 * @capacity: entries at most
 * @md: the entries are added here, or NULL
 */
void tier_model_next(struct tier_model *m, const struct tier_geometry *g, u32 capacity,
		     struct tier_metadata *md);

/* hint of a slot at a clean stop after @txn */
u32 tier_model_hint(const struct tier_model *m, u64 txn, tier_slot_t slot);

#define TIER_MDTEST_DEVS	4U

/**
 * struct tier_format_args - what to format
 * @block_sectors: block size
 * @fast_sectors: pretended size
 * @slow_sectors: pretended size
 * @journal_blocks: size of the ring
 * @nr_tiers: tiered, on so many devices of the sizes they have, the last without header; 0: a cache
 */
struct tier_format_args {
	u32 block_sectors;
	u64 fast_sectors;
	u64 slow_sectors;
	u32 journal_blocks;
	u32 nr_tiers;
};

/* @devs: the fast one, or all tiers; @nr_slots gets their number.  0 or -errno */
int tier_mdtest_format(struct block_device *meta, struct block_device *const devs[],
		       const struct tier_format_args *args, u32 *nr_slots);

/* the target that fails writes */
int tier_mdtest_dev_init(void);
void tier_mdtest_dev_exit(void);

#endif /* TIER_MDTEST_H */
