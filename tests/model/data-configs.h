/* SPDX-License-Identifier: GPL-2.0 */
/* Part of data.c: what is searched, and which configuration is to catch which mutant. */

enum { BLOCKS, FLUSHES, MODES, READS, DISCARDS, PARTS, SPLIT };

static const struct config configs[] = {
	[BLOCKS] = {
		"two blocks, one slot", MODEL_SMALL, .blocks = 2, .units = 1, .per_granule = 1, .slots = 1, .ops = 2,
		.tokens = 2, .region_shift = 1, .part = 2, .modes = MODE(WB), .can = CAN_FILL | CAN_EVICT },
	[FLUSHES] = {
		"flushes and FUA", MODEL_SMALL, .blocks = 1, .units = 1, .per_granule = 1, .slots = 1, .ops = 2,
		.tokens = 3, .region_shift = 1, .part = 2, .modes = MODE(WB),
		.can = CAN_EVICT | CAN_FLUSH | CAN_FUA | CAN_BYPASS },
	[MODES] = {
		"modes", MODEL_SMALL, .blocks = 1, .units = 1, .per_granule = 1, .slots = 1, .ops = 2,
		.tokens = 2, .region_shift = 1, .part = 2, .modes = MODE(WB) | MODE(WT) | MODE(WA) | MODE(PT),
		.can = CAN_FILL | CAN_EVICT | CAN_BYPASS | CAN_FUA },
	[READS] = {
		"reads that take time", MODEL_SMALL, .blocks = 2, .units = 1, .per_granule = 1, .slots = 1, .ops = 2,
		.tokens = 2, .region_shift = 1, .part = 2, .modes = MODE(WB), .can = CAN_READ | CAN_EVICT },
	[DISCARDS] = {
		"discard", MODEL_SMALL, .blocks = 1, .units = 1, .per_granule = 1, .slots = 1, .ops = 2,
		.tokens = 2, .region_shift = 1, .part = 2, .modes = MODE(WB) | MODE(WT),
		.can = CAN_FILL | CAN_EVICT | CAN_DISCARD },
	[PARTS] = {
		"parts of granules", MODEL_SMALL, .blocks = 1, .units = 2, .per_granule = 2, .slots = 1, .ops = 2,
		.tokens = 2, .region_shift = 1, .part = 2, .modes = MODE(WB) | MODE(WT),
		.can = CAN_PART | CAN_EVICT },
	[SPLIT] = {
		"two slots, a commit in parts", MODEL_BIG, .blocks = 2, .units = 1, .per_granule = 1, .slots = 2,
		.ops = 1, .tokens = 2, .region_shift = 1, .part = 1, .modes = MODE(WB), .can = CAN_EVICT },

	{ "two granules", MODEL_BIG, .blocks = 1, .units = 2, .per_granule = 1, .slots = 1, .ops = 2,
	  .tokens = 2, .region_shift = 1, .part = 2, .modes = MODE(WB), .can = CAN_FILL | CAN_EVICT },
	{ "three versions", MODEL_BIG, .blocks = 2, .units = 1, .per_granule = 1, .slots = 1, .ops = 2,
	  .tokens = 3, .region_shift = 1, .part = 2, .modes = MODE(WB), .can = CAN_FILL | CAN_EVICT },
	{ "three operations", MODEL_BIG, .blocks = 1, .units = 1, .per_granule = 1, .slots = 1, .ops = 3,
	  .tokens = 3, .region_shift = 1, .part = 2, .modes = MODE(WB) | MODE(WT) | MODE(WA) | MODE(PT),
	  .can = CAN_FILL | CAN_EVICT | CAN_BYPASS | CAN_READ | CAN_FUA | CAN_FLUSH },
	{ "discard, two granules", MODEL_BIG, .blocks = 1, .units = 2, .per_granule = 1, .slots = 1, .ops = 1,
	  .tokens = 2, .region_shift = 1, .part = 2, .modes = MODE(WB) | MODE(WT),
	  .can = CAN_EVICT | CAN_DISCARD },
	{ "two slots", MODEL_BIG, .blocks = 2, .units = 1, .per_granule = 1, .slots = 2, .ops = 2,
	  .tokens = 2, .region_shift = 1, .part = 1, .modes = MODE(WB), .can = CAN_EVICT },
	{ "two slots, two regions", MODEL_BIG, .blocks = 2, .units = 1, .per_granule = 1, .slots = 2, .ops = 1,
	  .tokens = 2, .region_shift = 0, .part = 2, .modes = MODE(WB), .can = CAN_FILL | CAN_EVICT },
};

static const u8 catches[NR_MUTANTS] = {
	[M_NO_MARK_BOTH] = MODES,
	[M_FRESH_TRUSTED] = BLOCKS,
	[M_UNMARK_FIRST] = SPLIT,
	[M_PAST_COPY] = MODES,
	[M_FREE_BUSY] = READS,
	[M_FREE_USED] = BLOCKS,
	[M_FUA_NO_COMMIT] = FLUSHES,
	[M_FUA_COMMITTING] = FLUSHES,
	[M_FUA_SLOW] = FLUSHES,
	[M_FLUSH_COMMITTING] = FLUSHES,
	[M_FLUSH_CHANGED] = FLUSHES,
	[M_FLUSH_FLUSHING] = FLUSHES,
	[M_DISCARD_EARLY] = DISCARDS,
	[M_DISCARD_COPIES] = DISCARDS,
	/* all others: BLOCKS */
};
