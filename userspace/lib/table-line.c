// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/args.h"
#include "audit.h"
#include "devices.h"
#include "mode-word.h"
#include "policy-words.h"
#include "table-line.h"
#include "text.h"

bool table_option(struct table_options *opt, int option, const char *value)
{
	switch (option) {
	case TABLE_OPT_MODE:
		opt->mode = value;
		return true;
	case TABLE_OPT_POLICY:
		opt->policy = value;
		return true;
	case TABLE_OPT_FEATURE:
		opt->features = text_append(opt->features, "%s ", value);
		return true;
	case TABLE_OPT_GROW:
		opt->grow = true;
		return true;
	}
	return false;
}

void table_options_free(struct table_options *opt)
{
	free(opt->features);
}

/* as long as the tiers given can hold, by the sizes that they have now */
static u64 usable_sectors(const struct tier_sb *sb, const struct bdev *devs, unsigned int nr, bool accept_new)
{
	const struct tier_geometry *g = &sb->geometry;
	bool headless = false;	/* found; of two that are as large, it does not matter which it is */
	u64 slots, usable = 0;
	unsigned int i;

	for (i = 0; i + 1 < nr; i++) {
		const struct bdev *dev = &devs[device_of_tier(i)];
		char ignored[TEXT_LEN];
		u64 sectors = dev->bytes / 512, start = TIER_DATA_START;
		int tier = audit_find_tier(sb, dev, ignored);
		u32 k;

		if (tier >= 0)
			start = g->devs[tier].data_start;
		for (k = 0; tier == -ENODATA && k < g->nr_devs && !headless; k++)
			if (g->devs[k].flags & TIER_DEV_NO_HEADER && (!accept_new || sectors == g->devs[k].sectors)) {
				headless = true;
				start = 0;
			}
		slots = sectors > start ? (sectors - start) >> g->block_shift : 0;
		if (slots >= TIER_MIN_TIER_SLOTS)
			usable += slots - tier_kept_slots(slots);
	}
	return usable << g->block_shift;
}

u64 table_sectors(const struct tier_sb *sb, const struct bdev *devs, unsigned int nr,
		  const struct table_options *opt)
{
	const struct bdev *ssd = &devs[DEV_SSD], *hdd = &devs[DEV_HDD];
	u32 unit = ssd->logical_bytes > hdd->logical_bytes ? ssd->logical_bytes : hdd->logical_bytes;
	u64 sectors = hdd->bytes / unit * (unit / 512);

	if (sb->geometry.exclusive)
		sectors = opt->grow ? usable_sectors(sb, devs, nr, table_feature(opt, "accept_new_tier")) : 0;
	return opt->grow && sectors > sb->geometry.nr_sectors ? sectors : sb->geometry.nr_sectors;
}

char **table_split(char *text, unsigned int *argc)
{
	char **argv = text_alloc(strlen(text) / 2 + 2, sizeof(*argv));
	char *from = text, *to;

	*argc = 0;
	for (;;) {
		while (isspace((unsigned char)*from))
			from++;
		if (!*from)
			break;
		argv[(*argc)++] = to = from;
		while (*from && !isspace((unsigned char)*from)) {
			if (*from == '\\' && from[1])
				from++;
			*to++ = *from++;
		}
		if (*from)
			from++;
		*to = '\0';
	}
	return argv;
}

/* a path as one word */
static char *quote(char *line, const char *path)
{
	for (; *path; path++) {
		if (isspace((unsigned char)*path) || *path == '\\')
			line = text_append(line, "\\%c", *path);
		else
			line = text_append(line, "%c", *path);
	}
	return text_append(line, " ");
}

/* @nr_first words @first and those of @text behind @line; with their number in front */
static char *append_words(char *line, const char *text, const char *first, unsigned int nr_first)
{
	char *copy = text_format("%s", text ? text : "");
	unsigned int argc, i;
	char **argv = table_split(copy, &argc);

	line = text_append(line, " %u", argc + nr_first);
	if (first)
		line = text_append(line, " %s", first);
	for (i = 0; i < argc; i++) {
		line = text_append(line, " ");
		line = quote(line, argv[i]);
		line[strlen(line) - 1] = '\0';
	}
	free(argv);
	free(copy);
	return line;
}

