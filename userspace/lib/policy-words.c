// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
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

int policy_words_check(unsigned int argc, char **argv, char *why)
{
	struct tier_policy *p;
	const char *error = NULL;

	p = tier_policy_chain_create((int)argc, (const char * const *)argv, &trial, &error);
	if (!IS_ERR(p)) {
		tier_policy_chain_destroy(p);
		return 0;
	}
	if (PTR_ERR(p) == -ENOENT)
		return 0;
	text_why(why, 0, "%s", error ? error : "the policy cannot be made");
	add_help(argc, argv, why);
	return -EINVAL;
}
