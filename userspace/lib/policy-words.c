// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <linux/err.h>

#include "policy-registry.h"
#include "policy-words.h"
#include "text.h"

/* what a trial is made for: enough for any bound of a tunable, and small */
static const struct tier_policy_params trial = {
	.nr_slots = 4096,
	.nr_blocks = 1U << 20,
	.block_sectors = 128,
	.seed = 1,
};

/* help of the policies that were named, so that what would be right can be read off */
static void add_help(unsigned int argc, char **argv, char *why)
{
	struct tier_policy_type *type;
	size_t used = strlen(why);
	unsigned int i;

	for (i = 0; i < argc; i++) {
		type = i == 0 || !strcmp(argv[i - 1], "next") ? tier_policy_find(argv[i]) : NULL;
		if (!type || !type->tunables_help || !*type->tunables_help || used >= TEXT_LEN)
			continue;
		snprintf(why + used, TEXT_LEN - used, "%stunables of %s:\n%s",
			 why[used - 1] == '\n' ? "" : "\n", type->name, type->tunables_help);
		used = strlen(why);
	}
	if (why[used - 1] == '\n')
		why[used - 1] = '\0';
}

int policy_words_try(unsigned int argc, char **argv, char *why)
{
	struct tier_policy *p;
	const char *error = NULL;

	p = tier_policy_chain_create((int)argc, (const char * const *)argv, &trial, &error);
	if (!IS_ERR(p)) {
		tier_policy_chain_destroy(p);
		return 0;
	}
	text_why(why, 0, "%s", error ? error : "the policy cannot be made");
	if (PTR_ERR(p) == -ENOENT)
		return -ENOENT;
	add_help(argc, argv, why);
	return -EINVAL;
}

int policy_words_check(unsigned int argc, char **argv, char *why)
{
	int r = policy_words_try(argc, argv, why);

	return r == -ENOENT ? 0 : r;
}

/* ---- policies that come as modules of others ---- */

/* in names of modules - and _ are the same */
static void underscores(char *s)
{
	for (; *s; s++)
		if (*s == '-')
			*s = '_';
}

/* does a line of modules.* have the text, right before one of the characters @end? */
static bool line_has(const char *line, const char *text, const char *end)
{
	const char *at = strstr(line, text);

	return at && at[strlen(text)] && strchr(end, at[strlen(text)]);
}

static bool file_has(const char *release, const char *name, const char *text, const char *end)
{
	char *path = text_format("/lib/modules/%s/%s", release, name), *line = NULL;
	FILE *f = fopen(path, "re");
	bool found = false;
	size_t size = 0;

	free(path);
	if (!f)
		return false;
	while (!found && getline(&line, &size, f) > 0) {
		underscores(line);
		found = line_has(line, text, end);
	}
	free(line);
	fclose(f);
	return found;
}

/* can the running kernel have the module that it would ask for? */
static bool module_there(const char *policy, const char *release)
{
	char *sys = text_format("/sys/module/dm_tier_%s", policy);
	char *file = text_format("/dm_tier_%s", policy);
	char *alias = text_format("alias dm_tier_%s", policy);
	bool there;

	underscores(sys);
	underscores(file);
	underscores(alias);
	there = !access(sys, F_OK) || file_has(release, "modules.dep", file, ".") ||
		file_has(release, "modules.builtin", file, ".") ||
		file_has(release, "modules.alias", alias, " ");
	free(sys);
	free(file);
	free(alias);
	return there;
}

static bool kernel_has(const char *policy, const char *release)
{
	static const char * const own[] = { "default", "builtin" };
	unsigned int i;

	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcmp(policy, own[i]))
			return true;
	return tier_policy_find(policy) || module_there(policy, release);
}

void policy_words_warn(unsigned int argc, char **argv)
{
	struct tier_policy_type *type;
	char *known = text_format("default");
	struct utsname u;
	unsigned int i;

	for (i = 0; (type = tier_policy_nth(i)); i++)
		known = text_append(known, ", %s", type->name);
	for (i = 0; !uname(&u) && i < argc; i++)
		if ((i == 0 || (i % 2 == 0 && !strcmp(argv[i - 1], "next"))) &&
		    !kernel_has(argv[i], u.release))
			text_warn("unknown policy '%s': kernel %s has no module dm-tier-%s and will refuse it; known are %s",
				  argv[i], u.release, argv[i], known);
	free(known);
}
