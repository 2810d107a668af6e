/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tunables of policies: a table of unsigned numbers with their ranges, set and printed in one
 * place.
 */
#ifndef TIER_TUNABLES_H
#define TIER_TUNABLES_H

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/string.h>
#include <linux/types.h>

/**
 * struct tunable - one tunable
 * @key: its name
 * @min: smallest value
 * @max: largest value
 * @def: value at creation
 */
struct tunable {
	const char *key;
	unsigned int min;
	unsigned int max;
	unsigned int def;
};

/* @values has one entry for each of the table's. */
static inline void tunables_init(const struct tunable *table, unsigned int nr, unsigned int *values)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		values[i] = table[i].def;
}

/* Readers use READ_ONCE() on their value: a change takes effect with the next decision. */
static inline int tunables_set(const struct tunable *table, unsigned int nr, unsigned int *values,
			       const char *key, const char *value)
{
	unsigned int i, v;

	for (i = 0; i < nr; i++) {
		if (strcmp(table[i].key, key))
			continue;
		if (kstrtouint(value, 10, &v) || v < table[i].min || v > table[i].max)
			return -EINVAL;
		WRITE_ONCE(values[i], v);
		return 0;
	}
	return -ENOENT;
}

/* Appends " key value" pairs without the first blank; adds to @count; returns the length. */
static inline int tunables_emit(const struct tunable *table, unsigned int nr,
				const unsigned int *values, char *buf, size_t size,
				unsigned int *count)
{
	unsigned int i;
	int len = 0;

	for (i = 0; i < nr; i++)
		len += scnprintf(buf + len, size - len, "%s%s %u", i ? " " : "", table[i].key,
				 READ_ONCE(values[i]));
	*count += 2 * nr;
	return len;
}

#endif /* TIER_TUNABLES_H */
