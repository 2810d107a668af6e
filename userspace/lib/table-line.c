// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/args.h"
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

u64 table_sectors(const struct tier_sb *sb, const struct bdev *ssd, const struct bdev *hdd,
		  const struct table_options *opt)
{
	u32 unit = ssd->logical_bytes > hdd->logical_bytes ? ssd->logical_bytes : hdd->logical_bytes;
	u64 sectors = hdd->bytes / unit * (unit / 512);

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

/* the words of @text behind @line; with their number in front */
static char *append_words(char *line, const char *text, const char *first)
{
	char *copy = text_format("%s", text ? text : "");
	unsigned int argc, i;
	char **argv = table_split(copy, &argc);

	line = text_append(line, " %u", argc + !!first);
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

void table_warn_policy(const struct table_options *opt)
{
	char *copy = text_format("%s", opt->policy ? opt->policy : TABLE_DEFAULT_POLICY);
	unsigned int argc;
	char **argv = table_split(copy, &argc);

	policy_words_warn(argc, argv);
	free(argv);
	free(copy);
}

char *table_params(const struct tier_sb *sb, char **paths, const struct table_options *opt,
		   char *why)
{
	const char *mode = opt->mode ? opt->mode : tier_mode_name(sb->mode);
	const char *policy = opt->policy ? opt->policy : TABLE_DEFAULT_POLICY;
	enum tier_mode ignored;
	size_t name;
	char *line = NULL;
	unsigned int i;

	if (opt->mode && mode_word_parse(opt->mode, &ignored, why))
		return NULL;
	for (i = 0; i < 3; i++)
		line = quote(line, paths[i]);
	line = text_append(line, "%u", sb->geometry.block_sectors);
	line = append_words(line, opt->features, mode);
	policy += strspn(policy, " \t");
	name = strcspn(policy, " \t");
	line = text_append(line, " %.*s", (int)name, policy);
	line = append_words(line, policy + name, NULL);
	if (accepted(line, why)) {
		free(line);
		return NULL;
	}
	return line;
}
