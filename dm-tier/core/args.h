/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table line, the messages and the tunables of the core, as text.  Pure, any context.
 * Errors are sentences in a caller's buffer that name the offending word and say what would be right.
 */
#ifndef TIER_ARGS_H
#define TIER_ARGS_H

#include "tier-types.h"

#define TIER_MAX_POLICY_ARGS	64U
#define TIER_ERROR_LEN		384U
#define TIER_TUNABLES_LEN	768U	/* that tier_tunables_emit() needs at most */
#define TIER_MISSING		"-"	/* in place of the path of a tier that is missing */

/**
 * enum tier_kind - which of the two kinds of tier device; tunables and messages belong to one, or to both
 * @TIER_KIND_CACHE: in one of the cache modes
 * @TIER_KIND_TIERED: tiered
 * @TIER_KIND_BOTH: either, or it is not known which
 */
enum tier_kind {
	TIER_KIND_CACHE = 1,
	TIER_KIND_TIERED = 2,
	TIER_KIND_BOTH = 3,
};

static inline enum tier_kind tier_mode_kind(enum tier_mode mode)
{
	return mode == TIER_MODE_TIERED ? TIER_KIND_TIERED : TIER_KIND_CACHE;
}

/**
 * enum tier_tunable - tunables of the core: `set <key> <value>`, `<key> <value>` among the features
 * @TIER_TUNE_FILL: fill_sectors: "auto", 0 (populate only) or a power of two of sectors, 8 to 2048; default auto;
 *	cache only
 * @TIER_TUNE_DIRTY_HIGH: dirty_high: percent of the granules, 1-99; write back runs from here; default 50; cache only
 * @TIER_TUNE_DIRTY_LOW: dirty_low: percent, 0-98, below dirty_high; write back rests here unless idle; default 20;
 *	cache only
 * @TIER_TUNE_WB_RATE: writeback_rate: KiB/s at most, 0 = no cap; default 0; cache only
 * @TIER_TUNE_IDLE_MS: idle_ms: a slow device is idle after so long without foreground I/O, 0-3600000; default 500
 * @TIER_TUNE_MIG_RATE: migration_rate: KiB/s of promotions in the background, in tiered mode of all moves, 0 = none;
 *	default 10240
 * @TIER_TUNE_RESERVE: reserve_slots: free slots kept ready, 0 = by size; default 0; at most 1048576; cache only
 * @TIER_TUNE_COMMIT_MS: commit_ms: changed records are committed at the latest after so long, 10-60000; default 1000
 * @TIER_TUNE_MAX_ERRORS: max_errors: errors of the fast device in 60 s that turn the target degraded, in tiered mode
 *	of a tier that then gets nothing new for a while, 1-1000000; default 32
 * @TIER_TUNE_FREE_LOW: free_low, or of one tier free_low.<tier>: percent of a tier's slots, 0-98, below free_high;
 *	demotion from it starts when less are free; default 5; tiered only
 * @TIER_TUNE_FREE_HIGH: free_high, free_high.<tier>: percent, 1-99; it ends when so many are free; default 10; tiered
 *	only
 * @TIER_TUNE_SEQ_LANDING: sequential_landing: number of the tier, from 0, that sequential writes to blocks without a
 *	slot go to, 0-15; default 1; tiered only
 * @TIER_TUNE_MIGRATION: migration: when moves that nobody asked for are done: "continuous", "idle", "off", or a number
 *	of seconds from one round of them to the next, 1-86400; default continuous; tiered only
 * @TIER_TUNE_YIELD_MS: yield_ms: moves in the background rest while foreground requests took longer than that on
 *	average in the last half second, 0-60000, 0 = never; default 0; tiered only
 * @TIER_NR_TUNABLES: their number
 */
enum tier_tunable {
	TIER_TUNE_FILL,
	TIER_TUNE_DIRTY_HIGH,
	TIER_TUNE_DIRTY_LOW,
	TIER_TUNE_WB_RATE,
	TIER_TUNE_IDLE_MS,
	TIER_TUNE_MIG_RATE,
	TIER_TUNE_RESERVE,
	TIER_TUNE_COMMIT_MS,
	TIER_TUNE_MAX_ERRORS,
	TIER_TUNE_FREE_LOW,
	TIER_TUNE_FREE_HIGH,
	TIER_TUNE_SEQ_LANDING,
	TIER_TUNE_MIGRATION,
	TIER_TUNE_YIELD_MS,
	TIER_NR_TUNABLES,
};

#define TIER_FILL_AUTO		U32_MAX	/* value of TIER_TUNE_FILL */

/* values of TIER_TUNE_MIGRATION beside seconds */
#define TIER_MIGRATION_MAX	86400U
#define TIER_MIGRATION_OFF	(TIER_MIGRATION_MAX + 1)
#define TIER_MIGRATION_IDLE	(TIER_MIGRATION_MAX + 2)
#define TIER_MIGRATION_CONTINUOUS (TIER_MIGRATION_MAX + 3)

#define TIER_AS_ALL		U32_MAX	/* values of tier_tunables.free_low and .free_high: as all tiers */

/**
 * struct tier_tunables - values of the tunables
 * @kind: of the tier device
 * @nr_devs: tiers that there are; TIER_MAX_DEVS while that isn't known
 * @v: by enum tier_tunable; those of the other kind have their defaults
 * @free_low: free_low of single tiers, or TIER_AS_ALL
 * @free_high: free_high of single tiers, or TIER_AS_ALL
 */
struct tier_tunables {
	enum tier_kind kind;
	u32 nr_devs;
	u32 v[TIER_NR_TUNABLES];
	u32 free_low[TIER_MAX_DEVS];
	u32 free_high[TIER_MAX_DEVS];
};

