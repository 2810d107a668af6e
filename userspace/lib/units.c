// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "units.h"

/* bytes of a unit; 0: unknown */
static u64 unit_bytes(const char *unit, u64 plain)
{
	static const char letters[] = "kmgtpe";
	const char *at;

	if (!*unit)
		return plain;
	if (!strcasecmp(unit, "b"))
		return 1;
	if (!strcasecmp(unit, "s"))
		return 512;
	at = strchr(letters, tolower((unsigned char)*unit));
	if (!at || (unit[1] && strcasecmp(unit + 1, "b") && strcasecmp(unit + 1, "ib")))
		return 0;
	return 1ULL << (10 * (at - letters + 1));
}

int units_parse(const char *text, u64 plain, u64 *bytes)
{
	u64 whole = 0, fraction = 0, scale = 1, unit, part;
	const char *s = text;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	for (; isdigit((unsigned char)*s); s++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, *s - '0', &whole))
			return -ERANGE;
	if (*s == '.') {
		if (!isdigit((unsigned char)*++s))
			return -EINVAL;
		for (; isdigit((unsigned char)*s); s++) {
			if (scale >= 1000000)
				return -EINVAL;
			fraction = fraction * 10 + (u64)(*s - '0');
			scale *= 10;
		}
	}
	unit = unit_bytes(s, plain);
	if (!unit)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, unit, &whole))
		return -ERANGE;
	/* fractions of large units only, rounded down to whole sectors */
	if (fraction && unit <= 512)
		return -EINVAL;
	part = (u64)((unsigned __int128)fraction * unit / scale) & ~511ULL;
	if (__builtin_add_overflow(whole, part, bytes))
		return -ERANGE;
	return 0;
}

int units_parse_sectors(const char *text, u64 plain, u64 *sectors)
{
	u64 bytes;
	int r = units_parse(text, plain, &bytes);

	if (r)
		return r;
	if (bytes % 512)
		return -EINVAL;
	*sectors = bytes / 512;
	return 0;
}
