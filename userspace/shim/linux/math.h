/* SPDX-License-Identifier: GPL-2.0 */
/* Rounding. */
#ifndef SHIM_LINUX_MATH_H
#define SHIM_LINUX_MATH_H

#include <stdlib.h>	/* declares abs(), which is a macro below */
#include <linux/types.h>

#define __round_mask(x, y)	((__typeof__(x))((y) - 1))
#define round_up(x, y)		((((x) - 1) | __round_mask(x, y)) + 1)
#define round_down(x, y)	((x) & ~__round_mask(x, y))
#ifndef DIV_ROUND_UP
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#endif
#define DIV_ROUND_UP_ULL(n, d)	(((u64)(n) + (d) - 1) / (d))
#define DIV_ROUND_CLOSEST(n, d)	(((n) + (d) / 2) / (d))
#define roundup(x, y)		((((x) + (y) - 1) / (y)) * (y))
#define rounddown(x, y)		((x) - (x) % (y))
#define ALIGN(x, a)		round_up(x, a)
#define ALIGN_DOWN(x, a)	round_down(x, a)
#define IS_ALIGNED(x, a)	(((x) & ((__typeof__(x))(a) - 1)) == 0)
#define abs(x) ({				\
	__typeof__(x) __ab_x = (x);		\
	__ab_x < 0 ? -__ab_x : __ab_x;		\
})

#endif /* SHIM_LINUX_MATH_H */
