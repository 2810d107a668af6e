/* SPDX-License-Identifier: GPL-2.0 */
/* A mode as a person types it. */
#ifndef TIER_TOOLS_MODE_WORD_H
#define TIER_TOOLS_MODE_WORD_H

#include "core/args.h"

/**
 * mode_word_parse() - read the name of a mode that a device can have
 * @word: name
 * @kind: TIER_KIND_CACHE: only the modes of a cache are told, though tiered is read, too
 * @mode: result
 * @why: TEXT_LEN bytes: says which there are, and which one may have been meant
 *
 * Return: 0 or -EINVAL.
 */
int mode_word_parse(const char *word, enum tier_kind kind, enum tier_mode *mode, char *why);

#endif /* TIER_TOOLS_MODE_WORD_H */