void tier_tunables_default(struct tier_tunables *t, enum tier_kind kind);

u32 tier_free_low(const struct tier_tunables *t, u32 dev);	/* percent, of tier @dev */
u32 tier_free_high(const struct tier_tunables *t, u32 dev);

/**
 * tier_tunable_set() - set one by name
 * @t: unchanged on error, and changed at once: it may be read meanwhile
 * @key: name
 * @value: text
 * @error: TIER_ERROR_LEN bytes
 * Return: 0, -ENOENT (unknown key, no text in @error), -EINVAL, also for keys of the other kind.
 */
int tier_tunable_set(struct tier_tunables *t, const char *key, const char *value, char *error);

/**
 * tier_tunable_names() - what keys there are, as "key, key"
 * @kind: for which kind of tier device
 * @buf: gets them
 * @size: of @buf
 * Return: like scnprintf().
 */
int tier_tunable_names(enum tier_kind kind, char *buf, size_t size);

/* "key value" of those of its kind that differ from the default (@all: of all of its kind), separated by blanks,
 * like scnprintf(); @count gets the number of words
 */
int tier_tunables_emit(const struct tier_tunables *t, bool all, char *buf, size_t size, unsigned int *count);

const char *tier_mode_name(enum tier_mode mode);	/* "writeback" ... */
int tier_mode_parse(const char *word, enum tier_mode *mode);	/* 0 or -EINVAL */

/**
 * struct tier_args - a table line, parsed; the strings are those of argv
 * @fast: path or major:minor of the fast device
 * @slow: of the slow device
 * @meta: of the metadata device
 * @block_sectors: block size
 * @mode_given: a mode word is among the features
 * @mode: it, else writeback
 * @no_discard_passdown: feature
 * @accept_changed_slow: feature: start although the slow device was written to since the last clean stop
 * @accept_new_fast: feature: take in another fast device if nothing was dirty
 * @accept_new_tier: feature: tiered mode: take in blank devices as new tiers
 * @tunables: of the core
 * @nr_tier_devs: further tiers
 * @tier_devs: their paths, fastest first
 * @nr_missing: tiered mode: tiers with TIER_MISSING in place of a path, not all
 * @policy: name
 * @policy_argc: words that follow
 * @policy_argv: key value ..., possibly "next" NAME key value ...
 */
struct tier_args {
	const char *fast;
	const char *slow;
	const char *meta;
	u32 block_sectors;
	bool mode_given;
	enum tier_mode mode;
	bool no_discard_passdown;
	bool accept_changed_slow;
	bool accept_new_fast;
	bool accept_new_tier;
	struct tier_tunables tunables;
	unsigned int nr_tier_devs;
	const char *tier_devs[TIER_MAX_DEVS];
	unsigned int nr_missing;
	const char *policy;
	unsigned int policy_argc;
	char **policy_argv;
};

/**
 * tier_args_parse() - parse the words of a table line behind the target's name
 * @args: result
 * @argc: words
 * @argv: words
 * @error: TIER_ERROR_LEN bytes; what is wrong and what would be right
 *
 * <ssd> <hdd> <metadata> <block sectors> <#features> <feature>* <policy> <#policy args> <key value>*
 * Refuses missing, extra, non-numeric, overflowing and repeated words, what does not belong to the mode, the same
 * path twice.  It does not know if the table is read-only, which one with missing tiers has to be.
 * Return: 0 or -EINVAL.
 */
int tier_args_parse(struct tier_args *args, unsigned int argc, char **argv, char *error);

enum tier_message_op {
	TIER_MSG_MODE,		/* mode <mode> */
	TIER_MSG_FLUSH,		/* flush */
	TIER_MSG_POLICY,	/* policy <name> [key value]... [next name ...] */
	TIER_MSG_SET,		/* set <key> <value> */
	TIER_MSG_PROMOTE,	/* promote <first sector> <sectors> */
	TIER_MSG_DEMOTE,	/* demote <first sector> <sectors> */
	TIER_MSG_PIN,		/* pin <first sector> <sectors> */
	TIER_MSG_UNPIN,		/* unpin <first sector> <sectors> */
	TIER_MSG_INVALIDATE,	/* invalidate <first sector> <sectors> */
	TIER_MSG_MOVE,		/* move <tier> <first sector> <sectors> */
	TIER_MSG_WHERE,		/* where <first sector> <sectors> */
	TIER_MSG_KEEP,		/* keep <tier> */
	TIER_MSG_EVACUATE,	/* evacuate <tier> */
	TIER_MSG_SETTLE,	/* settle <tier> */
	TIER_MSG_STATS_RESET,	/* stats reset */
};

/* A message, parsed; the strings are those of argv */
struct tier_message {
	enum tier_message_op op;
	enum tier_mode mode;
	const char *key;	/* set; policy: name */
	const char *value;
	unsigned int argc;	/* policy: words behind the name */
	char **argv;
	u32 tier;		/* below TIER_MAX_DEVS; there may be no such tier */
	u64 first;
	u64 count;
};

/**
 * tier_message_parse() - parse a message
 * @m: result
 * @argc: words
 * @argv: words
 * @kind: of the tier device, messages of the other one are refused
 * @nr_sectors: of the tier device, ranges must lie in it
 * @error: TIER_ERROR_LEN bytes
 * Return: 0 or -EINVAL.
 */
int tier_message_parse(struct tier_message *m, unsigned int argc, char **argv, enum tier_kind kind, u64 nr_sectors,
		       char *error);

#endif /* TIER_ARGS_H */
