// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <strings.h>

#include "mode-word.h"
#include "text.h"

/* what else people call them */
static const char * const nicknames[TIER_NR_MODES][2] = {
	[TIER_MODE_WRITEBACK] = { "wb", "write-back" },
	[TIER_MODE_WRITETHROUGH] = { "wt", "write-through" },
	[TIER_MODE_WRITEAROUND] = { "wa", "write-around" },
	[TIER_MODE_PASSTHROUGH] = { "pt", "pass-through" },
};

static bool may_mean(const char *word, enum tier_mode mode)
{
	const char * const *n = nicknames[mode];

	return n[0] && (!strcasecmp(word, n[0]) || !strcasecmp(word, n[1]) ||
			!strcasecmp(word, tier_mode_name(mode)));
}

int mode_word_parse(const char *word, enum tier_kind kind, enum tier_mode *mode, char *why)
{
	enum tier_mode meant;

	if (!tier_mode_parse(word, mode))
		return 0;
	for (meant = 0; meant < TIER_NR_MODES && !may_mean(word, meant);)
		meant++;
	return text_why(why, -EINVAL,
			"unknown mode '%.64s': it is writeback, writethrough, writearound%s%s%s", word,
			kind == TIER_KIND_CACHE ? " or passthrough" : ", passthrough or tiered",
			meant < TIER_NR_MODES ? "; maybe you mean " : "", meant < TIER_NR_MODES ? tier_mode_name(meant) : "");
}
