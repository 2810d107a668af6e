// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "core/map.h"
#include "memory.h"
#include "policy-registry.h"
#include "text.h"

#define POLICY_BYTES_PER_SLOT	24U		/* a guess for policies that can't be asked */

/* Sizes of the kernel's own structures, 64-bit; tests/vm/cases/memory.sh compares the sum with a kernel */
#define STRIPE_BYTES		64U		/* struct tier_stripe, a cache line */
#define MAX_STRIPES		1024U
#define REGION_BYTES		8U		/* struct tier_region */
#define MAX_WB_REGIONS		16384U		/* a counter of 4 bytes each */
#define SNAPSHOT_BYTES		40U		/* struct tier_snapshot */
#define MAX_SNAPSHOT		8192U
#define FILL_BYTES		(64U << 10)	/* struct tier_fill at most */
#define CHECKPOINT_PAGES	128U		/* both copies of 64 pages */
#define MAX_TXN_BLOCKS		64U
#define FIXED_BYTES		(48U << 10)	/* struct tier and struct tier_metadata */

/* what is there once, whatever the number of slots */
static u64 fixed_core(const struct tier_geometry *g)
{
	u64 txn_blocks = min(g->journal_blocks / 4, (u64)MAX_TXN_BLOCKS);
	u64 entries = (u64)TIER_JOURNAL_SECTORS_PER_BLOCK * g->entries_per_jsector;	/* in a block */
	u64 bytes = FIXED_BYTES + FILL_BYTES;

	bytes += min(g->nr_slots, (u64)MAX_STRIPES) * STRIPE_BYTES;
	bytes += (u64)g->nr_regions * REGION_BYTES;
	bytes += min(g->nr_blocks, (u64)MAX_WB_REGIONS) * sizeof(u32);
	bytes += min(txn_blocks * entries, (u64)MAX_SNAPSHOT) * SNAPSHOT_BYTES;
	/* the journal's image, and a key for each entry in it when it is sorted */
	bytes += g->journal_blocks * (TIER_META_BLOCK_SIZE + entries * sizeof(u64));
	bytes += (txn_blocks + CHECKPOINT_PAGES) * TIER_META_BLOCK_SIZE;
	return bytes;
}

/* The mapping (slots and hash heads), a bitmap of what changed, and what does not depend on the slots. */
u64 memory_core(const struct tier_geometry *g)
{
	return tier_map_memory(g->nr_slots, g->nr_granules) + (g->nr_slots + 63) / 64 * 8 + fixed_core(g);
}

/* memory of the policies named; false if one of them is unknown here */
static bool ask_policies(char *words, const struct tier_policy_params *params, u64 *bytes)
{
	struct tier_policy_type *type;
	char *word, *save = NULL;

	for (word = strtok_r(words, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		type = tier_policy_find(word);
		if (!type || !type->memory)
			return false;
		*bytes += type->memory(params);
		/* a key and its value, or "next" and another name */
		while ((word = strtok_r(NULL, " \t", &save)) && strcmp(word, "next"))
			strtok_r(NULL, " \t", &save);
		if (!word)
			break;
	}
	return true;
}

u64 memory_policy(const char *policy, const struct tier_geometry *g, bool *exact)
{
	struct tier_policy_params params = {
		.nr_slots = (u32)g->nr_slots,
		.nr_blocks = g->nr_blocks,
		.block_sectors = g->block_sectors,
	};
	char *words = text_format("%s", policy);
	u64 bytes = 0;

	*exact = ask_policies(words, &params, &bytes);
	free(words);
	return *exact ? bytes : g->nr_slots * POLICY_BYTES_PER_SLOT;
}
