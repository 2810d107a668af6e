/* SPDX-License-Identifier: GPL-2.0 */
/* Powers of two. */
#ifndef SHIM_LINUX_LOG2_H
#define SHIM_LINUX_LOG2_H

#include <linux/bitops.h>

/* A constant expression for constants, so that it may size arrays. */
#define ilog2(n)	((int)(sizeof(n) <= 4 ? 31 - __builtin_clz((unsigned int)((n) ? (n) : 1)) : \
			       63 - __builtin_clzll((u64)((n) ? (n) : 1))))
#define is_power_of_2(n)	((n) != 0 && ((n) & ((n) - 1)) == 0)
#define __roundup_pow_of_two(n)		((n) <= 1 ? 1UL : 1UL << fls64((u64)(n) - 1))
#define roundup_pow_of_two(n)		__roundup_pow_of_two(n)
#define rounddown_pow_of_two(n)		(1UL << ilog2(n))
#define order_base_2(n)			((n) > 1 ? fls64((u64)(n) - 1) : 0)

#endif /* SHIM_LINUX_LOG2_H */
