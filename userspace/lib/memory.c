// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "core/map.h"
#include "memory.h"
#include "policy-registry.h"
#include "text.h"

#define BITMAPS_PER_SLOT	3U		/* one bit a slot in each */
#define FIXED_BYTES		(40U << 10)	/* the target, its pools, the buffers of a commit */
#define POLICY_BYTES_PER_SLOT	24U		/* a guess for policies that can't be asked */

/*
 * The mapping (slots and hash heads), the bitmaps, the image of the journal, and what does not
 * depend on the size.
 */
u64 memory_core(const struct tier_geometry *g)
{
	u64 map = tier_map_memory(g->nr_slots, g->nr_granules);
	u64 bitmaps = BITMAPS_PER_SLOT * ((g->nr_slots + 63) / 64 * 8);
	u64 journal = g->journal_blocks * TIER_META_BLOCK_SIZE;

	return map + bitmaps + journal + FIXED_BYTES;
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
