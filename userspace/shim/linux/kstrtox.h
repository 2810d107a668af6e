/* SPDX-License-Identifier: GPL-2.0 */
/* Text to numbers, as strict as the kernel: nothing before, at most one newline behind. */
#ifndef SHIM_LINUX_KSTRTOX_H
#define SHIM_LINUX_KSTRTOX_H

#include <errno.h>
#include <linux/limits.h>
#include <linux/types.h>

static inline int __shim_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 16;
}

/* The digits, without sign */
static inline int __shim_kstrtoull(const char *s, unsigned int base, unsigned long long *res)
{
	unsigned long long value = 0;
	const char *start;

	if (!base) {
		base = 10;
		if (s[0] == '0')
			base = (s[1] | 0x20) == 'x' && __shim_digit(s[2]) < 16 ? 16 : 8;
	}
	if (base == 16 && s[0] == '0' && (s[1] | 0x20) == 'x')
		s += 2;
	for (start = s; (unsigned int)__shim_digit(*s) < base; s++) {
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, __shim_digit(*s), &value))
			return -ERANGE;
	}
	if (s == start)
		return -EINVAL;
	if (*s == '\n')
		s++;
	if (*s)
		return -EINVAL;
	*res = value;
	return 0;
}

static inline int kstrtoull(const char *s, unsigned int base, unsigned long long *res)
{
	return __shim_kstrtoull(*s == '+' ? s + 1 : s, base, res);
}

static inline int kstrtoll(const char *s, unsigned int base, long long *res)
{
	unsigned long long value;
	int r;

	if (*s == '-') {
		r = __shim_kstrtoull(s + 1, base, &value);
		if (r)
			return r;
		if (value > (unsigned long long)S64_MAX + 1)
			return -ERANGE;
		*res = (long long)-value;
		return 0;
	}
	r = kstrtoull(s, base, &value);
	if (r)
		return r;
	if (value > (unsigned long long)S64_MAX)
		return -ERANGE;
	*res = (long long)value;
	return 0;
}

#define __SHIM_KSTRTO(name, type, wide, parse)						\
static inline int name(const char *s, unsigned int base, type *res)			\
{											\
	wide value;									\
	int r = parse(s, base, &value);							\
											\
	if (r)										\
		return r;								\
	if ((wide)(type)value != value)							\
		return -ERANGE;								\
	*res = (type)value;								\
	return 0;									\
}

__SHIM_KSTRTO(kstrtou64, u64, unsigned long long, kstrtoull)
__SHIM_KSTRTO(kstrtou32, u32, unsigned long long, kstrtoull)
__SHIM_KSTRTO(kstrtou16, u16, unsigned long long, kstrtoull)
__SHIM_KSTRTO(kstrtou8, u8, unsigned long long, kstrtoull)
__SHIM_KSTRTO(kstrtouint, unsigned int, unsigned long long, kstrtoull)
__SHIM_KSTRTO(kstrtoul, unsigned long, unsigned long long, kstrtoull)
__SHIM_KSTRTO(kstrtos64, s64, long long, kstrtoll)
__SHIM_KSTRTO(kstrtos32, s32, long long, kstrtoll)
__SHIM_KSTRTO(kstrtoint, int, long long, kstrtoll)
__SHIM_KSTRTO(kstrtol, long, long long, kstrtoll)

#undef __SHIM_KSTRTO

static inline int kstrtobool(const char *s, bool *res)
{
	switch (s ? *s : 0) {
	case 'y': case 'Y': case 't': case 'T': case '1':
		*res = true;
		return 0;
	case 'n': case 'N': case 'f': case 'F': case '0':
		*res = false;
		return 0;
	case 'o': case 'O':
		if ((s[1] | 0x20) == 'n') {
			*res = true;
			return 0;
		}
		if ((s[1] | 0x20) == 'f') {
			*res = false;
			return 0;
		}
	}
	return -EINVAL;
}

#endif /* SHIM_LINUX_KSTRTOX_H */
