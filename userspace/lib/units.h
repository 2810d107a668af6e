/* SPDX-License-Identifier: GPL-2.0 */
/* Sizes as people type them: 64k, 10g, 1.5t, 2048s, 4096b. */
#ifndef TIER_TOOLS_UNITS_H
#define TIER_TOOLS_UNITS_H

#include <linux/types.h>

/**
 * units_parse() - read a size
 * @text: digits, perhaps with a fraction, then perhaps a unit: b (bytes), s (512-byte sectors), k,
 *m, g, t, p, e (powers of 1024), in either case; "kib", "kb" and so on are the same as "k"
 * @plain: bytes that a number without a unit counts: 1 or 512
 * @bytes: result
 *
 * Return: 0, -EINVAL (no size, or a fraction of a byte), -ERANGE (beyond 64 bits).
 */
int units_parse(const char *text, u64 plain, u64 *bytes);

/**
 * units_parse_sectors() - read a size that must be whole sectors
 * @text: as in units_parse()
 * @plain: as in units_parse()
 * @sectors: result
 *
 * Return: as units_parse(), -EINVAL also if it is no multiple of 512.
 */
int units_parse_sectors(const char *text, u64 plain, u64 *sectors);

#endif /* TIER_TOOLS_UNITS_H */