static int check_policy(const struct tier_args *args, char *why)
{
	char **words = text_alloc(args->policy_argc + 1, sizeof(*words));
	int r;

	words[0] = (char *)args->policy;
	memcpy(words + 1, args->policy_argv, args->policy_argc * sizeof(*words));
	r = policy_words_check(args->policy_argc + 1, words, why);
	free(words);
	return r;
}

static int accepted(const char *params, char *why)
{
	char *copy = text_format("%s", params);
	struct tier_args args;
	unsigned int argc;
	char **argv = table_split(copy, &argc);
	char error[TIER_ERROR_LEN] = "";
	int r;

	r = tier_args_parse(&args, argc, argv, error);
	if (r)
		text_why(why, 0, "%s", error[0] ? error : "the table line makes no sense");
	else
		r = check_policy(&args, why);
	free(argv);
	free(copy);
	return r;
}

bool table_feature(const struct table_options *opt, const char *word)
{
	char *copy = text_format("%s", opt->features ? opt->features : "");
	unsigned int argc, i;
	char **argv = table_split(copy, &argc);
	bool found = false;

	for (i = 0; i < argc; i++)
		found |= !strcmp(argv[i], word);
	free(argv);
	free(copy);
	return found;
}

const char *table_default_policy(const struct tier_sb *sb)
{
	return sb->geometry.exclusive ? TABLE_TIERED_POLICY : TABLE_DEFAULT_POLICY;
}

void table_warn_policy(const struct tier_sb *sb, const struct table_options *opt)
{
	char *copy = text_format("%s", opt->policy ? opt->policy : table_default_policy(sb));
	unsigned int argc;
	char **argv = table_split(copy, &argc);

	policy_words_warn(argc, argv);
	free(argv);
	free(copy);
}

/* the mode word, and further tiers */
static char *mode_words(const char *mode, char **paths, unsigned int nr)
{
	char *words = text_format("%s ", mode);
	unsigned int i;

	for (i = NR_DEVS; i < nr; i++)
		words = quote(text_append(words, "tier_dev "), paths[i]);
	words[strlen(words) - 1] = '\0';
	return words;
}

char *table_params(const struct tier_sb *sb, char **paths, unsigned int nr, const struct table_options *opt,
		   char *why)
{
	const char *policy = opt->policy ? opt->policy : table_default_policy(sb);
	enum tier_mode mode = sb->mode;
	char *line = NULL, *first;
	unsigned int i;
	size_t name;

	if (opt->mode && mode_word_parse(opt->mode, TIER_KIND_BOTH, &mode, why))
		return NULL;
	if (tier_mode_kind(mode) != tier_mode_kind(sb->mode)) {
		text_why(why, 0, "mode %s does not go with these metadata, which are those of a %s: format makes new ones",
			 opt->mode, sb->geometry.exclusive ? "tiered device" : "cache");
		return NULL;
	}
	for (i = 0; opt->grow && i < nr; i++)
		if (!strcmp(paths[i], TIER_MISSING)) {
			text_why(why, 0, "--grow does not go with a missing tier (" TIER_MISSING "): the device is read-only then");
			return NULL;
		}
	for (i = 0; i < NR_DEVS; i++)
		line = quote(line, paths[i]);
	line = text_append(line, "%u", sb->geometry.block_sectors);
	first = mode_words(tier_mode_name(mode), paths, nr);
	line = append_words(line, opt->features, first, 1 + 2 * (nr - NR_DEVS));
	free(first);
	policy += strspn(policy, " \t");
	name = strcspn(policy, " \t");
	line = text_append(line, " %.*s", (int)name, policy);
	line = append_words(line, policy + name, NULL, 0);
	if (accepted(line, why)) {
		free(line);
		return NULL;
	}
	return line;
}
