/* SPDX-License-Identifier: GPL-2.0 */
/* Masks of single bits. */
#ifndef SHIM_LINUX_BITS_H
#define SHIM_LINUX_BITS_H

#include <linux/limits.h>
#include <linux/types.h>

#define BITS_PER_BYTE	8
#define BITS_PER_LONG	(8 * __SIZEOF_LONG__)
#define BITS_PER_LONG_LONG 64
#define BIT(n)		(1UL << (n))
#define BIT_ULL(n)	(1ULL << (n))
#define BIT_MASK(n)	(1UL << ((n) % BITS_PER_LONG))
#define BIT_WORD(n)	((n) / BITS_PER_LONG)
#define GENMASK(h, l)	((~0UL << (l)) & (~0UL >> (BITS_PER_LONG - 1 - (h))))
#define GENMASK_ULL(h, l) ((~0ULL << (l)) & (~0ULL >> (63 - (h))))

#endif /* SHIM_LINUX_BITS_H */
