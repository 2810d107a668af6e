/* SPDX-License-Identifier: GPL-2.0 */
/* The table line of a tier device, made and checked by the parser that the kernel uses. */
#ifndef TIER_TOOLS_TABLE_LINE_H
#define TIER_TOOLS_TABLE_LINE_H

#include <stdbool.h>

#include "bdev.h"
#include "core/codec.h"

#define TABLE_TARGET		"tier"
#define TABLE_DEFAULT_POLICY	"clock2q"
#define TABLE_TIERED_POLICY	"seqbypass next hotspot"	/* of tiered devices */

/**
 * struct table_options - what the metadata don't say
 * @mode: mode word, or NULL: the one last asked for
 * @policy: NAME [KEY VALUE]..., or NULL: the default
 * @features: further feature words, or NULL
 * @grow: the tier device becomes as large as the slow device, or as the tiers can hold
 */
struct table_options {
	const char *mode;
	const char *policy;
	char *features;
	bool grow;
};

/* for getopt_long(); the values are out of the way of everyone else's */
enum {
	TABLE_OPT_MODE = 512,
	TABLE_OPT_POLICY,
	TABLE_OPT_FEATURE,
	TABLE_OPT_GROW,
};

#define TABLE_OPTIONS							\
	{ "mode", required_argument, NULL, TABLE_OPT_MODE },		\
	{ "policy", required_argument, NULL, TABLE_OPT_POLICY },	\
	{ "feature", required_argument, NULL, TABLE_OPT_FEATURE },	\
	{ "grow", no_argument, NULL, TABLE_OPT_GROW }

#define TABLE_SYNOPSIS	"[--mode MODE] [--policy 'NAME [KEY VALUE]...'] [--feature 'WORD...'] [--grow]"

#define TABLE_HELP							\
"  --mode MODE      writeback, writethrough, writearound or passthrough, for a cache;\n"	\
"                   default: the one last asked for\n"			\
"  --policy POLICY  NAME [KEY VALUE]... as one word; default " TABLE_DEFAULT_POLICY ",\n"	\
"                   for tiered devices '" TABLE_TIERED_POLICY "'\n"	\
"  --feature WORDS  further features, as one word or in several options\n"	\
"  --grow           the HDD has grown, or there are more or larger tiers: so does the\n"	\
"                   tier device\n"

#define TABLE_MISSING_HELP						\
"- stands for a tier of a tiered device that is missing: the device is read-only then, and its data on the other\n"	\
"tiers can be read.\n"

/* take an option; false if it is none of those above */
bool table_option(struct table_options *opt, int option, const char *value);

void table_options_free(struct table_options *opt);

/**
 * table_feature() - is a feature among the options?
 * @opt: options
 * @word: feature
 */
bool table_feature(const struct table_options *opt, const char *word);

/**
 * table_warn_policy() - warn if a policy is none that the running kernel can have
 * @sb: superblock
 * @opt: options
 *
 * For lines that are not given to the kernel at once: it would have its own word for it.
 */
void table_warn_policy(const struct tier_sb *sb, const struct table_options *opt);

/**
 * table_params() - make the words behind the target's name
 * @sb: superblock
 * @paths: SSD, HDD, METADATA, further tiers; blanks and backslashes in them get quoted as device-mapper wants it
 * @nr: of @paths
 * @opt: options
 * @why: TEXT_LEN bytes
 *
 * Return: string, to be freed; NULL if the parser refuses it, then @why is its sentence.
 */
char *table_params(const struct tier_sb *sb, char **paths, unsigned int nr, const struct table_options *opt,
		   char *why);

/**
 * table_sectors() - length of the tier device
 * @sb: superblock
 * @devs: SSD, HDD, METADATA, further tiers, open
 * @nr: of @devs
 * @opt: options
 *
 * Return: sectors.
 */
u64 table_sectors(const struct tier_sb *sb, const struct bdev *devs, unsigned int nr,
		  const struct table_options *opt);

/* the policy of a table line without --policy */
const char *table_default_policy(const struct tier_sb *sb);

/**
 * table_split() - split words as device-mapper does: at blanks, a backslash quotes
 * @text: changed; the words point into it
 * @argc: number of words
 *
 * Return: the words, to be freed.
 */
char **table_split(char *text, unsigned int *argc);

#endif /* TIER_TOOLS_TABLE_LINE_H */
