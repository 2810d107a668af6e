/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers. */
#ifndef SHIM_LINUX_RANDOM_H
#define SHIM_LINUX_RANDOM_H

#include <sys/random.h>
#include <linux/types.h>

static inline void get_random_bytes(void *buf, size_t len)
{
	char *p = buf;

	while (len) {
		ssize_t n = getrandom(p, len, 0);

		if (n > 0) {
			p += n;
			len -= n;
		}
	}
}

static inline u32 get_random_u32(void)
{
	u32 x;

	get_random_bytes(&x, sizeof(x));
	return x;
}

static inline u64 get_random_u64(void)
{
	u64 x;

	get_random_bytes(&x, sizeof(x));
	return x;
}

#endif /* SHIM_LINUX_RANDOM_H */
