/* SPDX-License-Identifier: GPL-2.0 */
/* The C library's string functions and what the kernel has more of. */
#ifndef SHIM_LINUX_STRING_H
#define SHIM_LINUX_STRING_H

#include <errno.h>
#include <string.h>
#include <linux/types.h>

/* First byte that is not c, or NULL */
static inline void *memchr_inv(const void *start, int c, size_t bytes)
{
	const unsigned char *p = start;

	if (!bytes)
		return NULL;
	if (*p != (unsigned char)c)
		return (void *)p;
	/* all equal exactly if each equals its predecessor */
	if (!memcmp(p, p + 1, bytes - 1))
		return NULL;
	while (*p == (unsigned char)c)
		p++;
	return (void *)p;
}

static inline ssize_t strscpy(char *dest, const char *src, size_t count)
{
	size_t len;

	if (!count)
		return -E2BIG;
	len = strnlen(src, count);
	if (len == count) {
		memcpy(dest, src, count - 1);
		dest[count - 1] = '\0';
		return -E2BIG;
	}
	memcpy(dest, src, len + 1);
	return len;
}

static inline ssize_t strscpy_pad(char *dest, const char *src, size_t count)
{
	ssize_t len = strscpy(dest, src, count);

	if (len >= 0 && (size_t)len + 1 < count)
		memset(dest + len + 1, 0, count - len - 1);
	return len;
}

static inline bool sysfs_streq(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b || (!*a && *b == '\n' && !b[1]) || (*a == '\n' && !a[1] && !*b);
}

static inline int match_string(const char *const *array, size_t n, const char *string)
{
	size_t i;

	for (i = 0; i < n && array[i]; i++)
		if (!strcmp(array[i], string))
			return (int)i;
	return -EINVAL;
}

static inline bool strstarts(const char *str, const char *prefix)
{
	return !strncmp(str, prefix, strlen(prefix));
}

#endif /* SHIM_LINUX_STRING_H */
